//! Formatting of statements.

use super::Printer;
use super::expression::{Place, expr, iteration, ty};
use super::layout::Layout::Group;
use super::layout::{Layout, text};
use crate::syntax::ast::*;

impl Printer<'_> {
    /// Writes the rest of a block after `{`.
    pub(super) fn block_behind_brace(&mut self, block: &Block) {
        if block.stmts.is_empty() {
            if !self.has_comment_in(0, block.span.end) {
                return self.write(" }");
            }
        } else {
            self.comments_behind(block.span.start + 1);
        }
        self.depth += 1;
        self.fresh = true;
        for stmt in &block.stmts {
            self.stmt(stmt);
        }
        self.comments_before(block.span.end);
        self.depth -= 1;
        self.begin_line();
        self.write("}");
    }

    /// The rest of a block on one line, if it is a single short statement.
    pub(super) fn one_line_block(&self, block: &Block, columns: usize) -> Option<String> {
        let [stmt] = &block.stmts[..] else { return None };
        let line = format!(" {} }}", simple(stmt)?.flat());
        let commented = self.has_comment_in(block.span.start, block.span.end);
        (!commented && self.fits(columns + line.chars().count())).then_some(line)
    }

    fn stmt(&mut self, stmt: &Stmt) {
        // Comments in the head move before the statement; those between head and body stay.
        let head_end = match &stmt.kind {
            StmtKind::If { condition, .. } => condition_span(condition).end,
            StmtKind::For { iteration, .. } => iteration.span.end,
            StmtKind::Block(block) => block.span.start,
            _ => stmt.span.end,
        };
        self.comments_before(head_end);
        self.begin_line_at(stmt.span.start);
        match &stmt.kind {
            StmtKind::If { condition, then, otherwise } => {
                let one_line = self.if_fits(stmt);
                self.if_stmt(condition, then, otherwise.as_deref(), one_line);
            }
            StmtKind::For { iteration, body } => {
                let head = for_head(iteration);
                let one_line = self.body_fits(&head, iteration.span.end, body)
                    && !self.comment_inside(stmt, stmt.span.start);
                self.write_layout(&head);
                self.body(body, Some(iteration.span.end), one_line);
            }
            StmtKind::Block(block) => {
                self.write("{");
                self.block_behind_brace(block);
            }
            _ => self.write_layout(&simple(stmt).unwrap_or_else(|| text(""))),
        }
        self.comments_behind(stmt.span.end);
    }

    fn if_stmt(&mut self, condition: &Condition, then: &Stmt, otherwise: Option<&Stmt>, one_line: bool) {
        self.write_layout(&if_head(condition));
        self.body(then, Some(condition_span(condition).end), one_line);
        let Some(otherwise) = otherwise else { return };
        let mut breaks = !matches!(then.kind, StmtKind::Block(_));
        breaks |= self.comments_behind(then.span.end);
        breaks |= self.comments_before(self.find_else(then.span.end, otherwise.span.start));
        match breaks {
            true => self.begin_line(),
            false => self.write(" "),
        }
        self.write("else");
        match &otherwise.kind {
            StmtKind::If { condition, then, otherwise } => {
                self.write(" ");
                self.if_stmt(condition, then, otherwise.as_deref(), one_line);
            }
            _ => self.body(otherwise, None, one_line),
        }
    }

    /// Source position of the `else` between two positions.
    fn find_else(&self, mut start: u32, end: u32) -> u32 {
        let first = self.comments.partition_point(|comment| comment.span.start < start);
        for comment in &self.comments[first..] {
            let between = self.text.get(start as usize..comment.span.start as usize).unwrap_or("");
            if comment.span.start >= end || between.contains("else") {
                break;
            }
            start = comment.span.end;
        }
        start
    }

    /// Writes the body after a head whose parenthesis closes at source position `closed_at`.
    fn body(&mut self, body: &Stmt, closed_at: Option<u32>, one_line: bool) {
        match &body.kind {
            StmtKind::Block(block) => {
                self.write(" {");
                self.block_behind_brace(block);
            }
            _ if one_line => {
                self.write(" ");
                self.write_layout(&simple(body).unwrap_or_else(|| text("")));
            }
            _ => {
                if let Some(closed_at) = closed_at {
                    self.comments_behind(closed_at + 1);
                }
                self.depth += 1;
                self.fresh = true;
                self.stmt(body);
                self.depth -= 1;
            }
        }
    }

    /// True if all bodies without braces in a chain fit on the lines of their heads.
    fn if_fits(&self, stmt: &Stmt) -> bool {
        let mut rest = Some(stmt);
        while let Some(stmt) = rest {
            rest = match &stmt.kind {
                StmtKind::If { condition, then, otherwise } => {
                    let head = Group(vec![text("else "), if_head(condition)]);
                    if !self.body_fits(&head, condition_span(condition).end, then) {
                        return false;
                    }
                    otherwise.as_deref()
                }
                _ => {
                    let head_end = stmt.span.start;
                    if !self.body_fits(&text("else"), head_end, stmt) {
                        return false;
                    }
                    None
                }
            }
        }
        !self.comment_inside(stmt, stmt.span.start)
    }

    fn body_fits(&self, head: &Layout, head_end: u32, body: &Stmt) -> bool {
        if let StmtKind::Block(_) = body.kind {
            return true;
        }
        let Some(body_layout) = simple(body) else { return false };
        let columns = head.flat().chars().count() + 1 + body_layout.flat().chars().count();
        self.fits(columns) && !self.broken_between(head_end, body.span.start)
    }

    /// True if a comment from source position `start` on stays in a statement, outside of its blocks. Those before the
    /// brace of a block move into it.
    fn comment_inside(&self, stmt: &Stmt, start: u32) -> bool {
        match &stmt.kind {
            StmtKind::Block(_) => false,
            StmtKind::If { then, otherwise, .. } => {
                self.comment_inside(then, start)
                    || otherwise.as_ref().is_some_and(|otherwise| {
                        let behind = self.find_else(then.span.end, otherwise.span.start);
                        self.has_comment_in(then.span.end, behind) || self.comment_inside(otherwise, behind)
                    })
            }
            StmtKind::For { body, .. } => self.comment_inside(body, start),
            _ => self.has_comment_in(start, stmt.span.end),
        }
    }
}

fn condition_span(condition: &Condition) -> Span {
    match condition {
        Condition::Test(test) => test.span,
        Condition::Bind { span, .. } => *span,
    }
}

fn if_head(condition: &Condition) -> Layout {
    let condition = match condition {
        Condition::Test(test) => expr(test, Place::Anywhere),
        Condition::Bind { ty: t, name, value, .. } => {
            Group(vec![text(format!("{} {} = ", ty(t), name.name)), expr(value, Place::Anywhere)])
        }
    };
    Group(vec![text("if ("), Layout::Align(vec![condition]), text(")")])
}

fn for_head(over: &Iteration) -> Layout {
    Group(vec![text("for ("), Layout::Align(vec![iteration(over)]), text(")")])
}

/// Layout of a statement without nested statements.
fn simple(stmt: &Stmt) -> Option<Layout> {
    let mut parts = match &stmt.kind {
        StmtKind::If { .. } | StmtKind::For { .. } | StmtKind::Block(_) => return None,
        StmtKind::Local { ty: t, name, value } => {
            vec![text(format!("{} {} = ", ty(t), name.name)), expr(value, Place::Anywhere)]
        }
        StmtKind::Assign { target, op, value } => {
            let op = match op {
                AssignOp::Set => " = ",
                AssignOp::Add => " += ",
                AssignOp::Sub => " -= ",
            };
            vec![expr(target, Place::Postfix), text(op), expr(value, Place::Anywhere)]
        }
        StmtKind::Break => vec![text("break")],
        StmtKind::Continue => vec![text("continue")],
        StmtKind::Return(None) => vec![text("return")],
        StmtKind::Return(Some(value)) => vec![text("return "), expr(value, Place::Anywhere)],
        StmtKind::Transition { thread, target, reason } => {
            let mut parts = vec![expr(thread, Place::Postfix), text(" => ")];
            match target {
                Target::Ready { core, queue } => {
                    parts.extend([expr(core, Place::Postfix), text(format!(".{}", queue.name))]);
                }
                Target::Running(_) => parts.push(text("running")),
                Target::Blocked(_) => parts.push(text("blocked")),
                Target::Terminated(_) => parts.push(text("terminated")),
            }
            if let Some(reason) = reason {
                parts.push(text(format!(" because {}", reason.name)));
            }
            parts
        }
        StmtKind::Super => vec![text("super")],
        StmtKind::Call(call) => vec![expr(call, Place::Postfix)],
    };
    parts.push(text(";"));
    Some(Group(parts))
}
