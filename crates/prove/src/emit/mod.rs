//! WhyML from a policy's IR.
//!
//! The passes, in their order: *abstract* (`term`, `inline`: expressions as terms over what an event
//! reads), *obligations* (`steals`, `events`, `sets`, `timers`: what is to be proved), *emit*
//! (`program`, `search`, `actions`: bodies as programs; `header`: what they all use).

mod actions;
mod contract;
mod events;
mod header;
mod inline;
mod positive;
mod program;
mod search;
mod sets;
mod steals;
mod term;
mod text;
mod timers;
mod unit;
mod watch;

use crate::Invariant;
use crate::obligation::{Claim, Obligation, Property};
use hearth_ipanema::ir::{Place, Policy};

/// A policy's proof: its WhyML, and what is to be proved in it.
#[derive(Clone, Debug)]
pub struct Theorems {
    /// The file `policy.mlw`, which stands on those in `proofs/`.
    pub whyml: String,
    pub obligations: Vec<Obligation>,
}

impl Theorems {
    /// The file with one of its modules, and the one that all use.
    pub fn alone(&self, module: &str) -> String {
        let mut modules = self.whyml.split("\nmodule ");
        let (head, policy) = (modules.next().unwrap_or_default(), modules.next().unwrap_or_default());
        let named = |text: &&str| text.lines().next() == Some(module);
        let alone = modules.find(named).unwrap_or_default();
        format!("{head}\nmodule {policy}\nmodule {alone}")
    }
}

/// Makes the obligations of a policy. `invariants`: its own.
pub fn theorems(policy: &Policy, invariants: &[Invariant]) -> Theorems {
    let unit = unit::Unit::new(policy);
    let mut theory = Theory { text: String::new(), obligations: Vec::new() };
    for steal in policy.steals.iter().filter(|steal| !steal.superseded) {
        steals::emit(&unit, &mut theory, steal);
    }
    positive::emit(&unit, &mut theory);
    events::emit(&unit, &mut theory);
    timers::emit(&unit, &mut theory);
    sets::emit(&unit, &mut theory, invariants);
    let whyml = header::header(&unit) + &theory.text;
    let mut obligations = theory.obligations;
    obligations.sort_by_key(|o| o.property);
    Theorems { whyml, obligations }
}

/// The modules and obligations so far.
pub struct Theory {
    text: String,
    obligations: Vec<Obligation>,
}

impl Theory {
    fn module(&mut self, name: &str, body: &str) {
        let body = body.trim_end();
        self.text += &format!("\nmodule {name}\n  use int.Int\n  use ref.Ref\n  use Policy\n\n{body}\nend\n");
    }

    fn goal(&mut self, property: Property, about: &str, what: &str, at: &Place, module: &str, goal: &str) {
        let claim = Claim::Goal { module: module.into(), goal: goal.into() };
        self.add(property, about, what, at, claim, Vec::new());
    }

    fn decided(&mut self, property: Property, about: &str, what: &str, at: &Place, holds: bool) {
        self.add(property, about, what, at, Claim::Decided { holds }, Vec::new());
    }

    fn not_modelled(&mut self, property: Property, about: &str, what: &str, at: &Place, construct: &str) {
        self.add(property, about, what, at, Claim::NotModelled { construct: construct.into() }, Vec::new());
    }

    fn add(
        &mut self,
        property: Property,
        about: &str,
        what: &str,
        at: &Place,
        claim: Claim,
        rests_on: Vec<(String, String)>,
    ) {
        self.obligations.push(Obligation {
            property,
            about: about.into(),
            what: what.into(),
            policy: at.policy.clone(),
            line: at.line,
            claim,
            rests_on,
        });
    }
}
