//! A counter-example as the events of a scheduler's trace.

use hearth_ipanema::ir::Event;
use hearth_policy::Policy;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::counterexample::{Counterexample, Replayed, repeat};
use crate::log::Happening;
use crate::model::{Model, START_NS};
use crate::narrate::core_of;
use crate::schedule_file::fitting;
use crate::search::CheckError;
use crate::step::Step;
use crate::world::{NO_THREAD, State, World};

/// What happened on a core. Between two steps a microsecond passes, so that a trace has an order;
/// a tick of the clock takes 4 ms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulerEvent {
    /// Nanoseconds since the beginning.
    pub time: u64,
    /// Of a wake-up or fork the waker's.
    pub core: u8,
    pub kind: Kind,
}

/// Why a thread left its core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Left {
    Preempted,
    Yielded,
    Blocked,
    Exited,
}

/// As in Hearth's traces, but that threads are numbered from 0, and no thread is `None`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// `previous` left the core for `why`, and `next` runs on it.
    Switch {
        previous: Option<u8>,
        why: Left,
        next: Option<u8>,
    },
    Fork {
        parent: Option<u8>,
        child: u8,
        target: u8,
    },
    /// Without a waker it was an interrupt.
    Wakeup {
        thread: u8,
        waker: Option<u8>,
        target: u8,
    },
    Migrate {
        thread: u8,
        from: u8,
        to: u8,
    },
    /// The policy placed the thread, for this reason.
    Place {
        thread: u8,
        target: u8,
        reason: String,
    },
    Exit {
        thread: u8,
    },
    Tick,
    /// A core entered or left a set of the policy.
    Set {
        set: String,
        core: u8,
        member: bool,
    },
}

/// Lets the schedule of a counter-example happen again.
///
/// # Errors
/// If the counter-example is of another policy, or does not fit it (any longer).
pub fn replay(policy: &Policy, counterexample: &Counterexample) -> Result<Vec<SchedulerEvent>, CheckError> {
    counterexample.check(policy)?;
    let model = fitting(policy, counterexample)?;
    let reduction = counterexample.reduction.clone();
    Ok(events(&repeat(&model, &counterexample.scenario, reduction, &counterexample.steps)))
}

/// What happens between the worlds of a replay.
pub(crate) fn events(replayed: &Replayed<'_>) -> Vec<SchedulerEvent> {
    let model = replayed.model;
    let mut events = Vec::new();
    let mut left: Vec<Option<(u8, Left)>> = vec![None; usize::from(model.map.nr_cores)];
    // The thread is being woken by an interrupt, whoever runs there.
    let mut interrupted = vec![false; model.programs.len()];
    for (at, (step, log)) in replayed.logs.iter().enumerate() {
        let (before, after) = (&replayed.worlds[at], &replayed.worlds[at + 1]);
        if let Step::Interrupt(thread) = step {
            interrupted[usize::from(*thread)] = true;
        }
        let Some(core) = core_of(*step, before) else { continue };
        let time = (before.now - START_NS) as u64 + 1000 * at as u64;
        for happening in log {
            let mut tell = |kind| events.push(SchedulerEvent { time, core, kind });
            match happening {
                Happening::Begins { event, thread, .. } => {
                    if *event == Event::Tick {
                        tell(Kind::Tick);
                    }
                    if let Some(why) = why(*event) {
                        left[usize::from(core)] = Some((*thread, why));
                    }
                    if *event == Event::Terminate {
                        tell(Kind::Exit { thread: *thread });
                    }
                }
                Happening::Access { access, result: 0, .. } if !access.is_read() => {}
                Happening::Access { access, .. } => {
                    for mut kind in of_access(model, before, core, *access) {
                        if let Kind::Wakeup { thread, waker, .. } = &mut kind
                            && std::mem::take(&mut interrupted[usize::from(*thread)])
                        {
                            *waker = None;
                        }
                        // It left its core, which has not found another thread yet.
                        if let Kind::Wakeup { thread, .. } | Kind::Migrate { thread, .. } = kind
                            && let Some(from) = left.iter().position(|l| l.is_some_and(|l| l.0 == thread))
                            && let Some((_, why)) = left[from].take()
                        {
                            let kind = Kind::Switch { previous: Some(thread), why, next: None };
                            events.push(SchedulerEvent { time, core: from as u8, kind });
                        }
                        events.push(SchedulerEvent { time, core, kind });
                    }
                }
                Happening::Idle | Happening::StaysAwake => {}
            }
        }
        let (was, is) = (before.core(core).current, after.core(core).current);
        let runs = is != NO_THREAD && (was != is || left[usize::from(core)].is_some());
        if runs || log.contains(&Happening::Idle) {
            let (previous, why) = left[usize::from(core)].take().unzip();
            let next = (is != NO_THREAD).then_some(is);
            if previous != next {
                let kind = Kind::Switch { previous, why: why.unwrap_or(Left::Preempted), next };
                events.push(SchedulerEvent { time, core, kind });
            }
        }
    }
    events
}

fn why(event: Event) -> Option<Left> {
    match event {
        Event::Preempt => Some(Left::Preempted),
        Event::Yield => Some(Left::Yielded),
        Event::Block => Some(Left::Blocked),
        Event::Terminate => Some(Left::Exited),
        _ => None,
    }
}

/// What a change looks like in a trace.
fn of_access(model: &Model<'_>, before: &World, core: u8, access: Access) -> Vec<Kind> {
    let policy = model.policy;
    let current = before.core(core).current;
    let current = (current != NO_THREAD).then_some(current);
    let set = |id: hearth_ipanema::ir::SetId| policy.sets[id.index()].name.clone();
    match access {
        Access::Ready { thread, core: target, reason, .. } => {
            let t = before.thread(thread);
            let mut kinds = match t.state {
                State::NotQueued => vec![Kind::Fork { parent: current, child: thread, target }],
                State::Blocked => vec![Kind::Wakeup { thread, waker: current, target }],
                State::Ready | State::Running if t.core != target => {
                    vec![Kind::Migrate { thread, from: t.core, to: target }]
                }
                _ => Vec::new(),
            };
            if reason.0 != 0 {
                let reason = policy.reasons[reason.index()].clone();
                kinds.push(Kind::Place { thread, target, reason });
            }
            kinds
        }
        Access::Add { set: id, core, .. } => vec![Kind::Set { set: set(id), core, member: true }],
        Access::Remove { set: id, core } => vec![Kind::Set { set: set(id), core, member: false }],
        _ => Vec::new(),
    }
}
