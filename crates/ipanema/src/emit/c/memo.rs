//! Memoisation in steals: of calls in a thread rule that walk over a queue of the thief or of the victim, such as
//! `weight_of(t.core)`.
//!
//! Many threads may wait on a core. With `struct saakm_memo` the rule calls a function at most once per candidate and after
//! each move, not once per thread. A move changes a sum of the weights of waiting threads by the thread's weight; then no
//! further call is necessary.

use super::Unit;
use crate::ir::visit::{Visitor, walk_block, walk_expr, walk_stmt};
use crate::ir::{
    Arithmetic, CoreField, Expr, ExprKind, Function, FunctionId, LocalId, Over, Role, Search, SearchKind,
    Stmt, StmtKind, Target, ThreadField, Type,
};

/// Values that fit in `struct saakm_memo`.
const MOST: usize = 4;

/// A call of a function of one core: the thief, or the core where the thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memo {
    pub function: FunctionId,
    pub of_thief: bool,
}

impl Unit<'_> {
    /// The memoised calls of `function`. Empty, unless it is a thread rule.
    pub fn memos(&self, function: &Function) -> Vec<Memo> {
        let Role::Phase(steal) = function.role else { return Vec::new() };
        let rule = self.policy.steals[steal.index()].steal_thread;
        match rule {
            Some(id) if std::ptr::eq(self.policy.function(id), function) && self.is_shared(id) => {}
            _ => return Vec::new(),
        }
        let mut find = Find { unit: self, found: Vec::new(), reassigns: false };
        walk_block(&mut find, &function.body);
        if find.reassigns {
            return Vec::new();
        }
        find.found.truncate(MOST);
        find.found
    }

    /// True if a move changes the value by the weight of the thread, and by nothing else: the function adds the weights of
    /// all waiting threads to what no move changes. A stolen thread goes to the thief (E0504).
    pub fn follows_weight(&self, memo: Memo) -> bool {
        let function = self.policy.function(memo.function);
        let Some((last, before)) = function.body.split_last() else { return false };
        let StmtKind::Return(Some(value)) = &last.kind else { return false };
        let ExprKind::Arithmetic { op: Arithmetic::Add, left, right } = &value.kind else { return false };
        let mut rest = Constant(true);
        for stmt in before {
            rest.stmt(stmt);
        }
        rest.expr(left);
        self.policy.queues.len() == 1 && adds_weights(right) && rest.0
    }
}

struct Find<'u, 'p> {
    unit: &'u Unit<'p>,
    found: Vec<Memo>,
    /// The rule assigns to a parameter.
    reassigns: bool,
}

impl Visitor for Find<'_, '_> {
    fn stmt(&mut self, stmt: &Stmt) {
        self.reassigns |=
            matches!(&stmt.kind, StmtKind::Assign { target: Target::Local(local), .. } if local.0 < 3);
        walk_stmt(self, stmt);
    }

    fn expr(&mut self, expr: &Expr) {
        if let Some(memo) = call_of_a_core(expr)
            && (expr.ty.is_scalar() || expr.ty == Type::BOOL)
            && self.unit.walks_queues(memo.function)
            && !self.found.contains(&memo)
        {
            self.found.push(memo);
        }
        walk_expr(self, expr);
    }
}

/// True for `sum(thread t in c.queue of t.weight)`, where c is the first parameter.
fn adds_weights(expr: &Expr) -> bool {
    let ExprKind::Search(search) = &expr.kind else { return false };
    let Search { kind: SearchKind::Sum { of }, iteration, filter: None } = &**search else { return false };
    let Over::Threads { core, .. } = &iteration.over else { return false };
    let ExprKind::ThreadField { thread, field: ThreadField::Weight } = &of.kind else { return false };
    iteration.limit.is_none()
        && matches!(core.kind, ExprKind::Local(LocalId(0)))
        && matches!(thread.kind, ExprKind::Local(local) if local == iteration.local)
}

/// Whether what was visited reads only numbers, weights and running threads, and neither returns nor changes
/// the first parameter.
struct Constant(bool);

impl Visitor for Constant {
    fn stmt(&mut self, stmt: &Stmt) {
        use StmtKind as S;
        self.0 &= match &stmt.kind {
            S::Assign { target, .. } => matches!(target, Target::Local(local) if local.0 >= 1),
            S::Let { .. } | S::If { .. } | S::IfSome { .. } | S::Block(_) => true,
            _ => false,
        };
        walk_stmt(self, stmt);
    }

    fn expr(&mut self, expr: &Expr) {
        use ExprKind as E;
        self.0 &= match &expr.kind {
            E::Bool(_) | E::Number(_) | E::None | E::Some(_) | E::Local(_) | E::Arithmetic { .. } => true,
            E::Compare { .. } | E::Logic { .. } | E::Not(_) | E::Conditional { .. } => true,
            E::CoreField { field, .. } => *field == CoreField::Current,
            E::ThreadField { field, .. } => *field == ThreadField::Weight,
            _ => false,
        };
        walk_expr(self, expr);
    }
}

/// A call in a thread rule whose only argument is the thief or `t.core`.
pub fn call_of_a_core(expr: &Expr) -> Option<Memo> {
    const THIEF: LocalId = LocalId(0);
    const THREAD: LocalId = LocalId(2);
    let ExprKind::Call { function, args } = &expr.kind else { return None };
    let [arg] = args.as_slice() else { return None };
    let of_thief = match &arg.kind {
        ExprKind::Local(THIEF) => true,
        ExprKind::ThreadField { thread, field: ThreadField::Core }
            if matches!(thread.kind, ExprKind::Local(THREAD)) =>
        {
            false
        }
        _ => return None,
    };
    Some(Memo { function: *function, of_thief })
}
