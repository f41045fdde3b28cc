//! Contracts of functions, so that a call does not multiply the caller's paths.
//!
//! A function that returns a core and reads affinity must return a core that the thread may run on. A function that
//! claims cores must return the claimed core. A policy that does otherwise loses the obligation, even if it holds.

use super::actions::OWN;
use super::program::Program;
use super::unit::Scope;
use super::watch::{Watch, block_tells_affinity};
use hearth_ipanema::ir::{BaseType, LocalId};

/// Goals of `steal.Phases`, and the statement of each.
pub const CONTRACT: [(&str, &str); 4] = [
    ("complete", "an idle core sees each overloaded core"),
    ("safe", "no core is left idle by a steal"),
    ("takes", "an idle core takes any thread that may run on it"),
    ("not_too_early", "it does not stop before it has a thread"),
];

impl<'p> Program<'_, 'p> {
    /// Text before and after the body of a called function; empty without a contract.
    pub fn contract(&self, scope: &Scope<'p>) -> (String, String) {
        let ensures = match self.watch {
            Watch::Affinity | Watch::Timer => self.returns_allowed(scope).map(|e| (String::new(), e)),
            Watch::Claims | Watch::Sets => self.keeps(scope),
            Watch::Cores | Watch::OwnCore | Watch::Alone => None,
        };
        match ensures {
            Some((label, ensures)) => (format!("{label}begin ensures {{ {ensures} }}\n"), "\nend".into()),
            None => Default::default(),
        }
    }

    /// Contract: the returned core is in the thread's affinity and in the sets that were passed.
    fn returns_allowed(&self, scope: &Scope<'p>) -> Option<String> {
        let function = scope.function;
        let core = function.result.filter(|ty| ty.base == BaseType::Core)?;
        let mut facts = vec!["is_core x_".to_owned()];
        for (i, local) in function.params().iter().enumerate() {
            let value = scope.value(LocalId(i as u32));
            match (local.ty.base, value) {
                (BaseType::Thread, Some(value))
                    if value == OWN && block_tells_affinity(self.unit.policy, &function.body) =>
                {
                    facts.push(format!("allowed {OWN} x_"));
                }
                (BaseType::Set, Some(value)) => facts.push(format!("mem x_ {value}")),
                _ => {}
            }
        }
        if facts.len() == 1 {
            return None;
        }
        let facts = facts.join(" /\\ ");
        Some(match core.optional {
            true => format!("match result with Just x_ -> {facts} | Nothing -> true end"),
            false => format!("let x_ = result in {facts}"),
        })
    }

    /// Contract: what is watched is unchanged, except for a claim of the returned core.
    fn keeps(&self, scope: &Scope<'p>) -> Option<(String, String)> {
        let function = scope.function;
        if function.effects.moves {
            return None;
        }
        let label = self.unit.fresh("Call").replace("call", "Call");
        let core = function.result.filter(|ty| ty.base == BaseType::Core);
        let ensures = match (self.watch, core) {
            (Watch::Claims, Some(ty)) => {
                let was = format!("(!claimed at {label})");
                let one = format!("!claimed = added x_ {was}");
                let one = match ty.optional {
                    true => format!("match result with Just x_ -> {one} | Nothing -> false end"),
                    false => format!("let x_ = result in {one}"),
                };
                format!("!claimed = {was} \\/ {one}")
            }
            (Watch::Sets, _) => {
                let held = self.loop_invariants.join(" /\\ ");
                held.replace("LABEL", &label)
            }
            _ => return None,
        };
        Some((format!("label {label} in\n"), ensures))
    }
}
