//! Iterations and searches.

use super::body::Lowering;
use crate::codes::{BAD_ITERATION, MISMATCH};
use crate::diagnostic::Diagnostic;
use crate::ir::{BaseType, Expr, ExprKind, Iteration, Order, OrderKind, Over, Search, SearchKind, Type};
use crate::syntax::Span;
use crate::syntax::ast::{self, ExprKind as Ast};

impl Lowering<'_, '_> {
    pub(super) fn search(&mut self, search: &ast::Search, span: Span) -> Option<Expr> {
        self.scoped(|this| {
            let iteration = this.iteration(&search.iteration);
            let filter = search.filter.as_ref().map(|filter| this.expr_of(filter, Type::BOOL));
            let element = this.ty(&search.iteration.ty).held();
            let (kind, ty) = match &search.kind {
                ast::SearchKind::First => (SearchKind::First, element.optional()),
                ast::SearchKind::Any => (SearchKind::Any, Type::BOOL),
                ast::SearchKind::Extreme { extreme, by } => {
                    let keys: Vec<Option<Expr>> = by.iter().map(|key| this.key(key)).collect();
                    let by = keys.into_iter().collect::<Option<Vec<_>>>()?;
                    (SearchKind::Extreme { extreme: *extreme, by }, element.optional())
                }
                ast::SearchKind::Sum { of } => {
                    let of = this.expr(of, None)?;
                    if !of.ty.is_scalar() {
                        let message = format!("{} cannot be summed", of.ty.with_article());
                        this.error(Diagnostic::error(MISMATCH, of.span, message));
                        return None;
                    }
                    let ty = of.ty;
                    (SearchKind::Sum { of }, ty)
                }
            };
            let filter = match filter {
                Some(filter) => Some(filter?),
                None => None,
            };
            let search = Search { kind, iteration: iteration?, filter };
            Some(Expr { kind: ExprKind::Search(Box::new(search)), ty, span })
        })
    }

    /// Lowers an iteration. Declares its variable in the innermost scope even if there are errors.
    pub(super) fn iteration(&mut self, node: &ast::Iteration) -> Option<Iteration> {
        // Set, order and limit are evaluated before there is an element.
        let over = self.over(node);
        let order = node.order.as_ref().map(|order| self.order(order, node));
        let limit = node.limit.as_ref().map(|limit| self.expr_of(limit, Type::INT));
        let ty = self.ty(&node.ty);
        let fixed = Err("loop variables are not assignable");
        let local = self.declare_as(&node.name, ty, fixed);
        let over = over?;
        let order = match order {
            Some(order) => Some(order?),
            None => None,
        };
        let limit = match limit {
            Some(limit) => Some(limit?),
            None => None,
        };
        Some(Iteration { local, over, order, limit, span: node.span })
    }

    fn over(&mut self, node: &ast::Iteration) -> Option<Over> {
        match self.ty(&node.ty) {
            Type::CORE => Some(Over::Cores(self.expr_of(&node.set, Type::SET)?)),
            Type::THREAD => self.queue_of(&node.set),
            Type::DOMAIN => {
                if let Ast::Call { function, args } = &node.set.kind
                    && function.name == "groups"
                {
                    let (domain, level) = self.groups(function, args, node.set.span)?;
                    return Some(Over::Groups { domain, level });
                }
                let message = "domains can be iterated only with `groups(domain, level)`";
                self.error(Diagnostic::error(BAD_ITERATION, node.set.span, message));
                None
            }
            other => {
                let message = format!("{} cannot be iterated", other.with_article());
                self.error(
                    Diagnostic::error(BAD_ITERATION, node.ty.span, message)
                        .help("iterate over a core, a thread or a domain"),
                );
                None
            }
        }
    }

    /// A ready queue `core.queue`.
    fn queue_of(&mut self, set: &ast::Expr) -> Option<Over> {
        if let Ast::Member { object, member } = &set.kind
            && let Some(queue) = self.context.queue(&member.name)
        {
            self.context.uses(member.span, self.context.policy.queues[queue.index()].at.span);
            return Some(Over::Threads { core: self.expr_of(object, Type::CORE)?, queue });
        }
        let message = "threads can be iterated only in a ready queue of a core";
        let queue = self.context.policy.queues.first().map_or("ready", |q| &q.name);
        let help = format!("write, for example, `thread t in c.{queue}`");
        self.error(Diagnostic::error(BAD_ITERATION, set.span, message).help(help));
        None
    }

    fn order(&mut self, order: &ast::Order, node: &ast::Iteration) -> Option<Order> {
        let refused = match (node.ty.base, order.kind) {
            (BaseType::Thread, _) => Some("an iteration over threads has the order of the queue"),
            (BaseType::Domain, OrderKind::Nearest) => {
                Some("`nearest` is not available for domains: use `from`")
            }
            _ => None,
        };
        if let Some(message) = refused {
            self.error(Diagnostic::error(BAD_ITERATION, order.span, message));
            return None;
        }
        Some(Order { kind: order.kind, origin: self.expr_of(&order.origin, Type::CORE)? })
    }
}
