//! `hearth modelcheck` writes schedules, and `hearth sim` replays them.

use crate::{failed, folder, hearth, json, printed, text};
use std::fs;
use std::path::Path;

const ONE_DIE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/policies/one-die.ipa");

/// Runs the model checker, which must find a violation, and writes its schedule to `schedule.json`.
fn refute(folder: &Path, policy: &str, scenario: &str) {
    let output = hearth(folder, &["modelcheck", policy, "-s", scenario, "-o", "schedule.json"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(folder.join("schedule.json").exists());
}

#[test]
fn the_trace_of_a_schedule_shows_overload() {
    for (policy, scenario) in
        [("slocal", "wake-2"), ("ule", "thieves-3"), ("cfs", "sleepers-3"), (ONE_DIE, "sleepers-3")]
    {
        let folder = folder();
        refute(folder.path(), policy, scenario);
        let mut args = vec!["sim", "--schedule", "schedule.json", "-o", "replayed.trace", "--json"];
        if policy == ONE_DIE {
            args.extend(["--policy", policy]);
        }
        let replay = json(folder.path(), &args);
        assert_eq!(replay["schema"], "hearth.replay/1");
        assert_eq!(replay["violation"]["property"], "cwc");

        let report = json(folder.path(), &["report", "replayed.trace", "--json"]);
        let summary = &report["traces"][0]["summary"];
        assert_eq!(summary, &replay["summary"], "{policy}");
        assert!(summary["overload_core_ms"].as_f64().expect("a number") >= 4.0, "{policy}: {summary}");
        assert_eq!(report["traces"][0]["source"]["Simulated"]["workload"], scenario);
    }
}

#[test]
fn the_schedule_is_shown() {
    let folder = folder();
    refute(folder.path(), "ule", "thieves-3");
    let text = printed(folder.path(), &["sim", "--schedule", "schedule.json"]);
    assert!(text.contains("core 1: thread 1; [terminate(1)]"), "{text}");
    assert!(text.contains("overload 4.00 core·ms"), "{text}");
}

#[test]
fn parameters_go_with_the_schedule() {
    let folder = folder();
    refute(folder.path(), "ule:slice=40ms", "thieves-3");
    printed(folder.path(), &["sim", "--schedule", "schedule.json", "-o", "a.trace"]);
    let report = json(folder.path(), &["report", "a.trace", "--json"]);
    assert_eq!(report["traces"][0]["source"]["Simulated"]["params"][0][0], "slice");
}

#[track_caller]
fn fails(folder: &Path, args: &[&str], status: i32, expected: &[&str]) {
    failed(&hearth(folder, args), status, expected);
    assert!(!folder.join("a.trace").exists());
}

#[test]
fn a_schedule_that_does_not_fit_is_refused() {
    let folder = folder();
    let folder = folder.path();
    refute(folder, "ule", "thieves-3");
    let whole = fs::read_to_string(folder.join("schedule.json")).expect("it was written");
    let replay = |policy: Option<&'static str>| {
        let mut args = vec!["sim", "--schedule", "schedule.json", "-o", "a.trace"];
        args.extend(policy.map(|policy| ["-p", policy]).into_iter().flatten());
        args
    };
    let write = |text: &str| fs::write(folder.join("schedule.json"), text).expect("a file");

    fails(folder, &replay(Some("cfs")), 1, &["schedule.json", "of policy `ule`", "--policy"]);
    fails(folder, &replay(Some("ule:slice=40ms")), 2, &["the parameters in the schedule"]);
    write(&whole[..whole.len() / 2]);
    fails(folder, &replay(None), 1, &["not a schedule", "EOF", "hearth modelcheck POLICY --output"]);
    write(&whole.replace("hearth.schedule/1", "hearth.schedule/9"));
    fails(folder, &replay(None), 1, &["hearth.schedule/9", "hearth.schedule/1"]);
    write("{\"schema\": \"hearth.schedule/1\"}");
    fails(folder, &replay(None), 1, &["missing field"]);
    write("[]");
    fails(folder, &replay(None), 1, &["no schema"]);
    write(&whole.replace("\"policy\": \"ule\"", "\"policy\": \"mine\""));
    fails(folder, &replay(None), 1, &["`mine`", "--policy FILE.ipa"]);

    // A policy of the same name with other attributes, and a corrected one.
    fs::write(folder.join("ule.ipa"), "policy ule extends cfs {}").expect("a file");
    write(&whole);
    fails(folder, &replay(Some("ule.ipa")), 1, &["different attributes", "hearth modelcheck"]);
    write(&whole.replace("\"policy\": \"ule\"", "\"policy\": \"ule-cwc\""));
    fails(folder, &replay(None), 1, &["does not end in a violation", "another version"]);

    fails(folder, &["sim", "--schedule", "nowhere.json"], 1, &["nowhere.json"]);
    fails(
        folder,
        &["sim", "--schedule", "schedule.json", "-w", "configure"],
        2,
        &["--workload", "--schedule"],
    );
    fails(folder, &["sim", "--machine", "xeon-5218"], 2, &["--workload"]);
}

#[test]
fn no_schedule_is_written_without_a_violation() {
    let folder = folder();
    let output = hearth(folder.path(), &["modelcheck", "ule-cwc", "-s", "wake-2", "-o", "schedule.json"]);
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("there is no violation"), "{}", text(&output.stderr));
    assert!(!folder.path().join("schedule.json").exists());
}
