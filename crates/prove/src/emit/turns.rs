//! Bounded waiting: a ready thread runs after a bounded number of turns of the others on its core.
//!
//! A tick ends each turn, `schedule` takes the first thread of a queue, and a turn moves a thread back in its queue
//! (`order`). The theorem is `Turns` in `proofs/waiting.mlw`.

use super::Theory;
use super::actions::OWN;
use super::events::{PICKS, nowhere};
use super::names;
use super::order;
use super::running::{self, Goal, is_restarted_by_its_own, ran_since};
use super::unit::Unit;
use crate::obligation::{Id, Property};
use crate::whyml::{Why, app, deref, old};
use hearth_base::constants::TICK_NS;
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_expr};
use hearth_ipanema::ir::{
    AttributeId, BaseType, Event, Expr, ExprKind, Extreme, Function, FunctionId, LocalId, Over, Owner,
    ParamId, Policy, QueueId, Search, SearchKind, State, Stmt, StmtKind, Target,
};
use std::collections::BTreeSet;

const FIRST: &str = "it takes the first thread of the first queue that has one";
const LEAST: &str = "it takes the thread with the least key of the first queue that has one";
const ENDS: &str = "while another thread waits, it preempts a thread whose turn is over";

/// How the claim about a queue begins.
pub const WHILE: &str = "while no thread is forked, woken or balanced to the core";

const LEAVES: &str = "alone, it keeps the thread on its core or gives it to an idle one";

/// A tick is at most this late.
const TICK: i64 = TICK_NS as i64;

pub fn emit(unit: &Unit, theory: &mut Theory) {
    let policy = unit.policy;
    let (taken, order) = first(policy, theory);
    let mut common = vec![Id::new("schedule", PICKS), order];
    common.extend(turn(unit, theory));
    common.extend(leaves_for_idle_cores(unit, theory));
    for (index, queue) in policy.queues.iter().enumerate() {
        let mut rests_on = common.clone();
        let walked = taken.iter().find(|taken| taken.queue.index() == index).and_then(|taken| taken.least);
        let (turns, closing) = match walked.or(queue.by) {
            Some(key) => {
                let (ids, closing) = order::emit(unit, theory, key);
                rests_on.extend(ids);
                ("as many turns as its key is behind", closing)
            }
            None => ("at most one turn", Some(order::first_in_first_out())),
        };
        // Threads of queues that `schedule` tries first.
        let earlier: Vec<&str> = taken
            .iter()
            .take_while(|taken| taken.queue.index() != index)
            .map(|taken| policy.queues[taken.queue.index()].name.as_str())
            .collect();
        let unless = match earlier.is_empty() {
            true => String::new(),
            false => format!(" and none enters `{}`", earlier.join("`, `")),
        };
        let what = format!("{WHILE}{unless}, each other has {turns} before a ready one runs");
        let at = &queue.at;
        match closing {
            Some(closing) => {
                let module = names::named("Closing", &queue.name);
                theory.closes(&queue.name, &what, at, &module, &closing, rests_on);
            }
            None => theory.not_modelled(Property::Waiting, &queue.name, &what, at, order::NO_CHARGE),
        }
    }
}

/// A preempted thread stays on its core or goes to an idle one, where it keeps nobody waiting: so the policy brings no new
/// threads to a core where others wait, and does not empty a core for the sake of a busy one.
pub fn leaves_for_idle_cores(unit: &Unit, theory: &mut Theory) -> Option<Id> {
    let handler = unit.policy.function(unit.policy.handler(Event::Preempt)?);
    let id = Id::new("preempt", LEAVES);
    if !handler.leaves_core {
        return None;
    }
    if theory.obligations.iter().any(|o| o.id == id) {
        return Some(id);
    }
    let leaves = Why::Text(
        "match result with Just c -> c = core_of own_thread \\/ idle (state (old !now_state) c) | Nothing -> true end",
    );
    Some(running::leaves(unit, theory, handler, LEAVES, leaves))
}

/// A queue of which `schedule` takes the first thread, or the one with the least value of an attribute.
struct QueueOrder {
    queue: QueueId,
    least: Option<AttributeId>,
}

/// Checks that `schedule` consists of `if (thread t = first(thread t in c.QUEUE)) { ... t => running; }`, once for each
/// queue; or of `min(thread t in c.QUEUE by t.KEY)`. Returns the queues in this order.
fn first(policy: &Policy, theory: &mut Theory) -> (Vec<QueueOrder>, Id) {
    let Some(handler) = policy.handler(Event::Schedule).map(|id| policy.function(id)) else {
        return (Vec::new(), Id::new("schedule", FIRST));
    };
    let taken: Vec<_> = handler.body.iter().filter_map(taken).collect();
    let distinct: BTreeSet<_> = taken.iter().map(|taken| taken.queue.index()).collect();
    let holds = taken.len() == handler.body.len() && distinct.len() == policy.queues.len();
    let what = if taken.iter().all(|taken| taken.least.is_none()) { FIRST } else { LEAST };
    let id = theory.decided(
        Property::Waiting,
        "schedule",
        what,
        &handler.at,
        "form of the handler",
        holds && taken.len() == distinct.len(),
    );
    (taken, id)
}

/// The queue of which a statement takes a thread, if it does that and nothing else ends the handler.
fn taken(stmt: &Stmt) -> Option<QueueOrder> {
    let StmtKind::IfSome { local, value, then, otherwise } = &stmt.kind else { return None };
    let ExprKind::Search(search) = &value.kind else { return None };
    let Search { kind, iteration, filter: None } = search.as_ref() else { return None };
    let least = match kind {
        SearchKind::First => None,
        SearchKind::Extreme { extreme: Extreme::Min, by } => match by.as_slice() {
            [Expr { kind: ExprKind::Thread { attribute, thread }, .. }] if matches!(thread.kind, ExprKind::Local(id) if id == iteration.local) => {
                Some(*attribute)
            }
            _ => return None,
        },
        _ => return None,
    };
    let Over::Threads { core: Expr { kind: ExprKind::Local(LocalId(0)), .. }, queue } = &iteration.over
    else {
        return None;
    };
    let (last, before) = then.split_last()?;
    let StmtKind::Transition { thread, to: State::Running, .. } = &last.kind else { return None };
    let same = matches!(&thread.kind, ExprKind::Local(id) if id == local);
    let sets_attribute = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Assign { target, .. } => !matches!(target, Target::Local(_)),
        _ => false,
    };
    let fits = same && iteration.limit.is_none() && otherwise.is_empty() && before.iter().all(sets_attribute);
    fits.then_some(QueueOrder { queue: *queue, least })
}

/// While another thread waits, a tick preempts a thread that has run for its turn: the time with which the handler
/// compares `t.runtime - t.start`, and a tick.
fn turn(unit: &Unit, theory: &mut Theory) -> Vec<Id> {
    let policy = unit.policy;
    let Some(handler) = policy.handler(Event::Tick).map(|id| policy.function(id)) else {
        theory.decided(Property::Waiting, "tick", ENDS, &nowhere(unit), "handlers", false);
        return vec![Id::new("tick", ENDS)];
    };
    let mut goal = Goal {
        event: Event::Tick,
        handler,
        what: ENDS,
        name: "ends",
        starts: None,
        requires: vec![Why::Text("nr_ready (state !now_state (core_of own_thread)) >= 1")],
        ensures: Vec::new(),
    };
    let mut ensures = app!("mem", app!("core_of", OWN), deref("preempted"));
    let mut rests_on = Vec::new();
    if let Some(Since { start, params }) = since(policy, handler) {
        let start_of = names::attribute(Owner::Thread, &policy.thread[start.index()].name);
        let params = params.iter().map(|id| &policy.params[id.index()]);
        let times = params.filter(|param| param.ty.base == BaseType::Time);
        let turn = times.map(|param| Why::from(names::param(&param.name))).chain([Why::from(TICK)]);
        let turn = turn.reduce(|sum, time| sum.infix("+", time)).unwrap_or(TICK.into());
        let [now, before] = [deref("present"), old(deref("present"))].map(|time| app!(start_of, time, OWN));
        let ran = app!("runtime", deref("present"), OWN).infix("-", &now);
        goal.starts = Some(start);
        ensures = ensures.or(now.equals(before).and(ran.infix("<", turn)));
        rests_on.push(is_restarted_by_its_own(unit, theory, start));
    }
    goal.ensures.push(ensures);
    rests_on.push(running::emit(unit, theory, &goal));
    rests_on
}

/// A comparison of `t.runtime - t.start` with a time made of parameters.
struct Since {
    start: AttributeId,
    params: BTreeSet<ParamId>,
}

/// The first such comparison in a function and those that it calls.
fn since(policy: &Policy, function: &Function) -> Option<Since> {
    struct Find<'p> {
        policy: &'p Policy,
        found: Option<Since>,
    }
    impl Visitor for Find<'_> {
        fn expr(&mut self, e: &Expr) {
            if let ExprKind::Compare { left, right, .. } = &e.kind
                && self.found.is_none()
            {
                let since = |ran: &Expr, limit: &Expr| {
                    Some(Since { start: ran_since(ran)?, params: params(self.policy, limit) })
                };
                self.found = since(left, right).or_else(|| since(right, left));
            }
            walk_expr(self, e);
        }
        fn call(&mut self, function: FunctionId, _args: &[Expr]) {
            walk_block(self, &self.policy.function(function).body);
        }
    }
    let mut find = Find { policy, found: None };
    walk_block(&mut find, &function.body);
    find.found
}

/// The parameters in an expression and the functions that it calls.
fn params(policy: &Policy, e: &Expr) -> BTreeSet<ParamId> {
    struct Find<'p> {
        policy: &'p Policy,
        found: BTreeSet<ParamId>,
    }
    impl Visitor for Find<'_> {
        fn expr(&mut self, e: &Expr) {
            if let ExprKind::Param(id) = e.kind {
                self.found.insert(id);
            }
            walk_expr(self, e);
        }
        fn call(&mut self, function: FunctionId, _args: &[Expr]) {
            walk_block(self, &self.policy.function(function).body);
        }
    }
    let mut find = Find { policy, found: BTreeSet::new() };
    find.expr(e);
    find.found
}
