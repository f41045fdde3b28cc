//! Formatting of expressions.

use std::cmp::Ordering;

use super::layout::Layout::{Align, Blank, Group, Indent};
use super::layout::{Layout, text};
use crate::syntax::ast::*;
use crate::syntax::precedence::{self, Level};

/// Weakest kind of expression that needs no parentheses at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Anywhere,
    /// Excludes `else`.
    Conditional,
    Binary(Level),
    Unary,
    Postfix,
}

/// Position of an operand of the parser: binds tighter than comparisons.
pub fn operand_place() -> Place {
    Place::Binary(Level::COMPARISON.tighter())
}

fn place_of(expr: &Expr) -> Place {
    match &expr.kind {
        ExprKind::Default { .. } => Place::Anywhere,
        ExprKind::Conditional { .. } => Place::Conditional,
        ExprKind::Binary { op, .. } => Place::Binary(precedence::level(*op)),
        ExprKind::Unary { .. } => Place::Unary,
        _ => Place::Postfix,
    }
}

pub fn expr(expr: &Expr, place: Place) -> Layout {
    match place_of(expr).cmp(&place) {
        Ordering::Less => Group(vec![text("("), Align(vec![bare(expr)]), text(")")]),
        _ => bare(expr),
    }
}

fn bare(expr: &Expr) -> Layout {
    match &expr.kind {
        ExprKind::Bool(value) => text(if *value { "true" } else { "false" }),
        ExprKind::Int(value) => text(value.to_string()),
        ExprKind::Time { ns, unit } => text(in_unit(*ns, unit.ns(), unit.name())),
        ExprKind::Frequency { khz, unit } => text(in_unit(*khz, unit.khz(), unit.name())),
        ExprKind::None => text("none"),
        ExprKind::Name(name) => text(name.clone()),
        ExprKind::Member { object, member } => {
            Group(vec![self::expr(object, Place::Postfix), text(format!(".{}", member.name))])
        }
        ExprKind::Call { function, args } => call(text(function.name.clone()), args),
        ExprKind::SuperCall { function, args } => call(text(format!("super.{}", function.name)), args),
        ExprKind::MethodCall { receiver, method, args } => {
            let callee = Group(vec![self::expr(receiver, Place::Postfix), text(format!(".{}", method.name))]);
            call(callee, args)
        }
        ExprKind::Unary { op, operand } => {
            // `--x` would be a different token.
            let twice =
                matches!((op, &operand.kind), (UnaryOp::Neg, ExprKind::Unary { op: UnaryOp::Neg, .. }));
            let place = if twice { Place::Postfix } else { Place::Unary };
            Group(vec![text(op.symbol()), self::expr(operand, place)])
        }
        ExprKind::Binary { op, left, right } => binary(*op, left, right),
        ExprKind::Conditional { condition, then, otherwise } => Group(vec![
            self::expr(condition, Place::Binary(Level::LOWEST)),
            Indent(vec![
                Blank,
                text("? "),
                self::expr(then, Place::Conditional),
                Blank,
                text(": "),
                self::expr(otherwise, Place::Conditional),
            ]),
        ]),
        ExprKind::Default { optional, default } => Layout::Group(vec![
            self::expr(optional, Place::Conditional),
            text(" else "),
            self::expr(default, Place::Anywhere),
        ]),
        ExprKind::Search(found) => search(found),
    }
}

fn call(callee: Layout, args: &[Expr]) -> Layout {
    let args = list(args, Place::Anywhere);
    Group(vec![callee, text("("), Align(vec![args]), text(")")])
}

/// Comma-separated list.
fn list(exprs: &[Expr], place: Place) -> Layout {
    let mut parts = Vec::new();
    for (i, e) in exprs.iter().enumerate() {
        if i > 0 {
            parts.extend([text(","), Blank]);
        }
        parts.push(expr(e, place));
    }
    Group(parts)
}

/// A chain of operators of equal precedence is broken before each of them, or not at all.
fn binary(op: BinaryOp, left: &Expr, right: &Expr) -> Layout {
    let level = precedence::level(op);
    let mut links = vec![(op, right)];
    let mut first = left;
    while let ExprKind::Binary { op, left, right } = &first.kind
        && precedence::level(*op) == level
        && level != Level::COMPARISON
    {
        links.push((*op, right));
        first = left;
    }
    let chain = links.iter().rev().flat_map(|&(op, right)| {
        [Blank, text(format!("{} ", op.symbol())), operand(op, right, level.tighter())]
    });
    let first_level = if level == Level::COMPARISON { level.tighter() } else { level };
    Group(vec![operand(op, first, first_level), Indent(chain.collect())])
}

/// `&&` within `||` gets parentheses for readability.
fn operand(op: BinaryOp, operand: &Expr, level: Level) -> Layout {
    let mixed = op == BinaryOp::Or && matches!(operand.kind, ExprKind::Binary { op: BinaryOp::And, .. });
    let level = if mixed { Level::COMPARISON } else { level };
    expr(operand, Place::Binary(level))
}

fn search(search: &Search) -> Layout {
    let mut parts = vec![iteration(&search.iteration)];
    let word = match &search.kind {
        SearchKind::First => "first",
        SearchKind::Any => "any",
        SearchKind::Extreme { extreme, by } => {
            parts.extend([Blank, text("by "), Align(vec![list(by, Place::Conditional)])]);
            extreme_word(*extreme)
        }
        SearchKind::Sum { of } => {
            parts.extend([Blank, text("of "), expr(of, Place::Conditional)]);
            "sum"
        }
    };
    if let Some(filter) = &search.filter {
        parts.extend([Blank, text("where "), expr(filter, Place::Conditional)]);
    }
    Group(vec![text(word), text("("), Align(parts), text(")")])
}

pub fn extreme_word(extreme: Extreme) -> &'static str {
    match extreme {
        Extreme::Min => "min",
        Extreme::Max => "max",
    }
}

/// `core c in set from x limit n`
pub fn iteration(iteration: &Iteration) -> Layout {
    let head = format!("{} {} in ", ty(&iteration.ty), iteration.name.name);
    let mut rest = Vec::new();
    if let Some(found) = &iteration.order {
        rest.extend([Blank, order(found)]);
    }
    if let Some(limit) = &iteration.limit {
        rest.extend([Blank, text("limit "), expr(limit, operand_place())]);
    }
    Group(vec![text(head), expr(&iteration.set, operand_place()), Indent(rest)])
}

pub fn order(order: &Order) -> Layout {
    let word = match order.kind {
        OrderKind::From => "from ",
        OrderKind::Nearest => "nearest ",
    };
    Group(vec![text(word), expr(&order.origin, operand_place())])
}

/// Expressions after `by` of a steal.
pub fn keys(exprs: &[Expr]) -> Layout {
    list(exprs, Place::Conditional)
}

pub fn ty(ty: &Type) -> String {
    format!("{}{}", ty.base.name(), if ty.optional { "?" } else { "" })
}

/// A value as a decimal number in the unit of the source.
fn in_unit(value: i64, scale: i64, unit: &str) -> String {
    let (whole, mut rest) = (value / scale, value % scale);
    let mut fraction = String::new();
    // Terminates: all scales divide a power of ten.
    while rest != 0 {
        fraction.push_str(&(rest * 10 / scale).to_string());
        rest = rest * 10 % scale;
    }
    match fraction.is_empty() {
        true => format!("{whole}{unit}"),
        false => format!("{whole}.{fraction}{unit}"),
    }
}

/// Parenthesised list, possibly empty.
pub fn parenthesised(parts: Vec<String>) -> Layout {
    let mut inner = Vec::new();
    for (i, part) in parts.into_iter().enumerate() {
        if i > 0 {
            inner.extend([text(","), Blank]);
        }
        inner.push(text(part));
    }
    Group(vec![text("("), Align(inner), text(")")])
}
