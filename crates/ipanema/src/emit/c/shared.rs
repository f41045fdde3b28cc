//! Which functions the BPF verifier should check once instead of at each call.
//!
//! The verifier walks through a loop several times, and through a function that is inlined once per
//! call, so that loops within loops multiply. A shared function costs a call when it runs.

use super::Unit;
use crate::ir::visit::{Visitor, walk_block, walk_expr, walk_iteration};
use crate::ir::{Block, Expr, ExprKind, Function, FunctionId, Iteration, LocalId, Over, Role};

/// Maximum number of parameters of a shared function besides the instance: BPF calls take five
/// arguments.
const MOST_PARAMETERS: usize = 4;

/// Maximum number of shared functions that call one another: the kernel allows eight frames, and the
/// runtime uses four before a handler starts.
const MOST_NESTED: u32 = 3;

impl Unit<'_> {
    pub fn is_shared(&self, id: FunctionId) -> bool {
        self.should_share(id) && self.nesting(id) <= MOST_NESTED
    }

    /// True if the function is pure, and is a phase, or has loops and is called more than once. The loops
    /// of functions that are shared do not count: the verifier does not walk through them.
    fn should_share(&self, id: FunctionId) -> bool {
        let function = self.policy.function(id);
        let worthwhile = match function.role {
            Role::Function => self.calls_of(id) > 1 && self.loops(id),
            // A steal calls its phases in loops.
            Role::Phase(_) => true,
            _ => false,
        };
        worthwhile
            && function.result.is_some()
            && function.effects.is_pure()
            && parameters(function).count() <= MOST_PARAMETERS
    }

    fn calls_of(&self, id: FunctionId) -> usize {
        self.policy.functions.iter().map(|function| Body::of(&function.body).calls_of(id)).sum()
    }

    fn loops(&self, id: FunctionId) -> bool {
        let body = Body::of(&self.policy.function(id).body);
        body.loops || body.calls.iter().any(|callee| !self.should_share(*callee) && self.loops(*callee))
    }

    /// True if the C function of `id` walks over a queue, itself or in a function that is inlined there.
    pub fn walks_queues(&self, id: FunctionId) -> bool {
        let body = Body::of(&self.policy.function(id).body);
        body.walks_queues
            || body.calls.iter().any(|callee| !self.is_shared(*callee) && self.walks_queues(*callee))
    }

    /// Number of functions on the longest chain of calls from `id` that should be shared.
    fn nesting(&self, id: FunctionId) -> u32 {
        let body = Body::of(&self.policy.function(id).body);
        let below = body.calls.iter().map(|callee| self.nesting(*callee)).max().unwrap_or(0);
        below + u32::from(self.should_share(id))
    }
}

/// Parameters of the C function besides the instance.
pub fn parameters(function: &Function) -> impl Iterator<Item = LocalId> + '_ {
    (0..function.arity).map(LocalId).filter(|param| super::body::takes(function, *param))
}

/// Calls in a body, with repetitions, and its loops.
#[derive(Default)]
struct Body {
    calls: Vec<FunctionId>,
    loops: bool,
    walks_queues: bool,
}

impl Body {
    fn of(block: &Block) -> Self {
        let mut body = Body::default();
        walk_block(&mut body, block);
        body
    }

    fn calls_of(&self, id: FunctionId) -> usize {
        self.calls.iter().filter(|callee| **callee == id).count()
    }
}

impl Visitor for Body {
    fn call(&mut self, function: FunctionId, _args: &[Expr]) {
        self.calls.push(function);
    }

    fn iteration(&mut self, iteration: &Iteration) {
        self.loops = true;
        self.walks_queues |= matches!(iteration.over, Over::Threads { .. });
        walk_iteration(self, iteration);
    }

    /// The words of a set are a loop.
    fn expr(&mut self, expr: &Expr) {
        self.loops |= matches!(expr.kind, ExprKind::Count(_) | ExprKind::Empty(_));
        walk_expr(self, expr);
    }
}
