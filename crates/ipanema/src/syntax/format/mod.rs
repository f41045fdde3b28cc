//! Formatter: syntax tree to canonical text.
//!
//! - Lines have at most 110 columns and an indentation of 4.
//! - Comments and single blank lines are kept. A comment within an expression moves before the
//!   statement or declaration. A `///` that documents nothing becomes `//`.
//! - Parentheses are written where needed, and around `&&` within `||`.
//! - A body without braces stays on the line of its `if` or `for`, or on the next line, as in the
//!   source. If it does not fit it moves to the next line, and so do all bodies of an `if` chain.
//! - The `:` and `=` of adjacent parameters are aligned.

mod expression;
mod item;
mod layout;
mod statement;

use self::layout::{Layout, STEP};
use super::ast::{Doc, Policy};
use super::parser::parse;
use super::span::SourceId;
use super::token::{Comment, CommentKind, looks_like_doc};
use crate::diagnostic::Diagnostic;

/// Maximum line width.
const WIDTH: usize = 110;

/// Formats the text of a policy. Returns the diagnostics if the text has errors.
pub fn format(source: SourceId, text: &str) -> Result<String, Vec<Diagnostic>> {
    let parsed = parse(source, text);
    match &parsed.policy {
        Some(policy) if !parsed.has_errors() => Ok(Printer::new(text, &parsed.comments).policy(policy)),
        _ => Err(parsed.diagnostics),
    }
}

/// Formats a policy without source text. Only documentation comments are kept.
///
/// The tree must be one that the parser can produce: a `then` that would capture the `else` of an
/// enclosing statement must be a block.
pub fn print(policy: &Policy) -> String {
    Printer::new("", &[]).policy(policy)
}

struct Printer<'t> {
    /// Source text of the policy, or empty.
    text: &'t str,
    comments: &'t [Comment],
    /// Index of the next comment to write.
    next_comment: usize,
    /// Output; its last line has no line end yet.
    out: String,
    /// Indentation in steps.
    depth: usize,
    /// True at the start of a block or after documentation: no blank line here.
    fresh: bool,
    /// True if a blank line is required here.
    separate: bool,
}

/// Line handling.
impl<'t> Printer<'t> {
    fn new(text: &'t str, comments: &'t [Comment]) -> Self {
        Printer {
            text,
            comments,
            next_comment: 0,
            out: String::new(),
            depth: 0,
            fresh: true,
            separate: false,
        }
    }

    /// Begins a line for the source position `offset`, and keeps a blank line before it.
    fn begin_line_at(&mut self, offset: u32) {
        let blank = !self.fresh && (self.separate || self.blank_line_before(offset));
        self.begin_line();
        if blank {
            let end = self.out.trim_end_matches(' ').len();
            self.out.insert(end, '\n');
        }
        self.fresh = false;
        self.separate = false;
    }

    fn begin_line(&mut self) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out.extend(std::iter::repeat_n(' ', self.depth * STEP));
    }

    fn write(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn write_layout(&mut self, layout: &Layout) {
        layout.write(&mut self.out, self.depth * STEP, WIDTH);
    }

    /// True if a text of this width fits on a new line.
    fn fits(&self, columns: usize) -> bool {
        self.depth * STEP + columns <= WIDTH
    }

    fn blank_line_before(&self, offset: u32) -> bool {
        let before = self.text.get(..offset as usize).unwrap_or("");
        let blanks = &before[before.trim_end().len()..];
        blanks.matches('\n').count() >= 2
    }

    /// True if the source has a line break between the positions.
    fn broken_between(&self, start: u32, end: u32) -> bool {
        self.text.get(start as usize..end as usize).is_some_and(|text| text.contains('\n'))
    }
}

/// Comment handling.
impl Printer<'_> {
    /// Writes pending comments before this source position, each on its own line. Returns whether
    /// there were any.
    fn comments_before(&mut self, offset: u32) -> bool {
        let mut any = false;
        while let Some(comment) = self.comments.get(self.next_comment)
            && comment.span.start < offset
        {
            self.begin_line_at(comment.span.start);
            self.write_comment();
            any = true;
        }
        any
    }

    /// Writes pending comments that follow this source position on the same line. Returns whether
    /// there were any.
    fn comments_behind(&mut self, mut offset: u32) -> bool {
        let mut any = false;
        while let Some(comment) = self.comments.get(self.next_comment)
            && let Some(between) = self.text.get(offset as usize..comment.span.start as usize)
            && between.chars().all(|c| c.is_whitespace() && c != '\n')
        {
            self.write(" ");
            offset = comment.span.end;
            self.write_comment();
            any = true;
        }
        any
    }

    fn write_comment(&mut self) {
        let comment = self.comments[self.next_comment];
        self.next_comment += 1;
        let text = comment.span.text(self.text);
        match comment.kind {
            CommentKind::Block => self.write(text),
            CommentKind::Line | CommentKind::Doc => {
                let stray = looks_like_doc(text);
                self.write(text[usize::from(stray)..].trim_end());
            }
        }
    }

    /// True if a pending comment lies between the source positions.
    fn has_comment_in(&self, start: u32, end: u32) -> bool {
        let pending = &self.comments[self.next_comment..];
        let first = pending.partition_point(|comment| comment.span.start < start);
        pending.get(first).is_some_and(|comment| comment.span.start < end)
    }

    /// Begins the line of a node with its documentation. Comments up to `head_end` are written
    /// before it.
    fn begin_documented(&mut self, doc: &Option<Doc>, start: u32, head_end: u32) {
        match doc {
            Some(doc) => {
                self.comments_before(doc.span.start);
                for (i, line) in doc.text.split('\n').enumerate() {
                    match i {
                        0 => self.begin_line_at(doc.span.start),
                        _ => self.begin_line(),
                    }
                    let line = format!("/// {line}");
                    self.write(line.trim_end());
                }
                let written = |comment: &Comment| comment.span.end <= doc.span.end;
                self.next_comment +=
                    self.comments[self.next_comment..].iter().take_while(|c| written(c)).count();
                self.fresh = true;
                self.comments_before(head_end);
            }
            None => {
                self.comments_before(head_end);
            }
        }
        self.begin_line_at(start);
    }
}
