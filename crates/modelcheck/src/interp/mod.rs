//! An interpreter of the policy's IR, from which C is emitted too.
//!
//! Every value is a number, as in C: a truth value is 0 or 1, a core or thread its number, none is -1, a
//! set its bits, a domain a `DomainId`. All accesses to shared state go through [`Env::access`], which returns
//! [`Stop::Suspended`] when the budget is used up.

mod expr;
mod search;
mod steal;
mod stmt;

use hearth_ipanema::ir::{Block, FunctionId, LocalId, Policy, QueueId};

use crate::env::{Env, Stop};

/// How control continues after a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flow {
    Next,
    Break,
    Continue,
    /// With the result, or 0.
    Return(i64),
    /// A transition ends the handler.
    Moved,
}

type Value = Result<i64, Stop>;

/// The IR lives for `'x`.
pub struct Interp<'e, 'a, 'x> {
    env: &'e mut Env<'a>,
    policy: &'x Policy,
    /// The local variables of all calls on the stack. Those of the innermost call start at `base`.
    locals: Vec<i64>,
    base: usize,
    /// Whether the last transition succeeded: no other core had taken the thread.
    moved: bool,
    /// During the move of a steal, where it found the thread.
    from: Option<(u8, QueueId)>,
}

/// Runs a handler as far as the budget allows. `Ok` means that it ended.
pub fn run(env: &mut Env<'_>, handler: FunctionId, args: &[i64]) -> Result<(), Stop> {
    Interp::new(env).call(handler, args).map(|_| ())
}

/// Evaluates an expression without local variables.
pub fn evaluate(env: &mut Env<'_>, expr: &hearth_ipanema::ir::Expr) -> Value {
    Interp::new(env).expr(expr)
}

impl<'e, 'a: 'x, 'x> Interp<'e, 'a, 'x> {
    fn new(env: &'e mut Env<'a>) -> Interp<'e, 'a, 'x> {
        let policy = env.model.policy;
        Interp { env, policy, locals: Vec::with_capacity(64), base: 0, moved: false, from: None }
    }
}

impl<'x> Interp<'_, '_, 'x> {
    fn local(&mut self, id: LocalId) -> &mut i64 {
        &mut self.locals[self.base + id.index()]
    }

    fn call(&mut self, function: FunctionId, args: &[i64]) -> Result<Flow, Stop> {
        let policy = self.policy;
        let function = policy.function(function);
        let outer = std::mem::replace(&mut self.base, self.locals.len());
        self.locals.extend(args);
        self.locals.resize(self.base + function.locals.len(), 0);
        let flow = self.block(&function.body);
        self.locals.truncate(self.base);
        self.base = outer;
        flow
    }

    /// Calls a function and returns its result, 0 if it has none.
    fn call_value(&mut self, function: FunctionId, args: &[i64]) -> Value {
        match self.call(function, args)? {
            Flow::Return(value) => Ok(value),
            _ => Ok(0),
        }
    }

    fn block(&mut self, block: &'x Block) -> Result<Flow, Stop> {
        for stmt in block {
            match self.stmt(stmt)? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }
}
