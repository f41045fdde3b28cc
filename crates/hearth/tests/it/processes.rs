//! Processes in recordings: groups of reports, and who else used the cores.

use crate::{folder, hearth, json, printed, text};
use hearth_trace::*;
use std::path::Path;

const MS: u64 = 1_000_000;

/// A command, `sh` with two children of one name, and a server that takes its core for 40 of 100 ms. `threads` are missing
/// if the recording is not system-wide.
fn recording(folder: &Path, name: &str, filter: Filter, partial: bool) {
    let thread = |tid: Tid, name: &str, parent, process, traced| ThreadInfo {
        tid,
        name: name.into(),
        parent,
        traced,
        kernel_tid: Some(100 + tid),
        process: Some(process),
    };
    let process = |pid, name: &str, parent| ProcessInfo { pid, name: name.into(), parent };
    let header = Header {
        source: Source::Recorded(Recording {
            command: vec!["sh".into()],
            filter,
            unrecorded: Unrecorded { threads: partial, wakeups: false },
            ..Recording::default()
        }),
        cores: vec![CoreInfo::default()],
        duration: 100 * MS,
        threads: vec![
            thread(1, "sh", 0, 0, true),
            thread(2, "cc1", 1, 1, true),
            thread(3, "cc1", 1, 2, true),
            thread(4, "worker", 0, 3, filter == Filter::System),
        ],
        processes: vec![
            process(101, "sh", None),
            process(102, "cc1", Some(0)),
            process(103, "cc1", Some(0)),
            process(90, "server", None),
        ],
        assumed_khz: 2_000_000,
        ..Header::default()
    };
    let at = |ms: u64, kind| Event { time: ms * MS, core: 0, kind };
    let switch = |ms, prev, stop, next| at(ms, Kind::Switch { prev, stop, next });
    let fork = |ms, child| at(ms, Kind::Fork { parent: 1, child, target: 0 });
    let events = vec![
        switch(0, IDLE, Stop::Preempted, 1),
        fork(5, 2),
        fork(5, 3),
        switch(10, 1, Stop::Blocked, 4),
        switch(50, 4, Stop::Blocked, 2),
        at(70, Kind::Exit { thread: 2 }),
        switch(70, 2, Stop::Exited, 3),
        at(90, Kind::Exit { thread: 3 }),
        at(90, Kind::Wakeup { thread: 1, waker: Waker::Thread(3), target: 0, sync: false }),
        switch(90, 3, Stop::Exited, 1),
        at(100, Kind::Exit { thread: 1 }),
        switch(100, 1, Stop::Exited, IDLE),
    ];
    Trace { header, events }.write(folder.join(name)).expect("a trace");
}

#[test]
fn a_report_groups_by_process_or_by_program() {
    let folder = folder();
    recording(folder.path(), "a.trace", Filter::Command, false);
    let rows = |by: &str| {
        let report = json(folder.path(), &["report", "a.trace", "--by", by, "--json"]);
        let rows = report["traces"][0]["by_process"].as_array().expect("rows").clone();
        let row = |row: &serde_json::Value| format!("{} {} {}", row["process"], row["pid"], row["threads"]);
        rows.iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(rows("process"), [r#""server" 90 1"#, r#""cc1" 102 1"#, r#""cc1" 103 1"#, r#""sh" 101 1"#]);
    assert_eq!(rows("program"), [r#""cc1" null 2"#, r#""worker" null 1"#, r#""sh" null 1"#]);
    let said = printed(folder.path(), &["report", "a.trace", "--by", "process"]);
    assert!(said.contains("cc1 102") && said.contains("cc1 103"), "{said}");
    // Two traces have no process in common, so their programs are compared.
    recording(folder.path(), "b.trace", Filter::Command, false);
    let report = json(folder.path(), &["report", "a.trace", "b.trace", "--by", "process", "--json"]);
    let ratios = report["comparison"]["ratios"]["by_process"].as_array().expect("rows").len();
    assert_eq!(ratios, 3);
    let both = hearth(folder.path(), &["report", "a.trace", "--by", "process", "--by", "program"]);
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn reports_and_predictions_say_who_else_used_the_cores() {
    let folder = folder();
    recording(folder.path(), "a.trace", Filter::Command, false);
    let others = |name: &str| json(folder.path(), &["report", name, "--json"])["traces"][0]["others"].clone();
    let expected = serde_json::json!({
        "cpu_s": 0.04, "waiting_ms": 80.0,
        "processes": [{ "process": "server", "pid": 90, "cpu_s": 0.04, "waiting_ms": 80.0 }],
    });
    assert_eq!(others("a.trace"), expected, "two children waited for 40 ms");
    let said = printed(folder.path(), &["report", "a.trace"]);
    assert!(
        said.contains("ran 0.0400 core·s; its threads waited 80.0 ms for them") && said.contains("server 90"),
        "{said}"
    );
    assert!(!printed(folder.path(), &["report", "a.trace", "--others", "0"]).contains("server"));
    // Nobody is outside of the system, and a partial recording does not know who is.
    recording(folder.path(), "system.trace", Filter::System, false);
    recording(folder.path(), "partial.trace", Filter::Command, true);
    assert_eq!([others("system.trace"), others("partial.trace")], [const { serde_json::Value::Null }; 2]);
    let predict = ["predict", "a.trace", "-m", "ryzen-3400g", "-p", "eevdf", "--runs", "1"];
    let noted = text(&hearth(folder.path(), &predict).stderr);
    assert!(noted.contains("processes outside the command took 0.04 core·s (server 90 0.04)"), "{noted}");
}
