//! From the kernel's events to ours.
//!
//! Four things are put right on the way:
//!
//! - **Names.** The kernel's `pid`s are used again; ours are not. A thread begins with its fork.
//! - **The tree.** What descends from the command is `traced`; all other threads are kept too
//!   (they take cores and time), but marked.
//! - **Wake-ups.** `sched_waking` says that a wake-up is *tried*. The thread may be running still,
//!   about to block; then the kernel may count the wake-up (it sleeps for no time at all) or not
//!   (it had not yet gone to sleep, and does not). Which it was shows later: a thread that runs
//!   again without another attempt was woken by this one.
//! - **Missing switches.** Every event says which thread was running. Where that is not the one
//!   that was switched to, a switch is missing: it is put in, and counted as lost. (Buffers that
//!   overflow are one cause; some kernels leave switches out now and then.)

use super::decode::{KernelEvent, What};
use super::moves;
use crate::Host;
use hearth_trace::{CoreId, Event, Header, IDLE, Kind, Source, Stop, ThreadInfo, Tid, Time, Trace, Waker};
use std::collections::HashMap;

/// What is known of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    /// It existed before the recording, and has not been seen to run or to be woken.
    Unknown,
    Running,
    Ready,
    Blocked,
    Ended,
}

/// A wake-up that may not have been one.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    /// Where in the events it belongs if it was.
    at: usize,
    time: Time,
    core: CoreId,
    waker: Waker,
    target: CoreId,
}

#[derive(Clone, Debug)]
struct Thread {
    pid: i32,
    parent: Tid,
    traced: bool,
    /// The name before its first `exec`: it may still be changed by the program itself.
    name: Vec<u8>,
    execed: bool,
    exiting: bool,
    life: Life,
    attempt: Option<Attempt>,
    /// Index of the switch by which it last left a core, and that core.
    left: Option<(usize, CoreId)>,
}

/// The last event of a core, if it was a wake-up: the migration to the core that was chosen
/// follows at once.
#[derive(Clone, Copy)]
enum Woke {
    Emitted { tid: Tid, index: usize },
    Attempted { tid: Tid },
}

/// What becomes of a recording.
pub struct Assembled {
    pub trace: Trace,
    /// Switches and moves that the kernel did not tell of, and that were put in.
    pub inferred: u64,
}

/// Makes a trace of the events of the kernel, which are given to it in order of time.
pub struct Assembler<'a> {
    host: &'a Host,
    command: &'a [String],
    root: Tid,
    /// Our number of each of the kernel's cores.
    cores: HashMap<u32, CoreId>,
    pids: HashMap<i32, Tid>,
    /// Thread `t` at `t - 1`.
    threads: Vec<Thread>,
    /// Who runs on each core, as far as known.
    current: Vec<Option<Tid>>,
    woke: Vec<Option<Woke>>,
    /// When the command was released, in the kernel's time.
    start: Option<Time>,
    events: Vec<Event>,
    /// Events that turned out later to have happened: each goes before the event with this index.
    late: Vec<(usize, Event)>,
    /// When the last traced thread ended, and the number of events then.
    last_exit: Option<(Time, usize)>,
    names: HashMap<Vec<u8>, u32>,
    lost: Vec<u64>,
    /// Switches that had to be put in, per core.
    missing: Vec<u64>,
    most_idle_state: Option<u8>,
}

impl<'a> Assembler<'a> {
    /// `root` is the process that becomes the command.
    pub fn new(host: &'a Host, command: &'a [String], root: i32) -> Self {
        let n = host.cpus.len();
        let mut assembler = Assembler {
            host,
            command,
            root: 1,
            cores: host.cpus.iter().enumerate().map(|(core, cpu)| (*cpu, core as CoreId)).collect(),
            pids: HashMap::new(),
            threads: Vec::new(),
            current: vec![None; n],
            woke: vec![None; n],
            start: None,
            events: Vec::new(),
            late: Vec::new(),
            last_exit: None,
            names: HashMap::new(),
            lost: vec![0; n],
            missing: vec![0; n],
            most_idle_state: None,
        };
        assembler.root = assembler.new_thread(root, IDLE, true, b"");
        assembler
    }

    /// Events of `cpu` were lost: how many, if the kernel knows.
    pub fn lost(&mut self, cpu: u32, count: Option<u64>) {
        if let Some(&core) = self.cores.get(&cpu) {
            let core = usize::from(core);
            self.lost[core] = self.lost[core].saturating_add(count.unwrap_or(1));
            self.woke[core] = None;
        }
    }

    /// At least this many events of `cpu` were lost.
    pub fn lost_at_least(&mut self, cpu: u32, count: u64) {
        if let Some(&core) = self.cores.get(&cpu) {
            let lost = &mut self.lost[usize::from(core)];
            *lost = count.max(*lost);
        }
    }

    /// Takes the next event. Those of cores that were not online at the start are left out.
    pub fn event(&mut self, event: &KernelEvent) {
        let Some(&core) = self.cores.get(&event.cpu) else { return };
        let woke = self.woke[usize::from(core)].take();
        if self.start.is_none() && self.begins(event) {
            self.begin(event.time);
        }
        // `exec` by a thread that takes another's place has changed the pid already.
        if !matches!(event.what, What::Exec { pid, old_pid, .. } if pid != old_pid) {
            self.runs(event.time, core, event.pid);
        }
        let waker = |this: &mut Self| match event.interrupt || event.pid == 0 {
            true => Waker::Interrupt,
            false => Waker::Thread(this.tid(event.pid)),
        };
        match event.what {
            What::Switch { prev, prev_comm, stop, next, next_comm } => {
                let prev = self.current[usize::from(core)].unwrap_or_else(|| self.tid(prev));
                self.rename(prev, prev_comm);
                let next = self.named(next, next_comm);
                self.switch(event.time, core, prev, stop, next);
            }
            What::Waking { pid, comm, target } => {
                let tid = self.named(pid, comm);
                // A thread that wakes itself was not asleep; an interrupt may wake the one it interrupts.
                if tid != IDLE && (pid != event.pid || event.interrupt) {
                    let target = self.cores.get(&target).copied().unwrap_or(core);
                    let waker = waker(self);
                    self.waking(event.time, core, tid, waker, target);
                }
            }
            What::Fork { parent, child, child_comm } => {
                let parent = self.tid(parent);
                self.born(child, parent, child_comm);
            }
            What::WakeupNew { pid, comm, target } => {
                let parent = self.tid(event.pid);
                let target = self.cores.get(&target).copied().unwrap_or(core);
                self.first_wakeup(event.time, core, pid, parent, comm, target);
            }
            What::Exec { pid, old_pid, filename } => self.exec(event.time, core, pid, old_pid, filename),
            What::Exit { pid } => {
                let thread = self.tid(pid);
                if thread != IDLE {
                    self.thread(thread).exiting = true;
                    self.emit(event.time, core, Kind::Exit { thread });
                }
            }
            What::Wait => {
                let thread = self.tid(event.pid);
                self.emit(event.time, core, Kind::Wait { thread });
            }
            What::Migrate { pid, from, to } => {
                let tid = self.tid(pid);
                if let (Some(&from), Some(&to)) = (self.cores.get(&from), self.cores.get(&to)) {
                    self.migrate(event.time, core, tid, from, to, woke);
                }
            }
            What::Frequency { cpu, khz } => {
                if let Some(&core) = self.cores.get(&cpu) {
                    self.emit(event.time, core, Kind::Frequency { khz });
                }
            }
            What::Idle { cpu, state } => {
                if let (Some(&core), Some(state)) = (self.cores.get(&cpu), state) {
                    let state = state.min(u8::MAX.into()) as u8;
                    self.most_idle_state = self.most_idle_state.max(Some(state));
                    self.emit(event.time, core, Kind::Idle { state });
                }
            }
        }
    }

    /// The trace, or `None` if nothing of the command was seen. `khz` is the frequency of each
    /// core at the start (0: unknown).
    pub fn finish(mut self, khz: &[u32]) -> Option<Assembled> {
        self.start?;
        let alive = |thread: &Thread| thread.traced && thread.life != Life::Ended;
        let end = match self.last_exit {
            Some(exit) if !self.threads.iter().any(alive) => exit,
            _ => (self.events.last().map_or(0, |event| event.time), self.events.len()),
        };
        self.events.truncate(end.1);
        let first = khz.iter().enumerate().filter(|(_, khz)| **khz > 0);
        let first = first
            .map(|(core, &khz)| (0, Event { time: 0, core: core as CoreId, kind: Kind::Frequency { khz } }));
        let mut late: Vec<_> = first.chain(self.late).filter(|(at, _)| *at <= end.1).collect();
        late.sort_by_key(|(at, event)| (*at, event.time)); // stable
        let events = moves::infer(insert(self.events, late), &mut self.missing);
        for (lost, missing) in self.lost.iter_mut().zip(&self.missing) {
            *lost = (*lost).max(*missing);
        }
        let inferred = self.missing.iter().sum();
        let mut names: Vec<_> = self.names.into_iter().collect();
        names.sort_by_key(|(_, number)| *number);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let thread = |(index, thread): (usize, &Thread)| ThreadInfo {
            tid: index as Tid + 1,
            name: text(&thread.name),
            parent: thread.parent,
            traced: thread.traced,
        };
        let mut idle_states = self.host.idle_states.clone();
        for state in idle_states.len()..self.most_idle_state.map_or(0, |state| usize::from(state) + 1) {
            idle_states.push(format!("state {state}"));
        }
        let header = Header {
            source: Source::Recorded {
                method: "tracefs".into(),
                command: self.command.to_vec(),
                kernel: self.host.kernel.clone(),
            },
            machine: self.host.model.clone(),
            cores: self.host.cores.clone(),
            duration: end.0,
            threads: self.threads.iter().enumerate().map(thread).collect(),
            names: names.iter().map(|(name, _)| text(name)).collect(),
            idle_states,
            assumed_khz: self.host.nominal_khz,
            khz_range: self.host.khz_range,
            lost: self.lost,
            ..Header::default()
        };
        Some(Assembled { trace: Trace { header, events }, inferred })
    }

    /// Whether the command begins with this event: it is woken, or acts.
    fn begins(&self, event: &KernelEvent) -> bool {
        let root = self.threads[self.root as usize - 1].pid;
        match event.what {
            What::Waking { pid, .. } => pid == root,
            What::Switch { next, .. } => next == root,
            _ => event.pid == root && !event.interrupt,
        }
    }

    /// Time 0: whoever runs now is told by a switch, whatever was before is forgotten.
    fn begin(&mut self, time: Time) {
        self.start = Some(time);
        for core in 0..self.current.len() {
            if let Some(next) = self.current[core].filter(|tid| *tid != IDLE) {
                self.emit(time, core as CoreId, Kind::Switch { prev: IDLE, stop: Stop::Preempted, next });
            }
        }
        for thread in &mut self.threads {
            thread.left = None;
            thread.attempt = None;
        }
    }

    /// Appends an event, if the command has begun. Returns its index.
    fn emit(&mut self, time: Time, core: CoreId, kind: Kind) -> usize {
        if let Some(start) = self.start {
            // The clocks of two cores may differ by some nanoseconds.
            let before = self.events.last().map_or(0, |event| event.time);
            let time = time.saturating_sub(start).max(before);
            self.events.push(Event { time, core, kind });
        }
        self.events.len().saturating_sub(1)
    }

    fn new_thread(&mut self, pid: i32, parent: Tid, traced: bool, name: &[u8]) -> Tid {
        self.threads.push(Thread {
            pid,
            parent,
            traced,
            name: name.to_vec(),
            execed: false,
            exiting: false,
            life: Life::Unknown,
            attempt: None,
            left: None,
        });
        let tid = self.threads.len() as Tid;
        self.pids.insert(pid, tid);
        tid
    }

    fn thread(&mut self, tid: Tid) -> &mut Thread {
        &mut self.threads[tid as usize - 1]
    }

    /// The thread that now has this `pid`.
    fn tid(&mut self, pid: i32) -> Tid {
        match self.pids.get(&pid) {
            _ if pid == 0 => IDLE,
            Some(tid) => *tid,
            None => self.new_thread(pid, IDLE, false, b""),
        }
    }

    /// The thread that now has this `pid`, and this name.
    fn named(&mut self, pid: i32, comm: &[u8]) -> Tid {
        let tid = self.tid(pid);
        self.rename(tid, comm);
        tid
    }

    fn rename(&mut self, tid: Tid, comm: &[u8]) {
        if tid == IDLE || comm.is_empty() {
            return;
        }
        let thread = self.thread(tid);
        if !thread.execed && thread.name != comm {
            thread.name.clear();
            thread.name.extend_from_slice(comm);
        }
    }

    /// At this time, the thread with this `pid` is running on the core.
    fn runs(&mut self, time: Time, core: CoreId, pid: i32) {
        let slot = usize::from(core);
        let current = self.current[slot];
        // Not by `tid(pid)`: when a dead thread's last switch comes, its pid may be another's.
        match current {
            Some(IDLE) if pid == 0 => return,
            Some(current) if current != IDLE && self.thread(current).pid == pid => return,
            _ => {}
        }
        let running = self.tid(pid);
        let since_before = running == IDLE || self.thread(running).life == Life::Unknown;
        if current.is_none() && since_before {
            // It has been running since before the command began.
            self.current[slot] = Some(running);
            if running != IDLE {
                self.thread(running).life = Life::Running;
                self.thread(running).attempt = None;
                if self.start.is_some() {
                    let kind = Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: running };
                    self.late.push((0, Event { time: 0, core, kind }));
                }
            }
            return;
        }
        // If it turns out that `prev` had not blocked, `arrives` corrects this.
        let prev = current.unwrap_or(IDLE);
        let exited = prev != IDLE && self.thread(prev).exiting;
        let stop = if exited { Stop::Exited } else { Stop::Blocked };
        self.switch(time, core, prev, stop, running);
        if self.start.is_some() {
            self.missing[slot] += 1;
        }
    }

    fn switch(&mut self, time: Time, core: CoreId, prev: Tid, stop: Stop, next: Tid) {
        self.current[usize::from(core)] = Some(next);
        if next != IDLE {
            self.arrives(time, core, next);
        }
        let stop = if prev == IDLE { Stop::Preempted } else { stop };
        let index = self.emit(time, core, Kind::Switch { prev, stop, next });
        if prev != IDLE {
            self.leaves(core, prev, stop, index);
        }
    }

    /// `tid` begins to run: what was unclear about it is clear now.
    fn arrives(&mut self, time: Time, core: CoreId, tid: Tid) {
        let thread = self.thread(tid);
        let life = std::mem::replace(&mut thread.life, Life::Running);
        let (attempt, left) = (thread.attempt.take(), thread.left.take());
        match (life, attempt, left) {
            (Life::Blocked | Life::Unknown, Some(attempt), _) => {
                let moved = attempt.target != core;
                self.woken_late(tid, attempt);
                if moved {
                    self.emit(time, core, Kind::Migrate { thread: tid, from: attempt.target, to: core });
                }
            }
            // Nobody woke it, so it did not sleep: a signal was pending. (Kernels before 6.14
            // report the state that it was about to assume.)
            (Life::Blocked, None, Some((index, from))) if from == core => {
                if let Some(Event { kind: Kind::Switch { stop, .. }, .. }) = self.events.get_mut(index) {
                    *stop = Stop::Preempted;
                }
            }
            (Life::Blocked, None, _) => {
                self.emit(time, core, Kind::Wakeup { thread: tid, waker: Waker::Interrupt, target: core });
            }
            _ => {}
        }
    }

    fn leaves(&mut self, core: CoreId, tid: Tid, stop: Stop, index: usize) {
        let (started, end) = (self.start.is_some(), self.events.len());
        let time = self.events.last().map_or(0, |event| event.time);
        let attempt = self.thread(tid).attempt.take();
        // A wake-up of a thread that was about to block happened, if it did, when it had blocked.
        let attempt = attempt.filter(|_| stop == Stop::Blocked && started).map(|attempt| {
            let still_there = match attempt.waker {
                Waker::Thread(waker) => self.current[usize::from(attempt.core)] == Some(waker),
                Waker::Interrupt => true,
            };
            let waker = if still_there { attempt.waker } else { Waker::Interrupt };
            Attempt { at: end, time, waker, ..attempt }
        });
        let thread = self.thread(tid);
        thread.attempt = attempt;
        thread.left = started.then_some((index, core));
        thread.life = match stop {
            Stop::Preempted | Stop::Yielded => Life::Ready,
            Stop::Blocked => Life::Blocked,
            Stop::Exited => Life::Ended,
        };
        if stop == Stop::Exited && thread.traced {
            self.last_exit = Some((time, end));
        }
    }

    fn waking(&mut self, time: Time, core: CoreId, tid: Tid, waker: Waker, target: CoreId) {
        let started = self.start.is_some();
        let relative = time.saturating_sub(self.start.unwrap_or(time));
        let at = self.events.len();
        let time_here = self.events.last().map_or(0, |event| event.time).max(relative);
        let thread = self.thread(tid);
        let woke = match thread.life {
            Life::Blocked => {
                thread.life = Life::Ready;
                thread.attempt = None;
                let index = self.emit(time, core, Kind::Wakeup { thread: tid, waker, target });
                started.then_some(Woke::Emitted { tid, index })
            }
            Life::Running | Life::Unknown => {
                thread.attempt = Some(Attempt { at, time: time_here, core, waker, target });
                Some(Woke::Attempted { tid })
            }
            Life::Ready | Life::Ended => None,
        };
        self.woke[usize::from(core)] = woke;
    }

    /// An attempted wake-up turns out to have been one.
    fn woken_late(&mut self, tid: Tid, attempt: Attempt) {
        let Attempt { at, time, core, waker, target } = attempt;
        if self.start.is_some() {
            self.late.push((at, Event { time, core, kind: Kind::Wakeup { thread: tid, waker, target } }));
        }
    }

    fn migrate(&mut self, time: Time, core: CoreId, tid: Tid, from: CoreId, to: CoreId, woke: Option<Woke>) {
        if tid == IDLE {
            return;
        }
        match woke {
            // Part of the wake-up: the core that was chosen for the thread.
            Some(Woke::Emitted { tid: woken, index }) if woken == tid => {
                if let Some(Event { kind: Kind::Wakeup { target, .. }, .. }) = self.events.get_mut(index) {
                    *target = to;
                }
                return;
            }
            Some(Woke::Attempted { tid: woken }) if woken == tid => {
                if let Some(attempt) = &mut self.thread(tid).attempt {
                    attempt.target = to;
                }
                return;
            }
            _ => {}
        }
        match self.thread(tid).life {
            Life::Ready => {
                self.emit(time, core, Kind::Migrate { thread: tid, from, to });
            }
            // A thread that sleeps may be moved too; it does not matter to anybody. If it turns
            // out that it had been woken, it must be known where it waited.
            _ => {
                if let Some(attempt) = &mut self.thread(tid).attempt {
                    attempt.target = to;
                }
            }
        }
    }

    /// A thread is made; it does not run yet.
    fn born(&mut self, pid: i32, parent: Tid, comm: &[u8]) -> Tid {
        let traced = parent != IDLE && self.thread(parent).traced;
        self.new_thread(pid, parent, traced, comm)
    }

    fn first_wakeup(&mut self, time: Time, core: CoreId, pid: i32, parent: Tid, comm: &[u8], target: CoreId) {
        let known = self.pids.get(&pid).copied();
        // Some threads of the kernel are made without a fork event; or it was lost, and the pid
        // belongs to a thread that is dead.
        let fresh = known.filter(|tid| {
            let thread = &self.threads[*tid as usize - 1];
            thread.life == Life::Unknown && thread.parent != IDLE
        });
        let child = fresh.unwrap_or_else(|| self.born(pid, parent, comm));
        self.thread(child).life = Life::Ready;
        let parent = self.thread(child).parent;
        self.emit(time, core, Kind::Fork { parent, child, target });
    }

    fn exec(&mut self, time: Time, core: CoreId, pid: i32, old_pid: i32, filename: &[u8]) {
        let thread = self.tid(old_pid);
        if pid != old_pid && thread != IDLE {
            // A thread that is not the first of its process takes the first one's place and pid.
            self.pids.remove(&old_pid);
            self.pids.insert(pid, thread);
            self.thread(thread).pid = pid;
        }
        if thread != IDLE {
            self.thread(thread).execed = true;
        }
        let program = filename.rsplit(|byte| *byte == b'/').next().unwrap_or(filename);
        let next = self.names.len() as u32;
        let name = *self.names.entry(program.to_vec()).or_insert(next);
        self.emit(time, core, Kind::Exec { thread, name });
    }
}

/// Inserts events before those with the given indices, which ascend.
fn insert(events: Vec<Event>, late: Vec<(usize, Event)>) -> Vec<Event> {
    if late.is_empty() {
        return events;
    }
    let mut merged = Vec::with_capacity(events.len() + late.len());
    let mut late = late.into_iter().peekable();
    for (index, event) in events.into_iter().enumerate() {
        while let Some((_, inserted)) = late.next_if(|(at, _)| *at <= index) {
            merged.push(inserted);
        }
        merged.push(event);
    }
    merged.extend(late.map(|(_, inserted)| inserted));
    merged
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
