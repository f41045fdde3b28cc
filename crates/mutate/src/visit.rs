//! Goes through the syntax tree of a policy, and shows each node with what it stands in.

use hearth_ipanema::syntax::ast::{
    BaseType, Block, Condition, Expr, ExprKind, Item, ItemKind, Iteration, Policy, Search, SearchKind,
    SelectCore, Steal, Stmt, StmtKind, Target,
};

/// A syntax node, as passed to the visitor.
pub enum Node<'a> {
    Stmt(&'a Stmt),
    Expr(&'a Expr),
    /// The test of an `if`, a filter, or what a function returns that says yes or no.
    Condition(&'a Expr),
    Iteration(&'a Iteration, Bound),
    Search(&'a Search, &'a Expr),
    Select(&'a SelectCore),
    Steal(&'a Steal),
    Target(&'a Target),
}

/// Does it matter how many elements an iteration looks at?
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// It may look at several.
    Open,
    /// It takes the first one whatever it is.
    First,
}

type See<'v, 'a> = &'v mut dyn FnMut(Node<'a>);

pub fn policy<'a>(policy: &'a Policy, see: See<'_, 'a>) {
    policy.items.iter().for_each(|item| self::item(item, see));
}

fn item<'a>(item: &'a Item, see: See<'_, 'a>) {
    match &item.kind {
        ItemKind::Function(f) => {
            let asks = f.result.as_ref().is_some_and(|ty| ty.base == BaseType::Bool);
            block(&f.body, asks, see);
        }
        ItemKind::Handler(handler) => block(&handler.body, false, see),
        ItemKind::Steal(steal) => self::steal(steal, see),
        _ => {}
    }
}

fn steal<'a>(steal: &'a Steal, see: See<'_, 'a>) {
    see(Node::Steal(steal));
    if let Some(phase) = &steal.can_steal_core {
        block(&phase.body, true, see);
    }
    if let Some(select) = &steal.select_core {
        see(Node::Select(select));
        select.by.iter().for_each(|key| expr(key, see));
    }
    if let Some(phase) = &steal.steal_thread {
        block(&phase.body, true, see);
    }
    for stop in [&steal.stop_core, &steal.stop].into_iter().flatten() {
        block(&stop.body, true, see);
    }
    if let Some(phase) = &steal.move_thread {
        block(&phase.body, false, see);
    }
}

fn block<'a>(block: &'a Block, asks: bool, see: See<'_, 'a>) {
    block.stmts.iter().for_each(|s| stmt(s, asks, see));
}

/// `asks`: what is returned says yes or no.
fn stmt<'a>(stmt: &'a Stmt, asks: bool, see: See<'_, 'a>) {
    see(Node::Stmt(stmt));
    match &stmt.kind {
        StmtKind::Local { value, .. } | StmtKind::Assign { value, .. } => expr(value, see),
        StmtKind::If { condition, then, otherwise } => {
            match condition {
                Condition::Test(test) => self::condition(test, see),
                Condition::Bind { value, .. } => expr(value, see),
            }
            self::stmt(then, asks, see);
            if let Some(otherwise) = otherwise {
                self::stmt(otherwise, asks, see);
            }
        }
        StmtKind::For { iteration, body } => {
            self::iteration(iteration, Bound::Open, see);
            self::stmt(body, asks, see);
        }
        StmtKind::Return(Some(value)) if asks => condition(value, see),
        StmtKind::Return(Some(value)) | StmtKind::Call(value) => expr(value, see),
        StmtKind::Transition { thread, target, .. } => {
            expr(thread, see);
            see(Node::Target(target));
            if let Target::Ready { core, .. } = target {
                expr(core, see);
            }
        }
        StmtKind::Block(b) => block(b, asks, see),
        StmtKind::Return(None) | StmtKind::Break | StmtKind::Continue | StmtKind::Super => {}
    }
}

fn condition<'a>(test: &'a Expr, see: See<'_, 'a>) {
    see(Node::Condition(test));
    expr(test, see);
}

fn iteration<'a>(iteration: &'a Iteration, bound: Bound, see: See<'_, 'a>) {
    see(Node::Iteration(iteration, bound));
    expr(&iteration.set, see);
    if let Some(order) = &iteration.order {
        expr(&order.origin, see);
    }
    if let Some(limit) = &iteration.limit {
        expr(limit, see);
    }
}

fn expr<'a>(e: &'a Expr, see: See<'_, 'a>) {
    see(Node::Expr(e));
    match &e.kind {
        ExprKind::Member { object, .. } => expr(object, see),
        ExprKind::Call { args, .. } | ExprKind::SuperCall { args, .. } => {
            args.iter().for_each(|arg| expr(arg, see));
        }
        ExprKind::MethodCall { receiver, args, .. } => {
            expr(receiver, see);
            args.iter().for_each(|arg| expr(arg, see));
        }
        ExprKind::Unary { operand, .. } => expr(operand, see),
        ExprKind::Binary { left, right, .. } => {
            expr(left, see);
            expr(right, see);
        }
        ExprKind::Conditional { condition: test, then, otherwise } => {
            condition(test, see);
            expr(then, see);
            expr(otherwise, see);
        }
        ExprKind::Default { optional, default } => {
            expr(optional, see);
            expr(default, see);
        }
        ExprKind::Search(search) => self::search(search, e, see),
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Time { .. }
        | ExprKind::Frequency { .. }
        | ExprKind::None
        | ExprKind::Name(_) => {}
    }
}

fn search<'a>(search: &'a Search, whole: &'a Expr, see: See<'_, 'a>) {
    see(Node::Search(search, whole));
    let first = matches!(search.kind, SearchKind::First | SearchKind::Any) && search.filter.is_none();
    iteration(&search.iteration, if first { Bound::First } else { Bound::Open }, see);
    match &search.kind {
        SearchKind::Extreme { by, .. } => by.iter().for_each(|key| expr(key, see)),
        SearchKind::Sum { of } => expr(of, see),
        SearchKind::First | SearchKind::Any => {}
    }
    if let Some(filter) = &search.filter {
        condition(filter, see);
    }
}
