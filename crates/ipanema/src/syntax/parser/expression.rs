//! Expressions, by precedence climbing.

use super::item::base_type;
use super::{Parse, Parser};
use crate::diagnostic::Diagnostic;
use crate::syntax::ast::*;
use crate::syntax::codes;
use crate::syntax::literal;
use crate::syntax::precedence::{self, Level};
use crate::syntax::token::TokenKind;

impl Parser<'_> {
    /// A whole expression.
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        self.nested(|parser| {
            let optional = parser.conditional()?;
            if !parser.eat(TokenKind::Else) {
                return Ok(optional);
            }
            let height = parser.height;
            let default = parser.expr()?;
            let span = optional.span.to(default.span);
            let (optional, default) = (Box::new(optional), Box::new(default));
            parser.node(height, ExprKind::Default { optional, default }, span)
        })
    }

    /// An expression without `else` at the top level.
    pub(super) fn conditional(&mut self) -> Parse<Expr> {
        let condition = self.binary(Level::LOWEST)?;
        if !self.eat(TokenKind::Question) {
            return Ok(condition);
        }
        let height = self.height;
        let then = self.expr()?;
        let height = height.max(self.height);
        if !self.at(TokenKind::Colon) {
            return Err(self.unexpected("`:` and the alternative"));
        }
        self.bump();
        let otherwise = self.nested(Self::conditional)?;
        let span = condition.span.to(otherwise.span);
        let kind = ExprKind::Conditional {
            condition: Box::new(condition),
            then: Box::new(then),
            otherwise: Box::new(otherwise),
        };
        self.node(height, kind, span)
    }

    /// The operand of `in`, `from`, `nearest`, `limit`, `..` and `=>`: an expression of operators
    /// that bind tighter than comparisons.
    pub(super) fn operand(&mut self) -> Parse<Expr> {
        self.nested(|parser| parser.binary(Level::COMPARISON.tighter()))
    }

    /// Parses operators of at least this level.
    fn binary(&mut self, level: Level) -> Parse<Expr> {
        let mut left = self.unary()?;
        let mut compared = false;
        while let Some(op) = precedence::binary_op(self.kind()) {
            let op_level = precedence::level(op);
            if op_level < level {
                break;
            }
            let op_span = self.bump().span;
            if op_level == Level::COMPARISON {
                if compared {
                    self.report_chained(op, op_span);
                }
                compared = true;
            }
            let height = self.height;
            let right = self.nested(|parser| parser.binary(op_level.tighter()))?;
            let span = left.span.to(right.span);
            let (l, r) = (Box::new(left), Box::new(right));
            left = self.node(height, ExprKind::Binary { op, left: l, right: r }, span)?;
        }
        Ok(left)
    }

    fn report_chained(&mut self, op: BinaryOp, span: Span) {
        let help = match op {
            BinaryOp::In => "put one of them in parentheses",
            _ => "to compare a with b and b with c, write `a < b && b < c`",
        };
        let message = format!("`{}` compares the result of another comparison", op.symbol());
        let diagnostic = Diagnostic::error(codes::CHAINED_COMPARISON, span, message).help(help);
        self.report(diagnostic);
    }

    fn unary(&mut self) -> Parse<Expr> {
        let start = self.token().span;
        let op = match self.kind() {
            TokenKind::Not => UnaryOp::Not,
            TokenKind::Minus => UnaryOp::Neg,
            _ => return self.postfix(),
        };
        self.bump();
        let operand = self.nested(Self::unary)?;
        let span = self.span_from(start);
        self.node(0, ExprKind::Unary { op, operand: Box::new(operand) }, span)
    }

    /// A primary expression followed by member accesses and method calls.
    fn postfix(&mut self) -> Parse<Expr> {
        let start = self.token().span;
        let mut expr = self.primary()?;
        loop {
            match self.kind() {
                TokenKind::Dot => {}
                TokenKind::PointerArrow => {
                    let token = self.token();
                    let message = "Ipanema has no pointers";
                    let diagnostic = Diagnostic::error(codes::NOT_IPANEMA, token.span, message)
                        .help("write `.` instead of `->`; a transition is `t => c.ready`");
                    self.report(diagnostic);
                }
                _ => return Ok(expr),
            }
            self.bump();
            let member = self.member_ident()?;
            let mut height = self.height;
            let object = Box::new(expr);
            let kind = match self.at(TokenKind::LeftParen) {
                true => {
                    let args = self.args()?;
                    height = height.max(self.height);
                    ExprKind::MethodCall { receiver: object, method: member, args }
                }
                false => ExprKind::Member { object, member },
            };
            let span = self.span_from(start);
            expr = self.node(height, kind, span)?;
        }
    }

    fn primary(&mut self) -> Parse<Expr> {
        let token = self.token();
        let kind = match token.kind {
            TokenKind::True => ExprKind::Bool(true),
            TokenKind::False => ExprKind::Bool(false),
            TokenKind::None => ExprKind::None,
            TokenKind::Number => self.number(),
            TokenKind::LeftParen => return self.parenthesised(),
            TokenKind::Super => return self.super_call(),
            TokenKind::Ident => return self.name_or_call(),
            _ => return Err(self.unexpected("an expression")),
        };
        self.bump();
        self.node(0, kind, token.span)
    }

    /// Value of the number token that comes next. Reports an invalid literal and returns 0.
    fn number(&mut self) -> ExprKind {
        let token = self.token();
        literal::number(self.text_of(token)).unwrap_or_else(|bad| {
            let mut diagnostic = Diagnostic::error(codes::BAD_LITERAL, token.span, bad.message);
            diagnostic.help = bad.help;
            self.report(diagnostic);
            ExprKind::Int(0)
        })
    }

    fn parenthesised(&mut self) -> Parse<Expr> {
        let open = self.expect(TokenKind::LeftParen)?;
        let mut expr = self.expr()?;
        self.close(TokenKind::RightParen, open)?;
        expr.span = self.span_from(open);
        Ok(expr)
    }

    /// `super.function(args)`
    fn super_call(&mut self) -> Parse<Expr> {
        let start = self.bump().span;
        if !self.at(TokenKind::Dot) {
            let help = "`super;` is a statement; to call a function of the base policy, write `super.f(...)`"
                .to_owned();
            return Err(self.unexpected_help("`.`", Some(help)));
        }
        self.bump();
        let function = self.ident("the name of a function")?;
        if !self.at(TokenKind::LeftParen) {
            return Err(self.unexpected("`(`"));
        }
        let args = self.args()?;
        let (height, span) = (self.height, self.span_from(start));
        self.node(height, ExprKind::SuperCall { function, args }, span)
    }

    fn name_or_call(&mut self) -> Parse<Expr> {
        let token = self.token();
        let name = self.text_of(token).to_owned();
        if matches!(name.as_str(), "NULL" | "null" | "nil" | "nullptr") {
            let message = format!("Ipanema has no `{name}`");
            let diagnostic = Diagnostic::error(codes::NOT_IPANEMA, token.span, message).help("write `none`");
            self.report(diagnostic);
            self.bump();
            return self.node(0, ExprKind::None, token.span);
        }
        if self.ahead(1).kind != TokenKind::LeftParen {
            self.bump();
            return self.node(0, ExprKind::Name(name), token.span);
        }
        if base_type(self.ahead(2).kind).is_some() {
            return self.search();
        }
        self.bump();
        let function = Ident { name, span: token.span };
        let args = self.args()?;
        let (height, span) = (self.height, self.span_from(token.span));
        self.node(height, ExprKind::Call { function, args }, span)
    }

    /// `(expr, ...)`
    fn args(&mut self) -> Parse<Vec<Expr>> {
        let open = self.expect(TokenKind::LeftParen)?;
        let mut args = Vec::new();
        let mut height = 0;
        if !self.at(TokenKind::RightParen) {
            loop {
                args.push(self.expr()?);
                height = height.max(self.height);
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
        }
        self.close(TokenKind::RightParen, open)?;
        self.height = height;
        Ok(args)
    }

    /// Creates a node above the last parsed expression and others of height `below`.
    pub(super) fn node(&mut self, below: u32, kind: ExprKind, span: Span) -> Parse<Expr> {
        let leaf = matches!(
            kind,
            ExprKind::Bool(_)
                | ExprKind::Int(_)
                | ExprKind::Time { .. }
                | ExprKind::Frequency { .. }
                | ExprKind::None
                | ExprKind::Name(_)
        );
        self.height = if leaf { 1 } else { 1 + below.max(self.height) };
        self.check_height(self.height)?;
        Ok(Expr { kind, span })
    }
}
