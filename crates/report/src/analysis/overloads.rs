//! The longest overloads: threads wait in the queues of some cores while other cores are idle.

use crate::analysis::coreset::CoreSet;
use crate::analysis::names::Names;
use crate::analysis::table::Table;
use crate::analysis::top::Top;
use crate::analysis::{Consumer, ms, seconds};
use hearth_trace::follow::{CoreState, Observer, Place};
use hearth_trace::{CoreId, IDLE, Tid, Time};
use serde::{Deserialize, Serialize};

/// Largest number of threads that an episode lists.
const MOST_WAITERS: usize = 16;

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Overloads {
    /// Number of episodes.
    pub count: u64,
    /// Their total length.
    pub ms: f64,
    /// The sum over the overloaded cores: `overload_core_ms` of the summary.
    pub core_ms: f64,
    /// The longest first.
    pub longest: Vec<Overload>,
}

/// An episode in which some core had more than one runnable thread and some core had none.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Overload {
    pub begin_s: f64,
    pub ms: f64,
    pub core_ms: f64,
    /// The overloaded cores, in order of number.
    pub overloaded: Vec<Queue>,
    /// The cores that were idle at some time in it.
    pub idle: Vec<CoreId>,
    /// The largest number of threads that waited at one time.
    pub most_waiting: u32,
    /// The first threads that waited, 16 at most.
    pub waited: Vec<Waiter>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Queue {
    pub core: CoreId,
    /// The largest number at one time, including the running thread.
    pub runnable: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Waiter {
    pub thread: Tid,
    pub name: String,
}

pub struct Tracker {
    now: Time,
    cores: Vec<CoreState>,
    queues: Queues,
    overloaded: CoreSet,
    idle: CoreSet,
    overloaded_cores: u64,
    idle_cores: u64,
    /// Threads that are ready on overloaded cores.
    waiting: u32,
    open: Option<Episode>,
    count: u64,
    ns: Time,
    core_ns: Time,
    top: Top<Episode>,
}

#[derive(Clone)]
struct Episode {
    begin: Time,
    ns: Time,
    core_ns: Time,
    overloaded: CoreSet,
    idle: CoreSet,
    /// By core, the largest number of runnable threads; valid for the cores in `overloaded`.
    most: Vec<u32>,
    most_waiting: u32,
    waited: Vec<Tid>,
}

impl Tracker {
    pub fn new(cores: usize, most: usize) -> Self {
        let mut idle = CoreSet::new(cores);
        (0..cores).for_each(|core| idle.insert(core));
        Tracker {
            now: 0,
            cores: vec![CoreState::default(); cores],
            queues: Queues::new(cores),
            overloaded: CoreSet::new(cores),
            idle,
            overloaded_cores: 0,
            idle_cores: cores as u64,
            waiting: 0,
            open: None,
            count: 0,
            ns: 0,
            core_ns: 0,
            top: Top::new(most),
        }
    }

    pub fn finish(mut self, now: Time, names: &Names) -> Overloads {
        self.advance(now);
        self.end();
        let core = |core: usize| core as CoreId;
        let row = |episode: Episode| Overload {
            begin_s: seconds(episode.begin),
            ms: ms(episode.ns),
            core_ms: ms(episode.core_ns),
            overloaded: (episode.overloaded.iter())
                .map(|index| Queue { core: core(index), runnable: episode.most[index] })
                .collect(),
            idle: episode.idle.iter().map(core).collect(),
            most_waiting: episode.most_waiting,
            waited: (episode.waited.iter())
                .map(|thread| Waiter { thread: *thread, name: names.thread(*thread) })
                .collect(),
        };
        Overloads {
            count: self.count,
            ms: ms(self.ns),
            core_ms: ms(self.core_ns),
            longest: self.top.into_items().into_iter().map(row).collect(),
        }
    }

    fn begin(&mut self) {
        let most = self.cores.iter().map(|core| core.runnable).collect();
        let mut episode = Episode {
            begin: self.now,
            ns: 0,
            core_ns: 0,
            overloaded: self.overloaded.clone(),
            idle: self.idle.clone(),
            most,
            most_waiting: self.waiting,
            waited: Vec::new(),
        };
        for core in self.overloaded.iter() {
            self.queues.list(core, &mut episode.waited);
        }
        self.count += 1;
        self.open = Some(episode);
    }

    fn end(&mut self) {
        if let Some(mut episode) = self.open.take() {
            episode.ns = self.now - episode.begin;
            self.ns = self.ns.saturating_add(episode.ns);
            if self.top.keeps(episode.ns) {
                self.top.push(episode.begin, episode.ns, self.count, episode);
            }
        }
    }
}

impl Consumer for Tracker {
    /// Begins and ends episodes only when time advances, because states without duration do not count.
    fn advance(&mut self, now: Time) {
        let overload = self.overloaded_cores > 0 && self.idle_cores > 0;
        if overload && self.open.is_none() {
            self.begin();
        } else if !overload {
            self.end();
        }
        if let Some(episode) = &mut self.open {
            let core_ns = self.overloaded_cores.saturating_mul(now - self.now);
            episode.core_ns = episode.core_ns.saturating_add(core_ns);
            self.core_ns = self.core_ns.saturating_add(core_ns);
        }
        self.now = now;
    }
}

impl Observer for Tracker {
    fn core(&mut self, _: Time, core: usize, before: CoreState, after: CoreState) {
        let overloaded = |state: CoreState| state.runnable > 1;
        let waiting = |state: CoreState| match overloaded(state) {
            true => state.runnable - u32::from(state.busy()),
            false => 0,
        };
        self.cores[core] = after;
        self.overloaded_cores += u64::from(overloaded(after));
        self.overloaded_cores -= u64::from(overloaded(before));
        self.idle_cores += u64::from(after.idle());
        self.idle_cores -= u64::from(before.idle());
        self.waiting = self.waiting + waiting(after) - waiting(before);
        self.overloaded.set(core, overloaded(after));
        self.idle.set(core, after.idle());
        let Some(episode) = &mut self.open else { return };
        if after.idle() {
            episode.idle.insert(core);
        }
        if overloaded(after) {
            let most = if episode.overloaded.contains(core) { episode.most[core] } else { 0 };
            episode.overloaded.insert(core);
            episode.most[core] = most.max(after.runnable);
            episode.most_waiting = episode.most_waiting.max(self.waiting);
            self.queues.list(core, &mut episode.waited);
        }
    }

    fn runnable(&mut self, _: u32) {}

    fn thread(&mut self, _: Time, thread: Tid, before: Place, after: Place) {
        if let Place::Ready(core) = before {
            self.queues.remove(usize::from(core), thread);
        }
        if let Place::Ready(core) = after {
            self.queues.push(usize::from(core), thread);
            // A preempted thread begins to wait without a change of the core's number of threads.
            if let Some(episode) = self.open.as_mut().filter(|_| self.overloaded.contains(usize::from(core)))
            {
                self.queues.list(usize::from(core), &mut episode.waited);
            }
        }
    }
}

/// The ready threads of each core, the latest first: linked lists in one table.
struct Queues {
    first: Vec<Tid>,
    links: Table<Link>,
}

#[derive(Clone, Copy, Default)]
struct Link {
    /// [`IDLE`] means none.
    before: Tid,
    after: Tid,
}

impl Queues {
    fn new(cores: usize) -> Self {
        Queues { first: vec![IDLE; cores], links: Table::new() }
    }

    fn push(&mut self, core: usize, thread: Tid) {
        let after = std::mem::replace(&mut self.first[core], thread);
        *self.links.row(thread) = Link { before: IDLE, after };
        if after != IDLE {
            self.links.row(after).before = thread;
        }
    }

    fn remove(&mut self, core: usize, thread: Tid) {
        let Link { before, after } = std::mem::take(self.links.row(thread));
        match before {
            IDLE => self.first[core] = after,
            _ => self.links.row(before).after = after,
        }
        if after != IDLE {
            self.links.row(after).before = before;
        }
    }

    /// Adds the threads of a core that are not listed yet, up to `MOST_WAITERS`.
    fn list(&self, core: usize, listed: &mut Vec<Tid>) {
        let mut thread = self.first[core];
        while thread != IDLE && listed.len() < MOST_WAITERS {
            if !listed.contains(&thread) {
                listed.push(thread);
            }
            thread = self.links.get(thread).map_or(IDLE, |link| link.after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Request;
    use crate::analysis::testing::*;
    use hearth_trace::{Event, Kind, Trace};
    use proptest::prelude::*;

    fn longest(trace: &Trace, most: usize) -> Overloads {
        find(trace, Request { overloads: Some(most), ..Request::default() }).overloads.unwrap()
    }

    /// Thread 1 runs on core 0. 2 and 3 wait there from 1 ms on, while cores 1 and 2 are idle. At
    /// 3 ms thread 3 moves to core 1. At 4 ms thread 4 wakes on core 1. At 5 ms core 2, the last idle
    /// core, receives a thread: 5 - 1 ms; core-ms: 3 of core 0 alone and 1 of two cores, (4-1) + 2·1.
    fn crowd() -> Vec<Event> {
        vec![
            run(0, 0, 1),
            wake(MS, 2, 0),
            wake(MS, 3, 0),
            at(3 * MS, 1, Kind::Migrate { thread: 3, from: 0, to: 1 }),
            wake(4 * MS, 4, 1),
            wake(5 * MS, 5, 2),
        ]
    }

    #[test]
    fn lists_overloads() {
        let mut trace = trace(3, 9 * MS, &crowd());
        trace.header.threads = vec![thread(2, "two"), thread(4, "four")];
        let waiter = |thread, name: &str| Waiter { thread, name: name.into() };
        let queue = |core, runnable| Queue { core, runnable };
        let one = Overload {
            begin_s: 0.001,
            ms: 4.0,
            core_ms: 5.0,
            overloaded: vec![queue(0, 3), queue(1, 2)],
            idle: vec![1, 2],
            // Thread 2 behind 1, and threads 3 and 4, neither of which runs.
            most_waiting: 3,
            waited: vec![waiter(3, "(unnamed)"), waiter(2, "two"), waiter(4, "four")],
        };
        assert_eq!(longest(&trace, 9), Overloads { count: 1, ms: 4.0, core_ms: 5.0, longest: vec![one] });
        assert_eq!(longest(&trace, 0), Overloads { count: 1, ms: 4.0, core_ms: 5.0, longest: vec![] });
    }

    /// The last idle core becomes busy and idle again at one time: one episode.
    #[test]
    fn states_without_duration_do_not_count() {
        let events =
            [run(0, 0, 1), wake(MS, 2, 0), run(2 * MS, 1, 3), block(2 * MS, 1, 3), block(7 * MS, 0, 1)];
        let found = longest(&trace(2, 9 * MS, &events), 9);
        assert_eq!((found.count, found.ms), (1, 6.0));
    }

    #[test]
    fn list_of_waiters_is_bounded() {
        let mut events = vec![run(0, 0, 1)];
        events.extend((2..100).map(|tid| wake(MS, tid, 0)));
        let found = longest(&trace(2, 9 * MS, &events), 9);
        assert_eq!((found.longest[0].waited.len(), found.longest[0].most_waiting), (MOST_WAITERS, 98));
    }

    /// Begin, length and core time of all episodes, computed from moments with a duration.
    fn reference(trace: &Trace) -> Vec<(u64, u64, u64)> {
        let mut found: Vec<(u64, u64, u64)> = Vec::new();
        let mut lasts = false;
        for pair in moments(trace).windows(2).filter(|pair| pair[0].time < pair[1].time) {
            let (at, ns) = (&pair[0], pair[1].time - pair[0].time);
            let overloaded = overloaded(at).len() as u64;
            let overload = overloaded > 0 && at.idle().next().is_some();
            if overload && !lasts {
                found.push((at.time, 0, 0));
            }
            if let Some(last) = found.last_mut().filter(|_| overload) {
                last.1 += ns;
                last.2 += overloaded * ns;
            }
            lasts = overload;
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
            prop_assert_eq!(found.core_ms, whole.overload_core_ms);
            prop_assert_eq!(found.count, found.longest.len() as u64);
            let ns = |ms: f64| (ms * 1e6).round() as u64;
            let mut ours: Vec<_> =
                found.longest.iter().map(|row| (ns(row.begin_s * 1e3), ns(row.ms), ns(row.core_ms))).collect();
            ours.sort();
            prop_assert_eq!(ours, reference(&trace));
        }

        /// An episode contains the cores and waiters of all its moments.
        #[test]
        fn episodes_are_complete(steps in steps()) {
            let trace = play(&steps);
            let all = moments(&trace);
            for row in longest(&trace, usize::MAX).longest {
                let ns = |s: f64| (s * 1e9).round() as u64;
                let (begin, end) = (ns(row.begin_s), ns(row.begin_s + row.ms / 1e3));
                for pair in all.windows(2).filter(|pair| pair[0].time < pair[1].time) {
                    let at = &pair[0];
                    if at.time < begin || at.time >= end { continue; }
                    prop_assert!(at.idle().all(|core| row.idle.contains(&(core as CoreId))));
                    let mut waiting = 0;
                    for core in overloaded(at) {
                        let queue = row.overloaded.iter().find(|queue| usize::from(queue.core) == core).unwrap();
                        prop_assert!(queue.runnable as usize >= at.runnable_on(core));
                        waiting += at.ready_on(core).count();
                        if row.waited.len() < MOST_WAITERS {
                            prop_assert!(at.ready_on(core).all(|tid| row.waited.iter().any(|w| w.thread == tid)));
                        }
                    }
                    prop_assert!(row.most_waiting as usize >= waiting);
                }
            }
        }
    }
}
