//! Dry run: executes the graph with one core per thread and a scheduler without cost, to find out
//! whether and when it ends.
//!
//! Each thread has a clock. `Run` and delays advance it, and a wake-up moves it to the waker's
//! clock. The thread with the earliest clock runs first, so semaphores are served in order of time,
//! and the latest clock at the end is the length of the critical path.
//!
//! If each semaphore has only one waiting thread (as in all extracted workloads), the execution
//! order cannot change the outcome, and the result holds for every scheduler: such a graph is a
//! conflict-free Petri net, which is confluent. If several threads compete for one semaphore
//! (locks, worker pools), the result holds for this order only.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::profile::Log;
use crate::steps::{Move, Steps};
use crate::{NOMINAL_KHZ, Obstacle, Op, Problem, ThreadIdx, Timer, What, Workload};

/// Step limit of the dry run in [`Workload::check`]: about half a second.
pub const DRY_RUN_STEPS: u64 = 5_000_000;

/// Result of a dry run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DryRun {
    /// All threads exit. `span` is the critical path in nanoseconds at 2.1 GHz: the run time with
    /// one core per thread and a scheduler without cost.
    Finishes { span: u64 },
    /// These threads wait forever.
    Stuck(Vec<Stuck>),
    /// The step limit was reached before the end.
    Unknown,
}

/// A thread that waits forever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stuck {
    pub thread: ThreadIdx,
    pub obstacle: Obstacle,
}

impl DryRun {
    /// Problems that follow from the result. Threads that are never forked are omitted; the problem
    /// of their parent explains them.
    pub(crate) fn problems(&self, workload: &Workload) -> Vec<Problem> {
        let DryRun::Stuck(stuck) = self else { return Vec::new() };
        stuck
            .iter()
            .filter(|stuck| stuck.obstacle != Obstacle::Fork)
            .map(|stuck| Problem {
                thread: Some((stuck.thread, workload.threads[stuck.thread as usize].name.clone())),
                step: Vec::new(),
                what: What::Stuck(stuck.obstacle),
            })
            .collect()
    }
}

impl Workload {
    /// Executes the graph with one core per thread, for at most `max_steps` steps (see
    /// [`DRY_RUN_STEPS`]). Skips steps that [`validate`](Workload::validate) rejects.
    pub fn dry_run(&self, max_steps: u64) -> DryRun {
        self.dry_run_at(max_steps, NOMINAL_KHZ)
    }

    /// The threads that wait forever, each with the steps that it has done.
    pub(crate) fn blocked(&self, max_steps: u64) -> Vec<(ThreadIdx, Vec<Op>)> {
        let mut run = Execution::new(self, NOMINAL_KHZ);
        if !run.run(max_steps) {
            return Vec::new();
        }
        let states = (0..).zip(&run.states);
        let blocked = states.filter_map(|(thread, state)| match state {
            State::Blocked(steps, _) => Some((thread, steps.done())),
            _ => None,
        });
        blocked.collect()
    }

    /// Like [`dry_run`](Self::dry_run), with all cores at `khz`.
    pub(crate) fn dry_run_at(&self, max_steps: u64, khz: u32) -> DryRun {
        let mut run = Execution::new(self, khz);
        match run.run(max_steps) {
            false => DryRun::Unknown,
            true => run.outcome(),
        }
    }
}

enum State<'a> {
    Unborn(Steps<'a>),
    Ready(Steps<'a>),
    Blocked(Steps<'a>, Obstacle),
    Exited,
}

pub(crate) struct Execution<'a> {
    khz: u64,
    /// What happened, if someone wants to know.
    pub log: Option<Log>,
    states: Vec<State<'a>>,
    /// Clock of each thread in nanoseconds, or the time of its exit.
    clocks: Vec<u64>,
    /// Ready threads by clock, then order of arrival.
    ready: BinaryHeap<Reverse<(u64, u64, ThreadIdx)>>,
    arrivals: u64,
    joiners: Vec<Vec<ThreadIdx>>,
    sems: Vec<Semaphore>,
    barriers: Vec<(u32, Vec<ThreadIdx>)>,
    /// Each timer, and the beginning of its period; `None` before the first use.
    timers: Vec<(Timer, Option<u64>)>,
    /// When each thread began.
    began: Vec<u64>,
}

struct Semaphore {
    /// Remaining initial count.
    count: u32,
    /// Posts not yet taken, oldest first: the poster's clock, and the number of posts at that time.
    posts: VecDeque<(u64, u64)>,
    waiters: VecDeque<ThreadIdx>,
}

impl Semaphore {
    fn put(&mut self, clock: u64) {
        match self.posts.back_mut() {
            Some((last, count)) if *last == clock => *count += 1,
            _ => self.posts.push_back((clock, 1)),
        }
    }

    fn take(&mut self) -> Option<u64> {
        let (clock, count) = self.posts.front_mut()?;
        let clock = *clock;
        *count -= 1;
        if *count == 0 {
            self.posts.pop_front();
        }
        Some(clock)
    }
}

impl<'a> Execution<'a> {
    pub fn new(workload: &'a Workload, khz: u32) -> Self {
        let mut states: Vec<State> = workload.threads.iter().map(|t| State::Unborn(t.steps())).collect();
        for root in workload.roots() {
            states[root as usize] = State::Ready(workload.threads[root as usize].steps());
        }
        let mut execution = Execution {
            khz: u64::from(khz.max(1)),
            log: None,
            clocks: vec![0; states.len()],
            joiners: vec![Vec::new(); states.len()],
            states,
            ready: BinaryHeap::new(),
            arrivals: 0,
            sems: workload
                .semaphores
                .iter()
                .map(|&count| Semaphore { count, posts: VecDeque::new(), waiters: VecDeque::new() })
                .collect(),
            barriers: workload.barriers.iter().map(|&count| (count, Vec::new())).collect(),
            timers: workload.timers.iter().map(|&timer| (timer, None)).collect(),
            began: vec![0; workload.threads.len()],
        };
        for thread in workload.roots() {
            execution.queue(thread);
        }
        execution
    }

    fn queue(&mut self, thread: ThreadIdx) {
        self.ready.push(Reverse((self.clocks[thread as usize], self.arrivals, thread)));
        self.arrivals += 1;
    }

    /// Runs until no thread is ready. Returns `false` if `budget` steps are not enough.
    pub fn run(&mut self, mut budget: u64) -> bool {
        while let Some(Reverse((_, _, thread))) = self.ready.pop() {
            let slot = thread as usize;
            let State::Ready(mut steps) = std::mem::replace(&mut self.states[slot], State::Exited) else {
                unreachable!("only ready threads are queued")
            };
            loop {
                let Some(left) = budget.checked_sub(1) else { return false };
                budget = left;
                match steps.advance() {
                    Move::Turn => {}
                    Move::Step(op) => {
                        if let Some(obstacle) = self.step(thread, op) {
                            self.states[slot] = State::Blocked(steps, obstacle);
                            break;
                        }
                        if self.ready.peek().is_some_and(|Reverse(first)| first.0 < self.clocks[slot]) {
                            self.states[slot] = State::Ready(steps);
                            self.queue(thread);
                            break;
                        }
                    }
                    Move::End => {
                        self.log(|log| log.end(slot));
                        for joiner in std::mem::take(&mut self.joiners[slot]) {
                            self.wake(joiner, self.clocks[slot]);
                        }
                        break;
                    }
                }
            }
        }
        true
    }

    /// Executes `op` for `thread`; returns what it has to wait for, if anything.
    fn step(&mut self, thread: ThreadIdx, op: &Op) -> Option<Obstacle> {
        let slot = thread as usize;
        match *op {
            Op::Run(cycles) => {
                let start = self.clocks[slot];
                self.pass(slot, time(cycles, self.khz));
                let end = self.clocks[slot];
                self.log(|log| log.run(slot, start, end));
            }
            Op::Sleep(ns) | Op::Io(ns) => {
                self.pass(slot, ns);
                self.log(|log| log.wait(slot, ns));
            }
            Op::Timer(timer, period) => {
                let now = self.clocks[slot];
                let (timer, last) = self.timers.get_mut(timer as usize)?;
                let (expiry, next) = timer.advance(last.unwrap_or(self.began[slot]), period, now);
                *last = Some(next);
                if let Some(expiry) = expiry {
                    self.wait_until(slot, expiry);
                }
            }
            Op::Fork(child) => {
                let steps = match self.states.get_mut(child as usize) {
                    Some(State::Unborn(steps)) => std::mem::replace(steps, Steps::new(&[])),
                    _ => return None,
                };
                self.states[child as usize] = State::Ready(steps);
                self.clocks[child as usize] = self.clocks[slot];
                self.began[child as usize] = self.clocks[slot];
                self.log(|log| log.forks += 1);
                self.queue(child);
            }
            Op::Join(child) => match self.states.get(child as usize) {
                Some(State::Exited) if child != thread => {
                    self.wait_until(slot, self.clocks[child as usize]);
                }
                Some(_) => {
                    self.joiners[child as usize].push(thread);
                    return Some(Obstacle::Exit(child));
                }
                None => {}
            },
            Op::Post(sem) => {
                let clock = self.clocks[slot];
                if let Some(semaphore) = self.sems.get_mut(sem as usize) {
                    match semaphore.waiters.pop_front() {
                        Some(waiter) => self.wake(waiter, clock),
                        None => semaphore.put(clock),
                    }
                }
            }
            Op::Wait(sem) => {
                let semaphore = self.sems.get_mut(sem as usize)?;
                if semaphore.count > 0 {
                    semaphore.count -= 1;
                } else if let Some(posted) = semaphore.take() {
                    self.wait_until(slot, posted);
                } else {
                    semaphore.waiters.push_back(thread);
                    return Some(Obstacle::Semaphore(sem));
                }
            }
            Op::Barrier(barrier) => {
                let (count, arrived) = self.barriers.get_mut(barrier as usize)?;
                arrived.push(thread);
                if arrived.len() < *count as usize {
                    return Some(Obstacle::Barrier(barrier));
                }
                let arrived = std::mem::take(arrived);
                let latest = arrived.iter().map(|&t| self.clocks[t as usize]).max().unwrap_or(0);
                self.wait_until(slot, latest);
                self.log(|log| log.barriers += arrived.len() as u64);
                for other in arrived {
                    if other != thread {
                        self.wake(other, latest);
                    }
                }
            }
            Op::Yield | Op::Exec(_) => {}
            Op::Repeat(..) => unreachable!("written out by Steps"),
        }
        None
    }

    fn pass(&mut self, slot: usize, ns: u64) {
        self.clocks[slot] = self.clocks[slot].saturating_add(ns);
    }

    fn wake(&mut self, thread: ThreadIdx, clock: u64) {
        let slot = thread as usize;
        let State::Blocked(steps, _) = std::mem::replace(&mut self.states[slot], State::Exited) else {
            unreachable!("only blocked threads wait")
        };
        self.states[slot] = State::Ready(steps);
        self.wait_until(slot, clock);
        self.queue(thread);
    }

    /// The thread waits until `clock`, or not at all.
    fn wait_until(&mut self, slot: usize, clock: u64) {
        let before = self.clocks[slot];
        self.clocks[slot] = before.max(clock);
        self.log(|log| log.wait(slot, clock.saturating_sub(before)));
    }

    fn log(&mut self, event: impl FnOnce(&mut Log)) {
        if let Some(log) = &mut self.log {
            event(log);
        }
    }

    /// The latest clock. `None` if a thread waits forever.
    pub fn span(&self) -> Option<u64> {
        match self.outcome() {
            DryRun::Finishes { span } => Some(span),
            _ => None,
        }
    }

    fn outcome(&self) -> DryRun {
        let stuck: Vec<Stuck> = (0..)
            .zip(&self.states)
            .filter_map(|(thread, state)| match state {
                State::Unborn(_) => Some(Stuck { thread, obstacle: Obstacle::Fork }),
                State::Blocked(_, obstacle) => Some(Stuck { thread, obstacle: *obstacle }),
                State::Ready(_) | State::Exited => None,
            })
            .collect();
        match stuck.is_empty() {
            true => DryRun::Finishes { span: self.clocks.iter().copied().max().unwrap_or(0) },
            false => DryRun::Stuck(stuck),
        }
    }
}

/// Time for `cycles` at `khz`, in nanoseconds.
pub(crate) fn time(cycles: u64, khz: u64) -> u64 {
    match cycles.checked_mul(1_000_000) {
        Some(product) => product / khz,
        None => u64::try_from(u128::from(cycles) * 1_000_000 / u128::from(khz)).unwrap_or(u64::MAX),
    }
}
