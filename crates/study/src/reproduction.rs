//! The simulations that claims need, each once, and the results of the claims.

use crate::Error;
use crate::claims::{Book, Claim, Metric, Side};
use crate::statistics::{Change, Sample, saving, speedup};
use hearth_sim::{Job, NOISE, Outcome, SimError, World};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::collections::BTreeMap;

/// The simulations of a list of claims.
pub struct Plan<'b> {
    book: &'b Book,
    claims: Vec<Planned<'b>>,
    points: Vec<Point<'b>>,
}

struct Planned<'b> {
    claim: &'b Claim,
    /// For each machine of the claim, the indices of the points of subject and baseline.
    pairs: Vec<(usize, Option<usize>)>,
}

/// A setting to simulate, under each seed.
#[derive(PartialEq)]
struct Point<'b> {
    workload: usize,
    machine: usize,
    side: &'b Side,
}

impl<'b> Plan<'b> {
    /// The simulations that these claims of the book need.
    pub fn new(book: &'b Book, claims: &[&'b Claim]) -> Self {
        let mut points: Vec<Point> = Vec::new();
        let mut number = |point: Point<'b>| {
            points.iter().position(|known| *known == point).unwrap_or_else(|| {
                points.push(point);
                points.len() - 1
            })
        };
        let claims = claims
            .iter()
            .map(|claim| {
                let mut pair = |&machine| {
                    let point = |side| Point { workload: claim.workload, machine, side };
                    (number(point(&claim.subject)), claim.baseline.as_ref().map(|side| number(point(side))))
                };
                Planned { claim, pairs: claim.machines.iter().map(&mut pair).collect() }
            })
            .collect();
        Plan { book, claims, points }
    }

    /// The jobs of each point, with seeds 1 to `runs`.
    pub fn jobs(&self, runs: u64) -> Vec<Job<'b>> {
        let book = self.book;
        let job = |point: &Point<'b>, seed| Job {
            workload: book.workloads.get(point.workload),
            machine: book.machines.get(point.machine),
            governor: point.side.governor,
            policy: book.policies.get(point.side.policy),
            params: &point.side.params,
            seed,
            noise: NOISE,
            world: World::ALL,
        };
        self.points.iter().flat_map(|point| (1..=runs).map(move |seed| job(point, seed))).collect()
    }

    /// Number of simulations, with this number of runs of each point.
    pub fn simulations(&self, runs: u64) -> usize {
        self.points.len() * runs as usize
    }

    /// Simulates and evaluates the claims, on `threads` threads (0 means one per core). Calls `done` after each
    /// simulation, from several threads.
    pub fn run(&self, runs: u64, threads: usize, done: impl Fn() + Sync) -> Result<Reproduction<'b>, Error> {
        self.evaluate(runs, hearth_sim::run_all(&self.jobs(runs), threads, done))
    }

    /// Evaluates the claims. `outcomes` are those of [`jobs`](Self::jobs), in that order.
    pub fn evaluate(
        &self,
        runs: u64,
        outcomes: Vec<Result<Outcome, SimError>>,
    ) -> Result<Reproduction<'b>, Error> {
        let runs_of_points = outcomes
            .into_iter()
            .enumerate()
            .map(|(i, outcome)| {
                outcome.map(Run::from).map_err(|error| self.failed(&self.points[i / runs as usize], error))
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let points: Vec<&[Run]> = runs_of_points.chunks(runs as usize).collect();
        Ok(Reproduction::new(runs, self.claims.iter().map(|planned| self.result(planned, &points)).collect()))
    }

    fn failed(&self, point: &Point, source: SimError) -> Error {
        let book = self.book;
        Error::Claim {
            workload: book.workloads.name(point.workload).into(),
            machine: book.machines.name(point.machine).into(),
            policy: book.policies.name(point.side.policy).into(),
            source: Box::new(source),
        }
    }

    fn result(&self, planned: &Planned<'b>, points: &[&[Run]]) -> ClaimResult<'b> {
        let Planned { claim, pairs } = planned;
        let results = claim.machines.iter().zip(pairs).map(|(&machine, &(subject, baseline))| {
            let (subject, baseline) = (points[subject], baseline.map(|index| points[index]));
            let change = measure(claim.metric, subject, baseline.unwrap_or(&[]));
            Found {
                machine: self.book.machines.name(machine),
                value: change.value,
                ci95: change.ci95,
                in_range: (claim.range[0]..=claim.range[1]).contains(&change.value),
                subject: MeanMetrics::of(subject),
                baseline: baseline.map(MeanMetrics::of),
            }
        });
        ClaimResult {
            id: &claim.id,
            paper: &claim.paper,
            says: &claim.says,
            workload: self.book.workloads.name(claim.workload),
            metric: claim.metric,
            range: claim.range,
            subject: self.named(&claim.subject),
            baseline: claim.baseline.as_ref().map(|side| self.named(side)),
            results: results.collect(),
        }
    }

    fn named(&self, side: &'b Side) -> NamedSide<'b> {
        NamedSide {
            policy: self.book.policies.name(side.policy),
            governor: side.governor.name(),
            params: side.params.shown(self.book.policies.get(side.policy).policy()).collect(),
        }
    }
}

// ---- Metrics ----------------------------------------------------------------------------------------------

/// The metrics of a run that claims use.
struct Run {
    time_s: f64,
    energy_j: f64,
    underload_per_s: f64,
    overload_core_ms: f64,
    cores_used: f64,
    busy_ghz: Option<f64>,
}

impl From<Outcome> for Run {
    fn from(outcome: Outcome) -> Self {
        Run {
            time_s: outcome.time_s,
            energy_j: outcome.energy_j,
            underload_per_s: outcome.summary.underload_per_s,
            overload_core_ms: outcome.summary.overload_core_ms,
            cores_used: outcome.summary.cores_used.into(),
            busy_ghz: outcome.summary.busy_ghz_mean,
        }
    }
}

impl Run {
    fn overload_per_s(&self) -> f64 {
        if self.time_s > 0.0 { self.overload_core_ms / self.time_s } else { 0.0 }
    }
}

fn measure(metric: Metric, subject: &[Run], baseline: &[Run]) -> Change {
    let both = |value: fn(&Run) -> f64| (sample(subject, value), sample(baseline, value));
    match metric {
        Metric::Speedup => {
            let (subject, baseline) = both(|run| run.time_s);
            speedup(&baseline, &subject)
        }
        Metric::EnergySaving => {
            let (subject, baseline) = both(|run| run.energy_j);
            saving(&baseline, &subject)
        }
        Metric::Underload => {
            let (subject, baseline) = both(|run| run.underload_per_s);
            ratio(&subject, &baseline)
        }
        Metric::Overload => mean(&sample(subject, Run::overload_per_s)),
    }
}

/// The statistics of a metric over the runs.
fn sample(runs: &[Run], value: impl Fn(&Run) -> f64) -> Sample {
    Sample::of(runs.iter().map(value)).unwrap_or(Sample { n: 0, mean: f64::NAN, deviation: 0.0 })
}

/// Ratio of the means of two non-negative metrics. 0 / 0 is 0.
fn ratio(subject: &Sample, baseline: &Sample) -> Change {
    if subject.mean == 0.0 {
        return Change { value: 0.0, ci95: (subject.n > 1 && baseline.n > 1).then_some([0.0; 2]) };
    }
    let change = speedup(subject, baseline);
    Change { value: change.value + 1.0, ci95: change.ci95.map(|ends| ends.map(|end| end + 1.0)) }
}

/// The mean of a non-negative metric, with Student's interval.
fn mean(sample: &Sample) -> Change {
    let student = (sample.n > 1).then(|| StudentsT::new(0.0, 1.0, (sample.n - 1) as f64).ok()).flatten();
    let ci95 = student.map(|t| {
        let reach = t.inverse_cdf(0.975) * sample.deviation / (sample.n as f64).sqrt();
        [(sample.mean - reach).max(0.0), sample.mean + reach]
    });
    Change { value: sample.mean, ci95 }
}

// ---- Report -----------------------------------------------------------------------------------------------

/// All results. Serializes with schema hearth.reproduce/1, which docs/src/json.md describes.
/// Field names are stable; fields may be added.
#[derive(Serialize)]
pub struct Reproduction<'b> {
    schema: &'static str,
    pub runs: u64,
    /// Number of results.
    pub results: usize,
    /// Number of results in the paper's range.
    pub in_range: usize,
    pub claims: Vec<ClaimResult<'b>>,
}

/// A claim and its result on each of its machines.
#[derive(Serialize)]
pub struct ClaimResult<'b> {
    pub id: &'b str,
    pub paper: &'b str,
    pub says: &'b str,
    workload: &'b str,
    pub metric: Metric,
    pub range: [f64; 2],
    subject: NamedSide<'b>,
    baseline: Option<NamedSide<'b>>,
    pub results: Vec<Found<'b>>,
}

#[derive(Serialize)]
struct NamedSide<'b> {
    policy: &'b str,
    governor: &'b str,
    params: BTreeMap<String, String>,
}

/// The result of a claim on one machine.
#[derive(Serialize)]
pub struct Found<'b> {
    pub machine: &'b str,
    pub value: f64,
    pub ci95: Option<[f64; 2]>,
    pub in_range: bool,
    subject: MeanMetrics,
    baseline: Option<MeanMetrics>,
}

/// Means over the runs, to explain the value of the claim.
#[derive(Serialize)]
struct MeanMetrics {
    time_s: f64,
    energy_j: f64,
    underload_per_s: f64,
    overload_core_ms_per_s: f64,
    cores_used: f64,
    busy_ghz_mean: Option<f64>,
}

impl MeanMetrics {
    fn of(runs: &[Run]) -> Self {
        let mean = |value: fn(&Run) -> f64| sample(runs, value).mean;
        MeanMetrics {
            time_s: mean(|run| run.time_s),
            energy_j: mean(|run| run.energy_j),
            underload_per_s: mean(|run| run.underload_per_s),
            overload_core_ms_per_s: mean(Run::overload_per_s),
            cores_used: mean(|run| run.cores_used),
            busy_ghz_mean: Sample::of(runs.iter().filter_map(|run| run.busy_ghz)).map(|ghz| ghz.mean),
        }
    }
}

impl<'b> Reproduction<'b> {
    fn new(runs: u64, claims: Vec<ClaimResult<'b>>) -> Self {
        let found = || claims.iter().flat_map(|claim| &claim.results);
        let (results, in_range) = (found().count(), found().filter(|found| found.in_range).count());
        Reproduction { schema: "hearth.reproduce/1", runs, results, in_range, claims }
    }
}

#[cfg(test)]
mod tests;
