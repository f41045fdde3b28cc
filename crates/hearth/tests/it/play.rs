//! Tests of `hearth play`. None depends on times.

use crate::{failed, folder, hearth, printed};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

fn play(folder: &Path, args: &[&str]) -> Output {
    // A given rate avoids the calibration and its warnings on a busy machine.
    hearth(folder, &[&["play", "--rate", "1e8"], args].concat())
}

#[track_caller]
fn fails(folder: &Path, args: &[&str], status: i32, expected: &[&str]) {
    failed(&play(folder, args), status, expected);
}

const SMALL: &str = "hackbench:groups=2,fds=2,loops=3";

#[test]
fn the_documented_fields_are_there() {
    let output = play(folder().path(), &[SMALL, "--repeat", "2", "--scale", "0.5", "--json"]);
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(document["schema"], "hearth.play/1");
    assert_eq!(document["workload"]["threads"], 9);
    assert_eq!(document["settings"]["scale"], 0.5);
    assert_eq!(document["settings"]["burn"], "work");
    assert_eq!(document["calibration"]["measured"], false);
    assert_eq!(document["calibration"]["loops_per_s"], 1e8);
    assert!(document["host"]["cores"].as_u64() >= Some(1));
    let runs = document["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 2);
    for run in runs {
        assert_eq!(run["counts"]["forks"], 8);
        assert_eq!(run["counts"]["posts"], 8 + 8 + 2 * 2 * 2 * 3 * 2);
        assert_eq!(run["fork_latency_us"]["count"], 9);
        assert!(run["time_s"].as_f64() > Some(0.0) && run["cpu_s"].as_f64() > Some(0.0), "{run}");
        for field in [
            "wakeup_latency_us",
            "timer_latency_us",
            "request_latency_us",
            "voluntary_switches",
            "migrations",
        ] {
            assert!(!run[field].is_null(), "{field}");
        }
    }
    assert_eq!(document["overall"]["fork_latency_us"]["count"], 18);
    assert!(document["overall"]["time_s_mean"].as_f64() > Some(0.0));
}

#[test]
fn a_file_is_played() {
    let folder = folder();
    let text = r#"{"hearth_workload": 1, "threads": [{"ops": [{"run": 1000}, "yield"]}]}"#;
    fs::write(folder.path().join("w.json"), text).expect("a file");
    let table = printed(folder.path(), &["play", "--rate", "1e8", "w.json", "--burn", "time"]);
    assert!(table.starts_with("w.json: ") && table.contains("\n1 yields\n"), "{table}");
    assert!(table.contains("\nfork") && !table.contains("\nwake-up"), "{table}");
}

#[test]
fn impossible_plays() {
    let folder = folder();
    fails(folder.path(), &["hackbnch"], 1, &["did you mean `hackbench`?"]);
    fails(folder.path(), &[SMALL, "--timeout=-1"], 2, &["--timeout must be greater than 0, not -1"]);
    fails(folder.path(), &[SMALL, "--burn", "money"], 2, &["it must be \"work\" or \"time\""]);
    fails(folder.path(), &[SMALL, "--ghz", "0"], 1, &["the frequency (--ghz) is 0; it must be"]);
    let text = r#"{"hearth_workload": 1, "threads": [{"name": "sleeper", "ops": [{"sleep": 60000000000}]}]}"#;
    fs::write(folder.path().join("long.json"), text).expect("a file");
    fails(
        folder.path(),
        &["long.json", "--timeout", "0.05"],
        1,
        &["was stopped after 0.05 s", "thread 0 (sleeper), step 0: it sleeps for 60 s", "--timeout"],
    );
}
