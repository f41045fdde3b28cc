//! Whether event `schedule` runs the first thread of a queue whenever there is one, whatever else it could look at.
//!
//! Then a thread that is placed on an idle core can run at once: the runtime calls `schedule` within the placement, with
//! the thread as the only one, and no queue ever has it. If `schedule` could decline, or could see that the thread is in
//! no queue, the thread takes the way through the queue.

use std::collections::BTreeSet;

use super::visit::{Visitor, walk_block, walk_expr, walk_stmt};
use super::{
    Block, CoreField, Effect, Event, Expr, ExprKind, FunctionId, LocalId, Policy, QueueId, State, Stmt,
    StmtKind, Target,
};

/// The core of the event.
const CORE: LocalId = LocalId(0);

/// `Err` says why a placement on an idle core has to wait for its core, in a sentence without a capital.
pub fn runs_first(policy: &Policy) -> Result<(), String> {
    let Some(handler) = policy.handler(Event::Schedule) else {
        return Err("the policy has no handler `schedule`".into());
    };
    let body = &policy.function(handler).body;
    let mut looked = BTreeSet::new();
    choices(body, &mut looked)?;
    let all = (0..policy.queues.len()).map(|queue| QueueId(queue as u32));
    if let Some(queue) = all.into_iter().find(|queue| !looked.contains(queue)) {
        let name = &policy.queues[queue.index()].name;
        return Err(format!("`schedule` may leave a thread in queue `{name}`"));
    }
    let mut looks = Looks { policy, seen: BTreeSet::new(), at: None };
    walk_block(&mut looks, body);
    looks.at.map_or(Ok(()), |what| Err(format!("`schedule` {what}")))
}

/// The queues whose first thread the block runs, if the queues before are empty.
fn choices(block: &[Stmt], looked: &mut BTreeSet<QueueId>) -> Result<(), String> {
    for stmt in block {
        match &stmt.kind {
            StmtKind::IfSome { local, value, then, otherwise } => {
                let Some(queue) = first_of(value) else { return Err(may_decline()) };
                if !runs(then, *local) {
                    return Err(may_decline());
                }
                looked.insert(queue);
                choices(otherwise, looked)?;
            }
            StmtKind::Block(block) => choices(block, looked)?,
            StmtKind::Let { .. } => {}
            StmtKind::Assign { target, .. } if !matches!(target, Target::Local(_)) => {}
            _ => return Err(may_decline()),
        }
    }
    Ok(())
}

fn may_decline() -> String {
    "`schedule` may run another thread than the first of a queue, or none".into()
}

/// The queue of the event's core whose first thread the expression is.
fn first_of(value: &Expr) -> Option<QueueId> {
    let ExprKind::Search(search) = &value.kind else { return None };
    search.first_in_queue().filter(|(core, _)| is_local(core, CORE)).map(|(_, queue)| queue)
}

fn is_local(expr: &Expr, local: LocalId) -> bool {
    matches!(expr.kind, ExprKind::Local(id) if id == local)
}

/// Whether the block, on each of its ways, ends with `thread => running`.
fn runs(block: &Block, thread: LocalId) -> bool {
    let Some((last, before)) = block.split_last() else { return false };
    let goes_on = |stmt: &Stmt| {
        let mut ends = Ends(false);
        ends.stmt(stmt);
        !ends.0
    };
    let runs_it = match &last.kind {
        StmtKind::Transition { thread: of, to: State::Running, .. } => is_local(of, thread),
        StmtKind::Block(block) => runs(block, thread),
        _ => false,
    };
    runs_it && before.iter().all(goes_on)
}

/// Whether a statement may end the handler or change a variable.
struct Ends(bool);

impl Visitor for Ends {
    fn stmt(&mut self, stmt: &Stmt) {
        self.0 |= matches!(
            stmt.kind,
            StmtKind::Return(_)
                | StmtKind::Transition { .. }
                | StmtKind::Call { .. }
                | StmtKind::Steal { .. }
                | StmtKind::Assign { target: Target::Local(_), .. }
        );
        walk_stmt(self, stmt);
    }
}

/// Finds what tells `schedule` that the thread is in no queue: the state of cores, or an effect.
struct Looks<'p> {
    policy: &'p Policy,
    seen: BTreeSet<u32>,
    at: Option<String>,
}

impl Visitor for Looks<'_> {
    fn expr(&mut self, expr: &Expr) {
        let what = match &expr.kind {
            ExprKind::CoreField { field: CoreField::Current, .. } => Some("reads `current`"),
            ExprKind::CoreField { field: CoreField::NrReady, .. } => Some("reads `nr_ready`"),
            ExprKind::CoreField { field: CoreField::NrRunning, .. } => Some("reads `nr_running`"),
            ExprKind::CoreField { field: CoreField::IdleSince, .. } => Some("reads `idle_since`"),
            ExprKind::Kept(_) => Some("reads a set of cores that the runtime keeps"),
            ExprKind::Search(_) if first_of(expr).is_none() => Some("searches"),
            _ => None,
        };
        if let Some(what) = what {
            self.at.get_or_insert_with(|| what.to_owned());
        }
        walk_expr(self, expr);
    }

    fn effect(&mut self, _effect: &Effect) {
        self.at.get_or_insert_with(|| "has effects on cores or timers".to_owned());
    }

    fn call(&mut self, function: FunctionId, _args: &[Expr]) {
        if self.seen.insert(function.index() as u32) {
            let policy = self.policy;
            walk_block(self, &policy.function(function).body);
        }
    }
}
