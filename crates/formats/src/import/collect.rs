//! Collects the events of a file for the assembler.

use super::sort::Sorter;
use super::survey::Survey;
use crate::{Error, Notes};
use hearth_trace::ftrace::{Assembler, EventKind, KernelEvent, Names, StateBits, StateEvidence};
use hearth_trace::{Sink, Stop, Unrecorded};
use std::collections::HashMap;
use std::path::Path;

/// Maximum of `NR_CPUS` of Linux.
pub const MOST_CORES: u32 = 8192;
/// `PID_MAX_LIMIT` of Linux.
const MOST_PIDS: i32 = 4 << 20;
/// Maximum size of all names.
const MAX_NAME_BYTES: usize = 256 << 20;

/// Where and how a file was recorded.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// Format of the file.
    pub method: &'static str,
    pub kernel: String,
    /// Clock of the times, as the kernel's `trace_clock` calls it.
    pub clock: String,
    pub machine: String,
    pub command: Vec<String>,
    /// Number of cores; 0: the file does not say.
    pub cores: u32,
}

pub struct Collector {
    sorter: Sorter,
    names: Names,
    /// Number of cores in the events.
    cores: u32,
    pub origin: Origin,
    /// Names of threads outside of events.
    pub threads: HashMap<i32, u32>,
    /// Processes of threads outside of events, and parents of processes.
    members: HashMap<i32, i32>,
    parents: HashMap<i32, i32>,
    /// Processes of threads that are in events.
    told: HashMap<i32, i32>,
    pub lost: HashMap<u32, u64>,
    pub notes: Notes,
    switches: bool,
    wakings: bool,
    wakeups: bool,
    states: StateEvidence,
    /// Last thread of each core, for switches without a previous thread.
    running: HashMap<u32, i32>,
}

/// Number of a name, while they fit into memory.
fn number(names: &mut Names, name: &[u8]) -> Result<u32, Error> {
    let number = names.number(name);
    match names.bytes() <= MAX_NAME_BYTES {
        true => Ok(number),
        false => Err(Error::Format("it has more than 256 MiB of different names: it is damaged".into())),
    }
}

/// Placeholder for the thread that runs on the core at the time of the event.
pub const RUNNING_THREAD: i32 = i32::MAX;

/// Reason why an event is invalid. The importer adds its position.
pub type Refused = String;

impl Collector {
    pub fn new(method: &'static str, folder: &Path) -> Self {
        Collector {
            sorter: Sorter::new(folder),
            names: Names::default(),
            cores: 0,
            origin: Origin { method, ..Origin::default() },
            threads: HashMap::new(),
            members: HashMap::new(),
            parents: HashMap::new(),
            told: HashMap::new(),
            lost: HashMap::new(),
            notes: Notes::default(),
            switches: false,
            wakings: false,
            wakeups: false,
            states: StateEvidence::default(),
            running: HashMap::new(),
        }
    }

    pub fn events(&self) -> u64 {
        self.sorter.count()
    }

    pub fn lost(&mut self, cpu: u32, count: u64) {
        if cpu < MOST_CORES {
            let lost = self.lost.entry(cpu).or_default();
            *lost = lost.saturating_add(count);
        }
    }

    /// Names a thread.
    pub fn name(&mut self, pid: i32, comm: &[u8]) -> Result<(), Error> {
        if (1..=MOST_PIDS).contains(&pid) {
            let name = number(&mut self.names, comm)?;
            self.threads.insert(pid, name);
        }
        Ok(())
    }

    /// Names a thread that has no name yet.
    pub fn name_if_new(&mut self, pid: i32, comm: &[u8]) -> Result<(), Error> {
        match self.threads.contains_key(&pid) {
            true => Ok(()),
            false => self.name(pid, comm),
        }
    }

    /// A thread belongs to a process. Of several statements about a thread the first counts.
    pub fn member(&mut self, pid: i32, process: i32) {
        if [pid, process].iter().all(|number| (1..=MOST_PIDS).contains(number)) {
            self.members.entry(pid).or_insert(process);
        }
    }

    /// A process has a parent. Of several statements about a process the first counts.
    pub fn parent(&mut self, process: i32, parent: i32) {
        if [process, parent].iter().all(|number| (1..=MOST_PIDS).contains(number)) {
            self.parents.entry(process).or_insert(parent);
        }
    }

    /// The running thread of an event belongs to a process. To be called before the event is taken.
    pub fn runs_in(&mut self, event: &KernelEvent, process: i32) -> Result<(), Error> {
        let pid = event.pid;
        let known = [pid, process].iter().all(|number| (1..=MOST_PIDS).contains(number));
        if !known || self.told.insert(pid, process) == Some(process) {
            return Ok(());
        }
        // An event with a wrong core or time is refused when it is taken itself.
        let _ = self.take(&KernelEvent { kind: EventKind::Member { pid, process }, ..*event }, 0)?;
        Ok(())
    }

    pub fn running(&self, cpu: u32) -> Option<i32> {
        self.running.get(&cpu).copied()
    }

    pub fn runs(&mut self, cpu: u32, pid: i32) {
        self.running.insert(cpu, pid);
    }

    pub fn event(&mut self, event: &KernelEvent) -> Result<Result<(), Refused>, Error> {
        self.switches |= matches!(event.kind, EventKind::Switch { .. });
        self.wakings |= matches!(event.kind, EventKind::Waking { .. });
        self.wakeups |= matches!(event.kind, EventKind::Wakeup { .. });
        if let EventKind::Fork { child, .. } | EventKind::NewTask { pid: child, .. } = event.kind {
            self.told.remove(&child); // it is a new thread, perhaps with the number of another one
        }
        self.take(event, 0)
    }

    /// Takes a switch with a state whose meaning depends on the kernel, which is known at the end.
    pub fn switch_of_bits(&mut self, event: &KernelEvent, state: u64) -> Result<Result<(), Refused>, Error> {
        let EventKind::Switch { prev, prev_comm, next, next_comm, .. } = event.kind else {
            return self.event(event);
        };
        self.switches = true;
        self.states.see(state);
        let stop = StateBits::Since414.stop(state);
        let kind = EventKind::Switch { prev, prev_comm, stop, next, next_comm };
        let before = StateBits::Before414.stop(state) as u32;
        self.take(&KernelEvent { kind, ..*event }, BY_KERNEL | before << BEFORE)
    }

    fn take(&mut self, event: &KernelEvent, flags: u32) -> Result<Result<(), Refused>, Error> {
        if let Err(refused) = self.check(event) {
            return Ok(Err(refused));
        }
        let mut words = self.pack(event)?;
        words[0] |= flags;
        self.sorter.push(event.time, words)?;
        Ok(Ok(()))
    }

    /// Rejects numbers that no kernel has.
    fn check(&mut self, event: &KernelEvent) -> Result<(), Refused> {
        let core = |cpu: u32| match cpu < MOST_CORES {
            true => Ok(cpu),
            false => Err(format!("it names core {cpu}, and no Linux has more than {MOST_CORES}")),
        };
        let pid = |pid: i32| match (0..=MOST_PIDS).contains(&pid) {
            true => Ok(()),
            false => Err(format!("it names thread {pid}, and Linux numbers them from 0 to {MOST_PIDS}")),
        };
        if event.time > i64::MAX as u64 {
            return Err("its time is negative, or beyond 292 years".into());
        }
        if event.pid != RUNNING_THREAD {
            pid(event.pid)?;
        }
        let mut most = core(event.cpu)?;
        match event.kind {
            EventKind::Switch { prev, next, .. } => pid(prev).and(pid(next))?,
            EventKind::Waking { pid: woken, target, .. }
            | EventKind::Wakeup { pid: woken, target, .. }
            | EventKind::WakeupNew { pid: woken, target, .. } => {
                pid(woken)?;
                most = most.max(core(target)?);
            }
            EventKind::Fork { parent, child, .. } => pid(parent).and(pid(child))?,
            EventKind::Exec { pid: new, old_pid, .. } => pid(new).and(pid(old_pid))?,
            EventKind::Exit { pid: exiting } => pid(exiting)?,
            EventKind::Migrate { pid: moved, from, to, .. } => {
                pid(moved)?;
                most = most.max(core(from)?).max(core(to)?);
            }
            EventKind::Frequency { cpu, .. } | EventKind::Idle { cpu, .. } => most = most.max(core(cpu)?),
            EventKind::Name { pid: named, .. } | EventKind::NewTask { pid: named, .. } => pid(named)?,
            EventKind::Member { pid: member, process } => pid(member).and(pid(process))?,
            EventKind::Wait
            | EventKind::Tick { .. }
            | EventKind::Queue { .. }
            | EventKind::Decision(_)
            | EventKind::Running => {}
        }
        self.cores = self.cores.max(most + 1);
        Ok(())
    }

    fn pack(&mut self, event: &KernelEvent) -> Result<[u32; 6], Error> {
        let names = &mut self.names;
        let (tag, stop, a, b, c, d) = match event.kind {
            EventKind::Switch { prev, prev_comm, stop, next, next_comm } => {
                let (prev_comm, next_comm) = (number(names, prev_comm)?, number(names, next_comm)?);
                (SWITCH, stop as u32, prev as u32, next as u32, prev_comm, next_comm)
            }
            EventKind::Waking { pid, comm, target, .. } => {
                (2, 0, pid as u32, target, number(names, comm)?, 0)
            }
            EventKind::WakeupNew { pid, comm, target } => (3, 0, pid as u32, target, number(names, comm)?, 0),
            EventKind::Fork { parent, child, child_comm } => {
                (4, 0, parent as u32, child as u32, number(names, child_comm)?, 0)
            }
            EventKind::Exec { pid, old_pid, filename } => {
                (5, 0, pid as u32, old_pid as u32, number(names, filename)?, 0)
            }
            EventKind::Exit { pid } => (6, 0, pid as u32, 0, 0, 0),
            EventKind::Wait => (7, 0, 0, 0, 0, 0),
            // No imported format has `queued`.
            EventKind::Migrate { pid, from, to, .. } => (8, 0, pid as u32, from, to, 0),
            EventKind::Frequency { cpu, khz } => (9, 0, cpu, khz, 0, 0),
            EventKind::Idle { cpu, state } => (10, 0, cpu, state.unwrap_or(0), state.is_some().into(), 0),
            EventKind::Name { pid, comm } => (11, 0, pid as u32, 0, number(names, comm)?, 0),
            EventKind::Tick { khz } => (12, 0, khz, 0, 0, 0),
            EventKind::Queue { length } => (13, 0, length.into(), 0, 0, 0),
            EventKind::Wakeup { pid, comm, target } => {
                (WAKEUP, 0, pid as u32, target, number(names, comm)?, 0)
            }
            EventKind::NewTask { pid, in_process } => (16, 0, pid as u32, in_process.into(), 0, 0),
            EventKind::Member { pid, process } => (17, 0, pid as u32, process as u32, 0, 0),
            // No imported format has decisions.
            EventKind::Running | EventKind::Decision(_) => (14, 0, 0, 0, 0, 0),
        };
        let head = event.cpu | tag << 16 | u32::from(event.interrupt) << 24 | stop << STOP;
        Ok([head, event.pid as u32, a, b, c, d])
    }

    /// Sorts the events.
    ///
    /// # Errors
    /// There is no switch: nothing says who runs.
    pub fn collected(mut self) -> Result<Collected, Error> {
        if !self.switches {
            return Err(Error::Empty { what: "sched_switch" });
        }
        let cores = self.cores.max(self.origin.cores.min(MOST_CORES));
        let bits = StateBits::of_release(&self.origin.kernel);
        if bits.is_none() && self.states.is_ambiguous() {
            self.notes.say(
                "the file does not name its kernel: the state 64 is read as of Linux before 4.14 (dead)",
            );
        }
        if self.wakeups && !self.wakings {
            self.notes
                .say("wake-ups are from sched_wakeup instead of sched_waking: their wakers may be wrong");
        }
        let mut sorted = self.sorter.sorted()?;
        let mut survey = Survey::new(cores as usize);
        while let Some(packed) = sorted.next()? {
            survey.event(&unpack(&self.names, packed.time, packed.words, StateBits::Since414));
        }
        sorted.rewind()?;
        let unconfirmed = survey.finish();
        let wakeups = !self.wakings && !self.wakeups;
        Ok(Collected {
            sorted,
            names: self.names,
            threads: self.threads,
            members: self.members,
            parents: self.parents,
            cores,
            origin: self.origin,
            lost: self.lost,
            notes: self.notes,
            bits: bits.unwrap_or(self.states.bits()),
            wakings: self.wakings,
            unrecorded: Unrecorded { wakeups, threads: unconfirmed.is_some() },
            unconfirmed: unconfirmed.unwrap_or_default(),
        })
    }
}

/// Layout of the first word of a packed event: 16 bits of core, 8 of kind, 1 of interrupt, 2 of stop, then these.
const STOP: u32 = 25;
/// The stop depends on the kernel: that of Linux before 4.14 is in the bits from `BEFORE`.
const BY_KERNEL: u32 = 1 << 27;
const BEFORE: u32 = 28;
const SWITCH: u32 = 1;
const WAKEUP: u32 = 15;

pub struct Collected {
    sorted: super::sort::Sorted,
    names: Names,
    threads: HashMap<i32, u32>,
    members: HashMap<i32, i32>,
    parents: HashMap<i32, i32>,
    pub cores: u32,
    pub origin: Origin,
    pub lost: HashMap<u32, u64>,
    pub notes: Notes,
    bits: StateBits,
    wakings: bool,
    pub unrecorded: Unrecorded,
    /// Numbers of the switches whose next thread was not recorded.
    unconfirmed: Vec<u64>,
}

impl Collected {
    /// Passes what is known of threads and processes outside of events.
    pub fn describe<S: Sink>(&self, assembler: &mut Assembler<S>) {
        self.threads.iter().for_each(|(pid, name)| assembler.name(*pid, self.names.get(*name)));
        self.parents.iter().for_each(|(process, parent)| assembler.parent(*process, *parent));
        self.members.iter().for_each(|(pid, process)| assembler.member(*pid, *process));
    }

    pub fn each(&mut self, mut take: impl FnMut(&KernelEvent) -> Result<(), Error>) -> Result<(), Error> {
        let mut running = vec![0; self.cores as usize];
        let mut unconfirmed = std::mem::take(&mut self.unconfirmed).into_iter().peekable();
        let mut number = 0;
        while let Some(packed) = self.sorted.next()? {
            let mut event = unpack(&self.names, packed.time, packed.words, self.bits);
            let is_unconfirmed = unconfirmed.next_if_eq(&number).is_some();
            number += 1;
            // `sched_waking` says the same, and names the waker.
            if self.wakings && matches!(event.kind, EventKind::Wakeup { .. }) {
                continue;
            }
            if let EventKind::Switch { next, next_comm, .. } = &mut event.kind
                && is_unconfirmed
            {
                (*next, *next_comm) = (0, b"");
            }
            let slot = event.cpu as usize;
            if event.pid == RUNNING_THREAD {
                event.pid = running[slot];
            }
            running[slot] = match event.kind {
                EventKind::Switch { next, .. } => next,
                _ => event.pid,
            };
            take(&event)?;
        }
        Ok(())
    }
}

fn unpack(names: &Names, time: u64, [head, pid, a, b, c, d]: [u32; 6], bits: StateBits) -> KernelEvent<'_> {
    let stop = match head & BY_KERNEL != 0 && bits == StateBits::Before414 {
        true => head >> BEFORE,
        false => head >> STOP,
    };
    let stop = match stop & 3 {
        0 => Stop::Preempted,
        1 => Stop::Yielded,
        2 => Stop::Blocked,
        _ => Stop::Exited,
    };
    let kind = match head >> 16 & 0xff {
        SWITCH => EventKind::Switch {
            prev: a as i32,
            prev_comm: names.get(c),
            stop,
            next: b as i32,
            next_comm: names.get(d),
        },
        2 => EventKind::Waking { pid: a as i32, comm: names.get(c), target: b, sync: false },
        3 => EventKind::WakeupNew { pid: a as i32, comm: names.get(c), target: b },
        4 => EventKind::Fork { parent: a as i32, child: b as i32, child_comm: names.get(c) },
        5 => EventKind::Exec { pid: a as i32, old_pid: b as i32, filename: names.get(c) },
        6 => EventKind::Exit { pid: a as i32 },
        7 => EventKind::Wait,
        8 => EventKind::Migrate { pid: a as i32, from: b, to: c, queued: false },
        9 => EventKind::Frequency { cpu: a, khz: b },
        10 => EventKind::Idle { cpu: a, state: (c == 1).then_some(b) },
        11 => EventKind::Name { pid: a as i32, comm: names.get(c) },
        12 => EventKind::Tick { khz: a },
        13 => EventKind::Queue { length: a as u16 },
        16 => EventKind::NewTask { pid: a as i32, in_process: b == 1 },
        17 => EventKind::Member { pid: a as i32, process: b as i32 },
        WAKEUP => EventKind::Wakeup { pid: a as i32, comm: names.get(c), target: b },
        _ => EventKind::Running,
    };
    KernelEvent { time, cpu: head & 0xffff, pid: pid as i32, interrupt: head >> 24 & 1 == 1, kind }
}
