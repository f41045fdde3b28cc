//! Timers and claims: what a placement promises for later, and what it takes for itself.

use super::Theory;
use super::actions::OWN;
use super::events::{THREAD_EVENT, bound, handler_text, placement_requires, placing};
use super::program::Program;
use super::text::indented;
use super::unit::{Unit, why_type};
use super::watch::Watch;
use crate::obligation::Property;
use hearth_ipanema::ir::effects::Access;
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_effect, walk_expr};
use hearth_ipanema::ir::{AttributeId, Effect, Event, Expr, ExprKind, Function, FunctionId};
use std::collections::BTreeSet;

pub fn emit(unit: &Unit, theory: &mut Theory) {
    for (event, id) in placing(unit.policy) {
        let handler = unit.policy.function(id);
        if handler.effects.claims {
            claims(unit, theory, event, handler);
        }
        if let Some(timer) = unit.policy.handler(Event::Timer)
            && handler.effects.timers
        {
            timer_moves(unit, theory, event, handler, unit.policy.function(timer));
        }
    }
    delays(unit, theory);
}

/// A core that an event claims gets the event's thread, and it claims no second one.
fn claims(unit: &Unit, theory: &mut Theory, event: Event, handler: &Function) {
    unit.restart();
    let unchanged = "!claimed = (!claimed at LABEL)".to_owned();
    let program = Program { unit, watch: Watch::Claims, places: false, loop_invariants: vec![unchanged] };
    let body = format!("claimed := no_core;\n{}", program.body(&bound(handler)));
    let ensures = "forall c. mem c !claimed -> result = Just c";
    let text = format!(
        "  (* The cores that this event has claimed: no other event has. *)\n  \
         val claimed : ref cset\n  \
         val nothing_claimed () : unit\n    writes {{ claimed }} ensures {{ !claimed = no_core }}\n  \
         val claim (c: int) : bool\n    writes {{ claimed }}\n    \
         ensures {{ !claimed = if result then added c (old !claimed) else old !claimed }}\n  \
         val release (c: int) : unit\n    writes {{ claimed }}\n    \
         ensures {{ !claimed = removed c (old !claimed) }}\n\n{}",
        handler_text(
            "keeps",
            THREAD_EVENT,
            &placement_requires(),
            ensures,
            &body.replace("claimed := no_core", "nothing_claimed ()")
        )
    );
    let module = format!("Claims_{}", event.name());
    theory.module(&module, &text);
    let what = "a core that it claims gets this thread and no other";
    theory.goal(Property::Invariants, event.name(), what, &handler.at, &module, "keeps'vc");
}

/// After an event that arms the timer, the timer's handler moves the thread, whatever happened to
/// others meanwhile, to a core of its affinity.
fn timer_moves(unit: &Unit, theory: &mut Theory, event: Event, handler: &Function, timer: &Function) {
    let what = "if it arms the timer, the timer moves the thread to a core of its affinity";
    if let Some(attribute) = disturbed(unit, timer) {
        let name = &unit.policy.thread[attribute.index()].name;
        let construct = format!("attribute `{name}`, which other events change while the timer runs");
        return theory.not_modelled(Property::Invariants, event.name(), what, &handler.at, &construct);
    }
    unit.restart();
    let program = Program { unit, watch: Watch::Timer, places: false, loop_invariants: Vec::new() };
    let catch = "with Placed c -> Just c | Return -> Nothing | Gone -> Nothing end";
    let first = indented(&format!("{};\nNothing", program.body(&bound(handler))));
    let then = indented(&format!("{};\nNothing", program.body(&bound(timer))));
    let body = format!(
        "armed := false;\nlet first =\ntry\n{first}\n{catch} in\nif not !armed then first else\ntry\n{then}\n{catch}"
    );
    let requires: String = placement_requires().iter().map(|r| format!("    requires {{ {r} }}\n")).collect();
    let mut text = String::from("  val armed : ref bool\n");
    for attribute in unit.timed.borrow().iter().map(|id| &unit.policy.thread[id.index()]) {
        text += &format!("  val own_{} : ref {}\n", attribute.name, why_type(attribute.ty));
    }
    text += &format!(
        "\n  let moves_later {THREAD_EVENT} : maybe\n\
         {requires}    ensures {{ match result with Just c -> is_core c /\\ allowed {OWN} c | Nothing -> false end }}\n  = {}\n",
        indented(&indented(&body)).trim_start()
    );
    let module = format!("Timer_{}", event.name());
    theory.module(&module, &text);
    theory.goal(Property::Invariants, event.name(), what, &handler.at, &module, "moves_later'vc");
}

/// An attribute that the timer's handler reads and an event other than a placement changes.
fn disturbed(unit: &Unit, timer: &Function) -> Option<AttributeId> {
    let thread_attributes = |accesses: &BTreeSet<Access>| -> Vec<AttributeId> {
        let of = |access: &Access| match access {
            Access::Thread { attribute, .. } => Some(*attribute),
            _ => None,
        };
        accesses.iter().filter_map(of).collect()
    };
    let mut read = Reads { unit, found: Vec::new() };
    walk_block(&mut read, &timer.body);
    let mut read = read.found;
    read.sort();
    read.dedup();
    unit.timed.replace(read.clone());
    let others = unit.policy.handlers.iter().filter(|h| !matches!(h.event, Event::New | Event::Unblock));
    let handlers = others.map(|h| &unit.policy.function(h.function).effects);
    let steals = unit.policy.steals.iter().map(|steal| &steal.effects);
    let written: Vec<AttributeId> =
        handlers.chain(steals).flat_map(|e| thread_attributes(&e.writes)).collect();
    read.into_iter().find(|attribute| written.contains(attribute))
}

/// The thread attributes that a body reads, with what it calls; `enqueue` decides nothing.
struct Reads<'u, 'p> {
    unit: &'u Unit<'p>,
    found: Vec<AttributeId>,
}

impl Visitor for Reads<'_, '_> {
    fn expr(&mut self, e: &Expr) {
        if let ExprKind::Thread { attribute, .. } = e.kind {
            self.found.push(attribute);
        }
        walk_expr(self, e);
    }

    fn call(&mut self, function: FunctionId, _args: &[Expr]) {
        walk_block(self, &self.unit.policy.function(function).body);
    }
}

/// How long each timer is armed for.
fn delays(unit: &Unit, theory: &mut Theory) {
    struct Arms(Vec<Expr>);
    impl Visitor for Arms {
        fn effect(&mut self, effect: &Effect) {
            if let Effect::Arm { after, .. } = effect {
                self.0.push(after.clone());
            }
            walk_effect(self, effect);
        }
    }
    for function in &unit.policy.functions {
        let mut arms = Arms(Vec::new());
        walk_block(&mut arms, &function.body);
        for after in arms.0 {
            let what = "the thread waits no longer than the timer's delay and its slack";
            match &after.kind {
                ExprKind::Param(id) => {
                    let name = &unit.policy.params[id.index()].name;
                    let what = format!("the thread waits no longer than `{name}` and the timer's slack");
                    theory.decided(Property::Invariants, &function.name, &what, &function.at, true);
                }
                ExprKind::Number(_) => {
                    theory.decided(Property::Invariants, &function.name, what, &function.at, true);
                }
                _ => {
                    let construct = "a delay that is neither a number nor a parameter";
                    theory.not_modelled(Property::Invariants, &function.name, what, &function.at, construct);
                }
            }
        }
    }
}
