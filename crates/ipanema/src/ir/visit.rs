//! Visitor for all nodes of a body, in evaluation order.

use super::{
    Block, Effect, Expr, ExprKind, FunctionId, Iteration, Over, SearchKind, State, Stmt, StmtKind, Target,
};

/// Override the methods of interest, and call the matching `walk` function to descend.
pub trait Visitor {
    fn stmt(&mut self, stmt: &Stmt) {
        walk_stmt(self, stmt);
    }

    fn expr(&mut self, expr: &Expr) {
        walk_expr(self, expr);
    }

    fn effect(&mut self, effect: &Effect) {
        walk_effect(self, effect);
    }

    fn iteration(&mut self, iteration: &Iteration) {
        walk_iteration(self, iteration);
    }

    /// Called for each call, in a statement or an expression, before its arguments.
    fn call(&mut self, _function: FunctionId, _args: &[Expr]) {}
}

pub fn walk_block<V: Visitor + ?Sized>(visitor: &mut V, block: &Block) {
    for stmt in block {
        visitor.stmt(stmt);
    }
}

pub fn walk_stmt<V: Visitor + ?Sized>(visitor: &mut V, stmt: &Stmt) {
    match &stmt.kind {
        StmtKind::Let { value, .. } => visitor.expr(value),
        StmtKind::Assign { target, value } => {
            match target {
                Target::Local(_) | Target::Set(_) | Target::Global(_) => {}
                Target::Thread { thread: object, .. } | Target::Core { core: object, .. } => {
                    visitor.expr(object);
                }
            }
            visitor.expr(value);
        }
        StmtKind::If { test, then, otherwise } => {
            visitor.expr(test);
            walk_block(visitor, then);
            walk_block(visitor, otherwise);
        }
        StmtKind::IfSome { value, then, otherwise, .. } => {
            visitor.expr(value);
            walk_block(visitor, then);
            walk_block(visitor, otherwise);
        }
        StmtKind::For { iteration, body } => {
            visitor.iteration(iteration);
            walk_block(visitor, body);
        }
        StmtKind::Break | StmtKind::Continue | StmtKind::Return(None) => {}
        StmtKind::Return(Some(value)) => visitor.expr(value),
        StmtKind::Transition { thread, to, .. } => {
            visitor.expr(thread);
            if let State::Ready { core, .. } = to {
                visitor.expr(core);
            }
        }
        StmtKind::Call { function, args } => {
            visitor.call(*function, args);
            for arg in args {
                visitor.expr(arg);
            }
        }
        StmtKind::Effect(effect) => visitor.effect(effect),
        StmtKind::Steal { thief, victims, .. } => {
            visitor.expr(thief);
            visitor.expr(victims);
        }
        StmtKind::Block(block) => walk_block(visitor, block),
    }
}

pub fn walk_effect<V: Visitor + ?Sized>(visitor: &mut V, effect: &Effect) {
    match effect {
        Effect::Add { core, .. } | Effect::Remove { core, .. } => visitor.expr(core),
        Effect::Claim(core) | Effect::Release(core) | Effect::Preempt(core) => visitor.expr(core),
        Effect::Cancel(thread) => visitor.expr(thread),
        Effect::Arm { thread, after } => {
            visitor.expr(thread);
            visitor.expr(after);
        }
        Effect::KeepWarm { core, time } => {
            visitor.expr(core);
            visitor.expr(time);
        }
    }
}

pub fn walk_iteration<V: Visitor + ?Sized>(visitor: &mut V, iteration: &Iteration) {
    match &iteration.over {
        Over::Cores(set) => visitor.expr(set),
        Over::Threads { core, .. } => visitor.expr(core),
        Over::Groups { domain, .. } => visitor.expr(domain),
    }
    if let Some(order) = &iteration.order {
        visitor.expr(&order.origin);
    }
    if let Some(limit) = &iteration.limit {
        visitor.expr(limit);
    }
}

pub fn walk_expr<V: Visitor + ?Sized>(visitor: &mut V, expr: &Expr) {
    use ExprKind as E;
    match &expr.kind {
        E::Bool(_) | E::Number(_) | E::None | E::Local(_) | E::Param(_) | E::Set(_) => {}
        E::Global(_) | E::Now | E::Fact(_) | E::Kept(_) | E::Machine => {}
        E::Some(inner)
        | E::Thread { thread: inner, .. }
        | E::Core { core: inner, .. }
        | E::ThreadField { thread: inner, .. }
        | E::CoreField { core: inner, .. }
        | E::DomainOf { core: inner, .. }
        | E::CoresOf(inner)
        | E::Count(inner)
        | E::Empty(inner)
        | E::Not(inner)
        | E::Neg(inner) => visitor.expr(inner),
        E::Call { function, args } => {
            visitor.call(*function, args);
            for arg in args {
                visitor.expr(arg);
            }
        }
        E::Effect(effect) => visitor.effect(effect),
        E::Decay { value, time, half_life } => {
            visitor.expr(value);
            visitor.expr(time);
            visitor.expr(half_life);
        }
        E::Pick { left, right, .. }
        | E::Logic { left, right, .. }
        | E::Compare { left, right, .. }
        | E::In { core: left, set: right }
        | E::Arithmetic { left, right, .. }
        | E::SetOp { left, right, .. }
        | E::Default { optional: left, default: right } => {
            visitor.expr(left);
            visitor.expr(right);
        }
        E::Conditional { test, then, otherwise } => {
            visitor.expr(test);
            visitor.expr(then);
            visitor.expr(otherwise);
        }
        E::Search(search) => {
            visitor.iteration(&search.iteration);
            if let Some(filter) = &search.filter {
                visitor.expr(filter);
            }
            match &search.kind {
                SearchKind::First | SearchKind::Any => {}
                SearchKind::Extreme { by, .. } => {
                    for key in by {
                        visitor.expr(key);
                    }
                }
                SearchKind::Sum { of } => visitor.expr(of),
            }
        }
    }
}

/// Direct calls of a function.
pub struct Calls {
    pub functions: Vec<FunctionId>,
    pub steals: Vec<super::StealId>,
    /// True if it makes a thread ready, which calls the handler of `enqueue`.
    pub enqueues: bool,
}

impl Calls {
    pub fn of(body: &Block) -> Calls {
        let mut calls = Calls { functions: Vec::new(), steals: Vec::new(), enqueues: false };
        walk_block(&mut calls, body);
        calls
    }
}

impl Visitor for Calls {
    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Steal { steal, .. } => self.steals.push(*steal),
            StmtKind::Transition { to: State::Ready { .. }, .. } => self.enqueues = true,
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn call(&mut self, function: FunctionId, _args: &[Expr]) {
        self.functions.push(function);
    }
}
