use crate::failure::{Failure, Outcome};
use crate::output;
use crate::recording;
use crate::statistics::{Sample, saving, speedup};
use crate::table::{Plain, known, number, percent};
use hearth_trace::{Header, Source, Summary, Trace};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Measure a trace: underload, overload, inversions, latencies, frequencies, energy
///
/// Two traces are put side by side. Each metric is defined in the book's chapter on metrics.
#[derive(clap::Args)]
pub struct Args {
    /// A trace that `hearth record`, `hearth predict` or `hearth sim` wrote
    trace: PathBuf,
    /// A second one, to compare with the first
    other: Option<PathBuf>,
    /// Of recordings of `hearth play`, measure the play alone: the workload's threads, from the first one's fork
    /// to the last one's exit, without the player's own thread
    #[arg(long)]
    played: bool,
    /// Print JSON (schema hearth.report/1) instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    traces: Vec<Measured>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Comparison>,
}

#[derive(Serialize)]
struct Measured {
    path: String,
    machine: String,
    source: Source,
    summary: Summary,
}

/// The second trace against the first.
#[derive(Serialize)]
struct Comparison {
    speedup: f64,
    energy_saving: Option<f64>,
}

impl Args {
    pub fn run(self) -> Outcome {
        let traces = [Some(self.trace), self.other]
            .into_iter()
            .flatten()
            .map(|path| {
                let trace = recording::read(&path)?;
                let trace = if self.played { play_of(trace, &path)? } else { trace };
                let summary = trace.summary();
                let Header { machine, source, .. } = trace.header;
                Ok(Measured { path: path.display().to_string(), machine, source, summary })
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        let comparison = match &traces[..] {
            [a, b] => compare(&a.summary, &b.summary),
            _ => None,
        };
        if self.json {
            output::json(&Report { schema: "hearth.report/1", traces, comparison })?;
        } else {
            output::text(&text(&traces, comparison.as_ref()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The play alone. A simulated trace has nothing else in it.
fn play_of(trace: Trace, path: &Path) -> Result<Trace, Failure> {
    if matches!(trace.header.source, Source::Simulated { .. }) {
        return Ok(trace);
    }
    trace.played().ok_or_else(|| {
        let message = format!("{} is no recording of a play that came to its end", path.display());
        Failure::new(message).help("record one: hearth record -o FILE -- hearth play WORKLOAD")
    })
}

fn compare(a: &Summary, b: &Summary) -> Option<Comparison> {
    let sample = |value: f64| Sample::of([value]).filter(|sample| sample.mean > 0.0);
    let energy = |summary: &Summary| summary.energy_j.and_then(sample);
    Some(Comparison {
        speedup: speedup(&sample(a.duration_s)?, &sample(b.duration_s)?).value,
        energy_saving: energy(a).zip(energy(b)).map(|(a, b)| saving(&a, &b).value),
    })
}

/// What two traces are called where they stand side by side.
const NAMES: [&str; 2] = ["first", "second"];

fn text(traces: &[Measured], comparison: Option<&Comparison>) -> String {
    let mut text = String::new();
    let mut table = Plain::new(1);
    if traces.len() > 1 {
        let mut titles = vec![""];
        titles.extend(NAMES);
        table.head(&titles);
    }
    for (trace, name) in traces.iter().zip(NAMES) {
        let name = if traces.len() > 1 { format!("{name}: ") } else { String::new() };
        text += &format!("{name}{}\n  {}\n  on {}\n\n", trace.path, origin(&trace.source), trace.machine);
    }
    let mut metric = |title: &str, value: &dyn Fn(&Summary) -> String| {
        let mut cells = vec![title.to_owned()];
        cells.extend(traces.iter().map(|trace| value(&trace.summary)));
        table.row(&cells);
    };
    metric("time (s)", &|s| number(s.duration_s));
    metric("energy (J)", &|s| known(s.energy_j));
    metric("CPU time (core·s)", &|s| number(s.busy_core_s));
    metric("underload per second", &|s| number(s.underload_per_s));
    metric("overload (core·ms)", &|s| number(s.overload_core_ms));
    metric("frequency inversion (core·ms)", &|s| number(s.inversion_core_ms));
    metric("frequency inversions", &|s| s.inversions.to_string());
    metric("cores used", &|s| s.cores_used.to_string());
    metric("cores used in 4 ms, mean", &|s| number(s.cores_used_per_tick));
    metric("sockets used", &|s| s.sockets_used.to_string());
    metric("mean frequency when busy (GHz)", &|s| known(s.busy_ghz_mean));
    metric("wake-ups", &|s| s.wakeups.to_string());
    metric("wake-up latency, median (µs)", &|s| number(s.wakeup_latency_us.p50));
    metric("wake-up latency, 99% (µs)", &|s| number(s.wakeup_latency_us.p99));
    metric("wake-up latency, 99.9% (µs)", &|s| number(s.wakeup_latency_us.p99_9));
    metric("context switches", &|s| s.context_switches.to_string());
    metric("migrations", &|s| s.migrations.to_string());
    metric("  between hyperthreads", &|s| s.migrations_by_distance.smt.to_string());
    metric("  on a die", &|s| s.migrations_by_distance.llc.to_string());
    metric("  on a NUMA node", &|s| s.migrations_by_distance.numa.to_string());
    metric("  across the machine", &|s| s.migrations_by_distance.machine.to_string());
    metric("kept warm by spinning (core·ms)", &|s| number(s.spin_core_ms));
    metric("events", &|s| s.events.to_string());
    metric("events lost", &|s| s.lost_events.map_or("-".into(), |lost| lost.to_string()));
    text += &table.render();
    text += &breakdown(traces, "time at a frequency (ms)", |s| {
        s.frequency_residency.iter().map(|r| (format!("{:.1} GHz", r.ghz), r.ms)).collect()
    });
    text += &breakdown(traces, "placements by reason", |s| {
        s.placements.iter().map(|(reason, count)| (reason.clone(), *count as f64)).collect()
    });
    if let Some(comparison) = comparison {
        text += &format!("\nThe second against the first: speed-up {}", percent(comparison.speedup));
        if let Some(saving) = comparison.energy_saving {
            text += &format!(", energy saving {}", percent(saving));
        }
        text += ".\n";
    }
    text
}

/// A metric that has several named values, which need not be the same in both traces.
fn breakdown(traces: &[Measured], title: &str, values: impl Fn(&Summary) -> Vec<(String, f64)>) -> String {
    let columns: Vec<Vec<(String, f64)>> = traces.iter().map(|trace| values(&trace.summary)).collect();
    let mut names: Vec<&String> = columns.iter().flatten().map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    if names.is_empty() {
        return String::new();
    }
    let mut table = Plain::new(1);
    for name in names {
        let mut cells = vec![format!("  {name}")];
        for column in &columns {
            let value = column.iter().find(|(n, _)| n == name).map_or(0.0, |(_, value)| *value);
            cells.push(if value == 0.0 { "0".into() } else { number(value) });
        }
        table.row(&cells);
    }
    format!("\n{title}\n{}", table.render())
}

fn origin(source: &Source) -> String {
    match source {
        Source::Recorded { command, .. } => command.join(" "),
        Source::Simulated { policy, workload, governor, seed, .. } => {
            format!("{workload} under {policy}, {governor}, seed {seed}")
        }
        Source::Unknown => "of unknown origin".into(),
    }
}
