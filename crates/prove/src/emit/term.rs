//! Pass "abstract": expressions of the IR as terms and formulas over the readings of an event.
//!
//! Each place that reads shared state has its own number, so that two reads may see different states. What the
//! model does not describe (clocks, attributes, loops in conditions) is an arbitrary value of that place.

use super::actions::OWN;
use super::names;
use super::unit::{Scope, Sum, Unit, why_type};
use crate::whyml::{Why, app, conditional, deref, either, exists, forall, not};
use hearth_ipanema::ir::visit::{Visitor, walk_expr};
use hearth_ipanema::ir::{
    Arithmetic, BaseType, Comparison, CoreField, Expr, ExprKind, Extreme, KeptSet, Level, LocalId, Over,
    Owner, Search, SearchKind, SetOp, ThreadField, Type,
};
use std::collections::HashMap;

/// Subexpressions that a program has computed before, with the names of their values.
pub type Hoisted = HashMap<*const Expr, String>;

pub struct Terms<'u, 'p> {
    pub unit: &'u Unit<'p>,
    /// The readings. `None` under `sum`, where only the time `w` is known.
    pub readings: Option<String>,
    /// The element at which a search reads.
    pub element: Why,
    /// In a steal: a thread, and the core on which it waits.
    pub waits_on: Option<(Why, Why)>,
    pub hoisted: Hoisted,
    /// Sums over queues are modelled. Otherwise they are arbitrary, where loads do not matter.
    pub adds_up: bool,
    /// The states of cores are arbitrary, where they do not matter.
    pub blind: bool,
    /// Nobody else is at work: attributes, clocks and cores are those of the present moment.
    pub alone: bool,
}

impl<'u, 'p> Terms<'u, 'p> {
    pub fn new(unit: &'u Unit<'p>, readings: &str, element: impl Into<Why>) -> Self {
        let readings = Some(readings.to_owned());
        Terms {
            unit,
            readings,
            element: element.into(),
            waits_on: None,
            hoisted: HashMap::new(),
            adds_up: false,
            blind: false,
            alone: false,
        }
    }

    fn time(&self, place: i64) -> Why {
        match &self.readings {
            Some(r) => app!("time", r, place, &self.element),
            None => "w".into(),
        }
    }

    /// The time of a new place.
    fn now(&self) -> Why {
        match self.alone {
            true => deref("present"),
            false => self.time(self.unit.place()),
        }
    }

    /// The state of a core at a new place.
    fn state(&self, core: &Why) -> Option<Why> {
        let r = self.readings.as_ref().filter(|_| !self.blind)?;
        if self.alone {
            return Some(app!("state", deref("now_state"), core));
        }
        Some(app!("state", app!("seen", r, self.unit.place(), &self.element), core))
    }

    /// Terms of a search's element `c`: each element is read at a time of its own.
    pub fn within<T>(&mut self, c: Why, term: impl FnOnce(&mut Self) -> T) -> T {
        let element = match self.element == "0".into() {
            true => c,
            false => app!("pair", &self.element, c),
        };
        let outer = std::mem::replace(&mut self.element, element);
        let term = term(self);
        self.element = outer;
        term
    }

    /// An arbitrary value of a type.
    pub fn unknown(&self, ty: Type) -> Why {
        let place = self.unit.place();
        let (function, is_bool) = match why_type(ty) {
            "bool" => ("unknown", true),
            "maybe" => ("unknown_maybe", false),
            "maybe_thread" => ("unknown_thread", false),
            "thread" => ("unknown_one", false),
            _ if ty.base == BaseType::Core => ("unknown_core", false),
            _ => ("unknown", false),
        };
        let value = app!(function, self.time(place), place, &self.element);
        if is_bool { value.infix(">", 0) } else { value }
    }

    pub fn expr(&mut self, scope: &Scope, e: &Expr) -> Why {
        use ExprKind as E;
        if let Some(name) = self.hoisted.get(&std::ptr::from_ref(e)) {
            return name.into();
        }
        match &e.kind {
            E::Bool(value) => value.to_string().into(),
            E::Number(n) => (*n).into(),
            E::None => cases(e.ty).1.into(),
            E::Some(inner) => some(e.ty, self.expr(scope, inner)),
            E::Local(id) => scope.value(*id).unwrap_or_else(|| self.unknown(e.ty)),
            E::Param(id) => names::param(&self.unit.policy.params[id.index()].name).into(),
            E::Global(id) => app!(self.unit.attribute(Owner::Global, *id), self.now()),
            E::Thread { attribute, thread } => {
                let thread = self.expr(scope, thread);
                app!(self.unit.attribute(Owner::Thread, *attribute), self.now(), thread)
            }
            E::Core { attribute, core } => {
                let core = self.expr(scope, core);
                app!(self.unit.attribute(Owner::Core, *attribute), self.now(), core)
            }
            E::ThreadField { field, thread } => self.thread_field(scope, *field, thread),
            E::CoreField { field, core } => self.core_field(scope, *field, core, e.ty),
            E::Now => app!("now_at", self.now()),
            // The policy's guarantees do not depend on what the kernel says.
            E::Fact(_) => self.unknown(Type::BOOL),
            E::Machine => "machine".into(),
            E::DomainOf { level, core } => app!("domain_of", level_number(*level), self.expr(scope, core)),
            E::Call { function, args } => {
                let values = args.iter().map(|arg| self.argument(scope, arg)).collect();
                self.inline(*function, values)
            }
            E::Decay { value, time, half_life } => {
                let [a, b, c] = [value, time, half_life].map(|e| self.expr(scope, e));
                app!("decay", a, b, c)
            }
            E::Pick { extreme, left, right } => {
                let function = if *extreme == Extreme::Min { "least" } else { "most" };
                app!(function, self.expr(scope, left), self.expr(scope, right))
            }
            E::Empty(set) => {
                let c = self.unit.fresh("c");
                let member = self.within((&c).into(), |terms| terms.member(scope, set, &(&c).into()));
                forall(&c, app!("is_core", &c).implies(not(member)))
            }
            E::Not(inner) => not(self.expr(scope, inner)),
            E::Neg(inner) => app!("wrap", Why::Prefix("-", self.expr(scope, inner).into())),
            E::Logic { and, left, right } => {
                let op = if *and { "/\\" } else { "\\/" };
                self.expr(scope, left).infix(op, self.expr(scope, right))
            }
            E::Compare { op, left, right } => {
                let is_bool = left.ty == Type::BOOL;
                let (left, right) = (self.expr(scope, left), self.expr(scope, right));
                match op {
                    Comparison::Eq if is_bool => left.infix("<->", right),
                    Comparison::Ne if is_bool => left.infix("<->", not(right)),
                    op => left.infix(comparison(*op), right),
                }
            }
            E::In { core, set } => self.is_in(scope, core, set),
            E::Arithmetic { op, left, right } => {
                let (left, right) = (self.expr(scope, left), self.expr(scope, right));
                match op {
                    Arithmetic::Add => app!("wrap", left.infix("+", right)),
                    Arithmetic::Sub => app!("wrap", left.infix("-", right)),
                    Arithmetic::Mul => app!("wrap", left.infix("*", right)),
                    Arithmetic::Div => app!("wrap", app!("quotient", left, right)),
                    Arithmetic::Rem => app!("remainder", left, right),
                }
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
            E::Search(search) => self.search(scope, e, search),
            E::Count(_) | E::Effect(_) | E::Set(_) | E::Kept(_) | E::CoresOf(_) | E::SetOp { .. } => {
                self.unknown(e.ty)
            }
        }
    }

    /// The term of an argument; `None` for a set without a name.
    fn argument(&mut self, scope: &Scope, arg: &Expr) -> Option<Why> {
        match (&arg.kind, arg.ty.base) {
            (ExprKind::Local(id), _) => scope.value(*id),
            (_, BaseType::Set) => self.hoisted.get(&std::ptr::from_ref(arg)).map(Why::from),
            _ => Some(self.expr(scope, arg)),
        }
    }

    fn thread_field(&mut self, scope: &Scope, field: ThreadField, thread: &Expr) -> Why {
        let thread = self.expr(scope, thread);
        match field {
            ThreadField::Core => match &self.waits_on {
                Some((t, core)) if *t == thread => core.clone(),
                _ if thread == OWN.into() => app!("core_of", thread),
                // Other events move other threads.
                _ => self.unknown(Type::CORE),
            },
            ThreadField::Weight => app!("weight_of", self.now(), thread),
            ThreadField::Runtime => app!("runtime", self.now(), thread),
            ThreadField::Affinity => self.unknown(Type::SET),
        }
    }

    fn core_field(&mut self, scope: &Scope, field: CoreField, core: &Expr, ty: Type) -> Why {
        let core = self.expr(scope, core);
        let function = match field {
            CoreField::Current => "current",
            CoreField::NrReady => "nr_ready",
            CoreField::NrRunning => "nr",
            CoreField::Frequency => return app!("frequency", self.now(), core),
            CoreField::IdleSince => return app!("idle_since", self.now(), core),
            CoreField::MinFrequency => return app!("min_frequency", core),
            CoreField::Capacity => return app!("capacity", core),
            CoreField::ExitLatency => return app!("exit_latency", self.now(), core),
        };
        match self.state(&core) {
            Some(state) => app!(function, state),
            None => self.unknown(ty),
        }
    }

    fn is_in(&mut self, scope: &Scope, core: &Expr, set: &Expr) -> Why {
        let value = self.expr(scope, core);
        if !core.ty.optional {
            return self.member(scope, set, &value);
        }
        let x = self.unit.fresh("x");
        let member = self.member(scope, set, &(&x).into());
        either(value, (format!("Just {x}"), member), ("Nothing", "false".into()))
    }

    /// The formula that core `c` is in a set.
    pub fn member(&mut self, scope: &Scope, set: &Expr, c: &Why) -> Why {
        use ExprKind as E;
        if let Some(name) = self.hoisted.get(&std::ptr::from_ref(set)) {
            return app!("mem", c, name);
        }
        match &set.kind {
            E::Kept(kept) => self.kept(*kept, c),
            E::ThreadField { field: ThreadField::Affinity, thread } => {
                app!("allowed", self.expr(scope, thread), c)
            }
            E::CoresOf(domain) => app!("inside", c, self.expr(scope, domain)),
            E::SetOp { op, left, right } => {
                combined(*op, self.member(scope, left, c), self.member(scope, right, c))
            }
            E::Local(id) if set.ty.base == BaseType::Set => match scope.value(*id) {
                Some(set) => app!("mem", c, set),
                None => self.unknown_in(c),
            },
            _ => self.unknown_in(c),
        }
    }

    fn unknown_in(&self, c: &Why) -> Why {
        let place = self.unit.place();
        app!("unknown_in", self.time(place), place, c)
    }

    fn kept(&self, kept: KeptSet, c: &Why) -> Why {
        match (kept, self.state(c)) {
            (KeptSet::Online, _) => app!("is_core", c),
            (KeptSet::Idle, Some(state)) => app!("idle", state),
            (KeptSet::IdleWhole, Some(state)) => app!("idle", state).and(self.unknown_in(c)),
            (KeptSet::Waiting, Some(state)) => app!("nr_ready", state).infix(">=", 1),
            (_, None) => self.unknown_in(c),
        }
    }

    fn search(&mut self, scope: &Scope, e: &Expr, search: &Search) -> Why {
        match (&search.kind, &search.iteration.over) {
            (SearchKind::Any, Over::Cores(_)) if search.iteration.limit.is_none() => {
                let c = self.unit.fresh("c");
                let mut scope = scope.clone();
                scope.bind(search.iteration.local, &c);
                let member = self.within((&c).into(), |terms| terms.element_of(&scope, search, &(&c).into()));
                exists(&c, app!("is_core", &c).and(member))
            }
            (SearchKind::Sum { of }, Over::Threads { core, .. })
                if self.adds_up
                    && search.iteration.limit.is_none()
                    && search.filter.is_none()
                    && self.unit.policy.queues.len() == 1
                    && is_of_the_thread_alone(of, search.iteration.local) =>
            {
                let number = self.sum(scope, search, of);
                let core = self.expr(scope, core);
                let now = self.now();
                match self.state(&core) {
                    Some(state) => app!("wrap", app!("total", format!("sum_{number}"), now, state)),
                    None => self.unknown(e.ty),
                }
            }
            _ => self.unknown(e.ty),
        }
    }

    /// The formula that the search may find element `x`. The search's variable is bound to it.
    pub fn element_of(&mut self, scope: &Scope, search: &Search, x: &Why) -> Why {
        let over = match &search.iteration.over {
            Over::Cores(set) => self.member(scope, set, x),
            Over::Groups { domain, level } => {
                app!("group_of", level_number(*level), x, self.expr(scope, domain))
            }
            Over::Threads { core, queue } => {
                let core = self.expr(scope, core);
                match self.state(&core) {
                    Some(s) => app!("waits", &s, x).and(app!("queue", s, x).equals(i64::from(queue.0))),
                    None => "true".into(),
                }
            }
        };
        match (&search.filter, &search.iteration.over) {
            // A walk over a queue evaluates the filter at another time for each thread.
            (Some(filter), Over::Threads { .. }) => {
                over.and(self.within(app!("number", x), |terms| terms.expr(scope, filter)))
            }
            (Some(filter), _) => over.and(self.expr(scope, filter)),
            (None, _) => over,
        }
    }

    /// The number of the sum. Its summand is a function of the time and the thread only.
    fn sum(&mut self, scope: &Scope, search: &Search, of: &Expr) -> usize {
        let at = std::ptr::from_ref(of);
        if let Some(known) = self.unit.sums.borrow().iter().position(|sum| sum.at == at) {
            return known;
        }
        let mut inner = Scope::new(scope.function);
        inner.bind(search.iteration.local, "t");
        let mut terms = Terms { readings: None, ..Terms::new(self.unit, "", "0") };
        let weight = terms.expr(&inner, of);
        let mut sums = self.unit.sums.borrow_mut();
        sums.push(Sum { at, weight });
        sums.len() - 1
    }
}

/// True if a value depends on nothing but parameters of the policy and what belongs to the thread itself, so that it
/// is the same wherever the thread waits.
fn is_of_the_thread_alone(of: &Expr, thread: LocalId) -> bool {
    struct Alone(LocalId, bool);
    impl Visitor for Alone {
        fn expr(&mut self, e: &Expr) {
            use ExprKind as E;
            self.1 &= match &e.kind {
                E::Local(id) => *id == self.0,
                E::Bool(_) | E::Number(_) | E::Param(_) | E::Thread { .. } | E::Arithmetic { .. } => true,
                E::Pick { .. } | E::Compare { .. } | E::Logic { .. } | E::Not(_) | E::Neg(_) => true,
                E::Conditional { .. } => true,
                E::ThreadField { field, .. } => matches!(field, ThreadField::Weight | ThreadField::Runtime),
                _ => false,
            };
            walk_expr(self, e);
        }
    }
    let mut alone = Alone(thread, true);
    alone.expr(of);
    alone.1
}

/// An optional with a value.
pub fn some(ty: Type, value: Why) -> Why {
    app!(cases(ty).0, value)
}

/// A formula about two sets, from that about each.
pub fn combined(op: SetOp, left: Why, right: Why) -> Why {
    match op {
        SetOp::Union => left.or(right),
        SetOp::Intersection => left.and(right),
        SetOp::Difference => left.and(not(right)),
    }
}

/// The constructors of an optional type.
pub fn cases(ty: Type) -> (&'static str, &'static str) {
    if ty.base == BaseType::Thread { ("Thread", "NoThread") } else { ("Just", "Nothing") }
}

pub fn level_number(level: Level) -> i64 {
    match level {
        Level::Smt => 0,
        Level::Llc => 1,
        Level::Numa => 2,
        Level::Machine => 3,
    }
}

fn comparison(op: Comparison) -> &'static str {
    match op {
        Comparison::Eq => "=",
        Comparison::Ne => "<>",
        Comparison::Lt => "<",
        Comparison::Le => "<=",
        Comparison::Gt => ">",
        Comparison::Ge => ">=",
    }
}
