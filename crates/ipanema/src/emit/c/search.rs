//! Emission of loops and searches.

use super::body::{Body, C, level, mentions};
use super::contract::{Loop, Pass};
use super::declare::{declarator, none};
use super::logic::search_key;
use super::set::changes;
use crate::ir::effects::{Effects, is_pure};
use crate::ir::{
    Expr, ExprKind, Extreme, Iteration, Level, LocalId, OrderKind, Over, Policy, Search, SearchKind, SetOp,
    Type,
};

/// Variable of an open loop.
pub struct Open {
    pub name: String,
    pub ty: Type,
}

impl Body<'_> {
    /// Opens the C loop of an iteration. `inside` holds the effects of its body.
    pub fn open_loop(&mut self, iteration: &Iteration, inside: &Effects, of: &Loop) -> Open {
        // Operands that are evaluated once, before the loop.
        let origin = iteration.order.as_ref().map(|order| {
            let origin = self.simple(&order.origin, "origin");
            (order.kind, origin)
        });
        let limit = iteration.limit.as_ref().map(|limit| {
            let value = self.expr(limit);
            self.temporary(Type::INT, "left", value).text
        });
        let (head, ty) = match &iteration.over {
            Over::Cores(set) => {
                let words = if changes(inside, set) {
                    let copy = self.copy(set, "members");
                    format!("{copy}->word[w]")
                } else {
                    self.set_words(set).text
                };
                let head = match (&origin, self.within(set)) {
                    (Some((OrderKind::Nearest, origin)), _) => {
                        format!("SAAKM_EACH_NEAREST(s, {{}}, {origin}, w, {words}")
                    }
                    (Some((OrderKind::From, origin)), _) => {
                        format!("SAAKM_EACH_FROM(s, {{}}, {origin}, w, {words}")
                    }
                    (None, Some(group)) => format!("SAAKM_EACH_IN(s, {group}, {{}}, w, {words}"),
                    (None, None) => format!("SAAKM_EACH(s, {{}}, w, {words}"),
                };
                (head, Type::CORE)
            }
            Over::Threads { core, queue } => {
                let core = self.simple(core, "core");
                let queue = &self.unit.names.queue_constants[queue.index()];
                (format!("SAAKM_EACH_THREAD(s, {{}}, {core}, {queue}"), Type::THREAD)
            }
            Over::Groups { domain, level } => {
                let domain = self.simple(domain, "domain");
                let origin = origin.map_or("SAAKM_NO_CORE".to_owned(), |(_, origin)| origin);
                let level = level_constant(*level);
                self.add_group(iteration.local);
                (format!("SAAKM_EACH_GROUP(s, {{}}, {domain}, {level}, {origin}"), Type::DOMAIN)
            }
        };
        let name = self.name(iteration.local);
        self.out.line(&format!("{};", declarator(ty, &name)));
        self.out.blank();
        let contract = self.loop_contract(&name, iteration, of, limit.as_deref());
        self.out.open(&format!("{}{contract}) {{", head.replacen("{}", &name, 1)));
        self.enter();
        if let Some(limit) = limit {
            self.out.open(&format!("if ({limit}-- <= 0) {{"));
            // The same value as after the last iteration.
            self.out.line(&format!("{name} = {};", none(ty)));
            self.out.line("break;");
            self.out.close("}");
        }
        Open { name, ty }
    }

    /// Suppresses the compiler warning about an unused variable.
    pub fn unread(&mut self, local: LocalId) {
        if !self.is_read(local) {
            self.out.line(&format!("(void){};", self.name_of(local)));
        }
    }

    pub fn close_loop(&mut self) {
        self.leave();
        self.out.close("}");
    }

    pub fn search(&mut self, search: &Search, ty: Type) -> C {
        let whole =
            Expr { kind: ExprKind::Search(Box::new(search.clone())), ty, span: search.iteration.span };
        let search = &fused(self.policy, search);
        if let Some(direct) = self.direct(search) {
            return direct;
        }
        match &search.kind {
            SearchKind::First => C::atom(self.first(search).name),
            SearchKind::Any => {
                let found = self.first(search);
                C::new(format!("{} != {}", found.name, none(found.ty)), level::EQUAL)
            }
            SearchKind::Extreme { extreme, by } => self.extreme(search, *extreme, by, ty),
            SearchKind::Sum { of } => self.sum(&whole, search, of, ty),
        }
    }

    /// Searches for which the runtime has a primitive.
    fn direct(&mut self, search: &Search) -> Option<C> {
        if let Some((core, queue)) = search.first_in_queue() {
            let core = self.expr(core).text;
            let queue = &self.unit.names.queue_constants[queue.index()];
            return Some(C::atom(format!("saakm_first(s, {core}, {queue})")));
        }
        let Search { kind, iteration, filter: None } = search else { return None };
        let Iteration { over, order, limit: None, .. } = iteration else { return None };
        match (kind, over) {
            (SearchKind::First, Over::Cores(set)) => {
                let Some(order) = order else { return Some(C::atom(self.pass(Pass::First, set))) };
                let origin = self.simple(&order.origin, "origin");
                let words = self.set_words(set).text;
                let walk = match order.kind {
                    OrderKind::Nearest => "SAAKM_FIRST_NEAREST",
                    OrderKind::From => "SAAKM_FIRST_FROM",
                };
                let contract = self.pass_contract(Pass::First, set, Some((order.kind, &order.origin)));
                Some(C::atom(format!("{walk}(s, {origin}, w, {words}{contract})")))
            }
            (SearchKind::Any, Over::Cores(set)) => {
                let empty = self.pass(Pass::Empty, set);
                Some(C::new(format!("!{empty}"), level::UNARY))
            }
            _ => None,
        }
    }

    /// Leaves the loop at the first matching element; the loop variable is the result.
    fn first(&mut self, search: &Search) -> Open {
        let inside = match &search.filter {
            Some(filter) => self.effects_of_expr(filter),
            None => Effects::default(),
        };
        let of = Loop::First(search);
        let open = self.open_loop(&search.iteration, &inside, &of);
        match &search.filter {
            Some(filter) => {
                let test = self.expr(filter).text;
                self.out.line(&format!("if ({test})"));
                self.out.line("\tbreak;");
            }
            None => self.out.line("break;"),
        }
        self.close_loop();
        self.assert_found(&of, &open.name);
        open
    }

    /// Skips elements that the filter rejects.
    fn filter(&mut self, search: &Search) {
        if let Some(filter) = &search.filter {
            let test = self.negated(filter);
            self.out.line(&format!("if ({test})"));
            self.out.line("\tcontinue;");
        }
    }

    fn extreme(&mut self, search: &Search, extreme: Extreme, by: &[Expr], ty: Type) -> C {
        let none = none(ty);
        let element = &self.function.local(search.iteration.local).name;
        let best = self.fresh(&format!("best_{element}"));
        self.out.line(&format!("{} = {none};", declarator(ty, &best)));
        let word = match extreme {
            Extreme::Min => format!("least_{element}"),
            Extreme::Max => format!("most_{element}"),
        };
        let mut bests = Vec::new();
        for key in by {
            bests.push(self.temporary(key.ty, &word, C::atom("0")).text);
        }
        let of = Loop::Extreme { search, extreme, by, best: &best, bests: &bests };
        let open = self.open_loop(&search.iteration, &Effects::default(), &of);
        self.filter(search);
        self.by_keys(by.len(), extreme, &best, none, &bests, |this, i| {
            let value = this.expr(&by[i]);
            this.temporary(by[i].ty, "key", value).text
        });
        self.out.line(&format!("{best} = {};", open.name));
        self.close_loop();
        self.assert_found(&of, &best);
        C::atom(best)
    }

    /// Skips the element unless it is better than the best so far, and then stores its keys. A key
    /// is computed only if the previous keys are equal.
    pub fn by_keys(
        &mut self,
        count: usize,
        extreme: Extreme,
        best: &str,
        none: &str,
        bests: &[String],
        mut key: impl FnMut(&mut Self, usize) -> String,
    ) {
        let mut keys: Vec<String> = Vec::new();
        for i in 0..count {
            keys.push(key(self, i));
            // At the last key, an equal element is not better either.
            let worse = match (extreme, i + 1 == count) {
                (Extreme::Min, false) => ">",
                (Extreme::Min, true) => ">=",
                (Extreme::Max, false) => "<",
                (Extreme::Max, true) => "<=",
            };
            let mut test = format!("{best} != {none}");
            for j in 0..i {
                test += &format!(" && {} == {}", keys[j], bests[j]);
            }
            test += &format!(" && {} {worse} {}", keys[i], bests[i]);
            self.out.line(&format!("if ({test})"));
            self.out.line("\tcontinue;");
        }
        for (key, best) in keys.iter().zip(bests) {
            self.out.line(&format!("{best} = SAAKM_FORGET({key});"));
        }
    }

    fn sum(&mut self, whole: &Expr, search: &Search, of: &Expr, ty: Type) -> C {
        let sum = self.temporary(ty, "sum", C::atom("0"));
        let key = match &whole.kind {
            ExprKind::Search(search) => search_key(search),
            _ => String::new(),
        };
        let loops = Loop::Sum { whole, key: &key, sum: &sum.text };
        self.open_loop(&search.iteration, &Effects::default(), &loops);
        let local = search.iteration.local;
        if !mentions(of, local) && !search.filter.as_ref().is_some_and(|filter| mentions(filter, local)) {
            self.out.line(&format!("(void){};", self.name_of(local)));
        }
        self.filter(search);
        let value = self.expr(of).within(level::PRODUCT);
        self.out.line(&format!("{0} = SAAKM_FORGET({0} + {value});", sum.text));
        self.close_loop();
        self.assert_found(&loops, &sum.text);
        sum
    }
}

/// Moves filter conditions of the form `c in s` and `!(c in s)` into the set, so that rejected
/// elements are never visited. For a sum, the filter is the condition in `of test ? value : 0`.
fn fused(policy: &Policy, search: &Search) -> Search {
    let mut search = search.clone();
    if let SearchKind::Sum { of } = &search.kind
        && let ExprKind::Conditional { test, then, otherwise } = &of.kind
        && matches!(otherwise.kind, ExprKind::Number(0))
        && conjuncts(test).into_iter().any(|test| set_test(test, search.iteration.local).is_some())
    {
        search.filter = Some((**test).clone());
        search.kind = SearchKind::Sum { of: (**then).clone() };
    }
    let Some(filter) = &search.filter else { return search };
    // A limit also counts rejected elements, and a filter with effects must see every element.
    if search.iteration.limit.is_some() || !is_pure(policy, filter) {
        return search;
    }
    let Over::Cores(set) = &mut search.iteration.over else { return search };
    let mut rest: Option<Expr> = None;
    for test in conjuncts(filter) {
        match set_test(test, search.iteration.local) {
            Some((op, other)) => {
                let (left, right) = (Box::new(set.clone()), Box::new(other.clone()));
                set.kind = ExprKind::SetOp { op, left, right };
            }
            None => {
                rest = Some(match rest {
                    None => test.clone(),
                    Some(before) => {
                        let (left, right) = (Box::new(before), Box::new(test.clone()));
                        let kind = ExprKind::Logic { and: true, left, right };
                        Expr { kind, ty: Type::BOOL, span: filter.span }
                    }
                });
            }
        }
    }
    search.filter = rest;
    search
}

fn conjuncts(test: &Expr) -> Vec<&Expr> {
    match &test.kind {
        ExprKind::Logic { and: true, left, right } => [conjuncts(left), conjuncts(right)].concat(),
        _ => vec![test],
    }
}

/// `c in set` or `!(c in set)`, where the set does not depend on the element.
fn set_test(test: &Expr, element: LocalId) -> Option<(SetOp, &Expr)> {
    let (op, test) = match &test.kind {
        ExprKind::Not(inner) => (SetOp::Difference, &**inner),
        _ => (SetOp::Intersection, test),
    };
    let ExprKind::In { core, set } = &test.kind else { return None };
    let is_element = matches!(core.kind, ExprKind::Local(id) if id == element);
    (is_element && !mentions(set, element)).then_some((op, &**set))
}

pub fn level_constant(level: Level) -> &'static str {
    match level {
        Level::Smt => "SAAKM_SMT",
        Level::Llc => "SAAKM_LLC",
        Level::Numa => "SAAKM_NUMA",
        Level::Machine => "SAAKM_MACHINE",
    }
}
