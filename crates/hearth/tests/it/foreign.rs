//! Recordings of other tools: what they lack is unknown, and messages say how to read them.

use crate::{failed, folder, hearth, json, printed, text};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// A thread that sleeps ten times for 99 ms while another runs, as ftrace prints it; with the wake-ups or without.
fn sleeps(wakings: bool) -> String {
    let mut lines = String::from("# tracer: nop\n#\n");
    let thread =
        |name: &str, pid: i32, role: &str| format!("{role}_comm={name} {role}_pid={pid} {role}_prio=120");
    let (hog, sleeper) = (|role| thread("hog", 200, role), |role| thread("sleeper", 100, role));
    for round in 0..10 {
        let ms = 1000 + 100 * round;
        if wakings {
            let (s, us) = ((ms - 1) / 1000, (ms - 1) % 1000 * 1000 + 990);
            let _ = writeln!(
                lines,
                "  hog-200 [000] d.h1. {s}.{us:06}: sched_waking: comm=sleeper pid=100 prio=120 target_cpu=000"
            );
        }
        for (ms, from, state, to) in
            [(ms, hog("prev"), "R", sleeper("next")), (ms + 1, sleeper("prev"), "S", hog("next"))]
        {
            let (s, us) = (ms / 1000, ms % 1000 * 1000);
            let task = if state == "R" { "hog-200" } else { "sleeper-100" };
            let _ = writeln!(
                lines,
                "  {task} [000] d..2. {s}.{us:06}: sched_switch: {from} prev_state={state} ==> {to}"
            );
        }
    }
    lines
}

/// What perf without `-a` prints: `sh` is switched out, and never in.
fn of_one_command() -> String {
    let mut lines = String::new();
    for round in 0..10 {
        let _ = writeln!(
            lines,
            "  sh 100 [000] {round}.002000000: sched:sched_waking: comm=ls pid=101 prio=120 target_cpu=000"
        );
        let _ = writeln!(
            lines,
            "  sh 100 [000] {round}.003000000: sched:sched_switch: prev_comm=sh prev_pid=100 prev_prio=120 prev_state=S ==> \
             next_comm=outside next_pid=7 next_prio=120"
        );
    }
    lines
}

/// Imports text as `t.trace`.
fn imported(folder: &Path, lines: &str) {
    fs::write(folder.join("t.txt"), lines).expect("a file");
    let output = hearth(folder, &["import", "t.txt", "-o", "t.trace"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn row<'a>(report: &'a Value, name: &str) -> &'a Value {
    let rows = report["traces"][0]["by_thread"].as_array().expect("threads");
    rows.iter().find(|row| row["name"] == name).expect(name)
}

#[test]
fn what_follows_from_wakeups_is_unknown_without_them() {
    let folder = folder();
    let folder = folder.path();
    imported(folder, &sleeps(false));
    let report = json(folder, &["report", "t.trace", "--by", "thread", "--wakers", "--json"]);
    let sleeper = row(&report, "sleeper");
    assert_eq!((&sleeper["preemptions"], &sleeper["runs"]), (&0.into(), &10.into()));
    for field in ["wakeups", "wakeup_latency_us", "waiting_ms", "overload_ms"] {
        assert_eq!(sleeper[field], Value::Null, "{field}");
    }
    let summary = &report["traces"][0]["summary"];
    for field in ["wakeups", "wakeup_latency_us", "underload_per_s", "overload_core_ms"] {
        assert_eq!(summary.get(field), Some(&Value::Null), "{field}");
    }
    assert_eq!(report["traces"][0]["wakers"], Value::Null);
    assert_eq!(report["traces"][0]["source"]["Recorded"]["unrecorded"]["wakeups"], true);
    assert!(summary["busy_core_s"].as_f64().is_some_and(|time| time > 0.8));

    let output = hearth(folder, &["report", "t.trace", "--by", "thread"]);
    let (report, notes) = (text(&output.stdout), text(&output.stderr));
    assert!(notes.contains("note: t.trace: the recording has no wake-ups"), "{notes}");
    let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let sleeper = report.lines().map(cells).find(|cells| cells.get(1).is_some_and(|name| name == "sleeper"));
    let sleeper = sleeper.expect("a row");
    assert_eq!(sleeper[2..4], ["100", "-"], "its number is known, its process is not: {report}");
    assert_eq!(sleeper[6..], ["10", "-", "-", "-", "-", "-", "0", "0"], "{report}");
    let csv = printed(folder, &["report", "t.trace", "--csv"]);
    assert!(
        csv.lines().next().is_some_and(|head| head.contains("wakeups") && !head.contains("p50")),
        "{csv}"
    );
}

/// With the wake-ups, the same numbers are known.
#[test]
fn recorded_wakeups_are_known() {
    let folder = folder();
    let folder = folder.path();
    imported(folder, &sleeps(true));
    let report = json(folder, &["report", "t.trace", "--by", "thread", "--json"]);
    let sleeper = row(&report, "sleeper");
    assert_eq!((&sleeper["wakeups"], &sleeper["preemptions"]), (&10.into(), &0.into()));
    assert!((sleeper["waiting_ms"].as_f64().expect("a number") - 0.1).abs() < 1e-9, "{sleeper}");
    assert!(text(&hearth(folder, &["extract", "t.trace", "-o", "t.json"]).stderr).is_empty());
}

/// Beside a simulation, whose percentiles are unknown.
#[test]
fn recordings_have_percentiles_of_latencies() {
    let folder = folder();
    let folder = folder.path();
    imported(folder, &sleeps(true));
    printed(
        folder,
        &["sim", "-w", "fork-wait:iterations=5", "-m", "ryzen-3400g", "-p", "cfs", "-o", "s.trace"],
    );
    let report = json(folder, &["report", "t.trace", "s.trace", "--json"]);
    let latency = |at: usize| &report["traces"][at]["summary"]["wakeup_latency_us"];
    assert!(latency(0)["p99"].is_number() && latency(0)["mean"].is_number(), "{}", latency(0));
    assert!(latency(1)["p99"].is_null() && latency(1)["mean"].is_number(), "{}", latency(1));
    let row = |args: &[&str], title: &str| {
        let text = printed(folder, &[&["report"], args].concat());
        let row = text.lines().find_map(|line| line.trim_start().strip_prefix(title).map(str::to_owned));
        row.unwrap_or_else(|| panic!("no {title} in:\n{text}"))
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_ne!(row(&["t.trace"], "wake-up latency, 99% (µs)")[0], "-");
    assert_eq!(row(&["t.trace", "s.trace"], "wake-up latency, 99% (µs)")[1..], ["-", "-"]);
    let titles = row(&["t.trace", "s.trace", "--by", "program"], "process ");
    assert!(titles.join(" ").contains("mean (µs) median (µs) 99% (µs)"), "{titles:?}");
    let titles = row(&["t.trace", "--by", "program"], "process ").join(" ");
    assert!(titles.contains("median (µs) 99% (µs)") && !titles.contains("mean"), "{titles}");
}

#[test]
fn no_workload_is_invented() {
    for (lines, why, what_to_do) in [
        (sleeps(false), "it has no wake-ups", "record sched_waking, too"),
        (of_one_command(), "it has the events of some threads only", "record all threads"),
    ] {
        let folder = folder();
        let folder = folder.path();
        imported(folder, &lines);
        let verbs: [&[&str]; 3] = [
            &["extract", "t.trace", "-o", "t.json"],
            &["predict", "t.trace", "-m", "xeon-5218"],
            &["report", "t.trace", "--plot", "t.svg"],
        ];
        for verb in verbs {
            let output = hearth(folder, verb);
            let errors = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{verb:?}: {errors}");
            assert!(errors.contains("error: t.trace: ") && errors.contains(what_to_do), "{verb:?}: {errors}");
            assert!(errors.contains(why) || verb[0] == "report", "{verb:?}: {errors}");
            assert_eq!(text(&output.stdout), "");
        }
        assert!(!folder.join("t.json").exists() && !folder.join("t.svg").exists());
    }
}

#[test]
fn threads_that_were_not_recorded_get_no_time() {
    let folder = folder();
    let folder = folder.path();
    imported(folder, &of_one_command());
    let report = json(folder, &["report", "t.trace", "--by", "thread", "--json"]);
    let rows = report["traces"][0]["by_thread"].as_array().expect("threads");
    let others = rows.iter().filter(|row| row["name"] != "sh");
    assert_eq!(others.map(|row| row["cpu_s"].as_f64().expect("a number")).sum::<f64>(), 0.0);
    let sh = row(&report, "sh");
    assert!((sh["cpu_s"].as_f64().expect("a number") - 0.01).abs() < 1e-9, "{sh}");
    assert_eq!((&sh["waiting_ms"], &sh["preemptions"]), (&Value::Null, &0.into()));
    let notes = text(&hearth(folder, &["report", "t.trace"]).stderr);
    assert!(notes.contains("not system-wide"), "{notes}");
}

/// A file that `hearth import` reads is named with the command, which works as it stands there.
#[test]
fn the_command_that_imports_a_file_is_named() {
    let folder = folder();
    let folder = folder.path();
    let name = "it's my file.txt";
    fs::write(folder.join(name), sleeps(true)).expect("a file");
    let verbs: [&[&str]; 6] = [
        &["report", name],
        &["view", "--no-open", name],
        &["predict", name],
        &["query", name, "SELECT 1"],
        &["extract", name, "-o", "w.json"],
        &["export", name, "-o", "w.csv"],
    ];
    let mut commands = Vec::new();
    for verb in verbs {
        let output = hearth(folder, verb);
        failed(&output, 1, &["ftrace text, not a trace of hearth", "help: convert it: hearth import "]);
        let errors = text(&output.stderr);
        let command = errors.split_once("convert it: ").expect("a command").1.lines().next().expect("a line");
        commands.push(command.to_owned());
    }
    commands.dedup();
    assert_eq!(commands.len(), 1, "{commands:?}");
    let words = shlex::split(&commands[0]).expect("words of a shell");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(words[..3], ["hearth", "import", name]);
    printed(folder, &words[1..]);
    printed(folder, &["report", words[4]]);
    // Not every text is a trace.
    fs::write(folder.join("notes.txt"), "nothing of use\n").expect("a file");
    failed(&hearth(folder, &["report", "notes.txt"]), 1, &["notes.txt is not a trace"]);
}
