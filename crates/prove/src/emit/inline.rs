//! Pure functions as terms: their bodies with the arguments substituted.

use super::term::{Terms, cases};
use super::unit::Scope;
use crate::whyml::{Why, conditional, either};
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_expr, walk_stmt};
use hearth_ipanema::ir::{
    Effect, Expr, ExprKind, FunctionId, LocalId, Policy, SearchKind, Stmt, StmtKind, Target,
};
use std::collections::{HashMap, HashSet};

/// Most steps of the translation of a call: each way through a body is translated by itself.
const MOST_STEPS: u64 = 200_000;
/// Most parts of a term that stands for a local: each use of the local repeats it.
const MOST_PARTS: usize = 10_000;

impl Terms<'_, '_> {
    /// The value of a call. An argument without a term is `None`. A function that is too long for a term has an unknown
    /// value, so that nothing that depends on it is proved.
    pub fn inline(&mut self, id: FunctionId, args: Vec<Option<Why>>) -> Why {
        let function = self.unit.policy.function(id);
        let mut steps = Steps { policy: self.unit.policy, known: HashMap::new() };
        if steps.of(id) > MOST_STEPS || args.iter().flatten().any(is_large) {
            return function.result.map_or(Why::Text("()"), |ty| self.unknown(ty));
        }
        let mut scope = Scope::new(function);
        for (i, arg) in args.into_iter().enumerate() {
            if let Some(arg) = arg {
                scope.bind(LocalId(i as u32), arg);
            }
        }
        let body: Vec<&Stmt> = function.body.iter().collect();
        let value = self.returned(&mut scope, &body);
        value.or_else(|| Some(self.unknown(function.result?))).unwrap_or(Why::Text("()"))
    }

    /// The value that a body returns; `None` if the body has no translation to a term.
    fn returned(&mut self, scope: &mut Scope, body: &[&Stmt]) -> Option<Why> {
        let (first, rest) = body.split_first()?;
        match &first.kind {
            StmtKind::Let { local, value } | StmtKind::Assign { target: Target::Local(local), value } => {
                let value = self.expr(scope, value);
                if is_large(&value) {
                    return None;
                }
                scope.bind(*local, value);
                self.returned(scope, rest)
            }
            StmtKind::Return(Some(value)) => Some(self.expr(scope, value)),
            StmtKind::If { test, then, otherwise } => {
                let test = self.expr(scope, test);
                let yes = self.returned(&mut scope.clone(), &joined(then, rest))?;
                let no = self.returned(&mut scope.clone(), &joined(otherwise, rest))?;
                Some(conditional(test, yes, no))
            }
            StmtKind::IfSome { local, value, then, otherwise } => {
                let x = self.unit.fresh(&scope.function.local(*local).name);
                let optional = self.expr(scope, value);
                let mut inner = scope.clone();
                inner.bind(*local, x.clone());
                let yes = self.returned(&mut inner, &joined(then, rest))?;
                let no = self.returned(&mut scope.clone(), &joined(otherwise, rest))?;
                let (some, none) = cases(value.ty);
                Some(either(optional, (format!("{some} {x}"), yes), (none, no)))
            }
            StmtKind::Block(block) => self.returned(scope, &joined(block, rest)),
            _ => None,
        }
    }
}

fn joined<'s>(block: &'s [Stmt], rest: &[&'s Stmt]) -> Vec<&'s Stmt> {
    block.iter().chain(rest.iter().copied()).collect()
}

fn is_large(term: &Why) -> bool {
    let mut parts = 0;
    term.any(&mut |_| {
        parts += 1;
        parts > MOST_PARTS
    })
}

/// Counts the steps that [`Terms::inline`] takes, without taking them.
struct Steps<'p> {
    policy: &'p Policy,
    known: HashMap<FunctionId, u64>,
}

impl Steps<'_> {
    fn of(&mut self, id: FunctionId) -> u64 {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let steps = self.block(&self.policy.function(id).body, 0);
        self.known.insert(id, steps);
        steps
    }

    /// The steps of a block and of what follows it, which takes `rest`.
    fn block(&mut self, block: &[Stmt], rest: u64) -> u64 {
        block.iter().rev().fold(rest, |rest, stmt| self.stmt(stmt, rest))
    }

    fn stmt(&mut self, stmt: &Stmt, rest: u64) -> u64 {
        match &stmt.kind {
            StmtKind::Let { value, .. } | StmtKind::Assign { target: Target::Local(_), value } => {
                self.expr(value).saturating_add(rest)
            }
            StmtKind::Return(Some(value)) => self.expr(value),
            StmtKind::If { test: first, then, otherwise }
            | StmtKind::IfSome { value: first, then, otherwise, .. } => {
                let ways = self.block(then, rest).saturating_add(self.block(otherwise, rest));
                self.expr(first).saturating_add(ways)
            }
            StmtKind::Block(block) => self.block(block, rest),
            _ => 1,
        }
    }

    fn expr(&mut self, e: &Expr) -> u64 {
        let mut count = Count { of: self, steps: 0 };
        count.expr(e);
        count.steps
    }
}

/// Counts the parts of an expression and the steps of its calls.
struct Count<'s, 'p> {
    of: &'s mut Steps<'p>,
    steps: u64,
}

impl Visitor for Count<'_, '_> {
    fn expr(&mut self, e: &Expr) {
        self.steps = self.steps.saturating_add(1);
        walk_expr(self, e);
    }
    fn call(&mut self, function: FunctionId, _args: &[Expr]) {
        self.steps = self.steps.saturating_add(self.of.of(function));
    }
}

/// True if an expression has no translation to a term: it has effects or searches for a core, directly or in a call.
pub fn needs_program(terms_of: &Policy, e: &Expr) -> bool {
    struct Needs<'p> {
        policy: &'p Policy,
        seen: HashSet<FunctionId>,
        found: bool,
    }
    impl Visitor for Needs<'_> {
        fn stmt(&mut self, stmt: &Stmt) {
            self.found |= matches!(stmt.kind, StmtKind::For { .. } | StmtKind::Transition { .. });
            walk_stmt(self, stmt);
        }
        fn effect(&mut self, _effect: &Effect) {
            self.found = true;
        }
        fn expr(&mut self, e: &Expr) {
            if let ExprKind::Search(search) = &e.kind {
                self.found |= matches!(search.kind, SearchKind::First | SearchKind::Extreme { .. });
            }
            walk_expr(self, e);
        }
        fn call(&mut self, function: FunctionId, _args: &[Expr]) {
            if self.seen.insert(function) {
                walk_block(self, &self.policy.function(function).body);
            }
        }
    }
    let mut needs = Needs { policy: terms_of, seen: HashSet::new(), found: false };
    needs.expr(e);
    needs.found
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_ipanema::syntax::Source;
    use hearth_ipanema::{builtin, compile};

    #[test]
    fn built_in_policies_are_far_below_the_limit() {
        let provider = |name: &str| {
            let text = builtin::source(name)?.into_owned();
            Some(Source { name: format!("{name}.ipa"), text })
        };
        for name in builtin::NAMES {
            let policy = compile(&provider, name).unwrap().ir;
            let mut steps = Steps { policy: &policy, known: HashMap::new() };
            for id in (0..policy.functions.len() as u32).map(FunctionId) {
                let steps = steps.of(id);
                assert!(10 * steps < MOST_STEPS, "{name}: {}: {steps}", policy.function(id).name);
            }
        }
    }
}
