//! Time and memory of `predict` on a large recording.
//!
//! `lab-predict make EVENTS TRACE` writes the trace of a simulated hackbench with about this number of events.
//! `lab-predict predict TRACE` extracts the workload and simulates it under one policy.

use hearth_sim::{Job, World};
use hearth_study::{Keep, Matrix, Selection};
use hearth_trace::{Store, Writer};
use hearth_workload::Workload;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", events, trace] => make(events.parse()?, Path::new(trace)),
        ["predict", trace] => predict(Path::new(trace)),
        _ => Err("usage: lab-predict make EVENTS TRACE | predict TRACE".into()),
    }
}

fn matrix() -> Result<Matrix, hearth_study::Error> {
    let selection = Selection {
        machines: vec!["xeon-5218".into()],
        governors: vec![hearth_machine::Governor::Schedutil.into()],
        policies: vec![hearth_policy::Spec { source: "cfs".into(), params: Vec::new() }],
        params: Vec::new(),
    };
    Ok(Matrix { runs: 1, threads: 1, ..Matrix::load(&selection)? })
}

fn workload(loops: u64) -> Result<Workload, hearth_workload::Error> {
    Workload::resolve(&format!("hackbench:loops={loops}"))
}

fn make(events: u64, path: &Path) -> Result<(), Box<dyn Error>> {
    let matrix = matrix()?;
    // The difference of two short runs gives the number of events per loop.
    let short = |loops| -> Result<u64, Box<dyn Error>> {
        let prediction = matrix.predict(&workload(loops)?, Vec::new(), &Keep::default(), || ())?;
        Ok(prediction.runs[0].events)
    };
    let (first, second) = (short(100)?, short(200)?);
    let loops = (events * 100 / second.saturating_sub(first).max(1)).max(1);
    let (workload, variant) = (workload(loops)?, &matrix.variants[0]);
    let job = Job {
        governor: matrix.governors[0].governor,
        params: &variant.params,
        world: World::EMPTY,
        ..Job::new(&workload, &matrix.machines[0], &variant.policy)
    };
    let begin = Instant::now();
    let mut writer = Writer::create(path, &hearth_sim::header(&job))?;
    let outcome = hearth_sim::run(&job, &mut writer)?;
    writer.commit(&outcome.header)?;
    report("make", begin, &format!("{} events, {}", outcome.events, workload.origin));
    Ok(())
}

fn predict(path: &Path) -> Result<(), Box<dyn Error>> {
    let store = Arc::new(Store::open(path)?);
    let begin = Instant::now();
    let extraction = Workload::extract(&store)?;
    let steps: usize = extraction.workload.threads.iter().map(|thread| thread.ops.len()).sum();
    let megabytes = steps * size_of::<hearth_workload::Op>() / 1_000_000;
    report("extract", begin, &format!("{} events, {steps} steps in {megabytes} MB", store.events()));
    let begin = Instant::now();
    let prediction =
        matrix()?.predict(&extraction.workload, extraction.report.warnings(), &Keep::default(), || ())?;
    report("simulate", begin, &format!("{} events", prediction.runs[0].events));
    Ok(())
}

fn report(what: &str, begin: Instant, result: &str) {
    println!("{what}: {:.2} s, peak memory {}: {result}", begin.elapsed().as_secs_f64(), peak());
}

/// Peak resident memory of this process, from the kernel.
fn peak() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.map_or_else(|| "unknown".into(), |peak| peak.trim().to_owned())
}
