//! The checks of concurrent work conservation (CWC). The crate's documentation has the definition.

use hearth_ipanema::ir::Event;

use crate::cores::Cores;
use crate::model::Model;
use crate::progress::Rounds;
use crate::property::{Property, Violation};
use crate::world::{Activity, World};

/// The optional properties: checking them enlarges the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    pub cwc: bool,
    pub collisions: bool,
    /// How many ticks a ready thread may wait.
    pub within: Option<u8>,
    /// After how many rounds of balancing without external events no core is idle while another is overloaded.
    pub rounds: Option<Rounds>,
}

/// Whether `core` has two threads or more, one of which waits and may run on `idle`.
pub fn overloaded_for(model: &Model, world: &World, core: u8, idle: u8) -> bool {
    let c = world.core(core);
    c.nr_running() >= 2 && c.ready().any(|thread| model.affinity[usize::from(thread)].contains(idle))
}

/// Whether an event in progress excuses that this core is idle: one on the core, or one that has claimed it.
fn excused(world: &World, core: u8) -> bool {
    world.core(core).activity.is_some() || world.claimed.contains(core)
}

/// After `new`, `unblock`, and a `preempt` that sends its thread to another core: no violation if the thread was placed
/// alone, or if no core was idle for it throughout the event.
pub fn at_placement(
    checks: Checks,
    model: &Model,
    world: &World,
    me: u8,
    activity: &Activity,
) -> Result<(), Violation> {
    if !checks.cwc && !checks.collisions {
        return Ok(());
    }
    let thread = activity.subject;
    let chosen = world.thread(thread).core;
    let ghost = world.core(me).ghost;
    let property = match ghost.placed.contains(chosen) {
        // Another core concurrently placed a thread there.
        true if checks.collisions => Property::Collision,
        false if checks.cwc => Property::Cwc,
        false => Property::Collision,
        true => return Ok(()),
    };
    let throughout = (ghost.idle_before & world.idle) - ghost.became_idle;
    let allowed = throughout & model.affinity[usize::from(thread)];
    let spare = allowed.iter().find(|core| !excused(world, *core));
    match spare {
        Some(spare) if world.core(chosen).nr_running() >= 2 => Err(Violation {
            property,
            what: format!(
                "`{}` placed thread {thread} on core {chosen}, which has {} threads, while core {spare} was \
                 idle throughout",
                activity.cause.name(),
                world.core(chosen).nr_running()
            ),
        }),
        _ => Ok(()),
    }
}

/// When an event ends, with what followed it on its core.
pub fn at_end(
    checks: Checks,
    model: &Model,
    world: &World,
    me: u8,
    activity: &Activity,
) -> Result<(), Violation> {
    if !checks.cwc {
        return Ok(());
    }
    let ghost = world.core(me).ghost;
    let went_idle = activity.last == Event::EnterIdle;
    let own = if went_idle { Cores::one(me) } else { Cores::EMPTY };
    for core in (((own | ghost.thieves) - ghost.became_idle) & world.idle).iter() {
        if excused(world, core) {
            continue;
        }
        let overloaded =
            |other: &u8| overloaded_for(model, world, *other, core) && !ghost.placed.contains(*other);
        if let Some(other) = (0..model.map.nr_cores).find(overloaded) {
            let balanced = if core == me { "" } else { ", for which it balanced," };
            return Err(Violation {
                property: Property::Cwc,
                what: format!(
                    "at the end of `{}` on core {me}, core {core}{balanced} is idle while core {other} has {} threads",
                    activity.cause.name(),
                    world.core(other).nr_running()
                ),
            });
        }
    }
    Ok(())
}
