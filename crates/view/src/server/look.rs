//! The slice under the pointer, and the next slice of a thread.

use super::slices::{Slice, stop_name};
use super::viewed::Viewed;
use hearth_trace::tiles::{self, Groups};
use hearth_trace::{CoreId, Event, IDLE, Kind, Stop, Tid, Time, Waker};
use serde::Serialize;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Limit of groups that are searched for the ends of a slice.
const NEAR: usize = 16;
/// Limit of the time for one answer.
pub const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Serialize, Debug)]
pub struct At {
    core: CoreId,
    time: Time,
    /// 0 means idle.
    thread: Tid,
    name: Option<String>,
    /// `None`: not within [`NEAR`] groups.
    from: Option<Time>,
    to: Option<Time>,
    stop: Option<&'static str>,
    /// `None`: the thread was preempted before this slice, or an interrupt woke it.
    waker: Option<Tid>,
    waker_name: Option<String>,
    wake_time: Option<Time>,
    latency: Option<Time>,
    reason: Option<u16>,
    seen_khz: Option<u32>,
    khz: Option<u32>,
    queue: u32,
    sets: Vec<u8>,
}

/// A group, and the index of an event in it.
type Place = (usize, usize);

pub fn at(trace: &Viewed, core: CoreId, time: Time) -> Result<At, tiles::Error> {
    let moment = trace.index.moment(&trace.groups, time)?;
    let now = moment.cores.get(usize::from(core)).copied().unwrap_or_default();
    let begin = slice_begin(trace, core, time)?.filter(|(_, thread, _)| *thread == now.current);
    let from = begin.map(|(_, _, from)| from);
    let end = slice_end(trace, core, time)?;
    let cause = match begin {
        Some((place, thread, _)) if thread != IDLE => cause(trace, place, thread)?,
        _ => Cause::default(),
    };
    let name = |tid: Tid| trace.name_of(tid).map(str::to_owned);
    Ok(At {
        core,
        time,
        thread: now.current,
        name: name(now.current),
        from,
        to: end.map(|(to, _)| to),
        stop: end.filter(|_| now.current != IDLE).map(|(_, stop)| stop_name(stop)),
        waker: cause.waker,
        waker_name: cause.waker.and_then(name),
        wake_time: cause.woken,
        latency: from.zip(cause.woken).map(|(from, woken)| from.saturating_sub(woken)),
        reason: cause.placed.map(|placed| placed.reason),
        seen_khz: cause.placed.and_then(|placed| placed.seen_khz),
        khz: (now.khz != 0).then_some(now.khz),
        queue: moment.runnable.get(usize::from(core)).copied().unwrap_or(0),
        sets: (0..8).filter(|set| now.marks.sets >> set & 1 == 1).collect(),
    })
}

/// The first slice of `thread` that begins after `time`, or the last that begins before it.
pub fn next(trace: &Viewed, thread: Tid, time: Time, back: bool) -> Result<Option<Slice>, tiles::Error> {
    let begins = |event: &Event| matches!(event.kind, Kind::Switch { next, .. } if next == thread);
    let started = Instant::now();
    let patience = |_: usize| started.elapsed() < PATIENCE;
    let look = |_: Place, event: &Event| match begins(event)
        && (if back { event.time < time } else { event.time > time })
    {
        true => ControlFlow::Break(*event),
        false => ControlFlow::Continue(()),
    };
    let start = trace.index.group_before(time);
    let found = match back {
        true => backward(trace, (start, usize::MAX), patience, look)?,
        false => forward(trace, start, patience, look)?,
    };
    let Some(begin) = found else { return Ok(None) };
    let found = at(trace, begin.core, begin.time)?;
    Ok(Some(Slice {
        core: begin.core,
        thread,
        from: begin.time,
        to: found.to.filter(|_| found.thread == thread).unwrap_or(begin.time),
        khz: found.khz.unwrap_or(0),
        stop: found.stop,
        wake: None,
        reason: found.reason,
    }))
}

/// The last switch on `core` up to `time`: its place, the next thread, and its time.
fn slice_begin(trace: &Viewed, core: CoreId, time: Time) -> Result<Option<(Place, Tid, Time)>, tiles::Error> {
    let start = trace.index.group_before(time.saturating_add(1));
    let near = |group: usize| start - group < NEAR;
    backward(trace, (start, usize::MAX), near, |place, event| match event.kind {
        Kind::Switch { next, .. } if event.core == core && event.time <= time => {
            ControlFlow::Break((place, next, event.time))
        }
        _ => ControlFlow::Continue(()),
    })
}

/// The first switch on `core` after `time`: its time, and why the slice ended.
fn slice_end(trace: &Viewed, core: CoreId, time: Time) -> Result<Option<(Time, Stop)>, tiles::Error> {
    let start = trace.index.group_before(time.saturating_add(1));
    forward(
        trace,
        start,
        |group| group - start < NEAR,
        |_, event| match event.kind {
            Kind::Switch { stop, .. } if event.core == core && event.time > time => {
                ControlFlow::Break((event.time, stop))
            }
            _ => ControlFlow::Continue(()),
        },
    )
}

/// What made a slice begin on its core.
#[derive(Default, Clone, Copy)]
pub struct Cause {
    woken: Option<Time>,
    waker: Option<Tid>,
    pub placed: Option<Placed>,
    /// The last migration after the decision.
    pub migrated: Option<Migrated>,
    /// The core of the previous slice.
    pub previous: Option<CoreId>,
    /// The core that counts the woken thread as runnable before the decision: in a kernel, the wake-up comes first.
    pub waits: Option<CoreId>,
}

impl Cause {
    /// The thread comes to a core at this time.
    fn comes(&mut self, time: Time, core: CoreId) {
        if self.placed.is_some_and(|placed| time < placed.time) {
            self.waits.get_or_insert(core);
        }
    }
}

/// A decision of the policy.
#[derive(Serialize, Clone, Copy, Debug)]
pub struct Placed {
    pub time: Time,
    /// The core that decided.
    pub core: CoreId,
    pub target: CoreId,
    pub reason: u16,
    /// `None`: unknown.
    pub seen_khz: Option<u32>,
}

#[derive(Serialize, Clone, Copy, Debug)]
pub struct Migrated {
    pub time: Time,
    pub from: CoreId,
    pub to: CoreId,
}

/// Causes of the slice at `time` on `core`, with its thread and begin; `None`: the core is idle, or the begin is too far.
pub fn causes(trace: &Viewed, core: CoreId, time: Time) -> Result<Option<(Tid, Time, Cause)>, tiles::Error> {
    match slice_begin(trace, core, time)? {
        Some((place, thread, from)) if thread != IDLE => {
            Ok(Some((thread, from, cause(trace, place, thread)?)))
        }
        _ => Ok(None),
    }
}

/// The events of `thread` between its previous slice and the one that begins at `place`.
fn cause(trace: &Viewed, place: Place, thread: Tid) -> Result<Cause, tiles::Error> {
    let mut cause = Cause::default();
    let near = |group: usize| place.0 - group < NEAR;
    backward(trace, place, near, |_, event| {
        match event.kind {
            Kind::Place { thread: placed, target, reason, seen_khz } if placed == thread => {
                let seen_khz = Some(seen_khz).filter(|khz| *khz != 0);
                let placed = Placed { time: event.time, core: event.core, target, reason, seen_khz };
                cause.placed.get_or_insert(placed);
            }
            Kind::Migrate { thread: moved, from, to } if moved == thread && cause.placed.is_none() => {
                cause.migrated.get_or_insert(Migrated { time: event.time, from, to });
            }
            Kind::Migrate { thread: moved, to, .. } if moved == thread => cause.comes(event.time, to),
            Kind::Wakeup { thread: woken, waker, target, .. } if woken == thread && cause.woken.is_none() => {
                cause.comes(event.time, target);
                cause.woken = Some(event.time);
                cause.waker = if let Waker::Thread(tid) = waker { Some(tid) } else { None };
            }
            Kind::Fork { parent, child, target } if child == thread => {
                cause.comes(event.time, target);
                cause.woken = Some(event.time);
                cause.waker = Some(parent).filter(|tid| *tid != IDLE);
                return ControlFlow::Break(());
            }
            Kind::Switch { prev, next, .. } if prev == thread || next == thread => {
                cause.previous = Some(event.core);
                return ControlFlow::Break(());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    })?;
    // A thread that was not woken waits on a core when the policy decides.
    cause.waits = cause.waits.filter(|_| cause.woken.is_some());
    Ok(cause)
}

/// Searches the events before `start`, latest first, while their group is `near`.
fn backward<T>(
    trace: &Viewed,
    start: Place,
    near: impl Fn(usize) -> bool,
    mut look: impl FnMut(Place, &Event) -> ControlFlow<T>,
) -> Result<Option<T>, tiles::Error> {
    let groups = trace.index.groups();
    for group in (0..groups.min(start.0.saturating_add(1))).rev().take_while(|group| near(*group)) {
        let events = trace.groups.read(group)?;
        let count = if group == start.0 { events.len().min(start.1) } else { events.len() };
        for (index, event) in events[..count].iter().enumerate().rev() {
            if let ControlFlow::Break(found) = look((group, index), event) {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// Searches the events from group `start` on, while their group is `near`.
fn forward<T>(
    trace: &Viewed,
    start: usize,
    near: impl Fn(usize) -> bool,
    mut look: impl FnMut(Place, &Event) -> ControlFlow<T>,
) -> Result<Option<T>, tiles::Error> {
    for group in (start..trace.index.groups()).take_while(|group| near(*group)) {
        let events = trace.groups.read(group)?;
        for (index, event) in events.iter().enumerate() {
            if let ControlFlow::Break(found) = look((group, index), event) {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}
