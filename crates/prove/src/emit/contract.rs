//! Contracts of functions, so that a call does not multiply the caller's paths.
//!
//! A function that returns a core and reads affinity must return a core that the thread may run on. A function that
//! claims cores must return the claimed core. A policy that does otherwise loses the obligation, even if it holds.

use super::actions::OWN;
use super::alone::LABEL;
use super::program::Program;
use super::unit::Scope;
use super::watch::{Watch, block_tells_affinity};
use crate::whyml::{Step, Why, app, deref, either};
use hearth_ipanema::ir::{BaseType, LocalId, Type};

/// Goals of `steal.Phases`, and the statement of each.
pub const CONTRACT: [(&str, &str); 4] = [
    ("complete", "an idle core sees each overloaded core"),
    ("safe", "no core is left idle by a steal"),
    ("takes", "an idle core takes any thread that may run on it"),
    ("not_too_early", "it does not stop before it has a thread"),
];

impl<'p> Program<'_, 'p> {
    /// The postcondition of a called function. It may be about what was true at a label, which it adds to `steps`.
    pub fn contract(&self, scope: &Scope<'p>, steps: &mut Vec<Step>) -> Option<Why> {
        match self.watch {
            Watch::Affinity | Watch::Timer => self.returns_allowed(scope),
            Watch::Claims | Watch::Sets => self.keeps(scope, steps),
            Watch::Cores | Watch::OwnCore | Watch::Alone => None,
        }
    }

    /// Contract: the returned core is in the thread's affinity and in the sets that were passed.
    fn returns_allowed(&self, scope: &Scope<'p>) -> Option<Why> {
        let function = scope.function;
        let core = function.result.filter(|ty| ty.base == BaseType::Core)?;
        let mut facts = vec![app!("is_core", "x_")];
        for (i, local) in function.params().iter().enumerate() {
            let value = scope.value(LocalId(i as u32));
            match (local.ty.base, value) {
                (BaseType::Thread, Some(value))
                    if value == OWN.into() && block_tells_affinity(self.unit.policy, &function.body) =>
                {
                    facts.push(app!("allowed", OWN, "x_"));
                }
                (BaseType::Set, Some(value)) => facts.push(app!("mem", "x_", value)),
                _ => {}
            }
        }
        if facts.len() == 1 {
            return None;
        }
        Some(of_result(core, Why::all(facts), "true"))
    }

    /// Contract: what is watched is unchanged, except for a claim of the returned core.
    fn keeps(&self, scope: &Scope<'p>, steps: &mut Vec<Step>) -> Option<Why> {
        let function = scope.function;
        if function.effects.moves {
            return None;
        }
        let label = self.unit.fresh("Call").replace("call", "Call");
        let core = function.result.filter(|ty| ty.base == BaseType::Core);
        let ensures = match (self.watch, core) {
            (Watch::Claims, Some(ty)) => {
                let was = deref("claimed").at(&label);
                let one = deref("claimed").equals(app!("added", "x_", &was));
                deref("claimed").equals(was).or(of_result(ty, one, "false"))
            }
            (Watch::Sets, _) => {
                let mut held = Why::all(self.loop_invariants.clone());
                held.substitute(LABEL, &(&label).into());
                held
            }
            _ => return None,
        };
        steps.push(Step::Label(label));
        Some(ensures)
    }
}

/// A formula about the result `x_`, a core. `without`: the formula if there is none.
fn of_result(ty: Type, formula: Why, without: &str) -> Why {
    match ty.optional {
        true => either("result".into(), ("Just x_".into(), formula), ("Nothing", without.into())),
        false => Why::block(vec![Step::Let("x_".into(), "result".into())], formula),
    }
}
