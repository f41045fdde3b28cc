//! Thread attributes that are added up, and that never fall below one.

use super::Theory;
use super::term::Terms;
use super::unit::{Scope, Unit, attribute_name, why_type};
use crate::obligation::Property;
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_stmt};
use hearth_ipanema::ir::{AttributeId, Expr, Function, LocalId, Owner, Stmt, StmtKind, Target};

/// Those that a sum adds up and that begin with one or more: for these it is assumed that they stay
/// so, and each assignment has to prove it.
pub fn names(unit: &Unit) -> Vec<String> {
    let sums = unit.sums.borrow();
    let summed = |name: &str| {
        let term = format!("({} ", attribute_name(Owner::Thread, name));
        sums.iter().any(|sum| sum.weight.contains(&term))
    };
    let attributes = unit.policy.thread.iter().filter(|a| a.ty.is_scalar() && a.initial >= 1);
    attributes.map(|a| a.name.clone()).filter(|name| summed(name)).collect()
}

pub fn emit(unit: &Unit, theory: &mut Theory) {
    for name in names(unit) {
        let Some(index) = unit.policy.thread.iter().position(|a| a.name == name) else { continue };
        for function in unit.policy.functions.iter() {
            let mut find = Find { attribute: AttributeId(index as u32), values: Vec::new() };
            walk_block(&mut find, &function.body);
            for value in find.values {
                assignment(unit, theory, &name, function, &value);
            }
        }
    }
}

fn assignment(unit: &Unit, theory: &mut Theory, name: &str, function: &Function, value: &Expr) {
    unit.restart();
    let mut scope = Scope::new(function);
    let mut params = String::new();
    for (i, local) in function.locals.iter().enumerate() {
        let variable = unit.fresh(&local.name);
        params += &format!(" ({variable}: {})", why_type(local.ty));
        scope.bind(LocalId(i as u32), variable);
    }
    let term = Terms::new(unit, "r", "0").expr(&scope, value);
    let variables = params.replace(" (", ", ").replace([')', '('], "");
    let module = format!("Positive_{name}_{}", function.name.replace('.', "_"));
    let text = format!("  goal positive: forall r: readings{variables}.\n    {term} >= 1\n");
    theory.module(&module, &text);
    let what = format!("`{name}` stays at least 1");
    theory.goal(Property::Conservation, &function.name, &what, &function.at, &module, "positive");
}

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
