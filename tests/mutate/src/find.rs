//! Generates the mutants of a policy.

use hearth_ipanema::syntax::Span;
use hearth_ipanema::syntax::ast::{
    BaseType, BinaryOp, Condition, Expr, ExprKind, Extreme, Item, ItemKind, Iteration, Search, SearchKind,
    SelectCore, Stmt, StmtKind, Target, UnaryOp,
};
use hearth_modelcheck::Faults;

use crate::mutant::{Change, Mutant, edit};
use crate::operator::Operator;
use crate::subject::{Subject, Text};
use crate::visit::{self, Bound, Node};

/// All distinct mutants: those of the policy's own text first, then those of its bases, each by line.
pub fn mutants(subject: &Subject) -> Vec<Mutant> {
    let items = || subject.texts.iter().flat_map(|text| &text.tree.items);
    let names =
        Names { queues: items().filter_map(queue).collect(), steals: items().filter_map(steal).collect() };
    let mut all: Vec<Mutant> = Vec::new();
    for (source, text) in subject.texts.iter().enumerate() {
        let mut finder = Finder { source, text, names: &names, found: Vec::new(), negated: Vec::new() };
        visit::policy(&text.tree, &mut |node| finder.node(&node));
        let mut found = finder.found;
        found.sort_by_key(|mutant| (mutant.line, mutant.operator));
        for mutant in found {
            if !all.iter().any(|other| other.change == mutant.change) {
                all.push(mutant);
            }
        }
    }
    all
}

fn queue(item: &Item) -> Option<&str> {
    match &item.kind {
        ItemKind::Queue(queue) => Some(&queue.name.name),
        _ => None,
    }
}

fn steal(item: &Item) -> Option<&str> {
    match &item.kind {
        ItemKind::Steal(steal) => Some(&steal.name.name),
        _ => None,
    }
}

struct Names<'s> {
    queues: Vec<&'s str>,
    steals: Vec<&'s str>,
}

struct Finder<'s> {
    source: usize,
    text: &'s Text,
    names: &'s Names<'s>,
    found: Vec<Mutant>,
    /// Operands of `!`: the mutant drops the `!` instead of adding another.
    negated: Vec<Span>,
}

/// The comparison that differs from this one at equality only, and its negation.
fn neighbours(op: BinaryOp) -> Option<(Option<&'static str>, &'static str)> {
    Some(match op {
        BinaryOp::Ge => (Some(">"), "<"),
        BinaryOp::Gt => (Some(">="), "<="),
        BinaryOp::Le => (Some("<"), ">"),
        BinaryOp::Lt => (Some("<="), ">="),
        BinaryOp::Eq => (None, "!="),
        BinaryOp::Ne => (None, "=="),
        _ => return None,
    })
}

fn is_affinity(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Member { member, .. } if member.name == "affinity")
}

/// The integer literals that an expression adds or subtracts, without those in calls and searches.
fn numbers(expr: &Expr, found: &mut Vec<(i64, Span)>) {
    match &expr.kind {
        ExprKind::Int(value) => found.push((*value, expr.span)),
        ExprKind::Binary { op: BinaryOp::Add | BinaryOp::Sub, left, right } => {
            numbers(left, found);
            numbers(right, found);
        }
        _ => {}
    }
}

impl<'s> Finder<'s> {
    fn text_of(&self, span: Span) -> &'s str {
        &self.text.text[span.range()]
    }

    fn change(&mut self, operator: Operator, span: Span, new: &str) {
        let (line, before, after, text) = edit(&self.text.text, span.range(), new);
        let change = Change::Text { source: self.source, text };
        self.add(line, span, operator, before, after, change);
    }

    /// An injected fault of the steal algorithm, shown at a place in the policy.
    fn fault(&mut self, operator: Operator, span: Span, after: &str, faults: Faults) {
        // Its first line.
        let (line, before, ..) = edit(&self.text.text, span.range().start..span.range().start, "");
        self.add(line, span, operator, before, after.to_owned(), Change::Faults(faults));
    }

    fn add(
        &mut self,
        line: usize,
        span: Span,
        operator: Operator,
        before: String,
        after: String,
        change: Change,
    ) {
        let (file, part) = (self.text.file.clone(), self.text.part(span).to_owned());
        self.found.push(Mutant { file, line, part, operator, before, after, change });
    }

    fn node(&mut self, node: &Node<'_>) {
        match node {
            Node::Stmt(stmt) => self.stmt(stmt),
            Node::Condition(test) => self.condition(test),
            Node::Expr(expr) => self.expr(expr),
            Node::Iteration(iteration, bound) => self.iteration(iteration, *bound),
            Node::Search(search, whole) => self.search(search, whole),
            Node::Select(select) => self.select(select),
            Node::Target(target) => self.target(target),
            Node::Steal(steal) => {
                let one_victim = Faults { one_victim: true, ..Faults::default() };
                let after = "(the steal ends after its first candidate)";
                self.fault(Operator::FirstCandidate, steal.name.span, after, one_victim);
                if let Some(phase) = &steal.can_steal_core {
                    let no_recheck = Faults { no_recheck: true, ..Faults::default() };
                    let after = "(not checked again under the lock)";
                    self.fault(Operator::NoRecheck, phase.span, after, no_recheck);
                }
            }
        }
    }

    /// Deletes statements. An `if` is not deleted, because its condition becomes false instead.
    fn stmt(&mut self, stmt: &Stmt) {
        let deletes = match &stmt.kind {
            StmtKind::Assign { .. }
            | StmtKind::Transition { .. }
            | StmtKind::Call(_)
            | StmtKind::Super
            | StmtKind::Return(None)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::For { .. } => true,
            StmtKind::If { condition, .. } => matches!(condition, Condition::Bind { .. }),
            StmtKind::Local { .. } | StmtKind::Return(Some(_)) | StmtKind::Block(_) => false,
        };
        if deletes {
            self.change(Operator::Statement, stmt.span, "{}");
        }
        if let StmtKind::Call(call) = &stmt.kind {
            self.steal_call(call);
        }
    }

    /// Restricts `pull(c, waiting)` to the thief's die.
    fn steal_call(&mut self, call: &Expr) {
        let ExprKind::Call { function, args } = &call.kind else { return };
        let [thief, victims] = args.as_slice() else { return };
        let all = matches!(&victims.kind, ExprKind::Name(name) if name == "waiting");
        if all && self.names.steals.contains(&function.name.as_str()) {
            let narrow = format!("{} & llc({})", self.text_of(victims.span), self.text_of(thief.span));
            self.change(Operator::Narrow, victims.span, &narrow);
        }
    }

    fn condition(&mut self, test: &Expr) {
        if !matches!(test.kind, ExprKind::Bool(_)) {
            self.change(Operator::Condition, test.span, "true");
            self.change(Operator::Condition, test.span, "false");
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Binary { op, left, right } => self.binary(expr, *op, left, right),
            ExprKind::Unary { op: UnaryOp::Not, operand } => {
                self.change(Operator::Negation, expr.span, self.text_of(operand.span));
                self.negated.push(operand.span);
            }
            ExprKind::Call { function, args } => self.call(expr, &function.name, args),
            ExprKind::Member { member, .. } if self.names.queues.contains(&member.name.as_str()) => {
                self.queues(&member.name, member.span);
            }
            _ => {}
        }
    }

    fn binary(&mut self, expr: &Expr, op: BinaryOp, left: &Expr, right: &Expr) {
        let (l, r) = (self.text_of(left.span), self.text_of(right.span));
        let negated = self.negated.contains(&expr.span);
        if let Some((off, opposite)) = neighbours(op) {
            if !negated {
                self.change(Operator::Negation, expr.span, &self.with_operator(expr, l, opposite, r));
            }
            if let Some(off) = off {
                self.change(Operator::OffByOne, expr.span, &self.with_operator(expr, l, off, r));
            }
            let mut found = Vec::new();
            numbers(left, &mut found);
            numbers(right, &mut found);
            for (value, span) in found {
                self.change(Operator::OffByOne, span, &(value + 1).to_string());
                if value > 0 {
                    self.change(Operator::OffByOne, span, &(value - 1).to_string());
                }
            }
        }
        match op {
            BinaryOp::And | BinaryOp::Or => {
                self.change(Operator::Operand, expr.span, &self.only(expr, l));
                self.change(Operator::Operand, expr.span, &self.only(expr, r));
            }
            BinaryOp::In if is_affinity(right) => self.change(Operator::Affinity, expr.span, "true"),
            BinaryOp::In if !negated => self.change(Operator::Negation, expr.span, &format!("!({l} in {r})")),
            BinaryOp::Intersection if is_affinity(right) => {
                self.change(Operator::Affinity, expr.span, &self.only(expr, l));
            }
            BinaryOp::Intersection if is_affinity(left) => {
                self.change(Operator::Affinity, expr.span, &self.only(expr, r));
            }
            _ => {}
        }
    }

    /// An operand instead of the expression. Keeps the parentheses, which the span of the expression includes.
    fn only(&self, expr: &Expr, operand: &str) -> String {
        if self.text_of(expr.span).starts_with('(') && !operand.starts_with('(') {
            format!("({operand})")
        } else {
            operand.to_owned()
        }
    }

    /// The expression with another operator.
    fn with_operator(&self, expr: &Expr, left: &str, op: &str, right: &str) -> String {
        let text = format!("{left} {op} {right}");
        let whole = self.text_of(expr.span);
        if whole.starts_with('(') && !whole.starts_with(left) { format!("({text})") } else { text }
    }

    fn call(&mut self, expr: &Expr, function: &str, args: &[Expr]) {
        let arg = |at: usize| args.get(at).map(|arg| self.text_of(arg.span)).unwrap_or_default();
        match (function, args.len()) {
            ("llc", 1) => {
                let narrower = format!("smt({})", arg(0));
                self.change(Operator::Group, expr.span, &narrower);
                self.change(Operator::Group, expr.span, "machine");
            }
            ("smt", 1) => {
                let wider = format!("llc({})", arg(0));
                self.change(Operator::Group, expr.span, &wider);
            }
            ("groups", 2) => {
                let other = if arg(1) == "llc" { "smt" } else { "llc" };
                self.change(Operator::Group, args[1].span, other);
            }
            ("claim", 1) => {
                let found = format!("({} in idle)", arg(0));
                self.change(Operator::Claim, expr.span, &found);
                self.change(Operator::Claim, expr.span, "true");
            }
            ("min", 2) => self.extreme(expr, "min", "max"),
            ("max", 2) => self.extreme(expr, "max", "min"),
            _ => {}
        }
    }

    fn iteration(&mut self, iteration: &Iteration, bound: Bound) {
        if iteration.limit.is_none() && bound == Bound::Open {
            let limited = format!("{} limit 1", self.text_of(iteration.span));
            self.change(Operator::FirstCandidate, iteration.span, &limited);
        }
        let set = self.text_of(iteration.set.span);
        let near = ["llc(", "smt("].iter().any(|domain| set.contains(domain));
        let named = !matches!(iteration.set.kind, ExprKind::Member { .. })
            && ["idle", "waiting", "online", "affinity"].iter().any(|name| set.contains(name));
        if let (Some(order), BaseType::Core, true) = (&iteration.order, iteration.ty.base, named && !near) {
            let narrow = format!("{set} & llc({})", self.text_of(order.origin.span));
            self.change(Operator::Narrow, iteration.set.span, &narrow);
        }
    }

    fn search(&mut self, search: &Search, whole: &Expr) {
        if let SearchKind::Extreme { extreme, .. } = &search.kind {
            let (from, to) = words(*extreme);
            self.extreme(whole, from, to);
        }
    }

    /// Replaces the first such word of an expression.
    fn extreme(&mut self, expr: &Expr, from: &str, to: &str) {
        let Some(at) = self.text_of(expr.span).find(from) else { return };
        let start = expr.span.start + at as u32;
        let word = Span { start, end: start + from.len() as u32, ..expr.span };
        self.change(Operator::MinMax, word, to);
    }

    fn select(&mut self, select: &SelectCore) {
        let (from, to) = words(select.extreme);
        let subject = select.subject.span.end;
        let Some(at) = self.text.text[subject as usize..].find(from) else { return };
        let start = subject + at as u32;
        let word = Span { start, end: start + from.len() as u32, ..select.span };
        self.change(Operator::MinMax, word, to);
    }

    fn target(&mut self, target: &Target) {
        if let Target::Ready { queue, .. } = target {
            self.queues(&queue.name, queue.span);
        }
    }

    fn queues(&mut self, name: &str, span: Span) {
        for other in self.names.queues.iter().filter(|other| **other != name) {
            self.change(Operator::Queue, span, other);
        }
    }
}

fn words(extreme: Extreme) -> (&'static str, &'static str) {
    match extreme {
        Extreme::Min => ("min", "max"),
        Extreme::Max => ("max", "min"),
    }
}
