//! The metrics of each interval of a trace.

use crate::analysis::coreset::CoreSet;
use crate::analysis::sketch::Sketch;
use crate::analysis::{Consumer, ms, seconds};
use hearth_trace::follow::{CoreState, Inversion, Observer, Occupant, Overload, State, Underload};
use hearth_trace::{CoreId, Event, INVERSION_THRESHOLD_PERCENT, Kind, Latency, Time, UNDERLOAD_INTERVAL};
use serde::{Deserialize, Serialize};

/// Largest number of rows. The last one contains the rest of a longer trace.
pub const MOST_INTERVALS: usize = 100_000;

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ByInterval {
    /// Length of an interval. The last one may be shorter.
    pub interval_s: f64,
    pub rows: Vec<Interval>,
}

/// The metrics of an interval, named and defined as those of the whole trace.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Interval {
    pub begin_s: f64,
    pub length_s: f64,
    pub events: u64,
    pub busy_core_s: f64,
    /// `None` if nothing ran or no frequency is known.
    pub busy_ghz_mean: Option<f64>,
    /// From the 4 ms intervals that begin in this one.
    pub underload_per_s: f64,
    pub overload_core_ms: f64,
    pub inversion_core_ms: f64,
    pub inversions: u64,
    /// Cores on which a traced thread ran in the interval.
    pub cores_used: u32,
    pub wakeups: u64,
    /// Of the threads that began to run in the interval. Percentiles are accurate to 0.8%.
    pub wakeup_latency_us: Latency,
    pub context_switches: u64,
    pub migrations: u64,
}

pub struct Intervals {
    width: Time,
    begin: Time,
    end: Time,
    now: Time,
    rows: Vec<Interval>,
    /// Underload by row. A 4 ms interval may end in a later row than it begins.
    underloads: Vec<u64>,
    underload: Underload,
    overload: Overload,
    inversion: Inversion,
    /// Values at the beginning of the row.
    overload_before: u64,
    inversion_before: (u64, u64),
    lanes: Vec<Lane>,
    /// Cores that run a traced thread now.
    running: CoreSet,
    /// Cores that did in the current row.
    used: CoreSet,
    /// Totals of the current row.
    busy: Time,
    known: Time,
    cycles: u128,
    latencies: Sketch,
    counts: Counts,
}

#[derive(Clone, Copy, Default)]
struct Lane {
    since: Time,
    khz: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Counts {
    events: u64,
    wakeups: u64,
    switches: u64,
    migrations: u64,
}

impl Intervals {
    pub fn new(cores: usize, width: Time) -> Self {
        let width = width.max(1);
        Intervals {
            width,
            begin: 0,
            end: width,
            now: 0,
            rows: Vec::new(),
            underloads: Vec::new(),
            underload: Underload::new(cores),
            overload: Overload::new(cores),
            inversion: Inversion::new(INVERSION_THRESHOLD_PERCENT),
            overload_before: 0,
            inversion_before: (0, 0),
            lanes: vec![Lane::default(); cores],
            running: CoreSet::new(cores),
            used: CoreSet::new(cores),
            busy: 0,
            known: 0,
            cycles: 0,
            latencies: Sketch::default(),
            counts: Counts::default(),
        }
    }

    pub fn finish(mut self, duration: Time) -> ByInterval {
        if let Some((index, underload)) = self.underload.finish() {
            self.add_underload(index, underload);
        }
        // Events at the end of the last whole interval have a row of length 0.
        if duration > self.begin || self.counts != Counts::default() {
            self.cut(duration);
        }
        for (row, underload) in self.rows.iter_mut().zip(&self.underloads) {
            row.underload_per_s = if row.length_s > 0.0 { *underload as f64 / row.length_s } else { 0.0 };
        }
        ByInterval { interval_s: seconds(self.width), rows: self.rows }
    }

    /// Ends the current row.
    fn cut(&mut self, at: Time) {
        for core in self.running.clone().iter() {
            self.settle(at, core);
        }
        let (overload, inversion) =
            (self.overload.core_ns(), (self.inversion.core_ns(), self.inversion.count));
        let Counts { events, wakeups, switches, migrations } = std::mem::take(&mut self.counts);
        let mean = |cycles: u128, known: Time| cycles as f64 / known as f64 / 1e6;
        self.rows.push(Interval {
            begin_s: seconds(self.begin),
            length_s: seconds(at - self.begin),
            events,
            busy_core_s: seconds(self.busy),
            busy_ghz_mean: (self.known > 0).then(|| mean(self.cycles, self.known)),
            underload_per_s: 0.0,
            overload_core_ms: ms(overload - self.overload_before),
            inversion_core_ms: ms(inversion.0 - self.inversion_before.0),
            inversions: inversion.1 - self.inversion_before.1,
            cores_used: self.used.len() as u32,
            wakeups,
            wakeup_latency_us: std::mem::take(&mut self.latencies).summary(),
            context_switches: switches,
            migrations,
        });
        (self.overload_before, self.inversion_before) = (overload, inversion);
        (self.busy, self.known, self.cycles) = (0, 0, 0);
        self.used = self.running.clone();
        self.begin = at;
        self.end =
            if self.rows.len() + 1 < MOST_INTERVALS { at.saturating_add(self.width) } else { Time::MAX };
    }

    /// Accounts the time of a core with a traced thread since its last change.
    fn settle(&mut self, now: Time, core: usize) {
        let lane = &mut self.lanes[core];
        let ns = now - std::mem::replace(&mut lane.since, now);
        self.busy = self.busy.saturating_add(ns);
        if lane.khz != 0 {
            self.known = self.known.saturating_add(ns);
            self.cycles += u128::from(lane.khz) * u128::from(ns);
        }
    }

    fn add_underload(&mut self, index: u64, underload: u32) {
        let row = (index.saturating_mul(UNDERLOAD_INTERVAL) / self.width) as usize;
        let row = row.min(MOST_INTERVALS - 1);
        if row >= self.underloads.len() {
            self.underloads.resize(row + 1, 0);
        }
        self.underloads[row] += u64::from(underload);
    }
}

impl Consumer for Intervals {
    fn advance(&mut self, now: Time) {
        while self.now < now {
            let to = now.min(self.end);
            self.overload.advance(to - self.now);
            self.inversion.advance(to - self.now);
            self.now = to;
            if to == self.end && self.rows.len() + 1 < MOST_INTERVALS {
                self.cut(to);
            }
        }
        if let Some((index, underload)) = self.underload.advance(now) {
            self.add_underload(index, underload);
        }
    }

    fn event(&mut self, state: &State, event: &Event) {
        self.counts.events += 1;
        match event.kind {
            Kind::Switch { prev, next, .. } if prev != next => {
                self.counts.switches += u64::from(state.traced(prev) || state.traced(next));
            }
            Kind::Wakeup { thread, .. } => self.counts.wakeups += u64::from(state.traced(thread)),
            _ => {}
        }
    }
}

impl Observer for Intervals {
    fn core(&mut self, now: Time, core: usize, before: CoreState, after: CoreState) {
        self.underload.core(core, before, after);
        self.overload.core(before, after);
        self.inversion.core(before, after);
        if (before.occupant, before.khz) == (after.occupant, after.khz) {
            return;
        }
        if before.occupant == Occupant::Traced {
            self.settle(now, core);
        }
        self.lanes[core] = Lane { since: now, khz: after.khz };
        let runs = after.occupant == Occupant::Traced;
        self.running.set(core, runs);
        if runs {
            self.used.insert(core);
        }
    }

    fn runnable(&mut self, count: u32) {
        self.underload.runnable(count);
    }

    fn start(&mut self, core: CoreId, waited: Option<Time>, from: Option<CoreId>) {
        if let Some(ns) = waited {
            self.latencies.record(ns);
        }
        self.counts.migrations += u64::from(from.is_some_and(|from| from != core));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::*;
    use crate::analysis::{Findings, Request};
    use hearth_trace::{Stop, Trace};
    use proptest::prelude::*;

    fn by(trace: &Trace, width: Time) -> ByInterval {
        let Findings { intervals, .. } = find(trace, Request { interval: Some(width), ..Request::default() });
        intervals.unwrap()
    }

    /// Thread 1 runs on core 0 at 2 GHz from 0 to 6 ms, then at 3 GHz to 12 ms. The rows of 5 ms have
    /// 5 ms at 2.0; 1 ms at 2.0 and 4 at 3.0; 2 at 3.0 and 1 idle. Thread 2 is woken at 4 ms and waits
    /// there to 12 ms while core 1 is idle: overload 1, 5 and 2 ms, latency 8 ms in the third row.
    #[test]
    fn rows_have_their_shares() {
        let trace = trace(
            2,
            13 * MS,
            &[
                khz(0, 0, 20),
                run(0, 0, 1),
                wake(4 * MS, 2, 0),
                khz(6 * MS, 0, 30),
                switch(12 * MS, 0, 1, Stop::Blocked, 2),
                switch(12 * MS, 0, 2, Stop::Blocked, 0),
            ],
        );
        let ByInterval { interval_s, rows } = by(&trace, 5 * MS);
        assert_eq!((interval_s, rows.len()), (0.005, 3));
        let of = |f: fn(&Interval) -> f64| rows.iter().map(f).collect::<Vec<_>>();
        assert_eq!(of(|r| r.begin_s), [0.0, 0.005, 0.01]);
        assert_eq!(of(|r| r.length_s), [0.005, 0.005, 0.003]);
        assert_eq!(of(|r| r.busy_core_s), [0.005, 0.005, 0.002]);
        assert_eq!(of(|r| r.busy_ghz_mean.unwrap()), [2.0, 2.8, 3.0]);
        assert_eq!(of(|r| r.overload_core_ms), [1.0, 5.0, 2.0]);
        assert_eq!(of(|r| r.wakeup_latency_us.max), [0.0, 0.0, 8000.0]);
        assert_eq!(of(|r| f64::from(r.cores_used)), [1.0; 3]);
        assert_eq!(of(|r| r.events as f64), [3.0, 1.0, 2.0]);
        assert_eq!(of(|r| r.wakeups as f64), [1.0, 0.0, 0.0]);
    }

    /// Events at the beginning of a row are in it. Events at the end of the trace are in a row of length 0.
    #[test]
    fn rows_include_events_at_their_beginning() {
        let events = [run(0, 0, 1), run(5 * MS, 1, 2), block(10 * MS, 0, 1)];
        let rows = by(&trace(2, 10 * MS, &events), 5 * MS).rows;
        let rows: Vec<_> = rows.iter().map(|r| (r.events, r.cores_used, r.length_s)).collect();
        assert_eq!(rows, [(1, 1, 0.005), (1, 2, 0.005), (1, 2, 0.0)]);
        let rows = by(&trace(2, 10 * MS, &events[..2]), 5 * MS).rows;
        assert_eq!(rows.len(), 2, "no event at the end");
    }

    #[test]
    fn rows_are_bounded() {
        let events = [run(0, 0, 1), block(u64::MAX, 0, 1)];
        let rows = by(&trace(1, 0, &events), 1).rows;
        assert_eq!(rows.len(), MOST_INTERVALS);
        assert_eq!(rows[MOST_INTERVALS - 1].events, 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn rows_add_up(steps in steps(), width in prop_oneof![Just(4 * MS), 1_000..50_000_000u64]) {
            let trace = play(&steps);
            prop_assume!(trace.header.duration / width < 50_000);
            let (rows, whole) = (by(&trace, width).rows, trace.summary());
            let sum = |f: &dyn Fn(&Interval) -> f64| rows.iter().map(f).sum::<f64>();
            prop_assert!(near(sum(&|r| r.length_s), whole.duration_s));
            prop_assert!(near(sum(&|r| r.busy_core_s), whole.busy_core_s));
            prop_assert!(near(sum(&|r| r.overload_core_ms), whole.overload_core_ms));
            prop_assert!(near(sum(&|r| r.inversion_core_ms), whole.inversion_core_ms));
            prop_assert!(near(sum(&|r| r.underload_per_s * r.length_s), whole.underload_per_s * whole.duration_s)
                || rows.last().is_some_and(|row| row.length_s == 0.0));
            let count = |f: &dyn Fn(&Interval) -> u64| rows.iter().map(f).sum::<u64>();
            prop_assert_eq!(count(&|r| r.events), whole.events);
            prop_assert_eq!(count(&|r| r.inversions), whole.inversions);
            prop_assert_eq!(count(&|r| r.wakeups), whole.wakeups);
            prop_assert_eq!(count(&|r| r.wakeup_latency_us.count), whole.wakeup_latency_us.count);
            prop_assert_eq!(count(&|r| r.context_switches), whole.context_switches);
            prop_assert_eq!(count(&|r| r.migrations), whole.migrations);
        }

        /// A row longer than the trace equals the summary.
        #[test]
        fn one_row_equals_the_summary(steps in steps()) {
            let trace = play(&steps);
            let (rows, whole) = (by(&trace, u64::MAX).rows, trace.summary());
            prop_assert_eq!(rows.len(), 1);
            prop_assert_eq!(rows[0].cores_used, whole.cores_used);
            prop_assert_eq!(rows[0].busy_ghz_mean.is_some(), whole.busy_ghz_mean.is_some());
            prop_assert!(near(rows[0].busy_ghz_mean.unwrap_or(0.0), whole.busy_ghz_mean.unwrap_or(0.0)));
            prop_assert!(near(rows[0].underload_per_s, whole.underload_per_s));
        }
    }
}
