//! Declarations of parameters, sets, attributes and queues.

use super::body::Lowering;
use super::{Context, Top, constant, doc, ty};
use crate::codes::{BAD_STORAGE, MISMATCH, NOT_CONSTANT, OUT_OF_RANGE, TOO_MUCH_STATE, UNKNOWN_NAME};
use crate::diagnostic::Diagnostic;
use crate::ir::{self, BaseType, ExprKind, Owner, Type};
use crate::resolve::Declared;
use crate::syntax::ast;
use hearth_base::suggest::closest;

/// Maximum number of sets of a policy; the BPF runtime keeps them in one map value.
const MAX_SETS: usize = 64;
/// Maximum number of ready queues per core.
const MAX_QUEUES: usize = 8;

pub fn declarations(context: &mut Context, diagnostics: &mut Vec<Diagnostic>) {
    let merged = context.merged;
    for declared in &merged.params {
        if let Some(param) = param(context, declared, diagnostics) {
            let id = ir::ParamId(context.policy.params.len() as u32);
            context.top.insert(param.name.clone(), Top::Param(id));
            context.policy.params.push(param);
        }
    }
    for declared in &merged.sets {
        let capacity = declared.node.capacity.as_ref();
        let set = ir::CoreSet {
            name: declared.node.name.name.clone(),
            doc: doc(declared.doc),
            capacity: capacity.and_then(|e| capacity_of(context, e, declared.policy, diagnostics)),
            at: context.place(declared.policy, declared.span),
        };
        let id = ir::SetId(context.policy.sets.len() as u32);
        context.top.insert(set.name.clone(), Top::Set(id));
        context.policy.sets.push(set);
    }
    for owner in [Owner::Global, Owner::Thread, Owner::Core] {
        for (field, declared) in merged.attributes(owner) {
            attribute(context, owner, field, declared, diagnostics);
        }
    }
    for declared in &merged.queues {
        queue(context, declared, diagnostics);
    }
    let too_many = [
        ("sets", merged.sets.get(MAX_SETS).map(|d| d.span), MAX_SETS),
        ("queues", merged.queues.get(MAX_QUEUES).map(|d| d.span), MAX_QUEUES),
    ];
    for (what, span, most) in too_many {
        if let Some(span) = span {
            let message = format!("a policy can have at most {most} {what}");
            diagnostics.push(Diagnostic::error(TOO_MUCH_STATE, span, message));
        }
    }
}

fn param(
    context: &Context,
    declared: &Declared<ast::Param>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<ir::Param> {
    let node = declared.node;
    let ty = ty(&node.ty);
    if !ty.is_scalar() && ty != Type::BOOL {
        let message = format!("a parameter cannot be a {ty}");
        diagnostics.push(
            Diagnostic::error(BAD_STORAGE, node.ty.span, message)
                .help("a parameter must be a bool, int, time, frequency or load"),
        );
        return None;
    }
    let mut constant = |e: &ast::Expr| constant(context, e, ty, declared.policy, diagnostics);
    let initial = constant(&node.default);
    let (min, max) = match &node.range {
        Some(range) => (constant(&range.low)?, constant(&range.high)?),
        None if ty == Type::BOOL => (0, 1),
        None => {
            let message = format!("parameter `{}` has no range", node.name.name);
            diagnostics.push(
                Diagnostic::error(OUT_OF_RANGE, node.name.span, message)
                    .help("give the allowed values: `in low..high`"),
            );
            return None;
        }
    };
    let initial = initial?;
    if let Some(range) = &node.range {
        if min > max {
            let message = "the lower bound is above the upper bound";
            diagnostics.push(Diagnostic::error(OUT_OF_RANGE, range.span, message));
        } else if !(min..=max).contains(&initial) {
            diagnostics.push(
                Diagnostic::error(
                    OUT_OF_RANGE,
                    node.default.span,
                    format!("the default of `{}` is out of range", node.name.name),
                )
                .label(range.span, "allowed range"),
            );
        }
    }
    Some(ir::Param {
        name: node.name.name.clone(),
        doc: doc(declared.doc),
        ty,
        min,
        max,
        initial,
        at: context.place(declared.policy, declared.span),
    })
}

/// Value of an expression that must be a constant of type `want`.
fn constant(
    context: &Context,
    expr: &ast::Expr,
    want: Type,
    policy: usize,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<i64> {
    let typed = Lowering::alone(context, policy, diagnostics).expr_of(expr, want)?;
    let value = constant::value_of(&typed);
    if value.is_none() {
        let message = "this must be a constant";
        diagnostics.push(Diagnostic::error(NOT_CONSTANT, expr.span, message));
    }
    value
}

/// Capacity of a set: a constant or a parameter.
fn capacity_of(
    context: &Context,
    expr: &ast::Expr,
    policy: usize,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<ir::Expr> {
    let typed = Lowering::alone(context, policy, diagnostics).expr_of(expr, Type::INT)?;
    if matches!(typed.kind, ExprKind::Number(_) | ExprKind::Param(_)) {
        return Some(typed);
    }
    let message = "the capacity of a set must be a constant or a parameter";
    diagnostics.push(Diagnostic::error(NOT_CONSTANT, expr.span, message));
    None
}

fn attribute(
    context: &mut Context,
    owner: Owner,
    field: &ast::Field,
    declared: &Declared<ast::FieldName>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let ty = ty(&field.ty);
    let name = &declared.node.name;
    let wrong = match ty.base {
        BaseType::Thread => Some("the thread may have exited when the attribute is read"),
        BaseType::Domain => Some("store a core of the domain, and use its domain"),
        BaseType::Core if !ty.optional => Some("an attribute of type core starts as none: write `core?`"),
        _ => None,
    };
    if let Some(help) = wrong {
        let message = format!("an attribute cannot be a {ty}");
        diagnostics.push(Diagnostic::error(BAD_STORAGE, field.ty.span, message).help(help));
    }
    let mut initial = 0;
    if let Some(expr) = &declared.node.initial {
        if ty.is_scalar() || ty == Type::BOOL {
            let value = constant(context, expr, ty, declared.policy, diagnostics);
            initial = value.unwrap_or(0);
        } else if expr.kind != ast::ExprKind::None || !ty.optional {
            let message = format!("{} cannot have an initial value", ty.with_article());
            diagnostics.push(
                Diagnostic::error(MISMATCH, expr.span, message)
                    .help("a set starts empty; an optional starts as none"),
            );
        }
    }
    let attribute = ir::Attribute {
        name: name.name.clone(),
        doc: doc(declared.doc),
        ty,
        initial,
        at: context.place(declared.policy, declared.span),
    };
    let list = match owner {
        Owner::Global => &mut context.policy.globals,
        Owner::Thread => &mut context.policy.thread,
        Owner::Core => &mut context.policy.core,
    };
    let id = ir::AttributeId(list.len() as u32);
    list.push(attribute);
    if owner == Owner::Global {
        context.top.insert(name.name.clone(), Top::Global(id));
    }
}

fn queue(context: &mut Context, declared: &Declared<ast::Queue>, diagnostics: &mut Vec<Diagnostic>) {
    let mut by = None;
    if let ast::QueueOrder::Rbtree { by: name } = &declared.node.order {
        match context.attribute(Owner::Thread, &name.name) {
            Some((id, ty)) if ty.is_scalar() => {
                context.uses(name.span, context.policy.thread[id.index()].at.span);
                by = Some(id);
            }
            Some((_, ty)) => {
                let message = format!("a queue cannot be ordered by a {ty}");
                diagnostics.push(Diagnostic::error(MISMATCH, name.span, message));
            }
            None => {
                let message = format!("threads have no attribute `{}`", name.name);
                let mut unknown = Diagnostic::error(UNKNOWN_NAME, name.span, message);
                let names = context.policy.thread.iter().map(|a| &*a.name);
                if let Some(near) = closest(&name.name, names) {
                    unknown = unknown.help(format!("did you mean `{near}`?"));
                }
                diagnostics.push(unknown);
            }
        }
    }
    let queue = ir::Queue {
        name: declared.node.name.name.clone(),
        doc: doc(declared.doc),
        by,
        at: context.place(declared.policy, declared.span),
    };
    context.policy.queues.push(queue);
}
