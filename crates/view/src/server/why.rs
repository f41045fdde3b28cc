//! Why a slice is on its core: the policy's decision, and what the policy saw.

use super::look::{self, Cause, Migrated, Placed};
use super::viewed::Viewed;
use hearth_trace::tiles::{self, CoreSnapshot, MOST_SETS, Moment};
use hearth_trace::{CoreId, Tid, Time};
use serde::Serialize;

#[derive(Serialize, Debug)]
pub struct Why {
    thread: Tid,
    /// `None`: the trace has no decision between the thread's previous slice and this one.
    placed: Option<Placed>,
    /// A move after that decision, without another one.
    migrated: Option<Migrated>,
    /// The core of the previous slice, if it is near.
    previous: Option<CoreId>,
    /// `None`: without a decision, and at the start of the trace.
    before: Option<Before>,
}

/// The cores just before the decision, without the thread itself if it was woken.
#[derive(Serialize, Debug)]
struct Before {
    /// Cores without a runnable thread.
    idle: usize,
    target: CoreView,
    previous: Option<CoreView>,
    /// Number of cores in each set.
    set_sizes: Vec<usize>,
}

#[derive(Serialize, Debug)]
struct CoreView {
    /// Runnable threads.
    queue: u32,
    khz: Option<u32>,
    sets: Vec<u8>,
}

/// Why the slice at `time` is on `core`; `None`: the core is idle, or the slice began too long ago.
pub fn why(trace: &Viewed, core: CoreId, time: Time) -> Result<Option<Why>, tiles::Error> {
    let Some((thread, _, cause)) = look::causes(trace, core, time)? else { return Ok(None) };
    let Cause { placed, migrated, previous, .. } = cause;
    let decided = placed.and_then(|placed| Some((placed.target, placed.time.checked_sub(1)?)));
    let before = match decided {
        Some((target, time)) => {
            let mut moment = trace.index.moment(&trace.groups, time)?;
            if let Some(count) = cause.waits.and_then(|core| moment.runnable.get_mut(usize::from(core))) {
                *count = count.saturating_sub(1);
            }
            Some(before(trace, &moment, target, previous))
        }
        None => None,
    };
    Ok(Some(Why { thread, placed, migrated, previous, before }))
}

fn before(trace: &Viewed, moment: &Moment, target: CoreId, previous: Option<CoreId>) -> Before {
    let seen = |core: CoreId| {
        let known_core = moment.cores.get(usize::from(core)).copied().unwrap_or_default();
        CoreView {
            queue: moment.runnable.get(usize::from(core)).copied().unwrap_or(0),
            khz: known(known_core.khz),
            sets: (0..MOST_SETS as u8).filter(|set| member(&known_core, *set)).collect(),
        }
    };
    let sets = trace.header().sets.len().min(MOST_SETS) as u8;
    let size = |set: u8| moment.cores.iter().filter(|core| member(core, set)).count();
    Before {
        idle: moment.runnable.iter().filter(|count| **count == 0).count(),
        target: seen(target),
        previous: previous.map(seen),
        set_sizes: (0..sets).map(size).collect(),
    }
}

fn member(core: &CoreSnapshot, set: u8) -> bool {
    core.marks.sets >> set & 1 == 1
}

fn known(khz: u32) -> Option<u32> {
    (khz != 0).then_some(khz)
}
