//! What threads did and what is found, against slow definitions on random traces of many small groups.

use super::find::{self, Answer, Finding, Search, What};
use super::usage::{Area, Usage, states, usage};
use super::viewed::Viewed;
use hearth_trace::testing::{self, Moment, Step, moments};
use hearth_trace::tiles::{Groups, Index, Span, TileId};
use hearth_trace::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

const CORES: CoreId = 3;
const GROUP: usize = 7;

/// A trace in small groups.
struct Small(Trace);

impl Groups for Small {
    fn header(&self) -> &Header {
        &self.0.header
    }

    fn spans(&self) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        for group in self.0.events.chunks(GROUP) {
            let end = group[group.len() - 1].time;
            spans.push(Span::new(group[0].time, end, group.len() as u64, spans.last()));
        }
        spans
    }

    fn read(&self, group: usize) -> Result<Arc<Vec<Event>>, Error> {
        Ok(Arc::new(self.0.events.chunks(GROUP).nth(group).unwrap_or_default().to_vec()))
    }
}

fn viewed(trace: &Trace) -> Viewed {
    let small = Small(trace.clone());
    let index = Index::in_memory(&small).expect("an index");
    Viewed::new("a".into(), Box::new(small), index, true)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    testing::steps(CORES, 0..2000u64, Just(Kind::Tick { khz: 0 }))
}

fn play(steps: &[Step]) -> Trace {
    let cores = vec![CoreInfo::default(); CORES.into()];
    testing::play(Header { cores, ..Header::default() }, steps)
}

/// Each state with the time at which it ends.
fn periods(trace: &Trace) -> Vec<(Moment, Time)> {
    let all = moments(trace);
    let ends = all.iter().skip(1).map(|next| next.time).chain([trace.header.duration]).collect::<Vec<_>>();
    all.into_iter().zip(ends).collect()
}

/// How long each thread ran and was ready.
fn times(trace: &Trace, (from, to): (Time, Time), cores: &[bool]) -> BTreeMap<Tid, (Time, Time)> {
    let mut times: BTreeMap<Tid, (Time, Time)> = BTreeMap::new();
    for (state, end) in periods(trace) {
        let ns = end.min(to).saturating_sub(state.time.max(from));
        for (tid, _) in state.running.iter().zip(cores).filter(|(tid, part)| **tid != IDLE && **part) {
            times.entry(*tid).or_default().0 += ns;
        }
        for (tid, _) in state.ready.iter().filter(|(_, core)| cores[usize::from(**core)]) {
            times.entry(*tid).or_default().1 += ns;
        }
    }
    times.retain(|_, (running, ready)| *running + *ready > 0);
    times
}

fn answer(usage: &Usage) -> BTreeMap<Tid, (Time, Time)> {
    let times = usage.threads.iter().map(|one| (one.thread, (one.running, one.ready)));
    times.filter(|(_, (running, ready))| running + ready > 0).collect()
}

/// From the wake-up or fork of each thread to its slice.
fn waits(trace: &Trace) -> Vec<Finding> {
    let (mut woken, mut found): (BTreeMap<Tid, Time>, _) = (BTreeMap::new(), Vec::new());
    for event in &trace.events {
        match event.kind {
            Kind::Fork { child: thread, .. } | Kind::Wakeup { thread, .. } => {
                woken.insert(thread, event.time);
            }
            Kind::Switch { next, .. } => {
                if let Some(from) = woken.remove(&next) {
                    found.push(Finding { thread: Some(next), core: event.core, from, to: event.time });
                }
            }
            _ => {}
        }
    }
    found
}

/// When each core has more than one runnable thread while another has none.
fn overloads(trace: &Trace) -> Vec<Finding> {
    let mut found = Vec::new();
    for core in 0..usize::from(CORES) {
        let mut since = None;
        let mut close = |since: &mut Option<Time>, to| {
            if let Some(from) = since.take() {
                found.push(Finding { thread: None, core: core as CoreId, from, to });
            }
        };
        for (state, _) in periods(trace).into_iter().filter(|(state, end)| state.time < *end) {
            let overloaded = state.runnable_on(core) > 1 && state.idle().next().is_some();
            match overloaded {
                true => _ = since.get_or_insert(state.time),
                false => close(&mut since, state.time),
            }
        }
        close(&mut since, trace.header.duration);
    }
    found
}

/// The answer to a search among all candidates, but for which of several with equal times.
fn wanted(all: &[Finding], search: &Search) -> Option<(Time, Time)> {
    let long = all.iter().filter(|one| one.to - one.from >= search.least.max(1));
    let near = long.filter(|one| if search.back { one.to < search.time } else { one.to > search.time });
    let rank = |one: &&Finding| (if search.back { Time::MAX - one.to } else { one.to }, one.from);
    near.min_by_key(rank).map(|one| (one.from, one.to))
}

proptest! {
    #[test]
    fn usage_agrees_with_the_definition(steps in steps(), cut in 0..100_000u64, cores in 0..8u8) {
        let trace = play(&steps);
        let (viewed, end) = (viewed(&trace), trace.header.duration);
        let part: Vec<bool> = (0..CORES).map(|core| cores >> core & 1 == 1).collect();
        let middle = cut % end;
        for (from, to) in [(0, end), (0, middle), (middle, end), (middle / 2, middle)] {
            let area = Area { from, to, cores: Some(part.clone()), thread: None };
            let found = usage(&viewed, area, 1000).expect("an answer");
            prop_assert_eq!(answer(&found), times(&trace, (from, to), &part));
        }
        let summary = Trace { header: Header { threads: Vec::new(), ..trace.header.clone() }, ..trace.clone() }.summary();
        let all = usage(&viewed, Area { from: 0, to: end, cores: None, thread: None }, 1000).expect("an answer");
        let sum = |of: fn(&super::usage::ThreadUsage) -> u64| all.threads.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(|one| one.migrations), summary.migrations);
        let switch = |event: &&Event| event.time > 0 && matches!(event.kind, Kind::Switch { next, .. } if next != IDLE);
        let running = moments(&trace).iter().rfind(|state| state.time == 0).map_or(0, |state| {
            state.running.iter().filter(|tid| **tid != IDLE).count()
        });
        prop_assert_eq!(sum(|one| one.slices), (trace.events.iter().filter(switch).count() + running) as u64);
        let longest = all.threads.iter().map(|one| one.longest_latency).max().unwrap_or(0);
        prop_assert_eq!(longest, waits(&trace).iter().map(|wait| wait.to - wait.from).max().unwrap_or(0));
    }

    #[test]
    fn states_add_up_to_the_totals(steps in steps(), level in 0..3u8) {
        let trace = play(&steps);
        let (viewed, end) = (viewed(&trace), trace.header.duration);
        for thread in trace.header.threads.iter().map(|thread| thread.tid) {
            let mut sum = (0, 0);
            for index in 0.. {
                let Some(tile) = states(&viewed, thread, TileId { level, index }).expect("an answer") else { break };
                sum.0 += tile.running.iter().sum::<u64>();
                sum.1 += tile.ready.iter().sum::<u64>();
            }
            let all = times(&trace, (0, end), &[true; CORES as usize]);
            prop_assert_eq!(sum, all.get(&thread).copied().unwrap_or_default());
        }
    }

    #[test]
    fn searches_agree_with_the_definitions(steps in steps(), times in proptest::collection::vec(0..100_000u64, 4), least in 0..5000u64) {
        let trace = play(&steps);
        let viewed = viewed(&trace);
        for (what, all) in [(What::Wakeup, waits(&trace)), (What::Overload, overloads(&trace))] {
            for (time, back) in times.iter().flat_map(|time| [(*time, false), (*time, true)]) {
                let search = Search { what, time: time % trace.header.duration, least, back };
                let Answer { found, .. } = find::find(&viewed, &search).expect("an answer");
                prop_assert_eq!(found.map(|one| (one.from, one.to)), wanted(&all, &search));
            }
        }
    }
}
