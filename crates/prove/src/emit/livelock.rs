//! No livelock: no event causes events of its own kind again and again.
//!
//! Each event has a rank, and causes only events of lower rank: a timer moves threads, a steal moves threads, a moved
//! thread may preempt the core that it goes to, a preemption moves its thread and calls `schedule`, but preempts no core.
//! What threads do (fork, wake, block, yield), ticks and balances come from outside. A sequence of steals ends by the
//! obligations of progress.

use super::Theory;
use super::events::nowhere;
use super::steals::{ONCE, SAME};
use super::unit::Unit;
use crate::obligation::{Id, Property};
use hearth_ipanema::ir::effects::assigned;
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_effect, walk_stmt};
use hearth_ipanema::ir::{
    Block, CoreField, Effect, Event, Expr, ExprKind, Function, FunctionId, LocalId, Policy, Stmt, StmtKind,
};

/// What an event may cause.
#[derive(Clone, Copy)]
struct Allowed {
    preempts: bool,
    steals: bool,
}

pub fn emit(unit: &Unit, theory: &mut Theory) {
    let policy = unit.policy;
    let mut rests_on = Vec::new();
    for (event, allowed, what) in RANKS {
        let Some(handler) = policy.handler(event).map(|id| policy.function(id)) else { continue };
        let caused = Causes::by(policy, handler);
        let holds =
            !caused.arms && (allowed.preempts || !caused.preempts) && (allowed.steals || !caused.steals);
        theory.decided(Property::Waiting, event.name(), what, &handler.at, "effects of the handler", holds);
        rests_on.push(Id::new(event.name(), what));
    }
    let moves = policy.steals.iter().filter(|steal| !steal.superseded);
    for steal in moves.clone() {
        let function = policy.function(steal.move_thread);
        let caused = Causes::by(policy, function);
        let what = "`move` arms no timer, and preempts at most a core that runs a thread";
        theory.decided(
            Property::Waiting,
            &steal.name,
            what,
            &function.at,
            "effects of `move`",
            !caused.arms && !caused.preempts,
        );
        rests_on.push(Id::new(&steal.name, what));
    }
    rests_on.extend(bounded_steals(policy, theory));
    let what = "no preemption, steal or timer causes itself again and again";
    theory.follows(Property::Waiting, "events", what, &nowhere(unit), "Ranks.handle", rests_on);
}

/// The obligations that bound the steals of an event. A balance comes from outside, so its steals need only end. Those of
/// `newly_idle` need a limit, because they may leave another core idle.
fn bounded_steals(policy: &Policy, theory: &Theory) -> Vec<Id> {
    let newly_idle = policy.handler(Event::NewlyIdle).map(|id| &policy.function(id).effects.steals);
    let steals = policy.steals.iter().enumerate().filter(|(_, steal)| !steal.superseded);
    let (again, once): (Vec<_>, Vec<_>) = steals.partition(|(id, _)| {
        newly_idle.is_some_and(|steals| steals.iter().any(|steal| steal.index() == *id))
    });
    let again: Vec<_> = again.into_iter().map(|(_, steal)| steal.name.as_str()).collect();
    let mut bounds = theory.bounded_moves_of(&again);
    if again.len() == 1 {
        bounds.retain(|id| id.what != SAME);
    }
    bounds.extend(once.into_iter().map(|(_, steal)| Id::new(&steal.name, ONCE)));
    bounds
}

/// The events that other events cause, and what they must not cause in turn.
const RANKS: [(Event, Allowed, &str); 7] = {
    const NOTHING: Allowed = Allowed { preempts: false, steals: false };
    const QUIET: &str = "it preempts no core, steals nothing and arms no timer";
    [
        (Event::Schedule, NOTHING, QUIET),
        (Event::Preempt, NOTHING, QUIET),
        (Event::EnterIdle, NOTHING, QUIET),
        (Event::ExitIdle, NOTHING, QUIET),
        (
            Event::Enqueue,
            NOTHING,
            "it preempts at most the thread's new core, if that runs a thread, and arms no timer",
        ),
        (Event::NewlyIdle, Allowed { preempts: true, steals: true }, "it arms no timer"),
        (Event::Timer, Allowed { preempts: true, steals: false }, "it steals nothing and arms no timer"),
    ]
};

/// What a function causes, and the functions that it calls.
struct Causes<'p> {
    policy: &'p Policy,
    /// The function is `enqueue`: its preemption of the thread's new core, while that runs a thread, does not count.
    /// In `preempt`, nothing preempts a core (saakm.h).
    enqueue: bool,
    runs: bool,
    /// The locals that hold the thread which runs on the new core: a local thread is not assigned later.
    current: Vec<LocalId>,
    preempts: bool,
    steals: bool,
    arms: bool,
}

impl<'p> Causes<'p> {
    fn by(policy: &'p Policy, function: &Function) -> Self {
        let enqueue =
            policy.handler(Event::Enqueue).is_some_and(|id| std::ptr::eq(policy.function(id), function));
        let reassigned = assigned(&function.body).contains(&LocalId(1));
        let mut caused = Causes {
            policy,
            enqueue: enqueue && !reassigned,
            runs: false,
            current: Vec::new(),
            preempts: false,
            steals: false,
            arms: false,
        };
        walk_block(&mut caused, &function.body);
        caused
    }

    fn nested(&mut self, runs: bool, block: &Block) {
        let before = self.runs;
        self.runs |= runs;
        walk_block(self, block);
        self.runs = before;
    }

    /// `c.current`, or a local that holds it.
    fn is_current(&self, value: &Expr) -> bool {
        match &value.kind {
            ExprKind::CoreField { field: CoreField::Current, core } => self.is_new_core(core),
            ExprKind::Local(local) => self.enqueue && self.current.contains(local),
            _ => false,
        }
    }

    fn is_new_core(&self, core: &Expr) -> bool {
        self.enqueue && matches!(core.kind, ExprKind::Local(LocalId(1)))
    }
}

impl Visitor for Causes<'_> {
    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::IfSome { value, then, otherwise, .. } => {
                self.expr(value);
                self.nested(self.is_current(value), then);
                self.nested(false, otherwise);
            }
            StmtKind::Let { local, value } if self.is_current(value) => {
                self.current.push(*local);
            }
            StmtKind::Steal { .. } => {
                self.steals = true;
                walk_stmt(self, stmt);
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn effect(&mut self, effect: &Effect) {
        match effect {
            Effect::Preempt(core) => self.preempts |= !(self.runs && self.is_new_core(core)),
            Effect::Arm { .. } => self.arms = true,
            _ => {}
        }
        walk_effect(self, effect);
    }

    fn call(&mut self, function: FunctionId, _args: &[Expr]) {
        // A callee's parameters are not this function's.
        let before = std::mem::replace(&mut self.enqueue, false);
        walk_block(self, &self.policy.function(function).body);
        self.enqueue = before;
    }
}
