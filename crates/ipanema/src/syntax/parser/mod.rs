//! Parser: tokens to syntax tree, by recursive descent.
//!
//! The function that finds an error reports it and returns [`Failed`]. The nearest list (of
//! statements or items) then skips to the next possible element, so that one run finds several
//! errors. No token is read twice, so parsing takes linear time.

mod expression;
mod item;
mod search;
mod statement;

use super::ast::{Doc, Ident, MAX_DEPTH, Policy};
use super::codes;
use super::lexer::{Lexed, MAX_ERRORS, lex};
use super::span::{SourceId, Span};
use super::token::{Comment, CommentKind, Token, TokenKind, looks_like_doc};
use crate::diagnostic::Diagnostic;
use hearth_base::suggest::closest;

/// Result of [`parse`].
#[derive(Debug)]
pub struct Parsed {
    /// The parsed policy. If there are errors, parts are missing: it is good enough for an outline,
    /// but not for further passes. `None` if even the policy's name is missing.
    pub policy: Option<Policy>,
    pub diagnostics: Vec<Diagnostic>,
    /// In source order, including documentation comments.
    pub comments: Vec<Comment>,
}

impl Parsed {
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Parses the text of one policy.
pub fn parse(source: SourceId, text: &str) -> Parsed {
    let Lexed { tokens, comments, diagnostics } = lex(source, text);
    let documented = vec![false; comments.len()];
    let mut parser = Parser {
        text,
        tokens,
        position: 0,
        comments,
        next_comment: 0,
        documented,
        depth: 0,
        height: 0,
        stopped: false,
        last_error_at: None,
        diagnostics,
    };
    let policy = parser.policy().ok();
    parser.report_stray_docs();
    let mut diagnostics = parser.diagnostics;
    diagnostics.sort_by_key(|diagnostic| diagnostic.span);
    Parsed { policy, diagnostics, comments: parser.comments }
}

/// An error was found and reported.
#[derive(Debug)]
struct Failed;

type Parse<T> = Result<T, Failed>;

struct Parser<'t> {
    text: &'t str,
    /// Ends with [`TokenKind::End`].
    tokens: Vec<Token>,
    /// Index of the next token.
    position: usize,
    comments: Vec<Comment>,
    /// Index of the first comment not yet considered as documentation.
    next_comment: usize,
    /// Comments that are attached to a node or need no warning.
    documented: Vec<bool>,
    /// Number of enclosing nodes of the next token.
    depth: u32,
    /// Height of the last parsed expression.
    height: u32,
    /// True after giving up; nothing more is reported.
    stopped: bool,
    /// Position of the token at which the last error was reported.
    last_error_at: Option<usize>,
    diagnostics: Vec<Diagnostic>,
}

/// Token access.
impl<'t> Parser<'t> {
    fn token(&self) -> Token {
        self.ahead(0)
    }

    fn kind(&self) -> TokenKind {
        self.token().kind
    }

    /// The token n positions after the next one.
    fn ahead(&self, n: usize) -> Token {
        self.tokens[(self.position + n).min(self.tokens.len() - 1)]
    }

    /// Span of the last consumed token.
    fn previous_span(&self) -> Span {
        self.tokens[self.position.saturating_sub(1)].span
    }

    fn span_from(&self, start: Span) -> Span {
        start.to(self.previous_span())
    }

    fn text_of(&self, token: Token) -> &'t str {
        token.span.text(self.text)
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    /// True if the next token is this contextual keyword.
    fn at_word(&self, word: &str) -> bool {
        self.at(TokenKind::Ident) && self.text_of(self.token()) == word
    }

    fn bump(&mut self) -> Token {
        let token = self.token();
        if token.kind != TokenKind::End {
            self.position += 1;
        }
        token
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.bump();
        }
        found
    }

    fn expect(&mut self, kind: TokenKind) -> Parse<Span> {
        if self.at(kind) {
            return Ok(self.bump().span);
        }
        Err(self.unexpected(&format!("`{}`", kind.text().unwrap_or("?"))))
    }

    /// A name that is declared or used; `what` describes it in errors.
    fn ident(&mut self, what: &str) -> Parse<Ident> {
        let token = self.token();
        if token.kind == TokenKind::Ident {
            self.bump();
            return Ok(Ident { name: self.text_of(token).to_owned(), span: token.span });
        }
        if token.kind.is_keyword() && !token.starts_line {
            let word = self.text_of(token);
            let diagnostic =
                Diagnostic::error(codes::RESERVED, token.span, format!("`{word}` is a keyword, not {what}"))
                    .help(format!("choose another name, such as `{word}_`"));
            return Err(self.report(diagnostic));
        }
        Err(self.unexpected(what))
    }

    /// A name after a dot, where keywords are allowed (`t.core`).
    fn member_ident(&mut self) -> Parse<Ident> {
        let token = self.token();
        if token.kind == TokenKind::Ident || (token.kind.is_keyword() && !token.starts_line) {
            self.bump();
            return Ok(Ident { name: self.text_of(token).to_owned(), span: token.span });
        }
        Err(self.unexpected("the name of an attribute"))
    }

    /// `;` at the end of a statement or declaration.
    fn semicolon(&mut self) -> Parse<()> {
        if self.eat(TokenKind::Semicolon) {
            return Ok(());
        }
        let token = self.token();
        if token.starts_line || matches!(token.kind, TokenKind::RightBrace | TokenKind::End) {
            // Continue as if the semicolon were there.
            let here = self.previous_span().after();
            let diagnostic =
                Diagnostic::error(codes::MISSING_SEMICOLON, here, "expected `;`").at("missing `;`");
            self.report(diagnostic);
            return Ok(());
        }
        Err(self.unexpected("`;`"))
    }
}

/// Error reporting and recovery.
impl Parser<'_> {
    /// Reports an error at the next token, unless one was already reported there.
    fn report(&mut self, diagnostic: Diagnostic) -> Failed {
        if self.stopped || self.last_error_at == Some(self.position) {
            return Failed;
        }
        self.last_error_at = Some(self.position);
        let span = diagnostic.span;
        self.diagnostics.push(diagnostic);
        if self.diagnostics.len() >= MAX_ERRORS {
            let message = "too many errors: the rest of the file is not checked";
            self.stop(Diagnostic::error(codes::TOO_MANY, span, message));
        }
        Failed
    }

    /// Reports that parsing stops, and skips to the end.
    fn stop(&mut self, diagnostic: Diagnostic) -> Failed {
        if !self.stopped {
            self.stopped = true;
            self.diagnostics.push(diagnostic);
            self.position = self.tokens.len() - 1;
        }
        Failed
    }

    /// Reports "expected X, found Y" at the next token.
    fn unexpected(&mut self, expected: &str) -> Failed {
        self.unexpected_help(expected, None)
    }

    fn unexpected_help(&mut self, expected: &str, help: Option<String>) -> Failed {
        let token = self.token();
        if token.kind == TokenKind::Unknown {
            // The lexer has already reported it.
            self.last_error_at = Some(self.position);
            return Failed;
        }
        let found = self.describe(token);
        let mut diagnostic =
            Diagnostic::error(codes::UNEXPECTED, token.span, format!("expected {expected}, found {found}"))
                .at(format!("expected {expected}"));
        diagnostic.help = help.or_else(|| self.foreign_help(token));
        self.report(diagnostic)
    }

    /// Like [`Self::unexpected`], with a suggestion from `words`.
    fn unexpected_word(&mut self, expected: &str, words: &[&str]) -> Failed {
        let token = self.token();
        let near = match token.kind {
            TokenKind::Ident => closest(self.text_of(token), words.iter().copied()),
            _ => None,
        };
        self.unexpected_help(expected, near.map(|word| format!("did you mean `{word}`?")))
    }

    /// Description of a token in error messages.
    fn describe(&self, token: Token) -> String {
        let text = self.text_of(token);
        match token.kind {
            TokenKind::End => "the end of the file".to_owned(),
            TokenKind::Number => format!("number `{text}`"),
            TokenKind::Ident if text.len() > 40 => "a name".to_owned(),
            TokenKind::Ident => format!("name `{text}`"),
            kind if kind.is_keyword() => format!("keyword `{text}`"),
            _ => format!("`{text}`"),
        }
    }

    /// Help for a token of another language.
    fn foreign_help(&self, token: Token) -> Option<String> {
        let help = match token.kind {
            TokenKind::PlusPlus => "write `x += 1;`",
            TokenKind::MinusMinus => "write `x -= 1;`",
            TokenKind::PointerArrow => "Ipanema has no pointers: write `c.frequency`",
            TokenKind::Ident => match self.text_of(token) {
                "and" => "write `&&`",
                "or" => "write `||`",
                "not" => "write `!`",
                _ => return None,
            },
            _ => return None,
        };
        Some(help.to_owned())
    }

    /// Skips to the possible start of the next element of a list that is separated by `;` or in
    /// braces: after the next `;` or closing brace, before the `}` that closes the list, or before
    /// a token at the start of a line for which `begins` is true.
    fn skip_to(&mut self, begins: impl Fn(TokenKind) -> bool) {
        let (mut braces, mut parens) = (0_usize, 0_usize);
        let mut first = true;
        loop {
            let token = self.token();
            let may_stop = token.starts_line && !first;
            match token.kind {
                TokenKind::End => return,
                TokenKind::RightBrace if braces == 0 => return,
                kind if may_stop && (item::begins_item_anywhere(kind) || (braces == 0 && begins(kind))) => {
                    return;
                }
                _ => self.bump(),
            };
            match token.kind {
                TokenKind::LeftBrace => braces += 1,
                TokenKind::RightBrace => {
                    braces -= 1;
                    if braces == 0 {
                        return;
                    }
                }
                TokenKind::LeftParen => parens += 1,
                TokenKind::RightParen => parens = parens.saturating_sub(1),
                TokenKind::Semicolon if braces == 0 && (parens == 0 || self.token().starts_line) => return,
                _ => {}
            }
            first = false;
        }
    }
}

/// Limits on nesting.
impl Parser<'_> {
    /// Parses something one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        self.check_height(1)?;
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// Fails if a node of this height would exceed the maximum height of the tree.
    fn check_height(&mut self, height: u32) -> Parse<()> {
        if self.depth + height <= MAX_DEPTH {
            return Ok(());
        }
        let span = self.token().span;
        let message = format!("nested too deeply: the limit is {MAX_DEPTH} levels");
        let help = "use local variables for parts of an expression, and move statements into functions";
        Err(self.stop(Diagnostic::error(codes::TOO_DEEP, span, message).help(help)))
    }
}

/// Documentation comments.
impl Parser<'_> {
    /// Documentation of the item at the next token: the last block of `///` lines before it,
    /// followed only by other comments.
    fn doc(&mut self) -> Option<Doc> {
        while self.comments.get(self.next_comment).is_some_and(|c| c.before < self.position) {
            self.next_comment += 1;
        }
        let end = self.comments[self.next_comment..]
            .iter()
            .position(|comment| comment.before > self.position)
            .map_or(self.comments.len(), |length| self.next_comment + length);
        let here = self.next_comment..end;
        self.next_comment = end;

        let is_doc = |i: &usize| self.comments[*i].kind == CommentKind::Doc;
        let last = here.clone().rev().find(is_doc)?;
        let mut first = last;
        while first > here.start && is_doc(&(first - 1)) && self.adjacent(first - 1, first) {
            first -= 1;
        }
        self.documented[first..=last].fill(true);
        let lines: Vec<&str> =
            self.comments[first..=last].iter().map(|c| doc_line(c.span.text(self.text))).collect();
        let span = self.comments[first].span.to(self.comments[last].span);
        Some(Doc { text: lines.join("\n"), span })
    }

    /// True if two comments are on consecutive lines.
    fn adjacent(&self, first: usize, second: usize) -> bool {
        let between = self.comments[first].span.end as usize..self.comments[second].span.start as usize;
        self.text[between].matches('\n').count() == 1
    }

    fn report_stray_docs(&mut self) {
        if self.diagnostics.iter().any(Diagnostic::is_error) {
            return;
        }
        for (comment, documented) in self.comments.iter().zip(&self.documented) {
            let looks_so = looks_like_doc(comment.span.text(self.text));
            if looks_so && comment.kind != CommentKind::Block && !documented {
                self.diagnostics.push(
                    Diagnostic::warning(
                        codes::STRAY_DOC,
                        comment.span,
                        "this documentation comment is not attached to a declaration",
                    )
                    .help("put `///` before a declaration; elsewhere, use `//`"),
                );
            }
        }
    }
}

/// A line of documentation, without `///`.
fn doc_line(comment: &str) -> &str {
    let text = comment.strip_prefix("///").unwrap_or(comment);
    text.strip_prefix(' ').unwrap_or(text).trim_end()
}
