//! A counter-example in a file, and what must be true of one before it is believed.

use hearth_policy::{Policy, Settings};
use serde::Serialize;
use serde_json::Value;

use crate::counterexample::Counterexample;
use crate::cwc::Checks;
use crate::driver::Driver;
use crate::initial;
use crate::model::Model;
use crate::property::{Property, Violation};
use crate::search::{CheckError, Invariants, whole};
use crate::step::enabled;

/// The schema of a kept counter-example.
pub const SCHEMA: &str = "hearth.schedule/1";

/// Why a text is no kept counter-example.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleFileError {
    #[error("it is no schedule that `hearth modelcheck` wrote: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("it has the schema `{0}`, and not `{SCHEMA}`")]
    Schema(String),
    #[error("it names no schema; that of a schedule is `{SCHEMA}`")]
    NoSchema,
}

#[derive(Serialize)]
struct Written<'a> {
    schema: &'static str,
    #[serde(flatten)]
    counterexample: &'a Counterexample,
}

impl Counterexample {
    /// One JSON document; [`Counterexample::from_json`] reads it.
    pub fn to_json(&self) -> String {
        let written = Written { schema: SCHEMA, counterexample: self };
        let json =
            serde_json::to_string_pretty(&written).expect("it has names for keys, and no maps besides");
        json + "\n"
    }

    /// # Errors
    /// If the text is not what [`Counterexample::to_json`] wrote. Whether it fits a policy is another
    /// question: [`Counterexample::check`].
    pub fn from_json(text: &str) -> Result<Counterexample, ScheduleFileError> {
        let value: Value = serde_json::from_str(text)?;
        match value.get("schema").and_then(Value::as_str) {
            Some(SCHEMA) => Ok(serde_json::from_value(value)?),
            Some(other) => Err(ScheduleFileError::Schema(other.to_owned())),
            None => Err(ScheduleFileError::NoSchema),
        }
    }

    /// Does the schedule still happen under this policy, and end in what is wrong?
    ///
    /// # Errors
    /// If the counter-example is of another policy, or does not fit this one (any longer).
    pub fn check(&self, policy: &Policy) -> Result<(), CheckError> {
        let model = fitting(policy, self)?;
        let property = self.violation.property;
        let checks = Checks { cwc: property == Property::Cwc, collisions: property == Property::Collision };
        let mut driver = Driver { model: &model, reduction: self.reduction.clone(), checks };
        let invariants = Invariants::of(policy.ir(), Vec::new());
        let mut world = match initial::world(&model, &self.scenario) {
            Ok(world) => world,
            Err(violation) => return self.ends(0, &violation),
        };
        for (at, step) in self.steps.iter().enumerate() {
            if !enabled(&model, &world).contains(step) {
                return Err(CheckError::Impossible { policy: policy.name().to_owned(), step: at + 1 });
            }
            let mut next = world;
            let stepped = driver.step(&mut next, *step, None);
            match stepped.and_then(|()| whole(&mut driver, next, &invariants)) {
                Ok(next) => world = next,
                Err(violation) => return self.ends(at + 1, &violation),
            }
        }
        // An invariant that the exploration was given besides those of the policy is not known here.
        match whole(&mut driver, world, &invariants) {
            Ok(_) if property != Property::Invariant => Err(self.harmless()),
            Ok(_) => Ok(()),
            Err(violation) => self.ends(self.steps.len(), &violation),
        }
    }

    /// Something is wrong behind so many steps: is it that, and are these all?
    fn ends(&self, steps: usize, violation: &Violation) -> Result<(), CheckError> {
        let same = steps == self.steps.len() && violation.property == self.violation.property;
        if same { Ok(()) } else { Err(self.harmless()) }
    }

    fn harmless(&self) -> CheckError {
        CheckError::Harmless { policy: self.policy.clone(), property: self.violation.property }
    }
}

/// The policy on the scenario, under the parameters of the counter-example.
pub(crate) fn fitting<'p>(policy: &'p Policy, found: &'p Counterexample) -> Result<Model<'p>, CheckError> {
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
