//! The values of quantities, from the runs of their sides.

use super::observe::{Observation, RampTimes};
use crate::claims::Metric;
use crate::statistics::{Change, Sample, deviation, mean, ratio, saving, speedup};
use hearth_sim::Outcome;
use hearth_trace::Summary;

/// A run, and what was seen in it.
pub struct Run {
    pub outcome: Outcome,
    /// In the order of the point's watches.
    pub seen: Vec<Observation>,
}

/// The runs of one side of a quantity.
#[derive(Clone, Copy)]
pub struct Runs<'a> {
    pub runs: &'a [Run],
    /// Index of what was watched for the quantity.
    pub watch: Option<usize>,
}

/// The value of a metric of a subject, compared with a baseline if there is one. NaN if a run does not have it.
pub fn measure(metric: &Metric, subject: Runs, baseline: Option<Runs>) -> Change {
    let of = |runs: Runs| runs.sample(metric);
    match (metric, baseline) {
        (Metric::Speedup, Some(baseline)) => speedup(&of(baseline), &of(subject)),
        (Metric::TimeSaved | Metric::EnergySaving, Some(baseline)) => saving(&of(baseline), &of(subject)),
        (_, Some(baseline)) => ratio(&of(subject), &of(baseline)),
        (Metric::Deviation, None) => deviation(&of(subject)),
        (_, None) => mean(&of(subject)),
    }
}

impl Runs<'_> {
    /// The statistics of the metric over the runs.
    fn sample(&self, metric: &Metric) -> Sample {
        let values: Option<Vec<f64>> = self.runs.iter().map(|run| run.value(metric, self.watch)).collect();
        let unknown = Sample { n: 0, mean: f64::NAN, deviation: 0.0 };
        let Some(values) = values else { return unknown };
        match metric {
            Metric::Slowest => Sample::of(values.into_iter().reduce(f64::max)),
            _ => Sample::of(values),
        }
        .unwrap_or(unknown)
    }
}

impl Run {
    fn value(&self, metric: &Metric, watch: Option<usize>) -> Option<f64> {
        let outcome = &self.outcome;
        match watch.map(|watch| &self.seen[watch]) {
            None if metric.compares() || *metric == Metric::Time => match metric {
                Metric::EnergySaving => Some(outcome.energy_j),
                _ => Some(outcome.time_s),
            },
            None => of_summary(metric, &outcome.summary, outcome.header.cores.len()),
            Some(Observation::Part(part)) => of_summary(metric, part, outcome.header.cores.len()),
            Some(Observation::Ramp(times)) => of_ramp(metric, times),
            Some(Observation::Forks(median)) => median.map(|ns| ns as f64 / 1e3),
            Some(Observation::Sockets(share)) => *share,
            Some(Observation::Nothing) => None,
        }
    }
}

fn of_summary(metric: &Metric, summary: &Summary, cores: usize) -> Option<f64> {
    let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    let count = |reason: &str| summary.placements.get(reason).copied().unwrap_or(0) as f64;
    match metric {
        Metric::Speedup | Metric::TimeSaved | Metric::Time | Metric::Slowest | Metric::Deviation => {
            Some(summary.duration_s)
        }
        Metric::Underload => Some(summary.underload_per_s),
        // A run without duration has no overload.
        Metric::Overload => Some(share(summary.overload_core_ms, summary.duration_s).unwrap_or(0.0)),
        Metric::Inverted => share(summary.inversion_core_ms / 1e3, summary.busy_core_s),
        Metric::Cores => Some(summary.cores_used.into()),
        Metric::Sockets => Some(summary.sockets_used.into()),
        Metric::Utilisation => share(summary.busy_core_s, summary.duration_s * cores as f64),
        Metric::Ghz => summary.busy_ghz_mean,
        Metric::AboveGhz(ghz) => {
            let ms = |above: f64| {
                let bins = summary.frequency_residency.iter().filter(|bin| bin.ghz > above);
                bins.map(|bin| bin.ms).sum::<f64>()
            };
            // Half of a bin: the bin of this frequency is not above it.
            share(ms(ghz + 0.05), ms(0.0))
        }
        Metric::LatencyP999 => {
            (summary.wakeup_latency_us.count > 0).then_some(summary.wakeup_latency_us.p99_9)
        }
        Metric::Placed(reasons) => share(
            reasons.iter().map(|reason| count(reason)).sum(),
            summary.placements.values().sum::<u64>() as f64,
        ),
        Metric::PerSecond(reason) => share(count(reason), summary.duration_s),
        // Of whole runs only, or watched.
        Metric::EnergySaving
        | Metric::RiseMs
        | Metric::FallMs
        | Metric::SettleMs
        | Metric::ForkToWaitUs
        | Metric::BusiestSocket => None,
    }
}

fn of_ramp(metric: &Metric, times: &RampTimes) -> Option<f64> {
    match metric {
        Metric::RiseMs => times.rise,
        Metric::FallMs => times.fall,
        _ => times.settle,
    }
}
