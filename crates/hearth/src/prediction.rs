//! The results of `predict` and `sim`: as a table, as JSON, and as a page.

use crate::failure::Failure;
use crate::statistics::{Change, Sample, saving, speedup};
use crate::table::{Plain, number, percent};
use hearth_sim::Outcome;
use hearth_trace::{Summary, Trace};
use hearth_view::report;
use hearth_workload::Workload;
use serde::Serialize;
use std::collections::BTreeMap;

/// The document of `--json`, documented in docs/src/json.md. Field names stay; new ones may come.
#[derive(Serialize)]
pub struct Prediction {
    schema: &'static str,
    workload: WorkloadFacts,
    runs: Vec<Run>,
    comparisons: Vec<Comparison>,
}

#[derive(Serialize)]
pub struct WorkloadFacts {
    name: String,
    origin: String,
    threads: u64,
    steps: u64,
    cycles: u64,
    /// Sum of all delays.
    delay_s: f64,
    /// What must be known about it: what extraction or an importer could not represent.
    notes: Vec<String>,
}

/// A policy under a governor on a machine.
#[derive(Clone, PartialEq, Serialize)]
pub struct Setting {
    pub machine: String,
    pub governor: String,
    pub policy: String,
    /// Parameters that differ from their defaults, as `--param` takes them.
    pub params: BTreeMap<String, String>,
}

#[derive(Serialize)]
pub struct Run {
    #[serde(flatten)]
    setting: Setting,
    seed: u64,
    time_s: f64,
    energy_j: f64,
    underload_per_s: f64,
    overload_core_ms: f64,
    inversion_core_ms: f64,
    cores_used: u32,
    sockets_used: u32,
    migrations: u64,
    busy_ghz_mean: Option<f64>,
    events: u64,
    wall_s: f64,
    trace_hash: String,
    /// All metrics, as in `hearth report --json`.
    summary: Summary,
}

/// A setting against the baseline of its machine, which is the first setting that was named.
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
    /// The policy, with its parameters as `--policy` takes them.
    fn label(&self) -> String {
        let params: Vec<String> = self.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if params.is_empty() { self.policy.clone() } else { format!("{}:{}", self.policy, params.join(",")) }
    }

    fn page(&self) -> report::Setting {
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

/// The runs of one setting; they are never none.
struct Row<'a> {
    setting: &'a Setting,
    runs: &'a [Run],
    time: Sample,
    energy: Sample,
    /// Setting, speed-up and energy saving against the machine's first row; `None`: this is it.
    against: Option<(&'a Setting, Change, Change)>,
}

impl Row<'_> {
    fn mean(&self, value: impl Fn(&Run) -> f64) -> f64 {
        self.runs.iter().map(value).sum::<f64>() / self.runs.len() as f64
    }

    fn busy_ghz(&self) -> f64 {
        self.mean(|run| run.busy_ghz_mean.unwrap_or(f64::NAN))
    }
}

/// In the order of the runs, which stand setting by setting and machine by machine.
fn rows(runs: &[Run]) -> Vec<Row<'_>> {
    let mut rows: Vec<Row> = Vec::new();
    for runs in runs.chunk_by(|a, b| a.setting == b.setting) {
        let setting = &runs[0].setting;
        let sample = |value: fn(&Run) -> f64| Sample::of(runs.iter().map(value));
        let (Some(time), Some(energy)) = (sample(|run| run.time_s), sample(|run| run.energy_j)) else {
            continue;
        };
        let against = rows
            .iter()
            .find(|row| row.setting.machine == setting.machine)
            .map(|base| (base.setting, speedup(&base.time, &time), saving(&base.energy, &energy)));
        rows.push(Row { setting, runs, time, energy, against });
    }
    rows
}

impl Prediction {
    pub fn new(workload: WorkloadFacts, runs: Vec<Run>) -> Self {
        let comparisons = rows(&runs)
            .into_iter()
            .filter_map(|row| {
                let (baseline, speedup, saving) = row.against?;
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
        Prediction { schema: "hearth.predict/1", workload, runs, comparisons }
    }

    /// The table for people.
    pub fn text(&self) -> String {
        let rows = rows(&self.runs);
        let mut table = Plain::new(3);
        table.head(&[
            "machine",
            "governor",
            "policy",
            "time s",
            "speed-up",
            "energy J",
            "saving",
            "underload/s",
            "overload core·ms",
            "cores",
            "busy GHz",
        ]);
        let (mut machine, mut governor) = ("", "");
        for row in &rows {
            if row.setting.machine != machine {
                if !machine.is_empty() {
                    table.row(&[" "]);
                }
                (machine, governor) = (&row.setting.machine, "");
            }
            let new = (governor != row.setting.governor).then_some(&row.setting.governor);
            let first = row.against.is_none();
            governor = &row.setting.governor;
            let (speedup, saving) = match &row.against {
                Some((_, speedup, saving)) => (change(speedup), change(saving)),
                None => ("baseline".into(), String::new()),
            };
            table.row(&[
                if first { machine.to_owned() } else { String::new() },
                new.cloned().unwrap_or_default(),
                row.setting.label(),
                number(row.time.mean),
                speedup,
                number(row.energy.mean),
                saving,
                number(row.mean(|run| run.underload_per_s)),
                number(row.mean(|run| run.overload_core_ms)),
                format!("{:.1}", row.mean(|run| run.cores_used.into())),
                number(row.busy_ghz()),
            ]);
        }
        let mut text = table.render();
        let runs = rows.iter().map(|row| row.runs.len()).max().unwrap_or(0);
        text += &match runs {
            0 | 1 => "\nOne run of each: no confidence intervals (--runs N).\n".to_owned(),
            n => format!("\nMeans of {n} runs; ± is half of the 95% confidence interval.\n"),
        };
        for note in &self.workload.notes {
            text += &format!("Note: {note}\n");
        }
        text
    }

    /// The report page. `trace` runs the first seed of a setting again, for its execution trace.
    pub fn page(
        &self,
        trace: impl Fn(usize) -> Result<Trace, Failure>,
        columns: u32,
    ) -> Result<String, Failure> {
        let rows = rows(&self.runs);
        let timelines = rows
            .iter()
            .enumerate()
            .map(|(i, row)| Ok(panel(row.setting, &trace(i)?, columns)))
            .collect::<Result<_, Failure>>()?;
        let facts = &self.workload;
        Ok(report::render(&report::Report {
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
            timelines,
            notes: facts.notes.clone(),
        }))
    }
}

fn change(change: &Change) -> String {
    let value = percent(change.value);
    match change.ci95 {
        Some([low, high]) => format!("{value} ±{:.1}", (high - low) * 50.0),
        None => value,
    }
}

fn page_row(row: &Row) -> report::Row {
    let estimate = |change: &Change| {
        let [low, high] = change.ci95.unwrap_or([f64::NAN; 2]);
        report::Estimate { mean: change.value, low, high }
    };
    report::Row {
        setting: row.setting.page(),
        against: row.against.map(|(baseline, ..)| baseline.page()),
        runs: row.runs.len() as u32,
        time_s: row.time.mean,
        time_sd: row.time.deviation,
        speedup: row.against.map(|(_, speedup, _)| estimate(&speedup)),
        energy_j: row.energy.mean,
        energy_saving: row.against.map(|(.., saving)| estimate(&saving)),
        underload_per_s: row.mean(|run| run.underload_per_s),
        overload_core_ms: row.mean(|run| run.overload_core_ms),
        inversion_core_ms: row.mean(|run| run.inversion_core_ms),
        cores_used: row.mean(|run| run.cores_used.into()),
        sockets_used: row.mean(|run| run.sockets_used.into()),
        migrations: row.mean(|run| run.migrations as f64),
        busy_ghz_mean: row.busy_ghz(),
    }
}

/// Of all runs together.
fn distribution(row: &Row) -> report::Distribution {
    let mut distribution = report::Distribution { setting: row.setting.page(), residency: Vec::new() };
    for run in row.runs {
        distribution.add(&run.summary);
    }
    distribution
}

fn panel(setting: &Setting, trace: &Trace, columns: u32) -> report::TimelinePanel {
    report::TimelinePanel { setting: setting.page(), ..report::TimelinePanel::from_trace(trace, columns) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(machine: &str, policy: &str, seed: u64, time_s: f64, energy_j: f64) -> Run {
        let outcome = Outcome {
            summary: Summary::default(),
            time_s,
            energy_j,
            events: 1,
            wall_s: 0.0,
            trace_hash: String::new(),
            demanded_cycles: 0.0,
            executed_cycles: 0.0,
            header: Default::default(),
        };
        let setting = Setting {
            machine: machine.into(),
            governor: "schedutil".into(),
            policy: policy.into(),
            params: BTreeMap::new(),
        };
        Run::new(setting, seed, outcome)
    }

    fn prediction(runs: Vec<Run>) -> Prediction {
        Prediction::new(WorkloadFacts::of(&Workload::default(), Vec::new()), runs)
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
    fn the_table_names_machine_and_governor_once() {
        let text = prediction(vec![
            run("small", "a", 1, 10.0, 100.0),
            run("small", "a", 2, 10.0, 100.0),
            run("small", "b", 1, 8.0, 50.0),
            run("small", "b", 2, 8.0, 50.0),
        ])
        .text();
        assert_eq!(text.matches("small").count(), 1, "{text}");
        assert_eq!(text.matches("schedutil").count(), 1, "{text}");
        assert!(text.contains("+25.0% ±0.0") && text.contains("+50.0% ±0.0"), "{text}");
        assert!(text.contains("Means of 2 runs"), "{text}");
    }

    #[test]
    fn a_label_can_be_typed() {
        let mut setting = run("m", "nest", 1, 1.0, 1.0).setting;
        setting.params = [("r_max", "0"), ("s_max", "16ms")].map(|(n, v)| (n.into(), v.into())).into();
        assert_eq!(setting.label(), "nest:r_max=0,s_max=16ms");
    }
}
