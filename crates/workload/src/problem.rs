//! What can be wrong with a task graph.

use std::fmt;

use crate::{BarrierIdx, SemIdx, ThreadIdx, TimerIdx};

/// Maximum number of steps with repeats expanded: 2^40, more than a day of simulation at ten
/// million steps per second. A larger number is a mistake.
pub const MAX_STEPS: u64 = 1 << 40;

/// Maximum nesting of `Repeat`, which bounds the stack of code that walks the graph.
pub const MAX_DEPTH: usize = 32;

/// A problem of a workload and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Index and name of the thread, if the problem is in a thread.
    pub thread: Option<(ThreadIdx, String)>,
    /// Path to the step, counted from 0: its index in the thread's `ops`, then its index in each
    /// enclosing `repeat`. Empty if the problem is not in a step.
    pub step: Vec<usize>,
    pub what: What,
}

/// Kind of a problem.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum What {
    NoThreads,
    /// Every thread is forked by another thread, so none starts.
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
    /// In the list of synchronous semaphores.
    NoSuchSync {
        sem: SemIdx,
        count: usize,
    },
    NoSuchBarrier {
        barrier: BarrierIdx,
        count: usize,
    },
    NoSuchTimer {
        timer: TimerIdx,
        count: usize,
    },
    /// The thread is forked several times, or its `Fork` is in a repeat with several rounds.
    ForkedTwice(ThreadIdx),
    ForksItself,
    /// The thread is in a cycle of forks, or descends from one.
    ForkCycle,
    /// No thread forks the joined thread.
    JoinNotForked(ThreadIdx),
    JoinsItself,
    RepeatZero,
    RepeatEmpty,
    TooDeep,
    TooManySteps,
    /// Total work or total delay does not fit in 64 bits.
    TooMuch(&'static str),
    /// There are more waits than the initial count and all posts supply.
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
    /// The number of arrivals is not a multiple of the barrier's count.
    BarrierLeftover {
        barrier: BarrierIdx,
        count: u32,
        arrivals: u64,
    },
    /// The thread still waits at the end of the dry run (`dry_run.rs`).
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
                    "every thread is forked by another, so none starts; leave at least one that no `fork` names"
                )
            }
            What::Nice(nice) => write!(f, "nice {nice} is not in the range -20 to 19"),
            What::NoSuchThread { thread, count } => range(f, "thread", *thread, *count),
            What::NoSuchSemaphore { sem, count } => range(f, "semaphore", *sem, *count),
            What::NoSuchSync { sem, count } => {
                f.write_str("`sync`: ")?;
                range(f, "semaphore", *sem, *count)
            }
            What::NoSuchBarrier { barrier, count } => range(f, "barrier", *barrier, *count),
            What::NoSuchTimer { timer, count } => range(f, "timer", *timer, *count),
            What::ForkedTwice(thread) => write!(
                f,
                "thread {thread} is forked more than once; each fork needs a separate entry in `threads`"
            ),
            What::ForksItself => write!(f, "the thread forks itself"),
            What::ForkCycle => {
                write!(f, "the thread never starts: a cycle of threads that fork each other leads to it")
            }
            What::JoinNotForked(thread) => {
                write!(f, "joins thread {thread}, which is never forked; use a semaphore to wait for it")
            }
            What::JoinsItself => write!(f, "the thread joins itself and would wait forever"),
            What::RepeatZero => write!(f, "a repeat of 0 never runs its steps; remove it"),
            What::RepeatEmpty => write!(f, "a repeat without steps does nothing; remove it"),
            What::TooDeep => write!(f, "repeats are nested more than {MAX_DEPTH} levels deep"),
            What::TooManySteps => write!(f, "there are more than 2^40 steps with repeats expanded"),
            What::TooMuch(what) => write!(f, "the sum of all {what} does not fit in 64 bits"),
            What::NeverPosted { sem, waits, supply } => write!(
                f,
                "semaphore {sem} has {waits} waits but a supply of only {supply} (initial count and posts): \
                 some thread waits forever"
            ),
            What::BarrierZero(barrier) => {
                write!(f, "barrier {barrier} has a count of 0; it must be at least 1")
            }
            What::BarrierTooWide { barrier, count, users } => write!(
                f,
                "barrier {barrier} waits for {count} threads, but only {users} use it: it never opens"
            ),
            What::BarrierLeftover { barrier, count, arrivals } => write!(
                f,
                "barrier {barrier} opens after every {count} arrivals, but there are {arrivals} in total: \
                 the last {} would wait forever",
                arrivals % u64::from(*count)
            ),
            What::Stuck(obstacle) => write!(f, "never ends: {obstacle}"),
        }
    }
}

fn range(f: &mut fmt::Formatter<'_>, kind: &str, index: u32, count: usize) -> fmt::Result {
    match count {
        0 => write!(f, "{kind} {index} does not exist: the workload has none"),
        n => write!(f, "{kind} {index} does not exist: the highest number is {}", n - 1),
    }
}

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obstacle {
    Exit(ThreadIdx),
    Semaphore(SemIdx),
    Barrier(BarrierIdx),
    /// The thread is never forked, because its parent is stuck before the fork.
    Fork,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Exit(thread) => write!(f, "it waits for the exit of thread {thread}"),
            Obstacle::Semaphore(sem) => write!(f, "it waits for a post of semaphore {sem}"),
            Obstacle::Barrier(barrier) => write!(f, "it waits for other threads at barrier {barrier}"),
            Obstacle::Fork => write!(f, "it is never forked"),
        }
    }
}
