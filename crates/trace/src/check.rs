//! Consistency check of traces.

use crate::Trace;
use crate::event::{CoreId, Event, IDLE, Kind, Stop, Tid, Time, Waker};
use std::collections::HashMap;
use std::fmt;

/// An event that contradicts earlier events or the header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Index in [`Trace::events`]; `None` for a fault of the header itself.
    pub index: Option<usize>,
    pub time: Time,
    pub core: CoreId,
    pub problem: Problem,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => {
                write!(f, "event {index} ({} ns, core {}): {}", self.time, self.core, self.problem)
            }
            None => write!(f, "header: {}", self.problem),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Problem {
    #[error("time goes back; the previous event is at {before} ns")]
    TimeGoesBack { before: Time },
    #[error("the machine has no core {core}")]
    NoSuchCore { core: CoreId },
    #[error("the header does not list thread {thread}")]
    UnknownThread { thread: Tid },
    #[error("thread {thread} is listed twice, or is the idle thread")]
    ThreadListedTwice { thread: Tid },
    #[error("the header has no {what} number {number}")]
    NoSuchName { what: &'static str, number: u32 },
    #[error("switches from thread {prev}, but thread {running} was running")]
    WrongPrev { prev: Tid, running: Tid },
    #[error("thread {thread} switches to itself")]
    SwitchToSelf { thread: Tid },
    #[error("the idle thread stops for a reason other than preemption")]
    IdleStops,
    #[error("thread {thread} is already running on core {core}")]
    RunsElsewhere { thread: Tid, core: CoreId },
    #[error("thread {thread} runs, but is blocked and was not woken")]
    NotWoken { thread: Tid },
    #[error("thread {thread} runs, but is in the run queue of core {queue}")]
    NotMigrated { thread: Tid, queue: CoreId },
    #[error("thread {thread} has already ended")]
    AlreadyEnded { thread: Tid },
    #[error("thread {thread} ends without an `Exit` event")]
    NoExit { thread: Tid },
    #[error("thread {thread} is woken, but is not blocked")]
    NotBlocked { thread: Tid },
    #[error("thread {thread} acts, but is not running on this core")]
    NotRunningHere { thread: Tid },
    #[error("thread {thread} is forked, but already exists")]
    ForkedTwice { thread: Tid },
    #[error("thread {thread} migrates, but is not ready on core {from}")]
    NotReadyThere { thread: Tid, from: CoreId },
    #[error("this event is not possible for the idle thread")]
    IdleActs,
}

/// Maximum number of reported violations: one fault tends to cause many.
const MOST_VIOLATIONS: usize = 10_000;

impl Trace {
    /// Returns the events that contradict each other or the header; empty for a consistent trace.
    ///
    /// The state before the trace is unknown and never a violation: the first switch of a core may
    /// be from any thread, and an unseen thread may be in any state. After a violation, checking
    /// continues with the state after the newer event. At most 10,000 violations are returned.
    ///
    /// A trace with lost events ([`crate::Header::lost`]) usually has violations.
    pub fn check(&self) -> Vec<Violation> {
        let mut check = Check {
            trace: self,
            current: vec![None; self.header.cores.len()],
            threads: HashMap::new(),
            listed: HashMap::new(),
            at: None,
            found: Vec::new(),
        };
        check.header();
        let mut before = 0;
        for (index, event) in self.events.iter().enumerate() {
            if check.found.len() >= MOST_VIOLATIONS {
                break;
            }
            check.at = Some(index);
            if event.time < before {
                check.report(Problem::TimeGoesBack { before });
            }
            before = event.time;
            check.event(event);
        }
        check.found.truncate(MOST_VIOLATIONS);
        check.found
    }
}

/// Last known state of a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    Blocked,
    Ready(CoreId),
    Running(CoreId),
    Ended,
}

#[derive(Clone, Copy, Default)]
struct Thread {
    /// `None` if the thread has not been seen or its state is unknown.
    life: Option<Life>,
    forked: bool,
    exiting: bool,
}

struct Check<'a> {
    trace: &'a Trace,
    /// Thread running on each core, if known.
    current: Vec<Option<Tid>>,
    threads: HashMap<Tid, Thread>,
    /// Number of header entries per thread.
    listed: HashMap<Tid, u32>,
    at: Option<usize>,
    found: Vec<Violation>,
}

impl Check<'_> {
    fn report(&mut self, problem: Problem) {
        let event = self.at.map(|index| self.trace.events[index]);
        let (time, core) = event.map_or((0, 0), |event| (event.time, event.core));
        self.found.push(Violation { index: self.at, time, core, problem });
    }

    fn header(&mut self) {
        for thread in &self.trace.header.threads {
            let count = self.listed.entry(thread.tid).or_default();
            *count += 1;
            if *count == 2 || thread.tid == IDLE {
                self.report(Problem::ThreadListedTwice { thread: thread.tid });
            }
        }
    }

    fn event(&mut self, event: &Event) {
        let core = event.core;
        if !self.core(core) {
            return;
        }
        let header = &self.trace.header;
        match event.kind {
            Kind::Switch { prev, stop, next } => self.switch(core, prev, stop, next),
            Kind::Wakeup { thread, waker, target, .. } => self.wakeup(core, thread, waker, target),
            Kind::Fork { parent, child, target } => self.fork(core, parent, child, target),
            Kind::Exec { thread, name } => {
                self.acts(core, thread);
                self.name("program name", name, header.names.len());
            }
            Kind::Exit { thread } => {
                self.acts(core, thread);
                self.threads.entry(thread).or_default().exiting = true;
            }
            Kind::Wait { thread } => self.acts(core, thread),
            Kind::Migrate { thread, from, to } => self.migrate(thread, from, to),
            Kind::Place { thread, target, reason, .. } => {
                self.thread(thread);
                self.core(target);
                self.name("reason", reason.into(), header.reasons.len());
            }
            Kind::Idle { state } => self.name("idle state", state.into(), header.idle_states.len()),
            Kind::Set { set, .. } => self.name("core set", set.into(), header.sets.len()),
            Kind::Frequency { .. } | Kind::Tick { .. } | Kind::Spin { .. } | Kind::Queue { .. } => {}
        }
    }

    fn switch(&mut self, core: CoreId, prev: Tid, stop: Stop, next: Tid) {
        if prev == next {
            self.report(Problem::SwitchToSelf { thread: prev });
        }
        match self.current[usize::from(core)] {
            Some(running) if running != prev => {
                self.report(Problem::WrongPrev { prev, running });
                self.threads.entry(running).or_default().life = None; // its state is unknown
            }
            _ => {}
        }
        if prev == IDLE {
            if stop != Stop::Preempted {
                self.report(Problem::IdleStops);
            }
        } else if self.thread(prev) {
            let Thread { life, forked, exiting } = self.threads.get(&prev).copied().unwrap_or_default();
            match life {
                Some(Life::Running(other)) if other != core => {
                    self.report(Problem::RunsElsewhere { thread: prev, core: other });
                    self.current[usize::from(other)] = None;
                }
                Some(Life::Ended) => self.report(Problem::AlreadyEnded { thread: prev }),
                _ => {}
            }
            if stop == Stop::Exited && forked && !exiting {
                self.report(Problem::NoExit { thread: prev });
            }
            self.threads.entry(prev).or_default().life = Some(match stop {
                Stop::Preempted | Stop::Yielded => Life::Ready(core),
                Stop::Blocked => Life::Blocked,
                Stop::Exited => Life::Ended,
            });
        }
        if next != IDLE && self.thread(next) {
            match self.threads.get(&next).and_then(|thread| thread.life) {
                Some(Life::Running(other)) if other != core => {
                    self.report(Problem::RunsElsewhere { thread: next, core: other });
                    self.current[usize::from(other)] = None;
                }
                Some(Life::Blocked) => self.report(Problem::NotWoken { thread: next }),
                Some(Life::Ended) => self.report(Problem::AlreadyEnded { thread: next }),
                Some(Life::Ready(queue)) if queue != core => {
                    self.report(Problem::NotMigrated { thread: next, queue });
                }
                _ => {}
            }
            self.threads.entry(next).or_default().life = Some(Life::Running(core));
        }
        self.current[usize::from(core)] = Some(next);
    }

    fn wakeup(&mut self, core: CoreId, thread: Tid, waker: Waker, target: CoreId) {
        if let Waker::Thread(waker) = waker {
            self.acts(core, waker);
        }
        if !self.core(target) || !self.thread(thread) {
            return;
        }
        match self.threads.get(&thread).and_then(|thread| thread.life) {
            None | Some(Life::Blocked) => {}
            Some(Life::Ended) => self.report(Problem::AlreadyEnded { thread }),
            Some(Life::Ready(_) | Life::Running(_)) => self.report(Problem::NotBlocked { thread }),
        }
        self.threads.entry(thread).or_default().life = Some(Life::Ready(target));
    }

    fn fork(&mut self, core: CoreId, parent: Tid, child: Tid, target: CoreId) {
        if parent != IDLE {
            self.acts(core, parent); // the simulator's first threads have no parent
        }
        if !self.core(target) || !self.thread(child) {
            return;
        }
        let thread = self.threads.entry(child).or_default();
        let exists = thread.life.is_some();
        *thread = Thread { life: Some(Life::Ready(target)), forked: true, exiting: false };
        if exists {
            self.report(Problem::ForkedTwice { thread: child });
        }
    }

    fn migrate(&mut self, thread: Tid, from: CoreId, to: CoreId) {
        if !self.core(from) || !self.core(to) || !self.thread(thread) {
            return;
        }
        match self.threads.get(&thread).and_then(|thread| thread.life) {
            None => {}
            Some(Life::Ready(queue)) if queue == from => {}
            Some(_) => self.report(Problem::NotReadyThere { thread, from }),
        }
        self.threads.entry(thread).or_default().life = Some(Life::Ready(to));
    }

    /// `thread` acts on `core`, so it must be running there.
    fn acts(&mut self, core: CoreId, thread: Tid) {
        if self.thread(thread) && self.current[usize::from(core)].is_some_and(|running| running != thread) {
            self.report(Problem::NotRunningHere { thread });
        }
    }

    /// Checks that the machine has `core`.
    fn core(&mut self, core: CoreId) -> bool {
        let exists = usize::from(core) < self.current.len();
        if !exists {
            self.report(Problem::NoSuchCore { core });
        }
        exists
    }

    /// Checks that `thread` is in the header; false for the idle thread only.
    fn thread(&mut self, thread: Tid) -> bool {
        if thread == IDLE {
            self.report(Problem::IdleActs);
        } else if !self.listed.contains_key(&thread) {
            self.report(Problem::UnknownThread { thread });
        }
        thread != IDLE
    }

    fn name(&mut self, what: &'static str, number: u32, known: usize) {
        if number as usize >= known {
            self.report(Problem::NoSuchName { what, number });
        }
    }
}

#[cfg(test)]
mod tests;
