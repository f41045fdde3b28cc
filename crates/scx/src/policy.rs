//! A policy as the loader sees it: its C, and the names and bounds of what can be set and seen.

use crate::error::Error;
use hearth_ipanema::ir::{self, ExprKind};
use hearth_ipanema::{Unit, emit};

/// A value that can be set when the policy is loaded, and while it runs.
#[derive(Clone, Debug)]
pub struct Param {
    pub name: String,
    /// The comment at its declaration.
    pub doc: String,
    pub unit: Unit,
    /// Both are allowed.
    pub min: i64,
    pub max: i64,
    pub initial: i64,
}

/// Most members of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    All,
    Constant(i64),
    /// What this parameter says, by number.
    Param(usize),
}

/// A set of cores that belongs to the policy.
#[derive(Clone, Debug)]
pub struct CoreSet {
    pub name: String,
    pub doc: String,
    pub capacity: Capacity,
}

#[derive(Clone, Debug)]
pub struct Policy {
    pub name: String,
    pub doc: String,
    /// In the order of the policy's state.
    pub params: Vec<Param>,
    /// Why a thread was placed; the first, `none`, stands for no reason.
    pub reasons: Vec<String>,
    pub sets: Vec<CoreSet>,
    /// It looks at how fast cores were seen to be.
    pub sees_frequencies: bool,
    /// What the Ipanema compiler made of it.
    pub c: String,
}

impl Policy {
    pub fn new(ir: &ir::Policy) -> Policy {
        let param = |param: &ir::Param| Param {
            name: param.name.clone(),
            doc: param.doc.clone(),
            unit: Unit::of(param.ty),
            min: param.min,
            max: param.max,
            initial: param.initial,
        };
        let set = |set: &ir::CoreSet| CoreSet {
            name: set.name.clone(),
            doc: set.doc.clone(),
            capacity: match set.capacity.as_ref().map(|capacity| &capacity.kind) {
                Some(ExprKind::Number(most)) => Capacity::Constant(*most),
                Some(ExprKind::Param(param)) => Capacity::Param(param.index()),
                _ => Capacity::All,
            },
        };
        Policy {
            name: ir.name.clone(),
            doc: ir.doc.clone(),
            params: ir.params.iter().map(param).collect(),
            reasons: ir.reasons.clone(),
            sets: ir.sets.iter().map(set).collect(),
            sees_frequencies: ir.functions.iter().any(|function| function.effects.frequencies),
            c: emit::c(ir),
        }
    }

    /// The values that the policy itself gives its parameters.
    pub fn initial(&self) -> Vec<i64> {
        self.params.iter().map(|param| param.initial).collect()
    }

    /// A parameter's number and its value from text: `2ticks`, `8ms`, `true`, `5`.
    ///
    /// # Errors
    /// There is no such parameter, the text is no value of its kind, or out of its bounds.
    pub fn value(&self, name: &str, text: &str) -> Result<(usize, i64), Error> {
        let Some(index) = self.params.iter().position(|param| param.name == name) else {
            let known: Vec<&str> = self.params.iter().map(|param| param.name.as_str()).collect();
            let (policy, name) = (self.name.clone(), name.to_owned());
            return Err(Error::UnknownParam { policy, name, known: known.join(", ") });
        };
        let Param { unit, min, max, .. } = self.params[index];
        let (policy, name, text) = (self.name.clone(), name.to_owned(), text.trim().to_owned());
        let Some(value) = unit.parse(&text) else {
            return Err(Error::ParamSyntax { policy, name, text, expected: unit.expected() });
        };
        if value < min || value > max {
            let (min, max) = (unit.show(min), unit.show(max));
            return Err(Error::ParamRange { policy, name, text, min, max });
        }
        Ok((index, value))
    }

    /// What must be said of a change of parameter `index` while the policy runs.
    pub fn note(&self, index: usize, old: i64, new: i64) -> Option<String> {
        let set = self.sets.iter().find(|set| set.capacity == Capacity::Param(index))?;
        (new < old).then(|| format!("{} may have more members than that until cores leave it", set.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nest() -> Policy {
        Policy::new(&hearth_ipanema::compile(&|_: &str| None, "nest").unwrap().ir)
    }

    #[test]
    fn values_are_checked() {
        let nest = nest();
        let (index, value) = nest.value("s_max", "3ticks").unwrap();
        assert_eq!((nest.params[index].name.as_str(), value), ("s_max", 12_000_000));
        assert!(matches!(nest.value("smax", "1"), Err(Error::UnknownParam { .. })));
        assert!(matches!(nest.value("s_max", "fast"), Err(Error::ParamSyntax { .. })));
        assert!(matches!(nest.value("r_max", "5000"), Err(Error::ParamRange { .. })));
        assert!(matches!(nest.value("r_max", "-1"), Err(Error::ParamRange { .. })));
    }

    #[test]
    fn a_bounded_set_may_stay_too_large_for_a_while() {
        let nest = nest();
        let (r_max, _) = nest.value("r_max", "1").unwrap();
        let note = nest.note(r_max, 5, 1).unwrap();
        assert!(note.starts_with("reserve"), "{note}");
        assert_eq!(nest.note(r_max, 5, 6), None);
        assert_eq!(nest.note(nest.value("s_max", "0").unwrap().0, 8, 0), None);
    }
}
