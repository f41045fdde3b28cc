//! Searches and loops as programs.

use super::alone::{LABEL, VISITED};
use super::program::Program;
use super::term::Terms;
use super::unit::{Scope, why_type};
use super::watch::Watch;
use crate::whyml::{Step, Why, app, assign, conditional, deref, exists, forall, not, unit};
use hearth_ipanema::ir::effects::is_pure;
use hearth_ipanema::ir::{BaseType, Expr, Extreme, Iteration, LocalId, Over, Search, SearchKind, Stmt, Type};
use std::collections::HashSet;

impl<'p> Program<'_, 'p> {
    pub fn search(&self, scope: &Scope<'p>, search: &Search) -> Why {
        let found = match search.iteration.over {
            Over::Cores(_) => Type::CORE,
            Over::Groups { .. } => Type::DOMAIN,
            Over::Threads { .. } => Type::THREAD,
        };
        if let Some(filter) = &search.filter
            && !is_pure(self.unit.policy, filter)
        {
            return self.trying(scope, search, filter, found);
        }
        if self.watch.is_vague() {
            let ty = if matches!(search.kind, SearchKind::Any) { Type::BOOL } else { found.optional() };
            return Why::Any(why_type(ty));
        }
        match &search.kind {
            SearchKind::Any => self.find(scope, search, Type::BOOL, &[]),
            SearchKind::First => self.find(scope, search, found.optional(), &[]),
            SearchKind::Extreme { extreme, by } => {
                let keys: Vec<_> = by.iter().map(|key| (*extreme, key)).collect();
                self.find(scope, search, found.optional(), &keys)
            }
            // Sums in programs are arbitrary.
            SearchKind::Sum { .. } => Why::Any("int"),
        }
    }

    /// A pure search. Without a limit it visits all elements.
    fn find(&self, scope: &Scope<'p>, search: &Search, ty: Type, keys: &[(Extreme, &Expr)]) -> Why {
        let r = self.unit.fresh("r");
        let start = self.unit.places();
        let e = self.unit.fresh("e");
        let is_one = |x: &str| {
            self.unit.back_to(start);
            let mut terms = self.terms(&r, x);
            if ty.base == BaseType::Thread {
                terms.element = "0".into();
            }
            let mut scope = scope.clone();
            scope.bind(search.iteration.local, x);
            let member = terms.element_of(&scope, search, &x.into());
            if ty.base == BaseType::Thread {
                terms.element = app!("number", x);
            }
            let keys: Vec<Why> = keys.iter().map(|(_, key)| known(&mut terms, &scope, key)).collect();
            (member, keys)
        };
        let range = |x: &str| match search.iteration.over {
            Over::Cores(_) => app!("is_core", x),
            _ => "true".into(),
        };
        let (member, keys_of_e) = is_one(&e);
        let limited = search.iteration.limit.is_some();
        let result = || Why::from("result");
        if ty == Type::BOOL {
            let op = if limited { "->" } else { "<->" };
            return self.read(&r, ty, member, |member| result().infix(op, exists(&e, range(&e).and(member))));
        }
        let none = match limited {
            true => "true".into(),
            false => forall(&e, range(&e).implies(not(member.clone()))),
        };
        let mut one = vec![range(&e), member];
        if !keys.is_empty() && !limited && !self.watch.is_about_affinity() {
            let f = self.unit.fresh("f");
            let (member_f, keys_of_f) = is_one(&f);
            let order = in_order(keys, &keys_of_e, &keys_of_f);
            one.push(forall(&f, range(&f).implies(member_f.implies(order))));
        }
        let (some, nothing) = super::term::cases(ty);
        let none = result().equals(nothing).implies(none);
        let one = forall(&e, result().equals(app!(some, &e)).implies(Why::all(one)));
        self.read(&r, ty, one, |one| none.clone().and(one))
    }

    fn terms<'t>(&'t self, readings: &str, element: impl Into<Why>) -> Terms<'t, 'p> {
        let mut terms = Terms::new(self.unit, readings, element);
        terms.blind = self.watch.is_about_affinity();
        terms.alone = self.watch == Watch::Alone;
        terms
    }

    /// A search whose filter has effects, which occur once per visited element.
    fn trying(&self, scope: &Scope<'p>, search: &Search, filter: &Expr, found: Type) -> Why {
        let mut inner = scope.clone();
        let x = self.unit.fresh("x");
        inner.bind(search.iteration.local, &x);
        let result = self.unit.fresh("found");
        let (some, none) = super::term::cases(found.optional());
        let element = self.element(scope, &search.iteration, found);
        let holds = self.expr(&inner, filter);
        let take = vec![Step::Do(assign(&result, app!(some, &x)))];
        let round = vec![Step::Let(x, element)];
        let round = Why::block(round, conditional(holds, Why::block(take, "break".into()), unit()));
        let value = match search.kind {
            SearchKind::Any => deref(&result).infix("<>", none),
            _ => deref(&result),
        };
        let rounds = self.rounds(round, &[deref(&result).equals(none)]);
        let start = Step::Let(result, app!("ref", none));
        Why::block([start].into_iter().chain(rounds).collect(), value)
    }

    pub fn for_each(
        &self,
        scope: &Scope<'p>,
        iteration: &Iteration,
        body: &[Stmt],
        assigned: &HashSet<LocalId>,
        steps: &mut Vec<Step>,
    ) {
        let found = scope.function.local(iteration.local).ty;
        if self.watch == Watch::Alone && found == Type::CORE {
            return self.for_each_core(scope, iteration, body, assigned, steps);
        }
        let x = self.unit.fresh(&scope.function.local(iteration.local).name);
        let element = self.element(scope, iteration, found);
        let mut inner = scope.clone();
        inner.bind(iteration.local, &x);
        let body = self.nested(&inner, body, assigned);
        steps.extend(self.rounds(Why::block(vec![Step::Let(x, element)], body), &[]));
    }

    /// Any number of rounds of a loop.
    pub fn rounds(&self, body: Why, also: &[Why]) -> [Step; 2] {
        self.rounds_over(body, also, &"no_core".into())
    }

    /// The same for a loop over cores. `visited`: the set of those visited.
    pub fn rounds_over(&self, body: Why, also: &[Why], visited: &Why) -> [Step; 2] {
        let label = self.unit.fresh("Loop").replace("loop", "Loop");
        let mut invariants: Vec<Why> = self.loop_invariants.iter().chain(also).cloned().collect();
        for invariant in &mut invariants {
            invariant.substitute(LABEL, &(&label).into());
            invariant.substitute(VISITED, visited);
        }
        [Step::Label(label), Step::Loop { invariants, body }]
    }

    /// An arbitrary element of a loop.
    fn element(&self, scope: &Scope<'p>, iteration: &Iteration, ty: Type) -> Why {
        if self.watch.is_vague() {
            return Why::Any(why_type(ty));
        }
        let search = Search { kind: SearchKind::First, iteration: iteration.clone(), filter: None };
        let r = self.unit.fresh("r");
        let element = if ty.base == BaseType::Thread { "0" } else { "result" };
        let mut terms = self.terms(&r, element);
        let member = terms.element_of(scope, &search, &"result".into());
        let range = |member: Why| app!("is_core", "result").and(member);
        self.read(&r, ty, member, |member| if ty == Type::CORE { range(member) } else { member })
    }
}

/// A key. A key with an arbitrary part is arbitrary as a whole, which shortens the proof.
fn known(terms: &mut Terms, scope: &Scope, key: &Expr) -> Why {
    let term = terms.expr(scope, key);
    let is_unknown = term.any(&mut |part| matches!(part, Why::App(function, _) if function == "unknown"));
    if is_unknown { terms.unknown(key.ty) } else { term }
}

/// The formula that the keys of `e` come before those of `f` or are equal.
fn in_order(keys: &[(Extreme, &Expr)], e: &[Why], f: &[Why]) -> Why {
    keys.iter().enumerate().rev().fold("true".into(), |order, (i, (extreme, _))| {
        let (e, f) = (e[i].clone(), &f[i]);
        let less = if *extreme == Extreme::Min { "<" } else { ">" };
        e.clone().infix(less, f).or(e.equals(f).and(order))
    })
}
