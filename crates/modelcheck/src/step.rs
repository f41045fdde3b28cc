//! What can happen next.

use serde::{Deserialize, Serialize};

use crate::model::Model;
use crate::scenario::Op;
use crate::world::{Core, Does, NO_THREAD, State, TICK_NS, World};
use hearth_ipanema::ir::Event;

/// One atomic step of the world. What it does follows from the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The clock goes on by a tick.
    Clock,
    /// The core goes on with the event that is under way on it, by one shared access.
    Go(u8),
    /// The thread that runs on the core does the next operation of its program.
    Op(u8),
    /// The core has its tick.
    Tick(u8),
    /// The core's thread loses the core, as a handler asked.
    Preempt(u8),
    /// An idle core on which a thread was placed schedules.
    Dispatch(u8),
    /// An interrupt wakes the sleeping thread.
    Interrupt(u8),
    /// The thread's timer fires.
    Timer(u8),
}

/// The next operation of the core's current thread; `None`: it exits.
pub fn next_op(model: &Model, world: &World, core: u8) -> Option<Op> {
    let thread = world.core(core).current;
    model.programs[usize::from(thread)].get(usize::from(world.thread(thread).next)).copied()
}

fn can_do(op: Option<Op>, world: &World) -> bool {
    match op {
        Some(Op::Forever) => false,
        // As in a kernel, who wakes a thread that is on its way to block waits until it has.
        Some(Op::Wake(other)) => {
            let owner = world.owner(other).and_then(|core| world.core(core).activity.as_ref());
            owner.is_none_or(|activity| activity.cause != Event::Block)
        }
        _ => true,
    }
}

fn timer_is_due(world: &World, thread: u8) -> bool {
    let t = world.thread(thread);
    // Delays are far shorter than ticks: one that ends before the next tick may end at any time.
    t.timer >= 0 && t.state == State::Ready && t.timer / TICK_NS <= world.now / TICK_NS
}

/// All steps that are possible. Of a core at most one is enabled while an event is under way on it:
/// events of one core come one after the other.
pub fn enabled(model: &Model, world: &World) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut prompt = false;
    for (id, core) in (0..).zip(&world.cores) {
        prompt |= urgent(id, core, world);
        if core.activity.is_some() {
            steps.push(Step::Go(id));
        } else if core.does == Does::Idle {
            if !world.idle.contains(id) {
                steps.push(Step::Dispatch(id));
            }
        } else if core.resched {
            steps.push(Step::Preempt(id));
        } else {
            if core.tick {
                steps.push(Step::Tick(id));
            }
            if can_do(next_op(model, world, id), world) {
                steps.push(Step::Op(id));
            }
        }
    }
    for (id, thread) in (0..).zip(&world.threads) {
        let free = |core: u8| world.core(core).activity.is_none();
        if timer_is_due(world, id) {
            prompt = true;
            if free(thread.timer_core) {
                steps.push(Step::Timer(id));
            }
        }
        if thread.sleeps && thread.state == State::Blocked && free(thread.core) && world.owner(id).is_none() {
            steps.push(Step::Interrupt(id));
        }
    }
    if world.ticks > 0 && !prompt {
        steps.push(Step::Clock);
    }
    steps
}

/// The core does something that is over long before the next tick.
fn urgent(id: u8, core: &Core, world: &World) -> bool {
    core.activity.is_some()
        || core.tick
        || core.resched
        || core.does == Does::Idle && !world.idle.contains(id)
        || core.does == Does::Run && core.current == NO_THREAD
}
