//! What a thread did, and what it took.

use crate::latency::Samples;
use crate::program::Program;
use serde::Serialize;

/// Steps that were executed to their end, by all threads together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counts {
    /// Threads that ran, forked or not.
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

/// What the kernel charged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// CPU time in nanoseconds.
    pub cpu: u64,
    /// The part of it in the kernel, to about a tick on kernels that count by ticks.
    pub system: u64,
    /// Switches because the thread blocked or yielded.
    pub voluntary: u64,
    /// Switches because it was preempted.
    pub involuntary: u64,
}

impl Usage {
    /// Of the calling thread.
    pub fn of_this_thread() -> Self {
        // SAFETY: all-zero is a valid rusage, and the kernel writes to nothing else.
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

/// A thread's own account, on pages that nobody else writes to.
#[derive(Default)]
pub struct Ledger {
    pub counts: Counts,
    pub usage: Usage,
    /// How often it found itself on another core than before.
    pub migrations: u64,
    pub fork: Option<u64>,
    pub wakeup: Samples,
    pub timer: Samples,
    pub request: Samples,
}

impl Ledger {
    /// With room for what the thread will write, so that it need not allocate.
    pub fn for_program(program: &Program) -> Self {
        Ledger {
            wakeup: Samples::with_room(program.waits),
            timer: Samples::with_room(program.delays),
            request: Samples::with_room(program.requests),
            ..Ledger::default()
        }
    }
}
