//! Slices and marks of a time range, for zoom levels that show single events.

use super::viewed::Viewed;
use hearth_trace::tiles::{self, Groups, Snapshot};
use hearth_trace::{CoreId, Event, IDLE, Kind, Stop, Tid, Time, Waker};
use serde::Serialize;
use std::collections::HashMap;

/// Limit of events that are read for one answer.
const MOST_EVENTS: u64 = 4 << 20;

/// A run of a thread on a core. Slices that cross an end of the range may be cut there.
#[derive(Serialize, Clone, Debug, PartialEq)]
pub struct Slice {
    pub core: CoreId,
    pub thread: Tid,
    pub from: Time,
    pub to: Time,
    /// Mean over the slice; 0 means unknown.
    pub khz: u32,
    /// Why it ended; `None`: it did not end in the range.
    pub stop: Option<&'static str>,
    pub wake: Option<Wake>,
    pub reason: Option<u16>,
}

#[derive(Serialize, Clone, Copy, Debug, PartialEq)]
pub struct Wake {
    pub time: Time,
    /// `None` means an interrupt.
    pub waker: Option<Tid>,
    /// The waker's core.
    pub core: CoreId,
    /// The thread's previous core, if it is known.
    pub from_core: Option<CoreId>,
}

#[derive(Serialize, Clone, Debug, PartialEq)]
pub struct Mark {
    pub time: Time,
    pub core: CoreId,
    pub kind: &'static str,
    pub thread: Tid,
    pub other: Option<u32>,
    pub target: Option<CoreId>,
    pub detail: Option<u32>,
}

#[derive(Serialize, Default, Debug)]
pub struct Events {
    pub truncated: bool,
    pub slices: Vec<Slice>,
    pub marks: Vec<Mark>,
}

/// Facts about a thread that wait for its next slice.
#[derive(Default, Clone, Copy)]
struct Pending {
    wake: Option<Wake>,
    reason: Option<u16>,
    last: Option<CoreId>,
}

#[derive(Clone, Default)]
struct Lane {
    open: Option<Slice>,
    khz: u32,
    exact: bool,
    /// `sum` (kHz·ns) and `known` (ns) cover the open slice up to this time.
    since: Time,
    sum: u128,
    known: Time,
}

impl Lane {
    fn settle(&mut self, now: Time) {
        let ns = now.saturating_sub(self.since);
        if self.open.is_some() && self.khz != 0 {
            self.sum += u128::from(ns) * u128::from(self.khz);
            self.known += ns;
        }
        self.since = now;
    }

    fn close(&mut self, now: Time, stop: Option<Stop>) -> Option<Slice> {
        self.settle(now);
        let mean = if self.known == 0 { self.khz.into() } else { self.sum / u128::from(self.known) };
        let slice = self.open.take()?;
        Some(Slice { to: now, khz: mean as u32, stop: stop.map(stop_name), ..slice })
    }

    fn open(&mut self, slice: Slice) {
        (self.since, self.sum, self.known) = (slice.from, 0, 0);
        self.open = Some(slice);
    }
}

/// The slices and marks between `from` and `to`, at most `limit` of both together.
pub fn events(trace: &Viewed, from: Time, to: Time, limit: usize) -> Result<Events, tiles::Error> {
    let first = trace.index.group_before(from);
    let mut follow = Follow::new(trace.index.snapshot(first)?, from);
    let mut followed = 0;
    'groups: for group in first..trace.index.groups() {
        let events = trace.groups.read(group)?;
        for event in events.iter() {
            if event.time >= to {
                break 'groups;
            }
            follow.event(event);
            if follow.found.slices.len() + follow.found.marks.len() >= limit {
                follow.found.truncated = true;
                return Ok(follow.found);
            }
        }
        followed += events.len() as u64;
        if followed >= MOST_EVENTS {
            follow.found.truncated = true;
            return Ok(follow.found);
        }
    }
    Ok(follow.finish(to.min(trace.index.end())))
}

struct Follow {
    lanes: Vec<Lane>,
    threads: HashMap<Tid, Pending>,
    from: Time,
    found: Events,
}

impl Follow {
    fn new(snapshot: Snapshot, from: Time) -> Self {
        let lane = |(core, known): (usize, &tiles::CoreSnapshot)| {
            let mut lane = Lane { khz: known.khz, exact: known.exact, ..Lane::default() };
            if known.current != IDLE {
                lane.open(slice(core as CoreId, known.current, snapshot.time, Pending::default()));
            }
            lane
        };
        let lanes = snapshot.cores.iter().enumerate().map(lane).collect();
        Follow { lanes, threads: HashMap::new(), from, found: Events::default() }
    }

    fn event(&mut self, event: &Event) {
        let (time, core) = (event.time, usize::from(event.core));
        if core >= self.lanes.len() {
            return;
        }
        match event.kind {
            Kind::Switch { prev, stop, next } => self.switch(event, prev, stop, next),
            Kind::Frequency { khz } => {
                self.lanes[core].settle(time);
                (self.lanes[core].khz, self.lanes[core].exact) = (khz, true);
            }
            Kind::Tick { khz } if khz != 0 && !self.lanes[core].exact => {
                self.lanes[core].settle(time);
                self.lanes[core].khz = khz;
            }
            Kind::Wakeup { thread, waker, .. } => {
                let waker = if let Waker::Thread(tid) = waker { Some(tid) } else { None };
                self.woken(event, thread, waker);
            }
            Kind::Fork { parent, child, .. } => {
                self.woken(event, child, Some(parent).filter(|tid| *tid != IDLE))
            }
            Kind::Place { thread, reason, .. } => {
                self.threads.entry(thread).or_default().reason = Some(reason);
            }
            _ => {}
        }
        if time >= self.from {
            self.found.marks.extend(mark(event));
        }
    }

    fn woken(&mut self, event: &Event, thread: Tid, waker: Option<Tid>) {
        let pending = self.threads.entry(thread).or_default();
        let (time, core, from_core) = (event.time, event.core, pending.last);
        pending.wake = Some(Wake { time, waker, core, from_core });
    }

    fn switch(&mut self, event: &Event, prev: Tid, stop: Stop, next: Tid) {
        let core = usize::from(event.core);
        let stop = self.lanes[core].open.as_ref().is_some_and(|open| open.thread == prev).then_some(stop);
        self.close(core, event.time, stop);
        if prev != IDLE {
            self.threads.entry(prev).or_default().last = Some(event.core);
        }
        if next == IDLE {
            return;
        }
        // A lost event left the thread open on another core.
        let elsewhere = self.lanes.iter().position(|l| l.open.as_ref().is_some_and(|o| o.thread == next));
        if let Some(elsewhere) = elsewhere {
            self.close(elsewhere, event.time, None);
        }
        let pending = self.threads.entry(next).or_default();
        let known = std::mem::replace(pending, Pending { last: Some(event.core), ..Pending::default() });
        self.lanes[core].open(slice(event.core, next, event.time, known));
    }

    fn close(&mut self, core: usize, now: Time, stop: Option<Stop>) {
        let closed = self.lanes[core].close(now, stop);
        self.found.slices.extend(closed.filter(|slice| slice.to >= self.from));
    }

    fn finish(mut self, now: Time) -> Events {
        (0..self.lanes.len()).for_each(|core| self.close(core, now, None));
        self.found
    }
}

fn slice(core: CoreId, thread: Tid, from: Time, known: Pending) -> Slice {
    let Pending { wake, reason, .. } = known;
    Slice { core, thread, from, to: from, khz: 0, stop: None, wake, reason }
}

fn mark(event: &Event) -> Option<Mark> {
    let mark = |kind, thread, other, target, detail| {
        Some(Mark { time: event.time, core: event.core, kind, thread, other, target, detail })
    };
    match event.kind {
        Kind::Wakeup { thread, waker: Waker::Thread(waker), target, .. } => {
            mark("wakeup", thread, Some(waker), Some(target), None)
        }
        Kind::Wakeup { thread, waker: Waker::Interrupt, target, .. } => {
            mark("wakeup", thread, None, Some(target), None)
        }
        Kind::Fork { parent, child, target } => mark("fork", parent, Some(child), Some(target), None),
        Kind::Exec { thread, name } => mark("exec", thread, None, None, Some(name)),
        Kind::Exit { thread } => mark("exit", thread, None, None, None),
        Kind::Wait { thread } => mark("wait", thread, None, None, None),
        Kind::Migrate { thread, from, to } => mark("migrate", thread, None, Some(to), Some(from.into())),
        Kind::Place { thread, target, reason, .. } => {
            mark("place", thread, None, Some(target), Some(reason.into()))
        }
        _ => None,
    }
}

pub fn stop_name(stop: Stop) -> &'static str {
    match stop {
        Stop::Preempted => "preempted",
        Stop::Yielded => "yielded",
        Stop::Blocked => "blocked",
        Stop::Exited => "exited",
    }
}
