//! Reports on traces: metrics by interval, thread and process, counts of wake-ups between processes, the longest
//! frequency inversions and overloads, the critical path, and plots.
//!
//! [`Analysis`] computes all in one pass over the events. Its memory is linear in cores, threads and requested
//! rows. Like the metrics, it uses [`hearth_trace::follow::State`], so that the sums over the rows equal those of
//! [`hearth_trace::Summary`].

mod coreset;
mod intervals;
mod inversions;
mod names;
mod others;
mod overloads;
mod path;
pub mod plot;
mod ratio;
mod sketch;
mod sql;
mod table;
#[cfg(test)]
mod testing;
mod threads;
mod top;
mod underload;
mod wakers;

pub use intervals::{ByInterval, Interval, MOST_INTERVALS};
pub use inversions::{Inversion, Inversions};
pub use names::Names;
pub use others::{Other, Others};
pub use overloads::{Overload, Overloads, Queue, Waiter};
pub use path::{CriticalPath, PathWait, ProgramOnPath, WaitFor};
pub use ratio::ratios;
pub use sql::sql_views;
pub use threads::{Load, ProcessRow, ThreadRow};
pub use underload::{UnderloadColumn, UnderloadSeries};
pub use wakers::WakerPair;

use hearth_trace::follow::{CoreState, Observer, Place, State};
use hearth_trace::{CoreId, Event, Header, Sink, Tid, Time};
use std::collections::HashMap;

/// The requested analyses; no others are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Request {
    /// Length of the intervals, in nanoseconds.
    pub interval: Option<Time>,
    /// Statistics of threads and processes.
    pub threads: bool,
    /// Take all threads of one name for a process, also where the processes are known. For traces that are compared:
    /// they have different processes.
    pub by_name: bool,
    pub wakers: bool,
    /// Number of inversions to list.
    pub inversions: Option<usize>,
    /// Number of overloads to list.
    pub overloads: Option<usize>,
    /// Underload over time, for plots.
    pub underload: bool,
    /// Number of processes outside the command to list.
    pub others: Option<usize>,
    /// Number of waits on the critical path to list. The path's memory is linear in the switches on it.
    pub path: Option<usize>,
}

/// The results of the requested analyses.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Findings {
    pub intervals: Option<ByInterval>,
    /// Most CPU time first.
    pub threads: Option<Vec<ThreadRow>>,
    pub processes: Option<Vec<ProcessRow>>,
    /// Most wake-ups first.
    pub wakers: Option<Vec<WakerPair>>,
    pub inversions: Option<Inversions>,
    pub overloads: Option<Overloads>,
    pub others: Option<Others>,
    pub underload: Option<UnderloadSeries>,
    /// `None` if no thread of the command exits, too.
    pub path: Option<CriticalPath>,
}

/// An analysis that follows events and the state of cores and threads.
trait Consumer: Observer {
    /// Time advances to `now`. The state has not changed since the last event.
    fn advance(&mut self, _now: Time) {}

    /// Called before the state applies the event.
    fn event(&mut self, _state: &State, _event: &Event) {}
}

fn processes_of(header: &Header, request: Request) -> Names {
    if request.by_name { Names::new(header) } else { Names::of_processes(header) }
}

/// Consumes the events of a trace and computes the requested analyses.
pub struct Analysis {
    state: State,
    names: Names,
    processes: Names,
    numbers: HashMap<Tid, threads::Numbers>,
    now: Time,
    parts: Parts,
}

struct Parts {
    intervals: Option<intervals::Intervals>,
    threads: Option<threads::Threads>,
    wakers: Option<wakers::Wakers>,
    inversions: Option<inversions::Tracker>,
    overloads: Option<overloads::Tracker>,
    others: Option<others::Tracker>,
    underload: Option<underload::Columns>,
    path: Option<path::Tracker>,
}

impl Analysis {
    pub fn new(header: &Header, request: Request) -> Self {
        let cores = header.cores.len();
        let parts = Parts {
            intervals: request.interval.map(|width| intervals::Intervals::new(cores, width)),
            threads: request.threads.then(|| threads::Threads::new(cores)),
            wakers: request.wakers.then(|| wakers::Wakers::new(header, processes_of(header, request))),
            inversions: request.inversions.map(|most| inversions::Tracker::new(cores, most)),
            overloads: request.overloads.map(|most| overloads::Tracker::new(cores, most)),
            others: request.others.map(|most| others::Tracker::new(header, most)),
            underload: request.underload.then(|| underload::Columns::new(cores)),
            path: request.path.map(path::Tracker::new),
        };
        let processes = processes_of(header, request);
        Analysis {
            state: State::new(header),
            names: Names::new(header),
            processes,
            numbers: if request.threads { threads::Numbers::of(header) } else { HashMap::new() },
            now: 0,
            parts,
        }
    }

    /// The results for a run of `duration` nanoseconds, or up to the last event if that is later.
    pub fn finish(mut self, duration: Time) -> Findings {
        self.advance(duration);
        let (now, names, processes, parts) = (self.now, &self.names, &self.processes, self.parts);
        let threads = parts.threads.map(|threads| threads.finish(now, &self.state));
        Findings {
            intervals: parts.intervals.map(|intervals| intervals.finish(now)),
            processes: threads.as_ref().map(|threads| threads::processes(threads, processes)),
            threads: threads.map(|threads| threads::rows(threads, names, &self.numbers)),
            wakers: parts.wakers.map(|wakers| wakers.finish()),
            inversions: parts.inversions.map(|tracker| tracker.finish(now, names)),
            overloads: parts.overloads.map(|tracker| tracker.finish(now, names)),
            others: parts.others.map(|tracker| tracker.finish(now, processes)),
            underload: parts.underload.map(|columns| columns.finish(now)),
            path: parts.path.and_then(|tracker| tracker.finish(names)),
        }
    }

    fn advance(&mut self, time: Time) {
        if time > self.now {
            self.now = time;
            self.parts.advance(time);
        }
    }
}

impl Sink for Analysis {
    fn event(&mut self, event: &Event) {
        // As in the metrics, impossible events are skipped and time never decreases.
        if self.state.possible(event) {
            self.advance(event.time);
            let event = Event { time: self.now, ..*event };
            self.parts.event(&self.state, &event);
            self.state.apply(&event, &mut self.parts);
        }
    }
}

/// Calls the method on each requested part.
macro_rules! each {
    ($parts:expr, $method:ident($($argument:expr),*)) => {{
        let Parts { intervals, threads, wakers, inversions, overloads, others, underload, path } = $parts;
        if let Some(part) = intervals { part.$method($($argument),*); }
        if let Some(part) = threads { part.$method($($argument),*); }
        if let Some(part) = wakers { part.$method($($argument),*); }
        if let Some(part) = inversions { part.$method($($argument),*); }
        if let Some(part) = overloads { part.$method($($argument),*); }
        if let Some(part) = others { part.$method($($argument),*); }
        if let Some(part) = underload { part.$method($($argument),*); }
        if let Some(part) = path { part.$method($($argument),*); }
    }};
}

impl Consumer for Parts {
    fn advance(&mut self, now: Time) {
        each!(self, advance(now));
    }

    fn event(&mut self, state: &State, event: &Event) {
        each!(self, event(state, event));
    }
}

impl Observer for Parts {
    fn core(&mut self, now: Time, core: usize, before: CoreState, after: CoreState) {
        each!(self, core(now, core, before, after));
    }

    fn runnable(&mut self, count: u32) {
        each!(self, runnable(count));
    }

    fn start(&mut self, core: CoreId, waited: Option<Time>, from: Option<CoreId>) {
        each!(self, start(core, waited, from));
    }

    fn run(&mut self, now: Time, thread: Tid, core: CoreId, waited: Option<Time>, from: Option<CoreId>) {
        each!(self, run(now, thread, core, waited, from));
    }

    fn thread(&mut self, now: Time, thread: Tid, before: Place, after: Place) {
        each!(self, thread(now, thread, before, after));
    }
}

fn seconds(ns: Time) -> f64 {
    ns as f64 / 1e9
}

fn ms(ns: Time) -> f64 {
    ns as f64 / 1e6
}

fn ghz(khz: u32) -> f64 {
    f64::from(khz) / 1e6
}
