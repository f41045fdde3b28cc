//! Counterexamples: a shortest path to a violation.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cwc::Checks;
use crate::driver::Driver;
use crate::initial;
use crate::log::Log;
use crate::model::Model;
use crate::progress::Rounds;
use crate::property::Violation;
use crate::reduction::Reduction;
use crate::scenario::Scenario;
use crate::step::Step;
use crate::world::World;

/// A schedule of a policy on a scenario that ends in a violation. `Display` prints it for people;
/// [`Counterexample::to_json`] stores it so that it can be replayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counterexample {
    pub policy: String,
    pub scenario: Scenario,
    /// Name and value of each parameter.
    pub params: Vec<(String, i64)>,
    /// The steps from the initial state.
    pub steps: Vec<Step>,
    /// Of a livelock: the number of steps before those that repeat for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats_from: Option<usize>,
    /// Of bounded waiting: how many ticks a thread may wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<u8>,
    /// Of eventual conservation: the rounds of balancing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
    /// The reduction under which it was found: decides where a step ends.
    #[serde(alias = "learned")]
    pub(crate) reduction: Reduction,
    pub violation: Violation,
    /// The schedule for people, line by line.
    pub schedule: Vec<String>,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Scenario { name, doc, .. } = &self.scenario;
        let doc = if doc.is_empty() { String::new() } else { format!(" ({doc})") };
        writeln!(f, "{} on {name}{doc}", self.policy)?;
        for line in &self.schedule {
            writeln!(f, "  {line}")?;
        }
        write!(f, "=> {}", self.violation)
    }
}

/// A replayed schedule: the states before and after each step, and the log of each step.
pub(crate) struct Replayed<'m> {
    pub model: &'m Model<'m>,
    /// One more than there are steps.
    pub worlds: Vec<World>,
    pub logs: Vec<(Step, Log)>,
}

/// Replays the steps from the initial state. The last one may end in a violation.
pub(crate) fn replay<'m>(
    model: &'m Model<'m>,
    scenario: &Scenario,
    reduction: Reduction,
    steps: &[Step],
) -> Replayed<'m> {
    let mut driver = Driver { model, reduction, checks: Checks::default() };
    let mut replayed = Replayed { model, worlds: Vec::new(), logs: Vec::new() };
    let Ok(mut world) = initial::world(model, scenario) else { return replayed };
    for step in steps {
        replayed.worlds.push(world.clone());
        let mut log = Log::new();
        // The violation is already known.
        let _ = driver.step(&mut world, *step, Some(&mut log));
        replayed.logs.push((*step, log));
    }
    replayed.worlds.push(world);
    replayed
}
