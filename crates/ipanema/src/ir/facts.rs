//! Which facts of an event a policy reads. The runtime asks the kernel for no others.

use super::visit::{Visitor, walk_block, walk_expr};
use super::{Expr, ExprKind, Fact, Policy};

/// The facts that a handler of the policy reads, in the order of `runtime/saakm.h`.
pub fn facts_read(policy: &Policy) -> Vec<Fact> {
    let mut reads = Reads(Vec::new());
    policy.functions.iter().for_each(|function| walk_block(&mut reads, &function.body));
    [Fact::WakerExits, Fact::WakerSleeps].into_iter().filter(|fact| reads.0.contains(fact)).collect()
}

struct Reads(Vec<Fact>);

impl Visitor for Reads {
    fn expr(&mut self, e: &Expr) {
        if let ExprKind::Fact(fact) = e.kind {
            self.0.push(fact);
        }
        walk_expr(self, e);
    }
}
