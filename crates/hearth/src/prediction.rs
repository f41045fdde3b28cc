//! The results of `predict` and `sim` as text.

use crate::provenance::quoted;
use crate::table::{Plain, number, percent};
use hearth_scx::requirements;
use hearth_study::statistics::Change;
use hearth_study::{Answer, Conclusion, NOTICEABLE, Prediction, Row, Verdict};
use std::path::Path;

/// `here` is the name of this machine, if it is simulated.
pub fn text(prediction: &Prediction, here: Option<&str>) -> String {
    let rows = prediction.rows();
    let mut text = numbers(&rows, here);
    text += &runs(&rows);
    let recorded = !prediction.provenance.recordings.is_empty();
    text += &intervals(&prediction.verdicts, here, recorded);
    for note in &prediction.workload.notes {
        text += &format!("Note: {note}\n");
    }
    for recording in &prediction.provenance.recordings {
        text += &format!("Recorded: {}: {recording}\n", recording.path);
    }
    if recorded {
        text += &format!("Modelled: {}\n", prediction.modelled());
    }
    if let Some(Answer { sentence, next }) = &prediction.answer {
        text += &format!("\n{sentence}\nNext: {next}\n");
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
        "wake-up µs\nmedian",
        "\n99%",
        "\n99.9%",
        "underload\nper s",
        "overload\ncore·ms",
        "\ncores",
        "busy\nGHz",
    ]);
    for group in rows.chunk_by(|a, b| place(a) == place(b)) {
        let (machine, governor) = place(&group[0]);
        table.row(&[format!("{}, {governor}", named(machine, here))]);
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

fn line(row: &Row) -> [String; 12] {
    let (speedup, saving) = match &row.against {
        Some(against) => (change(&against.speedup), change(&against.saving)),
        None => ("baseline".into(), String::new()),
    };
    let [p50, p99, p99_9] = row.wakeup_us().map(number);
    [
        format!("  {}", row.setting.label()),
        number(row.time.mean),
        speedup,
        known(row.energy.mean),
        saving,
        p50,
        p99,
        p99_9,
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

/// The sources of uncertainty of each best policy, apart.
fn intervals(verdicts: &[Verdict], here: Option<&str>, recorded: bool) -> String {
    let no_interval = if recorded { "one recording" } else { "-" };
    if verdicts.iter().all(|verdict| verdict.ci95().is_none()) {
        return String::new();
    }
    let mut table = Plain::new(2);
    table.head(&[
        "best policy",
        "against",
        "speed-up",
        "over seeds",
        "over recordings",
        "over the model's assumptions",
    ]);
    for verdict in verdicts {
        let best = &verdict.best;
        let model = match &verdict.model {
            Some(model) if model.by.is_empty() => "no effect".into(),
            Some(model) => format!("{} ({})", range([model.low, model.high]), model.by),
            None => "-".into(),
        };
        table.row(&[
            format!("{}, {}: {}", named(&best.machine, here), best.governor, best.label()),
            verdict.baseline.clone(),
            percent(verdict.speedup),
            verdict.seeds_ci95.map_or("-".into(), range),
            verdict.recordings_ci95.map_or(no_interval.into(), range),
            model,
        ]);
    }
    format!("\n{}\n", table.render())
}

/// `+1.2 to +3.4%`
fn range([low, high]: [f64; 2]) -> String {
    format!("{:+.1} to {:+.1}%", low * 100.0, high * 100.0)
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

/// The verdict in a sentence, and the next command. `traces` are the recordings.
pub fn answer(prediction: &Prediction, here: Option<&str>, traces: &[String]) -> Answer {
    let command =
        prediction.provenance.recordings.first().map(|recording| &recording.command[..]).unwrap_or_default();
    let program = command.first().and_then(|program| Path::new(program).file_name());
    let program =
        program.map_or_else(|| prediction.workload.name.clone(), |name| name.to_string_lossy().into());
    Answer {
        sentence: sentence(&prediction.verdicts, here, &program),
        next: next(&prediction.verdicts, here, (command, traces), requirements::running_kernel_fits()),
    }
}

fn sentence(verdicts: &[Verdict], here: Option<&str>, program: &str) -> String {
    let governors = verdicts.iter().any(|verdict| verdict.best.governor != verdicts[0].best.governor);
    let at = |verdict: &Verdict| {
        let machine = named(&verdict.best.machine, here);
        if governors { format!("{machine} under {}", verdict.best.governor) } else { machine }
    };
    let of = |wanted: Conclusion| verdicts.iter().filter(move |verdict| verdict.conclusion == wanted);
    let mut parts: Vec<String> = Vec::new();
    let mut faster: Vec<(String, Vec<&Verdict>)> = Vec::new();
    for verdict in of(Conclusion::Faster) {
        let policy = verdict.best.label();
        match faster.iter_mut().find(|(known, _)| *known == policy) {
            Some((_, verdicts)) => verdicts.push(verdict),
            None => faster.push((policy, vec![verdict])),
        }
    }
    for (policy, found) in &mut faster {
        let places = if governors { "machines and governors" } else { "machines" };
        let what = by_how_much(found, &at, &format!("of the {} {places}", verdicts.len()));
        parts.push(format!("{policy} would make {program} {what}"));
    }
    for verdict in of(Conclusion::DependsOnModel) {
        let by = verdict.model.as_ref().map_or("", |model| &model.by);
        parts.push(format!(
            "on {} the sign of {}'s effect ({}) depends on what is assumed of the machine ({by}), so this cannot tell",
            at(verdict),
            verdict.best.label(),
            percent(verdict.speedup)
        ));
    }
    let places = |wanted| of(wanted).map(at).collect::<Vec<_>>().join(" and ");
    let baseline = verdicts.first().map_or("", |verdict| &verdict.baseline);
    if of(Conclusion::Slower).next().is_some() {
        parts.push(format!("on {} no policy is faster than {baseline}", places(Conclusion::Slower)));
    }
    if of(Conclusion::NoDifference).next().is_some() {
        let places = places(Conclusion::NoDifference);
        parts.push(format!("on {places} no policy is {:.0}% faster than {baseline}", NOTICEABLE * 100.0));
    }
    if of(Conclusion::CannotTell).next().is_some() {
        let noise = if verdicts.iter().any(|verdict| verdict.ci95().is_none()) {
            "one run cannot tell whether a policy differs from"
        } else {
            "no policy differs by more than the noise from"
        };
        parts.push(format!("on {} {noise} {baseline}", places(Conclusion::CannotTell)));
    }
    if parts.is_empty() {
        return "Verdict: one policy was simulated, so there is nothing to compare.".into();
    }
    format!("Verdict: {}.", parts.join("; "))
}

/// Most verdicts on one policy that a sentence names one by one.
const NAMED: usize = 2;

/// `24.8% faster on x`; of many verdicts, the extremes.
fn by_how_much(verdicts: &mut [&Verdict], at: &impl Fn(&Verdict) -> String, all: &str) -> String {
    let percent = |verdict: &Verdict| format!("{:.1}%", verdict.speedup * 100.0);
    if verdicts.len() <= NAMED {
        let each =
            verdicts.iter().map(|one| format!("{} faster on {}{}", percent(one), at(one), between(one)));
        return each.collect::<Vec<_>>().join(" and ");
    }
    verdicts.sort_by(|a, b| a.speedup.total_cmp(&b.speedup));
    let (least, most) = (verdicts[0], verdicts[verdicts.len() - 1]);
    format!(
        "faster on {} {all}, by {} ({}) to {} ({})",
        verdicts.len(),
        percent(least),
        at(least),
        percent(most),
        at(most)
    )
}

fn between(verdict: &Verdict) -> String {
    let over = match verdict.recordings_ci95 {
        Some(_) => "the recordings",
        None => "the seeds of one recording",
    };
    verdict.ci95().map_or_else(String::new, |[low, high]| {
        format!(" ({:.1} to {:.1}% over {over})", low * 100.0, high * 100.0)
    })
}

/// Recordings that show how much they differ.
const RECORDINGS: usize = 4;

/// `runs_policies`: this kernel can run policies.
fn next(
    verdicts: &[Verdict],
    here: Option<&str>,
    (command, traces): (&[String], &[String]),
    runs_policies: bool,
) -> String {
    let faster = |verdict: &&Verdict| verdict.conclusion == Conclusion::Faster;
    let on_this = verdicts.iter().filter(faster).find(|verdict| here == Some(&verdict.best.machine));
    let with_command = |start: &str| {
        let words = start.split(' ').map(str::to_owned).chain(["--".to_owned()]);
        quoted(words.chain(command.iter().cloned()))
    };
    match on_this.map(|verdict| verdict.best.label()) {
        _ if command.is_empty() => report(traces),
        _ if verdicts.iter().any(|verdict| faster(&verdict)) && traces.len() < 2 => {
            with_command(&format!("sudo hearth predict --repeat {RECORDINGS}"))
        }
        Some(policy) if runs_policies => with_command(&format!("sudo hearth try {policy}")),
        // It runs there, though its time says nothing of this machine.
        Some(policy) => with_command(&format!("hearth vm -- hearth exec {policy}")),
        None => report(traces),
    }
}

fn report(traces: &[String]) -> String {
    quoted(["hearth", "report"].map(str::to_owned).into_iter().chain(traces.first().cloned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_study::{Run, Sensitivity, Setting, WorkloadFacts};
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
        assert!(table.contains("99.9%"), "{table}");
        let here = text(&two_policies(8.0), Some("small"));
        assert!(here.contains("this machine, schedutil\n"), "{here}");
        assert!(here.contains("Means of 2 runs"), "{here}");
        let verdicts = two_policies(8.0).verdicts;
        assert!(intervals(&verdicts, None, true).contains("one recording"));
        assert!(!intervals(&verdicts, None, false).contains("one recording"));
    }

    #[test]
    fn the_verdict_is_a_sentence() {
        let say = |prediction: &Prediction, here| sentence(&prediction.verdicts, here, "make");
        let faster = say(&two_policies(8.0), Some("small"));
        assert!(faster.starts_with("Verdict: b would make make 24.8% faster on this machine ("), "{faster}");
        assert!(faster.ends_with("% over the seeds of one recording)."), "{faster}");
        let unclear = say(&two_policies(10.0), Some("small"));
        assert_eq!(unclear, "Verdict: on this machine no policy differs by more than the noise from a.");
        let mut many = two_policies(8.0);
        for speedup in [0.1, 0.4] {
            let other = Verdict { speedup, ..many.verdicts[0].clone() };
            many.verdicts.push(other);
        }
        assert_eq!(
            say(&many, None),
            "Verdict: b would make make faster on 3 of the 3 machines, by 10.0% (small) to 40.0% (small)."
        );
        let slower = say(&two_policies(20.0), None);
        assert_eq!(slower, "Verdict: on small no policy is faster than a.");
        let once = prediction(vec![run("a", 1, 10.0, 1.0), run("b", 1, 8.0, 1.0)]);
        assert_eq!(
            say(&once, None),
            "Verdict: on small one run cannot tell whether a policy differs from a."
        );
        let alone = say(&prediction(vec![run("a", 1, 10.0, 1.0)]), None);
        assert!(alone.contains("nothing to compare"), "{alone}");
        let mut turning = two_policies(8.0);
        let model = Sensitivity { low: -0.1, high: 0.3, by: "x doubled".into() };
        turning.verdicts[0] = turning.verdicts[0].clone().with(model);
        let turning = say(&turning, None);
        assert!(
            turning.contains("depends on what is assumed of the machine (x doubled), so this cannot tell"),
            "{turning}"
        );
    }

    #[test]
    fn the_next_command_follows_from_the_verdict() {
        let command = ["sh".to_owned(), "-c".into(), "a b".into()];
        let next = |b: f64, here, traces: usize| {
            let traces: Vec<String> = (0..traces).map(|n| format!("{n}.trace")).collect();
            next(&two_policies(b).verdicts, here, (&command, &traces), traces.len() < 5)
        };
        assert_eq!(next(8.0, Some("small"), 1), "sudo hearth predict --repeat 4 -- sh -c 'a b'");
        assert_eq!(next(8.0, Some("small"), 4), "sudo hearth try b -- sh -c 'a b'");
        assert_eq!(next(8.0, Some("small"), 5), "hearth vm -- hearth exec b -- sh -c 'a b'");
        assert_eq!(next(8.0, None, 4), "hearth report 0.trace");
        assert_eq!(next(10.0, Some("small"), 1), "hearth report 0.trace");
    }
}
