//! The next long wake-up or overload, before or after a time.

use super::look::PATIENCE;
use super::viewed::Viewed;
use hearth_trace::follow::{CoreState, Observer, Place, State};
use hearth_trace::tiles::{self, Groups, Snapshot};
use hearth_trace::{CoreId, Event, Tid, Time};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::time::Instant;

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A thread is ready after its wake-up or fork, until it runs.
    Wakeup,
    /// A core has more than one runnable thread while another core is idle.
    Overload,
}

#[derive(Serialize, Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// The thread that was woken; `None` for an overload.
    pub thread: Option<Tid>,
    pub core: CoreId,
    pub from: Time,
    pub to: Time,
}

#[derive(Serialize, Debug, PartialEq)]
pub struct Answer {
    pub found: Option<Finding>,
    /// The trace was searched up to here.
    until: Time,
}

pub struct Search {
    pub what: What,
    pub time: Time,
    /// Least duration in ns.
    pub least: Time,
    pub back: bool,
}

/// The first that ends after `time`, or the last that ends before it.
pub fn find(trace: &Viewed, search: &Search) -> Result<Answer, tiles::Error> {
    let (least, started) = (search.least.max(1), Instant::now());
    let run = |range| match search.what {
        What::Wakeup => seek::<Waits>(trace, range, least, started),
        What::Overload => seek::<Overloads>(trace, range, least, started),
    };
    if !search.back {
        return run(search.time.saturating_add(1)..Time::MAX);
    }
    let mut end = search.time;
    for group in (0..=trace.index.group_before(end)).rev() {
        let begin = if group == 0 { 0 } else { trace.index.group_time(group).unwrap_or(0) };
        let answer = run(begin..end)?;
        if answer.found.is_some() || started.elapsed() > PATIENCE {
            return Ok(Answer { until: begin, ..answer });
        }
        end = begin;
    }
    Ok(Answer { found: None, until: 0 })
}

trait Seek: Observer {
    fn begin(&mut self, snapshot: &Snapshot, state: &State);
    /// What ended before `now`, since the last call, with whether its begin is known.
    fn take(&mut self, now: Time) -> Vec<(Finding, bool)>;
    /// Ends what lasts at the end of the trace.
    fn finish(&mut self, _end: Time) {}
}

/// The first that ends in `range` if the range has no end, or else the last. Of those that end together, the longest.
fn seek<S: Seek + Default>(
    trace: &Viewed,
    range: Range<Time>,
    least: Time,
    started: Instant,
) -> Result<Answer, tiles::Error> {
    // Whatever ends in the range and is long enough began after this group's begin, or is long enough from there on.
    let mut first = trace.index.group_before(range.start.saturating_sub(least));
    let mut step = 1;
    loop {
        let (answer, exact) = seek_from(trace, first, range.clone(), least, started, S::default())?;
        if exact || first == 0 {
            return Ok(answer);
        }
        // What was found began before this group. A thread may even have been preempted there, not woken.
        (first, step) = (first.saturating_sub(step), step * 2);
    }
}

/// The answer, and whether its begin is known, with the state of group `first` as the start.
fn seek_from(
    trace: &Viewed,
    first: usize,
    range: Range<Time>,
    least: Time,
    started: Instant,
    mut seeker: impl Seek,
) -> Result<(Answer, bool), tiles::Error> {
    let snapshot = trace.index.snapshot(first)?;
    let mut state = snapshot.restore(State::new(trace.header()));
    seeker.begin(&snapshot, &state);
    let mut best = Best { least, first: range.end == Time::MAX, range, found: None, exact: true };
    let mut now = snapshot.time;
    for group in first..trace.index.groups() {
        for event in trace.groups.read(group)?.iter() {
            if event.time >= best.range.end {
                best.judge(seeker.take(Time::MAX));
                return Ok(best.answer(now));
            }
            now = now.max(event.time);
            if state.possible(event) {
                state.apply(&Event { time: now, ..*event }, &mut seeker);
            }
        }
        best.judge(seeker.take(now));
        let complete = best.first && best.found.is_some_and(|one| one.to < now);
        if complete || best.first && started.elapsed() > PATIENCE {
            return Ok(best.answer(now));
        }
    }
    seeker.finish(trace.index.end());
    best.judge(seeker.take(Time::MAX));
    Ok(best.answer(trace.index.end()))
}

struct Best {
    range: Range<Time>,
    least: Time,
    /// Whether the first is wanted, not the last.
    first: bool,
    found: Option<Finding>,
    /// Whether its begin is known.
    exact: bool,
}

impl Best {
    fn answer(self, until: Time) -> (Answer, bool) {
        (Answer { found: self.found, until }, self.exact)
    }

    fn judge(&mut self, candidates: Vec<(Finding, bool)>) {
        for (one, exact) in candidates {
            if !self.range.contains(&one.to) || one.to - one.from < self.least {
                continue;
            }
            let better = |old: Finding| match one.to == old.to {
                true => self.exact && (!exact || one.from < old.from),
                false => !self.first,
            };
            if self.found.is_none_or(better) {
                (self.found, self.exact) = (Some(one), exact);
            }
        }
    }
}

/// Threads that were woken and do not run yet.
#[derive(Default)]
struct Waits {
    /// Since when each is ready, and whether that is known.
    woken: HashMap<Tid, (Time, bool)>,
    found: Vec<(Finding, bool)>,
}

impl Seek for Waits {
    fn begin(&mut self, snapshot: &Snapshot, _: &State) {
        self.woken = snapshot.ready.iter().map(|(tid, _)| (*tid, (snapshot.time, false))).collect();
    }

    fn take(&mut self, _: Time) -> Vec<(Finding, bool)> {
        std::mem::take(&mut self.found)
    }
}

impl Observer for Waits {
    fn core(&mut self, _: Time, _: usize, _: CoreState, _: CoreState) {}
    fn runnable(&mut self, _: u32) {}

    fn thread(&mut self, now: Time, thread: Tid, before: Place, after: Place) {
        match (before, after) {
            (Place::Away, Place::Ready(_)) => {
                self.woken.insert(thread, (now, true));
            }
            (Place::Ready(_), Place::Ready(_)) => {}
            (_, Place::Running(core)) => {
                if let Some((from, exact)) = self.woken.remove(&thread) {
                    self.found.push((Finding { thread: Some(thread), core, from, to: now }, exact));
                }
            }
            _ => {
                self.woken.remove(&thread);
            }
        }
    }
}

/// Cores with more than one runnable thread, while another core is idle.
#[derive(Default)]
struct Overloads {
    /// Time of the snapshot.
    start: Time,
    idle: usize,
    crowded: BTreeSet<usize>,
    /// Since when each core is overloaded, and whether that is known.
    since: BTreeMap<usize, (Time, bool)>,
    found: Vec<(Finding, bool)>,
}

impl Overloads {
    fn open(&mut self, now: Time, core: usize) {
        if self.idle == 0 || !self.crowded.contains(&core) || self.since.contains_key(&core) {
            return;
        }
        // What ended in this instant goes on.
        let ended = self.found.partition_point(|(one, _)| one.to < now);
        let again = self.found[ended..].iter().position(|(one, _)| usize::from(one.core) == core);
        let since = match again.map(|at| self.found.remove(ended + at)) {
            Some((one, exact)) => (one.from, exact),
            None => (now, now > self.start),
        };
        self.since.insert(core, since);
    }

    fn close(&mut self, now: Time, core: usize) {
        if let Some((from, exact)) = self.since.remove(&core) {
            self.found.push((Finding { thread: None, core: core as CoreId, from, to: now }, exact));
        }
    }

    fn count(&mut self, core: usize, state: CoreState) {
        self.idle += usize::from(state.idle());
        if state.runnable > 1 {
            self.crowded.insert(core);
        }
    }
}

impl Seek for Overloads {
    fn begin(&mut self, snapshot: &Snapshot, state: &State) {
        self.start = snapshot.time;
        for (core, state) in state.cores().iter().enumerate() {
            self.count(core, *state);
        }
        (0..state.cores().len()).for_each(|core| self.open(snapshot.time, core));
    }

    fn take(&mut self, now: Time) -> Vec<(Finding, bool)> {
        let ended = self.found.partition_point(|(one, _)| one.to < now);
        self.found.drain(..ended).collect()
    }

    fn finish(&mut self, end: Time) {
        let open: Vec<usize> = self.since.keys().copied().collect();
        open.into_iter().for_each(|core| self.close(end, core));
    }
}

impl Observer for Overloads {
    fn runnable(&mut self, _: u32) {}

    fn core(&mut self, now: Time, core: usize, before: CoreState, after: CoreState) {
        let some_idle = self.idle > 0;
        self.idle -= usize::from(before.idle());
        self.crowded.remove(&core);
        self.count(core, after);
        if after.runnable <= 1 {
            self.close(now, core);
        }
        match (some_idle, self.idle > 0) {
            (true, false) => self.finish(now),
            (false, true) => {
                for core in self.crowded.clone() {
                    self.open(now, core);
                }
            }
            _ => self.open(now, core),
        }
    }
}
