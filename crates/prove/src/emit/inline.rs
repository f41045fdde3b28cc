//! Pure functions as terms: their bodies with the arguments substituted.

use super::term::{Terms, cases};
use super::unit::Scope;
use crate::whyml::{Why, conditional, either};
use hearth_ipanema::ir::{Expr, FunctionId, LocalId, Stmt, StmtKind, Target};
use std::collections::HashSet;

impl Terms<'_, '_> {
    /// The value of a call. An argument without a term is `None`.
    pub fn inline(&mut self, id: FunctionId, args: Vec<Option<Why>>) -> Why {
        let function = self.unit.policy.function(id);
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

/// True if an expression has no translation to a term: it has effects or searches for a core, directly or in a call.
pub fn needs_program(terms_of: &hearth_ipanema::ir::Policy, e: &Expr) -> bool {
    use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_expr, walk_stmt};
    use hearth_ipanema::ir::{Effect, ExprKind, Policy, SearchKind};
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
