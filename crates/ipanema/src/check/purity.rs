//! Rejects effects where the order of evaluation is unspecified: in keys and filters of searches
//! that evaluate every element, in invariants, and in the phases of a steal that must be pure.

use crate::codes::HIDDEN_EFFECT;
use crate::diagnostic::Diagnostic;
use crate::ir::effects::is_pure;
use crate::ir::visit::{Visitor, walk_block, walk_expr};
use crate::ir::{Expr, ExprKind, Policy, Search, SearchKind};

pub fn check(policy: &Policy, diagnostics: &mut Vec<Diagnostic>) {
    for function in &policy.functions {
        let mut searches = Searches { policy, diagnostics };
        walk_block(&mut searches, &function.body);
    }
    for &invariant in &policy.invariants {
        let invariant = policy.function(invariant);
        if !invariant.effects.is_pure() {
            let message = format!("invariant `{}` has an effect", invariant.name);
            diagnostics.push(
                Diagnostic::error(HIDDEN_EFFECT, invariant.at.span, message)
                    .help("an invariant must only state a condition"),
            );
        }
    }
    for steal in &policy.steals {
        for phase in steal.phases().into_iter().filter(|&phase| phase != steal.move_thread) {
            let phase = policy.function(phase);
            if !phase.effects.is_pure() {
                let message = format!("`{}` has an effect", phase.name);
                diagnostics.push(
                    Diagnostic::error(HIDDEN_EFFECT, phase.at.span, message)
                        .help("this phase may run any number of times; make changes in `move`"),
                );
            }
        }
    }
}

struct Searches<'p, 'd> {
    policy: &'p Policy,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl Searches<'_, '_> {
    fn search(&mut self, search: &Search) {
        let (keys, filter): (&[Expr], _) = match &search.kind {
            // Elements are tried in order until one matches.
            SearchKind::First | SearchKind::Any => return,
            SearchKind::Extreme { by, .. } => (by, search.filter.as_ref()),
            SearchKind::Sum { of } => (std::slice::from_ref(of), search.filter.as_ref()),
        };
        for expr in keys.iter().chain(filter) {
            if !is_pure(self.policy, expr) {
                let message = "a search that compares elements must not have effects";
                self.diagnostics.push(
                    Diagnostic::error(HIDDEN_EFFECT, expr.span, message)
                        .help("search first, then change the result"),
                );
            }
        }
    }
}

impl Visitor for Searches<'_, '_> {
    fn expr(&mut self, expr: &Expr) {
        if let ExprKind::Search(search) = &expr.kind {
            self.search(search);
        }
        walk_expr(self, expr);
    }
}
