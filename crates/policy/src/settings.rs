//! Values for the parameters of a policy.

use crate::{Assignment, Param, Policy};
use hearth_base::suggest::closest;
use std::collections::BTreeMap;

/// Values of parameters, by name. Every other parameter has its initial value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(BTreeMap<String, i64>);

/// Why a value is not valid for a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParamError {
    #[error("policy `{policy}` has no parameter `{name}`; it has {}", list(.known))]
    Unknown { policy: String, name: String, known: Vec<String> },
    #[error("`{text}` is not a value for `{policy}.{name}`: expected {expected}")]
    Syntax { policy: String, name: String, text: String, expected: &'static str },
    #[error("parameter `{policy}.{name}` is {value}, but must be between {min} and {max}")]
    Range { policy: String, name: String, value: String, min: String, max: String },
    #[error("policy `{policy}` has {expected} parameters, but {given} values are given")]
    Count { policy: String, expected: usize, given: usize },
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

impl ParamError {
    /// What to do about the error, if the message does not say it.
    pub fn help(&self) -> Option<String> {
        let ParamError::Unknown { name, known, .. } = self else { return None };
        closest(name, known.iter().map(String::as_str)).map(|near| format!("did you mean `{near}`?"))
    }
}

impl Policy {
    /// Parses a value for a parameter, such as `2ticks`, `8ms`, `true` or `5`. Returns the index of the parameter in
    /// [`params`](Self::params) and the value.
    ///
    /// # Errors
    /// If there is no such parameter, the text is not a value of its unit, or the value is out of bounds.
    pub fn parse_value(&self, name: &str, text: &str) -> Result<(usize, i64), ParamError> {
        let index = self.index(name)?;
        let unit = self.params()[index].unit;
        let text = text.trim();
        let value = unit.parse(text).ok_or_else(|| ParamError::Syntax {
            policy: self.name().to_owned(),
            name: name.to_owned(),
            text: text.to_owned(),
            expected: unit.expected(),
        })?;
        self.check(index, value, || text.to_owned())?;
        Ok((index, value))
    }

    fn index(&self, name: &str) -> Result<usize, ParamError> {
        self.params().iter().position(|param| param.name == name).ok_or_else(|| ParamError::Unknown {
            policy: self.name().to_owned(),
            name: name.to_owned(),
            known: self.params().iter().map(|param| param.name.clone()).collect(),
        })
    }

    /// Checks the bounds of a parameter. `shown` gives the value for the message.
    fn check(&self, index: usize, value: i64, shown: impl FnOnce() -> String) -> Result<(), ParamError> {
        let Param { name, unit, min, max, .. } = &self.params()[index];
        if (*min..=*max).contains(&value) {
            return Ok(());
        }
        Err(ParamError::Range {
            policy: self.name().to_owned(),
            name: name.clone(),
            value: shown(),
            min: unit.show(*min),
            max: unit.show(*max),
        })
    }
}

impl Settings {
    /// Parses values. If a parameter has several, the last one counts.
    ///
    /// # Errors
    /// As [`Policy::parse_value`].
    pub fn parse<'a>(
        policy: &Policy,
        assignments: impl IntoIterator<Item = &'a Assignment>,
    ) -> Result<Settings, ParamError> {
        let mut settings = Settings::default();
        for Assignment { name, value } in assignments {
            settings.set(policy, name, value)?;
        }
        Ok(settings)
    }

    /// Parses and sets the value of a parameter.
    ///
    /// # Errors
    /// As [`Policy::parse_value`].
    pub fn set(&mut self, policy: &Policy, name: &str, text: &str) -> Result<(), ParamError> {
        let (index, value) = policy.parse_value(name, text)?;
        self.insert(&policy.params()[index], value);
        Ok(())
    }

    /// Settings with these values by name.
    ///
    /// # Errors
    /// If there is no such parameter, or its value is out of bounds.
    pub fn from_pairs<'a>(
        policy: &Policy,
        pairs: impl IntoIterator<Item = (&'a str, i64)>,
    ) -> Result<Settings, ParamError> {
        let mut settings = Settings::default();
        for (name, value) in pairs {
            let index = policy.index(name)?;
            let param = &policy.params()[index];
            policy.check(index, value, || param.unit.show(value))?;
            settings.insert(param, value);
        }
        Ok(settings)
    }

    /// Settings with these values of all parameters, in the policy's order.
    ///
    /// # Errors
    /// If there are more or fewer values than parameters, or one is out of bounds.
    pub fn from_values(policy: &Policy, values: &[i64]) -> Result<Settings, ParamError> {
        let params = policy.params();
        if params.len() != values.len() {
            let (policy, expected, given) = (policy.name().to_owned(), params.len(), values.len());
            return Err(ParamError::Count { policy, expected, given });
        }
        let names = params.iter().map(|param| param.name.as_str());
        Settings::from_pairs(policy, names.zip(values.iter().copied()))
    }

    /// Stores a value only if it differs from the initial one.
    fn insert(&mut self, param: &Param, value: i64) {
        if value == param.initial {
            self.0.remove(&param.name);
        } else {
            self.0.insert(param.name.clone(), value);
        }
    }

    /// Values of all parameters, in the policy's order.
    ///
    /// # Errors
    /// If these are settings of another policy that are not valid for this one.
    pub fn values(&self, policy: &Policy) -> Result<Vec<i64>, ParamError> {
        let mut values: Vec<i64> = policy.params().iter().map(|param| param.initial).collect();
        for (name, value) in &self.0 {
            let index = policy.index(name)?;
            policy.check(index, *value, || policy.params()[index].unit.show(*value))?;
            values[index] = *value;
        }
        Ok(values)
    }

    /// Name and value, with unit, of each parameter that differs from its initial value. Leaves out parameters that
    /// `policy` does not have.
    pub fn shown(&self, policy: &Policy) -> impl Iterator<Item = (String, String)> {
        let shown = move |(name, value): (&String, &i64)| {
            let param = policy.params().iter().find(|param| param.name == *name)?;
            Some((name.clone(), param.unit.show(*value)))
        };
        self.0.iter().filter_map(shown)
    }

    /// The number of parameters that differ from their initial values.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;

    fn settings(policy: &Policy, spec: &[&str]) -> Result<Settings, ParamError> {
        let assignments: Vec<Assignment> = spec.iter().map(|text| text.parse().unwrap()).collect();
        Settings::parse(policy, &assignments)
    }

    #[test]
    fn values_are_checked() {
        let nest = load("nest").unwrap();
        let (index, value) = nest.parse_value("s_max", " 3ticks").unwrap();
        assert_eq!((nest.params()[index].name.as_str(), value), ("s_max", 12_000_000));
        let unknown = nest.parse_value("smax", "1").unwrap_err();
        assert!(matches!(unknown, ParamError::Unknown { .. }));
        assert_eq!(unknown.help().as_deref(), Some("did you mean `s_max`?"));
        assert!(matches!(nest.parse_value("s_max", "fast"), Err(ParamError::Syntax { .. })));
        assert!(matches!(nest.parse_value("r_max", "-1"), Err(ParamError::Range { .. })));
        let too_large = nest.parse_value("r_max", "5000").unwrap_err().to_string();
        assert_eq!(too_large, "parameter `nest.r_max` is 5000, but must be between 0 and 1024");
        let of_numbers = Settings::from_pairs(&nest, [("r_max", 5000)]).unwrap_err().to_string();
        assert_eq!(of_numbers, too_large);
        assert!(nest.parse_value("r_max", "1024").is_ok() && nest.parse_value("r_max", "0").is_ok());
    }

    #[test]
    fn last_value_counts_and_initial_values_are_not_stored() {
        let nest = load("nest").unwrap();
        let last = settings(&nest, &["r_max=0", "s_max=4ticks", "r_max=3"]).unwrap();
        let expected = [("r_max", "3"), ("s_max", "16ms")].map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert!(last.shown(&nest).eq(expected));
        assert_eq!(settings(&nest, &["r_max=0", "r_max=5"]).unwrap(), Settings::default());
    }

    #[test]
    fn values_are_in_the_order_of_the_policy() {
        let nest = load("nest").unwrap();
        let some = settings(&nest, &["r_max=0", "attachment=off"]).unwrap();
        let values = some.values(&nest).unwrap();
        for (param, value) in nest.params().iter().zip(&values) {
            let changed = matches!(param.name.as_str(), "r_max" | "attachment");
            assert_eq!(*value, if changed { 0 } else { param.initial }, "{}", param.name);
        }
        assert_eq!(Settings::from_values(&nest, &values).unwrap(), some);
        assert!(matches!(Settings::from_values(&nest, &values[1..]), Err(ParamError::Count { .. })));
        let mut wrong = values;
        wrong[0] = i64::MAX;
        assert!(matches!(Settings::from_values(&nest, &wrong), Err(ParamError::Range { .. })));
    }

    #[test]
    fn settings_of_another_policy_are_an_error() {
        let some = settings(&load("nest").unwrap(), &["r_max=0"]).unwrap();
        let cfs = load("cfs").unwrap();
        assert!(matches!(some.values(&cfs), Err(ParamError::Unknown { .. })));
        assert_eq!(some.shown(&cfs).count(), 0);
    }
}
