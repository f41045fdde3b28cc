//! The tables of a report's `--by`, `--wakers`, `--inversions`, `--overloads` and `--waits`.

use super::sheet::Cell::{Count, Number, Text};
use super::sheet::{Cell, Column, Sheet};
use hearth_report::analysis::{
    ByInterval, CriticalPath, Interval, Inversion, Inversions, Load, Other, Others, Overload, Overloads,
    PathWait, ProcessRow, ProgramOnPath, ThreadRow, WakerPair,
};
use hearth_study::measure::{Measured, NAMES, Unknown};
use hearth_trace::CoreId;

pub fn text(traces: &[Measured], top: usize) -> String {
    let mut text = String::new();
    text += &compared(traces, usize::MAX, |trace| trace.by_interval.as_ref().map(intervals));
    text += &compared(traces, top, |trace| trace.by_process.as_ref().map(|rows| processes(rows)));
    text += &each(traces, top, |trace| trace.by_thread.as_ref().map(|rows| threads(rows)));
    text += &compared(traces, top, |trace| {
        trace.wakers.as_ref().filter(|_| !trace.unknown().wakeups).map(|rows| wakers(rows))
    });
    text += &each(traces, usize::MAX, |trace| trace.inversions.as_ref().map(inversions));
    text += &each(traces, usize::MAX, |trace| {
        trace.others.as_ref().filter(|others| others.cpu_s > 0.0).map(others_on_the_cores)
    });
    text += &each(traces, top, |trace| trace.critical_path.as_ref().map(programs));
    text += &each(traces, usize::MAX, |trace| trace.critical_path.as_ref().map(waits));
    text += &each(traces, usize::MAX, |trace| {
        trace.overloads.as_ref().filter(|_| !trace.unknown().waiting).map(overloads)
    });
    text
}

/// One table for all traces: the rows of a second trace follow those of the first.
fn compared(traces: &[Measured], most: usize, sheet: impl Fn(&Measured) -> Option<Sheet>) -> String {
    let sheet = |trace: &Measured| Some(known(sheet(trace)?, trace.unknown(), traces));
    let sheets: Vec<Sheet> = traces.iter().filter_map(sheet).collect();
    match &sheets[..] {
        [one] => one.one(most),
        [one, two] => one.two(two, most),
        _ => String::new(),
    }
}

/// A table for each trace.
fn each(traces: &[Measured], most: usize, sheet: impl Fn(&Measured) -> Option<Sheet>) -> String {
    let mut text = String::new();
    for (trace, name) in traces.iter().zip(NAMES) {
        if let Some(sheet) = sheet(trace) {
            let mut sheet = known(sheet, trace.unknown(), traces);
            if traces.len() > 1 {
                sheet.title = format!("{name}: {}", sheet.title);
            }
            text += &sheet.one(most);
        }
    }
    text
}

/// The sheet without the cells that the trace cannot tell. It has the same columns for all `traces`: simulated ones have the
/// mean of latencies, recorded ones percentiles.
fn known(mut sheet: Sheet, unknown: Unknown, traces: &[Measured]) -> Sheet {
    const WAITING: [&str; 8] = [
        WAITED_FOR,
        "underload/s",
        "overload (core·ms)",
        MEAN,
        PERCENTILES[0],
        PERCENTILES[1],
        "waiting (ms)",
        "overload (ms)",
    ];
    let simulated = traces.iter().filter(|trace| trace.unknown().percentiles).count();
    match simulated {
        0 => sheet.drop(&[MEAN]),
        _ if simulated == traces.len() => sheet.drop(&PERCENTILES),
        _ => {}
    }
    for (column, title) in sheet.titles.iter().enumerate() {
        if unknown.waiting && WAITING.contains(title)
            || unknown.wakeups && *title == "wake-ups"
            || unknown.percentiles && PERCENTILES.contains(title)
        {
            sheet.rows.iter_mut().for_each(|row| row[column] = Cell::Unknown);
        }
    }
    sheet
}

const MEAN: &str = "mean (µs)";
const PERCENTILES: [&str; 2] = ["median (µs)", "99% (µs)"];

/// Title of the time that the command waited for others.
const WAITED_FOR: &str = "command waited (ms)";

/// A time in seconds, to the microsecond, so that it can be found in the viewer.
fn moment(s: f64) -> Cell {
    Text(format!("{s:.6}"))
}

fn intervals(by: &ByInterval) -> Sheet {
    let columns: [Column<&Interval>; 13] = [
        ("from (s)", |row| Text(format!("{:.3}", row.begin_s))),
        ("core·s", |row| Number(row.busy_core_s)),
        ("cores", |row| Count(row.cores_used.into())),
        ("GHz", |row| Cell::known(row.busy_ghz_mean)),
        ("underload/s", |row| Number(row.underload_per_s)),
        ("overload (core·ms)", |row| Number(row.overload_core_ms)),
        ("inversion (core·ms)", |row| Number(row.inversion_core_ms)),
        ("wake-ups", |row| Count(row.wakeups)),
        (MEAN, |row| Number(row.wakeup_latency_us.mean)),
        (PERCENTILES[0], |row| Number(row.wakeup_latency_us.p50)),
        (PERCENTILES[1], |row| Number(row.wakeup_latency_us.p99)),
        ("switches", |row| Count(row.context_switches)),
        ("migrations", |row| Count(row.migrations)),
    ];
    Sheet::new(format!("intervals of {} s", by.interval_s), 1, &columns, &by.rows)
}

/// The load of processes or threads, after the columns of their own.
fn loads<'a, R>(
    title: &str,
    keys: usize,
    own: &[Column<&'a R>],
    rows: &'a [R],
    load: fn(&'a R) -> &'a Load,
) -> Sheet {
    let columns: [Column<&Load>; 11] = [
        ("CPU (s)", |load| Number(load.cpu_s)),
        ("GHz", |load| Cell::known(load.ghz_mean)),
        ("runs", |load| Count(load.runs)),
        ("wake-ups", |load| Count(load.wakeups)),
        (MEAN, |load| Number(load.wakeup_latency_us.mean)),
        (PERCENTILES[0], |load| Number(load.wakeup_latency_us.p50)),
        (PERCENTILES[1], |load| Number(load.wakeup_latency_us.p99)),
        ("waiting (ms)", |load| Number(load.waiting_ms)),
        ("overload (ms)", |load| Number(load.overload_ms)),
        ("migrations", |load| Count(load.migrations)),
        ("preempted", |load| Count(load.preemptions)),
    ];
    let mut sheet = Sheet::new(title.into(), keys, own, rows);
    let loads = Sheet::new(String::new(), 0, &columns, rows.iter().map(load));
    sheet.titles.extend(loads.titles);
    sheet.rows.iter_mut().zip(loads.rows).for_each(|(row, load)| row.extend(load));
    sheet
}

fn processes(rows: &[ProcessRow]) -> Sheet {
    let title = match rows.iter().any(|row| row.pid.is_some()) {
        true => "processes; those without a number: all threads of the same name",
        false => "processes: all threads of the same name",
    };
    let own: [Column<&ProcessRow>; 2] =
        [("process", |row| Text(numbered(&row.process, row.pid))), ("threads", |row| Count(row.threads))];
    loads(title, 1, &own, rows, |row| &row.load)
}

/// A process: its name and, if it is known, its number.
fn numbered(name: &str, pid: Option<u32>) -> String {
    pid.map_or_else(|| name.to_owned(), |pid| format!("{name} {pid}"))
}

fn threads(rows: &[ThreadRow]) -> Sheet {
    let mut own: Vec<Column<&ThreadRow>> =
        vec![("thread", |row| Text(row.thread.to_string())), ("name", |row| Text(row.name.clone()))];
    if rows.iter().any(|row| row.tid.is_some()) {
        let numbers: [Column<&ThreadRow>; 2] =
            [("tid", |row| Cell::number(row.tid)), ("pid", |row| Cell::number(row.pid))];
        own.extend(numbers);
    }
    loads("threads", 2, &own, rows, |row| &row.load)
}

fn wakers(rows: &[WakerPair]) -> Sheet {
    let columns: [Column<&WakerPair>; 11] = [
        ("waker", |row| Text(numbered(&row.waker, row.waker_pid))),
        ("woken", |row| Text(numbered(&row.wakee, row.wakee_pid))),
        ("wake-ups", |row| Count(row.wakeups)),
        (MEAN, |row| Number(row.wakeup_latency_us.mean)),
        (PERCENTILES[0], |row| Number(row.wakeup_latency_us.p50)),
        (PERCENTILES[1], |row| Number(row.wakeup_latency_us.p99)),
        ("same core", |row| Count(row.same_core)),
        ("hyperthread", |row| Count(row.smt)),
        ("die", |row| Count(row.llc)),
        ("NUMA node", |row| Count(row.numa)),
        ("machine", |row| Count(row.machine)),
    ];
    let title = "who woke whom: latencies, and wake-ups by the smallest domain that contains the waker's and the woken \
                 thread's core";
    Sheet::new(title.into(), 2, &columns, rows)
}

fn inversions(found: &Inversions) -> Sheet {
    let columns: [Column<&Inversion>; 9] = [
        ("from (s)", |row| moment(row.begin_s)),
        ("thread", |row| Text(row.thread.to_string())),
        ("name", |row| Text(row.name.clone())),
        ("ms", |row| Number(row.ms)),
        ("on core", |row| Count(row.core.into())),
        ("GHz", |row| Number(row.ghz)),
        ("idle core", |row| Count(row.idle_core.into())),
        ("its GHz", |row| Number(row.idle_ghz)),
        ("threads run", |row| Count(row.runs)),
    ];
    let core_ms = Number(found.core_ms).text();
    let title = format!("longest frequency inversions; total: {}, {core_ms} core·ms", found.count);
    Sheet::new(title, 3, &columns, &found.longest)
}

fn overloads(found: &Overloads) -> Sheet {
    let columns: [Column<&Overload>; 7] = [
        ("from (s)", |row| moment(row.begin_s)),
        ("core:threads", |row| {
            let queues = row.overloaded.iter().map(|queue| format!("{}:{}", queue.core, queue.runnable));
            Text(short(queues.collect(), " "))
        }),
        ("idle cores", |row| Text(ranges(&row.idle))),
        ("waited", |row| {
            let waited = row.waited.iter().map(|waiter| format!("{} {}", waiter.name, waiter.thread));
            Text(short(waited.collect(), ", "))
        }),
        ("ms", |row| Number(row.ms)),
        ("core·ms", |row| Number(row.core_ms)),
        ("most waiting", |row| Count(row.most_waiting.into())),
    ];
    let [ms, core_ms] = [found.ms, found.core_ms].map(|value| Number(value).text());
    let title = format!("longest overloads; total: {}, {ms} ms, {core_ms} core·ms", found.count);
    Sheet::new(title, 4, &columns, &found.longest)
}

fn others_on_the_cores(others: &Others) -> Sheet {
    let columns: [Column<&Other>; 3] = [
        ("process", |row| Text(numbered(&row.process, row.pid))),
        ("CPU (s)", |row| Number(row.cpu_s)),
        (WAITED_FOR, |row| Number(row.waiting_ms)),
    ];
    let [cpu, waiting] = [others.cpu_s, others.waiting_ms].map(|value| Number(value).text());
    let title = format!(
        "others on the cores: processes outside the command ran {cpu} core·s; its threads waited {waiting} ms for them"
    );
    Sheet::new(title, 1, &columns, &others.processes)
}

fn programs(path: &CriticalPath) -> Sheet {
    let columns: [Column<&ProgramOnPath>; 4] = [
        ("program", |row| Text(row.program.clone())),
        ("runs (s)", |row| Number(row.run_s)),
        ("waits for a core", |row| Number(row.ready_s)),
        ("sleeps, devices, others", |row| Number(row.wait_s)),
    ];
    let [total, run, ready, wait] =
        [path.total_s, path.run_s, path.ready_s, path.wait_s].map(|value| Number(value).text());
    let title = format!(
        "where the time goes: on the critical path of {total} s, {run} s run, {ready} s wait for a core, {wait} s for timers, devices and other processes"
    );
    Sheet::new(title, 1, &columns, &path.programs)
}

fn waits(path: &CriticalPath) -> Sheet {
    let total = Number(path.total_s).text();
    let columns: [Column<&PathWait>; 5] = [
        ("from (s)", |row| moment(row.begin_s)),
        ("thread", |row| Text(row.thread.to_string())),
        ("name", |row| Text(row.name.clone())),
        ("waits for", |row| Text(row.reason.name().into())),
        ("ms", |row| Number(row.ms)),
    ];
    Sheet::new(format!("its longest waits, of {total} s"), 4, &columns, &path.longest)
}

/// The first four items of a list.
fn short(list: Vec<String>, separator: &str) -> String {
    let more = if list.len() > 4 { " …" } else { "" };
    list.iter().take(4).cloned().collect::<Vec<_>>().join(separator) + more
}

/// `0-3 7 9-10`
fn ranges(cores: &[CoreId]) -> String {
    let ranges = cores.chunk_by(|a, b| u32::from(*a) + 1 == u32::from(*b));
    let text = |range: &[CoreId]| match range {
        [first, .., last] => format!("{first}-{last}"),
        range => range.iter().map(CoreId::to_string).collect(),
    };
    short(ranges.map(text).collect(), " ")
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
