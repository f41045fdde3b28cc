//! Predictions of several commands and machines in one table.

use crate::csv::line;
use crate::statistics::number;
use crate::verdict::percent;
use crate::{Conclusion, Prediction};
use serde::Serialize;

/// Serializes with schema hearth.fleet/1, which docs/src/json.md describes.
#[derive(Serialize)]
pub struct Fleet {
    schema: &'static str,
    /// Runs of each command in a month.
    pub per_month: f64,
    pub rows: Vec<FleetRow>,
}

/// The cheapest action for a command on a machine.
#[derive(Serialize)]
pub struct FleetRow {
    pub command: String,
    pub machine: String,
    /// `faster`, … as in a verdict, or `failed`, `too_short`, `too_noisy`.
    pub answer: String,
    /// What to use. Empty: the baseline.
    pub policy: String,
    pub governor: String,
    pub speedup: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub mostly: String,
    /// Of the model, saved in a month; `None`: unknown.
    pub hours: Option<f64>,
    pub kwh: Option<f64>,
}

impl Fleet {
    pub fn new(per_month: f64, predictions: &[Prediction]) -> Fleet {
        let rows = predictions.iter().flat_map(|prediction| rows(prediction, per_month)).collect();
        Fleet { schema: "hearth.fleet/1", per_month, rows }
    }

    pub const TITLES: [&str; 8] =
        ["command", "machine", "answer", "policy", "governor", "speed-up", "hours", "kWh"];

    /// The cells of each row for people. A dash is unknown.
    pub fn cells(&self) -> Vec<[String; 8]> {
        let or_dash = |value: Option<f64>, text: fn(f64) -> String| value.map_or("-".into(), text);
        let cells = |row: &FleetRow| {
            let range = match (row.low, row.high) {
                (Some(low), Some(high)) => format!(" ({:+.1} to {:+.1})", low * 100.0, high * 100.0),
                _ => String::new(),
            };
            [
                row.command.clone(),
                row.machine.clone(),
                row.answer.clone(),
                row.policy.clone(),
                row.governor.clone(),
                or_dash(row.speedup, percent) + &range,
                or_dash(row.hours, number),
                or_dash(row.kwh, number),
            ]
        };
        self.rows.iter().map(cells).collect()
    }

    /// The rows as CSV, with the names of the JSON. An empty cell is unknown.
    pub fn csv(&self) -> String {
        let titles = "command machine answer policy governor speedup low high mostly hours kwh";
        let mut csv = line(titles.split(' '));
        let text = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        for row in &self.rows {
            let texts =
                [&row.command, &row.machine, &row.answer, &row.policy, &row.governor].map(Clone::clone);
            let [speedup, low, high, hours, kwh] =
                [row.speedup, row.low, row.high, row.hours, row.kwh].map(text);
            let cells = texts.into_iter().chain([speedup, low, high, row.mostly.clone(), hours, kwh]);
            csv += &line(cells.collect::<Vec<_>>().iter().map(String::as_str));
        }
        csv
    }
}

fn rows(prediction: &Prediction, per_month: f64) -> Vec<FleetRow> {
    let empty = |machine: &str, answer: String| FleetRow {
        command: prediction.program(),
        machine: machine.into(),
        answer,
        policy: String::new(),
        governor: String::new(),
        speedup: None,
        low: None,
        high: None,
        mostly: String::new(),
        hours: None,
        kwh: None,
    };
    if let Some(none) = &prediction.no_verdict {
        return vec![empty("", name(none.reason))];
    }
    let table = prediction.rows();
    let row = |verdict: &crate::Verdict| {
        let effect = verdict.action().unwrap_or(&verdict.best);
        let mut row = empty(&effect.setting.machine, name(effect.conclusion));
        row.speedup = Some(effect.speedup);
        (row.low, row.high) = (effect.range.map(|range| range[0]), effect.range.map(|range| range[1]));
        row.mostly.clone_from(&effect.mostly);
        if effect.conclusion == Conclusion::Faster {
            row.policy = effect.setting.label();
            row.governor.clone_from(&effect.setting.governor);
        }
        let used = table.iter().find(|row| *row.setting == effect.setting);
        let base = table.iter().find(|row| row.setting.machine == effect.setting.machine);
        if let (Some(used), Some(base)) = (used, base) {
            let saved = |of: f64| match effect.conclusion {
                Conclusion::Faster => Some(of * per_month).filter(|saved| saved.is_finite()),
                // The baseline stays.
                Conclusion::Slower | Conclusion::NoDifference => Some(0.0),
                Conclusion::CannotTell | Conclusion::DependsOnModel => None,
            };
            row.hours = saved((base.time.mean - used.time.mean) / 3600.0);
            row.kwh =
                saved((base.energy.mean - used.energy.mean) / 3.6e6).filter(|_| base.energy.mean.is_finite());
        }
        row
    };
    prediction.verdicts.iter().map(row).collect()
}

/// The name that the JSON has.
fn name(value: impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NoVerdict, Run, Setting, WorkloadFacts};
    use hearth_sim::Outcome;

    fn prediction(energy_j: f64) -> Prediction {
        let run = |policy: &str, seed: u64, time_s: f64, energy_j: f64| {
            let setting = Setting {
                machine: "m".into(),
                governor: "schedutil".into(),
                policy: policy.into(),
                params: Default::default(),
            };
            let time_s = time_s + seed as f64 / 1e4;
            Run::new(setting, seed, Outcome { time_s, energy_j, ..Outcome::default() })
        };
        let runs = vec![
            run("a", 1, 10.0, 2.0 * energy_j),
            run("a", 2, 10.0, 2.0 * energy_j),
            run("b", 1, 8.0, energy_j),
            run("b", 2, 8.0, energy_j),
        ];
        let facts = WorkloadFacts::of(&hearth_workload::Workload::default(), Vec::new());
        Prediction::new(facts, runs, Vec::new())
    }

    #[test]
    fn a_month_has_hours_and_kilowatt_hours() {
        // 2 s and 100 J a run.
        let fleet = Fleet::new(3600.0, &[prediction(100.0), prediction(f64::NAN)]);
        let close = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-9;
        assert!(close(fleet.rows[0].hours, 2.0) && close(fleet.rows[0].kwh, 0.1));
        assert_eq!(fleet.rows[1].kwh, None, "borrowed power gives no energy");
        assert_eq!(fleet.csv().lines().count(), 3);
        assert!(fleet.csv().lines().nth(2).unwrap().ends_with(','), "{}", fleet.csv());
        let mut failed = prediction(1.0);
        failed.no_verdict = NoVerdict::of(Some(1), &[], &[1]);
        let fleet = Fleet::new(1.0, &[failed]);
        assert_eq!((&*fleet.rows[0].answer, fleet.rows[0].hours), ("failed", None));
    }
}
