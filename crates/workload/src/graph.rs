//! The task graph: threads, and what each of them does in order.
//!
//! A workload says nothing of time on a core, only of *work* (cycles) and of *cause* (fork, join,
//! post, wait, barrier, delay): the same graph runs on any machine under any policy.
//!
//! Synchronisation is by counting semaphores and barriers, because everything that a kernel
//! recording shows (pipes, futexes, signals, `wait`) is one of "somebody let me go on": `Post`
//! adds to a semaphore, `Wait` takes from it or blocks. Waiters of one semaphore are woken in
//! the order in which they blocked.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

/// Version of the file format, in its field `hearth_workload`. It rises when an old program would misread a new file.
pub const FORMAT_VERSION: u32 = 1;

/// The frequency at which the generators' CPU times become cycles, in kHz.
pub const NOMINAL_KHZ: u32 = 2_100_000;

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
    Exec(String),
    /// Do the steps so many times.
    Repeat(u32, Vec<Op>),
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

impl Workload {
    /// Names of the programs that the workload executes, each once, in order of appearance.
    pub fn program_names(&self) -> Vec<String> {
        fn collect(ops: &[Op], names: &mut Vec<String>, seen: &mut HashSet<String>) {
            for op in ops {
                match op {
                    Op::Exec(name) if seen.insert(name.clone()) => names.push(name.clone()),
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
