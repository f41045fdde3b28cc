//! The results of `predict` and `sim` as text.

use crate::table::{Plain, number, percent};
use hearth_study::Prediction;
use hearth_study::statistics::Change;

pub fn text(prediction: &Prediction) -> String {
    let rows = prediction.rows();
    let mut table = Plain::new(3);
    let mut columns = vec!["machine", "governor", "policy", "time s", "speed-up", "energy J", "saving"];
    columns.extend(["underload/s", "overload core·ms", "cores", "busy GHz"]);
    table.head(&columns);
    let (mut machine, mut governor) = ("", "");
    for row in &rows {
        if row.setting.machine != machine {
            if !machine.is_empty() {
                table.row(&[" "]);
            }
            (machine, governor) = (&row.setting.machine, "");
        }
        let new = (governor != row.setting.governor).then_some(&row.setting.governor);
        governor = &row.setting.governor;
        let (machine, speedup, saving) = match &row.against {
            Some(against) => ("", change(&against.speedup), change(&against.saving)),
            None => (machine, "baseline".into(), String::new()),
        };
        table.row(&[
            machine.to_owned(),
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
        0 | 1 => "\nOne run each: no confidence intervals (see --runs).\n".to_owned(),
        n => format!("\nMeans of {n} runs; ± is half of the 95% confidence interval.\n"),
    };
    for note in &prediction.workload.notes {
        text += &format!("Note: {note}\n");
    }
    text
}

fn change(change: &Change) -> String {
    let value = percent(change.value);
    match change.ci95 {
        Some([low, high]) => format!("{value} ±{:.1}", (high - low) * 50.0),
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_study::{Run, Setting, WorkloadFacts};
    use hearth_workload::Workload;

    fn run(policy: &str, seed: u64, time_s: f64, energy_j: f64) -> Run {
        let setting = Setting {
            machine: "small".into(),
            governor: "schedutil".into(),
            policy: policy.into(),
            params: Default::default(),
        };
        Run::new(setting, seed, hearth_sim::Outcome { time_s, energy_j, ..Default::default() })
    }

    #[test]
    fn the_table_names_machine_and_governor_once() {
        let runs = vec![
            run("a", 1, 10.0, 100.0),
            run("a", 2, 10.0, 100.0),
            run("b", 1, 8.0, 50.0),
            run("b", 2, 8.0, 50.0),
        ];
        let facts = WorkloadFacts::of(&Workload::default(), Vec::new());
        let text = text(&Prediction::new(facts, runs, Vec::new()));
        assert_eq!(text.matches("small").count(), 1, "{text}");
        assert_eq!(text.matches("schedutil").count(), 1, "{text}");
        assert!(text.contains("+25.0% ±0.0") && text.contains("+50.0% ±0.0"), "{text}");
        assert!(text.contains("Means of 2 runs"), "{text}");
    }
}
