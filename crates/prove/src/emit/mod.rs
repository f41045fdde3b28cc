//! WhyML from a policy's IR.
//!
//! The passes, in their order: *abstract* (`term`, `inline`: expressions as terms over what an event
//! reads), *obligations* (`steals`, `bounds`, `events`, `sets`, `claims`, `timers`), *emit*
//! (`program`, `search`, `actions`: bodies as programs; `header`: what they all use).

mod actions;
mod bounds;
mod claims;
mod contract;
mod events;
mod header;
mod inline;
mod program;
mod search;
mod sets;
mod steals;
mod term;
mod text;
mod timers;
mod unit;
mod users;
mod watch;

use crate::Invariant;
use crate::obligation::{Claim, Id, Obligation, Property};
use hearth_ipanema::ir::{Place, Policy, Steal};

/// The WhyML of a policy, and its obligations.
#[derive(Clone, Debug)]
pub struct Theorems {
    /// The file `policy.mlw`, which uses the theory in `proofs/`.
    pub whyml: String,
    pub obligations: Vec<Obligation>,
}

impl Theorems {
    /// The file reduced to one module and the module `Policy`, which all use.
    pub fn alone(&self, module: &str) -> String {
        let mut modules = self.whyml.split("\nmodule ");
        let (head, policy) = (modules.next().unwrap_or_default(), modules.next().unwrap_or_default());
        let named = |text: &&str| text.lines().next() == Some(module);
        let alone = modules.find(named).unwrap_or_default();
        format!("{head}\nmodule {policy}\nmodule {alone}")
    }
}

/// Derives the obligations of a policy, including those of its own `invariants`.
pub fn theorems(policy: &Policy, invariants: &[Invariant]) -> Theorems {
    let unit = unit::Unit::new(policy);
    let mut theory = Theory { text: String::new(), obligations: Vec::new() };
    let steals: Vec<&Steal> = policy.steals.iter().filter(|steal| !steal.superseded).collect();
    // The steals' terms say which attributes are summed.
    steals.iter().for_each(|steal| steals::summed(&unit, steal));
    let bounds = bounds::emit(&unit, &mut theory);
    steals.iter().for_each(|steal| steals::emit(&unit, &mut theory, steal, &steals));
    events::emit(&unit, &mut theory);
    claims::emit(&unit, &mut theory);
    timers::emit(&unit, &mut theory);
    sets::emit(&unit, &mut theory, invariants);
    let whyml = header::header(&unit) + &theory.text;
    let mut obligations = theory.obligations;
    // The bounds are an axiom of each module.
    let others = obligations.iter_mut().filter(|o| o.claim.module().is_some() && !bounds.contains(&o.id));
    others.for_each(|obligation| obligation.rests_on.extend(bounds.iter().cloned()));
    obligations.sort_by_key(|o| o.property);
    Theorems { whyml, obligations }
}

/// The modules and obligations emitted so far.
pub struct Theory {
    text: String,
    obligations: Vec<Obligation>,
}

impl Theory {
    fn module(&mut self, name: &str, body: &str) {
        let body = body.trim_end();
        self.text += &format!("\nmodule {name}\n  use int.Int\n  use ref.Ref\n  use Policy\n\n{body}\nend\n");
    }

    fn goal(
        &mut self,
        property: Property,
        about: &str,
        what: &str,
        at: &Place,
        module: &str,
        goal: &str,
    ) -> Id {
        let claim = Claim::Goal { module: module.into(), goal: goal.into() };
        self.add(property, about, what, at, claim, Vec::new())
    }

    fn decided(&mut self, property: Property, about: &str, what: &str, at: &Place, holds: bool) {
        self.add(property, about, what, at, Claim::Decided { holds }, Vec::new());
    }

    fn not_modelled(&mut self, property: Property, about: &str, what: &str, at: &Place, construct: &str) {
        self.add(property, about, what, at, Claim::NotModelled { construct: construct.into() }, Vec::new());
    }

    /// Ids are unique: a second obligation with the same words is numbered.
    fn add(
        &mut self,
        property: Property,
        about: &str,
        what: &str,
        at: &Place,
        claim: Claim,
        rests_on: Vec<Id>,
    ) -> Id {
        let mut id = Id::new(about, what);
        let same =
            self.obligations.iter().filter(|o| o.id.about == about && o.id.what.starts_with(what)).count();
        if same > 0 {
            id.what += &format!(" ({})", same + 1);
        }
        let (policy, line) = (at.policy.clone(), at.line);
        self.obligations.push(Obligation { property, id: id.clone(), policy, line, claim, rests_on });
        id
    }
}
