//! Timers and claims.

use super::Theory;
use super::actions::OWN;
use super::events::{THREAD_EVENT, bound, handler_text, placement_requires};
use super::header::validity;
use super::program::{Program, assigned};
use super::text::indented;
use super::unit::{Unit, why_type};
use super::watch::Watch;
use crate::obligation::Property;
use hearth_ipanema::ir::effects::{Access, Effects, Whose};
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_effect, walk_expr, walk_stmt};
use hearth_ipanema::ir::{
    AttributeId, Effect, Event, Expr, ExprKind, Function, FunctionId, LocalId, Policy, State, Stmt, StmtKind,
};
use std::collections::BTreeSet;

pub fn emit(unit: &Unit, theory: &mut Theory) {
    for user in users(unit.policy) {
        if user.effects.claims {
            match user.placement {
                Some(event) => claims(unit, theory, event, user.function),
                None => theory.not_modelled(
                    Property::Invariants,
                    user.name,
                    CLAIMED,
                    &user.function.at,
                    "a claim outside of a placement",
                ),
            }
        }
    }
    timers(unit, theory);
}

const CLAIMED: &str = "the thread goes to the core that it claims";

/// A handler, or a steal's `move`: everything that an event can run.
struct User<'p> {
    name: &'p str,
    function: &'p Function,
    effects: &'p Effects,
    /// The event, if it places its thread.
    placement: Option<Event>,
}

fn users(policy: &Policy) -> Vec<User<'_>> {
    let handlers = policy.handlers.iter().map(|handler| {
        let function = policy.function(handler.function);
        let placement = Some(handler.event).filter(|event| matches!(event, Event::New | Event::Unblock));
        User { name: handler.event.name(), function, effects: &function.effects, placement }
    });
    let steals = policy.steals.iter().filter(|steal| !steal.superseded).map(|steal| {
        let function = policy.function(steal.move_thread);
        User { name: &steal.name, function, effects: &steal.effects, placement: None }
    });
    handlers.chain(steals).collect()
}

/// An event claims at most one core, and places its thread there.
fn claims(unit: &Unit, theory: &mut Theory, event: Event, handler: &Function) {
    unit.restart();
    let unchanged = "!claimed = (!claimed at LABEL)".to_owned();
    let program = Program { unit, watch: Watch::Claims, places: false, loop_invariants: vec![unchanged] };
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

/// Obligations of a policy that arms timers.
///
/// The kernel of the argument: a timer fires only while its thread waits (scheduling the thread cancels it). So between
/// a placement that arms its own thread's timer and the timer event, only other threads' events and steals run.
fn timers(unit: &Unit, theory: &mut Theory) {
    let Some(timer) = unit.policy.handler(Event::Timer).map(|id| unit.policy.function(id)) else { return };
    let read = attributes_read(unit, timer);
    unit.timed.replace(read.clone());
    let disturbed = read.iter().find(|attribute| disturbs(unit.policy, **attribute));
    let mut anywhere = false;
    let armed = armings(unit.policy);
    for user in users(unit.policy).into_iter().filter(|user| user.effects.timers) {
        let about = user.name;
        let own = user.placement.filter(|_| only_own(unit.policy, user.function));
        match (own, disturbed) {
            (Some(event), None) => timer_moves(unit, theory, event, user.function, timer),
            _ => {
                if !anywhere {
                    timer_alone(unit, theory, timer);
                    anywhere = true;
                }
                let (at, module) = (&user.function.at, "Timer_from_any_state");
                theory.goal(Property::Invariants, about, MOVES, at, module, "moves_later'vc");
            }
        }
        fires(unit, theory, &user, own.is_some(), &armed);
    }
}

const MOVES: &str = "if it arms the timer, the timer moves the thread to a core of its affinity";

/// A timer armed by a placement for its own thread: the handler runs with the attributes that the placement left.
fn timer_moves(unit: &Unit, theory: &mut Theory, event: Event, handler: &Function, timer: &Function) {
    unit.restart();
    let program = Program::watching(unit, Watch::Timer);
    let first = indented(&format!("{};\nNothing", program.body(&bound(handler))));
    let then = indented(&format!("{};\nNothing", program.body(&bound(timer))));
    let body = format!(
        "armed := false;\nlet first =\ntry\n{first}\n{CATCH} in\nif not !armed then first else\ntry\n{then}\n{CATCH}"
    );
    let module = format!("Timer_{}", event.name());
    theory.module(&module, &timer_text(unit, &body));
    theory.goal(Property::Invariants, event.name(), MOVES, &handler.at, &module, "moves_later'vc");
}

/// A timer armed at any time, for any thread: nothing is known about the attributes that its handler reads.
fn timer_alone(unit: &Unit, theory: &mut Theory, timer: &Function) {
    unit.restart();
    let program = Program::watching(unit, Watch::Timer);
    let body = format!("try\n{}\n{CATCH}", indented(&format!("{};\nNothing", program.body(&bound(timer)))));
    theory.module("Timer_from_any_state", &timer_text(unit, &body));
}

const CATCH: &str = "with Placed c -> Just c | Return -> Nothing | Gone -> Nothing end";

fn timer_text(unit: &Unit, body: &str) -> String {
    let mut requires: String =
        placement_requires().iter().map(|r| format!("    requires {{ {r} }}\n")).collect();
    let mut text = String::from("  val armed : ref bool\n");
    for attribute in unit.timed.borrow().iter().map(|id| &unit.policy.thread[id.index()]) {
        text += &format!("  val own_{} : ref {}\n", attribute.name, why_type(attribute.ty));
        if let Some(valid) = validity(attribute.ty) {
            requires += &format!("    requires {{ {valid} !own_{} }}\n", attribute.name);
        }
    }
    format!(
        "{text}\n  let moves_later {THREAD_EVENT} : maybe\n\
         {requires}    ensures {{ match result with Just c -> is_core c /\\ allowed {OWN} c | Nothing -> false end }}\n  = {}\n",
        indented(&indented(body)).trim_start()
    )
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
fn fires(unit: &Unit, theory: &mut Theory, user: &User, own_placement: bool, armed: &[Arming]) {
    let (about, at) = (user.name, &user.function.at);
    let mine = armed.iter().filter(|arming| arming.users.iter().any(|user| user == about));
    for arming in mine {
        let Some(after) = &arming.after else { continue };
        let delay = match &after.kind {
            ExprKind::Param(id) => format!("`{}`", unit.policy.params[id.index()].name),
            ExprKind::Number(_) => "its delay".to_owned(),
            _ => {
                let construct = "a delay that is neither a number nor a parameter";
                let what = "the timer fires after a known delay and its slack";
                theory.not_modelled(Property::Invariants, about, what, at, construct);
                continue;
            }
        };
        let what = format!("the timer fires after {delay} and its slack: nothing sets it anew or cancels it");
        let undisturbed = own_placement && armed.iter().all(|other| other.only_before_waiting);
        theory.decided(Property::Invariants, about, &what, at, undisturbed);
    }
}

/// A statement that arms or cancels a timer.
struct Arming {
    /// `None`: it cancels.
    after: Option<Expr>,
    /// The handlers and steals that can reach it.
    users: Vec<String>,
    /// Only placements reach it, and only for the thread that they place: that thread does not wait yet.
    only_before_waiting: bool,
}

fn armings(policy: &Policy) -> Vec<Arming> {
    let users = users(policy);
    let mut found: Vec<Arming> = Vec::new();
    for (index, function) in policy.functions.iter().enumerate() {
        let mut effects = Vec::new();
        let mut find = |e: &Effect| match e {
            Effect::Arm { after, .. } => effects.push(Some(after.clone())),
            Effect::Cancel(_) => effects.push(None),
            _ => {}
        };
        each_effect(function, &mut find);
        for after in effects {
            let here = FunctionId(index as u32);
            let reach: Vec<&User> =
                users.iter().filter(|user| reaches(policy, user.function, here)).collect();
            if reach.is_empty() {
                continue;
            }
            let only_before_waiting =
                reach.iter().all(|user| user.placement.is_some() && only_own(policy, user.function));
            let users = reach.iter().map(|user| user.name.to_owned()).collect();
            found.push(Arming { after, users, only_before_waiting });
        }
    }
    found
}

/// True if `from` is the function itself, or calls it, directly or not.
fn reaches(policy: &Policy, from: &Function, wanted: FunctionId) -> bool {
    struct Reach<'p>(&'p Policy, FunctionId, bool, BTreeSet<u32>);
    impl Reach<'_> {
        fn visit(&mut self, function: FunctionId) {
            self.2 |= function == self.1;
            if self.3.insert(function.0) {
                walk_block(self, &self.0.function(function).body);
            }
        }
    }
    impl Visitor for Reach<'_> {
        fn stmt(&mut self, stmt: &Stmt) {
            if let (StmtKind::Transition { to: State::Ready { .. }, .. }, Some(enqueue)) =
                (&stmt.kind, self.0.handler(Event::Enqueue))
            {
                self.visit(enqueue);
            }
            walk_stmt(self, stmt);
        }
        fn call(&mut self, function: FunctionId, _args: &[Expr]) {
            self.visit(function);
        }
    }
    if std::ptr::eq(from, policy.function(wanted)) {
        return true;
    }
    let mut reach = Reach(policy, wanted, false, BTreeSet::new());
    walk_block(&mut reach, &from.body);
    reach.2
}

fn each_effect(function: &Function, with: &mut dyn FnMut(&Effect)) {
    struct Each<'a>(&'a mut dyn FnMut(&Effect));
    impl Visitor for Each<'_> {
        fn effect(&mut self, effect: &Effect) {
            (self.0)(effect);
            walk_effect(self, effect);
        }
    }
    walk_block(&mut Each(with), &function.body);
}

/// True if every timer that a placement arms or cancels, directly or through calls, is that of the placed thread:
/// parameter 0, passed on as it is.
fn only_own(policy: &Policy, function: &Function) -> bool {
    struct Own<'p> {
        policy: &'p Policy,
        /// The parameter that holds the placed thread.
        own: Option<LocalId>,
        holds: bool,
    }
    impl Own<'_> {
        fn inside(&mut self, function: FunctionId, args: &[Expr]) {
            let callee = self.policy.function(function);
            if !callee.effects.timers {
                return;
            }
            let is_own = |arg: &Expr| matches!(arg.kind, ExprKind::Local(id) if Some(id) == self.own);
            let own = args.iter().position(is_own).map(|i| LocalId(i as u32));
            let mut inner = Own { policy: self.policy, own, holds: true };
            inner.holds &= own.is_none_or(|own| !is_reassigned(callee, own));
            walk_block(&mut inner, &callee.body);
            self.holds &= inner.holds;
        }
    }
    impl Visitor for Own<'_> {
        fn stmt(&mut self, stmt: &Stmt) {
            if let (StmtKind::Transition { thread, to: State::Ready { core, .. }, .. }, Some(enqueue)) =
                (&stmt.kind, self.policy.handler(Event::Enqueue))
            {
                self.inside(enqueue, &[thread.clone(), core.clone()]);
            }
            walk_stmt(self, stmt);
        }
        fn effect(&mut self, effect: &Effect) {
            if let Effect::Arm { thread, .. } | Effect::Cancel(thread) = effect {
                self.holds &= matches!(thread.kind, ExprKind::Local(id) if Some(id) == self.own);
            }
            walk_effect(self, effect);
        }
        fn call(&mut self, function: FunctionId, args: &[Expr]) {
            self.inside(function, args);
        }
    }
    let own = LocalId(0);
    let mut visitor = Own { policy, own: Some(own), holds: !is_reassigned(function, own) };
    walk_block(&mut visitor, &function.body);
    visitor.holds
}

fn is_reassigned(function: &Function, local: LocalId) -> bool {
    assigned(function).contains(&local)
}
