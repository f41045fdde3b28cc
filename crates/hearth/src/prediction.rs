//! The results of `predict` and `sim` as text.

use crate::provenance::quoted;
use crate::table::{Plain, number, percent};
use hearth_report::page::Finding;
use hearth_scx::requirements;
use hearth_study::statistics::Change;
use hearth_study::tune::BASELINE;
use hearth_study::{AgainstBase, Answer, Difference, Effect, Prediction, Row, Speedup, accuracy};

/// First the answer, then three rows for each machine. `all`: every row and where it comes from. `here` is the name of
/// this machine, if it is simulated.
pub fn text(prediction: &Prediction, here: Option<&str>, all: bool) -> String {
    let mut text = String::new();
    for Finding { machine, sentence, rows } in prediction.findings() {
        let sentence = match here {
            Some(here) if here == machine => sentence.replacen(here, "this machine", 1),
            _ => sentence,
        };
        text += &format!("{sentence}\n");
        if !rows.is_empty() {
            let mut table = Plain::new(1);
            table.head(&Finding::TITLES);
            rows.iter().for_each(|row| table.row(row));
            text += &format!("{}\n", table.render());
        }
    }
    if prediction.no_verdict.is_none() {
        text += &format!("{}\n", accuracy());
    }
    text += &prediction.against_base.as_ref().map_or_else(String::new, change_of_base);
    if let Some(Answer { next, .. }) = &prediction.answer {
        text += &format!("Next: {next}\n");
    }
    if all { text + &details(prediction, here) } else { text }
}

/// What a policy changes: `mine against its base, cfs, on xeon-5218: +3.1% (+2.9% to +3.3%)`, and the first decision.
fn change_of_base(against: &AgainstBase) -> String {
    let mut text = String::new();
    for Speedup { machine, governor, than, speedup, speedup_ci95 } in &against.speedups {
        let what = if than == BASELINE { "today's kernel" } else { "its base" };
        let place = [machine.as_str(), governor].into_iter().filter(|name| !name.is_empty());
        let range = speedup_ci95.map(|[low, high]| format!(" ({} to {})", percent(low), percent(high)));
        text += &format!(
            "{} against {what}, {than}, on {}: {}{}\n",
            against.policy,
            place.collect::<Vec<_>>().join(", "),
            percent(*speedup),
            range.unwrap_or_default()
        );
    }
    let nothing = || "does nothing more".to_owned();
    let machine = against.speedups.first().map_or("the machine", |speedup| &speedup.machine);
    match &against.first_difference {
        None => {
            text + &format!(
                "{} decides as {} does on {machine}: the first {} decisions are the same\n",
                against.policy, against.base, against.same_decisions
            )
        }
        Some(Difference { time_ns, first, second }) => {
            text + &format!(
                "First difference on {machine}, at {} ms: {} {}, {} {}\n",
                number(*time_ns as f64 / 1e6),
                against.base,
                first.clone().unwrap_or_else(nothing),
                against.policy,
                second.clone().unwrap_or_else(nothing)
            )
        }
    }
}

fn details(prediction: &Prediction, here: Option<&str>) -> String {
    let rows = prediction.rows();
    let mut text = format!("\n{}{}", numbers(&rows, here), runs(&rows));
    for note in &prediction.workload.notes {
        text += &format!("Note: {note}\n");
    }
    for recording in &prediction.provenance.recordings {
        text += &format!("Recorded: {}: {recording}\n", recording.path);
    }
    if !prediction.provenance.recordings.is_empty() && !rows.is_empty() {
        text += &format!("Modelled: {}\n", prediction.modelled());
    }
    text
}

fn numbers(rows: &[Row], here: Option<&str>) -> String {
    let mut table = Plain::new(1);
    table.head(&[
        "policy",
        "time\ns",
        "speed-up",
        "energy\nJ",
        "saving",
        "wake-up\nµs",
        "underload\nper s",
        "overload\ncore·ms",
        "\ncores",
        "busy\nGHz",
    ]);
    for group in rows.chunk_by(|a, b| place(a) == place(b)) {
        let (machine, governor) = place(&group[0]);
        let machine = named(machine, here);
        table.row(&[if governor.is_empty() { machine } else { format!("{machine}, {governor}") }]);
        for row in group {
            table.row(&line(row));
        }
    }
    table.render()
}

fn place<'a>(row: &Row<'a>) -> (&'a str, &'a str) {
    (&row.setting.machine, &row.setting.governor)
}

/// The machine's name for people.
fn named(machine: &str, here: Option<&str>) -> String {
    if here == Some(machine) { "this machine".into() } else { machine.to_owned() }
}

fn line(row: &Row) -> [String; 10] {
    let (speedup, saving) = match &row.against {
        Some(against) => (change(&against.speedup), change(&against.saving)),
        None => ("baseline".into(), String::new()),
    };
    [
        format!("  {}", row.setting.label()),
        number(row.time.mean),
        speedup,
        known(row.energy.mean),
        saving,
        number(row.wakeup_mean_us()),
        number(row.mean(|run| run.underload_per_s)),
        number(row.mean(|run| run.overload_core_ms)),
        format!("{:.1}", row.mean(|run| run.cores_used.into())),
        known(row.busy_ghz()),
    ]
}

/// A number, or `-` if it is unknown.
fn known(value: f64) -> String {
    if value.is_nan() { "-".into() } else { number(value) }
}

fn runs(rows: &[Row]) -> String {
    let runs = rows.iter().map(|row| row.runs.len()).max().unwrap_or(0);
    let recordings = rows.iter().flat_map(|row| row.runs).map(|run| run.recording + 1).max().unwrap_or(0);
    match (runs, recordings) {
        (0 | 1, _) => "\nOne run each: no confidence intervals (see --runs).\n".to_owned(),
        (n, 0 | 1) => {
            format!("\nMeans of {n} runs; ± is half of the 95% confidence interval over the seeds.\n")
        }
        (n, recordings) => format!(
            "\nMeans of {n} runs; ± is half of the 95% confidence interval over {recordings} recordings.\n"
        ),
    }
}

fn change(change: &Change) -> String {
    if change.value.is_nan() {
        return "-".into();
    }
    let value = percent(change.value);
    match change.ci95 {
        Some([low, high]) => format!("{value} ±{:.1}", (high - low) * 50.0),
        None => value,
    }
}

/// The verdicts in sentences, and the next command. `traces` are the recordings.
pub fn answer(prediction: &Prediction, here: Option<&str>, traces: &[String]) -> Answer {
    let command =
        prediction.provenance.recordings.first().map(|recording| &recording.command[..]).unwrap_or_default();
    let sentences: Vec<String> = prediction.findings().into_iter().map(|finding| finding.sentence).collect();
    Answer {
        sentence: sentences.join(" "),
        next: next(prediction, here, (command, traces), requirements::running_kernel_fits()),
    }
}

/// Recordings that show how much they differ.
const RECORDINGS: usize = 4;

/// `runs_policies`: this kernel can run policies.
fn next(
    prediction: &Prediction,
    here: Option<&str>,
    (command, traces): (&[String], &[String]),
    runs_policies: bool,
) -> String {
    let actions: Vec<&Effect> = prediction.verdicts.iter().filter_map(|verdict| verdict.action()).collect();
    let on_this = actions.iter().find(|action| here == Some(&action.setting.machine));
    let with_command = |start: &str| {
        let words = start.split(' ').map(str::to_owned).chain(["--".to_owned()]);
        quoted(words.chain(command.iter().cloned()))
    };
    let is_governor = |action: &Effect| {
        let baseline = prediction.runs.first().map(|run| &run.setting);
        baseline.is_some_and(|baseline| {
            baseline.policy == action.setting.policy && baseline.params == action.setting.params
        })
    };
    match on_this {
        _ if command.is_empty() => report(traces),
        _ if !actions.is_empty() && traces.len() < 2 => {
            with_command(&format!("sudo hearth predict --repeat {RECORDINGS}"))
        }
        Some(action) if is_governor(action) => {
            format!("sudo cpupower frequency-set -g {}", action.setting.governor)
        }
        Some(action) if runs_policies => with_command(&format!("sudo hearth try {}", action.setting.label())),
        // It runs there, though its time says nothing of this machine.
        Some(action) => with_command(&format!("hearth vm -- hearth exec {}", action.setting.label())),
        None => report(traces),
    }
}

fn report(traces: &[String]) -> String {
    quoted(["hearth", "report"].map(str::to_owned).into_iter().chain(traces.first().cloned()))
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

    fn prediction(runs: Vec<Run>) -> Prediction {
        Prediction::new(WorkloadFacts::of(&Workload::default(), Vec::new()), runs, Vec::new())
    }

    fn two_policies(b: f64) -> Prediction {
        prediction(vec![
            run("a", 1, 10.0, 100.0),
            run("a", 2, 10.1, 100.0),
            run("b", 1, b, 50.0),
            run("b", 2, b + 0.1, 50.0),
        ])
    }

    #[test]
    fn the_table_names_machine_and_governor_once() {
        let runs = vec![
            run("a", 1, 10.0, 100.0),
            run("a", 2, 10.0, 100.0),
            run("b", 1, 8.0, 50.0),
            run("b", 2, 8.0, 50.0),
        ];
        let table = numbers(&prediction(runs).rows(), None);
        assert_eq!(table.matches("small, schedutil").count(), 1, "{table}");
        assert!(table.contains("+25.0% ±0.0") && table.contains("+50.0% ±0.0"), "{table}");
        assert!(table.contains("wake-up") && !table.contains("99"), "{table}");
        let short = text(&two_policies(8.0), Some("small"), false);
        assert!(short.starts_with("this machine: ") && !short.contains("underload"), "{short}");
        assert_eq!(short.matches("Accuracy: ").count(), 1, "{short}");
        let here = text(&two_policies(8.0), Some("small"), true);
        assert!(here.contains("this machine, schedutil\n"), "{here}");
        assert!(here.contains("Means of 2 runs"), "{here}");
        let borrowed = prediction(vec![run("a", 1, 10.0, f64::NAN), run("b", 1, 8.0, f64::NAN)]);
        let borrowed = text(&borrowed, None, true);
        assert!(!borrowed.contains("NaN"), "{borrowed}");
    }

    #[test]
    fn the_next_command_follows_from_the_verdict() {
        let command = ["sh".to_owned(), "-c".into(), "a b".into()];
        let next = |b: f64, here, traces: usize| {
            let traces: Vec<String> = (0..traces).map(|n| format!("{n}.trace")).collect();
            next(&two_policies(b), here, (&command, &traces), traces.len() < 5)
        };
        assert_eq!(next(8.0, Some("small"), 1), "sudo hearth predict --repeat 4 -- sh -c 'a b'");
        assert_eq!(next(8.0, Some("small"), 4), "sudo hearth try b -- sh -c 'a b'");
        assert_eq!(next(8.0, Some("small"), 5), "hearth vm -- hearth exec b -- sh -c 'a b'");
        assert_eq!(next(8.0, None, 4), "hearth report 0.trace");
        assert_eq!(next(10.0, Some("small"), 1), "hearth report 0.trace");
    }
}
