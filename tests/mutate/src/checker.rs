//! The judge that runs the model checker.

use hearth_modelcheck::{CheckError, Faults, Options, Outcome, Property, Rounds, Scenario, WITHIN, check};
use hearth_policy::{Policy, Settings};
use serde::Serialize;

use crate::judge::{Judge, Kill, Verdict};

/// The properties that the original satisfies in a scenario and that a mutant must satisfy too, besides safety, claims
/// and declared invariants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Promise {
    pub cwc: bool,
    pub collisions: bool,
    pub livelock: bool,
    /// Bounded waiting. A scenario with fewer ticks than the bound cannot refute it.
    pub waiting: bool,
    /// Eventual conservation.
    pub conservation: bool,
}

impl Promise {
    const ALL: Promise =
        Promise { cwc: true, collisions: true, livelock: true, waiting: true, conservation: true };

    /// The promise without this property; `None` if every policy must satisfy it.
    fn without(self, property: Property) -> Option<Promise> {
        match property {
            Property::Cwc => Some(Promise { cwc: false, ..self }),
            Property::Collision => Some(Promise { collisions: false, ..self }),
            Property::Livelock => Some(Promise { livelock: false, ..self }),
            Property::Waiting => Some(Promise { waiting: false, ..self }),
            Property::Conservation => Some(Promise { conservation: false, ..self }),
            Property::Safety | Property::Claims | Property::Invariant => None,
        }
    }
}

/// Rounds of balancing after which no core is idle beside an overloaded one.
const ROUNDS: Rounds = Rounds { count: 1, overlap: false };

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
            let mut promised = Some(Promise::ALL);
            while let Some(promise) = promised {
                let outcome = checker.check(original, &scenario, promise, Faults::default())?;
                let Some(found) = outcome.violation else {
                    let depth = (!outcome.complete).then_some(outcome.depth);
                    checker.baselines.push(Baseline { scenario, promise, depth });
                    break;
                };
                promised = promise.without(found.violation.property);
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
        let Promise { cwc, collisions, livelock, waiting, conservation } = promise;
        let options = Options {
            max_states: self.max_states,
            cwc,
            collisions,
            livelock,
            within: waiting.then_some(WITHIN),
            rounds: conservation.then_some(ROUNDS),
            params: self.params.clone(),
            faults,
            ..Options::default()
        };
        check(policy, scenario, &options)
    }

    /// How the mutant breaks the promise of a scenario.
    fn objection(&self, mutant: &Policy, faults: Faults, base: &Baseline) -> Option<Verdict> {
        let by = base.scenario.name.clone();
        let mut promised = Some(base.promise);
        while let Some(promise) = promised {
            let found = match self.check(mutant, &base.scenario, promise, faults) {
                Ok(outcome) => outcome.violation?,
                Err(error) => {
                    let what = error.to_string();
                    return Some(Verdict::Refuted(Kill { by, property: Property::Safety, what, steps: 0 }));
                }
            };
            let (property, steps) = (found.violation.property, found.steps.len());
            if base.depth.is_none_or(|depth| steps <= depth) {
                let what = found.violation.what;
                return Some(Verdict::Refuted(Kill { by, property, what, steps }));
            }
            // The original was not explored to this depth, so it may have the same violation.
            promised = promise.without(property);
        }
        None
    }
}

impl Judge for ModelChecker {
    fn judge(&self, mutant: &Policy, faults: Faults) -> Option<Verdict> {
        self.baselines.iter().find_map(|base| self.objection(mutant, faults, base))
    }
}
