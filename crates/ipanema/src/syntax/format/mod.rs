//! From syntax tree to text in the canonical layout.
//!
//! - Lines of at most 110 columns, indented by 4.
//! - Comments and single blank lines are kept; a comment within an expression moves before the
//!   statement or declaration. `///` that documents nothing becomes `//`.
//! - Parentheses stand where they are needed, and around `&&` within `||`.
//! - A body without braces stays on the line of its `if` or `for`, or on the next, as it was;
//!   it goes to the next line if it must, and then all of an `if` chain do.
//! - The `:` and `=` of neighbouring parameters are aligned.

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

/// Lines are broken that would be longer than this.
const WIDTH: usize = 110;

/// Formats the text of a policy. A text with errors is not formatted: they are given back.
pub fn format(source: SourceId, text: &str) -> Result<String, Vec<Diagnostic>> {
    let parsed = parse(source, text);
    match &parsed.policy {
        Some(policy) if !parsed.has_errors() => Ok(Printer::new(text, &parsed.comments).policy(policy)),
        _ => Err(parsed.diagnostics),
    }
}

/// The text of a policy that was not parsed from a text, or without its comments (documentation
/// comments excepted).
///
/// The tree must be one that the parser can make: a `then` that could take the `else` of the
/// statement around it must be in a block.
pub fn print(policy: &Policy) -> String {
    Printer::new("", &[]).policy(policy)
}

struct Printer<'t> {
    /// The text that the policy was parsed from, or nothing.
    text: &'t str,
    comments: &'t [Comment],
    /// Index of the first comment that was not written yet.
    next_comment: usize,
    /// The last line is open: it has no line end yet.
    out: String,
    /// Steps of indentation.
    depth: usize,
    /// No blank line comes here: a block or a documented item begins.
    fresh: bool,
    /// A blank line comes here, whether there was one or not.
    separate: bool,
}

/// Lines.
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

    /// Begins a line for what was at this place of the source, with a blank line before it if
    /// there was one.
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

    /// Would a text of this length fit on a new line?
    fn fits(&self, columns: usize) -> bool {
        self.depth * STEP + columns <= WIDTH
    }

    fn blank_line_before(&self, offset: u32) -> bool {
        let before = self.text.get(..offset as usize).unwrap_or("");
        let blanks = &before[before.trim_end().len()..];
        blanks.matches('\n').count() >= 2
    }

    /// Does the source have a line end between these places?
    fn broken_between(&self, start: u32, end: u32) -> bool {
        self.text.get(start as usize..end as usize).is_some_and(|text| text.contains('\n'))
    }
}

/// Comments.
impl Printer<'_> {
    /// Writes the comments before this place of the source that were not written yet, each on its
    /// own line. Says whether there was one.
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

    /// Writes comments that stand on the same line behind this place of the source. Says whether
    /// there was one.
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

    /// Is a comment that was not written yet within these places of the source?
    fn has_comment_in(&self, start: u32, end: u32) -> bool {
        let pending = &self.comments[self.next_comment..];
        let first = pending.partition_point(|comment| comment.span.start < start);
        pending.get(first).is_some_and(|comment| comment.span.start < end)
    }

    /// Begins the line of a node that has documentation: `head_end` is where comments that belong
    /// before it may be, at the latest.
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
