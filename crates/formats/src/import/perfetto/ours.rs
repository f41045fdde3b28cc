//! Reading exports of Hearth.

use super::TrackEvent;
use super::kernel::{At, Content};
use crate::Error;
use crate::import::collect::Refused;
use crate::import::sort::{Sorted, Sorter};
use crate::numbers::{Numbers, renumbered};
use crate::perfetto::{DERIVED, Group, INTERRUPT, Track, event, ftrace, state, unmoved};
use hearth_trace::{CoreId, Event, Header, Kind, Stop, Waker};
use std::collections::HashMap;
use std::path::Path;

pub struct Ours {
    pub header: Header,
    names: HashMap<String, u32>,
    /// Made at the first event, before which the header's threads are read.
    numbers: Option<Numbers>,
    sorter: Sorter,
}

impl Ours {
    pub fn new(header: Header, folder: &Path) -> Self {
        let names = header.names.iter().enumerate().rev().map(|(number, name)| (name.clone(), number as u32));
        Ours { names: names.collect(), numbers: None, header, sorter: Sorter::new(folder) }
    }

    /// Reads an ftrace event.
    pub fn kernel(&mut self, at: At, field: u32, message: &[u8]) -> Result<Result<(), Refused>, Error> {
        if at.flags & DERIVED != 0 {
            return Ok(Ok(()));
        }
        let kind = Content::read(message).and_then(|content| self.kind(at, field, &content));
        match kind {
            Ok(Some(kind)) => self.push(unmoved(at.time, at.flags), at.cpu, kind),
            Ok(None) => Ok(Ok(())),
            Err(refused) => Ok(Err(refused)),
        }
    }

    fn kind(&self, at: At, field: u32, content: &Content) -> Result<Option<Kind>, Refused> {
        let core = |field| core(content.number(field));
        let thread = |field| content.number(field) as u32;
        Ok(Some(match field {
            ftrace::SWITCH => {
                Kind::Switch { prev: thread(2), stop: state::stop(content.number(4)), next: thread(6) }
            }
            ftrace::WAKING => {
                let waker = match at.flags & INTERRUPT {
                    0 => Waker::Thread(at.pid),
                    _ => Waker::Interrupt,
                };
                Kind::Wakeup { thread: thread(2), waker, target: core(5)?, sync: false }
            }
            ftrace::WAKEUP_NEW => Kind::Fork { parent: at.pid, child: thread(2), target: core(5)? },
            ftrace::EXEC => {
                let program = String::from_utf8_lossy(content.bytes(1));
                let name = self.names.get(program.as_ref());
                let name =
                    *name.ok_or_else(|| format!("the program `{program}` is not in Hearth's header"))?;
                Kind::Exec { thread: thread(2), name }
            }
            ftrace::EXIT => Kind::Exit { thread: thread(2) },
            ftrace::WAIT => Kind::Wait { thread: at.pid },
            ftrace::MIGRATE => Kind::Migrate { thread: thread(2), from: core(4)?, to: core(5)? },
            ftrace::FREQUENCY => Kind::Frequency { khz: thread(1) },
            ftrace::IDLE if content.core(1) == u32::MAX => return Ok(None),
            ftrace::IDLE => Kind::Idle { state: small(content.number(1))? },
            _ => return Ok(None), // a fork: its `sched_wakeup_new` says it all
        }))
    }

    /// Reads an event of one of Hearth's tracks.
    pub(super) fn own(
        &mut self,
        time: u64,
        track: Track,
        event: &TrackEvent,
    ) -> Result<Result<(), Refused>, Error> {
        let Track::Core(group, on) = track else { return Ok(Ok(())) };
        let number = |name| event.annotation(name).map_or(0, |value| value.number());
        let begins = event.kind == event::BEGIN;
        let kind = match group {
            Group::Place => core(number("target")).map(|target| Kind::Place {
                thread: number("thread") as u32,
                target,
                reason: number("reason") as u16,
                seen_khz: number("seen_khz") as u32,
            }),
            Group::Queue => Ok(Kind::Queue { length: event.counter.min(u16::MAX.into()) as u16 }),
            Group::Tick => Ok(Kind::Tick { khz: event.counter as u32 }),
            Group::Spin => Ok(Kind::Spin { on: begins }),
            Group::Set(set) => Ok(Kind::Set { set, member: begins }),
        };
        match kind {
            Ok(kind) => self.push(time, on.into(), kind),
            Err(refused) => Ok(Err(refused)),
        }
    }

    fn push(&mut self, time: u64, cpu: u32, kind: Kind) -> Result<Result<(), Refused>, Error> {
        match core(cpu.into()) {
            Ok(core) => {
                let numbers = self.numbers.get_or_insert_with(|| Numbers::new(&self.header));
                let kind = renumbered(kind, |number| numbers.thread(number));
                self.sorter.push(time, pack(core, kind)).map(Ok)
            }
            Err(refused) => Ok(Err(refused)),
        }
    }

    /// Returns the header and the sorted events.
    ///
    /// # Errors
    /// The header names a process that it does not describe.
    pub fn finish(self) -> Result<(Header, Events), Error> {
        let processes = self.header.processes.len();
        let of_threads = self.header.threads.iter().map(|thread| thread.process);
        let parents = self.header.processes.iter().map(|process| process.parent);
        if let Some(process) = of_threads.chain(parents).flatten().find(|it| *it as usize >= processes) {
            return Err(Error::Format(format!(
                "Hearth's header in it names process {process} of {processes}: it is damaged"
            )));
        }
        Ok((self.header, Events(self.sorter.sorted()?)))
    }
}

pub struct Events(Sorted);

impl Events {
    pub fn next(&mut self) -> Result<Option<Event>, Error> {
        Ok(self.0.next()?.map(|packed| unpack(packed.time, packed.words)))
    }
}

fn core(number: u64) -> Result<CoreId, Refused> {
    CoreId::try_from(number).map_err(|_| format!("it names core {number}: a trace has at most 65536"))
}

fn small(number: u64) -> Result<u8, Refused> {
    u8::try_from(number).map_err(|_| format!("it names idle state {number}: a trace has at most 256"))
}

fn pack(core: CoreId, kind: Kind) -> [u32; 6] {
    let [tag, a, b, c, d] = match kind {
        Kind::Switch { prev, stop, next } => [1, prev, next, stop as u32, 0],
        Kind::Wakeup { thread, waker: Waker::Thread(waker), target, .. } => {
            [2, thread, waker, target.into(), 0]
        }
        Kind::Wakeup { thread, waker: Waker::Interrupt, target, .. } => [3, thread, 0, target.into(), 0],
        Kind::Fork { parent, child, target } => [4, parent, child, target.into(), 0],
        Kind::Exec { thread, name } => [5, thread, name, 0, 0],
        Kind::Exit { thread } => [6, thread, 0, 0, 0],
        Kind::Wait { thread } => [7, thread, 0, 0, 0],
        Kind::Migrate { thread, from, to } => [8, thread, from.into(), to.into(), 0],
        Kind::Place { thread, target, reason, seen_khz } => {
            [9, thread, seen_khz, target.into(), reason.into()]
        }
        Kind::Frequency { khz } => [10, khz, 0, 0, 0],
        Kind::Tick { khz } => [11, khz, 0, 0, 0],
        Kind::Idle { state } => [12, state.into(), 0, 0, 0],
        Kind::Spin { on } => [13, on.into(), 0, 0, 0],
        Kind::Queue { length } => [14, length.into(), 0, 0, 0],
        Kind::Set { set, member } => [15, set.into(), member.into(), 0, 0],
    };
    [core.into(), tag, a, b, c, d]
}

fn unpack(time: u64, [core, tag, a, b, c, d]: [u32; 6]) -> Event {
    let kind = match tag {
        1 => {
            let stop = match c {
                0 => Stop::Preempted,
                1 => Stop::Yielded,
                2 => Stop::Blocked,
                _ => Stop::Exited,
            };
            Kind::Switch { prev: a, stop, next: b }
        }
        2 => Kind::Wakeup { thread: a, waker: Waker::Thread(b), target: c as u16, sync: false },
        3 => Kind::Wakeup { thread: a, waker: Waker::Interrupt, target: c as u16, sync: false },
        4 => Kind::Fork { parent: a, child: b, target: c as u16 },
        5 => Kind::Exec { thread: a, name: b },
        6 => Kind::Exit { thread: a },
        7 => Kind::Wait { thread: a },
        8 => Kind::Migrate { thread: a, from: b as u16, to: c as u16 },
        9 => Kind::Place { thread: a, target: c as u16, reason: d as u16, seen_khz: b },
        10 => Kind::Frequency { khz: a },
        11 => Kind::Tick { khz: a },
        12 => Kind::Idle { state: a as u8 },
        13 => Kind::Spin { on: a == 1 },
        14 => Kind::Queue { length: a as u16 },
        _ => Kind::Set { set: a as u8, member: b == 1 },
    };
    Event { time, core: core as u16, kind }
}
