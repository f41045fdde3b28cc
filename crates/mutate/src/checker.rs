//! The judge that runs the model checker.

use hearth_modelcheck::{CheckError, Faults, Options, Outcome, Property, Scenario, check};
use hearth_policy::{Policy, Settings};
use serde::Serialize;

use crate::judge::{Judge, Kill, Verdict};

/// The optional properties that the original satisfies in a scenario and that a mutant must satisfy too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Promise {
    pub cwc: bool,
    pub collisions: bool,
}

/// A scenario in which the original holds.
struct Baseline {
    scenario: Scenario,
    promise: Promise,
    /// Length in steps up to which all schedules of the original were explored. `None` means all schedules.
    depth: Option<usize>,
}

/// Explores a mutant on every scenario on which the original holds, the smallest first.
pub struct ModelChecker {
    max_states: usize,
    params: Settings,
    baselines: Vec<Baseline>,
}

/// All promises, the strongest first. Safety, claims and declared invariants are always checked.
const PROMISES: [Promise; 4] = [
    Promise { cwc: true, collisions: true },
    Promise { cwc: true, collisions: false },
    Promise { cwc: false, collisions: true },
    Promise { cwc: false, collisions: false },
];

impl ModelChecker {
    /// Explores the original, to find its strongest promise on each scenario.
    ///
    /// # Errors
    /// If a scenario or parameter is invalid.
    pub fn new(
        original: &Policy,
        scenarios: Vec<Scenario>,
        params: Settings,
        max_states: usize,
    ) -> Result<ModelChecker, CheckError> {
        let mut checker = ModelChecker { max_states, params, baselines: Vec::new() };
        for scenario in scenarios {
            for promise in PROMISES {
                let outcome = checker.check(original, &scenario, promise, Faults::default())?;
                if outcome.violation.is_none() {
                    let depth = (!outcome.complete).then_some(outcome.depth);
                    checker.baselines.push(Baseline { scenario, promise, depth });
                    break;
                }
            }
        }
        Ok(checker)
    }

    /// The scenarios on which the original holds, its promise there, and whether the exploration was complete.
    pub fn promises(&self) -> impl Iterator<Item = (&str, Promise, bool)> {
        self.baselines.iter().map(|base| (base.scenario.name.as_str(), base.promise, base.depth.is_none()))
    }

    fn check(
        &self,
        policy: &Policy,
        scenario: &Scenario,
        promise: Promise,
        faults: Faults,
    ) -> Result<Outcome, CheckError> {
        let Promise { cwc, collisions } = promise;
        let (max_states, params) = (self.max_states, self.params.clone());
        let options = Options { max_states, cwc, collisions, params, faults, ..Options::default() };
        check(policy, scenario, &options)
    }
}

impl Judge for ModelChecker {
    fn judge(&self, mutant: &Policy, faults: Faults) -> Option<Verdict> {
        self.baselines.iter().find_map(|Baseline { scenario, promise, depth }| {
            let found = match self.check(mutant, scenario, *promise, faults) {
                Ok(outcome) => outcome.violation?,
                Err(error) => {
                    let (by, what) = (scenario.name.clone(), error.to_string());
                    return Some(Verdict::Refuted(Kill { by, property: Property::Safety, what, steps: 0 }));
                }
            };
            // The original was not explored to this depth, so it may have the same violation.
            if depth.is_some_and(|depth| found.steps.len() > depth) {
                return None;
            }
            Some(Verdict::Refuted(Kill {
                by: scenario.name.clone(),
                property: found.violation.property,
                what: found.violation.what,
                steps: found.steps.len(),
            }))
        })
    }
}
