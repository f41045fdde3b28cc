//! Claims: an event claims at most one core, and places its thread there.

use super::Theory;
use super::events::{THREAD_EVENT, bound, handler_text, placement_requires};
use super::program::Program;
use super::unit::Unit;
use super::users::users;
use super::watch::Watch;
use crate::obligation::Property;
use hearth_ipanema::ir::{Event, Function};

const CLAIMED: &str = "the thread goes to the core that it claims";

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
    let unchanged = "!claimed = (!claimed at LABEL)".to_owned();
    let program = Program { loop_invariants: vec![unchanged], ..Program::watching(unit, Watch::Claims) };
    let body = format!("claimed := no_core;\n{}", program.body(&bound(handler)));
    let ensures = "forall c. mem c !claimed -> result = Just c";
    let text = format!(
        "  (* The cores that this event has claimed. *)\n  \
         val claimed : ref cset\n  \
         val nothing_claimed () : unit\n    writes {{ claimed }} ensures {{ !claimed = no_core }}\n  \
         val claim (c: int) : bool\n    writes {{ claimed }}\n    \
         ensures {{ !claimed = if result then added c (old !claimed) else old !claimed }}\n  \
         val release (c: int) : unit\n    writes {{ claimed }}\n    \
         ensures {{ !claimed = removed c (old !claimed) }}\n\n{}",
        handler_text(
            unit,
            "keeps",
            THREAD_EVENT,
            &placement_requires(),
            ensures,
            &body.replace("claimed := no_core", "nothing_claimed ()")
        )
    );
    let module = format!("Claims_{}", event.name());
    theory.module(&module, &text);
    theory.goal(Property::Invariants, event.name(), CLAIMED, &handler.at, &module, "keeps'vc");
}
