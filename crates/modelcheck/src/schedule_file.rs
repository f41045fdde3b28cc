//! Counterexamples in files, and the checks before one is replayed.

use hearth_policy::{Policy, Settings};
use serde::Serialize;
use serde_json::Value;

use crate::counterexample::Counterexample;
use crate::cwc::Checks;
use crate::driver::Driver;
use crate::model::Model;
use crate::property::{Property, Violation};
use crate::search::{CheckError, Invariants, check_state};
use crate::step::Step;
use crate::world::World;
use crate::{cycle, initial};

/// The schema of a stored counterexample.
pub const SCHEMA: &str = "hearth.schedule/1";

/// Why a text is not a stored counterexample.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleFileError {
    #[error("it is not a schedule that `hearth modelcheck` wrote: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("its schema is `{0}`; expected `{SCHEMA}`")]
    Schema(String),
    #[error("it has no schema; expected `{SCHEMA}`")]
    NoSchema,
}

#[derive(Serialize)]
struct Written<'a> {
    schema: &'static str,
    #[serde(flatten)]
    counterexample: &'a Counterexample,
}

impl Counterexample {
    /// Writes a JSON document that [`Counterexample::from_json`] reads.
    pub fn to_json(&self) -> String {
        let written = Written { schema: SCHEMA, counterexample: self };
        let json = serde_json::to_string_pretty(&written).expect("its keys are strings");
        json + "\n"
    }

    /// Reads what [`Counterexample::to_json`] wrote. [`Counterexample::check`] tells whether it fits a policy.
    ///
    /// # Errors
    /// If the text is not JSON, has another schema, or misses a field.
    pub fn from_json(text: &str) -> Result<Counterexample, ScheduleFileError> {
        let value: Value = serde_json::from_str(text)?;
        match value.get("schema").and_then(Value::as_str) {
            Some(SCHEMA) => Ok(serde_json::from_value(value)?),
            Some(other) => Err(ScheduleFileError::Schema(other.to_owned())),
            None => Err(ScheduleFileError::NoSchema),
        }
    }

    /// Checks that every step of the schedule is enabled under this policy, and that it ends in its violation.
    ///
    /// # Errors
    /// If the counterexample is of another policy or of another version of it.
    pub fn check(&self, policy: &Policy) -> Result<(), CheckError> {
        let model = model_for(policy, self)?;
        let property = self.violation.property;
        let checks = Checks {
            cwc: property == Property::Cwc,
            collisions: property == Property::Collision,
            within: self.within.filter(|_| property == Property::Waiting),
            rounds: self.rounds.filter(|_| property == Property::Conservation),
        };
        let mut driver = Driver { model: &model, reduction: self.reduction.clone(), checks };
        let invariants = Invariants::of(policy.ir(), Vec::new());
        let mut world = match initial::world(&model, &self.scenario) {
            Ok(world) => world,
            Err(violation) => return self.expect_violation(0, &violation),
        };
        let mut repeated = Repeated::default();
        for (at, step) in self.steps.iter().enumerate() {
            let steps = driver.enabled(&world);
            if self.repeats_from.is_some_and(|from| at >= from) {
                repeated.step(*step, &steps, &world);
            }
            if !steps.contains(step) {
                return Err(CheckError::Impossible { policy: policy.name().to_owned(), step: at + 1 });
            }
            let mut next = world;
            let stepped = driver.step(&mut next, *step, None);
            match stepped.and_then(|()| check_state(&mut driver, next, &invariants)) {
                Ok(next) => world = next,
                Err(violation) => return self.expect_violation(at + 1, &violation),
            }
        }
        if property == Property::Livelock && repeated.for_ever(&world) {
            return Ok(());
        }
        // The invariants of `Options::invariants` are not stored, so a violation of one cannot be checked.
        match check_state(&mut driver, world, &invariants) {
            Ok(_) if property != Property::Invariant => Err(self.harmless()),
            Ok(_) => Ok(()),
            Err(violation) => self.expect_violation(self.steps.len(), &violation),
        }
    }

    /// Checks that a violation after so many steps is the one of the counterexample, after its last step.
    fn expect_violation(&self, steps: usize, violation: &Violation) -> Result<(), CheckError> {
        let same = steps == self.steps.len() && violation.property == self.violation.property;
        if same { Ok(()) } else { Err(self.harmless()) }
    }

    fn harmless(&self) -> CheckError {
        CheckError::Harmless { policy: self.policy.clone(), property: self.violation.property }
    }
}

/// Checks the last steps of a livelock, which repeat for ever.
#[derive(Default)]
struct Repeated {
    start: Option<World>,
    /// As bits, the actors of the steps, and those that had no step at some time.
    served: u16,
    /// A step was an external event.
    external: bool,
}

impl Repeated {
    /// The next step, among those that are enabled in this state.
    fn step(&mut self, step: Step, enabled: &[Step], world: &World) {
        self.start.get_or_insert_with(|| world.clone());
        self.external |= step.actor().is_none();
        self.served |= cycle::bit(step) | !cycle::actors(enabled);
    }

    fn for_ever(&self, end: &World) -> bool {
        self.start.as_ref() == Some(end) && !self.external && self.served == u16::MAX
    }
}

/// The model of the policy on the scenario and with the parameters of the counterexample.
pub(crate) fn model_for<'p>(policy: &'p Policy, found: &'p Counterexample) -> Result<Model<'p>, CheckError> {
    if found.policy != policy.name() {
        return Err(CheckError::OtherPolicy { of: found.policy.clone(), given: policy.name().to_owned() });
    }
    let mut model = Model::new(policy, &found.scenario)?;
    if !found.reduction.fits(&model) {
        return Err(CheckError::OtherShape { policy: policy.name().to_owned() });
    }
    let params = found.params.iter().map(|(name, value)| (name.as_str(), *value));
    model.params = Settings::from_pairs(policy, params)?.values(policy)?;
    Ok(model)
}
