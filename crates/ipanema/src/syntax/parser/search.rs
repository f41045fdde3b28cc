//! Searches and iterations with their clauses.

use super::{Failed, Parse, Parser};
use crate::diagnostic::Diagnostic;
use crate::syntax::ast::*;
use crate::syntax::codes;
use crate::syntax::token::TokenKind;
use hearth_base::suggest::closest;

const SEARCHES: [&str; 5] = ["first", "any", "min", "max", "sum"];

impl Parser<'_> {
    /// `first(core c in ...)` and other searches.
    pub(super) fn search(&mut self) -> Parse<Expr> {
        let token = self.token();
        let word = self.text_of(token);
        if !SEARCHES.contains(&word) {
            return Err(self.unknown_search(word));
        }
        self.bump();
        let open = self.expect(TokenKind::LeftParen)?;
        let iteration = self.iteration()?;
        let mut height = self.height;
        let mut clauses = clauses_behind(&iteration);
        let kind = match word {
            "first" => SearchKind::First,
            "any" => SearchKind::Any,
            "sum" => {
                self.expect_clause("of", &mut clauses)?;
                SearchKind::Sum { of: self.nested(Self::conditional)? }
            }
            _ => {
                let extreme = if word == "min" { Extreme::Min } else { Extreme::Max };
                self.expect_clause("by", &mut clauses)?;
                SearchKind::Extreme { extreme, by: self.keys()? }
            }
        };
        height = height.max(self.height);
        let filter = match word {
            "sum" => None,
            _ => self.filter(&mut clauses)?,
        };
        height = height.max(self.height);
        self.end_of_clauses(open, &clauses)?;
        let span = self.span_from(token.span);
        self.node(height, ExprKind::Search(Box::new(Search { kind, iteration, filter })), span)
    }

    fn unknown_search(&mut self, word: &str) -> Failed {
        let help = match word {
            "count" | "empty" => format!("`{word}` takes a set: `{word}(primary & idle)`"),
            "all" => "write `!any(... where !...)`".to_owned(),
            _ => match closest(word, SEARCHES) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the searches are {}", SEARCHES.join(", ")),
            },
        };
        let span = self.token().span;
        self.report(
            Diagnostic::error(codes::UNEXPECTED, span, format!("`{word}` is not a search")).help(help),
        )
    }

    /// An optional `where test`.
    fn filter(&mut self, clauses: &mut Vec<&str>) -> Parse<Option<Expr>> {
        if !self.eat_word("where") {
            clauses.push("where");
            return Ok(None);
        }
        clauses.clear();
        Ok(Some(self.nested(Self::conditional)?))
    }

    /// The keyword of a mandatory clause. `clauses` holds the clauses that may precede it; it is
    /// empty afterwards.
    fn expect_clause(&mut self, word: &'static str, clauses: &mut Vec<&str>) -> Parse<()> {
        if self.eat_word(word) {
            clauses.clear();
            return Ok(());
        }
        clauses.push(word);
        Err(self.unexpected_word(&one_of(clauses), clauses))
    }

    /// The `)` after the clauses of a loop or search. `clauses` may still follow.
    pub(super) fn end_of_clauses(&mut self, open: Span, clauses: &[&str]) -> Parse<()> {
        let token = self.token();
        let help = match (token.kind, self.text_of(token)) {
            (TokenKind::Else, _) => "within a search, put it in parentheses: `(a else b)`",
            (TokenKind::Ident, "where") => {
                "only `first`, `any`, `min` and `max` have `where`: begin the body of a loop with `if`, and in a sum write `of test ? value : 0`"
            }
            (TokenKind::Ident, "from" | "nearest" | "limit" | "by" | "of") => {
                "the order of clauses is: `in`, `from` or `nearest`, `limit`, `by` or `of`, `where`"
            }
            (TokenKind::Ident, _) => {
                let expected = one_of(&[clauses, &[")"]].concat());
                return Err(self.unexpected_word(&expected, clauses));
            }
            _ => return self.close(TokenKind::RightParen, open),
        };
        Err(self.unexpected_help("`)`", Some(help.to_owned())))
    }

    /// `type name in set [from x | nearest x] [limit n]`
    pub(super) fn iteration(&mut self) -> Parse<Iteration> {
        let start = self.token().span;
        let ty = self.ty()?;
        let name = self.ident("the name of a variable")?;
        self.expect(TokenKind::In)?;
        let set = self.operand()?;
        let mut height = self.height;
        let order = self.order()?;
        height = height.max(self.height);
        let limit = match self.eat_word("limit") {
            true => Some(self.operand()?),
            false => None,
        };
        self.height = height.max(self.height);
        let span = self.span_from(start);
        Ok(Iteration { ty, name, set, order, limit, span })
    }

    /// An optional `from x` or `nearest x`.
    pub(super) fn order(&mut self) -> Parse<Option<Order>> {
        let start = self.token().span;
        let kind = if self.eat_word("from") {
            OrderKind::From
        } else if self.eat_word("nearest") {
            OrderKind::Nearest
        } else {
            return Ok(None);
        };
        let origin = self.operand()?;
        Ok(Some(Order { kind, origin, span: self.span_from(start) }))
    }

    /// `expr, ...` after `by`.
    pub(super) fn keys(&mut self) -> Parse<Vec<Expr>> {
        let mut keys = vec![self.nested(Self::conditional)?];
        let mut height = self.height;
        while self.eat(TokenKind::Comma) {
            keys.push(self.nested(Self::conditional)?);
            height = height.max(self.height);
        }
        self.height = height;
        Ok(keys)
    }
}

/// Clauses that may directly follow an iteration.
pub(super) fn clauses_behind(iteration: &Iteration) -> Vec<&'static str> {
    match iteration {
        Iteration { limit: Some(_), .. } => vec![],
        Iteration { order: Some(_), .. } => vec!["limit"],
        _ => vec!["from", "nearest", "limit"],
    }
}

/// "`a`, `b` or `c`"
fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match &quoted[..] {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}
