//! The metrics of one trace, or of two traces side by side.

use super::sheet::Cell;
use crate::table::{Plain, percent};
use hearth_study::measure::{Measured, NAMES};
use hearth_trace::{Energy, Recording, Source, Summary};

pub fn text(traces: &[Measured]) -> String {
    let mut text = String::new();
    for (trace, name) in traces.iter().zip(NAMES) {
        let name = if traces.len() > 1 { format!("{name}: ") } else { String::new() };
        text += &format!("{name}{}\n  {}\n  {}\n\n", trace.path, origin(&trace.source), place(trace));
    }
    let mut table = Plain::new(1);
    if traces.len() > 1 {
        table.head(&["", NAMES[0], NAMES[1], "ratio"]);
    }
    let columns: Vec<Vec<(&str, Cell)>> = traces.iter().map(|trace| metrics(trace, traces)).collect();
    for (at, (title, _)) in columns[0].iter().enumerate() {
        table.row(&row(title, &columns.iter().map(|column| column[at].1.clone()).collect::<Vec<_>>()));
    }
    text += &table.render();
    text += &breakdown(traces, "time at a frequency (ms)", |s| {
        s.frequency_residency.iter().map(|r| (format!("{:.1} GHz", r.ghz), r.ms)).collect()
    });
    text += &breakdown(traces, "placements by reason", |s| {
        s.placements.iter().map(|(reason, count)| (reason.clone(), *count as f64)).collect()
    });
    if let [a, b] = traces {
        text += &verdict(&a.summary, &b.summary);
    }
    text
}

/// The number of each trace, and the ratio of two.
fn row(title: &str, cells: &[Cell]) -> Vec<String> {
    let mut row = vec![title.to_owned()];
    row.extend(cells.iter().map(Cell::text));
    if let [a, b] = cells {
        row.push(a.ratio(b));
    }
    row
}

fn verdict(a: &Summary, b: &Summary) -> String {
    if a.duration_s <= 0.0 || b.duration_s <= 0.0 {
        return String::new();
    }
    let speedup = percent(a.duration_s / b.duration_s - 1.0);
    let saving = match a.energy_j.zip(b.energy_j).filter(|(a, _)| *a > 0.0) {
        Some((a, b)) => format!(", energy saving {}", percent(1.0 - b / a)),
        None => String::new(),
    };
    format!("\nThe second compared with the first: speed-up {speedup}{saving}.\n")
}

/// Where and when it was recorded, or the simulated machine.
fn place(trace: &Measured) -> String {
    match &trace.recorded {
        Some(recorded) => {
            let energy = if trace.energy.is_some() { "" } else { "; energy was not measured" };
            format!("recorded: {recorded}{energy}")
        }
        None => format!("on {}", trace.machine),
    }
}

/// All metrics of a trace: the same ones for all `traces`.
fn metrics(trace: &Measured, traces: &[Measured]) -> Vec<(&'static str, Cell)> {
    use Cell::{Count, Number};
    let s = &trace.summary;
    let (latency, distance) = (&s.wakeup_latency_us, &s.migrations_by_distance);
    let unknown = trace.unknown();
    let waiting = |value| if unknown.waiting { Cell::Unknown } else { Number(value) };
    let power = s.energy_j.filter(|_| s.duration_s > 0.0).map(|joules| joules / s.duration_s);
    let mut metrics = vec![("time (s)", Number(s.duration_s)), ("energy (J)", Cell::known(s.energy_j))];
    if traces.iter().any(|trace| trace.energy.is_some()) {
        metrics.extend(parts(trace.energy.as_ref()));
    }
    let percentiles = [
        ("wake-up latency, median (µs)", latency.p50),
        ("wake-up latency, 90% (µs)", latency.p90),
        ("wake-up latency, 99% (µs)", latency.p99),
        ("wake-up latency, 99.9% (µs)", latency.p99_9),
        ("wake-up latency, longest (µs)", latency.max),
    ];
    metrics.extend([
        ("power (W)", Cell::known(power)),
        ("CPU time (core·s)", Number(s.busy_core_s)),
        ("underload per second", waiting(s.underload_per_s)),
        ("overload (core·ms)", waiting(s.overload_core_ms)),
        ("frequency inversion (core·ms)", Number(s.inversion_core_ms)),
        ("frequency inversions", Count(s.inversions)),
        ("cores used", Count(s.cores_used.into())),
        ("cores used in 4 ms, mean", Number(s.cores_used_per_tick)),
        ("sockets used", Count(s.sockets_used.into())),
        ("mean frequency when busy (GHz)", Cell::known(s.busy_ghz_mean)),
        ("wake-ups", if unknown.wakeups { Cell::Unknown } else { Count(s.wakeups) }),
        ("wake-up latency, mean (µs)", waiting(latency.mean)),
    ]);
    if traces.iter().any(|trace| !trace.unknown().percentiles) {
        let known = |us| if unknown.percentiles { Cell::Unknown } else { waiting(us) };
        metrics.extend(percentiles.map(|(title, us)| (title, known(us))));
    }
    metrics.extend([
        ("context switches", Count(s.context_switches)),
        ("migrations", Count(s.migrations)),
        ("  between hyperthreads", Count(distance.smt)),
        ("  on a die", Count(distance.llc)),
        ("  on a NUMA node", Count(distance.numa)),
        ("  across the machine", Count(distance.machine)),
        ("kept warm by spinning (core·ms)", Number(s.spin_core_ms)),
        ("events", Count(s.events)),
        ("events lost", s.lost_events.map_or(Cell::Unknown, Count)),
    ]);
    metrics
}

/// The parts of the measured energy, in joules.
fn parts(energy: Option<&Energy>) -> [(&'static str, Cell); 3] {
    let joules = |uj: Option<u64>| Cell::known(uj.map(|uj| uj as f64 / 1e6));
    [
        ("  packages", joules(energy.map(|energy| energy.package_uj))),
        ("    of which cores", joules(energy.and_then(|energy| energy.cores_uj))),
        ("  memory", joules(energy.and_then(|energy| energy.dram_uj))),
    ]
}

/// A metric with several named values. A value that a trace lacks is 0.
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
        let cells = columns.iter().map(|column| {
            match column.iter().find(|(n, _)| n == name).map_or(0.0, |(_, value)| *value) {
                0.0 => Cell::Count(0),
                value => Cell::Number(value),
            }
        });
        table.row(&row(&format!("  {name}"), &cells.collect::<Vec<_>>()));
    }
    format!("\n{title}\n{}", table.render())
}

pub fn origin(source: &Source) -> String {
    match source {
        Source::Recorded(Recording { command, laid_over, .. }) => {
            let over = laid_over.as_ref().map(|over| format!(", {over}"));
            command.join(" ") + &over.unwrap_or_default()
        }
        Source::Simulated { policy, workload, governor, seed, .. } => {
            format!("{workload} under {policy}, {governor}, seed {seed}")
        }
        Source::Unknown => "unknown origin".into(),
    }
}
