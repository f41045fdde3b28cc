//! Which functions the BPF verifier should check once instead of at each call.
//!
//! The verifier walks through a loop several times, and through a function that is inlined once per
//! call, so that loops within loops multiply. A shared function costs a call when it runs.

use super::Unit;
use crate::ir::visit::{Visitor, walk_block, walk_expr, walk_iteration};
use crate::ir::{Block, Expr, ExprKind, Function, FunctionId, Iteration, LocalId, Over, Policy, Role};

/// Maximum number of parameters of a shared function besides the instance: BPF calls take five
/// arguments.
const MOST_PARAMETERS: usize = 4;

/// Maximum number of shared functions that call one another: the kernel allows eight frames, and the
/// runtime uses four before a handler starts.
const MOST_NESTED: u32 = 3;

/// What the emitter has to know of all calls. It is computed once, callees first: a function that calls another one twice,
/// which calls a third one twice, would else be looked at four times.
pub struct Calls {
    shared: Vec<bool>,
    walks_queues: Vec<bool>,
}

impl Calls {
    pub fn of(policy: &Policy) -> Calls {
        let bodies: Vec<Body> = policy.functions.iter().map(|function| Body::of(&function.body)).collect();
        let mut calls = vec![0_usize; bodies.len()];
        bodies.iter().flat_map(|body| &body.calls).for_each(|callee| calls[callee.0 as usize] += 1);
        let count = bodies.len();
        let (mut should, mut loops, mut nesting) = (vec![false; count], vec![false; count], vec![0; count]);
        let (mut shared, mut walks_queues) = (vec![false; count], vec![false; count]);
        for id in callees_first(&bodies) {
            let (function, body) = (&policy.functions[id], &bodies[id]);
            let callees = || body.calls.iter().map(|callee| callee.0 as usize);
            // The verifier does not walk through the loops of functions that are shared.
            loops[id] = body.loops || callees().any(|callee| !should[callee] && loops[callee]);
            should[id] = should_share(function, calls[id], loops[id]);
            nesting[id] = callees().map(|callee| nesting[callee]).max().unwrap_or(0) + u32::from(should[id]);
            shared[id] = should[id] && nesting[id] <= MOST_NESTED;
            walks_queues[id] =
                body.walks_queues || callees().any(|callee| !shared[callee] && walks_queues[callee]);
        }
        Calls { shared, walks_queues }
    }
}

/// All functions, each after those that it calls. The language has no recursion.
fn callees_first(bodies: &[Body]) -> Vec<usize> {
    let (mut order, mut seen) = (Vec::with_capacity(bodies.len()), vec![false; bodies.len()]);
    for root in 0..bodies.len() {
        let mut open = vec![(root, 0)];
        while let Some((id, next)) = open.pop() {
            if next == 0 && std::mem::replace(&mut seen[id], true) {
                continue;
            }
            match bodies[id].calls.get(next) {
                Some(callee) => open.extend([(id, next + 1), (callee.0 as usize, 0)]),
                None => order.push(id),
            }
        }
    }
    order
}

/// True if the function is pure, and is a phase, or has loops and is called more than once.
fn should_share(function: &Function, calls: usize, loops: bool) -> bool {
    let worthwhile = match function.role {
        Role::Function => calls > 1 && loops,
        // A steal calls its phases in loops.
        Role::Phase(_) => true,
        _ => false,
    };
    worthwhile
        && function.result.is_some()
        && function.effects.is_pure()
        && parameters(function).count() <= MOST_PARAMETERS
}

impl Unit<'_> {
    pub fn is_shared(&self, id: FunctionId) -> bool {
        self.calls.shared[id.0 as usize]
    }

    /// True if the C function of `id` walks over a queue, itself or in a function that is inlined there.
    pub fn walks_queues(&self, id: FunctionId) -> bool {
        self.calls.walks_queues[id.0 as usize]
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
    /// The next iteration only looks at the first thread of a queue.
    peeks: bool,
}

impl Body {
    fn of(block: &Block) -> Self {
        let mut body = Body::default();
        walk_block(&mut body, block);
        body
    }
}

impl Visitor for Body {
    fn call(&mut self, function: FunctionId, _args: &[Expr]) {
        self.calls.push(function);
    }

    fn iteration(&mut self, iteration: &Iteration) {
        self.loops = true;
        let peeks = std::mem::take(&mut self.peeks);
        self.walks_queues |= !peeks && matches!(iteration.over, Over::Threads { .. });
        walk_iteration(self, iteration);
    }

    /// The words of a set are a loop.
    fn expr(&mut self, expr: &Expr) {
        self.loops |= matches!(expr.kind, ExprKind::Count(_) | ExprKind::Empty(_));
        self.peeks = matches!(&expr.kind, ExprKind::Search(search) if search.first_in_queue().is_some());
        walk_expr(self, expr);
    }
}
