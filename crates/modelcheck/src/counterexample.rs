//! The shortest way to a state that is wrong.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cwc::Checks;
use crate::driver::Driver;
use crate::initial;
use crate::log::Log;
use crate::model::Model;
use crate::property::Violation;
use crate::reduction::Reduction;
use crate::scenario::Scenario;
use crate::step::Step;
use crate::world::World;

/// A policy, a scenario, and what happened. Shown, it is a schedule for people; serialised, it can be
/// repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counterexample {
    pub policy: String,
    pub scenario: Scenario,
    /// Values of all parameters.
    pub params: Vec<(String, i64)>,
    /// What happened, each by itself.
    pub steps: Vec<Step>,
    /// Which accesses are merged: it says where a step ends.
    #[serde(alias = "learned")]
    pub(crate) reduction: Reduction,
    pub violation: Violation,
    /// The same for people, line by line.
    pub schedule: Vec<String>,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} on {} ({})", self.policy, self.scenario.name, self.scenario.doc)?;
        for line in &self.schedule {
            writeln!(f, "  {line}")?;
        }
        write!(f, "=> {}", self.violation)
    }
}

/// The world before and after each step, with what happened in it.
pub(crate) struct Replayed<'m> {
    pub model: &'m Model<'m>,
    pub worlds: Vec<World>,
    pub logs: Vec<(Step, Log)>,
}

/// Lets the steps happen again. The last one may end in a violation.
pub(crate) fn repeat<'m>(
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
        // What is wrong is known.
        let _ = driver.step(&mut world, *step, Some(&mut log));
        replayed.logs.push((*step, log));
    }
    replayed.worlds.push(world);
    replayed
}
