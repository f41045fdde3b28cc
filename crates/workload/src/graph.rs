//! Task graph: threads, each with a sequence of steps.
//!
//! A workload does not specify time on a core, only *work* (cycles) and *causes* (fork, join, post,
//! wait, barrier, delay). The same graph therefore runs on any machine under any policy.
//!
//! Synchronisation uses counting semaphores and barriers, because everything visible in a kernel
//! recording (pipes, futexes, signals, `wait`) is of the form "another thread lets me continue".
//! `Post` increments a semaphore; `Wait` decrements it or blocks. Waiters of a semaphore are woken
//! in FIFO order.

use std::collections::HashSet;

use std::ops::Deref;

use serde::{Deserialize, Serialize};

/// Version of the file format, in its field `hearth_workload`. It increases when an older program
/// would misread a newer file.
pub const FORMAT_VERSION: u32 = 1;

/// Frequency for converting the generators' CPU times to cycles, in kHz.
pub const NOMINAL_KHZ: u32 = 2_100_000;

pub type ThreadIdx = u32;
pub type SemIdx = u32;
pub type BarrierIdx = u32;
pub type TimerIdx = u32;

/// A step of a thread.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Execute this number of cycles.
    Run(u64),
    /// Make a thread of the graph runnable. A thread is forked at most once.
    Fork(ThreadIdx),
    /// Block until that thread, forked by this or another thread, has exited.
    Join(ThreadIdx),
    /// Block for this number of nanoseconds; a timer on this core ends the delay.
    Sleep(u64),
    /// Block for this number of nanoseconds; a device interrupt ends the delay.
    Io(u64),
    /// Block until the timer's next expiry: this number of nanoseconds after the one before. A timer's first period
    /// begins with the thread that uses it first. A thread that comes too late does not block.
    Timer(TimerIdx, u64),
    /// Increment the semaphore, or wake its first waiter.
    Post(SemIdx),
    /// Decrement the semaphore, or block until a `Post`.
    Wait(SemIdx),
    /// Block until the barrier's number of threads has arrived.
    Barrier(BarrierIdx),
    /// `sched_yield`.
    Yield,
    /// Change the program name, without cost.
    Exec(Name),
    /// Repeat the steps this number of times.
    Repeat(u32, Body),
}

impl Op {
    /// `ops`, so many times.
    pub fn repeat(times: u32, ops: Vec<Op>) -> Op {
        Op::Repeat(times, Body(Box::new(ops)))
    }
}

/// A name, in the space of a pointer: an [`Op`] takes 16 bytes, and a recording makes millions.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Name(Box<Box<str>>);

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<T: Into<Box<str>>> From<T> for Name {
    fn from(text: T) -> Name {
        Name(Box::new(text.into()))
    }
}

/// Steps that are repeated, in the space of a pointer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
#[expect(clippy::box_collection, reason = "a thin pointer, as for names")]
pub struct Body(pub(crate) Box<Vec<Op>>);

impl Deref for Body {
    type Target = [Op];

    fn deref(&self) -> &[Op] {
        &self.0
    }
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Thread {
    pub name: String,
    /// Nice value, -20 (highest weight) to 19.
    #[serde(skip_serializing_if = "is_default")]
    pub nice: i8,
    /// Numbers of the cores that the thread may run on; empty for all. Cores that the machine lacks
    /// are ignored, but at least one must exist.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub affinity: Vec<u16>,
    /// Steps in order. The thread exits after the last one.
    pub ops: Vec<Op>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What becomes of a timer whose expiry a thread has missed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timer {
    /// The next period begins when the thread comes.
    Relative,
    /// The next period begins with the missed expiry, so that the thread can catch up.
    Absolute,
}

impl Timer {
    /// The expiry until which a thread blocks at `now`, if it does, and the beginning of the next period. `last` is the
    /// beginning of this one.
    pub fn advance(self, last: u64, period: u64, now: u64) -> (Option<u64>, u64) {
        let expiry = last.saturating_add(period);
        match self {
            _ if now < expiry => (Some(expiry), expiry),
            Timer::Relative => (None, now),
            Timer::Absolute => (None, expiry),
        }
    }
}

/// A graph of threads. Threads without a `Fork` that refers to them start at time 0.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Workload {
    pub name: String,
    /// Source of the workload: the recorded command, or the generator with its parameters.
    pub origin: String,
    pub threads: Vec<Thread>,
    /// Initial count of each semaphore.
    pub semaphores: Vec<u32>,
    /// Semaphores whose posts are synchronous wake-ups, as those of a pipe: the waker says that it is about to sleep.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sync: Vec<SemIdx>,
    /// Number of threads that each barrier waits for.
    pub barriers: Vec<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<Timer>,
    /// Time that a thread spins at a barrier before it blocks, in nanoseconds, as in OpenMP
    /// runtimes.
    #[serde(skip_serializing_if = "is_default")]
    pub barrier_spin: u64,
    /// Time that a thread spins for a semaphore before it blocks, in nanoseconds, as for the flags of a
    /// pipeline.
    #[serde(skip_serializing_if = "is_default")]
    pub wait_spin: u64,
}

impl Workload {
    /// Names of the programs that the workload executes, each once, in order of appearance.
    pub fn program_names(&self) -> Vec<String> {
        fn collect(ops: &[Op], names: &mut Vec<String>, seen: &mut HashSet<String>) {
            for op in ops {
                match op {
                    Op::Exec(name) if seen.insert(name.to_string()) => names.push(name.to_string()),
                    Op::Repeat(_, ops) => collect(ops, names, seen),
                    _ => {}
                }
            }
        }
        let (mut names, mut seen) = (Vec::new(), HashSet::new());
        for thread in &self.threads {
            collect(&thread.ops, &mut names, &mut seen);
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_is_missed_is_late_or_catches_up() {
        for timer in [Timer::Relative, Timer::Absolute] {
            assert_eq!(timer.advance(100, 50, 120), (Some(150), 150));
        }
        assert_eq!(Timer::Relative.advance(100, 50, 170), (None, 170));
        assert_eq!(Timer::Absolute.advance(100, 50, 170), (None, 150));
    }

    #[test]
    fn a_step_takes_16_bytes() {
        assert_eq!(size_of::<Op>(), 16);
    }
}
