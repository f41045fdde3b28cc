//! Counts of wake-ups between processes.

use crate::analysis::Consumer;
use crate::analysis::names::{INTERRUPT, Name, Names, UNNAMED};
use crate::analysis::sketch::Sketch;
use crate::analysis::table::Table;
use hearth_trace::follow::{CoreState, Observer, Place, State};
use hearth_trace::{CoreId, CoreInfo, Event, Header, IDLE, Kind, Latency, Tid, Time, Waker};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Largest number of pairs. Further ones are counted as one pair, `(unnamed)` twice.
const MOST_PAIRS: usize = 1 << 16;

/// Wake-ups of the traced threads of one process by threads of another.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct WakerPair {
    /// The process, or `(interrupt)` for a timer or device.
    pub waker: String,
    pub wakee: String,
    /// The kernel's numbers of both processes; `None`: the threads of one name.
    pub waker_pid: Option<u32>,
    pub wakee_pid: Option<u32>,
    pub wakeups: u64,
    /// From these wake-ups to the first run. Percentiles are accurate to 0.8%.
    pub wakeup_latency_us: Latency,
    /// Wake-ups by the distance between the core of the waker and the chosen core: the same core.
    pub same_core: u64,
    /// Another hyperthread of the physical core.
    pub smt: u64,
    /// Another physical core of the last-level cache.
    pub llc: u64,
    /// Another last-level cache of the NUMA node.
    pub numa: u64,
    /// Another NUMA node.
    pub machine: u64,
}

#[derive(Clone, Default)]
struct Pair {
    wakeups: u64,
    latencies: Sketch,
    distances: [u64; 5],
}

pub struct Wakers {
    cores: Vec<CoreInfo>,
    names: Names,
    pairs: HashMap<(Name, Name), u32>,
    counts: Vec<Pair>,
    /// The pair of the current event, if it is a wake-up.
    current: Option<u32>,
    /// 1 + the pair of each thread that was woken and has not run yet.
    pending: Table<u32>,
}

impl Wakers {
    pub fn new(header: &Header, names: Names) -> Self {
        Wakers {
            cores: header.cores.clone(),
            names,
            pairs: HashMap::new(),
            counts: Vec::new(),
            current: None,
            pending: Table::new(),
        }
    }

    pub fn finish(self) -> Vec<WakerPair> {
        let names = &self.names;
        let mut rows: Vec<WakerPair> = (self.pairs.iter())
            .map(|((waker, wakee), index)| {
                let pair = &self.counts[*index as usize];
                let [same_core, smt, llc, numa, machine] = pair.distances;
                WakerPair {
                    waker: names.text(*waker).into(),
                    wakee: names.text(*wakee).into(),
                    waker_pid: names.pid(*waker),
                    wakee_pid: names.pid(*wakee),
                    wakeups: pair.wakeups,
                    wakeup_latency_us: pair.latencies.summary(),
                    same_core,
                    smt,
                    llc,
                    numa,
                    machine,
                }
            })
            .collect();
        rows.sort_by(|a, b| {
            let key = |pair: &'_ WakerPair| {
                (pair.waker.clone(), pair.wakee.clone(), pair.waker_pid, pair.wakee_pid)
            };
            b.wakeups.cmp(&a.wakeups).then_with(|| key(a).cmp(&key(b)))
        });
        rows
    }

    fn pair(&mut self, waker: Waker, wakee: Tid) -> u32 {
        let waker = match waker {
            Waker::Thread(tid) if tid != IDLE => self.names.of(tid),
            _ => INTERRUPT,
        };
        let mut key = (waker, self.names.of(wakee));
        if self.counts.len() >= MOST_PAIRS && !self.pairs.contains_key(&key) {
            key = (UNNAMED, UNNAMED);
        }
        *self.pairs.entry(key).or_insert_with(|| {
            self.counts.push(Pair::default());
            self.counts.len() as u32 - 1
        })
    }

    /// Index into [`Pair::distances`].
    fn distance(&self, from: CoreId, to: CoreId) -> usize {
        let (a, b) = (self.cores[usize::from(from)], self.cores[usize::from(to)]);
        match () {
            () if from == to => 0,
            () if a.physical == b.physical => 1,
            () if a.llc == b.llc => 2,
            () if a.numa == b.numa => 3,
            () => 4,
        }
    }
}

impl Consumer for Wakers {
    fn event(&mut self, state: &State, event: &Event) {
        self.current = None;
        if let Kind::Wakeup { thread, waker, target, .. } = event.kind
            && state.traced(thread)
        {
            let pair = self.pair(waker, thread);
            let distance = self.distance(event.core, target);
            let counts = &mut self.counts[pair as usize];
            counts.wakeups += 1;
            counts.distances[distance] += 1;
            self.current = Some(pair);
        }
    }
}

impl Observer for Wakers {
    fn core(&mut self, _: Time, _: usize, _: CoreState, _: CoreState) {}

    fn runnable(&mut self, _: u32) {}

    fn run(&mut self, _: Time, thread: Tid, _: CoreId, waited: Option<Time>, _: Option<CoreId>) {
        let pair = std::mem::take(self.pending.row(thread)).checked_sub(1);
        if let (Some(pair), Some(ns)) = (pair, waited) {
            self.counts[pair as usize].latencies.record(ns);
        }
    }

    fn thread(&mut self, _: Time, thread: Tid, before: Place, after: Place) {
        match (before, after) {
            (_, Place::Away) => *self.pending.row(thread) = 0,
            (Place::Away, Place::Ready(_)) => {
                *self.pending.row(thread) = self.current.map_or(0, |pair| pair + 1)
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Request;
    use crate::analysis::testing::*;
    use hearth_trace::{Stop, ThreadInfo};
    use proptest::prelude::*;

    const REQUEST: Request = Request {
        interval: None,
        threads: false,
        by_name: false,
        wakers: true,
        inversions: None,
        overloads: None,
        underload: false,
        others: None,
        path: None,
    };

    /// `make` (1) on core 0 wakes two `cc1`: 2 on its hyperthread, which runs after 10 µs, and 3
    /// on core 9, across the machine, which never runs. An interrupt on core 5 wakes 2 there.
    /// The wake-up of 4, which is not traced, does not count.
    #[test]
    fn pairs_with_latency_and_distance() {
        let mut trace = trace(
            10,
            MS,
            &[
                run(0, 0, 1),
                wake_by(1_000, 0, 1, 2, 1),
                wake_by(2_000, 0, 1, 3, 9),
                run(11_000, 1, 2),
                block(20_000, 1, 2),
                wake(30_000, 2, 5),
                run(32_000, 5, 2),
                wake_by(40_000, 0, 1, 4, 0),
                switch(41_000, 0, 1, Stop::Preempted, 4),
            ],
        );
        trace.header.threads = vec![
            thread(1, "make"),
            thread(2, "cc1"),
            thread(3, "cc1"),
            ThreadInfo { traced: false, ..thread(4, "kworker") },
        ];
        let rows = find(&trace, REQUEST).wakers.unwrap();
        let latency = |us| Latency { count: 1, mean: us, p50: us, p90: us, p99: us, p99_9: us, max: us };
        let make = WakerPair {
            waker: "make".into(),
            wakee: "cc1".into(),
            wakeups: 2,
            wakeup_latency_us: latency(10.0),
            smt: 1,
            machine: 1,
            ..WakerPair::default()
        };
        let interrupt = WakerPair {
            waker: "(interrupt)".into(),
            wakeups: 1,
            wakeup_latency_us: latency(2.0),
            smt: 0,
            machine: 0,
            same_core: 1,
            ..make.clone()
        };
        assert_eq!(rows, [make, interrupt]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// The pairs contain all wake-ups, and all latencies except those after a fork.
        #[test]
        fn pairs_add_up(steps in steps()) {
            let trace = play(&steps);
            let (rows, whole) = (find(&trace, REQUEST).wakers.unwrap(), trace.summary());
            prop_assert_eq!(rows.iter().map(|row| row.wakeups).sum::<u64>(), whole.wakeups);
            for row in &rows {
                let distances = row.same_core + row.smt + row.llc + row.numa + row.machine;
                prop_assert_eq!(distances, row.wakeups);
            }
            let mut forked = 0;
            for (index, event) in trace.events.iter().enumerate() {
                if let Kind::Fork { child, .. } = event.kind
                    && trace.header.threads[child as usize - 1].traced
                {
                    let runs = |e: &Event| matches!(e.kind, Kind::Switch { next, .. } if next == child);
                    forked += u64::from(trace.events[index..].iter().any(runs));
                }
            }
            let latencies = rows.iter().map(|row| row.wakeup_latency_us.count).sum::<u64>();
            prop_assert_eq!(latencies + forked, whole.wakeup_latency_us.count);
        }
    }
}
