//! The events of a part of a trace, one by one.

use super::look::PATIENCE;
use super::slices::stop_name;
use super::usage::Area;
use super::viewed::Viewed;
use hearth_trace::tiles::{self, Groups};
use hearth_trace::{CoreId, Event, Header, KIND_NAMES, Kind, Row, Tid, Time, Waker};
use serde::Serialize;
use std::time::Instant;

#[derive(Serialize, Clone, Debug, PartialEq)]
pub struct RawEvent {
    /// Position in the trace.
    seq: u64,
    pub time: Time,
    pub core: CoreId,
    pub kind: &'static str,
    /// Of a switch, the thread that ran.
    pub thread: Option<Tid>,
    /// Of a switch, the next thread; of a wake-up, the waker; of a fork, the child.
    pub other: Option<Tid>,
    pub target: Option<CoreId>,
    pub detail: Option<String>,
}

#[derive(Serialize, Debug)]
pub struct RawEvents {
    pub events: Vec<RawEvent>,
    /// Whether there are more than were asked for.
    pub truncated: bool,
    /// The trace was read up to here.
    until: Time,
}

/// The first `limit` events of `area`: on or towards its cores, of its thread.
pub fn raw(trace: &Viewed, area: &Area, limit: usize) -> Result<RawEvents, tiles::Error> {
    let started = Instant::now();
    let first = trace.index.group_before(area.from);
    let mut found = RawEvents { events: Vec::new(), truncated: false, until: trace.index.end() };
    let mut seq = trace.groups.spans().iter().take(first).map(|span| span.events).sum();
    for group in first..trace.index.groups() {
        for event in trace.groups.read(group)?.iter() {
            if event.time > area.to {
                return Ok(found);
            }
            if event.time >= area.from && has(area, event) {
                if found.events.len() == limit {
                    (found.truncated, found.until) = (true, event.time);
                    return Ok(found);
                }
                found.events.push(described(trace.header(), seq, event));
            }
            seq += 1;
        }
        if started.elapsed() > PATIENCE {
            found.until = trace.index.group_time(group + 1).unwrap_or(found.until);
            return Ok(found);
        }
    }
    Ok(found)
}

fn has(area: &Area, event: &Event) -> bool {
    let (threads, target) = subjects(&event.kind);
    let is =
        |core: CoreId| area.cores.as_ref().is_none_or(|cores| cores.get(usize::from(core)) == Some(&true));
    let of = |thread: Tid| threads.contains(&Some(thread));
    (is(event.core) || target.is_some_and(is)) && area.thread.is_none_or(of)
}

/// The threads of an event, and the core that one of them comes to.
fn subjects(kind: &Kind) -> ([Option<Tid>; 2], Option<CoreId>) {
    match *kind {
        Kind::Switch { prev, next, .. } => ([Some(prev), Some(next)], None),
        Kind::Wakeup { thread, waker, target, .. } => {
            let waker = match waker {
                Waker::Thread(waker) => Some(waker),
                Waker::Interrupt => None,
            };
            ([Some(thread), waker], Some(target))
        }
        Kind::Fork { parent, child, target } => ([Some(parent), Some(child)], Some(target)),
        Kind::Exec { thread, .. } | Kind::Exit { thread } | Kind::Wait { thread } => {
            ([Some(thread), None], None)
        }
        Kind::Migrate { thread, to, .. } => ([Some(thread), None], Some(to)),
        Kind::Place { thread, target, .. } => ([Some(thread), None], Some(target)),
        _ => ([None, None], None),
    }
}

fn described(header: &Header, seq: u64, event: &Event) -> RawEvent {
    let ([thread, other], target) = subjects(&event.kind);
    let tag = Row::of(&event.kind).kind;
    let kind = KIND_NAMES.iter().find(|(known, _)| *known == tag).map_or("unknown", |(_, name)| name);
    let name = |names: &[String], number: usize| names.get(number).cloned();
    let ghz = |khz: u32| (khz > 0).then(|| format!("{:.2} GHz", f64::from(khz) / 1e6));
    let detail = match event.kind {
        Kind::Switch { stop, .. } => Some(stop_name(stop).to_owned()),
        Kind::Wakeup { waker: Waker::Interrupt, .. } => Some("by an interrupt".into()),
        Kind::Exec { name: number, .. } => name(&header.names, number as usize),
        Kind::Migrate { from, .. } => Some(format!("from core {from}")),
        Kind::Place { reason, seen_khz, .. } => {
            let parts = [name(&header.reasons, reason.into()), ghz(seen_khz)];
            Some(parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
        }
        Kind::Frequency { khz } | Kind::Tick { khz } => ghz(khz),
        Kind::Idle { state } => name(&header.idle_states, state.into()),
        Kind::Spin { on } => Some(if on { "starts" } else { "ends" }.into()),
        Kind::Queue { length } => Some(format!("{length} runnable")),
        Kind::Set { set, member } => {
            let set = name(&header.sets, set.into()).unwrap_or_else(|| format!("set {set}"));
            Some(format!("{} {set}", if member { "joins" } else { "leaves" }))
        }
        Kind::Wakeup { .. } | Kind::Fork { .. } | Kind::Exit { .. } | Kind::Wait { .. } => None,
    };
    RawEvent { seq, time: event.time, core: event.core, kind, thread, other, target, detail }
}
