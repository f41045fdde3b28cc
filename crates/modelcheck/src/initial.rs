//! The state in which a scenario begins: its threads are there, placed by the policy itself, event
//! after event.

use hearth_ipanema::ir::Event;

use crate::cores::Cores;
use crate::model::Model;
use crate::reduction::Reduction;

use crate::cwc::Checks;
use crate::driver::Driver;
use crate::env::Budget;
use crate::property::Violation;
use crate::scenario::{Scenario, Start};
use crate::step::{Step, enabled};
use crate::world::{NO_THREAD, World};

/// Each thread begins on the core that the scenario says: until all are there, it may use no other.
/// A policy that does not care where a thread may run places them as it likes.
///
/// # Errors
/// If the policy breaks a rule even without concurrency.
pub fn world(model: &Model<'_>, scenario: &Scenario) -> Result<World, Violation> {
    let mut pinned = model.clone();
    for (affinity, spec) in pinned.affinity.iter_mut().zip(&scenario.threads) {
        if let Start::Blocked(core) | Start::Awake(core) = spec.start
            && affinity.contains(core)
        {
            *affinity = Cores::one(core);
        }
    }
    populated(&pinned, scenario).or_else(|_| populated(model, scenario))
}

fn populated(model: &Model<'_>, scenario: &Scenario) -> Result<World, Violation> {
    let reduction = Reduction::new(model, false);
    let driver = &mut Driver { model, reduction, checks: Checks::default() };
    let mut world = model.empty_world(scenario.ticks);
    // Those that block come first: then no other stands before them.
    for (id, spec) in (0..).zip(&scenario.threads) {
        if let Start::Blocked(core) = spec.start {
            make(driver, &mut world, id, core)?;
            let at = world.thread(id).core;
            if world.core(at).current == id {
                driver.stops(&mut world, at, Event::Block, Budget::All, None)?;
            }
            settle(driver, &mut world)?;
        }
    }
    for (id, spec) in (0..).zip(&scenario.threads) {
        if let Start::Awake(core) = spec.start {
            make(driver, &mut world, id, core)?;
        }
    }
    for core in &mut world.cores {
        core.ghost = Default::default();
    }
    Ok(world)
}

fn make(driver: &mut Driver<'_>, world: &mut World, thread: u8, core: u8) -> Result<(), Violation> {
    world.thread_mut(thread).core = core;
    driver.event(world, core, Event::New, thread, Budget::All, None)?;
    settle(driver, world)
}

/// Lets everything happen that is due at once.
fn settle(driver: &mut Driver<'_>, world: &mut World) -> Result<(), Violation> {
    loop {
        let due = |step: &Step| matches!(step, Step::Dispatch(_) | Step::Preempt(_));
        let Some(step) = enabled(driver.model, world).into_iter().find(due) else { return Ok(()) };
        driver.begin(world, step, Budget::All, None)?;
        debug_assert!(world.cores.iter().all(|core| core.activity.is_none()));
        debug_assert!(world.cores.iter().all(|core| core.current != NO_THREAD || core.nr_ready() == 0));
    }
}
