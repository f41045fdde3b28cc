//! `hearth play` as a user meets it. Nothing here depends on how long anything takes.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn play(folder: &Path, args: &[&str]) -> Output {
    // A known speed: no time is spent on measuring it, and nothing is said of a machine with other work.
    Command::new(env!("CARGO_BIN_EXE_hearth"))
        .current_dir(folder)
        .env_remove("RUST_BACKTRACE")
        .args(["play", "--rate", "1e8"])
        .args(args)
        .output()
        .expect("hearth starts")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

#[track_caller]
fn fails(folder: &Path, args: &[&str], status: i32, says: &[&str]) {
    let output = play(folder, args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{said}");
    for part in says {
        assert!(said.contains(part), "`{part}` is not in:\n{said}");
    }
    assert!(output.stdout.is_empty());
}

const SMALL: &str = "hackbench:groups=2,fds=2,loops=3";

#[test]
fn the_document_has_what_the_book_says() {
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
fn a_file_is_played_and_told_in_a_table() {
    let folder = folder();
    let text = r#"{"hearth_workload": 1, "threads": [{"ops": [{"run": 1000}, "yield"]}]}"#;
    fs::write(folder.path().join("w.json"), text).expect("a file");
    let output = play(folder.path(), &["w.json", "--burn", "time"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.starts_with("w.json: ") && said.contains("\n1 yields\n"), "{said}");
    assert!(said.contains("\nfork") && !said.contains("\nwake-up"), "{said}");
}

#[test]
fn what_cannot_be_played_is_told() {
    let folder = folder();
    fails(folder.path(), &["hackbnch"], 1, &["did you mean `hackbench`?"]);
    fails(folder.path(), &[SMALL, "--timeout=-1"], 2, &["--timeout -1 is no time to wait"]);
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
