//! From which times a thread's attribute is computed.

use super::names;
use super::running::holds_runtime;
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_expr, walk_stmt};
use hearth_ipanema::ir::{
    AttributeId, BaseType, Expr, ExprKind, FunctionId, LocalId, Owner, Policy, Stmt, StmtKind, Target,
};
use std::collections::BTreeSet;

/// A time attribute: its owner, its number and its term.
#[derive(Clone, Debug)]
pub struct Source {
    pub owner: Owner,
    pub id: AttributeId,
    pub term: String,
}

/// The times whose values some function assigns to the key, or to another of them, by way of local variables, arguments
/// and results. Conditions choose among values and do not count. Without the key, and without attributes that only ever
/// hold the thread's runtime, which are no larger than that.
pub fn sources(policy: &Policy, key: AttributeId) -> Vec<Source> {
    let key = (Owner::Thread, key);
    let mut flow =
        Flow { policy, at: FunctionId(0), attributes: BTreeSet::from([key]), values: BTreeSet::new() };
    loop {
        let before = (flow.attributes.len(), flow.values.len());
        for id in (0..policy.functions.len() as u32).map(FunctionId) {
            flow.at = id;
            walk_block(&mut flow, &policy.function(id).body);
        }
        if before == (flow.attributes.len(), flow.values.len()) {
            break;
        }
    }
    let is_source = |(owner, id): &(Owner, AttributeId)| {
        (*owner, *id) != key && !(*owner == Owner::Thread && holds_runtime(policy, *id))
    };
    let source =
        |(owner, id)| Source { owner, id, term: names::attribute(owner, &policy.attribute(owner, id).name) };
    flow.attributes.into_iter().filter(is_source).map(source).collect()
}

/// Walks a function and collects what flows into the key.
struct Flow<'p> {
    policy: &'p Policy,
    /// The function.
    at: FunctionId,
    attributes: BTreeSet<(Owner, AttributeId)>,
    /// Local variables of functions, and their results.
    values: BTreeSet<(FunctionId, Option<LocalId>)>,
}

impl Flow<'_> {
    fn wants(&self, local: Option<LocalId>) -> bool {
        self.values.contains(&(self.at, local))
    }

    fn flows(&mut self, value: &Expr) {
        Value { flow: self }.expr(value);
    }
}

impl Visitor for Flow<'_> {
    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Let { local, value } if self.wants(Some(*local)) => self.flows(value),
            StmtKind::Return(Some(value)) if self.wants(None) => self.flows(value),
            StmtKind::Assign { target: Target::Local(local), value } if self.wants(Some(*local)) => {
                self.flows(value);
            }
            StmtKind::Assign { target, value }
                if target.attribute().is_some_and(|attribute| self.attributes.contains(&attribute)) =>
            {
                self.flows(value);
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    /// Arguments flow into the parameters of the function that is called.
    fn call(&mut self, function: FunctionId, args: &[Expr]) {
        for (at, arg) in args.iter().enumerate() {
            if self.values.contains(&(function, Some(LocalId(at as u32)))) {
                self.flows(arg);
            }
        }
    }
}

/// Walks a value that flows into what is wanted.
struct Value<'f, 'p> {
    flow: &'f mut Flow<'p>,
}

impl Visitor for Value<'_, '_> {
    fn expr(&mut self, e: &Expr) {
        let (owner, id) = match &e.kind {
            ExprKind::Global(id) => (Owner::Global, *id),
            ExprKind::Thread { attribute, .. } => (Owner::Thread, *attribute),
            ExprKind::Core { attribute, .. } => (Owner::Core, *attribute),
            ExprKind::Local(local) => {
                self.flow.values.insert((self.flow.at, Some(*local)));
                return;
            }
            _ => return walk_expr(self, e),
        };
        if self.flow.policy.attribute(owner, id).ty.base == BaseType::Time {
            self.flow.attributes.insert((owner, id));
        }
    }

    fn call(&mut self, function: FunctionId, _args: &[Expr]) {
        self.flow.values.insert((function, None));
    }
}
