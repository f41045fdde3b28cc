//! Searches and loops as programs.

use super::alone::VISITED;
use super::program::Program;
use super::term::Terms;
use super::text::block;
use super::unit::{Scope, why_type};
use super::watch::Watch;
use hearth_ipanema::ir::effects::is_pure;
use hearth_ipanema::ir::{BaseType, Expr, Extreme, Iteration, LocalId, Over, Search, SearchKind, Stmt, Type};
use std::collections::HashSet;

impl<'p> Program<'_, 'p> {
    pub fn search(&self, scope: &Scope<'p>, search: &Search) -> String {
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
            return format!("(any {})", why_type(ty));
        }
        match &search.kind {
            SearchKind::Any => self.find(scope, search, Type::BOOL, &[]),
            SearchKind::First => self.find(scope, search, found.optional(), &[]),
            SearchKind::Extreme { extreme, by } => {
                let keys: Vec<_> = by.iter().map(|key| (*extreme, key)).collect();
                self.find(scope, search, found.optional(), &keys)
            }
            // Sums in programs are arbitrary.
            SearchKind::Sum { .. } => "(any int)".into(),
        }
    }

    /// A pure search. Without a limit it visits all elements.
    fn find(&self, scope: &Scope<'p>, search: &Search, ty: Type, keys: &[(Extreme, &Expr)]) -> String {
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
            scope.bind(search.iteration.local, x.to_owned());
            let member = terms.element_of(&scope, search, x);
            if ty.base == BaseType::Thread {
                terms.element = format!("(number {x})");
            }
            let keys: Vec<String> = keys.iter().map(|(_, key)| known(&mut terms, &scope, key)).collect();
            (member, keys)
        };
        let range = if matches!(search.iteration.over, Over::Cores(_)) {
            format!("is_core {e}")
        } else {
            "true".into()
        };
        let (member, keys_of_e) = is_one(&e);
        let limited = search.iteration.limit.is_some();
        if ty == Type::BOOL {
            let op = if limited { "->" } else { "<->" };
            return self.read(&r, ty, &format!("result {op} exists {e}. {range} /\\ {member}"));
        }
        let none = match limited {
            true => "true".into(),
            false => format!("forall {e}. {range} -> not {member}"),
        };
        let mut one = format!("{range} /\\ {member}");
        if !keys.is_empty() && !limited && !self.watch.is_about_affinity() {
            let f = self.unit.fresh("f");
            let (member_f, keys_of_f) = is_one(&f);
            let order = in_order(keys, &keys_of_e, &keys_of_f);
            one += &format!("\n    /\\ forall {f}. {} -> {member_f} -> {order}", range.replace(&e, &f));
        }
        let (some, nothing) = super::term::cases(ty);
        let spec =
            format!("(result = {nothing} -> {none}) /\\\n  (forall {e}. result = {some} {e} -> {one})");
        self.read(&r, ty, &spec)
    }

    fn terms<'t>(&'t self, readings: &str, element: &str) -> Terms<'t, 'p> {
        let mut terms = Terms::new(self.unit, readings, element);
        terms.blind = self.watch.is_about_affinity();
        terms.alone = self.watch == Watch::Alone;
        terms
    }

    /// A search whose filter has effects, which occur once per visited element.
    fn trying(&self, scope: &Scope<'p>, search: &Search, filter: &Expr, found: Type) -> String {
        let mut inner = scope.clone();
        let x = self.unit.fresh("x");
        inner.bind(search.iteration.local, x.clone());
        let result = self.unit.fresh("found");
        let (some, none) = super::term::cases(found.optional());
        let element = self.element(scope, &search.iteration, found);
        let holds = self.expr(&inner, filter);
        let body = format!("let {x} = {element} in\nif {holds} then begin {result} := {some} {x}; break end");
        let value = match search.kind {
            SearchKind::Any => format!("(!{result} <> {none})"),
            _ => format!("!{result}"),
        };
        let rounds = self.rounds(&body, &[format!("!{result} = {none}")]);
        format!("(let {result} = ref {none} in\n{rounds}\n{value})")
    }

    pub fn for_each(
        &self,
        scope: &Scope<'p>,
        iteration: &Iteration,
        body: &[Stmt],
        assigned: &HashSet<LocalId>,
    ) -> String {
        let found = scope.function.local(iteration.local).ty;
        if self.watch == Watch::Alone && found == Type::CORE {
            return self.for_each_core(scope, iteration, body, assigned);
        }
        let x = self.unit.fresh(&scope.function.local(iteration.local).name);
        let element = self.element(scope, iteration, found);
        let mut inner = scope.clone();
        inner.bind(iteration.local, x.clone());
        let body = self.nested(&inner, body, assigned);
        self.rounds(&format!("let {x} = {element} in\n{body}"), &[]) + "\n"
    }

    /// Any number of rounds of a loop.
    pub fn rounds(&self, body: &str, also: &[String]) -> String {
        self.rounds_over(body, also, "no_core")
    }

    /// The same for a loop over cores. `visited`: the set of those visited.
    pub fn rounds_over(&self, body: &str, also: &[String], visited: &str) -> String {
        let label = self.unit.fresh("Loop").replace("loop", "Loop");
        let invariants: String =
            self.loop_invariants.iter().chain(also).map(|i| format!("invariant {{ {i} }}\n")).collect();
        let invariants = invariants.replace("LABEL", &label).replace(VISITED, visited);
        let body = block(&format!("{invariants}{body}")).replacen("begin\n", "do\n", 1);
        let body = body.strip_suffix("end").unwrap_or(&body).to_owned() + "done";
        format!("label {label} in\nfor _round = 1 to any_count () {body};")
    }

    /// An arbitrary element of a loop.
    fn element(&self, scope: &Scope<'p>, iteration: &Iteration, ty: Type) -> String {
        if self.watch.is_vague() {
            return format!("any {}", why_type(ty));
        }
        let search = Search { kind: SearchKind::First, iteration: iteration.clone(), filter: None };
        let r = self.unit.fresh("r");
        let element = if ty.base == BaseType::Thread { "0" } else { "result" };
        let mut terms = self.terms(&r, element);
        let member = terms.element_of(scope, &search, "result");
        let range = if ty == Type::CORE { "is_core result /\\ " } else { "" };
        self.read(&r, ty, &format!("{range}{member}"))
    }
}

/// A key. A key with an arbitrary part is arbitrary as a whole, which shortens the proof.
fn known(terms: &mut Terms, scope: &Scope, key: &Expr) -> String {
    let text = terms.expr(scope, key);
    if text.contains("(unknown ") { terms.unknown(key.ty) } else { text }
}

/// The formula that the keys of `e` come before those of `f` or are equal.
fn in_order(keys: &[(Extreme, &Expr)], e: &[String], f: &[String]) -> String {
    let mut order = "true".to_owned();
    for (i, (extreme, _)) in keys.iter().enumerate().rev() {
        let less = if *extreme == Extreme::Min { "<" } else { ">" };
        order = format!("({e} {less} {f} \\/ ({e} = {f} /\\ {order}))", e = e[i], f = f[i]);
    }
    order
}
