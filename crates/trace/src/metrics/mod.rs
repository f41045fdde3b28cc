//! Streaming metrics.
//!
//! Memory is proportional to the number of cores and threads. The work per event does not depend on
//! either.

mod frequency;
mod inversion;
mod latency;
mod overload;
mod state;
mod summary;
mod underload;

pub(crate) use inversion::{BINS as FREQUENCY_BINS, Class};
pub use inversion::{Inversion, bin};
pub use latency::Histogram;
pub use overload::Overload;
pub use state::{CoreState, Observer, Occupant, Place, State};
pub use summary::{Latency, Migrations, Residency, Summary};
pub use underload::INTERVAL as UNDERLOAD_INTERVAL;
pub use underload::Underload;

use crate::Trace;
use crate::event::{CoreId, CoreInfo, Event, Header, Kind, Sink, Time};
use frequency::Frequency;
use std::collections::BTreeSet;

/// A busy core is inverted if it is slower than an idle one by more than this percentage.
pub const INVERSION_THRESHOLD_PERCENT: u32 = 10;

/// Computes the metrics of a stream of events.
///
/// ```
/// use hearth_trace::*;
/// let header = Header { cores: vec![CoreInfo::default(); 2], ..Header::default() };
/// let mut metrics = Metrics::new(&header);
/// metrics.event(&Event { time: 0, core: 1, kind: Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: 7 } });
/// assert_eq!(metrics.finish(1_000_000).cores_used, 1);
/// ```
pub struct Metrics {
    state: State,
    meters: Meters,
    now: Time,
    /// Time up to which the meters have integrated.
    measured: Time,
    events: u64,
    skipped: u64,
    underload: u64,
    context_switches: u64,
    wakeups: u64,
    /// Count by reason.
    placements: Vec<u64>,
    reasons: Vec<String>,
    /// Time at which each core started to spin.
    spinning: Vec<Option<Time>>,
    spun_ns: u64,
}

/// Meters that observe the state of the cores.
struct Meters {
    cores: Vec<CoreInfo>,
    underload: Underload,
    overload: Overload,
    inversion: Inversion,
    frequency: Frequency,
    latencies: Histogram,
    migrations: Migrations,
}

impl Metrics {
    /// Uses the cores, reasons and threads (whether they are traced) of the header. A thread that
    /// the header does not list, as at the start of a simulation, inherits `traced` from its
    /// parent; without a parent it is traced.
    pub fn new(header: &Header) -> Self {
        Self::with_inversion_threshold(header, INVERSION_THRESHOLD_PERCENT)
    }

    /// Like [`Metrics::new`], with a threshold of frequency inversion other than 10 %.
    pub fn with_inversion_threshold(header: &Header, percent: u32) -> Self {
        let n = header.cores.len();
        Metrics {
            state: State::new(header),
            meters: Meters {
                cores: header.cores.clone(),
                underload: Underload::new(n),
                overload: Overload::new(n),
                inversion: Inversion::new(percent),
                frequency: Frequency::new(n),
                latencies: Histogram::default(),
                migrations: Migrations::default(),
            },
            now: 0,
            measured: 0,
            events: 0,
            skipped: 0,
            underload: 0,
            context_switches: 0,
            wakeups: 0,
            placements: vec![0; header.reasons.len()],
            reasons: header.reasons.clone(),
            spinning: vec![None; n],
            spun_ns: 0,
        }
    }

    /// Metrics of a run of `duration` nanoseconds, or until the last event if that is later.
    pub fn finish(mut self, duration: Time) -> Summary {
        self.now = self.now.max(duration);
        self.measure();
        let duration = self.now;
        self.underload += u64::from(self.meters.underload.finish().map_or(0, |(_, underload)| underload));
        for (core, state) in self.state.cores().iter().enumerate() {
            self.meters.frequency.settle(duration, core, *state);
        }
        for since in self.spinning.iter().flatten() {
            self.spun_ns = self.spun_ns.saturating_add(duration - since);
        }
        let cores_used_per_tick = self.meters.underload.cores_used();
        let Meters { cores, overload, inversion, frequency, latencies, migrations, .. } = self.meters;
        let used =
            || frequency.used.iter().zip(&cores).filter(|(used, _)| **used).map(|(_, core)| core.socket);
        let seconds = duration as f64 / 1e9;
        Summary {
            duration_s: seconds,
            events: self.events,
            skipped_events: self.skipped,
            lost_events: None,
            energy_j: None,
            underload_per_s: if duration == 0 { 0.0 } else { self.underload as f64 / seconds },
            overload_core_ms: overload.core_ms(),
            inversion_core_ms: inversion.core_ms(),
            inversions: inversion.count,
            cores_used: used().count() as u32,
            sockets_used: used().collect::<BTreeSet<_>>().len() as u32,
            cores_used_per_tick,
            busy_core_s: frequency.busy_core_s(),
            busy_ghz_mean: frequency.mean_ghz(),
            frequency_residency: frequency.residency(),
            frequency_unknown_ms: frequency.unknown_ms(),
            wakeup_latency_us: latencies.summary(),
            wakeups: self.wakeups,
            context_switches: self.context_switches,
            migrations: migrations.total(),
            migrations_by_distance: migrations,
            placements: named(&self.placements, &self.reasons),
            spin_core_ms: self.spun_ns as f64 / 1e6,
        }
    }

    /// Advances the meters to the current time.
    #[inline]
    fn measure(&mut self) {
        let ns = self.now - self.measured;
        if ns == 0 {
            return;
        }
        self.measured = self.now;
        self.meters.overload.advance(ns);
        self.meters.inversion.advance(ns);
        if let Some((_, underload)) = self.meters.underload.advance(self.now) {
            self.underload += u64::from(underload);
        }
    }

    fn place(&mut self, reason: u16) {
        let reason = usize::from(reason);
        if reason >= self.placements.len() {
            self.placements.resize(reason + 1, 0);
        }
        self.placements[reason] += 1;
    }

    fn spin(&mut self, core: CoreId, on: bool) {
        let since = &mut self.spinning[usize::from(core)];
        match (on, *since) {
            (true, None) => *since = Some(self.now),
            (false, Some(begin)) => {
                self.spun_ns = self.spun_ns.saturating_add(self.now - begin);
                *since = None;
            }
            _ => {}
        }
    }
}

impl Sink for Metrics {
    fn event(&mut self, event: &Event) {
        self.events += 1;
        if !self.state.possible(event) {
            self.skipped += 1;
            return;
        }
        // Time never goes back, even in a damaged trace.
        self.now = self.now.max(event.time);
        match event.kind {
            Kind::Switch { prev, next, .. } if prev != next => {
                self.context_switches += u64::from(self.state.traced(prev) || self.state.traced(next));
            }
            Kind::Wakeup { thread, .. } => self.wakeups += u64::from(self.state.traced(thread)),
            Kind::Place { reason, .. } => return self.place(reason),
            Kind::Spin { on } => return self.spin(event.core, on),
            // These do not change the state, so the meters need not advance.
            Kind::Idle { .. } | Kind::Queue { .. } | Kind::Set { .. } => return,
            Kind::Exec { .. } | Kind::Exit { .. } | Kind::Wait { .. } => return,
            Kind::Tick { .. } if self.state.exact(event.core.into()) => return,
            _ => {}
        }
        self.measure();
        self.state.apply(&Event { time: self.now, ..*event }, &mut self.meters);
    }
}

impl Observer for Meters {
    #[inline(always)] // keeps the states in registers, see `state::Touched`
    fn core(&mut self, now: Time, core: usize, before: CoreState, after: CoreState) {
        self.underload.core(core, before, after);
        self.overload.core(before, after);
        self.inversion.core(before, after);
        self.frequency.core(now, core, before, after);
    }

    fn runnable(&mut self, count: u32) {
        self.underload.runnable(count);
    }

    fn start(&mut self, core: CoreId, waited: Option<Time>, from: Option<CoreId>) {
        if let Some(ns) = waited {
            self.latencies.record(ns);
        }
        let Some(from) = from.filter(|from| *from != core) else { return };
        let (a, b) = (self.cores[usize::from(from)], self.cores[usize::from(core)]);
        let count = match () {
            () if a.physical == b.physical => &mut self.migrations.smt,
            () if a.llc == b.llc => &mut self.migrations.llc,
            () if a.numa == b.numa => &mut self.migrations.numa,
            () => &mut self.migrations.machine,
        };
        *count += 1;
    }
}

/// Counts by reason name. A reason without a name gets its number.
fn named(counts: &[u64], reasons: &[String]) -> std::collections::BTreeMap<String, u64> {
    let mut named = std::collections::BTreeMap::new();
    for (reason, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let name = reasons.get(reason).cloned().unwrap_or_else(|| format!("reason {reason}"));
        *named.entry(name).or_default() += count;
    }
    named
}

impl Trace {
    /// Metrics of the whole trace, including energy and lost events from the header.
    pub fn summary(&self) -> Summary {
        let mut metrics = Metrics::new(&self.header);
        self.events.iter().for_each(|event| metrics.event(event));
        Summary {
            lost_events: Some(self.header.lost.iter().fold(0, |sum, lost| sum.saturating_add(*lost))),
            energy_j: (self.header.energy_uj > 0).then_some(self.header.energy_uj as f64 / 1e6),
            ..metrics.finish(self.header.duration)
        }
    }
}

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
