//! The profile of a workload: how parallel it is, and how its threads run, wait and wake each other.

use crate::dry_run::Execution;
use crate::{DRY_RUN_STEPS, NOMINAL_KHZ, Workload};
use serde::{Deserialize, Serialize};

/// What characterises a workload for a scheduler, from a dry run with one core per thread at 2.1 GHz.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Profile {
    /// Work divided by the length of the dry run.
    pub parallelism: f64,
    /// Share of the time at which no thread runs.
    pub idle: f64,
    /// Share of the time at which exactly one thread runs.
    pub serial: f64,
    /// Share of the time at which more than eight threads run.
    pub wide: f64,
    /// Median time that a thread runs until it waits, in microseconds.
    pub burst_us: f64,
    /// The same, weighted by time: half of the work is in longer bursts.
    pub long_burst_us: f64,
    /// Median time that a thread waits for a thread or a delay, in microseconds.
    pub gap_us: f64,
    /// Number of threads that start, per second.
    pub forks_per_s: f64,
    /// Number of waits that a thread, a barrier or a delay ends, per second.
    pub wakeups_per_s: f64,
    /// Share of these that a barrier ends.
    pub barriers: f64,
}

/// What a dry run logs for the profile. Times are in nanoseconds.
#[derive(Default)]
pub(crate) struct Log {
    /// Beginning and end of each step of work.
    pub runs: Vec<(u64, u64)>,
    /// Lengths of the work of a thread between two waits.
    pub bursts: Vec<u64>,
    /// Lengths of waits.
    pub gaps: Vec<u64>,
    pub forks: u64,
    pub barriers: u64,
    /// The burst of each thread so far.
    pub open: Vec<u64>,
}

impl Log {
    pub fn run(&mut self, thread: usize, start: u64, end: u64) {
        if start < end {
            self.runs.push((start, end));
            self.open[thread] += end - start;
        }
    }

    pub fn wait(&mut self, thread: usize, length: u64) {
        self.end(thread);
        self.gaps.push(length);
    }

    /// The thread waits or exits: its burst is over.
    pub fn end(&mut self, thread: usize) {
        let burst = std::mem::take(&mut self.open[thread]);
        if burst > 0 {
            self.bursts.push(burst);
        }
    }
}

impl Workload {
    /// The profile. `None` if the workload does not end, or has too many steps to tell.
    pub fn profile(&self) -> Option<Profile> {
        let mut execution = Execution::new(self, NOMINAL_KHZ);
        execution.log = Some(Log { open: vec![0; self.threads.len()], ..Log::default() });
        if !execution.run(DRY_RUN_STEPS) {
            return None;
        }
        let span = execution.span()?;
        execution.log.take().map(|log| log.profile(span.max(1)))
    }
}

impl Log {
    fn profile(mut self, span: u64) -> Profile {
        let work: u64 = self.runs.iter().map(|(start, end)| end - start).sum();
        let at = self.time_by_width();
        let share = |widths: &dyn Fn(usize) -> bool| {
            let time: u64 = at.iter().enumerate().filter(|(width, _)| widths(*width)).map(|(_, t)| t).sum();
            time as f64 / span as f64
        };
        let running = share(&|width| width > 0);
        let per_second = |count: u64| count as f64 * 1e9 / span as f64;
        self.bursts.sort_unstable();
        self.gaps.sort_unstable();
        Profile {
            parallelism: work as f64 / span as f64,
            idle: (1.0 - running).max(0.0),
            serial: share(&|width| width == 1),
            wide: share(&|width| width > 8),
            burst_us: median(&self.bursts) / 1e3,
            long_burst_us: median_by_time(&self.bursts) / 1e3,
            gap_us: median(&self.gaps) / 1e3,
            forks_per_s: per_second(self.forks),
            wakeups_per_s: per_second(self.gaps.len() as u64),
            barriers: self.barriers as f64 / self.gaps.len().max(1) as f64,
        }
    }

    /// The time at which so many threads run, by their number.
    fn time_by_width(&self) -> Vec<u64> {
        let mut changes: Vec<(u64, i64)> =
            self.runs.iter().flat_map(|&(start, end)| [(start, 1), (end, -1)]).collect();
        changes.sort_unstable();
        let (mut at, mut width, mut last) = (Vec::new(), 0i64, 0);
        for (time, change) in changes {
            let slot = width as usize;
            if at.len() <= slot {
                at.resize(slot + 1, 0);
            }
            at[slot] += time - last;
            (width, last) = (width + change, time);
        }
        at
    }
}

/// The lower median of sorted values; 0 if there are none.
fn median(sorted: &[u64]) -> f64 {
    sorted.get(sorted.len().saturating_sub(1) / 2).map_or(0.0, |value| *value as f64)
}

/// The value at which half of the sum is reached.
fn median_by_time(sorted: &[u64]) -> f64 {
    let (half, mut sum) = (sorted.iter().sum::<u64>().div_ceil(2), 0);
    let reaches = |value: &&u64| {
        sum += **value;
        sum >= half
    };
    sorted.iter().find(reaches).map_or(0.0, |value| *value as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Op, Thread};

    /// Cycles of a millisecond.
    const MS: u64 = 2_100_000;

    fn thread(ops: Vec<Op>) -> Thread {
        Thread { ops, ..Thread::default() }
    }

    #[test]
    fn a_profile_has_what_the_threads_do() {
        // 1 ms alone, 2 ms beside the child, then a delay of 1 ms.
        let parent = vec![Op::Run(MS), Op::Fork(1), Op::Run(2 * MS), Op::Join(1), Op::Sleep(1_000_000)];
        let workload =
            Workload { threads: vec![thread(parent), thread(vec![Op::Run(2 * MS)])], ..Workload::default() };
        let found = workload.profile().unwrap();
        assert_eq!((found.parallelism, found.idle, found.serial, found.wide), (1.25, 0.25, 0.25, 0.0));
        // The bursts are 3 ms and 2 ms, the gaps 0 (the join) and 1 ms.
        assert_eq!((found.burst_us, found.long_burst_us, found.gap_us), (2_000.0, 3_000.0, 0.0));
        assert_eq!((found.forks_per_s, found.wakeups_per_s, found.barriers), (250.0, 500.0, 0.0));
    }

    #[test]
    fn barriers_are_wakeups() {
        let ops = || vec![Op::repeat(10, vec![Op::Run(MS), Op::Barrier(0)])];
        let threads = (0..12).map(|_| thread(ops())).collect();
        let found = Workload { threads, barriers: vec![12], ..Workload::default() }.profile().unwrap();
        assert_eq!((found.parallelism, found.wide, found.burst_us), (12.0, 1.0, 1_000.0));
        assert_eq!(found.barriers, 1.0);
    }

    #[test]
    fn a_workload_that_does_not_end_has_none() {
        let waits =
            Workload { threads: vec![thread(vec![Op::Wait(0)])], semaphores: vec![0], ..Workload::default() };
        assert_eq!(waits.profile(), None);
    }
}
