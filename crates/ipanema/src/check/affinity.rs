//! Warns about a thread placed on the core that an event names without an affinity test.
//!
//! Reports only the plainest case, which is always wrong for some thread: a transition to the
//! handler's own core before any use of an affinity, in the handler or in a function that it
//! called.

use crate::codes::FORBIDDEN_CORE;
use crate::diagnostic::Diagnostic;
use crate::ir::visit::{Visitor, walk_block, walk_expr, walk_stmt};
use crate::ir::{
    Event, Expr, ExprKind, FunctionId, LocalId, Policy, Role, State, Stmt, StmtKind, ThreadField,
};

/// `order` lists callees before callers.
pub fn check(policy: &Policy, order: &[FunctionId], diagnostics: &mut Vec<Diagnostic>) {
    let mut looks = vec![false; policy.functions.len()];
    for &id in order {
        let function = policy.function(id);
        let mut seen = AffinityUse { looks: &looks, looked: false, careless: Vec::new() };
        walk_block(&mut seen, &function.body);
        // Handlers of a base are checked with the base.
        if let Role::Handler(Event::New | Event::Unblock) = function.role
            && function.at.policy == policy.name
        {
            let (thread, core) = (&function.locals[0].name, &function.locals[1].name);
            for stmt in seen.careless {
                let message = format!("`{thread}` may not be allowed to run on `{core}`");
                diagnostics.push(
                    Diagnostic::warning(FORBIDDEN_CORE, stmt.span, message)
                        .help(format!("test `{core} in {thread}.affinity` first")),
                );
            }
        }
        looks[id.index()] = seen.looked;
    }
}

struct AffinityUse<'p> {
    /// For each function, whether it or one of its callees uses an affinity.
    looks: &'p [bool],
    looked: bool,
    /// Transitions to parameter 1 before any use of an affinity.
    careless: Vec<Stmt>,
}

impl Visitor for AffinityUse<'_> {
    fn stmt(&mut self, stmt: &Stmt) {
        if let StmtKind::Transition { to: State::Ready { core, .. }, .. } = &stmt.kind
            && matches!(core.kind, ExprKind::Local(LocalId(1)))
            && !self.looked
        {
            self.careless.push(stmt.clone());
        }
        walk_stmt(self, stmt);
    }

    fn expr(&mut self, expr: &Expr) {
        self.looked |= matches!(expr.kind, ExprKind::ThreadField { field: ThreadField::Affinity, .. });
        walk_expr(self, expr);
    }

    fn call(&mut self, function: FunctionId, _args: &[Expr]) {
        self.looked |= self.looks[function.index()];
    }
}
