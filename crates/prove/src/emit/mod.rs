//! WhyML from a policy's IR. The passes build trees ([`crate::whyml`]), which one printer prints.
//!
//! The passes, in their order: *abstract* (`term`, `inline`: expressions as terms over what an event
//! reads), *obligations* (`steals`, `bounds`, `events`, `sets`, `claims`,
//! `timers`; about waiting: `recovery`, `turns`,
//! `order`, `running`, `livelock`), *emit* (`program`, `search`, `actions`: bodies as programs; `alone`: the same with nobody else at
//! work; `header`: what they all use).

mod actions;
mod alone;
mod bounds;
mod claims;
mod contract;
mod events;
mod flow;
mod header;
mod inline;
pub mod livelock;
mod names;
mod order;
mod program;
mod recovery;
mod running;
mod search;
mod sets;
mod steals;
mod term;
mod theorems;
mod timers;
pub mod turns;
mod unit;
mod users;
mod watch;

use crate::Invariant;
use crate::obligation::{Claim, Id, Obligation, Property};
use crate::whyml::{Decl, printed};
use hearth_ipanema::ir::{Place, Policy, Steal};
pub use theorems::Theorems;
use theorems::{Module, Source};

/// Derives the obligations of a policy, including those of its own `invariants`.
pub fn theorems(policy: &Policy, invariants: &[Invariant]) -> Theorems {
    let unit = unit::Unit::new(policy);
    let mut theory = Theory { modules: Vec::new(), obligations: Vec::new() };
    let steals: Vec<&Steal> = policy.steals.iter().filter(|steal| !steal.superseded).collect();
    // The steals' terms say which attributes are summed.
    steals.iter().for_each(|steal| steals::summed(&unit, steal));
    let bounds = bounds::emit(&unit, &mut theory);
    steals.iter().for_each(|steal| steals::emit(&unit, &mut theory, steal, &steals));
    events::emit(&unit, &mut theory);
    claims::emit(&unit, &mut theory);
    timers::emit(&unit, &mut theory);
    sets::emit(&unit, &mut theory, invariants);
    recovery::emit(&unit, &mut theory);
    turns::emit(&unit, &mut theory);
    livelock::emit(&unit, &mut theory);
    let source = Source {
        head: header::HEAD.into(),
        declarations: header::declarations(&unit),
        attributes: alone::attributes(&unit),
        modules: theory.modules,
    };
    let mut obligations = theory.obligations;
    // The bounds are an axiom of each module.
    let others = obligations.iter_mut().filter(|o| o.claim.module().is_some() && !bounds.contains(&o.id));
    others.for_each(|obligation| obligation.rests_on.extend(bounds.iter().cloned()));
    obligations.sort_by_key(|o| o.property);
    Theorems { whyml: source.whole(&policy.name), obligations, source }
}

/// The modules and obligations emitted so far.
pub struct Theory {
    modules: Vec<Module>,
    obligations: Vec<Obligation>,
}

impl Theory {
    fn module(&mut self, name: &str, declarations: &[Decl]) {
        self.modules.push(Module::new(name, &printed(declarations)));
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

    /// `by`: the part of the IR that decides it.
    fn decided(
        &mut self,
        property: Property,
        about: &str,
        what: &str,
        at: &Place,
        by: &str,
        holds: bool,
    ) -> Id {
        self.add(property, about, what, at, Claim::Decided { by: by.into(), holds }, Vec::new())
    }

    fn follows(
        &mut self,
        property: Property,
        about: &str,
        what: &str,
        at: &Place,
        theorem: &str,
        rests_on: Vec<Id>,
    ) -> Id {
        self.add(property, about, what, at, Claim::Follows { theorem: theorem.into() }, rests_on)
    }

    /// The last step: a module that clones one of `proofs/closing.mlw`, so that its axioms become goals. All of them must be
    /// proved.
    fn closes(
        &mut self,
        about: &str,
        what: &str,
        at: &Place,
        module: &str,
        declarations: &[Decl],
        rests_on: Vec<Id>,
    ) {
        self.module(module, declarations);
        let claim = Claim::Goal { module: module.into(), goal: String::new() };
        self.add(Property::Waiting, about, what, at, claim, rests_on);
    }

    fn not_modelled(&mut self, property: Property, about: &str, what: &str, at: &Place, construct: &str) {
        self.add(property, about, what, at, Claim::NotModelled { construct: construct.into() }, Vec::new());
    }

    /// The obligations that bound the number of these steals, one after the other.
    fn bounded_moves_of(&self, steals: &[&str]) -> Vec<Id> {
        let about = |o: &&Obligation| {
            let progress = o.property == Property::Progress && o.id.what != steals::SUCCEEDS;
            progress && steals.contains(&o.id.about.as_str())
        };
        self.obligations.iter().filter(about).map(|o| o.id.clone()).collect()
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
