//! Result of a play.

use crate::latency::Latencies;
use crate::ledger::{Counts, Usage};
use crate::shared::Shared;
use hearth_trace::Histogram;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

#[derive(Clone, Debug)]
pub struct Run {
    /// Time from just before the first thread starts to the end of the last one, in seconds.
    pub time_s: f64,
    /// CPU time of all threads in seconds, including the kernel's. Creation and exit of a thread count only as far
    /// as the forking thread is charged for them.
    pub cpu_s: f64,
    /// CPU time in the kernel, in seconds.
    pub system_s: f64,
    /// Time that all `run` steps take on undisturbed cores, in seconds.
    pub work_s: f64,
    /// Context switches from threads that blocked or yielded.
    pub voluntary_switches: u64,
    /// Context switches from threads that were preempted.
    pub involuntary_switches: u64,
    /// Number of cores on which threads were observed. A thread reads its core after each `run` and each wake-up.
    pub cores_used: u32,
    /// Number of observed changes of core, with the same sampling.
    pub migrations: u64,
    /// Executed steps.
    pub counts: Counts,
    pub latencies: Latencies,
}

impl Run {
    /// Collects the result of a play whose threads have been joined.
    pub(crate) fn of(shared: &Shared, started: u64) -> Self {
        let mut run = Run {
            time_s: seconds(shared.ended.load(Relaxed).saturating_sub(started)),
            cpu_s: 0.0,
            system_s: 0.0,
            work_s: 0.0,
            voluntary_switches: 0,
            involuntary_switches: 0,
            cores_used: shared.cores.count(),
            migrations: 0,
            counts: Counts::default(),
            latencies: Latencies::default(),
        };
        let mut usage = Usage::default();
        for slot in &shared.slots {
            let mut ledger = slot.ledger.lock().unwrap_or_else(PoisonError::into_inner);
            run.counts.add(&ledger.counts);
            run.migrations += ledger.migrations;
            usage.add(&ledger.usage);
            ledger.wakeup.hand_over(&mut run.latencies.wakeup);
            ledger.timer.hand_over(&mut run.latencies.timer);
            ledger.request.hand_over(&mut run.latencies.request);
            ledger.fork.into_iter().for_each(|ns| run.latencies.fork.record(ns));
        }
        let recorders = &shared.recorders;
        let add = |to: &mut Histogram, from: &Mutex<Histogram>| {
            to.add(&from.lock().unwrap_or_else(PoisonError::into_inner));
        };
        add(&mut run.latencies.wakeup, &recorders.wakeup);
        add(&mut run.latencies.timer, &recorders.timer);
        add(&mut run.latencies.request, &recorders.request);
        run.cpu_s = seconds(usage.cpu);
        run.system_s = seconds(usage.system);
        run.voluntary_switches = usage.voluntary;
        run.involuntary_switches = usage.involuntary;
        run.work_s = shared.script.work.nanoseconds(run.counts.cycles) / 1e9;
        run
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
