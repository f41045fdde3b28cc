//! Per-thread accounting of steps, CPU time and latencies.

use crate::latency::Samples;
use crate::program::Program;
use serde::Serialize;

/// Completed steps of all threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counts {
    /// Threads that ran, roots included.
    pub threads: u64,
    pub runs: u64,
    /// Work of all runs, in cycles of the graph.
    pub cycles: u64,
    pub forks: u64,
    pub joins: u64,
    pub sleeps: u64,
    pub ios: u64,
    pub posts: u64,
    pub waits: u64,
    /// Arrivals at barriers.
    pub barriers: u64,
    pub yields: u64,
    pub execs: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Counts) {
        self.threads += other.threads;
        self.runs += other.runs;
        self.cycles += other.cycles;
        self.forks += other.forks;
        self.joins += other.joins;
        self.sleeps += other.sleeps;
        self.ios += other.ios;
        self.posts += other.posts;
        self.waits += other.waits;
        self.barriers += other.barriers;
        self.yields += other.yields;
        self.execs += other.execs;
    }
}

/// CPU time and context switches, as the kernel accounts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// CPU time in nanoseconds.
    pub cpu: u64,
    /// CPU time in the kernel, in nanoseconds; accurate to about a tick under tick-based accounting.
    pub system: u64,
    /// Switches because the thread blocked or yielded.
    pub voluntary: u64,
    /// Switches because it was preempted.
    pub involuntary: u64,
}

impl Usage {
    /// Reads the usage of the calling thread.
    pub fn of_this_thread() -> Self {
        // SAFETY: all zeros are a valid rusage, and the kernel writes only to it.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
            usage
        };
        Usage {
            cpu: crate::clock::thread_cpu(),
            system: usage.ru_stime.tv_sec as u64 * 1_000_000_000 + usage.ru_stime.tv_usec as u64 * 1_000,
            voluntary: usage.ru_nvcsw as u64,
            involuntary: usage.ru_nivcsw as u64,
        }
    }

    pub fn add(&mut self, other: &Usage) {
        self.cpu += other.cpu;
        self.system += other.system;
        self.voluntary += other.voluntary;
        self.involuntary += other.involuntary;
    }
}

/// A thread's own record, which no other thread writes to.
#[derive(Default)]
pub struct Ledger {
    pub counts: Counts,
    pub usage: Usage,
    /// Number of observed changes of core.
    pub migrations: u64,
    pub fork: Option<u64>,
    pub wakeup: Samples,
    pub timer: Samples,
    pub request: Samples,
}

impl Ledger {
    /// A ledger with the capacity that the program needs, so that the thread does not allocate.
    pub fn for_program(program: &Program) -> Self {
        Ledger {
            wakeup: Samples::with_room(program.waits),
            timer: Samples::with_room(program.delays),
            request: Samples::with_room(program.requests),
            ..Ledger::default()
        }
    }
}
