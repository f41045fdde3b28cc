//! The initial state of a scenario. The policy itself places the threads, one event at a time.

use hearth_ipanema::ir::Event;

use crate::cores::Cores;
use crate::cwc::Checks;
use crate::driver::Driver;
use crate::env::Budget;
use crate::model::Model;
use crate::property::Violation;
use crate::reduction::Reduction;
use crate::scenario::{Scenario, Start};
use crate::step::{Step, enabled};
use crate::world::World;

/// Dispatches and preemptions after the creation of one thread. Far fewer are pending unless they have no end.
const SETTLING: usize = 1_000;

/// Creates each thread on the core that the scenario names, by restricting its affinity to that core until
/// all threads exist. If the policy ignores affinities, it places the threads freely.
///
/// # Errors
/// A violation that occurs even without concurrency.
pub fn world(model: &Model<'_>, scenario: &Scenario) -> Result<World, Violation> {
    let mut pinned = model.clone();
    for (affinity, spec) in pinned.affinity.iter_mut().zip(&scenario.threads) {
        if let Start::Blocked(core) | Start::Awake(core) = spec.start
            && affinity.contains(core)
        {
            *affinity = Cores::one(core);
        }
    }
    populate(&pinned, scenario).or_else(|_| populate(model, scenario))
}

fn populate(model: &Model<'_>, scenario: &Scenario) -> Result<World, Violation> {
    let reduction = Reduction::new(model, false);
    let driver = &mut Driver { model, reduction, checks: Checks::default() };
    let mut world = model.empty_world(scenario.ticks);
    for (thread, spec) in world.threads.iter_mut().zip(&scenario.threads) {
        thread.runtime = spec.runtime;
    }
    // Blocked threads first, while no other thread occupies their cores.
    for (id, spec) in (0..).zip(&scenario.threads) {
        if let Start::Blocked(core) = spec.start {
            create(driver, &mut world, id, core)?;
            let at = world.thread(id).core;
            if world.core(at).current == id {
                driver.stop_current(&mut world, at, Event::Block, Budget::All, None)?;
            }
            settle(driver, &mut world)?;
        }
    }
    for (id, spec) in (0..).zip(&scenario.threads) {
        if let Start::Awake(core) = spec.start {
            create(driver, &mut world, id, core)?;
        }
    }
    for value in &scenario.values {
        // `Model::new` has found them all.
        if let Ok(at) = model.value_at(value) {
            world.vars[at] = value.value;
        }
    }
    for core in &mut world.cores {
        core.ghost = Default::default();
    }
    Ok(world)
}

fn create(driver: &mut Driver<'_>, world: &mut World, thread: u8, core: u8) -> Result<(), Violation> {
    world.thread_mut(thread).core = core;
    driver.begin_event(world, core, Event::New, thread, Budget::All, None)?;
    settle(driver, world)
}

/// Executes pending dispatches and preemptions until there are none, or until they seem to have no end: then the
/// exploration begins in their midst.
fn settle(driver: &mut Driver<'_>, world: &mut World) -> Result<(), Violation> {
    for turn in 0..SETTLING {
        let due = |step: &Step| matches!(step, Step::Dispatch(_) | Step::Preempt(_));
        let mut steps: Vec<Step> = enabled(driver.model, world).into_iter().filter(due).collect();
        if steps.is_empty() {
            break;
        }
        // Every core gets its turn.
        let next = turn % steps.len();
        driver.begin(world, steps.swap_remove(next), Budget::All, None)?;
        debug_assert!(world.cores.iter().all(|core| core.activity.is_none()));
    }
    Ok(())
}
