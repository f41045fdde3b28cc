//! The results of claims, and their scores.

use super::{Observation, RampTimes, Run};
use crate::claims::{Book, Claim, Half, Metric, Quantity, Side, UntestedClaim, Until};
use crate::statistics::Sample;
use serde::Serialize;
use std::collections::BTreeMap;

/// All results. Serializes with schema hearth.reproduce/2, which docs/src/json.md describes.
/// Field names are stable; fields may be added.
#[derive(Serialize)]
pub struct Reproduction<'b> {
    schema: &'static str,
    pub runs: u64,
    pub score: Score,
    pub claims: Vec<ClaimResult<'b>>,
    pub unasked: Vec<UntestedRow<'b>>,
    /// All settings that were simulated.
    #[serde(skip)]
    pub settings: Vec<SettingResult<'b>>,
}

/// The runs of a setting.
pub struct SettingResult<'b> {
    pub workload: &'b str,
    pub machine: &'b str,
    pub side: NamedSide<'b>,
    pub time: Sample,
    pub energy: Sample,
    /// The frequency transition of the first run, if a claim asks for it.
    pub ramp: Option<RampTimes>,
}

impl<'b> SettingResult<'b> {
    pub(super) fn new(book: &'b Book, workload: usize, machine: usize, side: &'b Side, runs: &[Run]) -> Self {
        let sample = |value: fn(&Run) -> f64| {
            Sample::of(runs.iter().map(value)).unwrap_or(Sample { n: 0, mean: f64::NAN, deviation: 0.0 })
        };
        let ramp = runs.first().and_then(|run| {
            run.seen
                .iter()
                .find_map(|seen| if let Observation::Ramp(times) = seen { Some(times.clone()) } else { None })
        });
        SettingResult {
            workload: book.workloads.name(workload),
            machine: book.machines.name(machine),
            side: NamedSide::new(book, side),
            time: sample(|run| run.outcome.time_s),
            energy: sample(|run| run.outcome.energy_j),
            ramp,
        }
    }
}

/// The score of all claims, and of each half of the rows.
#[derive(Serialize, Clone, Copy, PartialEq, Debug)]
pub struct Score {
    pub all: Tally,
    pub choosing: Tally,
    pub reported: Tally,
}

impl Score {
    fn new(claims: &[ClaimResult], unasked: &[UntestedRow]) -> Score {
        let tally = |half: Option<Half>| Tally::new(claims, unasked, |of| half.is_none_or(|half| half == of));
        Score {
            all: tally(None),
            choosing: tally(Some(Half::Choosing)),
            reported: tally(Some(Half::Reported)),
        }
    }

    /// The score of a half.
    pub fn of(&self, half: Half) -> Tally {
        match half {
            Half::Choosing => self.choosing,
            Half::Reported => self.reported,
        }
    }
}

/// How many rows of the papers and results are in range.
#[derive(Serialize, Clone, Copy, PartialEq, Debug, Default)]
pub struct Tally {
    /// Rows with a claim that was asked.
    pub rows: usize,
    /// Rows all of whose results are in range.
    pub rows_in_range: usize,
    /// Results: one for each claim and machine.
    pub results: usize,
    pub in_range: usize,
    /// Rows that are not asked.
    pub unasked: usize,
}

impl Tally {
    /// Counts what belongs to a half that is `wanted`.
    fn new(claims: &[ClaimResult], unasked: &[UntestedRow], wanted: impl Fn(Half) -> bool) -> Tally {
        let mut rows: BTreeMap<&str, bool> = BTreeMap::new();
        let mut tally = Tally::default();
        for claim in claims.iter().filter(|claim| wanted(claim.half)) {
            *rows.entry(claim.row).or_insert(true) &= claim.holds();
            tally.results += claim.results.len();
            tally.in_range += claim.results.iter().filter(|found| found.in_range).count();
        }
        tally.rows = rows.len();
        tally.rows_in_range = rows.values().filter(|holds| **holds).count();
        tally.unasked = unasked.iter().filter(|row| wanted(row.half)).count();
        tally
    }
}

/// A claim and its result on each of its machines.
#[derive(Serialize)]
pub struct ClaimResult<'b> {
    pub id: &'b str,
    /// The row of the paper.
    pub row: &'b str,
    pub half: Half,
    pub paper: &'b str,
    pub says: &'b str,
    #[serde(flatten)]
    pub quantity: NamedQuantity<'b>,
    /// The quantity that is subtracted.
    pub than: Option<NamedQuantity<'b>>,
    /// An infinite end is `null` in JSON.
    pub range: [f64; 2],
    pub results: Vec<MachineResult<'b>>,
}

/// A quantity with names.
#[derive(Serialize)]
pub struct NamedQuantity<'b> {
    /// The workload, or the name of a group.
    pub workload: &'b str,
    pub workloads: Vec<&'b str>,
    pub metric: &'b Metric,
    pub until: Option<&'b Until>,
    pub subject: NamedSide<'b>,
    pub baseline: Option<NamedSide<'b>>,
}

#[derive(Serialize, PartialEq)]
pub struct NamedSide<'b> {
    pub policy: &'b str,
    pub governor: &'b str,
    pub params: BTreeMap<String, String>,
    /// The machine, if it is not that of the result.
    pub machine: Option<&'b str>,
}

/// The result of a claim on one machine.
#[derive(Serialize)]
pub struct MachineResult<'b> {
    pub machine: &'b str,
    /// NaN if a run does not have the metric.
    pub value: f64,
    pub ci95: Option<[f64; 2]>,
    pub in_range: bool,
    pub(super) subject: MeanMetrics,
    pub(super) baseline: Option<MeanMetrics>,
}

/// A row that is not asked.
#[derive(Serialize)]
pub struct UntestedRow<'b> {
    pub id: &'b str,
    pub half: Half,
    pub paper: &'b str,
    pub says: &'b str,
    pub why: &'b str,
}

/// Means over the runs, to explain the value of the claim.
#[derive(Serialize)]
pub(super) struct MeanMetrics {
    time_s: f64,
    energy_j: f64,
    underload_per_s: f64,
    overload_core_ms_per_s: f64,
    cores_used: f64,
    busy_ghz_mean: Option<f64>,
}

impl MeanMetrics {
    pub(super) fn of<'r>(runs: impl Iterator<Item = &'r Run> + Clone) -> Self {
        let mean = |value: fn(&Run) -> f64| Sample::of(runs.clone().map(value)).map_or(f64::NAN, |s| s.mean);
        let overload = |run: &Run| {
            let seconds = run.outcome.time_s;
            if seconds > 0.0 { run.outcome.summary.overload_core_ms / seconds } else { 0.0 }
        };
        let ghz = runs.clone().filter_map(|run| run.outcome.summary.busy_ghz_mean);
        MeanMetrics {
            time_s: mean(|run| run.outcome.time_s),
            energy_j: mean(|run| run.outcome.energy_j),
            underload_per_s: mean(|run| run.outcome.summary.underload_per_s),
            overload_core_ms_per_s: mean(overload),
            cores_used: mean(|run| run.outcome.summary.cores_used.into()),
            busy_ghz_mean: Sample::of(ghz).map(|ghz| ghz.mean),
        }
    }
}

impl<'b> ClaimResult<'b> {
    pub(super) fn new(book: &'b Book, claim: &'b Claim, results: Vec<MachineResult<'b>>) -> Self {
        ClaimResult {
            id: &claim.id,
            row: claim.row(),
            half: Half::of(claim.row()),
            paper: &claim.paper,
            says: &claim.says,
            quantity: NamedQuantity::new(book, &claim.quantity),
            than: claim.than.as_ref().map(|than| NamedQuantity::new(book, than)),
            range: claim.range,
            results,
        }
    }

    /// Whether all results are in range.
    pub fn holds(&self) -> bool {
        self.results.iter().all(|found| found.in_range)
    }
}

impl<'b> NamedQuantity<'b> {
    fn new(book: &'b Book, quantity: &'b Quantity) -> Self {
        NamedQuantity {
            workload: &quantity.workload,
            workloads: quantity.workloads.iter().map(|&index| book.workloads.name(index)).collect(),
            metric: &quantity.metric,
            until: quantity.until.as_ref(),
            subject: NamedSide::new(book, &quantity.subject),
            baseline: quantity.baseline.as_ref().map(|side| NamedSide::new(book, side)),
        }
    }
}

impl<'b> NamedSide<'b> {
    fn new(book: &'b Book, side: &'b Side) -> Self {
        NamedSide {
            policy: book.policies.name(side.policy),
            governor: side.governor.name(),
            params: side.params.shown(book.policies.get(side.policy).policy()).collect(),
            machine: side.machine.map(|machine| book.machines.name(machine)),
        }
    }
}

impl<'b> Reproduction<'b> {
    pub(super) fn new(
        runs: u64,
        claims: Vec<ClaimResult<'b>>,
        unasked: &'b [UntestedClaim],
        settings: Vec<SettingResult<'b>>,
    ) -> Self {
        let unasked = unasked.iter().map(|row| UntestedRow {
            id: &row.id,
            half: Half::of(row.row()),
            paper: &row.paper,
            says: &row.says,
            why: &row.why,
        });
        let unasked: Vec<_> = unasked.collect();
        let score = Score::new(&claims, &unasked);
        Reproduction { schema: "hearth.reproduce/2", runs, score, claims, unasked, settings }
    }
}
