//! Pass "emit": bodies as WhyML programs.
//!
//! Calls are inlined. A `return` is an exception that the call catches; a transition is an exception that ends the
//! event. Other events run between two accesses to shared state (`look`, `env`). Effects that are not watched are left
//! out, and values that depend on them are arbitrary.

use super::events::CONSISTENT;
use super::inline::needs_program;
use super::names;
use super::term::{Hoisted, Terms, cases, some};
use super::unit::{Scope, Unit, why_type};
use super::watch::{Watch, tells_affinity};
use crate::whyml::{Case, Step, Why, app, assign, conditional, either, exists, forall, not, raise, unit};
use hearth_ipanema::ir::effects::{Access, Effects, assigned};
use hearth_ipanema::ir::visit::Visitor;
use hearth_ipanema::ir::{
    BaseType, Expr, ExprKind, Function, FunctionId, LocalId, Stmt, StmtKind, Target, Type,
};
use std::collections::{BTreeSet, HashSet};

pub struct Program<'u, 'p> {
    pub unit: &'u Unit<'p>,
    pub watch: Watch,
    /// Transitions put the thread on its core.
    pub places: bool,
    /// Invariants of every loop.
    pub loop_invariants: Vec<Why>,
    /// Under [`Watch::Alone`], the WhyML names of the attributes that something reads: only these are assigned to.
    pub read: BTreeSet<String>,
}

impl<'u, 'p> Program<'u, 'p> {
    pub fn watching(unit: &'u Unit<'p>, watch: Watch) -> Self {
        let reads_cores = matches!(watch, Watch::Cores | Watch::OwnCore);
        let loop_invariants = if reads_cores { vec![Why::Text(CONSISTENT)] } else { Vec::new() };
        Program { unit, watch, places: false, loop_invariants, read: BTreeSet::new() }
    }

    // ---- functions ----------------------------------------------------------------------------

    /// The body of a function whose parameters are bound.
    pub fn body(&self, scope: &Scope<'p>) -> Why {
        let mut scope = scope.clone();
        let assigned = assigned(&scope.function.body);
        let mut steps = Vec::new();
        for i in 0..scope.function.arity {
            let local = LocalId(i);
            if assigned.contains(&local) {
                let any = || Why::Any(why_type(scope.function.local(local).ty));
                let value = scope.value(local).unwrap_or_else(any);
                let name = self.unit.fresh(&scope.function.local(local).name);
                steps.push(Step::Let(name.clone(), app!("ref", value)));
                scope.bind_mutable(local, name);
            }
        }
        let function: &'p Function = scope.function;
        self.block(steps, &mut scope, &function.body, &assigned)
    }

    fn call(&self, scope: &Scope<'p>, id: FunctionId, args: &[Expr]) -> Why {
        let function = self.unit.policy.function(id);
        let mut inner = Scope::new(function);
        let mut steps = Vec::new();
        for (i, arg) in args.iter().enumerate() {
            let local = LocalId(i as u32);
            if let Some(alias) = self.alias(scope, arg) {
                inner.bind(local, alias);
                continue;
            }
            if changes_later(arg) {
                continue;
            }
            let name = self.unit.fresh(&function.local(local).name);
            steps.push(Step::Let(name.clone(), self.expr(scope, arg)));
            inner.bind(local, name);
        }
        steps.push(Step::Comment(function.name.clone()));
        let body = self.body(&inner);
        let contract = self.contract(&inner, &mut steps);
        let (result, exception): (Why, Case) = match function.result {
            Some(ty) => (Why::Any(why_type(ty)), (format!("Return_{} x", why_type(ty)), "x".into())),
            None => (unit(), ("Return".into(), unit())),
        };
        let body = Why::Try(body.then(result).into(), vec![exception]);
        Why::block(
            steps,
            match contract {
                Some(ensures) => Why::Ensures(ensures.into(), body.into()),
                None => body,
            },
        )
    }

    /// The name of a variable that does not change. A copy of it has the same name, so that the event's own thread is
    /// known by each of its names.
    fn alias(&self, scope: &Scope<'p>, value: &Expr) -> Option<Why> {
        let ExprKind::Local(id) = value.kind else { return None };
        scope.value(id).filter(|value| !matches!(value, Why::Deref(_)))
    }

    /// True if a function with these effects can end the event or change what is watched, directly or by a steal.
    pub fn minds(&self, effects: &Effects) -> bool {
        effects.moves || self.changes(effects)
    }

    /// True if a function with these effects can change what is watched, directly or by a steal.
    pub fn changes(&self, effects: &Effects) -> bool {
        let timed = |access: &Access| match access {
            Access::Thread { attribute, .. } => self.unit.timed.borrow().contains(attribute),
            _ => false,
        };
        (match self.watch {
            Watch::Alone => self.acts(effects),
            watch => watch.minds(effects),
        }) || (self.watch == Watch::Timer && effects.writes.iter().any(timed))
            || effects.steals.iter().any(|id| self.changes(&self.unit.policy.steals[id.index()].effects))
    }

    /// True for a call without watched effects, whose value is arbitrary.
    fn is_nothing(&self, id: FunctionId) -> bool {
        self.watch.is_vague() && !self.minds(&self.unit.policy.function(id).effects)
    }

    // ---- statements ---------------------------------------------------------------------------

    fn block(
        &self,
        mut steps: Vec<Step>,
        scope: &mut Scope<'p>,
        stmts: &[Stmt],
        assigned: &HashSet<LocalId>,
    ) -> Why {
        stmts.iter().for_each(|stmt| self.stmt(scope, stmt, assigned, &mut steps));
        Why::block(steps, unit())
    }

    pub fn nested(&self, scope: &Scope<'p>, stmts: &[Stmt], assigned: &HashSet<LocalId>) -> Why {
        self.block(Vec::new(), &mut scope.clone(), stmts, assigned)
    }

    fn stmt(&self, scope: &mut Scope<'p>, stmt: &Stmt, assigned: &HashSet<LocalId>, steps: &mut Vec<Step>) {
        let step = match &stmt.kind {
            StmtKind::Let { local, value } => {
                if let Some(alias) = self.alias(scope, value).filter(|_| !assigned.contains(local)) {
                    return scope.bind(*local, alias);
                }
                let value = self.expr(scope, value);
                let name = self.unit.fresh(&scope.function.local(*local).name);
                if assigned.contains(local) {
                    scope.bind_mutable(*local, name.clone());
                    Step::Let(name, app!("ref", value))
                } else {
                    scope.bind(*local, &name);
                    Step::Let(name, value)
                }
            }
            StmtKind::Assign { target, value } => return steps.extend(self.assign(scope, target, value)),
            StmtKind::If { test, then, otherwise } => {
                let test = self.expr(scope, test);
                let then = self.nested(scope, then, assigned);
                Step::Do(conditional(test, then, self.nested(scope, otherwise, assigned)))
            }
            StmtKind::IfSome { local, value, then, otherwise } => {
                let optional = self.expr(scope, value);
                let name = self.unit.fresh(&scope.function.local(*local).name);
                let mut inner = scope.clone();
                inner.bind(*local, &name);
                let (some, none) = cases(value.ty);
                let then = self.nested(&inner, then, assigned);
                let otherwise = self.nested(scope, otherwise, assigned);
                Step::Do(either(optional, (format!("{some} {name}"), then), (none, otherwise)))
            }
            StmtKind::For { iteration, body } => {
                return self.for_each(scope, iteration, body, assigned, steps);
            }
            StmtKind::Break => Step::Do("break".into()),
            StmtKind::Continue => Step::Do("continue".into()),
            StmtKind::Return(None) => raise("Return"),
            StmtKind::Return(Some(value)) => {
                raise(app!(format!("Return_{}", why_type(value.ty)), self.expr(scope, value)))
            }
            StmtKind::Transition { thread, to, .. } => return self.transition(scope, thread, to, steps),
            StmtKind::Call { function, args } => {
                let callee = self.unit.policy.function(*function);
                if !self.minds(&callee.effects) {
                    Step::Comment(format!("{}: nothing that matters here", callee.name))
                } else if callee.result.is_some() {
                    Step::Let("_".into(), self.call(scope, *function, args))
                } else {
                    Step::Do(self.call(scope, *function, args))
                }
            }
            StmtKind::Effect(effect) => Step::Let("_".into(), self.effect(scope, effect)),
            StmtKind::Steal { steal, thief, victims } => {
                return self.steal(scope, *steal, thief, victims, steps);
            }
            StmtKind::Block(inner) => Step::Do(self.nested(scope, inner, assigned)),
        };
        steps.push(step);
    }

    fn assign(&self, scope: &Scope<'p>, target: &Target, value: &Expr) -> Option<Step> {
        match target {
            Target::Local(local) => match scope.value(*local)? {
                Why::Deref(name) => Some(Step::Do(assign(&name, self.expr(scope, value)))),
                _ => None,
            },
            Target::Thread { attribute, thread }
                if self.watch == Watch::Timer && self.unit.timed.borrow().contains(attribute) =>
            {
                let attribute = &self.unit.policy.thread[attribute.index()];
                let written = assign(&names::own(&attribute.name), self.expr(scope, value));
                Some(Step::Do(match self.is_own(scope, thread) {
                    true => written,
                    false => conditional(Why::Any("bool"), written, unit()),
                }))
            }
            Target::Set(id) if self.watch == Watch::Sets => {
                let name = &self.unit.policy.sets[id.index()].name;
                Some(Step::Do(app!(names::named("assign", name), self.expr(scope, value))))
            }
            _ if self.watch == Watch::Alone && self.is_read(target) => Some(self.set(scope, target, value)),
            // Nothing reads it, or every read gives an arbitrary value.
            _ if self.has_effect(value) => Some(Step::Let("_".into(), self.expr(scope, value))),
            _ => None,
        }
    }

    fn has_effect(&self, value: &Expr) -> bool {
        !hearth_ipanema::ir::effects::is_pure(self.unit.policy, value)
    }

    // ---- expressions --------------------------------------------------------------------------

    pub fn expr(&self, scope: &Scope<'p>, e: &Expr) -> Why {
        use ExprKind as E;
        if let Some(value) = self.watched_value(scope, e) {
            return value;
        }
        match &e.kind {
            E::Bool(value) => value.to_string().into(),
            E::Number(n) => (*n).into(),
            E::None => cases(e.ty).1.into(),
            E::Local(id) => scope.value(*id).unwrap_or(Why::Any(why_type(e.ty))),
            E::Some(inner) => some(e.ty, self.expr(scope, inner)),
            _ if !needs_program(self.unit.policy, e) => self.value(scope, e, Hoisted::new()),
            E::Call { function, .. } if self.is_nothing(*function) => Why::Any(why_type(e.ty)),
            E::Call { function, args } => self.call(scope, *function, args),
            E::Search(search) => self.search(scope, search),
            E::Effect(effect) => self.effect(scope, effect),
            E::Not(inner) => not(self.expr(scope, inner)),
            E::Logic { and, left, right } => {
                let op = if *and { "&&" } else { "||" };
                self.expr(scope, left).infix(op, self.expr(scope, right))
            }
            E::Conditional { test, then, otherwise } => {
                let [test, then, otherwise] = [test, then, otherwise].map(|e| self.expr(scope, e));
                conditional(test, then, otherwise)
            }
            E::Default { optional, default } => {
                let x = self.unit.fresh("x");
                let (some, none) = cases(optional.ty);
                let (value, default) = (self.expr(scope, optional), self.expr(scope, default));
                let held = if e.ty.optional { self::some(e.ty, (&x).into()) } else { (&x).into() };
                either(value, (format!("{some} {x}"), held), (none, default))
            }
            _ => self.hoisting(scope, e),
        }
    }

    /// An expression with parts that need programs, which are computed first.
    fn hoisting(&self, scope: &Scope<'p>, e: &Expr) -> Why {
        let mut parts = Parts { program: self, scope, root: e, steps: Vec::new(), hoisted: Hoisted::new() };
        hearth_ipanema::ir::visit::walk_expr(&mut parts, e);
        let (steps, hoisted) = (parts.steps, parts.hoisted);
        Why::block(steps, self.value(scope, e, hoisted))
    }

    /// A value that is read while other events run.
    pub fn value(&self, scope: &Scope<'p>, e: &Expr, hoisted: Hoisted) -> Why {
        let told = self.watch.is_about_affinity()
            && (tells_affinity(self.unit.policy, e)
                || !matches!(why_type(e.ty), "bool" | "int")
                || e.ty.base == BaseType::Core);
        if self.watch.is_vague() || (self.watch.is_about_affinity() && !told) {
            return Why::Any(why_type(e.ty));
        }
        let r = self.unit.fresh("r");
        let mut terms = Terms::new(self.unit, &r, "0");
        terms.blind = self.watch.is_about_affinity();
        terms.alone = self.watch == Watch::Alone;
        terms.hoisted = hoisted;
        let result = Why::from("result");
        match e.ty {
            Type { base: BaseType::Set, .. } => {
                let c = self.unit.fresh("c");
                terms.element = (&c).into();
                let member = terms.member(scope, e, &(&c).into());
                let member = app!("mem", &c, result).infix("<->", member);
                self.read(&r, e.ty, member, |member| forall(&c, app!("is_core", &c).implies(member)))
            }
            Type::BOOL => {
                let holds = terms.expr(scope, e);
                self.read(&r, e.ty, holds, |holds| result.clone().infix("<->", holds))
            }
            _ => self.read(&r, e.ty, result.equals(terms.expr(scope, e)), |spec| spec),
        }
    }

    /// An arbitrary value that satisfies `whole(last)`, a formula about `result` and the readings `r`. What is added
    /// stands beside `last`.
    pub fn read(&self, r: &str, ty: Type, last: Why, whole: impl Fn(Why) -> Why) -> Why {
        let spec = whole(last.clone());
        let mut steps = Vec::new();
        // A reading of attributes alone may be any: other events need no step of their own.
        if spec.applies("seen", r) {
            steps.push(Step::Let(r.into(), self.watch.look()));
        } else if spec.applies("time", r) {
            steps.push(Step::Let(r.into(), Why::Any("readings")));
        }
        let x = self.unit.fresh("value");
        let value = Why::from(&x);
        let mut added = Vec::new();
        if ty.optional {
            // Redundant, but it triggers the provers' case distinction.
            let (some, none) = cases(ty);
            let one = exists("held", value.clone().equals(app!(some, "held")));
            added.push(value.clone().equals(none).or(one));
        }
        added.extend(places(&spec, r).into_iter().map(|place| app!("noted", app!("seen", r, place, 0))));
        let mut spec = whole(Why::all([last].into_iter().chain(added)));
        spec.substitute("result", &value);
        steps.push(Step::Let(x, Why::Any(why_type(ty))));
        steps.push(Step::Assume(spec));
        Why::block(steps, value)
    }
}

/// True if an argument is a set that the callee reads where it is kept, so that it has another value at each read.
fn changes_later(arg: &Expr) -> bool {
    use ExprKind as E;
    matches!(
        arg.kind,
        E::Set(_) | E::Kept(_) | E::Global(_) | E::Thread { .. } | E::Core { .. } if arg.ty == Type::SET
    )
}

/// The places of `r` in a formula that do not depend on a search's element.
fn places(spec: &Why, r: &str) -> BTreeSet<String> {
    let mut places = BTreeSet::new();
    spec.any(&mut |part| {
        if let Why::App(function, args) = part
            && let [readings, Why::Name(place), element] = args.as_slice()
            && function == "seen"
            && (readings, element) == (&r.into(), &0.into())
        {
            places.insert(place.clone());
        }
        false
    });
    places
}

/// Finds the maximal subexpressions that need programs.
struct Parts<'a, 'u, 'p> {
    program: &'a Program<'u, 'p>,
    scope: &'a Scope<'p>,
    root: &'a Expr,
    steps: Vec<Step>,
    hoisted: Hoisted,
}

impl Visitor for Parts<'_, '_, '_> {
    fn expr(&mut self, e: &Expr) {
        let policy = self.program.unit.policy;
        if std::ptr::eq(e, self.root) || !needs_program(policy, e) {
            return;
        }
        let name = self.program.unit.fresh("part");
        self.steps.push(Step::Let(name.clone(), self.program.expr(self.scope, e)));
        self.hoisted.insert(std::ptr::from_ref(e), name);
    }
}
