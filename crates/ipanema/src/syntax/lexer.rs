//! Lexer: text to tokens and comments.

use super::codes;
use super::span::{SourceId, Span};
use super::token::{Comment, CommentKind, Token, TokenKind, looks_like_doc};
use crate::diagnostic::Diagnostic;

/// Maximum size of a policy in bytes. Offsets have 32 bits.
pub const MAX_SOURCE: usize = 1 << 20;

/// Maximum number of errors reported in one run.
pub const MAX_ERRORS: usize = 50;

/// Result of [`lex`].
#[derive(Debug)]
pub struct Lexed {
    /// Tokens; the last one is the only [`TokenKind::End`].
    pub tokens: Vec<Token>,
    /// In source order.
    pub comments: Vec<Comment>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Splits a text into tokens. Invalid characters are reported and become [`TokenKind::Unknown`].
pub fn lex(source: SourceId, text: &str) -> Lexed {
    let mut lexer = Lexer {
        source,
        text,
        position: 0,
        starts_line: true,
        lexed: Lexed { tokens: Vec::new(), comments: Vec::new(), diagnostics: Vec::new() },
    };
    if text.len() > MAX_SOURCE {
        let message = format!("the policy has {} bytes; the maximum is {MAX_SOURCE}", text.len());
        let span = Span::new(source, 0, 0);
        lexer.lexed.diagnostics.push(Diagnostic::error(codes::SOURCE_TOO_LARGE, span, message));
    } else {
        lexer.run();
    }
    lexer.push(TokenKind::End, lexer.position);
    lexer.lexed
}

struct Lexer<'t> {
    source: SourceId,
    text: &'t str,
    position: usize,
    /// True if there is no token on this line yet.
    starts_line: bool,
    lexed: Lexed,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while let Some(c) = self.peek() {
            let start = self.position;
            match c {
                '\n' => {
                    self.starts_line = true;
                    self.position += 1;
                }
                ' ' | '\t' | '\r' => self.position += 1,
                '\u{feff}' if start == 0 => self.position += c.len_utf8(),
                '/' if self.rest().starts_with("//") => self.line_comment(),
                '/' if self.rest().starts_with("/*") => self.block_comment(),
                'a'..='z' | 'A'..='Z' | '_' => {
                    self.skip_word();
                    let word = &self.text[start..self.position];
                    self.push(TokenKind::keyword(word).unwrap_or(TokenKind::Ident), start);
                }
                '0'..='9' => {
                    self.number();
                    self.push(TokenKind::Number, start);
                }
                _ => self.symbol(c),
            }
        }
    }

    fn rest(&self) -> &str {
        &self.text[self.position..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn span_from(&self, start: usize) -> Span {
        Span::new(self.source, start as u32, self.position as u32)
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        let span = self.span_from(start);
        self.lexed.tokens.push(Token { kind, span, starts_line: self.starts_line });
        self.starts_line = false;
    }

    fn push_comment(&mut self, kind: CommentKind, start: usize) {
        let span = self.span_from(start);
        self.lexed.comments.push(Comment { kind, span, before: self.lexed.tokens.len() });
    }

    fn line_comment(&mut self) {
        let start = self.position;
        let line = self.rest().split('\n').next().unwrap_or("").trim_end_matches('\r');
        let documents = looks_like_doc(line);
        self.position += line.len();
        match documents && self.starts_line {
            true => self.push_comment(CommentKind::Doc, start),
            false => self.push_comment(CommentKind::Line, start),
        }
    }

    fn block_comment(&mut self) {
        let start = self.position;
        match self.rest()[2..].find("*/") {
            Some(length) => self.position += 2 + length + 2,
            None => {
                self.position = self.text.len();
                let span = Span::new(self.source, start as u32, start as u32 + 2);
                self.lexed.diagnostics.push(
                    Diagnostic::error(codes::OPEN_COMMENT, span, "unterminated comment")
                        .at("the comment begins here and has no `*/`"),
                );
            }
        }
        self.push_comment(CommentKind::Block, start);
    }

    fn skip_word(&mut self) {
        let end = self.rest().find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        self.position += end.unwrap_or(self.rest().len());
    }

    fn skip_digits(&mut self) {
        let end = self.rest().find(|c: char| !c.is_ascii_digit());
        self.position += end.unwrap_or(self.rest().len());
    }

    /// `12`, `2.1GHz`, `4ms`; but `0..4` is three tokens.
    fn number(&mut self) {
        self.skip_digits();
        let mut next = self.rest().chars();
        if next.next() == Some('.') && next.next().is_some_and(|c| c.is_ascii_digit()) {
            self.position += 1;
            self.skip_digits();
        }
        self.skip_word();
    }

    fn symbol(&mut self, c: char) {
        let start = self.position;
        let bytes = self.rest().as_bytes();
        let second = bytes.get(1).copied().unwrap_or(0);
        use TokenKind::*;
        let (kind, length) = match (c, second) {
            ('.', b'.') => (DotDot, 2),
            ('=', b'=') => (EqEq, 2),
            ('=', b'>') => (BecomesArrow, 2),
            ('!', b'=') => (NotEq, 2),
            ('<', b'=') => (LessEq, 2),
            ('>', b'=') => (GreaterEq, 2),
            ('|', b'|') => (OrOr, 2),
            ('&', b'&') => (AndAnd, 2),
            ('+', b'=') => (AddAssign, 2),
            ('+', b'+') => (PlusPlus, 2),
            ('-', b'=') => (SubAssign, 2),
            ('-', b'>') => (PointerArrow, 2),
            ('-', b'-') => (MinusMinus, 2),
            ('{', _) => (LeftBrace, 1),
            ('}', _) => (RightBrace, 1),
            ('(', _) => (LeftParen, 1),
            (')', _) => (RightParen, 1),
            (',', _) => (Comma, 1),
            (';', _) => (Semicolon, 1),
            (':', _) => (Colon, 1),
            ('?', _) => (Question, 1),
            ('.', _) => (Dot, 1),
            ('=', _) => (Assign, 1),
            ('<', _) => (Less, 1),
            ('>', _) => (Greater, 1),
            ('|', _) => (Or, 1),
            ('&', _) => (And, 1),
            ('+', _) => (Plus, 1),
            ('-', _) => (Minus, 1),
            ('*', _) => (Star, 1),
            ('/', _) => (Slash, 1),
            ('%', _) => (Percent, 1),
            ('!', _) => (Not, 1),
            _ => return self.unknown(),
        };
        self.position += length;
        self.push(kind, start);
    }

    /// Makes a run of invalid characters one token and one error.
    fn unknown(&mut self) {
        let start = self.position;
        let known = |c: char| c.is_ascii_alphanumeric() || " \t\r\n_{}(),;:?.=+-|&!<>*/%".contains(c);
        let length = self.rest().find(known).unwrap_or(self.rest().len());
        self.position += length.max(1);
        let span = self.span_from(start);
        let text = span.text(self.text);
        let what = match text.chars().count() {
            1 if text.chars().all(char::is_control) => {
                format!("`{}` is not valid in Ipanema", text.escape_unicode())
            }
            1 => format!("`{text}` is not valid in Ipanema"),
            _ => "these characters are not valid in Ipanema".to_owned(),
        };
        let mut diagnostic = Diagnostic::error(codes::UNKNOWN_CHARACTER, span, what);
        diagnostic.help = match text.chars().next() {
            Some('"' | '\'') => {
                Some("Ipanema has no strings; a reason is a plain word: `because cfs`".into())
            }
            Some('#') => Some(
                "Ipanema has no preprocessor; use a `param`, a constant that can be set at load time".into(),
            ),
            Some('[') => Some(
                "Ipanema has no arrays; an attribute of `core` or `thread` has a value for each of them"
                    .into(),
            ),
            Some('^' | '~') => Some("Ipanema has no bitwise operators; sets have `&`, `|` and `-`".into()),
            _ => None,
        };
        if self.lexed.diagnostics.len() < MAX_ERRORS {
            self.lexed.diagnostics.push(diagnostic);
        }
        self.push(TokenKind::Unknown, start);
    }
}
