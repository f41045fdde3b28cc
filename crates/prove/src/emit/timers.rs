//! Timers: where they move their threads, and whether they fire.

use super::Theory;
use super::events::{THREAD_EVENT, bound, caught, placement_requires};
use super::header::validity;
use super::names;
use super::program::Program;
use super::unit::{Unit, why_type};
use super::users::{User, users};
use super::watch::Watch;
use crate::obligation::Property;
use crate::whyml::{self, Decl, Step, Why, app, conditional, deref, not, params};
use hearth_ipanema::ir::effects::{Access, Effects, Whose};
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_effect, walk_expr};
use hearth_ipanema::ir::{AttributeId, Effect, Event, Expr, ExprKind, Function, FunctionId, Policy};
use std::collections::BTreeSet;

/// Obligations of a policy that arms timers.
///
/// The kernel of the argument: a timer fires only while its thread waits (scheduling the thread cancels it). So between
/// a placement that arms its own thread's timer and the timer event, only other threads' events and steals run.
pub fn emit(unit: &Unit, theory: &mut Theory) {
    let Some(timer) = unit.policy.handler(Event::Timer).map(|id| unit.policy.function(id)) else { return };
    let read = attributes_read(unit, timer);
    unit.timed.replace(read.clone());
    let disturbed = read.iter().find(|attribute| disturbs(unit.policy, **attribute));
    let armed: Vec<User> =
        users(unit.policy).into_iter().filter(|user| !user.effects.timers.is_empty()).collect();
    let undisturbed = armed.iter().all(|user| user.arms_its_own());
    let alone = |user: &User| !user.arms_its_own() || disturbed.is_some();
    if armed.iter().any(alone) {
        timer_alone(unit, theory, timer);
    }
    for user in &armed {
        match user.placement.filter(|_| !alone(user)) {
            Some(event) => timer_moves(unit, theory, event, user.function, timer),
            None => {
                let (at, module) = (&user.function.at, "Timer_from_any_state");
                theory.goal(Property::Invariants, user.name, MOVES, at, module, "moves_later'vc");
            }
        }
        fires(unit, theory, user, undisturbed);
    }
}

const MOVES: &str = "if it arms the timer, the timer moves the thread to a core of its affinity";

/// A timer armed by a placement for its own thread: the handler runs with the attributes that the placement left.
fn timer_moves(unit: &Unit, theory: &mut Theory, event: Event, handler: &Function, timer: &Function) {
    unit.restart();
    let program = Program::watching(unit, Watch::Timer);
    let first = caught(program.body(&bound(handler)));
    let then = caught(program.body(&bound(timer)));
    let body = Why::block(
        vec![Step::Do(Why::Text("armed := false")), Step::Let("first".into(), first)],
        conditional(not(deref("armed")), "first".into(), then),
    );
    let module = format!("Timer_{}", event.name());
    theory.module(&module, &moves_later(unit, body));
    theory.goal(Property::Invariants, event.name(), MOVES, &handler.at, &module, "moves_later'vc");
}

/// A timer armed at any time, for any thread: nothing is known about the attributes that its handler reads.
fn timer_alone(unit: &Unit, theory: &mut Theory, timer: &Function) {
    unit.restart();
    let body = caught(Program::watching(unit, Watch::Timer).body(&bound(timer)));
    theory.module("Timer_from_any_state", &moves_later(unit, body));
}

fn moves_later(unit: &Unit, body: Why) -> Vec<Decl> {
    let mut requires = placement_requires();
    let mut declarations = vec![Decl::Text("val armed : ref bool")];
    for attribute in unit.timed.borrow().iter().map(|id| &unit.policy.thread[id.index()]) {
        let name = names::own(&attribute.name);
        declarations.push(Decl::Reference(name.clone(), why_type(attribute.ty)));
        requires.extend(validity(attribute.ty).map(|valid| app!(valid, deref(&name))));
    }
    let placed = "match result with Just c -> is_core c /\\ allowed own_thread c | Nothing -> false end";
    let program = whyml::Program {
        name: "moves_later".into(),
        params: params(&THREAD_EVENT),
        result: "maybe",
        requires,
        ensures: vec![Why::Text(placed)],
        body: Some(body),
        ..Default::default()
    };
    declarations.extend([Decl::Blank, Decl::Program(program)]);
    declarations
}

/// True if an event other than a placement of the thread itself writes this attribute of a thread.
fn disturbs(policy: &Policy, attribute: AttributeId) -> bool {
    let writes = |effects: &Effects, placement: bool| {
        effects.writes.iter().any(|access| match access {
            Access::Thread { attribute: written, of } => {
                *written == attribute && !(placement && *of == Whose::Param(0))
            }
            _ => false,
        })
    };
    users(policy).iter().any(|user| {
        // `enqueue` is part of each event that calls it.
        user.name != Event::Enqueue.name() && writes(user.effects, user.placement.is_some())
    })
}

/// The thread attributes that a handler reads, directly or through calls.
fn attributes_read(unit: &Unit, handler: &Function) -> Vec<AttributeId> {
    let mut read = Reads { unit, found: BTreeSet::new() };
    walk_block(&mut read, &handler.body);
    read.found.into_iter().collect()
}

struct Reads<'u, 'p> {
    unit: &'u Unit<'p>,
    found: BTreeSet<AttributeId>,
}

impl Visitor for Reads<'_, '_> {
    fn expr(&mut self, e: &Expr) {
        if let ExprKind::Thread { attribute, .. } = e.kind {
            self.found.insert(attribute);
        }
        walk_expr(self, e);
    }

    fn call(&mut self, function: FunctionId, _args: &[Expr]) {
        walk_block(self, &self.unit.policy.function(function).body);
    }
}

/// A pending timer fires: its delay is known, and nothing arms it anew or cancels it while the thread waits.
fn fires(unit: &Unit, theory: &mut Theory, user: &User, undisturbed: bool) {
    let (about, at) = (user.name, &user.function.at);
    let what = "the timer fires after its delay and its slack: nothing sets it anew or cancels it";
    if !delays_are_known(unit.policy) {
        let construct = "a delay that is neither a number nor a parameter";
        return theory.not_modelled(Property::Invariants, about, what, at, construct);
    }
    theory.decided(Property::Invariants, about, what, at, "effects of all handlers", undisturbed);
}

/// True if each delay in the policy is a number or a parameter.
fn delays_are_known(policy: &Policy) -> bool {
    struct Known(bool);
    impl Visitor for Known {
        fn effect(&mut self, effect: &Effect) {
            if let Effect::Arm { after, .. } = effect {
                self.0 &= matches!(after.kind, ExprKind::Number(_) | ExprKind::Param(_));
            }
            walk_effect(self, effect);
        }
    }
    let mut known = Known(true);
    policy.functions.iter().for_each(|function| walk_block(&mut known, &function.body));
    known.0
}
