//! The task graph: threads, and what each of them does in order.
//!
//! A workload says nothing of time on a core, only of *work* (cycles) and of *cause* (fork, join,
//! post, wait, barrier, delay): the same graph runs on any machine under any policy.
//!
//! Synchronisation is by counting semaphores and barriers, because everything that a kernel
//! recording shows (pipes, futexes, signals, `wait`) is one of "somebody let me go on": `Post`
//! adds to a semaphore, `Wait` takes from it or blocks. Waiters of one semaphore are woken in
//! the order in which they blocked.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

pub type ThreadIdx = u32;
pub type SemIdx = u32;
pub type BarrierIdx = u32;

/// One step of a thread.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Execute so many cycles.
    Run(u64),
    /// Make a thread of the graph runnable. Each thread is forked at most once.
    Fork(ThreadIdx),
    /// Block until that thread, which this thread or another forked, has exited.
    Join(ThreadIdx),
    /// Block for so many nanoseconds; the wake-up comes from a timer on this core.
    Sleep(u64),
    /// Block for so many nanoseconds; the wake-up comes from a device (interrupt).
    Io(u64),
    /// Add 1 to the semaphore: wakes its first waiter, if there is one.
    Post(SemIdx),
    /// Take 1 from the semaphore, or block until a `Post` gives it.
    Wait(SemIdx),
    /// Block until as many threads as the barrier counts have arrived.
    Barrier(BarrierIdx),
    /// `sched_yield`.
    Yield,
    /// A new program name from here on; costs nothing.
    Exec(Name),
    /// Do the steps so many times.
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
pub struct Body(Box<Vec<Op>>);

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
    /// -20 (most weight) to 19.
    #[serde(skip_serializing_if = "is_default")]
    pub nice: i8,
    /// Cores it may run on, as numbers; empty: all. Cores that the machine lacks are ignored, and
    /// a list of which none is left is an error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub affinity: Vec<u16>,
    /// Steps in order; after the last one the thread exits.
    pub ops: Vec<Op>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A graph of threads. Threads that no `Fork` names start at time 0.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Workload {
    pub name: String,
    /// How it came about: the recorded command, or the generator with its parameters.
    pub origin: String,
    pub threads: Vec<Thread>,
    /// Initial count of each semaphore.
    pub semaphores: Vec<u32>,
    /// Number of threads that each barrier waits for.
    pub barriers: Vec<u32>,
    /// Nanoseconds that a thread spins at a barrier before it blocks, as OpenMP's runtimes do.
    #[serde(skip_serializing_if = "is_default")]
    pub barrier_spin: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_takes_16_bytes() {
        assert_eq!(size_of::<Op>(), 16);
    }
}
