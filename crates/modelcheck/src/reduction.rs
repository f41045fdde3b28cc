//! Partial-order reduction: which accesses are not interleaved.
//!
//! An access that commutes with everything other cores can do during the handler is merged into the step
//! before it (Lipton's reduction: such accesses are both-movers, and no property observes them):
//!
//! - *Owned* data. While an event of a thread is in progress, only that event accesses the thread (except for
//!   `timer`, whose thread is READY and can be stolen). Only a core's own handlers access a core's
//!   attributes. Policies break these rules for some attributes (an enqueue that reads another core's
//!   clock, a balancer that sets another core's deadline). The exploration detects these attributes.
//! - Sets and global attributes that no handler ever writes.
//!
//! An exploration begins with the assumption that there are no such attributes. On the first access that
//! breaks the assumption, the assumption is corrected and the exploration restarts. The last
//! exploration, which meets no such access, is sound. Suppose that in some schedule an access B of another
//! core comes between two merged accesses of the owner, and that B is the first to do so. All merged
//! accesses before B commute, so the state before them is explored. So is B directly after the run
//! of merged accesses, because B depends on its own handler only. There B is detected:
//!
//! - on a core's attribute, because every access by another core counts, at any time;
//! - on a thread's attribute, because every access counts while the thread is not READY. The thread is not READY
//!   directly after a run of merged accesses: the thread of an event is not READY at its beginning, and the
//!   transition that may make it READY is never merged.

use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::model::Model;
use crate::world::{Activity, State, World};
use hearth_ipanema::ir::{CoreField, Event};

/// What handlers that do not own an attribute do to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ForeignAccess {
    read: bool,
    write: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reduction {
    #[serde(rename = "reduces")]
    enabled: bool,
    core: Vec<ForeignAccess>,
    thread: Vec<ForeignAccess>,
    written_sets: Vec<bool>,
    written_globals: Vec<bool>,
    /// An assumption was broken since `take_broken`.
    #[serde(rename = "news")]
    broken: bool,
}

/// Corrects an assumption, if this is the first access that breaks it.
fn correct(assumption: &mut bool, broken: &mut bool) {
    *broken |= !*assumption;
    *assumption = true;
}

impl Reduction {
    /// If it is not enabled, every access to shared state is a step of its own.
    pub fn new(model: &Model, enabled: bool) -> Reduction {
        Reduction {
            enabled,
            core: vec![ForeignAccess::default(); model.policy.core.len()],
            thread: vec![ForeignAccess::default(); model.policy.thread.len()],
            written_sets: vec![false; model.policy.sets.len()],
            written_globals: vec![false; model.policy.globals.len()],
            broken: false,
        }
    }

    /// Whether it has as many attributes and sets as this policy.
    pub fn fits(&self, model: &Model) -> bool {
        let policy = model.policy;
        self.core.len() == policy.core.len()
            && self.thread.len() == policy.thread.len()
            && self.written_sets.len() == policy.sets.len()
            && self.written_globals.len() == policy.globals.len()
    }

    /// Whether an assumption was broken since the last call.
    pub fn take_broken(&mut self) -> bool {
        std::mem::take(&mut self.broken) && self.enabled
    }

    /// Whether this access of core `me`, on which `activity` is in progress, is merged into the step before it.
    pub fn merges(&self, access: &Access, me: u8, activity: &Activity, world: &World) -> bool {
        if !self.enabled {
            return false;
        }
        let owns = |thread: u8| owns(activity, thread);
        match *access {
            Access::Set(set) => !self.written_sets[set.index()],
            Access::Global(attribute) => !self.written_globals[attribute.index()],
            Access::ThreadAttribute(t, a) => owns(t) && !self.thread[a.index()].write,
            Access::SetThread(t, a, _) => {
                let others = self.thread[a.index()];
                owns(t) && !others.read && !others.write
            }
            Access::CoreAttribute(c, a) => c == me && !self.core[a.index()].write,
            Access::SetCore(c, a, _) => {
                let others = self.core[a.index()];
                c == me && !others.read && !others.write
            }
            Access::CoreField(c, CoreField::Current | CoreField::IdleSince) => c == me,
            Access::ThreadCore(t) => owns(t),
            Access::Runtime(t) => owns(t) || world.core(me).current == t,
            Access::Arm(t, _) | Access::Cancel(t) => owns(t),
            // The request is only read between two events of the core.
            Access::Preempt(c) => c == me,
            _ => false,
        }
    }

    /// Corrects the assumption that this access of core `me` in `activity` breaks, if any.
    pub fn observe(&mut self, access: &Access, me: u8, activity: &Activity, world: &World) {
        let broken = &mut self.broken;
        // READY threads have no owner: any core may find one in its queue.
        let foreign = |t: u8| !owns(activity, t) && world.thread(t).state != State::Ready;
        match *access {
            Access::ThreadAttribute(t, a) if foreign(t) => correct(&mut self.thread[a.index()].read, broken),
            Access::SetThread(t, a, _) if foreign(t) => correct(&mut self.thread[a.index()].write, broken),
            Access::CoreAttribute(c, a) if c != me => correct(&mut self.core[a.index()].read, broken),
            Access::SetCore(c, a, _) if c != me => correct(&mut self.core[a.index()].write, broken),
            Access::SetSet(set, _) | Access::Add { set, .. } | Access::Remove { set, .. } => {
                correct(&mut self.written_sets[set.index()], broken);
            }
            Access::SetGlobal(a, _) => correct(&mut self.written_globals[a.index()], broken),
            _ => {}
        }
    }
}

/// Whether the event is the thread's and has not made its transition.
fn owns(activity: &Activity, thread: u8) -> bool {
    activity.subject == thread && activity.cause != Event::Timer && !activity.moved
}
