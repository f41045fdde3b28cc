//! Whether a policy reads what the kernel knows of an event. If it does not, the runtime does not ask.

use super::visit::{Visitor, walk_block, walk_expr};
use super::{Expr, ExprKind, Policy};

pub fn reads_facts(policy: &Policy) -> bool {
    let mut reads = Reads(false);
    policy.functions.iter().for_each(|function| walk_block(&mut reads, &function.body));
    reads.0
}

struct Reads(bool);

impl Visitor for Reads {
    fn expr(&mut self, e: &Expr) {
        self.0 |= matches!(e.kind, ExprKind::Fact(_));
        walk_expr(self, e);
    }
}
