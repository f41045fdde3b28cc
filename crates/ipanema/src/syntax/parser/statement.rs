//! Parsing of statements.

use super::item::{base_type, begins_item_anywhere};
use super::search::clauses_behind;
use super::{Failed, Parse, Parser};
use crate::diagnostic::Diagnostic;
use crate::syntax::ast::*;
use crate::syntax::codes;
use crate::syntax::token::TokenKind;
use hearth_base::suggest::closest;

/// Tokens that begin a statement and nothing else.
fn begins_statement(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(kind, If | For | Break | Continue | Return) || base_type(kind).is_some()
}

const STATEMENT_WORDS: [&str; 6] = ["return", "if", "for", "break", "continue", "super"];

/// Target states that are written without a core.
const STATES: [&str; 3] = ["running", "blocked", "terminated"];

impl Parser<'_> {
    /// `{ statements }`
    pub(super) fn block(&mut self) -> Parse<Block> {
        let open = self.expect(TokenKind::LeftBrace)?;
        let mut stmts = Vec::new();
        while !matches!(self.kind(), TokenKind::RightBrace | TokenKind::End)
            && !begins_item_anywhere(self.kind())
        {
            match self.stmt() {
                Ok(stmt) => stmts.push(stmt),
                Err(Failed) => self.skip_to(begins_statement),
            }
        }
        self.close(TokenKind::RightBrace, open)?;
        Ok(Block { stmts, span: self.span_from(open) })
    }

    /// Consumes the bracket that closes the one at `open`.
    pub(super) fn close(&mut self, kind: TokenKind, open: Span) -> Parse<()> {
        if self.eat(kind) {
            return Ok(());
        }
        let close = kind.text().unwrap_or("?");
        let token = self.token();
        if token.kind == TokenKind::Unknown {
            return Err(self.unexpected(close));
        }
        let message = format!("expected `{close}`, found {}", self.describe(token));
        let mut diagnostic = Diagnostic::error(codes::UNCLOSED, token.span, message)
            .at(format!("expected `{close}`"))
            .label(open, "to close this");
        diagnostic.help = self.foreign_help(token);
        let failed = self.report(diagnostic);
        // Where a new construct begins, continue as if the missing bracket were there.
        let ends_here =
            matches!(token.kind, TokenKind::LeftBrace | TokenKind::Semicolon) || token.starts_line;
        if kind == TokenKind::RightBrace || ends_here { Ok(()) } else { Err(failed) }
    }

    fn stmt(&mut self) -> Parse<Stmt> {
        self.nested(Self::stmt_here)
    }

    fn stmt_here(&mut self) -> Parse<Stmt> {
        let start = self.token().span;
        let kind = self.stmt_kind()?;
        Ok(Stmt { kind, span: self.span_from(start) })
    }

    /// Without `?`, whose copies of large values take much of the stack of deeply nested statements in debug builds.
    fn stmt_kind(&mut self) -> Parse<StmtKind> {
        match self.kind() {
            TokenKind::LeftBrace => self.block().map(StmtKind::Block),
            TokenKind::If => self.if_stmt(),
            TokenKind::For => self.for_stmt(),
            TokenKind::Break => self.simple(StmtKind::Break),
            TokenKind::Continue => self.simple(StmtKind::Continue),
            TokenKind::Super if self.ahead(1).kind != TokenKind::Dot => self.simple(StmtKind::Super),
            TokenKind::Return => self.return_stmt(),
            TokenKind::Semicolon => Err(self.empty_stmt()),
            TokenKind::Else => {
                let help =
                    "check for an extra `;` after the `if`, or for more than one statement without braces";
                Err(self.unexpected_help("a statement", Some(help.to_owned())))
            }
            kind if base_type(kind).is_some() => self.local(),
            TokenKind::Ident if self.at_foreign_stmt() => Err(self.foreign_stmt()),
            _ => self.expr_stmt(),
        }
    }

    /// A statement of one keyword.
    fn simple(&mut self, kind: StmtKind) -> Parse<StmtKind> {
        self.bump();
        self.semicolon()?;
        Ok(kind)
    }

    fn empty_stmt(&mut self) -> Failed {
        let diagnostic =
            Diagnostic::error(codes::NO_EFFECT, self.token().span, "a single `;` is not a statement")
                .help("remove it; write `{ }` for an empty statement");
        self.report(diagnostic)
    }

    /// `type name = value;`
    fn local(&mut self) -> Parse<StmtKind> {
        let ty = self.ty()?;
        let name = self.ident("the name of a variable")?;
        match self.kind() {
            TokenKind::Assign => self.bump(),
            TokenKind::LeftParen => {
                let help =
                    "a function cannot be declared within another; check for a missing `}` above".to_owned();
                return Err(self.unexpected_help("`=`", Some(help)));
            }
            _ => {
                let help =
                    format!("a variable needs an initial value: `{} {} = ...;`", ty.base.name(), name.name);
                return Err(self.unexpected_help("`=`", Some(help)));
            }
        };
        let value = self.expr()?;
        if self.at(TokenKind::Comma) {
            let help = "declare one variable at a time".to_owned();
            return Err(self.unexpected_help("`;`", Some(help)));
        }
        self.end_of_stmt()?;
        Ok(StmtKind::Local { ty, name, value })
    }

    fn if_stmt(&mut self) -> Parse<StmtKind> {
        self.expect(TokenKind::If)?;
        let open = self.expect(TokenKind::LeftParen)?;
        let condition = self.condition()?;
        self.close(TokenKind::RightParen, open)?;
        let then = Box::new(self.stmt()?);
        let otherwise = match self.eat(TokenKind::Else) {
            true => Some(Box::new(self.stmt()?)),
            false => None,
        };
        Ok(StmtKind::If { condition, then, otherwise })
    }

    fn condition(&mut self) -> Parse<Condition> {
        let start = self.token().span;
        if base_type(self.kind()).is_some() {
            let ty = self.ty()?;
            let name = self.ident("the name of a variable")?;
            self.expect(TokenKind::Assign)?;
            let value = self.expr()?;
            return Ok(Condition::Bind { ty, name, value, span: self.span_from(start) });
        }
        let mut test = self.expr()?;
        if self.at(TokenKind::Assign) {
            let diagnostic = Diagnostic::error(
                codes::ASSIGN_IN_CONDITION,
                self.token().span,
                "`=` is an assignment, not a comparison",
            )
            .at("expected a condition")
            .help("to compare, write `==`; to unwrap an optional, write `if (core c = ...)`");
            self.report(diagnostic);
            self.bump();
            let right = self.expr()?;
            let span = self.span_from(start);
            let (left, right) = (Box::new(test), Box::new(right));
            test = Expr { kind: ExprKind::Binary { op: BinaryOp::Eq, left, right }, span };
        }
        Ok(Condition::Test(test))
    }

    fn for_stmt(&mut self) -> Parse<StmtKind> {
        if self.ahead(1).kind == TokenKind::LeftParen && !self.is_type_and_in(2) {
            let token = self.ahead(2);
            let diagnostic = Diagnostic::error(
                codes::NOT_IPANEMA,
                token.span,
                "a loop must iterate over a finite set",
            )
            .at("expected `core`, `thread` or `domain`, a name, and `in`")
            .help(
                "write `for (core c in ...)`, `for (thread t in c.ready)` or `for (domain d in groups(...))`",
            );
            return Err(self.report(diagnostic));
        }
        self.bump();
        let open = self.expect(TokenKind::LeftParen)?;
        let iteration = self.iteration()?;
        self.end_of_clauses(open, &clauses_behind(&iteration))?;
        let body = Box::new(self.stmt()?);
        Ok(StmtKind::For { iteration, body })
    }

    /// True if `type name in` follows n tokens ahead. Accepts a misspelled `in`, which is reported
    /// later.
    fn is_type_and_in(&self, n: usize) -> bool {
        let assigns = (n + 1..n + 4).any(|i| self.ahead(i).kind == TokenKind::Assign);
        base_type(self.ahead(n).kind).is_some() && !assigns
    }

    fn return_stmt(&mut self) -> Parse<StmtKind> {
        self.expect(TokenKind::Return)?;
        if self.eat(TokenKind::Semicolon) {
            return Ok(StmtKind::Return(None));
        }
        if self.at(TokenKind::RightBrace) {
            self.semicolon()?;
            return Ok(StmtKind::Return(None));
        }
        let value = self.expr()?;
        self.end_of_stmt()?;
        Ok(StmtKind::Return(Some(value)))
    }

    /// An assignment, a transition or a call.
    fn expr_stmt(&mut self) -> Parse<StmtKind> {
        let expr = match begins_expression(self.kind()) {
            true => self.expr()?,
            false => return Err(self.unexpected("a statement")),
        };
        let op = match self.kind() {
            TokenKind::Assign => AssignOp::Set,
            TokenKind::AddAssign => AssignOp::Add,
            TokenKind::SubAssign => AssignOp::Sub,
            TokenKind::BecomesArrow => return self.transition(expr),
            _ => return self.call_stmt(expr),
        };
        if !matches!(expr.kind, ExprKind::Name(_) | ExprKind::Member { .. }) {
            let message = "this is not assignable";
            let mut diagnostic = Diagnostic::error(codes::BAD_TARGET, expr.span, message)
                .at("expected a variable or an attribute");
            if matches!(expr.kind, ExprKind::Default { .. }) {
                diagnostic.help = Some("check for a missing `;` before `else`".to_owned());
            }
            self.report(diagnostic);
        }
        self.bump();
        let value = self.expr()?;
        if matches!(value.kind, ExprKind::Default { .. }) && self.at(TokenKind::Assign) {
            return Err(self.unexpected_help("`;`", Some("check for a missing `;` before `else`".to_owned())));
        }
        self.end_of_stmt()?;
        Ok(StmtKind::Assign { target: expr, op, value })
    }

    fn call_stmt(&mut self, expr: Expr) -> Parse<StmtKind> {
        let calls = matches!(
            expr.kind,
            ExprKind::Call { .. } | ExprKind::SuperCall { .. } | ExprKind::MethodCall { .. }
        );
        if !calls && matches!(self.kind(), TokenKind::Semicolon | TokenKind::RightBrace) {
            let mut diagnostic =
                Diagnostic::error(codes::NO_EFFECT, expr.span, "this statement has no effect");
            diagnostic.help = match expr.kind {
                ExprKind::Binary { op: BinaryOp::Eq, .. } => Some("to assign, write `=`".to_owned()),
                ExprKind::Default { .. } => Some("check for a missing `;` before `else`".to_owned()),
                _ => None,
            };
            self.report(diagnostic);
            self.eat(TokenKind::Semicolon);
            return Ok(StmtKind::Call(expr));
        }
        if let (ExprKind::Name(word), false) = (&expr.kind, self.token().starts_line) {
            let near = closest(word, STATEMENT_WORDS.iter().copied());
            let help = near.map(|near| format!("did you mean `{near}` instead of `{word}`?"));
            return Err(self.unexpected_help("`=`, `=>`, `.` or `(`", help));
        }
        self.end_of_stmt()?;
        Ok(StmtKind::Call(expr))
    }

    /// `thread => target [because reason];`
    fn transition(&mut self, thread: Expr) -> Parse<StmtKind> {
        self.expect(TokenKind::BecomesArrow)?;
        let target = self.target()?;
        let reason = match self.eat(TokenKind::Because) {
            true => Some(self.ident("a reason of one word")?),
            false => None,
        };
        self.end_of_stmt()?;
        Ok(StmtKind::Transition { thread, target, reason })
    }

    fn target(&mut self) -> Parse<Target> {
        let to = self.operand()?;
        let span = to.span;
        let mut diagnostic = Diagnostic::error(codes::BAD_TARGET, span, "this is not a state of a thread")
            .at("expected a ready queue (`c.ready`), `running`, `blocked` or `terminated`");
        match to.kind {
            ExprKind::Name(name) => match name.as_str() {
                "running" => return Ok(Target::Running(span)),
                "blocked" => return Ok(Target::Blocked(span)),
                "terminated" => return Ok(Target::Terminated(span)),
                name => {
                    diagnostic.help = Some(match closest(name, STATES) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("to make it ready on a core, give one of its queues: `{name}.ready`"),
                    });
                }
            },
            ExprKind::Member { object, member } => return Ok(Target::Ready { core: *object, queue: member }),
            _ => {
                diagnostic.help =
                    Some("to make it ready on a core, give one of its queues: `c.ready`".to_owned())
            }
        }
        Err(self.report(diagnostic))
    }

    /// `;`, with a suggestion if the following word looks like part of the statement.
    fn end_of_stmt(&mut self) -> Parse<()> {
        if self.at(TokenKind::Ident) && !self.token().starts_line {
            return Err(self.unexpected_word("`;`", &["because", "else"]));
        }
        self.semicolon()
    }

    fn at_foreign_stmt(&self) -> bool {
        match self.text_of(self.token()) {
            "while" | "switch" | "goto" | "let" | "var" | "const" | "static" | "struct" | "foreach" => true,
            "do" | "loop" => self.ahead(1).kind == TokenKind::LeftBrace,
            // A declaration with a C type, or a misspelled keyword: `u64 x = 1;`, `retrun x;`.
            _ => {
                let (second, third) = (self.ahead(1), self.ahead(2));
                second.kind == TokenKind::Ident
                    && !second.starts_line
                    && matches!(third.kind, TokenKind::Assign | TokenKind::Semicolon)
            }
        }
    }

    fn foreign_stmt(&mut self) -> Failed {
        let token = self.token();
        let word = self.text_of(token);
        let help = match word {
            "while" | "do" | "loop" | "foreach" => {
                "loops iterate over finite sets: use `for (core c in ...)`"
            }
            "switch" => "write `if` and `else if`",
            "goto" => "loops iterate over finite sets: use `for (core c in ...)`, `break` and `continue`",
            "let" | "var" | "const" => "a variable is declared with its type: `core c = ...;`",
            "static" => {
                "state that outlives a handler is an attribute: declare it in `global { }`, `thread { }` or `core { }`"
            }
            _ => return self.two_names(),
        };
        let diagnostic =
            Diagnostic::error(codes::NOT_IPANEMA, token.span, format!("Ipanema has no `{word}`")).help(help);
        self.report(diagnostic)
    }

    /// Two consecutive names where a statement is expected.
    fn two_names(&mut self) -> Failed {
        let word = self.text_of(self.token());
        match closest(word, STATEMENT_WORDS.iter().copied()) {
            Some(near) => self.unexpected_help("a statement", Some(format!("did you mean `{near}`?"))),
            None => self.unexpected_type(),
        }
    }
}

/// True if an expression can begin with this token. Otherwise "expected a statement" is the better
/// message.
fn begins_expression(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(
        kind,
        Ident
            | Number
            | Unknown
            | LeftParen
            | Not
            | Minus
            | Super
            | True
            | False
            | None
            | PlusPlus
            | MinusMinus
    )
}
