//! Runs a policy's code: the same intermediate representation from which C is emitted.
//!
//! Every value is a number, as in C: truth is 0 or 1, a core or thread its number, none is -1, a
//! set its bits, a domain a `DomainId`. Whatever is shared goes through [`Env::access`]; a handler
//! that has made its step stops there with [`Stop::Suspended`].

mod expr;
mod search;
mod steal;
mod stmt;

use hearth_ipanema::ir::{Block, FunctionId, LocalId, Policy, QueueId};

use crate::env::{Env, Stop};

/// How a statement ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flow {
    Next,
    Break,
    Continue,
    /// With the result, if there is one.
    Return(i64),
    /// A thread made its transition: the handler is over.
    Moved,
}

type Value = Result<i64, Stop>;

/// The code that it runs lives for `'x`.
pub struct Interp<'e, 'a, 'x> {
    env: &'e mut Env<'a>,
    policy: &'x Policy,
    /// Those of all calls under way; the innermost from `base` on.
    locals: Vec<i64>,
    base: usize,
    /// The last transition happened: nobody had been faster.
    moved: bool,
    /// Where the steal that is about to move a thread found it.
    from: Option<(u8, QueueId)>,
}

/// Runs a handler as far as it may go: `Ok` at its end.
pub fn run(env: &mut Env<'_>, handler: FunctionId, args: &[i64]) -> Result<(), Stop> {
    Interp::new(env).call(handler, args).map(|_| ())
}

/// The value of an expression without local variables.
pub fn closed(env: &mut Env<'_>, expr: &hearth_ipanema::ir::Expr) -> Value {
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

    /// Calls a function for its result.
    fn result(&mut self, function: FunctionId, args: &[i64]) -> Value {
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
