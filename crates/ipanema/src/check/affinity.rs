//! A thread does not go to the core that an event names without a look at its affinity.
//!
//! Only the plainest case is reported, and it is always wrong for some thread: the handler's own
//! core, and no word of affinities before, neither in the handler nor in what it called.

use crate::codes::FORBIDDEN_CORE;
use crate::diagnostic::Diagnostic;
use crate::ir::visit::{Visitor, walk_block, walk_expr, walk_stmt};
use crate::ir::{
    Event, Expr, ExprKind, FunctionId, LocalId, Policy, Role, State, Stmt, StmtKind, ThreadField,
};

/// `order`: callees before callers.
pub fn check(policy: &Policy, order: &[FunctionId], diagnostics: &mut Vec<Diagnostic>) {
    let mut looks = vec![false; policy.functions.len()];
    for &id in order {
        let function = policy.function(id);
        let mut seen = Seen { looks: &looks, looked: false, careless: Vec::new() };
        walk_block(&mut seen, &function.body);
        // A base's handlers are its own affair.
        if let Role::Handler(Event::New | Event::Unblock) = function.role
            && function.at.policy == policy.name
        {
            let (thread, core) = (&function.locals[0].name, &function.locals[1].name);
            for stmt in seen.careless {
                let message = format!("`{thread}` may not be allowed to run on `{core}`");
                diagnostics.push(
                    Diagnostic::warning(FORBIDDEN_CORE, stmt.span, message)
                        .help(format!("test it first: `{core} in {thread}.affinity`")),
                );
            }
        }
        looks[id.index()] = seen.looked;
    }
}

struct Seen<'p> {
    /// By function: does it look at an affinity, or does what it calls?
    looks: &'p [bool],
    looked: bool,
    /// Transitions to parameter 1 before any look.
    careless: Vec<Stmt>,
}

impl Visitor for Seen<'_> {
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
