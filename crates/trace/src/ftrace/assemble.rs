//! Assembling kernel events into a trace.
//!
//! - **Threads.** The kernel reuses `pid`s; a trace does not reuse thread numbers. A thread begins with its fork.
//! - **Processes.** A thread's process comes from an event, or is known when the recording begins. Kernel numbers of
//!   processes are reused, too: a process begins with the fork of its first thread.
//! - **Process tree.** Descendants of the command are `traced`. All other threads are in the trace too, because they
//!   take cores and time.
//! - **Wake-ups.** `sched_waking` reports an *attempt*. The thread may still be running and about to block. Then either
//!   the wake-up happens as soon as it blocks, or the thread does not block at all. A thread that runs again without
//!   another attempt was woken by this one.
//! - **Missing switches.** Every event names the running thread. If that is not the thread of the last switch, a switch
//!   is missing: it is inserted and counted as lost. Buffers that overflow are one cause; some kernels also omit a
//!   switch now and then.
//!
//! What was not recorded is not invented ([`Unrecorded`]): without wake-ups, a blocked thread just runs
//! again; a core whose next thread was not recorded idles.
//!
//! Recent events may still change ([`Window`]). Memory use is bounded, except for about 40 bytes per thread.

mod processes;
mod running;
mod threads;

use crate::ftrace::event::{Decision, EventKind, KernelEvent};
use crate::ftrace::names::Names;
use crate::ftrace::window::{Finished, Window};
use crate::{CoreId, Header, IDLE, Kind, Sink, Stop, Tid, Time, Unrecorded, Waker};
use processes::Processes;
use std::collections::HashMap;
use threads::{Thread, describe};

/// Which threads are `traced`, and where the trace begins and ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// A process and its descendants. The trace begins when the process is first woken or acts, and ends when the last
    /// of these threads exits.
    Tree { root_pid: i32 },
    /// Every thread, from the first event to the last.
    All,
}

/// Attempt of a wake-up that may turn out to have had no effect.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    /// Number of the event that the wake-up precedes.
    at: u64,
    time: Time,
    core: CoreId,
    waking: Waking,
}

/// Who wakes a thread, the core where that last ran, and whether the waker says that it is about to sleep.
#[derive(Clone, Copy, Debug)]
struct Waking {
    waker: Waker,
    target: CoreId,
    sync: bool,
}

impl Waking {
    /// The same at a time at which its waker may no longer run.
    fn by_interrupt(self) -> Waking {
        Waking { waker: Waker::Interrupt, sync: false, ..self }
    }
}

/// Wake-up that was the last event of a core. The migration to the chosen core follows immediately.
#[derive(Clone, Copy)]
enum LastWakeup {
    Emitted { tid: Tid, number: u64 },
    Attempted { tid: Tid },
}

/// An assembled trace.
pub struct Assembled<S> {
    pub sink: S,
    /// The header of [`Assembler::new`], completed by threads, names, duration and losses.
    pub header: Header,
    /// Time 0 of the trace, on the clock of the kernel events.
    pub begin: Time,
    pub events: u64,
    /// Number of inserted switches and migrations, which the kernel did not report.
    pub inferred: u64,
}

/// Assembles a trace from kernel events, which it takes in order of time.
pub struct Assembler<S> {
    header: Header,
    scope: Scope,
    /// Core of each kernel CPU number.
    cores: HashMap<u32, CoreId>,
    pids: HashMap<i32, Tid>,
    /// Names of threads without events so far.
    early_names: HashMap<i32, u32>,
    /// Thread `t` at `t - 1`.
    threads: Vec<Thread>,
    processes: Processes,
    thread_names: Names,
    attempts: HashMap<Tid, Attempt>,
    /// Number of traced threads that have not exited.
    alive: u64,
    /// Running thread of each core; `None`: unknown.
    current: Vec<Option<Tid>>,
    unrecorded: Unrecorded,
    last_wakeups: Vec<Option<LastWakeup>>,
    /// Beginning of the trace in kernel time.
    start: Option<Time>,
    /// Frequency of each core at the start.
    khz: Vec<u32>,
    /// Members of the policy's sets at the start.
    members: Vec<(u8, CoreId)>,
    window: Window<S>,
    programs: Names,
    lost: Vec<u64>,
    /// Number of inserted switches, per core: so far, and up to the end of the process tree.
    missing: Vec<u64>,
    missing_at_end: Vec<u64>,
    most_idle_state: Option<u8>,
}

impl<S: Sink> Assembler<S> {
    /// `header` holds what is known before the first event: source, machine, cores, idle states, frequencies. `cpus`
    /// are the kernel's CPU numbers of its cores.
    pub fn new(header: Header, cpus: &[u32], scope: Scope, sink: S) -> Self {
        let n = header.cores.len();
        let unrecorded = header.source.unrecorded();
        let current = if unrecorded.threads { Some(IDLE) } else { None };
        let cores = cpus.iter().take(n).enumerate().map(|(core, cpu)| (*cpu, core as CoreId)).collect();
        let mut assembler = Assembler {
            header,
            scope,
            cores,
            pids: HashMap::new(),
            early_names: HashMap::new(),
            threads: Vec::new(),
            processes: Processes::default(),
            thread_names: Names::default(),
            attempts: HashMap::new(),
            alive: 0,
            current: vec![current; n],
            unrecorded,
            last_wakeups: vec![None; n],
            start: None,
            khz: Vec::new(),
            members: Vec::new(),
            window: Window::new(sink, n),
            programs: Names::default(),
            lost: vec![0; n],
            missing: vec![0; n],
            missing_at_end: Vec::new(),
            most_idle_state: None,
        };
        if let Scope::Tree { root_pid } = scope {
            assembler.new_thread(root_pid, IDLE, true, b"");
        }
        assembler
    }

    pub fn sink(&mut self) -> &mut S {
        self.window.sink()
    }

    /// Members of each of the policy's sets at the start, as kernel CPU numbers. To be set before the first event.
    pub fn set_initial_members(&mut self, sets: &[Vec<u32>]) {
        let cores = &self.cores;
        let members = |(set, cpus): (usize, &Vec<u32>)| {
            let known: Vec<CoreId> = cpus.iter().filter_map(|cpu| cores.get(cpu).copied()).collect();
            known.into_iter().map(move |core| (set as u8, core))
        };
        self.members = sets.iter().take(usize::from(u8::MAX)).enumerate().flat_map(members).collect();
    }

    /// Frequency of each core at the start (0: unknown). To be set before the first event.
    pub fn set_initial_khz(&mut self, khz: &[u32]) {
        self.khz = khz.to_vec();
    }

    /// Counts lost events of `cpu`. `None`: the kernel does not know how many.
    pub fn lost(&mut self, cpu: u32, count: Option<u64>) {
        if let Some(&core) = self.cores.get(&cpu) {
            let core = usize::from(core);
            self.lost[core] = self.lost[core].saturating_add(count.unwrap_or(1));
            self.last_wakeups[core] = None;
        }
    }

    /// Raises the count of lost events of `cpu` to at least `count`.
    pub fn lost_at_least(&mut self, cpu: u32, count: u64) {
        if let Some(&core) = self.cores.get(&cpu) {
            let lost = &mut self.lost[usize::from(core)];
            *lost = count.max(*lost);
        }
    }

    /// Takes the next event. Events of cores that were offline at the start are dropped.
    pub fn event(&mut self, event: &KernelEvent) {
        let Some(&core) = self.cores.get(&event.cpu) else { return };
        // It is no event of the kernel, and may come between two that belong together.
        if let EventKind::Member { pid, process } = event.kind {
            return self.member(pid, process);
        }
        let wakeup = self.last_wakeups[usize::from(core)].take();
        if self.start.is_none() && self.is_first(event) {
            self.begin(event.time);
        }
        // An `exec` by a thread that is not the first of its process has changed the pid already.
        if !matches!(event.kind, EventKind::Exec { pid, old_pid, .. } if pid != old_pid) {
            self.set_running(event.time, core, event.pid);
        }
        self.interpret(event, core, wakeup);
        let (threads, names) = (&self.threads, &self.thread_names);
        self.window.release(|tid| describe(threads, names, tid));
    }

    /// Sets the frequency of a core, from an event or from a model.
    pub fn frequency(&mut self, time: Time, cpu: u32, khz: u32) {
        let Some(&core) = self.cores.get(&cpu) else { return };
        if self.start.is_none() {
            self.khz.resize(self.current.len(), 0);
            self.khz[usize::from(core)] = khz;
        }
        self.emit(time, core, Kind::Frequency { khz });
    }

    /// Interprets an event, except for its running thread.
    fn interpret(&mut self, event: &KernelEvent, core: CoreId, wakeup: Option<LastWakeup>) {
        let waker = |this: &mut Self| match event.interrupt || event.pid == 0 {
            true => Waker::Interrupt,
            false => Waker::Thread(this.tid(event.pid)),
        };
        match event.kind {
            EventKind::Switch { prev, prev_comm, stop, next, next_comm } => {
                let prev = self.current[usize::from(core)].unwrap_or_else(|| self.tid(prev));
                self.rename(prev, prev_comm);
                let next = self.named(next, next_comm);
                self.switch(event.time, core, prev, stop, next);
            }
            EventKind::Waking { pid, comm, target, .. } | EventKind::Wakeup { pid, comm, target } => {
                let sync = matches!(event.kind, EventKind::Waking { sync: true, .. });
                let tid = self.named(pid, comm);
                // A thread that wakes itself was not asleep; an interrupt may wake the one it interrupts.
                if tid != IDLE && (pid != event.pid || event.interrupt) {
                    let target = self.cores.get(&target).copied().unwrap_or(core);
                    let waker = waker(self);
                    self.waking(event.time, core, tid, Waking { waker, target, sync });
                }
            }
            EventKind::Fork { parent, child, child_comm } => {
                let parent = self.tid(parent);
                self.fork(child, parent, child_comm);
            }
            EventKind::WakeupNew { pid, comm, target } => {
                let parent = self.tid(event.pid);
                let target = self.cores.get(&target).copied().unwrap_or(core);
                self.first_wakeup(event.time, core, pid, parent, comm, target);
            }
            EventKind::Exec { pid, old_pid, filename } => self.exec(event.time, core, pid, old_pid, filename),
            EventKind::Exit { pid } => {
                let thread = self.tid(pid);
                if thread != IDLE {
                    self.thread(thread).exiting = true;
                    self.emit(event.time, core, Kind::Exit { thread });
                }
            }
            EventKind::Wait => {
                let thread = self.tid(event.pid);
                self.emit(event.time, core, Kind::Wait { thread });
            }
            EventKind::Migrate { pid, from, to, queued } => {
                let (tid, wakeup) = (self.tid(pid), wakeup.filter(|_| !queued));
                if let (Some(&from), Some(&to)) = (self.cores.get(&from), self.cores.get(&to)) {
                    self.migrate(event.time, core, tid, from, to, wakeup);
                }
            }
            EventKind::Frequency { cpu, khz } => {
                self.frequency(event.time, cpu, khz);
            }
            EventKind::Idle { cpu, state } => {
                if let (Some(&core), Some(state)) = (self.cores.get(&cpu), state) {
                    let state = state.min(u8::MAX.into()) as u8;
                    self.most_idle_state = self.most_idle_state.max(Some(state));
                    self.emit(event.time, core, Kind::Idle { state });
                }
            }
            EventKind::Tick { khz } => {
                self.emit(event.time, core, Kind::Tick { khz });
            }
            EventKind::Queue { length } => {
                self.emit(event.time, core, Kind::Queue { length });
            }
            EventKind::Decision(decision) => {
                self.decision(event.time, core, decision);
                // A placement comes between a wake-up and its migration.
                self.last_wakeups[usize::from(core)] = wakeup;
            }
            EventKind::NewTask { pid, in_process } => self.created(pid, event.pid, in_process),
            EventKind::Name { pid, comm } => self.name(pid, comm),
            EventKind::Member { .. } | EventKind::Running => {}
        }
    }

    /// Drops decisions about cores that are not in the trace, and placements without a reason.
    fn decision(&mut self, time: Time, core: CoreId, decision: Decision) {
        let core_of = |cpu| self.cores.get(&cpu).copied();
        match decision {
            Decision::Place { pid, target, reason, khz: seen_khz } => {
                let Some(target) = core_of(target) else { return };
                let known = reason > 0 && usize::from(reason) < self.header.reasons.len();
                let thread = self.tid(pid);
                if known && thread != IDLE {
                    self.emit(time, core, Kind::Place { thread, target, reason, seen_khz });
                }
            }
            Decision::Set { cpu, set, member } => {
                let known = u8::try_from(set).ok().filter(|set| usize::from(*set) < self.header.sets.len());
                if let (Some(core), Some(set)) = (core_of(cpu), known) {
                    self.emit(time, core, Kind::Set { set, member });
                }
            }
            Decision::Spin { cpu, on } => {
                if let Some(core) = core_of(cpu) {
                    self.emit(time, core, Kind::Spin { on });
                }
            }
        }
    }

    /// Completes the trace. `None`: there was no event of the command.
    pub fn finish(mut self) -> Option<Assembled<S>> {
        let begin = self.start?;
        if self.alive > 0 {
            self.window.set_end(None);
        } else if self.scope != Scope::All {
            self.missing = self.missing_at_end;
        }
        let (threads, names) = (&self.threads, &self.thread_names);
        let Finished { sink, duration, events, inserted } =
            self.window.finish(|tid| describe(threads, names, tid));
        let missing = inserted.iter().zip(&self.missing).map(|(migrations, switches)| migrations + switches);
        let mut inferred = 0;
        for (lost, missing) in self.lost.iter_mut().zip(missing) {
            *lost = (*lost).max(missing);
            inferred += missing;
        }
        let mut idle_states = std::mem::take(&mut self.header.idle_states);
        for state in idle_states.len()..self.most_idle_state.map_or(0, |state| usize::from(state) + 1) {
            idle_states.push(format!("state {state}"));
        }
        let processes = self.processes.describe(threads, names, &self.early_names);
        let header = Header {
            duration,
            threads: (1..=threads.len() as Tid).map(|tid| describe(threads, names, tid)).collect(),
            processes,
            names: self.programs.texts(),
            idle_states,
            lost: self.lost,
            ..self.header
        };
        Some(Assembled { sink, header, begin, events, inferred })
    }

    /// True if the trace begins with this event: the command is woken, or acts.
    fn is_first(&self, event: &KernelEvent) -> bool {
        let Scope::Tree { root_pid: root } = self.scope else { return true };
        match event.kind {
            EventKind::Running => false,
            EventKind::Waking { pid, .. } | EventKind::Wakeup { pid, .. } => pid == root,
            EventKind::Fork { child, .. } => child == root,
            EventKind::Switch { next, .. } => next == root,
            _ => event.pid == root && !event.interrupt,
        }
    }

    /// Begins the trace: switches report the running threads, and earlier wake-up attempts are forgotten.
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

    /// Appends an event if the trace has begun. Returns its number.
    fn emit(&mut self, time: Time, core: CoreId, kind: Kind) -> u64 {
        match self.start {
            Some(start) => self.window.push(time.saturating_sub(start), core, kind),
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests;
