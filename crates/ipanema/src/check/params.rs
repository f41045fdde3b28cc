//! Warns about parameters that a policy declares but does not use.

use crate::codes::UNUSED_PARAM;
use crate::diagnostic::Diagnostic;
use crate::ir::visit::{Visitor, walk_block, walk_expr};
use crate::ir::{Expr, ExprKind, Policy, reachable};

pub fn check(policy: &Policy, diagnostics: &mut Vec<Diagnostic>) {
    let mut used = Used(vec![false; policy.params.len()]);
    for capacity in policy.sets.iter().filter_map(|set| set.capacity.as_ref()) {
        used.expr(capacity);
    }
    let (functions, _) = reachable(policy);
    for (function, _) in policy.functions.iter().zip(functions).filter(|(_, reached)| *reached) {
        walk_block(&mut used, &function.body);
    }
    for (param, used) in policy.params.iter().zip(used.0) {
        // An override may remove the only use of a base's parameter.
        if !used && param.at.policy == policy.name {
            let message = format!("parameter `{}` has no effect", param.name);
            diagnostics.push(
                Diagnostic::warning(UNUSED_PARAM, param.at.span, message)
                    .help("no code that an event reaches uses it"),
            );
        }
    }
}

struct Used(Vec<bool>);

impl Visitor for Used {
    fn expr(&mut self, expr: &Expr) {
        if let ExprKind::Param(id) = expr.kind {
            self.0[id.index()] = true;
        }
        walk_expr(self, expr);
    }
}
