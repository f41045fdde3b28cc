//! Tests of `hearth overlay`.

use crate::{failed, folder, hearth, text};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// What `perf script` prints of a thread that runs for 50 ms on the first of two cores.
const RECORDED: &str = "\
swapper     0 [000] 1.000000: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=spin next_pid=7 next_prio=120
swapper     0 [001] 1.010000: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=other next_pid=8 next_prio=120
other       8 [001] 1.011000: sched:sched_switch: prev_comm=other prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
spin        7 [000] 1.050000: sched:sched_switch: prev_comm=spin prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

fn recorded(folder: &Path) {
    fs::write(folder.join("recorded.txt"), RECORDED).expect("a file");
    let output = hearth(folder, &["import", "recorded.txt", "-o", "recorded.trace"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn a_recorded_schedule_gets_frequencies() {
    let folder = folder();
    let folder = folder.path();
    recorded(folder);
    let args = ["overlay", "recorded.trace", "-m", "xeon-5218", "-g", "performance", "-o", "laid.trace"];
    let output = hearth(folder, &[&args[..], &["--json"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["schema"], "hearth.overlay/1");
    assert!(document["energy_j"].as_f64() > Some(0.0), "{document}");
    let source = document["source"].as_str().unwrap_or_default();
    assert!(source.ends_with("laid over xeon-5218, performance"), "{source}");
    let report = text(&hearth(folder, &["report", "laid.trace"]).stdout);
    assert!(report.contains("laid over xeon-5218, performance"), "{report}");
    assert!(report.contains("3.9 GHz"), "the highest turbo: {report}");
}

#[test]
fn the_result_is_no_recording() {
    let folder = folder();
    let folder = folder.path();
    recorded(folder);
    let overlay = |from, to| hearth(folder, &["overlay", from, "-m", "xeon-5218", "-o", to]);
    assert!(overlay("recorded.trace", "laid.trace").status.success());
    failed(
        &overlay("laid.trace", "again.trace"),
        1,
        &["laid.trace is not a recorded schedule", "take the recording"],
    );
    let predict = hearth(folder, &["predict", "laid.trace", "-m", "xeon-5218"]);
    failed(&predict, 1, &["its frequencies are not those", "take the recording"]);
    assert!(!folder.join("again.trace").exists());
}

#[test]
fn a_simulated_trace_has_its_own_frequencies() {
    let folder = folder();
    let folder = folder.path();
    let sim =
        ["sim", "-w", "fork-wait:iterations=2", "-m", "xeon-5218", "-p", "cfs", "-o", "simulated.trace"];
    assert!(hearth(folder, &sim).status.success());
    let args = ["overlay", "simulated.trace", "-m", "xeon-5218", "-o", "laid.trace"];
    failed(&hearth(folder, &args), 1, &["simulated.trace is not a recorded schedule", "`hearth sim`"]);
}

#[test]
fn the_recording_is_not_replaced() {
    let folder = folder();
    let folder = folder.path();
    recorded(folder);
    for output in ["recorded.trace", "./recorded.trace/"] {
        let args = ["overlay", "recorded.trace", "-m", "xeon-5218", "-o", output];
        failed(&hearth(folder, &args), 2, &["--output is the recording itself", "name another trace"]);
    }
    let report = hearth(folder, &["report", "recorded.trace"]);
    assert!(report.status.success(), "{}", text(&report.stderr));
}
