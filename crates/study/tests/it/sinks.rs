//! Storing and drawing a trace does not change the run.

use hearth_report::page::TimelinePanel;
use hearth_sim::Job;
use hearth_study::{Keep, Matrix, Selection};
use hearth_trace::{Event, Store, Trace, TraceHash};
use hearth_workload::Workload;

fn matrix(policies: &[&str], runs: u64) -> Matrix {
    let selection = Selection {
        machines: vec!["ryzen-3400g".into()],
        governors: vec!["schedutil".parse().unwrap()],
        policies: policies.iter().map(|policy| policy.parse().unwrap()).collect(),
        params: Vec::new(),
    };
    Matrix { runs, ..Matrix::load(&selection).unwrap() }
}

fn workload() -> Workload {
    Workload::resolve("fork-wait:iterations=20").unwrap()
}

/// The whole trace of the matrix's first run, in memory.
fn trace(matrix: &Matrix, workload: &Workload) -> Trace {
    let variant = &matrix.variants[0];
    let job = Job {
        governor: matrix.governors[0].governor,
        params: &variant.params,
        ..Job::new(workload, &matrix.machines[0], &variant.policy)
    };
    let mut events: Vec<Event> = Vec::new();
    let header = hearth_sim::run(&job, &mut events).unwrap().header;
    Trace { header, events }
}

#[test]
fn one_run_with_all_sinks_equals_runs_with_one_sink() {
    let (matrix, workload) = (matrix(&["nest"], 1), workload());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let keep = Keep { trace: Some(&path), columns: Some(500) };
    let prediction = matrix.predict(&workload, Vec::new(), &keep, || ()).unwrap();

    let alone = trace(&matrix, &workload);
    assert_eq!(Trace::read(&path).unwrap(), alone);
    let mut hash = TraceHash::new();
    alone.events.iter().for_each(|event| hearth_trace::Sink::event(&mut hash, event));
    assert_eq!(prediction.runs[0].trace_hash, hash.hex());
    let setting = prediction.panels[0].setting.clone();
    let panel = TimelinePanel { setting, ..TimelinePanel::from_trace(&alone, 500) };
    assert_eq!(prediction.panels, [panel]);

    let again = matrix.predict(&workload, Vec::new(), &Keep::default(), || ()).unwrap();
    assert_eq!(again.runs[0].trace_hash, prediction.runs[0].trace_hash);
    assert!(again.panels.is_empty());
}

#[test]
fn panels_show_the_first_run_of_each_setting() {
    let (matrix, workload) = (matrix(&["nest", "cfs"], 2), workload());
    let keep = Keep { trace: None, columns: Some(100) };
    let done = std::sync::atomic::AtomicUsize::new(0);
    let count = || {
        done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    };
    let prediction = matrix.predict(&workload, Vec::new(), &keep, count).unwrap();
    assert_eq!(done.into_inner(), 4);
    let policies: Vec<&str> = prediction.panels.iter().map(|panel| &*panel.setting.policy).collect();
    assert_eq!(policies, ["nest", "cfs"]);
    let panel = TimelinePanel::from_trace(&trace(&matrix, &workload), 100);
    assert_eq!(prediction.panels[0].segments, panel.segments);
}

#[test]
fn only_one_run_can_be_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let keep = Keep { trace: Some(&path), columns: None };
    let rejected = matrix(&["cfs"], 2).predict(&workload(), Vec::new(), &keep, || ());
    assert!(rejected.is_err_and(|error| error.to_string().contains("2 are planned")));
    assert!(Store::open(&path).is_err());
}
