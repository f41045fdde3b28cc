//! The steps of the model, and which are enabled in a state.

use serde::{Deserialize, Serialize};

use crate::cores::Cores;
use crate::model::Model;
use crate::scenario::Op;
use crate::world::{Activity, Core, Mode, NO_THREAD, State, TICK_NS, World};
use hearth_ipanema::ir::Event;

/// An atomic step. Its effect is a function of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The clock advances by a tick of 4 ms.
    Clock,
    /// The core continues its event in progress by one shared access.
    Go(u8),
    /// The current thread of the core executes the next operation of its program.
    Op(u8),
    /// The same, if that is a wake-up and the policy reads `waker_sleeps`: the thread says that it is about to sleep.
    /// Whether it does is another matter.
    Sync(u8),
    /// The core handles its tick.
    Tick(u8),
    /// The core's thread is preempted, as a handler requested.
    Preempt(u8),
    /// An idle core on which a thread was placed runs `schedule`.
    Dispatch(u8),
    /// An interrupt wakes the sleeping thread.
    Interrupt(u8),
    /// The thread's timer fires.
    Timer(u8),
    /// External events stop for good.
    Quiet,
    /// After external events have stopped: the clock advances by 256 ticks, and the core has its tick.
    Turn(u8),
    /// After external events have stopped: the clock advances by 256 ticks, and all busy cores have their tick.
    Round,
}

impl Step {
    /// The core or thread that executes it, as a number below 16; `None` for an external event, which may never happen.
    /// A core or thread whose step stays enabled executes it at some time.
    pub(crate) fn actor(self) -> Option<u8> {
        match self {
            Step::Go(core) | Step::Tick(core) | Step::Preempt(core) | Step::Dispatch(core) => Some(core),
            Step::Timer(thread) => Some(Cores::MAX as u8 + thread),
            Step::Clock
            | Step::Op(_)
            | Step::Sync(_)
            | Step::Interrupt(_)
            | Step::Quiet
            | Step::Turn(_)
            | Step::Round => None,
        }
    }
}

/// The next operation of the core's current thread; `None`: it exits.
pub fn next_op(model: &Model, world: &World, core: u8) -> Option<Op> {
    let thread = world.core(core).current;
    model.programs[usize::from(thread)].get(usize::from(world.thread(thread).next)).copied()
}

/// Whether the event is a wake-up from a core whose thread only wakes others until it exits.
pub fn waker_exits(model: &Model, world: &World, core: u8, event: Event) -> bool {
    let thread = world.core(core).current;
    event == Event::Unblock && thread != NO_THREAD && {
        let rest = &model.programs[usize::from(thread)][usize::from(world.thread(thread).next)..];
        rest.iter().all(|op| matches!(op, Op::Wake(_)))
    }
}

/// Whether the event is a synchronous wake-up by a thread that does not exit.
pub fn waker_sleeps(model: &Model, world: &World, core: u8, activity: &Activity) -> bool {
    activity.sync && !waker_exits(model, world, core, activity.event())
}

fn is_enabled(op: Option<Op>, world: &World) -> bool {
    match op {
        Some(Op::Forever) => false,
        // As in a kernel, the waker of a thread that is about to block waits until it has blocked.
        Some(Op::Wake(other)) => {
            let owner = world.owner(other).and_then(|core| world.core(core).activity.as_ref());
            owner.is_none_or(|activity| activity.cause != Event::Block)
        }
        _ => true,
    }
}

fn timer_is_due(world: &World, thread: u8) -> bool {
    let t = world.thread(thread);
    // Delays are far shorter than ticks: a timer that ends before the next tick may fire at any time.
    t.timer >= 0 && t.state == State::Ready && t.timer / TICK_NS <= world.now / TICK_NS
}

/// All enabled steps. While an event is in progress on a core, the core has exactly one: events of a core are
/// sequential.
pub fn enabled(model: &Model, world: &World) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut pending = false;
    for (id, core) in (0..).zip(&world.cores).filter(|(id, _)| model.map.online.contains(*id)) {
        pending |= urgent(id, core, world);
        if core.activity.is_some() {
            steps.push(Step::Go(id));
        } else if core.mode == Mode::Idle {
            if !world.idle.contains(id) {
                steps.push(Step::Dispatch(id));
            }
        } else if core.resched {
            steps.push(Step::Preempt(id));
        } else {
            if core.tick {
                steps.push(Step::Tick(id));
            }
            let op = next_op(model, world, id);
            if is_enabled(op, world) {
                steps.push(Step::Op(id));
                if model.reads_sync && matches!(op, Some(Op::Wake(_))) {
                    steps.push(Step::Sync(id));
                }
            }
        }
    }
    for (id, thread) in (0..).zip(&world.threads) {
        let free = |core: u8| world.core(core).activity.is_none();
        if timer_is_due(world, id) {
            pending = true;
            if free(thread.timer_core) {
                steps.push(Step::Timer(id));
            }
        }
        if thread.sleeps && thread.state == State::Blocked && free(thread.core) && world.owner(id).is_none() {
            steps.push(Step::Interrupt(id));
        }
    }
    if world.ticks > 0 && !pending {
        steps.push(Step::Clock);
    }
    steps
}

/// Whether the core has work that ends long before the next tick.
fn urgent(id: u8, core: &Core, world: &World) -> bool {
    core.activity.is_some()
        || core.tick
        || core.resched
        || core.mode == Mode::Idle && !world.idle.contains(id)
        || core.mode == Mode::Busy && core.current == NO_THREAD
}
