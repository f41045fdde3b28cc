//! The longest frequency inversions: a thread runs on a slow core while a faster one is idle.

use crate::analysis::coreset::CoreSet;
use crate::analysis::names::Names;
use crate::analysis::top::Top;
use crate::analysis::{Consumer, ghz, ms, seconds};
use hearth_trace::follow::{CoreState, Observer, Place, bin};
use hearth_trace::{CoreId, INVERSION_THRESHOLD_PERCENT, Tid, Time};
use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Inversions {
    /// Number of inversions: `inversions` of the summary.
    pub count: u64,
    /// Total length: `inversion_core_ms` of the summary.
    pub core_ms: f64,
    /// The longest first.
    pub longest: Vec<Inversion>,
}

/// An episode in which a core was busy and more than 10% slower than an idle one.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Inversion {
    pub begin_s: f64,
    pub ms: f64,
    pub core: CoreId,
    /// The core's frequency and thread at the beginning.
    pub ghz: f64,
    pub thread: Tid,
    pub name: String,
    /// Number of threads that ran on the core in it.
    pub runs: u64,
    /// The fastest idle core at the beginning; among several, the first.
    pub idle_core: CoreId,
    pub idle_ghz: f64,
}

/// As `hearth_trace::follow::Inversion`: 12.7 GHz and above share the last bin.
const BINS: usize = 128;

/// Follows which cores are inverted. Cores are in sets by frequency, so that a change of the fastest
/// idle core only visits the cores whose inversion begins or ends.
pub struct Tracker {
    classes: Vec<Class>,
    busy: Vec<CoreSet>,
    idle: Vec<CoreSet>,
    /// Bit `b` is set while a core is in bin `b`.
    busy_bins: u128,
    idle_bins: u128,
    /// Busy cores in the bins from 1 to `limit` (exclusive) are inverted.
    limit: usize,
    khz: Vec<u32>,
    threads: Vec<Tid>,
    open: Vec<Option<Open>>,
    count: u64,
    ns: Time,
    top: Top<(CoreId, Time, Time, Open)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Class {
    Busy(usize),
    Idle(usize),
    #[default]
    Neither,
}

/// An inversion in progress.
#[derive(Clone, Copy)]
struct Open {
    begin: Time,
    order: u64,
    khz: u32,
    thread: Tid,
    runs: u64,
    idle_core: CoreId,
    idle_khz: u32,
}

impl Tracker {
    pub fn new(cores: usize, most: usize) -> Self {
        Tracker {
            classes: vec![Class::Neither; cores],
            busy: vec![CoreSet::new(cores); BINS],
            idle: vec![CoreSet::new(cores); BINS],
            busy_bins: 0,
            idle_bins: 0,
            limit: 0,
            khz: vec![0; cores],
            threads: vec![0; cores],
            open: vec![None; cores],
            count: 0,
            ns: 0,
            top: Top::new(most),
        }
    }

    pub fn finish(mut self, now: Time, names: &Names) -> Inversions {
        (0..self.open.len()).for_each(|core| self.end(now, core));
        let row = |(core, begin, ns, open): (CoreId, Time, Time, Open)| Inversion {
            begin_s: seconds(begin),
            ms: ms(ns),
            core,
            ghz: ghz(open.khz),
            thread: open.thread,
            name: names.thread(open.thread),
            runs: open.runs,
            idle_core: open.idle_core,
            idle_ghz: ghz(open.idle_khz),
        };
        Inversions {
            count: self.count,
            core_ms: ms(self.ns),
            longest: self.top.into_items().into_iter().map(row).collect(),
        }
    }

    /// Inserts the core into its bin or removes it.
    fn set_member(&mut self, core: usize, class: Class, member: bool) {
        let (sets, bins, bin) = match class {
            Class::Busy(bin) => (&mut self.busy, &mut self.busy_bins, bin),
            Class::Idle(bin) => (&mut self.idle, &mut self.idle_bins, bin),
            Class::Neither => return,
        };
        sets[bin].set(core, member);
        if member {
            *bins |= 1 << bin;
        } else if sets[bin].is_empty() {
            *bins &= !(1 << bin);
        }
    }

    /// Recomputes `limit` after a change of the fastest idle core.
    fn move_limit(&mut self, now: Time) {
        let fastest = self.fastest();
        let limit = (fastest * (100 - INVERSION_THRESHOLD_PERCENT as usize)).div_ceil(100);
        let (low, high) = (limit.min(self.limit).max(1), limit.max(self.limit).max(1));
        self.limit = limit;
        for bin in (low..high).filter(|bin| self.busy_bins >> bin & 1 == 1).collect::<Vec<_>>() {
            for core in self.busy[bin].clone().iter() {
                self.update(now, core);
            }
        }
    }

    /// The bin of the fastest idle core, or 0.
    fn fastest(&self) -> usize {
        127 - (self.idle_bins | 1).leading_zeros() as usize
    }

    /// Begins or ends the inversion of the core as its state requires.
    fn update(&mut self, now: Time, core: usize) {
        let inverted = matches!(self.classes[core], Class::Busy(bin) if bin < self.limit);
        if !inverted {
            self.end(now, core);
        } else if self.open[core].is_none() {
            let idle = self.idle[self.fastest()].first().unwrap_or_default();
            self.count += 1;
            self.open[core] = Some(Open {
                begin: now,
                order: self.count,
                khz: self.khz[core],
                thread: self.threads[core],
                runs: 1,
                idle_core: idle as CoreId,
                idle_khz: self.khz[idle],
            });
        }
    }

    fn end(&mut self, now: Time, core: usize) {
        if let Some(open) = self.open[core].take() {
            let ns = now - open.begin;
            self.ns = self.ns.saturating_add(ns);
            self.top.push(open.begin, ns, open.order, (core as CoreId, open.begin, ns, open));
        }
    }
}

impl Consumer for Tracker {}

impl Observer for Tracker {
    fn core(&mut self, now: Time, core: usize, _: CoreState, after: CoreState) {
        self.khz[core] = after.khz;
        let class = match bin(after.khz) {
            0 => Class::Neither,
            bin if after.busy() => Class::Busy(bin),
            bin if after.idle() => Class::Idle(bin),
            _ => Class::Neither,
        };
        let before = std::mem::replace(&mut self.classes[core], class);
        if before != class {
            self.set_member(core, before, false);
            self.set_member(core, class, true);
            self.move_limit(now);
            self.update(now, core);
        }
    }

    fn runnable(&mut self, _: u32) {}

    fn thread(&mut self, _: Time, thread: Tid, _: Place, after: Place) {
        if let Place::Running(core) = after {
            let core = usize::from(core);
            self.threads[core] = thread;
            if let Some(open) = &mut self.open[core] {
                open.runs += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Request;
    use crate::analysis::testing::*;
    use hearth_trace::{Stop, Trace};
    use proptest::prelude::*;

    fn longest(trace: &Trace, most: usize) -> Inversions {
        find(trace, Request { inversions: Some(most), ..Request::default() }).inversions.unwrap()
    }

    /// Core 0 is busy at 2.0 GHz. Core 2 is idle at 3.0 GHz from 1 ms on: an inversion until core 0
    /// reaches 2.7 at 4 ms, with thread 2 instead of 1 from 3 ms. Core 1 is idle at 3.6 GHz from 5 ms:
    /// an inversion until it is busy 1 ms later. Core 2 stays idle at 3.0, for which 2.7 is enough.
    #[test]
    fn lists_inversions() {
        let mut trace = trace(
            3,
            10 * MS,
            &[
                khz(0, 0, 20),
                run(0, 0, 1),
                khz(MS, 2, 30),
                switch(3 * MS, 0, 1, Stop::Preempted, 2),
                khz(4 * MS, 0, 27),
                khz(5 * MS, 1, 36),
                run(6 * MS, 1, 3),
            ],
        );
        trace.header.threads = vec![thread(1, "one"), thread(2, "two")];
        let first = Inversion {
            begin_s: 0.001,
            ms: 3.0,
            core: 0,
            ghz: 2.0,
            thread: 1,
            name: "one".into(),
            runs: 2,
            idle_core: 2,
            idle_ghz: 3.0,
        };
        let second = Inversion {
            begin_s: 0.005,
            ms: 1.0,
            ghz: 2.7,
            thread: 2,
            name: "two".into(),
            runs: 1,
            idle_core: 1,
            idle_ghz: 3.6,
            ..first.clone()
        };
        let both = Inversions { count: 2, core_ms: 4.0, longest: vec![first.clone(), second] };
        assert_eq!(longest(&trace, 10), both);
        assert_eq!(longest(&trace, 1).longest, [first]);
    }

    /// An inversion that is still open at the end of the trace ends there.
    #[test]
    fn the_end_of_the_trace_ends_inversions() {
        let found = longest(&trace(2, 9 * MS, &[khz(0, 0, 10), khz(0, 1, 20), run(2 * MS, 0, 1)]), 5);
        assert_eq!((found.longest[0].begin_s, found.longest[0].ms), (0.002, 7.0));
    }

    /// Length, begin and core of all inversions, computed from moments.
    fn reference(trace: &Trace) -> Vec<(u64, u64, usize)> {
        let all = moments(trace);
        let mut found = Vec::new();
        for core in 0..usize::from(CORES) {
            let mut begin = None;
            for at in &all {
                match (begin, inverted(at, core)) {
                    (None, true) => begin = Some(at.time),
                    (Some(since), false) => {
                        found.push((at.time - since, since, core));
                        begin = None;
                    }
                    _ => {}
                }
            }
            found.extend(begin.map(|since| (trace.header.duration - since, since, core)));
        }
        found.sort();
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn agrees_with_the_definition(steps in steps()) {
            let trace = play(&steps);
            let (found, whole) = (longest(&trace, usize::MAX), trace.summary());
            prop_assert_eq!((found.count, found.core_ms), (whole.inversions, whole.inversion_core_ms));
            let mut ours: Vec<_> = (found.longest.iter())
                .map(|row| ((row.ms * 1e6).round() as u64, (row.begin_s * 1e9).round() as u64, usize::from(row.core)))
                .collect();
            ours.sort();
            prop_assert_eq!(ours, reference(&trace));
            for row in &found.longest {
                prop_assert!(row.ghz < 0.9 * row.idle_ghz && row.core != row.idle_core && row.thread != 0);
            }
        }
    }
}
