//! Claims: an event claims at most one core, and places its thread there.

use super::Theory;
use super::alone::LABEL;
use super::events::{THREAD_EVENT, bound, handler_program, placement_requires};
use super::program::Program;
use super::unit::Unit;
use super::users::users;
use super::watch::Watch;
use crate::obligation::Property;
use crate::whyml::{Decl, Step, Why, deref, params};
use hearth_ipanema::ir::{Event, Function};

const CLAIMED: &str = "the thread goes to the core that it claims";

const CLAIMS: &str = "\
(* The cores that this event has claimed. *)
  val claimed : ref cset
  val nothing_claimed () : unit
    writes { claimed } ensures { !claimed = no_core }
  val claim (c: int) : bool
    writes { claimed }
    ensures { !claimed = if result then added c (old !claimed) else old !claimed }
  val release (c: int) : unit
    writes { claimed }
    ensures { !claimed = removed c (old !claimed) }";

pub fn emit(unit: &Unit, theory: &mut Theory) {
    for user in users(unit.policy).into_iter().filter(|user| user.effects.claims) {
        match user.placement {
            Some(event) => placement(unit, theory, event, user.function),
            None => {
                let construct = "a claim outside of a placement";
                let at = &user.function.at;
                theory.not_modelled(Property::Invariants, user.name, CLAIMED, at, construct);
            }
        }
    }
}

fn placement(unit: &Unit, theory: &mut Theory, event: Event, handler: &Function) {
    unit.restart();
    let unchanged = deref("claimed").equals(deref("claimed").at(LABEL));
    let program = Program { loop_invariants: vec![unchanged], ..Program::watching(unit, Watch::Claims) };
    let body = vec![Step::Do(Why::Text("nothing_claimed ()"))];
    let body = Why::block(body, program.body(&bound(handler)));
    let keeps = handler_program(
        unit,
        "keeps",
        params(&THREAD_EVENT),
        placement_requires(),
        Why::Text("forall c. mem c !claimed -> result = Just c"),
        body,
    );
    let module = format!("Claims_{}", event.name());
    theory.module(&module, &[Decl::Text(CLAIMS), Decl::Blank, keeps]);
    theory.goal(Property::Invariants, event.name(), CLAIMED, &handler.at, &module, "keeps'vc");
}
