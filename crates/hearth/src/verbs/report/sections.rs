//! What is looked into, as text.

use super::sheet::Cell::{Count, Number, Text};
use super::sheet::{Cell, Sheet};
use hearth_analysis::{ByInterval, Inversions, Load, Overload, Overloads, ProcessRow, ThreadRow, WakerPair};
use hearth_study::measure::{Measured, NAMES};
use hearth_trace::CoreId;

pub fn text(traces: &[Measured], top: usize) -> String {
    let mut text = String::new();
    text += &compared(traces, usize::MAX, |trace| trace.by_interval.as_ref().map(intervals));
    text += &compared(traces, top, |trace| trace.by_process.as_ref().map(|rows| processes(rows)));
    text += &each(traces, top, |trace| trace.by_thread.as_ref().map(|rows| threads(rows)));
    text += &compared(traces, top, |trace| trace.wakers.as_ref().map(|rows| wakers(rows)));
    text += &each(traces, usize::MAX, |trace| trace.inversions.as_ref().map(inversions));
    text += &each(traces, usize::MAX, |trace| trace.overloads.as_ref().map(overloads));
    text
}

/// Of two traces, row beside row.
fn compared(traces: &[Measured], most: usize, sheet: impl Fn(&Measured) -> Option<Sheet>) -> String {
    let sheets: Vec<Sheet> = traces.iter().filter_map(sheet).collect();
    match &sheets[..] {
        [one] => one.one(most),
        [one, two] => one.two(two, most),
        _ => String::new(),
    }
}

/// Of two traces, one after the other.
fn each(traces: &[Measured], most: usize, sheet: impl Fn(&Measured) -> Option<Sheet>) -> String {
    let mut text = String::new();
    for (trace, name) in traces.iter().zip(NAMES) {
        if let Some(mut sheet) = sheet(trace) {
            if traces.len() > 1 {
                sheet.title = format!("{name}: {}", sheet.title);
            }
            text += &sheet.one(most);
        }
    }
    text
}

/// A moment, to the microsecond: it is to be found in a viewer.
fn moment(s: f64) -> Cell {
    Text(format!("{s:.6}"))
}

fn intervals(by: &ByInterval) -> Sheet {
    let row = |row: &hearth_analysis::Interval| {
        vec![
            Text(format!("{:.3}", row.begin_s)),
            Number(row.busy_core_s),
            Count(row.cores_used.into()),
            Cell::known(row.busy_ghz_mean),
            Number(row.underload_per_s),
            Number(row.overload_core_ms),
            Number(row.inversion_core_ms),
            Count(row.wakeups),
            Number(row.wakeup_latency_us.p50),
            Number(row.wakeup_latency_us.p99),
            Count(row.context_switches),
            Count(row.migrations),
        ]
    };
    Sheet {
        title: format!("each {} s", by.interval_s),
        keys: 1,
        titles: vec![
            "from (s)",
            "core·s",
            "cores",
            "GHz",
            "underload/s",
            "overload (core·ms)",
            "inversion (core·ms)",
            "wake-ups",
            "median (µs)",
            "99% (µs)",
            "switches",
            "migrations",
        ],
        rows: by.rows.iter().map(row).collect(),
    }
}

const LOAD: [&str; 10] = [
    "CPU (s)",
    "GHz",
    "runs",
    "wake-ups",
    "median (µs)",
    "99% (µs)",
    "waiting (ms)",
    "overload (ms)",
    "migrations",
    "preempted",
];

fn load(load: &Load) -> [Cell; 10] {
    [
        Number(load.cpu_s),
        Cell::known(load.ghz_mean),
        Count(load.runs),
        Count(load.wakeups),
        Number(load.wakeup_latency_us.p50),
        Number(load.wakeup_latency_us.p99),
        Number(load.waiting_ms),
        Number(load.overload_ms),
        Count(load.migrations),
        Count(load.preemptions),
    ]
}

fn processes(rows: &[ProcessRow]) -> Sheet {
    let row = |row: &ProcessRow| {
        [vec![Text(row.process.clone()), Count(row.threads)], load(&row.load).to_vec()].concat()
    };
    Sheet {
        title: "processes: all threads of one name".into(),
        keys: 1,
        titles: [&["process", "threads"], &LOAD[..]].concat(),
        rows: rows.iter().map(row).collect(),
    }
}

fn threads(rows: &[ThreadRow]) -> Sheet {
    let row = |row: &ThreadRow| {
        [vec![Text(row.thread.to_string()), Text(row.name.clone())], load(&row.load).to_vec()].concat()
    };
    Sheet {
        title: "threads".into(),
        keys: 2,
        titles: [&["thread", "name"], &LOAD[..]].concat(),
        rows: rows.iter().map(row).collect(),
    }
}

fn wakers(rows: &[WakerPair]) -> Sheet {
    let row = |row: &WakerPair| {
        vec![
            Text(row.waker.clone()),
            Text(row.wakee.clone()),
            Count(row.wakeups),
            Number(row.wakeup_latency_us.p50),
            Number(row.wakeup_latency_us.p99),
            Count(row.same_core),
            Count(row.smt),
            Count(row.llc),
            Count(row.numa),
            Count(row.machine),
        ]
    };
    Sheet {
        title: "who woke whom, and where the woken thread was put: on the waker's core, or beside it on ..."
            .into(),
        keys: 2,
        titles: vec![
            "waker",
            "woken",
            "wake-ups",
            "median (µs)",
            "99% (µs)",
            "same core",
            "hyperthread",
            "die",
            "NUMA node",
            "machine",
        ],
        rows: rows.iter().map(row).collect(),
    }
}

fn inversions(found: &Inversions) -> Sheet {
    let row = |row: &hearth_analysis::Inversion| {
        vec![
            moment(row.begin_s),
            Text(row.thread.to_string()),
            Text(row.name.clone()),
            Number(row.ms),
            Count(row.core.into()),
            Number(row.ghz),
            Count(row.idle_core.into()),
            Number(row.idle_ghz),
            Count(row.runs),
        ]
    };
    Sheet {
        title: format!(
            "longest frequency inversions, of {} that are {} core·ms together",
            found.count,
            Number(found.core_ms).text()
        ),
        keys: 3,
        titles: vec![
            "from (s)",
            "thread",
            "name",
            "ms",
            "on core",
            "GHz",
            "idle core",
            "its GHz",
            "threads run",
        ],
        rows: found.longest.iter().map(row).collect(),
    }
}

fn overloads(found: &Overloads) -> Sheet {
    let row = |row: &Overload| {
        let queues = row.overloaded.iter().map(|queue| format!("{}:{}", queue.core, queue.runnable));
        let waited = row.waited.iter().map(|waiter| format!("{} {}", waiter.name, waiter.thread));
        vec![
            moment(row.begin_s),
            Text(short(queues.collect(), " ")),
            Text(ranges(&row.idle)),
            Text(short(waited.collect(), ", ")),
            Number(row.ms),
            Number(row.core_ms),
            Count(row.most_waiting.into()),
        ]
    };
    Sheet {
        title: format!(
            "longest overloads, of {} that are {} ms and {} core·ms together",
            found.count,
            Number(found.ms).text(),
            Number(found.core_ms).text()
        ),
        keys: 4,
        titles: vec!["from (s)", "core:threads", "idle cores", "waited", "ms", "core·ms", "most waiting"],
        rows: found.longest.iter().map(row).collect(),
    }
}

/// The first four of a list.
fn short(list: Vec<String>, separator: &str) -> String {
    let shown = list.iter().take(4).cloned().collect::<Vec<_>>().join(separator);
    if list.len() > 4 { format!("{shown} …") } else { shown }
}

/// `0-3 7 9-10`
fn ranges(cores: &[CoreId]) -> String {
    let mut ranges: Vec<(CoreId, CoreId)> = Vec::new();
    for core in cores {
        match ranges.last_mut() {
            Some((_, last)) if u32::from(*last) + 1 == u32::from(*core) => *last = *core,
            _ => ranges.push((*core, *core)),
        }
    }
    let text = |(a, b): &(CoreId, CoreId)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    short(ranges.iter().map(text).collect(), " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cores_are_short() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2 5 7-8");
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[0, 2, 4, 6, 8, 9]), "0 2 4 6 …");
    }
}
