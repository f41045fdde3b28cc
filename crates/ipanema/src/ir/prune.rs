//! Removes functions and steals that no event and no invariant reaches, and renumbers the others.

use super::visit::Calls;
use super::{Block, Expr, ExprKind, FunctionId, Policy, Role, SearchKind, Steal, StealId, Stmt};
use super::{Effect, Iteration, Over, State, StmtKind, Target};

/// Functions and steals that handlers and invariants reach.
pub fn reachable(policy: &Policy) -> (Vec<bool>, Vec<bool>) {
    let mut functions = vec![false; policy.functions.len()];
    let mut steals = vec![false; policy.steals.len()];
    let mut todo: Vec<FunctionId> = policy.handlers.iter().map(|h| h.function).collect();
    todo.extend(&policy.invariants);
    while let Some(id) = todo.pop() {
        if std::mem::replace(&mut functions[id.index()], true) {
            continue;
        }
        let calls = Calls::of(&policy.function(id).body);
        todo.extend(calls.functions);
        for steal in calls.steals {
            if !std::mem::replace(&mut steals[steal.index()], true) {
                todo.extend(policy.steals[steal.index()].phases());
            }
        }
    }
    (functions, steals)
}

impl Steal {
    /// All functions of the steal.
    pub fn phases(&self) -> Vec<FunctionId> {
        let mut phases = vec![self.can_steal_core];
        phases.extend(self.select.iter().flat_map(|select| &select.by));
        phases.extend([self.steal_thread, self.stop_core, self.stop].into_iter().flatten());
        phases.push(self.move_thread);
        phases
    }

    fn phases_mut(&mut self) -> Vec<&mut FunctionId> {
        let mut phases = vec![&mut self.can_steal_core];
        phases.extend(self.select.iter_mut().flat_map(|select| &mut select.by));
        phases.extend([&mut self.steal_thread, &mut self.stop_core, &mut self.stop].into_iter().flatten());
        phases.push(&mut self.move_thread);
        phases
    }
}

pub fn prune(policy: &mut Policy) {
    let (functions, steals) = reachable(policy);
    let rename = Rename { functions: numbers(&functions), steals: numbers(&steals) };
    keep(&mut policy.functions, &functions);
    keep(&mut policy.steals, &steals);
    for function in &mut policy.functions {
        if let Role::Phase(steal) = &mut function.role {
            rename.steal(steal);
        }
        rename.block(&mut function.body);
        function.effects.steals =
            function.effects.steals.iter().map(|s| rename.steals[s.index()]).map(StealId).collect();
    }
    for steal in &mut policy.steals {
        for phase in steal.phases_mut() {
            rename.function(phase);
        }
    }
    for handler in &mut policy.handlers {
        rename.function(&mut handler.function);
    }
    for invariant in &mut policy.invariants {
        rename.function(invariant);
    }
}

fn numbers(kept: &[bool]) -> Vec<u32> {
    let mut next = 0;
    kept.iter()
        .map(|&kept| {
            next += u32::from(kept);
            next.saturating_sub(1)
        })
        .collect()
}

fn keep<T>(list: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    list.retain(|_| kept.next().copied().unwrap_or(false));
}

/// New numbers of the functions and steals that are kept.
struct Rename {
    functions: Vec<u32>,
    steals: Vec<u32>,
}

impl Rename {
    fn function(&self, id: &mut FunctionId) {
        id.0 = self.functions[id.index()];
    }

    fn steal(&self, id: &mut StealId) {
        id.0 = self.steals[id.index()];
    }

    fn block(&self, block: &mut Block) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    fn stmt(&self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Let { value, .. } => self.expr(value),
            StmtKind::Assign { target, value } => {
                if let Target::Thread { thread: object, .. } | Target::Core { core: object, .. } = target {
                    self.expr(object);
                }
                self.expr(value);
            }
            StmtKind::If { test: value, then, otherwise }
            | StmtKind::IfSome { value, then, otherwise, .. } => {
                self.expr(value);
                self.block(then);
                self.block(otherwise);
            }
            StmtKind::For { iteration, body } => {
                self.iteration(iteration);
                self.block(body);
            }
            StmtKind::Break | StmtKind::Continue | StmtKind::Return(None) => {}
            StmtKind::Return(Some(value)) => self.expr(value),
            StmtKind::Transition { thread, to, .. } => {
                self.expr(thread);
                if let State::Ready { core, .. } = to {
                    self.expr(core);
                }
            }
            StmtKind::Call { function, args } => {
                self.function(function);
                args.iter_mut().for_each(|arg| self.expr(arg));
            }
            StmtKind::Effect(effect) => self.effect(effect),
            StmtKind::Steal { steal, thief, victims } => {
                self.steal(steal);
                self.expr(thief);
                self.expr(victims);
            }
            StmtKind::Block(block) => self.block(block),
        }
    }

    fn effect(&self, effect: &mut Effect) {
        match effect {
            Effect::Add { core: e, .. }
            | Effect::Remove { core: e, .. }
            | Effect::Claim(e)
            | Effect::Release(e)
            | Effect::Preempt(e)
            | Effect::Cancel(e) => self.expr(e),
            Effect::Arm { thread: a, after: b } | Effect::KeepWarm { core: a, time: b } => {
                self.expr(a);
                self.expr(b);
            }
        }
    }

    fn iteration(&self, iteration: &mut Iteration) {
        match &mut iteration.over {
            Over::Cores(e) | Over::Threads { core: e, .. } | Over::Groups { domain: e, .. } => {
                self.expr(e);
            }
        }
        if let Some(order) = &mut iteration.order {
            self.expr(&mut order.origin);
        }
        if let Some(limit) = &mut iteration.limit {
            self.expr(limit);
        }
    }

    fn expr(&self, expr: &mut Expr) {
        use ExprKind as E;
        match &mut expr.kind {
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
            | E::Neg(inner) => self.expr(inner),
            E::Call { function, args } => {
                self.function(function);
                args.iter_mut().for_each(|arg| self.expr(arg));
            }
            E::Effect(effect) => self.effect(effect),
            E::Decay { value: a, time: b, half_life: c }
            | E::Conditional { test: a, then: b, otherwise: c } => {
                self.expr(a);
                self.expr(b);
                self.expr(c);
            }
            E::Pick { left, right, .. }
            | E::Logic { left, right, .. }
            | E::Compare { left, right, .. }
            | E::In { core: left, set: right }
            | E::Arithmetic { left, right, .. }
            | E::SetOp { left, right, .. }
            | E::Default { optional: left, default: right } => {
                self.expr(left);
                self.expr(right);
            }
            E::Search(search) => {
                self.iteration(&mut search.iteration);
                if let Some(filter) = &mut search.filter {
                    self.expr(filter);
                }
                match &mut search.kind {
                    SearchKind::First | SearchKind::Any => {}
                    SearchKind::Extreme { by, .. } => by.iter_mut().for_each(|k| self.expr(k)),
                    SearchKind::Sum { of } => self.expr(of),
                }
            }
        }
    }
}
