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
        Flow { policy, at: FunctionId(0), wanted: BTreeSet::from([key_of(key)]), seen: BTreeSet::new() };
    loop {
        let before = (flow.wanted.len(), flow.seen.len());
        for id in (0..policy.functions.len() as u32).map(FunctionId) {
            flow.at = id;
            walk_block(&mut flow, &policy.function(id).body);
        }
        if before == (flow.wanted.len(), flow.seen.len()) {
            break;
        }
    }
    let owners = [Owner::Global, Owner::Thread, Owner::Core];
    let found = flow.wanted.into_iter().map(|(owner, id)| (owners[owner], AttributeId(id)));
    let others = found.filter(|found| *found != key);
    let times = others.filter(|(owner, id)| !(*owner == Owner::Thread && holds_runtime(policy, *id)));
    let source =
        |(owner, id)| Source { owner, id, term: names::attribute(owner, &policy.attribute(owner, id).name) };
    times.map(source).collect()
}

/// An attribute as an element of an ordered set.
fn key_of((owner, id): (Owner, AttributeId)) -> (usize, u32) {
    let owner = match owner {
        Owner::Global => 0,
        Owner::Thread => 1,
        Owner::Core => 2,
    };
    (owner, id.0)
}

/// Walks a function and collects what flows into what is wanted already.
struct Flow<'p> {
    policy: &'p Policy,
    /// The function.
    at: FunctionId,
    wanted: BTreeSet<(usize, u32)>,
    /// Local variables and results of functions whose values flow there.
    seen: BTreeSet<(u32, Option<u32>)>,
}

impl Flow<'_> {
    fn wants(&self, local: Option<LocalId>) -> bool {
        self.seen.contains(&(self.at.0, local.map(|local| local.0)))
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
            StmtKind::Assign { target, value } => {
                let wanted = match target {
                    Target::Local(local) => self.wants(Some(*local)),
                    Target::Global(id) => self.wanted.contains(&key_of((Owner::Global, *id))),
                    Target::Thread { attribute, .. } => {
                        self.wanted.contains(&key_of((Owner::Thread, *attribute)))
                    }
                    Target::Core { attribute, .. } => {
                        self.wanted.contains(&key_of((Owner::Core, *attribute)))
                    }
                    Target::Set(_) => false,
                };
                if wanted {
                    self.flows(value);
                }
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    /// Arguments flow into the parameters of the function that is called.
    fn call(&mut self, function: FunctionId, args: &[Expr]) {
        for (at, arg) in args.iter().enumerate() {
            if self.seen.contains(&(function.0, Some(at as u32))) {
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
                self.flow.seen.insert((self.flow.at.0, Some(local.0)));
                return;
            }
            _ => return walk_expr(self, e),
        };
        if self.flow.policy.attribute(owner, id).ty.base == BaseType::Time {
            self.flow.wanted.insert(key_of((owner, id)));
        }
    }

    fn call(&mut self, function: FunctionId, _args: &[Expr]) {
        self.flow.seen.insert((function.0, None));
    }
}
