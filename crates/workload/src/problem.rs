//! What can be wrong with a task graph.

use std::fmt;

use crate::{BarrierIdx, SemIdx, ThreadIdx};

/// Most steps that a workload may have with all repeats written out: 2^40, a day and more of
/// simulation at ten million steps per second. A larger number is a slip of the hand.
pub const MAX_STEPS: u64 = 1 << 40;

/// Deepest nesting of `Repeat`: it bounds the stack of whoever walks the graph.
pub const MAX_DEPTH: usize = 32;

/// A defect of a workload and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The thread and its name, where the problem lies in one.
    pub thread: Option<(ThreadIdx, String)>,
    /// The way to the step, counted from 0: its number in the thread's `ops`, then its number in
    /// each `repeat` on the way. Empty where the problem lies in no step.
    pub step: Vec<usize>,
    pub what: What,
}

/// What is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum What {
    NoThreads,
    /// Every thread is forked by another: nothing starts the first one.
    NothingStarts,
    Nice(i8),
    NoSuchThread {
        thread: ThreadIdx,
        count: usize,
    },
    NoSuchSemaphore {
        sem: SemIdx,
        count: usize,
    },
    NoSuchBarrier {
        barrier: BarrierIdx,
        count: usize,
    },
    /// Also where a `Fork` stands in a repeat that runs more than once.
    ForkedTwice(ThreadIdx),
    ForksItself,
    /// No thread that starts by itself leads to this one: it is in a cycle of forks or below one.
    ForkCycle,
    /// The joined thread is forked by nobody.
    JoinNotForked(ThreadIdx),
    JoinsItself,
    RepeatZero,
    RepeatEmpty,
    TooDeep,
    TooManySteps,
    /// The sum of all work, or of all delays, does not fit in 64 bits.
    TooMuch(&'static str),
    /// More is taken from the semaphore than ever comes in.
    NeverPosted {
        sem: SemIdx,
        waits: u64,
        supply: u64,
    },
    BarrierZero(BarrierIdx),
    /// The barrier waits for more threads than use it.
    BarrierTooWide {
        barrier: BarrierIdx,
        count: u32,
        users: u32,
    },
    /// The last threads to arrive are too few to open the barrier.
    BarrierLeftover {
        barrier: BarrierIdx,
        count: u32,
        arrivals: u64,
    },
    /// The dry run ends with this thread still waiting (`dry_run.rs`).
    Stuck(Obstacle),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((index, name)) = &self.thread {
            write!(f, "thread {index}")?;
            if !name.is_empty() {
                write!(f, " ({name})")?;
            }
            if let [first, rest @ ..] = &self.step[..] {
                write!(f, ", step {first}")?;
                for step in rest {
                    write!(f, ".{step}")?;
                }
            }
            f.write_str(": ")?;
        }
        self.what.fmt(f)
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::NoThreads => write!(f, "there are no threads; a workload needs at least one"),
            What::NothingStarts => {
                write!(
                    f,
                    "every thread is forked by another, so that none starts; leave one that no \"fork\" names"
                )
            }
            What::Nice(nice) => write!(f, "nice {nice} is outside -20..=19"),
            What::NoSuchThread { thread, count } => range(f, "thread", *thread, *count),
            What::NoSuchSemaphore { sem, count } => range(f, "semaphore", *sem, *count),
            What::NoSuchBarrier { barrier, count } => range(f, "barrier", *barrier, *count),
            What::ForkedTwice(thread) => write!(
                f,
                "thread {thread} is forked more than once; each fork needs a thread of its own in \"threads\""
            ),
            What::ForksItself => write!(f, "the thread forks itself"),
            What::ForkCycle => {
                write!(f, "the thread never starts: a cycle of threads that fork each other leads to it")
            }
            What::JoinNotForked(thread) => {
                write!(f, "joins thread {thread}, which no thread forks; use a semaphore to wait for it")
            }
            What::JoinsItself => write!(f, "the thread joins itself and would wait for ever"),
            What::RepeatZero => write!(f, "a repeat of 0 never runs its steps; remove it"),
            What::RepeatEmpty => write!(f, "a repeat without steps does nothing; remove it"),
            What::TooDeep => write!(f, "repeats are nested deeper than {MAX_DEPTH}"),
            What::TooManySteps => write!(f, "with all repeats written out there are more than 2^40 steps"),
            What::TooMuch(what) => write!(f, "the sum of all {what} does not fit in 64 bits"),
            What::NeverPosted { sem, waits, supply } => write!(
                f,
                "semaphore {sem} is waited for {waits} times but gets only {supply} (initial count and posts): \
                 some thread never goes on"
            ),
            What::BarrierZero(barrier) => {
                write!(f, "barrier {barrier} counts 0 threads; it needs at least 1")
            }
            What::BarrierTooWide { barrier, count, users } => write!(
                f,
                "barrier {barrier} waits for {count} threads, but only {users} use it: it never opens"
            ),
            What::BarrierLeftover { barrier, count, arrivals } => write!(
                f,
                "barrier {barrier} opens for every {count} arrivals, but there are {arrivals} in all: \
                 the last {} wait for ever",
                arrivals % u64::from(*count)
            ),
            What::Stuck(obstacle) => write!(f, "never ends: {obstacle}"),
        }
    }
}

fn range(f: &mut fmt::Formatter<'_>, kind: &str, index: u32, count: usize) -> fmt::Result {
    match count {
        0 => write!(f, "{kind} {index} does not exist: there are none"),
        n => write!(f, "{kind} {index} does not exist: they are 0 to {}", n - 1),
    }
}

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obstacle {
    Exit(ThreadIdx),
    Semaphore(SemIdx),
    Barrier(BarrierIdx),
    /// The thread was never forked, because its parent is stuck before the fork.
    Fork,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Exit(thread) => write!(f, "it waits for the exit of thread {thread}"),
            Obstacle::Semaphore(sem) => write!(f, "it waits for a post of semaphore {sem}"),
            Obstacle::Barrier(barrier) => write!(f, "it waits for others at barrier {barrier}"),
            Obstacle::Fork => write!(f, "it is never forked"),
        }
    }
}
