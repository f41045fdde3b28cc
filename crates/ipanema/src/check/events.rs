//! Checks that required events have handlers, and that only allowed events steal.

use crate::codes::{ILLEGAL_STEAL, NO_HANDLER};
use crate::diagnostic::Diagnostic;
use crate::ir::visit::{Visitor, walk_block, walk_stmt};
use crate::ir::{Event, FunctionId, Policy, Role, Stmt, StmtKind};
use crate::syntax::Span;

pub fn check(policy: &Policy, diagnostics: &mut Vec<Diagnostic>) {
    let missing: Vec<&str> =
        Event::NEEDED.into_iter().filter(|&event| policy.handler(event).is_none()).map(Event::name).collect();
    if !missing.is_empty() {
        let message = format!("policy `{}` has no handlers for: {}", policy.name, missing.join(", "));
        let span = policy.functions.last().map_or(Span::default(), |f| f.at.span);
        diagnostics.push(
            Diagnostic::error(NO_HANDLER, span, message)
                .help("add them, or extend a policy that has them: `extends cfs`"),
        );
    }
    for function in &policy.functions {
        if let Role::Handler(event) = function.role
            && !matches!(event, Event::NewlyIdle | Event::Balance)
            && !function.effects.steals.is_empty()
        {
            let mut steals = Steals { policy, found: None };
            walk_block(&mut steals, &function.body);
            let at = steals.found.unwrap_or(function.at.span);
            let message = format!("`on {}` must not steal", event.name());
            diagnostics.push(
                Diagnostic::error(ILLEGAL_STEAL, at, message)
                    .label(function.at.span, "in this handler")
                    .help("steal in `newly_idle` or `balance`"),
            );
        }
    }
}

/// Finds the statement through which a handler steals.
struct Steals<'p> {
    policy: &'p Policy,
    found: Option<Span>,
}

impl Visitor for Steals<'_> {
    fn stmt(&mut self, stmt: &Stmt) {
        let steals = |id: FunctionId| !self.policy.function(id).effects.steals.is_empty();
        match &stmt.kind {
            StmtKind::Steal { .. } => self.found = self.found.or(Some(stmt.span)),
            StmtKind::Call { function, .. } if steals(*function) => {
                self.found = self.found.or(Some(stmt.span));
            }
            _ => walk_stmt(self, stmt),
        }
    }
}
