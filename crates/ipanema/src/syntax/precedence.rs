//! Operator precedence, for the parser and the formatter.

use super::ast::BinaryOp;
use super::token::TokenKind;

/// Precedence; a higher level binds tighter. Below all levels are `?:` and, weaker, `else`; above
/// them are the prefix operators `!` and `-`, and tighter, `.`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(u8);

impl Level {
    pub const LOWEST: Level = Level(0);
    /// Comparisons and `in`, which do not associate. All other binary operators are
    /// left-associative.
    pub const COMPARISON: Level = Level(2);

    pub fn tighter(self) -> Level {
        Level(self.0 + 1)
    }
}

pub fn level(op: BinaryOp) -> Level {
    use BinaryOp::*;
    match op {
        Or => Level(0),
        And => Level(1),
        Eq | Ne | Lt | Le | Gt | Ge | In => Level::COMPARISON,
        Union => Level(3),
        Intersection => Level(4),
        Add | Sub => Level(5),
        Mul | Div | Rem => Level(6),
    }
}

pub fn binary_op(token: TokenKind) -> Option<BinaryOp> {
    Some(match token {
        TokenKind::OrOr => BinaryOp::Or,
        TokenKind::AndAnd => BinaryOp::And,
        TokenKind::EqEq => BinaryOp::Eq,
        TokenKind::NotEq => BinaryOp::Ne,
        TokenKind::Less => BinaryOp::Lt,
        TokenKind::LessEq => BinaryOp::Le,
        TokenKind::Greater => BinaryOp::Gt,
        TokenKind::GreaterEq => BinaryOp::Ge,
        TokenKind::In => BinaryOp::In,
        TokenKind::Or => BinaryOp::Union,
        TokenKind::And => BinaryOp::Intersection,
        TokenKind::Plus => BinaryOp::Add,
        TokenKind::Minus => BinaryOp::Sub,
        TokenKind::Star => BinaryOp::Mul,
        TokenKind::Slash => BinaryOp::Div,
        TokenKind::Percent => BinaryOp::Rem,
        _ => return None,
    })
}
