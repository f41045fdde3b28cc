//! Exporting a trace as Perfetto's protobuf, for its user interface and its SQL.
//!
//! Scheduling and frequency events become ftrace events, in bundles per core, because Perfetto supports them best. All
//! others become tracks of Hearth. A stable sort of the packets by time restores the order of the trace, also of events
//! of several cores with the same time.

mod names;
mod order;
mod tree;

use super::programs::Programs;
use super::tracks::Tracks;
use crate::numbers::{Numbers, renumbered};
use crate::perfetto::*;
use crate::wire::Put;
use hearth_trace::{CoreId, Event, Header, IDLE, Kind, Recording, Source, Tid, Time, Waker};
use names::Names;
use order::Order;
use std::collections::HashMap;
use std::io::{self, Write};
use tree::ProcessTree;

/// A bundle is written when it has this size; all are written when their total size is `MOST`.
const BUNDLE: usize = 32 << 10;
const MOST: usize = 8 << 20;
/// Number of threads in a packet.
const THREADS_AT_ONCE: usize = 1000;
/// The only packet sequence.
const SEQUENCE: u64 = 1;

pub struct Exporter<'a, W> {
    header: &'a Header,
    out: W,
    /// Events of the open bundle of each core.
    bundles: Vec<Vec<u8>>,
    buffered: usize,
    /// Time and bundle of the last event (`None`: a track).
    last: Option<(Time, Option<CoreId>)>,
    order: Order,
    numbers: Numbers,
    names: Names<'a>,
    tracks: Tracks,
    /// True for cores in an idle state.
    idle: Vec<bool>,
    set_sizes: HashMap<u8, u64>,
    /// Buffer for one event.
    scratch: Vec<u8>,
}

impl<'a, W: Write> Exporter<'a, W> {
    /// Writes the header.
    pub fn new(header: &'a Header, programs: &Programs, out: W) -> io::Result<Self> {
        let cores = header.cores.len();
        let numbers = Numbers::new(header);
        let mut exporter = Exporter {
            header,
            out,
            bundles: vec![Vec::new(); cores],
            buffered: 0,
            last: None,
            order: Order::default(),
            names: Names::new(header, &numbers),
            numbers,
            tracks: Tracks::default(),
            idle: vec![false; cores],
            set_sizes: HashMap::new(),
            scratch: Vec::new(),
        };
        exporter.system()?;
        exporter.about()?;
        exporter.processes(programs)?;
        Ok(exporter)
    }

    /// Writes the kernel release, by which Perfetto decodes the states of threads. It needs three numbers.
    fn system(&mut self) -> io::Result<()> {
        let release = match &self.header.source {
            Source::Recorded(Recording { kernel, .. })
                if kernel.starts_with(|c: char| c.is_ascii_digit()) =>
            {
                kernel
            }
            _ => "6.12.0 (states are written as this kernel does)",
        };
        let mut packet = Vec::new();
        packet.message(packet::SYSTEM_INFO, |info| {
            info.message(1, |utsname| {
                utsname.text(1, "Linux");
                utsname.text(3, release);
            });
        });
        self.packet(packet)
    }

    /// Writes the header for the importer.
    fn about(&mut self) -> io::Result<()> {
        let header = Header { threads: Vec::new(), processes: Vec::new(), ..self.header.clone() };
        let json = |value: Result<String, serde_json::Error>| value.map_err(io::Error::from);
        let about = json(serde_json::to_string(&header))?;
        self.annotated(0, Track::About, "what the trace says once", &[(HEADER, Note::Text(&about))])?;
        for processes in self.header.processes.chunks(THREADS_AT_ONCE) {
            let processes = json(serde_json::to_string(processes))?;
            self.annotated(0, Track::About, "processes", &[(PROCESSES, Note::Text(&processes))])?;
        }
        for threads in self.header.threads.chunks(THREADS_AT_ONCE) {
            let threads = json(serde_json::to_string(threads))?;
            self.annotated(0, Track::About, "threads", &[(THREADS, Note::Text(&threads))])?;
        }
        Ok(())
    }

    /// Writes the processes and their threads. Processes that the trace does not know are guessed.
    fn processes(&mut self, programs: &Programs) -> io::Result<()> {
        let tree = ProcessTree::new(self.header, &self.numbers, programs);
        let known = self.header.processes.iter().enumerate();
        let known: Vec<Vec<u8>> = known.filter_map(|(index, process)| tree.process(index, process)).collect();
        let threads = self.header.threads.iter().filter(|thread| thread.tid != IDLE);
        let threads: Vec<Vec<u8>> = threads.map(|thread| tree.thread(thread)).collect();
        for messages in [known, threads].concat().chunks(THREADS_AT_ONCE) {
            let mut packet = Vec::new();
            packet.number(packet::TIMESTAMP, 0);
            packet.message(packet::PROCESS_TREE, |tree| {
                messages.iter().for_each(|message| tree.extend_from_slice(message));
            });
            self.packet(packet)?;
        }
        Ok(())
    }

    /// Below, a thread has its number in the export.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        let Event { time, core, kind } = *event;
        match renumbered(kind, |thread| self.numbers.of(thread)) {
            Kind::Switch { prev, stop, next } => {
                if prev == IDLE && next != IDLE {
                    self.leave_idle(time, core)?;
                }
                let (prev_name, next_name) = (self.names.unwritten(prev), self.names.unwritten(next));
                self.kernel(time, core, prev, ftrace::SWITCH, 0, |message| {
                    prev_name.inspect(|name| message.text(1, name));
                    message.number(2, prev.into());
                    message.int(3, priority(prev));
                    message.number(4, state::of(stop));
                    next_name.inspect(|name| message.text(5, name));
                    message.number(6, next.into());
                    message.int(7, priority(next));
                })
            }
            Kind::Wakeup { thread, waker, target, .. } => {
                let (by, flags) = match waker {
                    Waker::Thread(tid) => (tid, 0),
                    Waker::Interrupt => (IDLE, INTERRUPT),
                };
                let name = self.names.unwritten(thread);
                self.kernel(time, core, by, ftrace::WAKING, flags, |message| {
                    woken(message, thread, name, target);
                })
            }
            Kind::Fork { parent, child, target } => {
                self.kernel(time, core, parent, ftrace::FORK, 0, |message| {
                    message.number(2, parent.into());
                    message.number(4, child.into());
                })?;
                let name = self.names.unwritten(child);
                self.kernel(time, core, parent, ftrace::WAKEUP_NEW, 0, |message| {
                    woken(message, child, name, target);
                })?;
                // Perfetto ignores `sched_wakeup_new`: without this, the child would not be ready before it runs.
                self.kernel(time, core, parent, ftrace::WAKING, DERIVED, |message| {
                    woken(message, child, name, target);
                })
            }
            Kind::Exec { thread, name } => {
                self.names.exec(thread, name);
                let program = self.header.names.get(name as usize);
                self.kernel(time, core, thread, ftrace::EXEC, 0, |message| {
                    program.inspect(|program| message.text(1, program));
                    message.number(2, thread.into());
                    message.number(3, thread.into());
                })
            }
            Kind::Exit { thread } => self.kernel(time, core, thread, ftrace::EXIT, 0, |message| {
                message.number(2, thread.into());
                message.int(4, priority(thread));
            }),
            Kind::Wait { thread } => self.kernel(time, core, thread, ftrace::WAIT, 0, |message| {
                message.number(2, 0);
            }),
            Kind::Migrate { thread, from, to } => {
                self.kernel(time, core, IDLE, ftrace::MIGRATE, 0, |message| {
                    message.number(2, thread.into());
                    message.int(3, priority(thread));
                    message.number(4, from.into());
                    message.number(5, to.into());
                })
            }
            Kind::Frequency { khz } => self.power(time, core, ftrace::FREQUENCY, khz),
            Kind::Idle { state } => {
                if let Some(idle) = self.idle.get_mut(usize::from(core)) {
                    *idle = true;
                }
                self.power(time, core, ftrace::IDLE, state.into())
            }
            own => self.own(time, core, own),
        }
    }

    /// Writes an event that ftrace does not have.
    fn own(&mut self, time: Time, core: CoreId, kind: Kind) -> io::Result<()> {
        match kind {
            Kind::Place { thread, target, reason, seen_khz } => {
                let number = format!("reason {reason}");
                let name = self.header.reasons.get(usize::from(reason)).unwrap_or(&number);
                let notes = [
                    ("thread", Note::Number(thread.into())),
                    ("target", Note::Number(target.into())),
                    ("reason", Note::Number(reason.into())),
                    ("seen_khz", Note::Number(seen_khz.into())),
                ];
                self.annotated(time, Track::Core(Group::Place, core), name, &notes)
            }
            Kind::Tick { khz } => self.counter(time, Track::Core(Group::Tick, core), khz.into()),
            Kind::Queue { length } => self.counter(time, Track::Core(Group::Queue, core), length.into()),
            Kind::Spin { on } => self.slice(time, Track::Core(Group::Spin, core), "spins", on),
            Kind::Set { set, member } => {
                let size = self.set_sizes.entry(set).or_default();
                *size = if member { *size + 1 } else { size.saturating_sub(1) };
                let size = *size;
                let name = self.header.sets.get(usize::from(set)).map_or("member", String::as_str);
                self.slice(time, Track::Core(Group::Set(set), core), name, member)?;
                self.counter(time, Track::SetSize(set), size)
            }
            _ => Ok(()),
        }
    }

    /// Ends the idle state of a core, which is implicit in a trace.
    fn leave_idle(&mut self, time: Time, core: CoreId) -> io::Result<()> {
        match self.idle.get_mut(usize::from(core)) {
            Some(idle) if *idle => *idle = false,
            _ => return Ok(()),
        }
        self.power(time, core, ftrace::IDLE, u32::MAX)
    }

    fn power(&mut self, time: Time, core: CoreId, field: u32, state: u32) -> io::Result<()> {
        self.kernel(time, core, IDLE, field, 0, |message| {
            message.number(1, state.into());
            message.number(2, core.into());
        })
    }

    /// Adds an ftrace event to the bundle of its core.
    fn kernel(
        &mut self,
        time: Time,
        core: CoreId,
        pid: Tid,
        field: u32,
        flags: u64,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<()> {
        self.in_order(time, Some(core))?;
        let mut event = std::mem::take(&mut self.scratch);
        event.clear();
        let shown = match field {
            ftrace::FREQUENCY | ftrace::IDLE => time,
            _ => self.order.time(time, core),
        };
        event.number(ftrace::TIME, shown);
        event.number(ftrace::PID, pid.into());
        event.message(field, fill);
        let flags = flags | (shown - time) << SHIFT;
        if flags != 0 {
            event.number(ftrace::FLAGS, flags);
        }
        let slot = usize::from(core);
        if slot >= self.bundles.len() {
            self.bundles.resize_with(slot + 1, Vec::new); // a core that the header does not have
        }
        let before = self.bundles[slot].len();
        self.bundles[slot].bytes(bundle::EVENT, &event);
        let length = self.bundles[slot].len();
        self.scratch = event;
        self.buffered += length - before;
        match (length >= BUNDLE, self.buffered >= MOST) {
            (_, true) => self.flush(),
            (true, _) => self.flush_core(slot),
            _ => Ok(()),
        }
    }

    /// If the last event has the same time and went elsewhere, writes all bundles to keep the order.
    fn in_order(&mut self, time: Time, to: Option<CoreId>) -> io::Result<()> {
        let before = self.last.replace((time, to));
        match before {
            Some((last, place)) if last == time && place != to => self.flush(),
            _ => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        (0..self.bundles.len()).try_for_each(|slot| self.flush_core(slot))
    }

    fn flush_core(&mut self, slot: usize) -> io::Result<()> {
        if self.bundles[slot].is_empty() {
            return Ok(());
        }
        let mut events = std::mem::take(&mut self.bundles[slot]);
        self.buffered -= events.len();
        let mut content = Vec::with_capacity(events.len() + 8);
        content.number(bundle::CPU, slot as u64);
        content.append(&mut events);
        self.bundles[slot] = events; // its room is used again
        let mut packet = Vec::with_capacity(content.len() + 16);
        packet.bytes(packet::FTRACE_EVENTS, &content);
        self.packet(packet)
    }

    pub fn underload(&mut self, time: Time, cores: u32) -> io::Result<()> {
        self.counter(time, Track::Underload, cores.into())
    }

    /// The power of the machine, as far as the header knows it.
    pub fn watts(&mut self) -> io::Result<()> {
        let header = self.header;
        for (time, _, watts) in hearth_trace::watts(&header.energy_by_time) {
            self.counter(time, Track::Power, (watts * 1e3).round() as u64)?;
        }
        Ok(())
    }

    fn counter(&mut self, time: Time, track: Track, value: u64) -> io::Result<()> {
        self.track_event(time, track, |event| {
            event.number(event::TYPE, event::COUNT);
            event.number(event::COUNTER, value);
        })
    }

    fn slice(&mut self, time: Time, track: Track, name: &str, begin: bool) -> io::Result<()> {
        self.track_event(time, track, |event| {
            event.number(event::TYPE, if begin { event::BEGIN } else { event::END });
            event.text(event::NAME, name);
        })
    }

    fn annotated(&mut self, time: Time, track: Track, name: &str, notes: &[(&str, Note)]) -> io::Result<()> {
        self.track_event(time, track, |event| {
            event.number(event::TYPE, event::INSTANT);
            event.text(event::NAME, name);
            for (name, value) in notes {
                event.message(event::ANNOTATION, |message| {
                    message.text(annotation::NAME, name);
                    match value {
                        Note::Number(value) => message.number(annotation::UINT, *value),
                        Note::Text(value) => message.text(annotation::STRING, value),
                    }
                });
            }
        })
    }

    fn track_event(&mut self, time: Time, track: Track, fill: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        if !matches!(track, Track::Underload | Track::Power | Track::SetSize(_)) {
            self.in_order(time, None)?;
        }
        for descriptor in self.tracks.needed(track, self.header) {
            let mut packet = Vec::new();
            packet.bytes(packet::TRACK_DESCRIPTOR, &descriptor);
            self.packet(packet)?;
        }
        let mut packet = Vec::new();
        packet.number(packet::TIMESTAMP, time);
        packet.message(packet::TRACK_EVENT, |event| {
            event.number(event::TRACK, track.uuid());
            event.text(event::CATEGORY, CATEGORY);
            fill(event);
        });
        self.packet(packet)
    }

    fn packet(&mut self, mut packet: Vec<u8>) -> io::Result<()> {
        packet.number(packet::SEQUENCE, SEQUENCE);
        let mut head = Vec::with_capacity(12);
        prost::encoding::encode_key(PACKET, prost::encoding::WireType::LengthDelimited, &mut head);
        prost::encoding::encode_varint(packet.len() as u64, &mut head);
        self.out.write_all(&head)?;
        self.out.write_all(&packet)
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.out.flush()
    }
}

enum Note<'a> {
    Number(u64),
    Text(&'a str),
}

/// Priorities of `SCHED_OTHER` with nice value 0, and of the idle thread.
fn priority(thread: Tid) -> i64 {
    120 * i64::from(thread != IDLE)
}

fn woken(message: &mut Vec<u8>, thread: Tid, name: Option<&str>, target: CoreId) {
    name.inspect(|name| message.text(1, name));
    message.number(2, thread.into());
    message.int(3, priority(thread));
    message.number(4, 1);
    message.number(5, target.into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Fields;
    use hearth_trace::{CoreInfo, Stop};

    /// Time, core and field of the ftrace events in a file.
    fn kernel_events(file: &[u8]) -> Vec<(u64, u64, u32)> {
        let mut found = Vec::new();
        let fields = |message| Fields::of(message).map(|field| field.unwrap());
        for (_, packet) in fields(file) {
            for (_, bundle) in fields(packet.bytes()).filter(|(field, _)| *field == packet::FTRACE_EVENTS) {
                let (cpus, events): (Vec<_>, Vec<_>) =
                    fields(bundle.bytes()).partition(|(field, _)| *field == bundle::CPU);
                for (_, event) in events {
                    let parts: Vec<_> = fields(event.bytes()).collect();
                    let content = [ftrace::TIME, ftrace::PID, ftrace::FLAGS];
                    let kind = parts.iter().find(|(field, _)| !content.contains(field)).unwrap().0;
                    found.push((parts[0].1.number(), cpus[0].1.number(), kind));
                }
            }
        }
        found
    }

    #[test]
    fn perfetto_sees_a_wakeup_before_the_switch_that_it_causes() {
        let header = Header { cores: vec![CoreInfo::default(); 2], duration: 9, ..Header::default() };
        let mut file = Vec::new();
        let mut exporter = Exporter::new(&header, &Programs::default(), &mut file).unwrap();
        let at = |time, core, kind| Event { time, core, kind };
        for event in [
            at(5, 1, Kind::Fork { parent: 0, child: 1, target: 0 }),
            at(5, 0, Kind::Switch { prev: 0, stop: Stop::Preempted, next: 1 }),
            at(5, 1, Kind::Frequency { khz: 1 }),
        ] {
            exporter.event(&event).unwrap();
        }
        exporter.finish().unwrap();
        let expected = [
            (5, 1, ftrace::FORK),
            (5, 1, ftrace::WAKEUP_NEW),
            (5, 1, ftrace::WAKING),
            (6, 0, ftrace::SWITCH),
            (5, 1, ftrace::FREQUENCY),
        ];
        assert_eq!(kernel_events(&file), expected);
        // Perfetto takes the states of an unknown release for those of Linux 4.4.
        let release = b"6.12.0 (";
        assert!(file.windows(release.len()).any(|part| part == release));
    }
}
