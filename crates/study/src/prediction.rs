//! Predictions for a workload: all runs, comparisons with the baseline of each machine, and a page.

use crate::statistics::{Change, Sample, number, saving, speedup};
use hearth_sim::Outcome;
use hearth_trace::Summary;
use hearth_view::report;
use hearth_workload::Workload;
use serde::Serialize;
use std::collections::BTreeMap;

/// The runs of one workload. Serializes with schema hearth.predict/1, which docs/src/json.md
/// describes. Field names are stable; fields may be added.
#[derive(Serialize)]
pub struct Prediction {
    schema: &'static str,
    pub workload: WorkloadFacts,
    /// Ordered by machine and setting.
    pub runs: Vec<Run>,
    comparisons: Vec<Comparison>,
    /// The execution trace of each setting's first run, if [`Keep::columns`](crate::Keep::columns) requests it.
    #[serde(skip)]
    pub panels: Vec<report::TimelinePanel>,
}

/// The size of a workload.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WorkloadFacts {
    pub name: String,
    pub origin: String,
    pub threads: u64,
    pub steps: u64,
    pub cycles: u64,
    /// Sum of all delays, in seconds.
    pub delay_s: f64,
    /// What extraction or an importer could not represent.
    pub notes: Vec<String>,
}

/// A policy under a governor on a machine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Setting {
    pub machine: String,
    pub governor: String,
    pub policy: String,
    /// Parameters that differ from their defaults, in the syntax of `--param`.
    pub params: BTreeMap<String, String>,
}

/// One simulation.
#[derive(Serialize)]
pub struct Run {
    #[serde(flatten)]
    pub setting: Setting,
    pub seed: u64,
    pub time_s: f64,
    pub energy_j: f64,
    pub underload_per_s: f64,
    pub overload_core_ms: f64,
    pub inversion_core_ms: f64,
    pub cores_used: u32,
    pub sockets_used: u32,
    pub migrations: u64,
    pub busy_ghz_mean: Option<f64>,
    pub events: u64,
    pub wall_s: f64,
    pub trace_hash: String,
    /// All metrics, as in `hearth report --json`.
    pub summary: Summary,
}

/// The comparison of a setting with the baseline of its machine, which is the first setting.
#[derive(Serialize)]
struct Comparison {
    #[serde(flatten)]
    setting: Setting,
    baseline: String,
    baseline_governor: String,
    baseline_params: BTreeMap<String, String>,
    speedup: f64,
    speedup_ci95: Option<[f64; 2]>,
    energy_saving: f64,
    energy_saving_ci95: Option<[f64; 2]>,
}

impl WorkloadFacts {
    pub fn of(workload: &Workload, notes: Vec<String>) -> Self {
        let stats = workload.stats(hearth_workload::generate::NOMINAL_KHZ);
        WorkloadFacts {
            name: workload.name.clone(),
            origin: workload.origin.clone(),
            threads: stats.threads,
            steps: stats.steps,
            cycles: stats.cycles,
            delay_s: stats.delay as f64 / 1e9,
            notes,
        }
    }
}

impl Setting {
    /// The policy with its parameters, in the syntax of [`Spec`](hearth_policy::Spec).
    pub fn label(&self) -> String {
        let params: Vec<String> = self.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if params.is_empty() { self.policy.clone() } else { format!("{}:{}", self.policy, params.join(",")) }
    }

    pub(crate) fn page(&self) -> report::Setting {
        report::Setting {
            machine: self.machine.clone(),
            governor: self.governor.clone(),
            policy: self.label(),
        }
    }
}

impl Run {
    pub fn new(setting: Setting, seed: u64, outcome: Outcome) -> Self {
        let summary = Summary { energy_j: Some(outcome.energy_j), lost_events: Some(0), ..outcome.summary };
        Run {
            setting,
            seed,
            time_s: outcome.time_s,
            energy_j: outcome.energy_j,
            underload_per_s: summary.underload_per_s,
            overload_core_ms: summary.overload_core_ms,
            inversion_core_ms: summary.inversion_core_ms,
            cores_used: summary.cores_used,
            sockets_used: summary.sockets_used,
            migrations: summary.migrations,
            busy_ghz_mean: summary.busy_ghz_mean,
            events: outcome.events,
            wall_s: outcome.wall_s,
            trace_hash: outcome.trace_hash,
            summary,
        }
    }
}

/// The runs of one setting, at least one.
pub struct Row<'a> {
    pub setting: &'a Setting,
    pub runs: &'a [Run],
    pub time: Sample,
    pub energy: Sample,
    /// The comparison with the baseline. `None` for the baseline, the first row of its machine.
    pub against: Option<Against<'a>>,
}

/// A row compared with the baseline of its machine.
#[derive(Clone, Copy)]
pub struct Against<'a> {
    pub baseline: &'a Setting,
    pub speedup: Change,
    pub saving: Change,
}

impl Row<'_> {
    /// The mean of a metric over the runs.
    pub fn mean(&self, value: impl Fn(&Run) -> f64) -> f64 {
        self.runs.iter().map(value).sum::<f64>() / self.runs.len() as f64
    }

    /// The mean frequency of busy cores in GHz; NaN if it is unknown for a run.
    pub fn busy_ghz(&self) -> f64 {
        self.mean(|run| run.busy_ghz_mean.unwrap_or(f64::NAN))
    }
}

/// The rows of runs that are ordered by machine and setting.
fn rows(runs: &[Run]) -> Vec<Row<'_>> {
    let mut rows: Vec<Row> = Vec::new();
    for runs in runs.chunk_by(|a, b| a.setting == b.setting) {
        let setting = &runs[0].setting;
        let sample = |value: fn(&Run) -> f64| Sample::of(runs.iter().map(value));
        let (Some(time), Some(energy)) = (sample(|run| run.time_s), sample(|run| run.energy_j)) else {
            continue;
        };
        let against = rows.iter().find(|row| row.setting.machine == setting.machine).map(|base| Against {
            baseline: base.setting,
            speedup: speedup(&base.time, &time),
            saving: saving(&base.energy, &energy),
        });
        rows.push(Row { setting, runs, time, energy, against });
    }
    rows
}

impl Prediction {
    /// `runs` must be ordered by machine and setting.
    pub fn new(workload: WorkloadFacts, runs: Vec<Run>, panels: Vec<report::TimelinePanel>) -> Self {
        let comparisons = rows(&runs)
            .into_iter()
            .filter_map(|row| {
                let Against { baseline, speedup, saving } = row.against?;
                Some(Comparison {
                    setting: row.setting.clone(),
                    baseline: baseline.policy.clone(),
                    baseline_governor: baseline.governor.clone(),
                    baseline_params: baseline.params.clone(),
                    speedup: speedup.value,
                    speedup_ci95: speedup.ci95,
                    energy_saving: saving.value,
                    energy_saving_ci95: saving.ci95,
                })
            })
            .collect();
        Prediction { schema: "hearth.predict/1", workload, runs, comparisons, panels }
    }

    /// A row for each setting.
    pub fn rows(&self) -> Vec<Row<'_>> {
        rows(&self.runs)
    }

    /// A self-contained HTML page with the table, the frequency distributions and the execution traces.
    pub fn page(&self) -> String {
        let rows = self.rows();
        let facts = &self.workload;
        report::render(&report::Report {
            title: format!("Hearth: {}", facts.name),
            subtitle: facts.origin.clone(),
            workload: vec![
                ("threads".into(), facts.threads.to_string()),
                ("steps".into(), facts.steps.to_string()),
                ("cycles".into(), format!("{:.3} G", facts.cycles as f64 / 1e9)),
                ("delays".into(), format!("{} s", number(facts.delay_s))),
            ],
            rows: rows.iter().map(page_row).collect(),
            distributions: rows.iter().map(distribution).collect(),
            timelines: self.panels.clone(),
            notes: facts.notes.clone(),
        })
    }
}

fn page_row(row: &Row) -> report::Row {
    let estimate = |change: &Change| {
        let [low, high] = change.ci95.unwrap_or([f64::NAN; 2]);
        report::Estimate { mean: change.value, low, high }
    };
    report::Row {
        setting: row.setting.page(),
        against: row.against.map(|against| against.baseline.page()),
        runs: row.runs.len() as u32,
        time_s: row.time.mean,
        time_sd: row.time.deviation,
        speedup: row.against.map(|against| estimate(&against.speedup)),
        energy_j: row.energy.mean,
        energy_saving: row.against.map(|against| estimate(&against.saving)),
        underload_per_s: row.mean(|run| run.underload_per_s),
        overload_core_ms: row.mean(|run| run.overload_core_ms),
        inversion_core_ms: row.mean(|run| run.inversion_core_ms),
        cores_used: row.mean(|run| run.cores_used.into()),
        sockets_used: row.mean(|run| run.sockets_used.into()),
        migrations: row.mean(|run| run.migrations as f64),
        busy_ghz_mean: row.busy_ghz(),
    }
}

/// The frequency residency of all runs of a row.
fn distribution(row: &Row) -> report::Distribution {
    let mut distribution = report::Distribution { setting: row.setting.page(), residency: Vec::new() };
    for run in row.runs {
        distribution.add(&run.summary);
    }
    distribution
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(machine: &str, policy: &str, seed: u64, time_s: f64, energy_j: f64) -> Run {
        let outcome = Outcome { time_s, energy_j, ..Outcome::default() };
        let setting = Setting {
            machine: machine.into(),
            governor: "schedutil".into(),
            policy: policy.into(),
            params: BTreeMap::new(),
        };
        Run::new(setting, seed, outcome)
    }

    fn prediction(runs: Vec<Run>) -> Prediction {
        Prediction::new(WorkloadFacts::of(&Workload::default(), Vec::new()), runs, Vec::new())
    }

    #[test]
    fn each_machine_has_its_own_baseline() {
        let p = prediction(vec![
            run("small", "a", 1, 10.0, 100.0),
            run("small", "b", 1, 8.0, 50.0),
            run("large", "a", 1, 4.0, 100.0),
            run("large", "b", 1, 5.0, 100.0),
        ]);
        let found: Vec<_> = p
            .comparisons
            .iter()
            .map(|c| (&*c.setting.machine, &*c.baseline, c.speedup, c.energy_saving))
            .collect();
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert_eq!(found.len(), 2);
        assert!(
            found[0].0 == "small" && found[0].1 == "a" && close(found[0].2, 0.25) && close(found[0].3, 0.5)
        );
        assert!(
            found[1].0 == "large" && found[1].1 == "a" && close(found[1].2, -0.2) && close(found[1].3, 0.0)
        );
        assert!(p.comparisons.iter().all(|c| c.speedup_ci95.is_none()));
    }

    #[test]
    fn labels_have_the_syntax_of_specs() {
        let mut setting = run("m", "nest", 1, 1.0, 1.0).setting;
        setting.params = [("r_max", "0"), ("s_max", "16ms")].map(|(n, v)| (n.into(), v.into())).into();
        assert_eq!(setting.label(), "nest:r_max=0,s_max=16ms");
    }
}
