//! Converts a replayed schedule to the events of a trace.

use hearth_ipanema::ir;
use hearth_trace::{Event, IDLE, Kind, Stop, Tid, Time, Waker};

use crate::access::Access;
use crate::counterexample::Replayed;
use crate::log::LogEntry;
use crate::model::{Model, START_NS};
use crate::narrate::core_of;
use crate::step::Step;
use crate::world::{NO_THREAD, State};

/// The initial events are at time 0, and the schedule begins here, in nanoseconds.
const SCHEDULE_START: Time = 1000;
/// Time between two steps of the same tick, in nanoseconds. It gives the events of a trace an order.
const STEP_NS: Time = 1000;

/// Threads of a trace are numbered from 1, because 0 is the idle thread. `NO_THREAD` becomes the idle thread.
pub(crate) fn tid(thread: u8) -> Tid {
    if thread == NO_THREAD { IDLE } else { Tid::from(thread) + 1 }
}

pub(crate) fn khz(model: &Model<'_>, core: u8) -> u32 {
    model.frequency(core) as u32
}

/// The events of a replayed schedule.
pub(crate) fn events(replayed: &Replayed<'_>) -> Vec<Event> {
    let model = replayed.model;
    let mut events = Vec::new();
    // By core, the thread that has left it and why, until the core switches to another.
    let mut left: Vec<Option<(u8, Stop)>> = vec![None; usize::from(model.map.nr_cores)];
    // By thread, whether the wake-up in progress comes from an interrupt.
    let mut interrupted = vec![false; model.programs.len()];
    for (at, (step, log)) in replayed.logs.iter().enumerate() {
        let (before, after) = (&replayed.worlds[at], &replayed.worlds[at + 1]);
        if let Step::Interrupt(thread) = step {
            interrupted[usize::from(*thread)] = true;
        }
        let Some(core) = core_of(*step, before) else { continue };
        let time = (before.now - START_NS) as Time + STEP_NS * at as Time + SCHEDULE_START;
        let mut push = |core: u8, kind| events.push(Event { time, core: core.into(), kind });
        let current = before.core(core).current;
        for entry in log {
            match *entry {
                LogEntry::Begins { event, thread, .. } => {
                    if let Some(stop) = stop(event) {
                        left[usize::from(core)] = Some((thread, stop));
                    }
                    match event {
                        ir::Event::Tick => push(core, Kind::Tick { khz: khz(model, core) }),
                        ir::Event::Terminate => push(core, Kind::Exit { thread: tid(thread) }),
                        _ => {}
                    }
                }
                // It had no effect.
                LogEntry::Access { result: 0, .. } => {}
                LogEntry::Access { access: Access::Add { set, core, .. }, .. } => {
                    push(core, Kind::Set { set: set.0 as u8, member: true });
                }
                LogEntry::Access { access: Access::Remove { set, core }, .. } => {
                    push(core, Kind::Set { set: set.0 as u8, member: false });
                }
                LogEntry::Access { access: Access::Ready { thread: id, core: to, reason, .. }, .. } => {
                    let (t, thread, target) = (before.thread(id), tid(id), to.into());
                    if t.state == State::Blocked || t.state != State::NotQueued && t.core != to {
                        // It has left its core, which has not found another thread yet.
                        let from = left.iter().position(|left| left.is_some_and(|left| left.0 == id));
                        if let Some(from) = from
                            && let Some((_, stop)) = left[from].take()
                        {
                            push(from as u8, Kind::Switch { prev: thread, stop, next: IDLE });
                        }
                    }
                    match t.state {
                        State::NotQueued => {
                            push(core, Kind::Fork { parent: tid(current), child: thread, target })
                        }
                        State::Blocked => {
                            let interrupt =
                                std::mem::take(&mut interrupted[usize::from(id)]) || current == NO_THREAD;
                            let waker =
                                if interrupt { Waker::Interrupt } else { Waker::Thread(tid(current)) };
                            push(core, Kind::Wakeup { thread, waker, target, sync: false });
                        }
                        State::Ready | State::Running if t.core != to => {
                            push(core, Kind::Migrate { thread, from: t.core.into(), to: target });
                        }
                        _ => {}
                    }
                    if reason.0 != 0 {
                        let seen_khz = khz(model, to);
                        push(core, Kind::Place { thread, target, reason: reason.0 as u16, seen_khz });
                    }
                }
                LogEntry::Access { .. } | LogEntry::Idle | LogEntry::StaysAwake => {}
            }
        }
        let next = after.core(core).current;
        let runs = next != NO_THREAD && (current != next || left[usize::from(core)].is_some());
        if runs || log.contains(&LogEntry::Idle) {
            let (prev, stop) = left[usize::from(core)].take().unwrap_or((NO_THREAD, Stop::Preempted));
            if prev != next {
                push(core, Kind::Switch { prev: tid(prev), stop, next: tid(next) });
            }
        }
    }
    events
}

/// Why the thread of this event leaves its core; `None` if it does not.
fn stop(event: ir::Event) -> Option<Stop> {
    match event {
        ir::Event::Preempt => Some(Stop::Preempted),
        ir::Event::Yield => Some(Stop::Yielded),
        ir::Event::Block => Some(Stop::Blocked),
        ir::Event::Terminate => Some(Stop::Exited),
        _ => None,
    }
}
