//! Bounds of the thread attributes that a load adds up.
//!
//! Sums of loads must not wrap at 64 bits, and each thread must count. So each attribute in a sum stays between 1
//! and `most_weight`: an axiom for the other obligations, and an obligation of each assignment.

use super::Theory;
use super::names;
use super::term::Terms;
use super::unit::{Scope, Unit, why_type};
use crate::obligation::{Id, Property};
use crate::whyml::{Decl, Why, forall};
use hearth_ipanema::ir::effects::{assigned, is_pure};
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_expr, walk_stmt};
use hearth_ipanema::ir::{AttributeId, Expr, ExprKind, Function, LocalId, Owner, Stmt, StmtKind, Target};
use std::collections::HashSet;

/// As `most_weight` in `proofs/cores.mlw`.
const MOST: i64 = 0x10_0000_0000;

/// The attributes that a sum adds up and whose initial value is within the bounds.
pub fn names(unit: &Unit) -> Vec<String> {
    let sums = unit.sums.borrow();
    let summed = |name: &str| {
        let function = names::attribute(Owner::Thread, name);
        let mut reads = |part: &Why| matches!(part, Why::App(name, _) if *name == function);
        sums.iter().any(|sum| sum.weight.any(&mut reads))
    };
    let bounded = |initial: i64| (1..=MOST).contains(&initial);
    let attributes = unit.policy.thread.iter().filter(|a| a.ty.is_scalar() && bounded(a.initial));
    attributes.map(|a| a.name.clone()).filter(|name| summed(name)).collect()
}

/// Emits an obligation for each assignment. Returns them: obligations that use the axiom rest on them.
pub fn emit(unit: &Unit, theory: &mut Theory) -> Vec<Id> {
    let mut obligations = Vec::new();
    for name in names(unit) {
        let Some(index) = unit.policy.thread.iter().position(|a| a.name == name) else { continue };
        for function in &unit.policy.functions {
            let mut find = Find { attribute: AttributeId(index as u32), values: Vec::new() };
            walk_block(&mut find, &function.body);
            for value in &find.values {
                // A function and the one that it overrides have the same name.
                let base = names::within("Bounds", &name, &function.name);
                let same = theory
                    .modules
                    .iter()
                    .filter(|module| module.name.starts_with(&format!("{base}'")))
                    .count();
                let module = format!("{base}'{same}");
                obligations.push(assignment(unit, theory, &name, function, &module, value));
            }
        }
    }
    obligations
}

fn assignment(
    unit: &Unit,
    theory: &mut Theory,
    name: &str,
    function: &Function,
    module: &str,
    value: &Expr,
) -> Id {
    unit.restart();
    let mut scope = Scope::new(function);
    let mut variables = "r: readings".to_owned();
    for (i, local) in function.locals.iter().enumerate() {
        let variable = unit.fresh(&local.name);
        variables += &format!(", {variable}: {}", why_type(local.ty));
        scope.bind(LocalId(i as u32), variable);
    }
    let mut terms = Terms::new(unit, "r", "0");
    for (local, value) in constants(unit, function) {
        let value = terms.expr(&scope, value);
        scope.bind(local, value);
    }
    let term = terms.expr(&scope, value);
    let bounded = forall(&variables, Why::from(1).infix("<=", term.infix("<=", "most_weight")));
    theory.module(module, &[Decl::Goal("bounded", bounded)]);
    let what = format!("`{name}` stays between 1 and 2^36, so that no sum of it wraps");
    theory.goal(Property::Conservation, &function.name, &what, &function.at, module, "bounded")
}

/// The local variables that keep their initial value, in order, where that has no effects and does not depend on a
/// variable that changes. The others, and those in branches, are arbitrary.
fn constants<'p>(unit: &Unit<'p>, function: &'p Function) -> Vec<(LocalId, &'p Expr)> {
    let assigned = assigned(&function.body);
    let constant = |stmt: &'p Stmt| match &stmt.kind {
        StmtKind::Let { local, value }
            if !assigned.contains(local) && !mentions(value, &assigned) && is_pure(unit.policy, value) =>
        {
            Some((*local, value))
        }
        _ => None,
    };
    function.body.iter().filter_map(constant).collect()
}

fn mentions(value: &Expr, locals: &HashSet<LocalId>) -> bool {
    struct Mentions<'l>(&'l HashSet<LocalId>, bool);
    impl Visitor for Mentions<'_> {
        fn expr(&mut self, e: &Expr) {
            self.1 |= matches!(e.kind, ExprKind::Local(id) if self.0.contains(&id));
            walk_expr(self, e);
        }
    }
    let mut mentions = Mentions(locals, false);
    mentions.expr(value);
    mentions.1
}

/// Finds the values that are assigned to a thread attribute.
struct Find {
    attribute: AttributeId,
    values: Vec<Expr>,
}

impl Visitor for Find {
    fn stmt(&mut self, stmt: &Stmt) {
        if let StmtKind::Assign { target: Target::Thread { attribute, .. }, value } = &stmt.kind
            && *attribute == self.attribute
        {
            self.values.push(value.clone());
        }
        walk_stmt(self, stmt);
    }
}
