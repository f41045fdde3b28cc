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
//!
//! Events are given away as soon as nothing that comes can change them ([`Recent`]); memory is bounded but for some
//! 24 bytes per thread.

use super::decode::{Decision, KernelEvent, What};
use super::recent::{Finished, Recent};
use hearth_trace::{CoreId, Event, Header, IDLE, Kind, Sink, Stop, ThreadInfo, Tid, Time, Waker};
use std::collections::HashMap;

/// What of a recording is `traced`, and where its trace begins and ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// A process and what descends from it. The trace begins when it is first woken or acts, and ends when the last
    /// of its threads has ended.
    Tree { root_pid: i32 },
    /// Every thread, from the first event to the last.
    All,
}

/// The kernel keeps so much of a thread's name.
const COMM_BYTES: usize = 15;

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
    /// Before which event it belongs if it was.
    at: u64,
    time: Time,
    core: CoreId,
    waker: Waker,
    target: CoreId,
}

/// Small, because there is one for every thread that ever lived.
#[derive(Clone, Debug)]
struct Thread {
    pid: i32,
    parent: Tid,
    /// Its last name: that of the program that it executed last, or what it called itself after that.
    name: u32,
    traced: bool,
    exiting: bool,
    life: Life,
    /// The core that it last left, and the number of that switch (wrapping: it is of use while it is recent).
    left: Option<(CoreId, u32)>,
}

/// The last event of a core, if it was a wake-up: the migration to the core that was chosen
/// follows at once.
#[derive(Clone, Copy)]
enum Woke {
    Emitted { tid: Tid, number: u64 },
    Attempted { tid: Tid },
}

/// Names, each once.
#[derive(Default)]
struct Names {
    numbers: HashMap<Box<[u8]>, u32>,
    names: Vec<Box<[u8]>>,
}

impl Names {
    fn number(&mut self, name: &[u8]) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.numbers.insert(name.into(), number);
        self.names.push(name.into());
        number
    }

    fn text(&self, number: u32) -> String {
        let name = self.names.get(number as usize);
        name.map(|name| String::from_utf8_lossy(name).into_owned()).unwrap_or_default()
    }

    fn is(&self, number: u32, name: &[u8]) -> bool {
        self.names.get(number as usize).is_some_and(|known| **known == *name)
    }
}

/// What becomes of the kernel's events.
pub struct Assembled<S> {
    /// Where the events went.
    pub sink: S,
    /// The header that was given to [`Assembler::new`], with what only the events told: threads, names, duration,
    /// losses.
    pub header: Header,
    pub events: u64,
    /// Switches and moves that the kernel did not tell of, and that were put in.
    pub inferred: u64,
}

/// Makes a trace of the events of the kernel, which are given to it in order of time.
pub struct Assembler<S> {
    header: Header,
    scope: Scope,
    /// Our number of each of the kernel's cores.
    cores: HashMap<u32, CoreId>,
    pids: HashMap<i32, Tid>,
    /// Names of threads that were not seen yet.
    foretold: HashMap<i32, u32>,
    /// Thread `t` at `t - 1`.
    threads: Vec<Thread>,
    thread_names: Names,
    attempts: HashMap<Tid, Attempt>,
    /// Traced threads that have not ended.
    alive: u64,
    /// Who runs on each core, as far as known.
    current: Vec<Option<Tid>>,
    woke: Vec<Option<Woke>>,
    /// When the trace begins, in the kernel's time.
    start: Option<Time>,
    khz: Vec<u32>,
    /// Sets of the policy, and their cores, at the start.
    members: Vec<(u8, CoreId)>,
    recent: Recent<S>,
    programs: Names,
    lost: Vec<u64>,
    /// Switches that had to be put in, per core.
    missing: Vec<u64>,
    most_idle_state: Option<u8>,
}

impl<S: Sink> Assembler<S> {
    /// `header` says what is known before the first event: source, machine, cores, idle states, frequencies. `cpus`
    /// are the kernel's numbers of its cores, in order.
    pub fn new(header: Header, cpus: &[u32], scope: Scope, sink: S) -> Self {
        let n = header.cores.len();
        let cores = cpus.iter().take(n).enumerate().map(|(core, cpu)| (*cpu, core as CoreId)).collect();
        let mut assembler = Assembler {
            header,
            scope,
            cores,
            pids: HashMap::new(),
            foretold: HashMap::new(),
            threads: Vec::new(),
            thread_names: Names::default(),
            attempts: HashMap::new(),
            alive: 0,
            current: vec![None; n],
            woke: vec![None; n],
            start: None,
            khz: Vec::new(),
            members: Vec::new(),
            recent: Recent::new(sink, n),
            programs: Names::default(),
            lost: vec![0; n],
            missing: vec![0; n],
            most_idle_state: None,
        };
        if let Scope::Tree { root_pid } = scope {
            assembler.new_thread(root_pid, IDLE, true, b"");
        }
        assembler
    }

    /// Where the events go.
    pub fn sink(&mut self) -> &mut S {
        self.recent.sink()
    }

    /// The members of each of the policy's sets at the start, by the kernel's numbers. To be told before the first
    /// event.
    pub fn starts_with_members(&mut self, sets: &[Vec<u32>]) {
        let cores = &self.cores;
        let members = |(set, cpus): (usize, &Vec<u32>)| {
            let known: Vec<CoreId> = cpus.iter().filter_map(|cpu| cores.get(cpu).copied()).collect();
            known.into_iter().map(move |core| (set as u8, core))
        };
        self.members = sets.iter().take(usize::from(u8::MAX)).enumerate().flat_map(members).collect();
    }

    /// The frequency of each core at the start (0: unknown). To be told before the first event.
    pub fn starts_with_khz(&mut self, khz: &[u32]) {
        self.khz = khz.to_vec();
    }

    /// The thread that now has this `pid` has this name.
    pub fn name(&mut self, pid: i32, comm: &[u8]) {
        match self.pids.get(&pid) {
            Some(&tid) => self.rename(tid, comm),
            None => {
                let name = self.thread_names.number(comm);
                self.foretold.insert(pid, name);
            }
        }
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
        self.means(event, core, woke);
        let (threads, names) = (&self.threads, &self.thread_names);
        self.recent.release(|tid| describe(threads, names, tid));
    }

    /// What an event means, apart from who was running.
    fn means(&mut self, event: &KernelEvent, core: CoreId, woke: Option<Woke>) {
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
            What::Migrate { pid, from, to, queued } => {
                let (tid, woke) = (self.tid(pid), woke.filter(|_| !queued));
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
            What::Tick { khz } => {
                self.emit(event.time, core, Kind::Tick { khz });
            }
            What::Queue { length } => {
                self.emit(event.time, core, Kind::Queue { length });
            }
            What::Decided(decision) => {
                self.decided(event.time, core, decision);
                // A placement comes between a wake-up and the migration that belongs to it.
                self.woke[usize::from(core)] = woke;
            }
            What::Name { pid, comm } => self.name(pid, comm),
            What::Runs => {}
        }
    }

    /// Decisions about cores that the trace does not have, or without a reason, are left out.
    fn decided(&mut self, time: Time, core: CoreId, decision: Decision) {
        let of = |cpu| self.cores.get(&cpu).copied();
        match decision {
            Decision::Place { pid, target, reason, khz: seen_khz } => {
                let Some(target) = of(target) else { return };
                let known = reason > 0 && usize::from(reason) < self.header.reasons.len();
                let thread = self.tid(pid);
                if known && thread != IDLE {
                    self.emit(time, core, Kind::Place { thread, target, reason, seen_khz });
                }
            }
            Decision::Set { cpu, set, member } => {
                let known = u8::try_from(set).ok().filter(|set| usize::from(*set) < self.header.sets.len());
                if let (Some(core), Some(set)) = (of(cpu), known) {
                    self.emit(time, core, Kind::Set { set, member });
                }
            }
            Decision::Spin { cpu, on } => {
                if let Some(core) = of(cpu) {
                    self.emit(time, core, Kind::Spin { on });
                }
            }
        }
    }

    /// The trace is whole; `None`: nothing of the command was seen.
    pub fn finish(mut self) -> Option<Assembled<S>> {
        self.start?;
        if self.alive > 0 {
            self.recent.may_cut(None);
        }
        let (threads, names) = (&self.threads, &self.thread_names);
        let Finished { sink, duration, events, missing } =
            self.recent.finish(|tid| describe(threads, names, tid));
        let missing = missing.iter().zip(&self.missing).map(|(moves, switches)| moves + switches);
        let mut inferred = 0;
        for (lost, missing) in self.lost.iter_mut().zip(missing) {
            *lost = (*lost).max(missing);
            inferred += missing;
        }
        let mut idle_states = std::mem::take(&mut self.header.idle_states);
        for state in idle_states.len()..self.most_idle_state.map_or(0, |state| usize::from(state) + 1) {
            idle_states.push(format!("state {state}"));
        }
        let header = Header {
            duration,
            threads: (1..=threads.len() as Tid).map(|tid| describe(threads, names, tid)).collect(),
            names: (0..self.programs.names.len()).map(|name| self.programs.text(name as u32)).collect(),
            idle_states,
            lost: self.lost,
            ..self.header
        };
        Some(Assembled { sink, header, events, inferred })
    }

    /// Whether the command begins with this event: it is woken, or acts.
    fn begins(&self, event: &KernelEvent) -> bool {
        let Scope::Tree { root_pid: root } = self.scope else { return true };
        match event.what {
            What::Runs => false,
            What::Waking { pid, .. } => pid == root,
            What::Switch { next, .. } => next == root,
            _ => event.pid == root && !event.interrupt,
        }
    }

    /// Time 0: whoever runs now is told by a switch, whatever was before is forgotten.
    fn begin(&mut self, time: Time) {
        self.start = Some(time);
        for (core, khz) in std::mem::take(&mut self.khz).into_iter().enumerate().take(self.current.len()) {
            if khz > 0 {
                self.emit(time, core as CoreId, Kind::Frequency { khz });
            }
        }
        for (set, core) in std::mem::take(&mut self.members) {
            self.emit(time, core, Kind::Set { set, member: true });
        }
        for core in 0..self.current.len() {
            if let Some(next) = self.current[core].filter(|tid| *tid != IDLE) {
                self.emit(time, core as CoreId, Kind::Switch { prev: IDLE, stop: Stop::Preempted, next });
            }
        }
        for thread in &mut self.threads {
            thread.left = None;
        }
        self.attempts.clear();
    }

    /// Appends an event, if the trace has begun. Returns its number.
    fn emit(&mut self, time: Time, core: CoreId, kind: Kind) -> u64 {
        match self.start {
            Some(start) => self.recent.push(time.saturating_sub(start), core, kind),
            None => 0,
        }
    }

    fn new_thread(&mut self, pid: i32, parent: Tid, traced: bool, name: &[u8]) -> Tid {
        let name = self.thread_names.number(name);
        let traced = traced || self.scope == Scope::All;
        self.alive += u64::from(traced);
        let (exiting, life, left) = (false, Life::Unknown, None);
        self.threads.push(Thread { pid, parent, name, traced, exiting, life, left });
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
            None => {
                let tid = self.new_thread(pid, IDLE, false, b"");
                if let Some(name) = self.foretold.remove(&pid) {
                    self.thread(tid).name = name;
                }
                tid
            }
        }
    }

    fn set_life(&mut self, tid: Tid, life: Life) {
        let thread = self.thread(tid);
        let before = std::mem::replace(&mut thread.life, life);
        if thread.traced {
            self.alive -= u64::from(before != Life::Ended);
            self.alive += u64::from(life != Life::Ended);
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
        let name = self.threads[tid as usize - 1].name;
        if !self.thread_names.is(name, comm) {
            self.thread(tid).name = self.thread_names.number(comm);
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
                self.set_life(running, Life::Running);
                self.attempts.remove(&running);
                if self.start.is_some() {
                    let kind = Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: running };
                    self.recent.insert(0, Event { time: 0, core, kind });
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
        let number = self.emit(time, core, Kind::Switch { prev, stop, next });
        if prev != IDLE {
            self.leaves(core, prev, stop, number);
        }
    }

    /// `tid` begins to run: what was unclear about it is clear now.
    fn arrives(&mut self, time: Time, core: CoreId, tid: Tid) {
        let thread = self.thread(tid);
        let (life, left) = (thread.life, thread.left.take());
        self.set_life(tid, Life::Running);
        let attempt = self.attempts.remove(&tid);
        if life == Life::Running {
            self.leaves_unseen(time, core, tid);
        }
        let left =
            left.filter(|(from, _)| *from == core).and_then(|(_, number)| self.recent_switch(number, tid));
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
            (Life::Blocked, None, Some(stop)) => *stop = Stop::Preempted,
            (Life::Blocked, None, _) => {
                self.emit(time, core, Kind::Wakeup { thread: tid, waker: Waker::Interrupt, target: core });
            }
            _ => {}
        }
    }

    /// A thread begins to run on `core`; if it was running on another one, a switch is missing there.
    fn leaves_unseen(&mut self, time: Time, core: CoreId, tid: Tid) {
        let elsewhere = |slot: &usize| *slot != usize::from(core) && self.current[*slot] == Some(tid);
        if let Some(slot) = (0..self.current.len()).find(elsewhere) {
            self.current[slot] = Some(IDLE);
            self.emit(time, slot as CoreId, Kind::Switch { prev: tid, stop: Stop::Preempted, next: IDLE });
            self.missing[slot] += u64::from(self.start.is_some());
        }
    }

    /// The stop of the switch by which a thread left its core, if it may still be changed.
    fn recent_switch(&mut self, number: u32, tid: Tid) -> Option<&mut Stop> {
        // `number` is cut to 32 bits: it means the newest event that it may.
        let next = self.recent.next();
        let number = next.checked_sub(u64::from((next as u32).wrapping_sub(number)))?;
        match self.recent.kind(number)? {
            Kind::Switch { prev, stop, .. } if *prev == tid => Some(stop),
            _ => None,
        }
    }

    fn leaves(&mut self, core: CoreId, tid: Tid, stop: Stop, number: u64) {
        let (started, end) = (self.start.is_some(), self.recent.next());
        let time = self.recent.newest();
        let attempt = self.attempts.remove(&tid);
        // A wake-up of a thread that was about to block happened, if it did, when it had blocked.
        let attempt = attempt.filter(|_| stop == Stop::Blocked && started).map(|attempt| {
            let still_there = match attempt.waker {
                Waker::Thread(waker) => self.current[usize::from(attempt.core)] == Some(waker),
                Waker::Interrupt => true,
            };
            let waker = if still_there { attempt.waker } else { Waker::Interrupt };
            Attempt { at: end, time, waker, ..attempt }
        });
        self.attempts.extend(attempt.map(|attempt| (tid, attempt)));
        self.thread(tid).left = started.then_some((core, number as u32));
        let life = match stop {
            Stop::Preempted | Stop::Yielded => Life::Ready,
            Stop::Blocked => Life::Blocked,
            Stop::Exited => Life::Ended,
        };
        self.set_life(tid, life);
        if stop == Stop::Exited && self.thread(tid).traced && self.scope != Scope::All {
            // If nothing of the command lives then, the trace ends here.
            self.recent.may_cut(Some(end).filter(|_| self.alive == 0));
        }
    }

    fn waking(&mut self, time: Time, core: CoreId, tid: Tid, waker: Waker, target: CoreId) {
        let started = self.start.is_some();
        let relative = time.saturating_sub(self.start.unwrap_or(time));
        let woke = match self.thread(tid).life {
            Life::Blocked => {
                self.set_life(tid, Life::Ready);
                self.attempts.remove(&tid);
                let number = self.emit(time, core, Kind::Wakeup { thread: tid, waker, target });
                started.then_some(Woke::Emitted { tid, number })
            }
            Life::Running | Life::Unknown => {
                let (at, time) = (self.recent.next(), self.recent.newest().max(relative));
                self.attempts.insert(tid, Attempt { at, time, core, waker, target });
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
            self.recent.insert(at, Event { time, core, kind: Kind::Wakeup { thread: tid, waker, target } });
        }
    }

    fn migrate(&mut self, time: Time, core: CoreId, tid: Tid, from: CoreId, to: CoreId, woke: Option<Woke>) {
        if tid == IDLE {
            return;
        }
        match woke {
            // Part of the wake-up: the core that was chosen for the thread.
            Some(Woke::Emitted { tid: woken, number }) if woken == tid => {
                if let Some(Kind::Wakeup { target, .. }) = self.recent.kind(number) {
                    *target = to;
                    return;
                }
            }
            Some(Woke::Attempted { tid: woken }) if woken == tid => {
                if let Some(attempt) = self.attempts.get_mut(&tid) {
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
                if let Some(attempt) = self.attempts.get_mut(&tid) {
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
        self.set_life(child, Life::Ready);
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
        let program = filename.rsplit(|byte| *byte == b'/').next().unwrap_or(filename);
        self.rename(thread, &program[..program.len().min(COMM_BYTES)]);
        let name = self.programs.number(program);
        self.emit(time, core, Kind::Exec { thread, name });
    }
}

fn describe(threads: &[Thread], names: &Names, tid: Tid) -> ThreadInfo {
    let thread = &threads[tid as usize - 1];
    ThreadInfo { tid, name: names.text(thread.name), parent: thread.parent, traced: thread.traced }
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
