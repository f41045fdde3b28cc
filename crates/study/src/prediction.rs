//! Predictions for a workload: all runs, comparisons with the baseline of each machine, and a page.

use crate::difference::{AgainstBase, Speedup};
use crate::measure::without_percentiles;
use crate::statistics::{Change, Sample, across, mean_of, number, saving, speedup};
use crate::verdict::{NoVerdict, accuracy, percent, span};
use crate::{Provenance, Verdict};
use hearth_report::page;
use hearth_sim::Outcome;
use hearth_trace::Summary;
use hearth_workload::Workload;
use serde::Serialize;
use std::collections::BTreeMap;

/// The runs of one workload. Serializes with schema hearth.predict/1, which docs/src/json.md
/// describes. Field names are stable; fields may be added.
#[derive(Serialize)]
pub struct Prediction {
    schema: &'static str,
    pub workload: WorkloadFacts,
    pub provenance: Provenance,
    /// Ordered by machine, setting and recording.
    pub runs: Vec<Run>,
    comparisons: Vec<Comparison>,
    /// One for each machine with two settings.
    pub verdicts: Vec<Verdict>,
    /// Why there is no verdict, and then no run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_verdict: Option<NoVerdict>,
    /// What the prediction says in a sentence, and what to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against_base: Option<AgainstBase>,
    /// The execution trace of each setting's first run, if [`Keep::columns`](crate::Keep::columns) requests it.
    #[serde(skip)]
    pub panels: Vec<page::TimelinePanel>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Answer {
    pub sentence: String,
    /// The next command to type.
    pub next: String,
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
    /// Number of the recording that was simulated, from 0.
    pub recording: usize,
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
    /// All metrics, as in `hearth report --json` of a simulated trace.
    #[serde(serialize_with = "without_percentiles")]
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

    /// `nest, performance`; a machine without frequency control has no governor.
    pub fn name(&self) -> String {
        if self.governor.is_empty() { self.label() } else { format!("{}, {}", self.label(), self.governor) }
    }

    pub(crate) fn page(&self) -> page::Setting {
        page::Setting { machine: self.machine.clone(), governor: self.governor.clone(), policy: self.label() }
    }
}

impl Run {
    pub fn new(setting: Setting, seed: u64, outcome: Outcome) -> Self {
        let summary = Summary {
            energy_j: Some(outcome.energy_j).filter(|joules| joules.is_finite()),
            lost_events: Some(0),
            ..outcome.summary
        };
        Run {
            setting,
            recording: 0,
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

impl Run {
    /// The run on a machine whose power is unknown.
    pub(crate) fn without_energy(mut self) -> Run {
        self.energy_j = f64::NAN;
        self.summary.energy_j = None;
        self
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
    /// Its interval is that over the recordings, or over the seeds if there is one recording.
    pub speedup: Change,
    /// The speed-up with the interval over the seeds.
    pub seeds: Change,
    pub saving: Change,
    pub recordings: usize,
}

/// The change of a metric in each recording.
fn changes(
    change: fn(&Sample, &Sample) -> Change,
    metric: fn(&Run) -> f64,
    [before, after]: [&[Run]; 2],
) -> Vec<Change> {
    let of = |runs: &[Run]| -> Vec<Sample> {
        let recordings = runs.chunk_by(|a, b| a.recording == b.recording);
        recordings.filter_map(|runs| Sample::of(runs.iter().map(metric))).collect()
    };
    of(before).iter().zip(&of(after)).map(|(before, after)| change(before, after)).collect()
}

impl<'a> Against<'a> {
    fn new(baseline: &'a Setting, runs: [&[Run]; 2]) -> Against<'a> {
        let faster = changes(speedup, |run| run.time_s, runs);
        Against {
            baseline,
            speedup: across(&faster),
            seeds: mean_of(&faster),
            saving: across(&changes(saving, |run| run.energy_j, runs)),
            recordings: faster.len(),
        }
    }
}

impl Row<'_> {
    /// The mean of a metric over the runs.
    pub fn mean(&self, value: impl Fn(&Run) -> f64) -> f64 {
        self.runs.iter().map(value).sum::<f64>() / self.runs.len() as f64
    }

    /// The mean wake-up latency in microseconds.
    pub fn wakeup_mean_us(&self) -> f64 {
        self.mean(|run| run.summary.wakeup_latency_us.mean)
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
        let of_machine = || rows.iter().filter(|row| row.setting.machine == setting.machine);
        let against = of_machine().next().map(|base| Against::new(base.setting, [base.runs, runs]));
        rows.push(Row { setting, runs, time, energy, against });
    }
    rows
}

impl Prediction {
    /// `runs` must be ordered by machine and setting.
    pub fn new(workload: WorkloadFacts, runs: Vec<Run>, panels: Vec<page::TimelinePanel>) -> Self {
        let comparisons = rows(&runs)
            .into_iter()
            .filter_map(|row| {
                let Against { baseline, speedup, saving, .. } = row.against?;
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
        let verdicts = verdicts(&rows(&runs));
        let provenance = Provenance::default();
        Prediction {
            schema: "hearth.predict/1",
            workload,
            provenance,
            runs,
            comparisons,
            verdicts,
            no_verdict: None,
            answer: None,
            against_base: None,
            panels,
        }
    }

    /// One prediction of several recordings of a command, one at least, which were simulated in the same settings. Execution
    /// traces are those of the first.
    pub fn of_recordings(predictions: Vec<Prediction>) -> Option<Prediction> {
        let mut all = predictions.into_iter().enumerate();
        let (_, first) = all.next()?;
        let Prediction { mut workload, provenance, mut runs, panels, .. } = first;
        for (recording, prediction) in all {
            let notes = prediction
                .workload
                .notes
                .into_iter()
                .map(|note| format!("recording {}: {note}", recording + 1));
            workload.notes.extend(notes);
            runs.extend(prediction.runs.into_iter().map(|run| Run { recording, ..run }));
        }
        // The sort is stable: recordings and seeds stay in order within a setting.
        let settings: Vec<Setting> =
            runs.chunk_by(|a, b| a.setting == b.setting).map(|runs| runs[0].setting.clone()).collect();
        runs.sort_by_key(|run| settings.iter().position(|setting| *setting == run.setting));
        let mut prediction = Prediction { provenance, ..Prediction::new(workload, runs, panels) };
        for effect in prediction.verdicts.iter_mut().flat_map(Verdict::effects_mut) {
            *effect = effect.clone().of_recording();
        }
        Some(prediction)
    }

    /// A sentence and three rows at most for each machine: its baseline, the governor alone, and the best setting.
    pub fn findings(&self) -> Vec<page::Finding> {
        if let Some(none) = &self.no_verdict {
            return vec![page::Finding { sentence: none.sentence.clone(), ..page::Finding::default() }];
        }
        let rows = self.rows();
        let finding = |rows: &[Row]| {
            let machine = rows[0].setting.machine.clone();
            let Some(verdict) = self.verdicts.iter().find(|verdict| verdict.best.setting.machine == machine)
            else {
                let sentence = "One setting was simulated, so there is nothing to compare.".into();
                return page::Finding { machine, sentence, rows: Vec::new() };
            };
            let time = |setting: &Setting| {
                let row = rows.iter().find(|row| *row.setting == *setting);
                row.map_or_else(String::new, |row| number(row.time.mean))
            };
            let baseline = rows[0].setting;
            let mut lines = vec![[baseline.name(), time(baseline), "baseline".into(), String::new()]];
            lines.extend(verdict.effects().map(|effect| {
                let range = effect.range.map_or_else(|| "one run".into(), span);
                [effect.setting.name(), time(&effect.setting), percent(effect.speedup), range]
            }));
            page::Finding { machine, sentence: verdict.sentence(&self.program()), rows: lines }
        };
        rows.chunk_by(|a, b| a.setting.machine == b.setting.machine).map(finding).collect()
    }

    /// Name of the recorded program, or of the workload.
    pub fn program(&self) -> String {
        let command = self.provenance.recordings.first().and_then(|recording| recording.command.first());
        let name = command.and_then(|program| std::path::Path::new(program).file_name());
        name.map_or_else(|| self.workload.name.clone(), |name| name.to_string_lossy().into())
    }

    /// A row for each setting.
    pub fn rows(&self) -> Vec<Row<'_>> {
        rows(&self.runs)
    }

    /// How much faster policy `name` is than policy `than`, in each machine and governor.
    pub(crate) fn speedups(&self, name: &str, than: &str) -> Vec<Speedup> {
        let rows = self.rows();
        let place = |row: &Row<'_>| (row.setting.machine.clone(), row.setting.governor.clone());
        let compared = rows.iter().filter(|row| row.setting.policy == name).filter_map(|row| {
            let is_base = |other: &&Row<'_>| other.setting.policy == than && place(other) == place(row);
            let base = rows.iter().find(is_base)?;
            let Change { value, ci95 } = Against::new(base.setting, [base.runs, row.runs]).speedup;
            let (machine, governor) = place(row);
            Some(Speedup { machine, governor, than: than.to_owned(), speedup: value, speedup_ci95: ci95 })
        });
        compared.collect()
    }

    /// The simulated times of the baselines, to be read beside the recorded time: `0.31 s on xeon-5218 (eevdf, schedutil)`.
    /// Of more than three, the shortest and the longest.
    pub fn modelled(&self) -> String {
        let rows = self.rows();
        let mut baselines: Vec<&Row<'_>> = rows.iter().filter(|row| row.against.is_none()).collect();
        let text = |row: &&Row<'_>| {
            let (seconds, setting) = (number(row.time.mean), row.setting);
            format!("{seconds} s on {} ({})", setting.machine, setting.name())
        };
        // The table has them all.
        if baselines.len() > 3 {
            baselines.sort_by(|a, b| a.time.mean.total_cmp(&b.time.mean));
            let (shortest, longest) = (&baselines[0], &baselines[baselines.len() - 1]);
            return format!("{} to {}", text(shortest), text(longest));
        }
        baselines.iter().map(text).collect::<Vec<_>>().join(", ")
    }

    /// A self-contained HTML page with the table, the frequency distributions and the execution traces.
    pub fn page(&self) -> String {
        let rows = self.rows();
        let facts = &self.workload;
        page::render(&page::Report {
            title: format!("Hearth: {}", facts.name),
            subtitle: facts.origin.clone(),
            workload: [
                ("threads", facts.threads.to_string()),
                ("steps", facts.steps.to_string()),
                ("cycles", format!("{:.3} G", facts.cycles as f64 / 1e9)),
                ("delays", format!("{} s", number(facts.delay_s))),
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
            provenance: self
                .provenance
                .facts()
                .into_iter()
                .chain([("modelled".into(), self.modelled())])
                .collect(),
            rows: rows.iter().map(page_row).collect(),
            distributions: rows.iter().map(distribution).collect(),
            timelines: self.panels.clone(),
            notes: facts.notes.clone(),
            accuracy: accuracy(),
            findings: self.findings(),
        })
    }
}

/// One verdict for each machine, in order of appearance.
fn verdicts(rows: &[Row]) -> Vec<Verdict> {
    rows.chunk_by(|a, b| a.setting.machine == b.setting.machine).filter_map(Verdict::of).collect()
}

fn page_row(row: &Row) -> page::Row {
    let estimate = |change: &Change| {
        let [low, high] = change.ci95.unwrap_or([f64::NAN; 2]);
        page::Estimate { mean: change.value, low, high }
    };
    page::Row {
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
        wakeup_mean_us: row.wakeup_mean_us(),
    }
}

/// The frequency residency of all runs of a row.
fn distribution(row: &Row) -> page::Distribution {
    let mut distribution = page::Distribution { setting: row.setting.page(), residency: Vec::new() };
    for run in row.runs {
        distribution.add(&run.summary);
    }
    distribution
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Conclusion;

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
    fn modelled_times_are_those_of_the_baselines() {
        let p = prediction(vec![
            run("m", "a", 1, 10.0, 1.0),
            run("m", "b", 1, 8.0, 1.0),
            run("n", "a", 1, 0.5, 1.0),
        ]);
        assert_eq!(p.modelled(), "10.0 s on m (a, schedutil), 0.500 s on n (a, schedutil)");
        let many =
            ["m", "n", "o", "p"].iter().zip(1..).map(|(machine, n)| run(machine, "a", 1, f64::from(n), 1.0));
        assert_eq!(
            prediction(many.collect()).modelled(),
            "1.00 s on m (a, schedutil) to 4.00 s on p (a, schedutil)"
        );
    }

    fn under(governor: &str, policy: &str, time_s: f64) -> Vec<Run> {
        let setting = Setting { governor: governor.into(), ..run("m", policy, 1, 1.0, 1.0).setting };
        let run = |seed: u64| {
            let time_s = time_s + seed as f64 / 1000.0;
            Run::new(setting.clone(), seed, Outcome { time_s, energy_j: 1.0, ..Outcome::default() })
        };
        vec![run(1), run(2)]
    }

    #[test]
    fn a_governor_that_gains_nothing_more_is_not_part_of_the_best_setting() {
        let best = |time_s| {
            let runs = [
                under("schedutil", "a", 10.0),
                under("schedutil", "b", 8.0),
                under("performance", "a", 9.9),
                under("performance", "b", time_s),
            ];
            prediction(runs.into_iter().flatten().collect()).verdicts[0].best.setting.governor.clone()
        };
        assert_eq!(best(7.95), "schedutil");
        assert_eq!(best(7.5), "performance");
    }

    #[test]
    fn governors_are_compared_as_policies_are() {
        let runs = [
            under("schedutil", "a", 10.0),
            under("schedutil", "b", 9.5),
            under("performance", "a", 8.0),
            under("performance", "b", 7.8),
        ];
        let p = prediction(runs.into_iter().flatten().collect());
        assert_eq!(p.verdicts.len(), 1);
        let alone = p.verdicts[0].governor_alone.as_ref().unwrap();
        assert_eq!((&*alone.setting.policy, &*alone.setting.governor), ("a", "performance"));
        let [finding] = &p.findings()[..] else { panic!("one machine") };
        assert!(finding.sentence.starts_with("m: set the governor to performance: "), "{}", finding.sentence);
        let settings: Vec<&str> = finding.rows.iter().map(|row| &*row[0]).collect();
        assert_eq!(settings, ["a, schedutil", "a, performance", "b, performance"]);
        // Table and verdict have the same baseline.
        let row = &p.rows()[3];
        assert_eq!(row.against.unwrap().speedup.value, p.verdicts[0].best.speedup);
    }

    #[test]
    fn a_machine_without_a_governor_shows_none() {
        let p = prediction([under("", "a", 10.0), under("", "b", 8.0)].into_iter().flatten().collect());
        assert_eq!(p.findings()[0].rows[1][0], "b");
        assert!(p.verdicts[0].governor_alone.is_none());
    }

    #[test]
    fn recordings_that_disagree_tell_nothing() {
        let recording = |b: f64| {
            prediction(vec![
                run("m", "a", 1, 10.0, 1.0),
                run("m", "a", 2, 10.1, 1.0),
                run("m", "b", 1, b, 1.0),
                run("m", "b", 2, b + 0.1, 1.0),
            ])
        };
        assert_eq!(recording(8.0).verdicts[0].best.conclusion, Conclusion::Faster);
        let both = Prediction::of_recordings(vec![recording(8.0), recording(9.9)]).unwrap();
        assert_eq!(both.runs.iter().map(|run| run.recording).collect::<Vec<_>>(), [0, 0, 1, 1, 0, 0, 1, 1]);
        let verdict = &both.verdicts[0].best;
        assert_eq!(verdict.conclusion, Conclusion::CannotTell);
        let width = |ci: Option<[f64; 2]>| ci.map(|[low, high]| high - low).unwrap();
        assert!(width(verdict.recordings_ci95) > 10.0 * width(verdict.seeds_ci95), "{verdict:?}");
        let agree =
            Prediction::of_recordings(vec![recording(8.0), recording(8.01), recording(7.99)]).unwrap();
        assert_eq!(agree.verdicts[0].best.conclusion, Conclusion::Faster);
        assert!(Prediction::of_recordings(Vec::new()).is_none());
    }

    #[test]
    fn labels_have_the_syntax_of_specs() {
        let mut setting = run("m", "nest", 1, 1.0, 1.0).setting;
        setting.params = [("r_max", "0"), ("s_max", "16ms")].map(|(n, v)| (n.into(), v.into())).into();
        assert_eq!(setting.label(), "nest:r_max=0,s_max=16ms");
    }
}
