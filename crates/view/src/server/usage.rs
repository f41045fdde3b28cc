//! What threads did: in sums over an area, and one thread over time.

use super::look::PATIENCE;
use super::viewed::Viewed;
use hearth_trace::follow::{CoreState, Observer, Place, State};
use hearth_trace::tiles::{self, BINS, Groups, TileId, bin_width};
use hearth_trace::{CoreId, Event, IDLE, Kind, Tid, Time};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

#[derive(Serialize, Debug)]
pub struct ThreadUsage {
    pub thread: Tid,
    name: String,
    traced: bool,
    /// Times in ns.
    pub running: Time,
    pub ready: Time,
    /// Number of its slices that overlap the area.
    pub slices: u64,
    /// Includes its fork.
    wakeups: u64,
    /// Number of slices on another core than the one before.
    pub migrations: u64,
    cores: usize,
    /// From a wake-up or fork to the next slice.
    pub longest_latency: Time,
    /// From its fork (or the begin of the range) to its exit (or the end).
    from: Time,
    to: Time,
}

#[derive(Serialize, Debug)]
pub struct Usage {
    /// The range ends here if there was no time for all of it.
    until: Time,
    /// Number of threads that ran or were ready.
    count: usize,
    /// Run time of all threads.
    pub running: Time,
    /// Longest run time first.
    pub threads: Vec<ThreadUsage>,
}

/// A part of a trace.
pub struct Area {
    pub from: Time,
    pub to: Time,
    /// Whether each core is part of it; `None`: all are.
    pub cores: Option<Vec<bool>>,
    pub thread: Option<Tid>,
}

/// The threads that ran or were ready in `area`, at most `limit`.
pub fn usage(trace: &Viewed, area: Area, limit: usize) -> Result<Usage, tiles::Error> {
    let (mut uses, to) = (Uses::new(area, None), trace.index.end());
    let to = uses.area.to.min(to);
    let until = uses.follow(trace, to)?;
    let active = |(_, one): &(Tid, Use)| one.running + one.ready + one.slices + one.wakeups > 0;
    let mut threads: Vec<(Tid, Use)> = uses.threads.into_iter().filter(active).collect();
    threads.sort_unstable_by_key(|(tid, one)| (std::cmp::Reverse((one.running, one.ready)), *tid));
    let count = threads.len();
    let running = threads.iter().map(|(_, one)| one.running).sum();
    let used = |(tid, one): (Tid, Use)| ThreadUsage {
        thread: tid,
        name: trace.name_of(tid).unwrap_or_default().into(),
        traced: trace.thread(tid).is_some_and(|thread| thread.traced),
        running: one.running,
        ready: one.ready,
        slices: one.slices,
        wakeups: one.wakeups,
        migrations: one.migrations,
        cores: one.cores.len(),
        longest_latency: one.longest_latency,
        from: one.born.unwrap_or(uses.area.from),
        to: one.died.unwrap_or(until),
    };
    Ok(Usage { until, count, running, threads: threads.into_iter().take(limit).map(used).collect() })
}

/// How long a thread ran and was ready in each bin of a tile, in ns.
#[derive(Serialize, Debug)]
pub struct States {
    /// There was no time for what is after this.
    until: Time,
    pub running: Vec<Time>,
    pub ready: Vec<Time>,
}

/// The states of `thread` in a tile; `None`: the trace has no such tile.
pub fn states(trace: &Viewed, thread: Tid, tile: TileId) -> Result<Option<States>, tiles::Error> {
    let Some(from) = tile.begin().filter(|from| *from <= trace.index.end()) else { return Ok(None) };
    let width = bin_width(tile.level);
    let to = from.saturating_add(width.saturating_mul(BINS as u64)).min(trace.index.end());
    let area = Area { from, to, cores: None, thread: Some(thread) };
    let mut uses = Uses::new(area, Some(Bins { width, running: vec![0; BINS], ready: vec![0; BINS] }));
    let until = uses.follow(trace, to)?;
    Ok(uses.bins.map(|Bins { running, ready, .. }| States { until, running, ready }))
}

struct Bins {
    width: Time,
    running: Vec<Time>,
    ready: Vec<Time>,
}

impl Bins {
    /// Adds a state that lasts from `begin` to `end`, counted from the first bin.
    fn fill(&mut self, begin: Time, end: Time, place: Place) {
        let bins = match place {
            Place::Running(_) => &mut self.running,
            Place::Ready(_) => &mut self.ready,
            Place::Away => return,
        };
        for bin in begin / self.width..=(end - 1) / self.width {
            let start = bin * self.width;
            bins[bin as usize] += end.min(start + self.width) - begin.max(start);
        }
    }
}

#[derive(Default)]
struct Use {
    running: Time,
    ready: Time,
    slices: u64,
    wakeups: u64,
    migrations: u64,
    longest_latency: Time,
    cores: BTreeSet<CoreId>,
    born: Option<Time>,
    died: Option<Time>,
    place: Place,
    since: Time,
}

struct Uses {
    area: Area,
    threads: HashMap<Tid, Use>,
    bins: Option<Bins>,
}

impl Uses {
    fn new(area: Area, bins: Option<Bins>) -> Uses {
        Uses { area, threads: HashMap::new(), bins }
    }

    /// Follows the events up to `to`, or until there is no more time; returns where it ended.
    fn follow(&mut self, trace: &Viewed, to: Time) -> Result<Time, tiles::Error> {
        let started = Instant::now();
        let first = trace.index.group_before(self.area.from);
        let snapshot = trace.index.snapshot(first)?;
        let mut state = snapshot.restore(State::new(trace.header()));
        for (core, known) in snapshot.cores.iter().enumerate().filter(|(_, core)| core.current != IDLE) {
            self.put(snapshot.time, known.current, Place::Running(core as CoreId));
        }
        for &(tid, core) in &snapshot.ready {
            self.put(snapshot.time, tid, Place::Ready(core));
        }
        let (mut now, mut end) = (snapshot.time, to);
        'groups: for group in first..trace.index.groups() {
            if started.elapsed() > PATIENCE {
                end = now.max(self.area.from);
                break;
            }
            for event in trace.groups.read(group)?.iter() {
                if event.time >= to {
                    break 'groups;
                }
                now = now.max(event.time);
                if state.possible(event) {
                    self.lives(now, event.kind);
                    state.apply(&Event { time: now, ..*event }, self);
                }
            }
        }
        let open: Vec<Tid> = self.threads.keys().copied().collect();
        open.into_iter().for_each(|tid| self.put(end, tid, Place::Away));
        Ok(end)
    }

    fn of(&mut self, thread: Tid) -> Option<&mut Use> {
        let wanted = self.area.thread.is_none_or(|only| only == thread);
        wanted.then(|| self.threads.entry(thread).or_default())
    }

    fn covers(&self, core: CoreId) -> bool {
        self.area.cores.as_ref().is_none_or(|cores| cores.get(usize::from(core)) == Some(&true))
    }

    fn lives(&mut self, now: Time, kind: Kind) {
        let from = self.area.from;
        match kind {
            Kind::Fork { child, .. } => self.of(child).map(|one| one.born = Some(now.max(from))),
            Kind::Exit { thread } => self.of(thread).map(|one| one.died = Some(now.max(from))),
            _ => None,
        };
    }

    /// Ends the thread's state at `now`, and begins another.
    fn put(&mut self, now: Time, tid: Tid, place: Place) {
        let from = self.area.from;
        let Some(one) = self.of(tid) else { return };
        let (old, begin, end) = (one.place, one.since.max(from), now.max(from));
        let earlier = one.since <= from;
        (one.place, one.since) = (place, now);
        let (Place::Running(core) | Place::Ready(core)) = old else { return };
        if begin >= end || !self.covers(core) {
            return;
        }
        if let Some(one) = self.of(tid) {
            match old {
                Place::Running(_) => {
                    // [`Observer::run`] counts those that begin later.
                    one.slices += u64::from(earlier);
                    one.running += end - begin;
                    one.cores.insert(core);
                }
                _ => one.ready += end - begin,
            }
        }
        if let Some(bins) = &mut self.bins {
            bins.fill(begin - from, end - from, old);
        }
    }
}

impl Observer for Uses {
    fn core(&mut self, _: Time, _: usize, _: CoreState, _: CoreState) {}
    fn runnable(&mut self, _: u32) {}

    fn run(&mut self, now: Time, thread: Tid, core: CoreId, waited: Option<Time>, from: Option<CoreId>) {
        let start = self.area.from;
        if now < start || !self.covers(core) {
            return;
        }
        let Some(one) = self.of(thread) else { return };
        one.slices += u64::from(now > start);
        one.migrations += u64::from(from.is_some_and(|from| from != core));
        one.longest_latency = one.longest_latency.max(waited.unwrap_or(0));
    }

    fn thread(&mut self, now: Time, thread: Tid, before: Place, after: Place) {
        if let (Place::Away, Place::Ready(core)) = (before, after)
            && now >= self.area.from
            && self.covers(core)
            && let Some(one) = self.of(thread)
        {
            one.wakeups += 1;
        }
        self.put(now, thread, after);
    }
}
