//! The metrics, computed while the events pass by.
//!
//! Memory is in proportion to cores and threads, and the work per event does not depend on how
//! many of either there are.

mod frequency;
mod inversion;
mod latency;
mod overload;
mod state;
mod summary;
mod underload;

pub(crate) use inversion::{BINS as FREQUENCY_BINS, Class};
pub use inversion::{Inversion, bin};
pub use overload::Overload;
pub use state::{CoreState, Observer, Occupant, Place, State};
pub use summary::{Latency, Migrations, Residency, Summary};
pub use underload::INTERVAL as UNDERLOAD_INTERVAL;
pub use underload::Underload;

use crate::Trace;
use crate::event::{CoreId, CoreInfo, Event, Header, Kind, Sink, Time};
use frequency::Frequency;
use latency::Latencies;
use std::collections::BTreeSet;

/// A busy core is inverted if it is slower than an idle one by more than this.
pub const INVERSION_THRESHOLD_PERCENT: u32 = 10;

/// Takes events one by one, and says what they amount to.
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
    /// Up to when the meters have measured.
    measured: Time,
    events: u64,
    skipped: u64,
    underload: u64,
    context_switches: u64,
    wakeups: u64,
    /// By reason.
    placements: Vec<u64>,
    reasons: Vec<String>,
    /// Since when each core spins.
    spinning: Vec<Option<Time>>,
    spun_ns: u64,
}

/// What follows the state of the cores.
struct Meters {
    cores: Vec<CoreInfo>,
    underload: Underload,
    overload: Overload,
    inversion: Inversion,
    frequency: Frequency,
    latencies: Latencies,
    migrations: Migrations,
}

impl Metrics {
    /// Of the header, the cores, reasons and threads (which of them are traced) are used.
    /// Threads that it does not list, as at the beginning of a simulation, inherit from their
    /// parents whether they are traced; without a parent they are.
    pub fn new(header: &Header) -> Self {
        Self::with_inversion_threshold(header, INVERSION_THRESHOLD_PERCENT)
    }

    /// With another threshold of frequency inversion than 10 %.
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
                latencies: Latencies::new(),
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

    /// The numbers of a run of `duration` nanoseconds (at least up to the last event).
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

    /// Takes the meters, for which all has been as it is, up to now.
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
        // Time never runs backwards, even where a damaged trace says so.
        self.now = self.now.max(event.time);
        match event.kind {
            Kind::Switch { prev, next, .. } if prev != next => {
                self.context_switches += u64::from(self.state.traced(prev) || self.state.traced(next));
            }
            Kind::Wakeup { thread, .. } => self.wakeups += u64::from(self.state.traced(thread)),
            Kind::Place { reason, .. } => return self.place(reason),
            Kind::Spin { on } => return self.spin(event.core, on),
            // The state does not follow these, so the meters need not look up.
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
    #[inline(always)] // see `state::Touched`
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

/// Counts under the names of their reasons. A reason without a name gets its number.
fn named(counts: &[u64], reasons: &[String]) -> std::collections::BTreeMap<String, u64> {
    let mut named = std::collections::BTreeMap::new();
    for (reason, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let name = reasons.get(reason).cloned().unwrap_or_else(|| format!("reason {reason}"));
        *named.entry(name).or_default() += count;
    }
    named
}

impl Trace {
    /// The metrics of the whole trace, with what the header says of energy and losses.
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
