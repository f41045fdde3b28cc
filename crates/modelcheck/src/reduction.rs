//! Which accesses need not be interleaved: those that commute with all that other cores can do
//! while the handler is under way. They are done at once with the step before them (Lipton's
//! reduction: they are both movers, and no property sees them).
//!
//! - *Owned* data: while an event of a thread is under way (but for `timer`, whose thread is READY
//!   and can be stolen), only that event works on the thread; and only a core's own handlers work on
//!   a core's attributes. So they do, as a rule. The exceptions (an enqueue that reads another core's
//!   clock, a balancer that sets another core's deadline) are found out, by attribute.
//! - Sets and global attributes that nobody ever changes.
//!
//! An exploration begins with the assumption that there are no exceptions. When it meets the first
//! access that breaks it, the assumption is corrected and the exploration begins anew. The last
//! one, which meets none, is sound. Say that in some schedule an access B of another core comes
//! between two merged accesses of the owner, and that it is the first that does so. Up to there all
//! merged accesses commute, so the state before them is explored. So is B right after the whole run
//! of merged accesses: what B is depends on its own handler only. There it is noticed:
//!
//! - a core's attribute, because every access by another core counts, at whatever time;
//! - a thread's, because every access counts while the thread is not READY. It is not READY right
//!   after a run of merged accesses: an event begins with a thread that is not, and the transition
//!   that may make it so is never merged.

use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::model::Model;
use crate::world::{Activity, State, World};
use hearth_ipanema::ir::{CoreField, Event};

/// What others than its owner do to an attribute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Others {
    read: bool,
    write: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reduction {
    reduces: bool,
    core: Vec<Others>,
    thread: Vec<Others>,
    written_sets: Vec<bool>,
    written_globals: Vec<bool>,
    /// Something was learned since `take_news`.
    news: bool,
}

fn learn(known: &mut bool, news: &mut bool) {
    *news |= !*known;
    *known = true;
}

impl Reduction {
    /// Without reduction, every access to what is shared is a step of its own.
    pub fn new(model: &Model, reduces: bool) -> Reduction {
        Reduction {
            reduces,
            core: vec![Others::default(); model.policy.core.len()],
            thread: vec![Others::default(); model.policy.thread.len()],
            written_sets: vec![false; model.policy.sets.len()],
            written_globals: vec![false; model.policy.globals.len()],
            news: false,
        }
    }

    /// Is it about the attributes and sets of this policy?
    pub fn fits(&self, model: &Model) -> bool {
        let policy = model.policy;
        self.core.len() == policy.core.len()
            && self.thread.len() == policy.thread.len()
            && self.written_sets.len() == policy.sets.len()
            && self.written_globals.len() == policy.globals.len()
    }

    /// Was an assumption broken since the last call?
    pub fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.news) && self.reduces
    }

    /// May core `me`, on which `activity` is under way, make this access at once?
    pub fn is_private(&self, access: &Access, me: u8, activity: &Activity, world: &World) -> bool {
        if !self.reduces {
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
            // Only looked at between two events of the core.
            Access::Preempt(c) => c == me,
            _ => false,
        }
    }

    /// Takes notice of an access that core `me` makes in this activity.
    pub fn note(&mut self, access: &Access, me: u8, activity: &Activity, world: &World) {
        let news = &mut self.news;
        // What works on a READY thread has taken it from its queue, or finds it there.
        let foreign = |t: u8| !owns(activity, t) && world.thread(t).state != State::Ready;
        match *access {
            Access::ThreadAttribute(t, a) if foreign(t) => learn(&mut self.thread[a.index()].read, news),
            Access::SetThread(t, a, _) if foreign(t) => learn(&mut self.thread[a.index()].write, news),
            Access::CoreAttribute(c, a) if c != me => learn(&mut self.core[a.index()].read, news),
            Access::SetCore(c, a, _) if c != me => learn(&mut self.core[a.index()].write, news),
            Access::SetSet(set, _) | Access::Add { set, .. } | Access::Remove { set, .. } => {
                learn(&mut self.written_sets[set.index()], news);
            }
            Access::SetGlobal(a, _) => learn(&mut self.written_globals[a.index()], news),
            _ => {}
        }
    }
}

/// The event is the thread's, and has not made its transition.
fn owns(activity: &Activity, thread: u8) -> bool {
    activity.subject == thread && activity.cause != Event::Timer && !activity.moved
}
