//! Concurrent work conservation: who is responsible for what, and what excuses it.
//!
//! The definition is in the documentation of the crate.

use hearth_ipanema::ir::Event;

use crate::cores::Cores;
use crate::model::Model;
use crate::property::{Property, Violation};
use crate::world::{Activity, World};

/// Which of the properties that cost something are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    pub cwc: bool,
    pub collisions: bool,
}

/// Two threads or more, one of which waits and may run on `idle`.
fn overloaded_for(model: &Model, world: &World, core: u8, idle: u8) -> bool {
    let c = world.core(core);
    c.nr_running() >= 2 && c.ready().any(|thread| model.affinity[usize::from(thread)].contains(idle))
}

/// Another core's event is under way on this core, or about to place a thread there.
fn taken(world: &World, core: u8) -> bool {
    world.core(core).activity.is_some() || world.claimed.contains(core)
}

/// After `new` and `unblock`: the thread was not placed behind another while a core was idle for it
/// all the time.
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
        // Somebody else placed a thread there at the same time.
        true if checks.collisions => Property::Collision,
        false if checks.cwc => Property::Cwc,
        false => Property::Collision,
        true => return Ok(()),
    };
    let throughout = (ghost.idle_before & world.idle) - ghost.became_idle;
    let allowed = throughout & model.affinity[usize::from(thread)];
    let spare = allowed.iter().find(|core| !taken(world, *core));
    match spare {
        Some(spare) if world.core(chosen).nr_running() >= 2 => Err(Violation {
            property,
            what: format!(
                "`{}` placed thread {thread} on core {chosen}, which has {} threads, while core {spare} was \
                 idle all the time",
                activity.cause.name(),
                world.core(chosen).nr_running()
            ),
        }),
        _ => Ok(()),
    }
}

/// When an event, with what followed it on its core, is over.
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
        if taken(world, core) {
            continue;
        }
        let guilty =
            |other: &u8| overloaded_for(model, world, *other, core) && !ghost.placed.contains(*other);
        if let Some(other) = (0..model.map.nr_cores).find(guilty) {
            let who = if core == me { "it" } else { "for which it balances" };
            return Err(Violation {
                property: Property::Cwc,
                what: format!(
                    "at the end of `{}` on core {me}, core {core} ({who}) is idle while core {other} has {} threads",
                    activity.cause.name(),
                    world.core(other).nr_running()
                ),
            });
        }
    }
    Ok(())
}
