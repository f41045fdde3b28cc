//! Properties over time: bounded waiting and eventual conservation. The crate's documentation has the definitions.

use serde::{Deserialize, Serialize};

use crate::cores::Cores;
use crate::cwc::overloaded_for;
use crate::driver::Driver;
use crate::model::Model;
use crate::property::{Property, Violation};
use crate::step::{Step, enabled};
use crate::world::{Mode, Quiet, State, TICK_NS, World};

/// The rounds of balancing of eventual conservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// How many rounds may pass until no core is idle while another is overloaded.
    pub count: u8,
    /// The cores balance at the same time instead of one after the other.
    pub overlap: bool,
}

/// A bound on waiting, in ticks: a round of turns of ULE (80 ms, 20 ticks), and a tick more for each of up to four threads.
pub const WITHIN: u8 = 24;

/// Counts the tick that begins now for each thread that waits, unless it has waited for `within` ticks.
pub fn count_wait(world: &mut World, within: u8) -> Result<(), Violation> {
    for (id, thread) in (0..).zip(&mut world.threads).filter(|(_, thread)| thread.state == State::Ready) {
        if thread.waited >= within {
            let what = format!("thread {id} has been ready on core {} for {within} ticks", thread.core);
            return Err(Violation { property: Property::Waiting, what });
        }
        thread.waited += 1;
    }
    Ok(())
}

/// An idle core, and a core that is overloaded for it.
fn unbalanced(model: &Model<'_>, world: &World) -> Option<(u8, u8)> {
    let overloaded =
        |idle: u8| (0..model.map.nr_cores).find(|core| overloaded_for(model, world, *core, idle));
    world.idle.iter().find_map(|idle| Some((idle, overloaded(idle)?)))
}

impl Driver<'_> {
    /// All steps that are enabled. External events may stop for good where they have left a core idle while another
    /// is overloaded, and nothing is in progress. Once they have stopped, time passes as long as that is so.
    pub fn enabled(&self, world: &World) -> Vec<Step> {
        let mut steps = enabled(self.model, world);
        let Some(rounds) = self.checks.rounds else { return steps };
        if world.quiet.is_some() {
            steps.retain(|step| step.actor().is_some());
        }
        if steps.iter().any(|step| step.actor().is_some()) || unbalanced(self.model, world).is_none() {
            return steps;
        }
        match &world.quiet {
            None => steps.push(Step::Quiet),
            Some(_) if rounds.overlap => steps.push(Step::Round),
            Some(quiet) => steps.extend((busy(world) - quiet.balanced).iter().map(Step::Turn)),
        }
        steps
    }

    /// Ends a round in which all cores with waiting threads have balanced, if a core is idle while another is
    /// overloaded. Fails after the last round.
    pub fn end_round(&self, world: &mut World) -> Result<(), Violation> {
        let Some((rounds, quiet)) = self.checks.rounds.zip(world.quiet) else { return Ok(()) };
        let in_progress = || enabled(self.model, world).iter().any(|step| step.actor().is_some());
        if !(world.waiting() - quiet.balanced).is_empty() || in_progress() {
            return Ok(());
        }
        let Some((idle, core)) = unbalanced(self.model, world) else { return Ok(()) };
        let rounds_passed = quiet.rounds + 1;
        world.quiet = Some(Quiet { rounds: rounds_passed, balanced: Cores::EMPTY });
        if rounds_passed < rounds.count {
            return Ok(());
        }
        let threads = world.core(core).nr_running();
        let what = match rounds_passed {
            1 => format!(
                "core {idle} is idle while core {core} has {threads} threads, after each core has balanced"
            ),
            n => format!(
                "core {idle} is idle while core {core} has {threads} threads, after each core has balanced {n} times"
            ),
        };
        Err(Violation { property: Property::Conservation, what })
    }
}

fn busy(world: &World) -> Cores {
    (0..).zip(&world.cores).filter(|(_, core)| core.mode == Mode::Busy).map(|(id, _)| id).collect()
}

/// The clock advances, and these cores tick.
pub fn balance(world: &mut World, cores: Cores) {
    world.now += ROUND_TICKS * TICK_NS;
    for core in cores.iter() {
        world.core_mut(core).tick = true;
    }
    if let Some(quiet) = &mut world.quiet {
        quiet.balanced = quiet.balanced | cores;
    }
}

/// All busy cores tick at the same time.
pub fn balance_all(world: &mut World) {
    let busy = busy(world);
    balance(world, busy);
}

/// Longer than the balancing intervals of policies, in ticks.
const ROUND_TICKS: i64 = 256;
