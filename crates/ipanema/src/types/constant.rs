//! Evaluation of constant expressions.

use crate::ir::{Arithmetic, Expr, ExprKind, Extreme};

/// Value of a constant expression; `None` for other expressions.
pub(crate) fn value_of(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Bool(value) => Some(i64::from(*value)),
        ExprKind::Number(value) => Some(*value),
        ExprKind::Neg(operand) => Some(value_of(operand)?.wrapping_neg()),
        ExprKind::Not(operand) => Some(i64::from(value_of(operand)? == 0)),
        ExprKind::Arithmetic { op, left, right } => Some(compute(*op, value_of(left)?, value_of(right)?)),
        ExprKind::Pick { extreme, left, right } => {
            let (left, right) = (value_of(left)?, value_of(right)?);
            Some(match extreme {
                Extreme::Min => left.min(right),
                Extreme::Max => left.max(right),
            })
        }
        _ => None,
    }
}

/// Arithmetic of the language: wraps on overflow; division by zero gives zero.
pub fn compute(op: Arithmetic, left: i64, right: i64) -> i64 {
    match op {
        Arithmetic::Add => left.wrapping_add(right),
        Arithmetic::Sub => left.wrapping_sub(right),
        Arithmetic::Mul => left.wrapping_mul(right),
        Arithmetic::Div if right == 0 => 0,
        Arithmetic::Div => left.wrapping_div(right),
        Arithmetic::Rem if right == 0 => 0,
        Arithmetic::Rem => left.wrapping_rem(right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_total() {
        assert_eq!(compute(Arithmetic::Div, 7, 0), 0);
        assert_eq!(compute(Arithmetic::Rem, 7, 0), 0);
        assert_eq!(compute(Arithmetic::Div, i64::MIN, -1), i64::MIN);
        assert_eq!(compute(Arithmetic::Add, i64::MAX, 1), i64::MIN);
    }
}
