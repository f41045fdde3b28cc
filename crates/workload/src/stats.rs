//! Statistics of a workload.

use serde::Serialize;

use crate::dry_run::time;
use crate::{DRY_RUN_STEPS, DryRun, Op, ThreadIdx, Workload};

/// Result of [`Workload::stats`]. Sums saturate at `u64::MAX`.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Stats {
    pub threads: u64,
    /// Number of threads that start without a fork.
    pub roots: u64,
    /// Number of steps with repeats expanded.
    pub steps: u64,
    /// Total work in cycles.
    pub cycles: u64,
    /// Total work at the given frequency, in nanoseconds.
    pub work: u64,
    /// Total delay (`sleep`, `io`, and the periods of timers), in nanoseconds.
    pub delay: u64,
    /// Critical path at the given frequency in nanoseconds: the run time with one core per thread.
    /// `None` if the workload never ends or has too many steps to tell.
    pub span: Option<u64>,
}

impl Workload {
    /// Computes statistics with times at `khz` (2,100,000 for the papers' larger machine).
    pub fn stats(&self, khz: u32) -> Stats {
        let mut stats = Stats { threads: self.threads.len() as u64, ..Stats::default() };
        for thread in &self.threads {
            count(&thread.ops, 1, &mut stats);
        }
        stats.roots = self.roots().count() as u64;
        stats.work = time(stats.cycles, u64::from(khz.max(1)));
        stats.span = match self.dry_run_at(DRY_RUN_STEPS, khz) {
            DryRun::Finishes { span } => Some(span),
            DryRun::Stuck(_) | DryRun::Unknown => None,
        };
        stats
    }

    /// Threads that start without a fork.
    pub fn roots(&self) -> impl Iterator<Item = ThreadIdx> + use<> {
        let mut forked = vec![false; self.threads.len()];
        let mut pending: Vec<&[Op]> = self.threads.iter().map(|t| &t.ops[..]).collect();
        while let Some(ops) = pending.pop() {
            for op in ops {
                match op {
                    Op::Fork(child) => {
                        if let Some(forked) = forked.get_mut(*child as usize) {
                            *forked = true;
                        }
                    }
                    Op::Repeat(_, ops) => pending.push(ops),
                    _ => {}
                }
            }
        }
        (0..).zip(forked).filter(|&(_, forked)| !forked).map(|(thread, _)| thread)
    }
}

fn count(ops: &[Op], times: u64, stats: &mut Stats) {
    for op in ops {
        match op {
            Op::Run(cycles) => {
                stats.cycles = stats.cycles.saturating_add(cycles.saturating_mul(times));
            }
            Op::Sleep(ns) | Op::Io(ns) | Op::Timer(_, ns) => {
                stats.delay = stats.delay.saturating_add(ns.saturating_mul(times));
            }
            Op::Repeat(rounds, ops) => {
                count(ops, times.saturating_mul(u64::from(*rounds)), stats);
                continue;
            }
            _ => {}
        }
        stats.steps = stats.steps.saturating_add(times);
    }
}
