//! What a claim needs to see of a run beyond its summary.

use crate::claims::{Metric, Quantity, Until};
use hearth_trace::{CoreId, Event, Header, IDLE, Kind, Metrics, Sink, Stop, Summary, Tid, Time};

/// Something to watch in a run.
#[derive(Clone, PartialEq, Debug)]
pub enum Watch {
    /// The metrics of the part of the run until then.
    Part(Until),
    /// The frequency of the core of the run's first thread.
    Ramp,
    /// The times from forks until the parents block.
    Forks,
    /// The busy time of each socket.
    Sockets,
}

impl Watch {
    /// What this quantity needs.
    pub fn of(quantity: &Quantity) -> Option<Watch> {
        match (&quantity.metric, &quantity.until) {
            (Metric::RiseMs | Metric::FallMs | Metric::SettleMs, _) => Some(Watch::Ramp),
            (Metric::ForkToWaitUs, _) => Some(Watch::Forks),
            (Metric::BusiestSocket, _) => Some(Watch::Sockets),
            (_, until) => until.clone().map(Watch::Part),
        }
    }
}

/// What was seen in a run.
#[derive(Clone, Debug, Default)]
pub enum Observation {
    Part(Box<Summary>),
    Ramp(RampTimes),
    /// The median in nanoseconds.
    Forks(Option<u64>),
    /// The busiest socket's share of the busy time.
    Sockets(Option<f64>),
    /// The end of the part did not come.
    #[default]
    Nothing,
}

/// Watches several things.
pub struct Observer(Vec<Watcher>);

enum Watcher {
    Part(Box<Part>),
    Ramp(Ramp),
    Forks(Forks),
    Sockets(Sockets),
}

impl Observer {
    /// `header` is that of the trace.
    pub fn new(watches: &[Watch], header: &Header) -> Observer {
        let watcher = |watch: &Watch| match watch {
            Watch::Part(until) => Watcher::Part(Box::new(Part::new(until, header))),
            Watch::Ramp => Watcher::Ramp(Ramp::default()),
            Watch::Forks => Watcher::Forks(Forks::new(header.cores.len())),
            Watch::Sockets => Watcher::Sockets(Sockets::new(header)),
        };
        Observer(watches.iter().map(watcher).collect())
    }

    /// What was seen, in the order of the watches, in a run of `duration` nanoseconds.
    pub fn finish(self, duration: Time) -> Vec<Observation> {
        let seen = |watcher| match watcher {
            Watcher::Part(part) => part.finish(duration),
            Watcher::Ramp(ramp) => Observation::Ramp(ramp.finish()),
            Watcher::Forks(forks) => Observation::Forks(forks.median()),
            Watcher::Sockets(sockets) => Observation::Sockets(sockets.busiest()),
        };
        self.0.into_iter().map(seen).collect()
    }
}

impl Sink for Observer {
    fn event(&mut self, event: &Event) {
        for watcher in &mut self.0 {
            match watcher {
                Watcher::Part(part) => part.event(event),
                Watcher::Ramp(ramp) => ramp.event(event),
                Watcher::Forks(forks) => forks.event(event),
                Watcher::Sockets(sockets) => sockets.event(event),
            }
        }
    }
}

// ---- A part of a run --------------------------------------------------------------------------------------

struct Part {
    metrics: Metrics,
    end: End,
    /// When the part ended.
    ended: Option<Time>,
}

enum End {
    At(Time),
    Exec(u32),
    Exit(Vec<Tid>),
}

impl Part {
    fn new(until: &Until, header: &Header) -> Part {
        let end = match until {
            Until::Seconds(seconds) => End::At((seconds * 1e9).round() as Time),
            // Book::parse found the name.
            Until::Exec(name) => {
                End::Exec(header.names.iter().position(|known| known == name).unwrap_or(usize::MAX) as u32)
            }
            Until::Exit(name) => {
                let named = header.threads.iter().filter(|thread| thread.name == *name);
                End::Exit(named.map(|thread| thread.tid).collect())
            }
        };
        Part { metrics: Metrics::new(header), end, ended: None }
    }

    fn event(&mut self, event: &Event) {
        if self.ended.is_some() {
            return;
        }
        let over = match (&self.end, event.kind) {
            (End::At(time), _) => (event.time >= *time).then_some(*time),
            (End::Exec(program), Kind::Exec { name, .. }) => (*program == name).then_some(event.time),
            (End::Exit(threads), Kind::Exit { thread }) => threads.contains(&thread).then_some(event.time),
            _ => None,
        };
        self.ended = over;
        if over.is_none() {
            self.metrics.event(event);
        }
    }

    fn finish(self, duration: Time) -> Observation {
        match (self.ended, self.end) {
            (Some(time), _) => Observation::Part(Box::new(self.metrics.finish(time))),
            (None, End::At(_)) => Observation::Part(Box::new(self.metrics.finish(duration))),
            (None, _) => Observation::Nothing,
        }
    }
}

// ---- Frequency of one core --------------------------------------------------------------------------------

/// A frequency transition, as in figure 3 of Fewer Cores: its times in milliseconds, `None` if the run ended before.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RampTimes {
    pub rise: Option<f64>,
    pub fall: Option<f64>,
    pub settle: Option<f64>,
    /// When the thread stopped, in seconds after its start.
    pub stop_s: f64,
    /// The core's frequencies in GHz, with their times in seconds after the thread's start.
    pub steps: Vec<(f64, f64)>,
}

/// The frequency of the core on which the first thread starts, and the thread's first stop.
#[derive(Default)]
struct Ramp {
    /// Core, thread and time of the start.
    start: Option<(CoreId, Tid, Time)>,
    end: Option<Time>,
    /// The frequencies of the core with their times, in order.
    steps: Vec<(Time, u32)>,
}

impl Ramp {
    fn event(&mut self, event: &Event) {
        match (event.kind, self.start) {
            (Kind::Switch { next, .. }, None) if next != IDLE => {
                self.start = Some((event.core, next, event.time));
            }
            (Kind::Switch { prev, stop: Stop::Blocked | Stop::Exited, .. }, Some((core, thread, _)))
                if self.end.is_none() && (event.core, prev) == (core, thread) =>
            {
                self.end = Some(event.time);
            }
            (Kind::Frequency { khz }, Some((core, ..))) if event.core == core => {
                self.steps.push((event.time, khz));
            }
            _ => {}
        }
    }

    fn finish(self) -> RampTimes {
        let (Some((.., start)), Some(end)) = (self.start, self.end) else { return RampTimes::default() };
        let ms = |from: Time, to: Time| (to - from) as f64 / 1e6;
        let (up, down) = self.steps.split_at(self.steps.partition_point(|step| step.0 <= end));
        let highest = up.iter().map(|step| step.1).max();
        let rise = up.iter().find(|step| Some(step.1) == highest).map(|step| ms(start, step.0));
        let lowest = down.iter().map(|step| step.1).min();
        let fall = down.iter().find(|step| Some(step.1) == lowest).map(|step| ms(end, step.0));
        // The last step that is not the lowest comes before the one that settles.
        let settled = down.iter().rposition(|step| Some(step.1) != lowest).map_or(0, |index| index + 1);
        let settle = down.get(settled).map(|step| ms(end, step.0));
        let steps =
            self.steps.iter().map(|step| (ms(start, step.0) / 1e3, f64::from(step.1) / 1e6)).collect();
        RampTimes { rise, fall, settle, stop_s: ms(start, end) / 1e3, steps }
    }
}

// ---- Forks ------------------------------------------------------------------------------------------------

/// For each core, its thread's last fork.
struct Forks {
    last: Vec<Option<(Tid, Time)>>,
    times: Vec<u64>,
}

impl Forks {
    fn new(cores: usize) -> Forks {
        Forks { last: vec![None; cores], times: Vec::new() }
    }

    fn event(&mut self, event: &Event) {
        let Some(last) = self.last.get_mut(usize::from(event.core)) else { return };
        match event.kind {
            Kind::Fork { parent, .. } => *last = Some((parent, event.time)),
            Kind::Switch { prev, stop, .. } => {
                if let Some((parent, time)) = last.take()
                    && (parent, stop) == (prev, Stop::Blocked)
                {
                    self.times.push(event.time - time);
                }
            }
            _ => {}
        }
    }

    fn median(mut self) -> Option<u64> {
        self.times.sort_unstable();
        self.times.get(self.times.len() / 2).copied()
    }
}

// ---- Sockets ----------------------------------------------------------------------------------------------

struct Sockets {
    /// The socket of each core, and since when it runs a thread.
    cores: Vec<(usize, Option<Time>)>,
    busy: Vec<Time>,
}

impl Sockets {
    fn new(header: &Header) -> Sockets {
        let cores: Vec<_> = header.cores.iter().map(|core| (usize::from(core.socket), None)).collect();
        let sockets = cores.iter().map(|core| core.0 + 1).max().unwrap_or(0);
        Sockets { cores, busy: vec![0; sockets] }
    }

    fn event(&mut self, event: &Event) {
        let Kind::Switch { next, .. } = event.kind else { return };
        let Some((socket, since)) = self.cores.get_mut(usize::from(event.core)) else { return };
        if let Some(begin) = since.take() {
            self.busy[*socket] += event.time - begin;
        }
        *since = (next != IDLE).then_some(event.time);
    }

    /// All threads have exited at the end of a run, so that no core is busy then.
    fn busiest(self) -> Option<f64> {
        let all: Time = self.busy.iter().sum();
        let most = self.busy.into_iter().max()?;
        (all > 0).then(|| most as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests;
