//! A visitor of a policy's syntax tree.

use hearth_ipanema::syntax::ast::{
    BaseType, Block, Condition, Expr, ExprKind, Item, ItemKind, Iteration, Policy, Search, SearchKind,
    SelectCore, Steal, Stmt, StmtKind, Target,
};

/// A syntax node with its context.
pub enum Node<'a> {
    Stmt(&'a Stmt),
    Expr(&'a Expr),
    /// A Boolean expression that decides: the test of an `if`, a filter, or the result of a Boolean function.
    Condition(&'a Expr),
    Iteration(&'a Iteration, Bound),
    Search(&'a Search, &'a Expr),
    Select(&'a SelectCore),
    Steal(&'a Steal),
    Target(&'a Target),
}

/// Whether a limit changes an iteration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// It may visit several elements.
    Open,
    /// It takes the first element.
    First,
}

type Visitor<'v, 'a> = &'v mut dyn FnMut(Node<'a>);

pub fn policy<'a>(policy: &'a Policy, visit: Visitor<'_, 'a>) {
    policy.items.iter().for_each(|item| self::item(item, visit));
}

fn item<'a>(item: &'a Item, visit: Visitor<'_, 'a>) {
    match &item.kind {
        ItemKind::Function(f) => {
            let is_bool = f.result.as_ref().is_some_and(|ty| ty.base == BaseType::Bool);
            block(&f.body, is_bool, visit);
        }
        ItemKind::Handler(handler) => block(&handler.body, false, visit),
        ItemKind::Steal(steal) => self::steal(steal, visit),
        _ => {}
    }
}

fn steal<'a>(steal: &'a Steal, visit: Visitor<'_, 'a>) {
    visit(Node::Steal(steal));
    if let Some(phase) = &steal.can_steal_core {
        block(&phase.body, true, visit);
    }
    if let Some(select) = &steal.select_core {
        visit(Node::Select(select));
        select.by.iter().for_each(|key| expr(key, visit));
    }
    if let Some(phase) = &steal.steal_thread {
        block(&phase.body, true, visit);
    }
    for stop in [&steal.stop_core, &steal.stop].into_iter().flatten() {
        block(&stop.body, true, visit);
    }
    if let Some(phase) = &steal.move_thread {
        block(&phase.body, false, visit);
    }
}

fn block<'a>(block: &'a Block, is_bool: bool, visit: Visitor<'_, 'a>) {
    block.stmts.iter().for_each(|s| stmt(s, is_bool, visit));
}

/// `is_bool` tells whether the enclosing function returns a Boolean.
fn stmt<'a>(stmt: &'a Stmt, is_bool: bool, visit: Visitor<'_, 'a>) {
    visit(Node::Stmt(stmt));
    match &stmt.kind {
        StmtKind::Local { value, .. } | StmtKind::Assign { value, .. } => expr(value, visit),
        StmtKind::If { condition, then, otherwise } => {
            match condition {
                Condition::Test(test) => self::condition(test, visit),
                Condition::Bind { value, .. } => expr(value, visit),
            }
            self::stmt(then, is_bool, visit);
            if let Some(otherwise) = otherwise {
                self::stmt(otherwise, is_bool, visit);
            }
        }
        StmtKind::For { iteration, body } => {
            self::iteration(iteration, Bound::Open, visit);
            self::stmt(body, is_bool, visit);
        }
        StmtKind::Return(Some(value)) if is_bool => condition(value, visit),
        StmtKind::Return(Some(value)) | StmtKind::Call(value) => expr(value, visit),
        StmtKind::Transition { thread, target, .. } => {
            expr(thread, visit);
            visit(Node::Target(target));
            if let Target::Ready { core, .. } = target {
                expr(core, visit);
            }
        }
        StmtKind::Block(b) => block(b, is_bool, visit),
        StmtKind::Return(None) | StmtKind::Break | StmtKind::Continue | StmtKind::Super => {}
    }
}

fn condition<'a>(test: &'a Expr, visit: Visitor<'_, 'a>) {
    visit(Node::Condition(test));
    expr(test, visit);
}

fn iteration<'a>(iteration: &'a Iteration, bound: Bound, visit: Visitor<'_, 'a>) {
    visit(Node::Iteration(iteration, bound));
    expr(&iteration.set, visit);
    if let Some(order) = &iteration.order {
        expr(&order.origin, visit);
    }
    if let Some(limit) = &iteration.limit {
        expr(limit, visit);
    }
}

fn expr<'a>(e: &'a Expr, visit: Visitor<'_, 'a>) {
    visit(Node::Expr(e));
    match &e.kind {
        ExprKind::Member { object, .. } => expr(object, visit),
        ExprKind::Call { args, .. } | ExprKind::SuperCall { args, .. } => {
            args.iter().for_each(|arg| expr(arg, visit));
        }
        ExprKind::MethodCall { receiver, args, .. } => {
            expr(receiver, visit);
            args.iter().for_each(|arg| expr(arg, visit));
        }
        ExprKind::Unary { operand, .. } => expr(operand, visit),
        ExprKind::Binary { left, right, .. } => {
            expr(left, visit);
            expr(right, visit);
        }
        ExprKind::Conditional { condition: test, then, otherwise } => {
            condition(test, visit);
            expr(then, visit);
            expr(otherwise, visit);
        }
        ExprKind::Default { optional, default } => {
            expr(optional, visit);
            expr(default, visit);
        }
        ExprKind::Search(search) => self::search(search, e, visit),
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Time { .. }
        | ExprKind::Frequency { .. }
        | ExprKind::None
        | ExprKind::Name(_) => {}
    }
}

fn search<'a>(search: &'a Search, whole: &'a Expr, visit: Visitor<'_, 'a>) {
    visit(Node::Search(search, whole));
    let first = matches!(search.kind, SearchKind::First | SearchKind::Any) && search.filter.is_none();
    iteration(&search.iteration, if first { Bound::First } else { Bound::Open }, visit);
    match &search.kind {
        SearchKind::Extreme { by, .. } => by.iter().for_each(|key| expr(key, visit)),
        SearchKind::Sum { of } => expr(of, visit),
        SearchKind::First | SearchKind::Any => {}
    }
    if let Some(filter) = &search.filter {
        condition(filter, visit);
    }
}
