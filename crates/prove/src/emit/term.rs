//! Pass "abstract": expressions of the IR as terms and formulas over the readings of an event.
//!
//! Each place that reads shared state has its own number, so that two reads may see different states. What the
//! model does not describe (clocks, attributes, loops in conditions) is an arbitrary value of that place.

use super::actions::OWN;
use super::unit::{Scope, Sum, Unit, why_type};
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
    pub element: String,
    /// In a steal: a thread, and the core on which it waits.
    pub waits_on: Option<(String, String)>,
    pub hoisted: Hoisted,
    /// Sums over queues are modelled. Otherwise they are arbitrary, where loads do not matter.
    pub adds_up: bool,
    /// The states of cores are arbitrary, where they do not matter.
    pub blind: bool,
    /// Nobody else is at work: attributes, clocks and cores are those of the present moment.
    pub alone: bool,
}

impl<'u, 'p> Terms<'u, 'p> {
    pub fn new(unit: &'u Unit<'p>, readings: &str, element: &str) -> Self {
        let readings = Some(readings.to_owned());
        Terms {
            unit,
            readings,
            element: element.to_owned(),
            waits_on: None,
            hoisted: HashMap::new(),
            adds_up: false,
            blind: false,
            alone: false,
        }
    }

    fn time(&self, place: u32) -> String {
        match &self.readings {
            Some(r) => format!("(time {r} {place} {})", self.element),
            None => "w".into(),
        }
    }

    /// The time of a new place.
    fn now(&self) -> String {
        match self.alone {
            true => "!present".into(),
            false => self.time(self.unit.place()),
        }
    }

    /// The state of a core at a new place.
    fn state(&self, core: &str) -> Option<String> {
        let r = self.readings.as_ref().filter(|_| !self.blind)?;
        if self.alone {
            return Some(format!("(state !now_state {core})"));
        }
        Some(format!("(state (seen {r} {} {}) {core})", self.unit.place(), self.element))
    }

    /// Terms of a search's element `c`: each element is read at a time of its own.
    pub fn within<T>(&mut self, c: &str, term: impl FnOnce(&mut Self) -> T) -> T {
        let element = match self.element.as_str() {
            "0" => c.to_owned(),
            outer => format!("(pair {outer} {c})"),
        };
        let outer = std::mem::replace(&mut self.element, element);
        let term = term(self);
        self.element = outer;
        term
    }

    /// An arbitrary value of a type.
    pub fn unknown(&self, ty: Type) -> String {
        let place = self.unit.place();
        let args = format!("{} {place} {}", self.time(place), self.element);
        match why_type(ty) {
            "bool" => format!("(unknown {args} > 0)"),
            "maybe" => format!("(unknown_maybe {args})"),
            "maybe_thread" => format!("(unknown_thread {args})"),
            "thread" => format!("(unknown_one {args})"),
            _ if ty.base == BaseType::Core => format!("(unknown_core {args})"),
            _ => format!("(unknown {args})"),
        }
    }

    pub fn expr(&mut self, scope: &Scope, e: &Expr) -> String {
        use ExprKind as E;
        if let Some(name) = self.hoisted.get(&std::ptr::from_ref(e)) {
            return name.clone();
        }
        match &e.kind {
            E::Bool(value) => value.to_string(),
            E::Number(n) if *n < 0 => format!("({n})"),
            E::Number(n) => n.to_string(),
            E::None if e.ty.base == BaseType::Thread => "NoThread".into(),
            E::None => "Nothing".into(),
            E::Some(inner) => some(e.ty, &self.expr(scope, inner)),
            E::Local(id) => scope.value(*id).unwrap_or_else(|| self.unknown(e.ty)),
            E::Param(id) => format!("param_{}", self.unit.policy.params[id.index()].name),
            E::Global(id) => format!("({} {})", self.unit.attribute(Owner::Global, *id), self.now()),
            E::Thread { attribute, thread } => {
                let thread = self.expr(scope, thread);
                format!("({} {} {thread})", self.unit.attribute(Owner::Thread, *attribute), self.now())
            }
            E::Core { attribute, core } => {
                let core = self.expr(scope, core);
                format!("({} {} {core})", self.unit.attribute(Owner::Core, *attribute), self.now())
            }
            E::ThreadField { field, thread } => self.thread_field(scope, *field, thread),
            E::CoreField { field, core } => self.core_field(scope, *field, core, e.ty),
            E::Now => format!("(now_at {})", self.now()),
            E::Machine => "machine".into(),
            E::DomainOf { level, core } => {
                format!("(domain_of {} {})", level_number(*level), self.expr(scope, core))
            }
            E::Call { function, args } => {
                let values = args.iter().map(|arg| self.argument(scope, arg)).collect();
                self.inline(*function, values)
            }
            E::Decay { value, time, half_life } => {
                let [a, b, c] = [value, time, half_life].map(|e| self.expr(scope, e));
                format!("(decay {a} {b} {c})")
            }
            E::Pick { extreme, left, right } => {
                let function = if *extreme == Extreme::Min { "least" } else { "most" };
                format!("({function} {} {})", self.expr(scope, left), self.expr(scope, right))
            }
            E::Empty(set) => {
                let c = self.unit.fresh("c");
                let member = self.within(&c, |terms| terms.member(scope, set, &c));
                format!("(forall {c}. is_core {c} -> not {member})")
            }
            E::Not(inner) => format!("(not {})", self.expr(scope, inner)),
            E::Neg(inner) => format!("(wrap (- {}))", self.expr(scope, inner)),
            E::Logic { and, left, right } => {
                let op = if *and { "/\\" } else { "\\/" };
                format!("({} {op} {})", self.expr(scope, left), self.expr(scope, right))
            }
            E::Compare { op, left, right } => {
                let op = comparison(*op, left.ty);
                format!("({} {op} {})", self.expr(scope, left), self.expr(scope, right))
            }
            E::In { core, set } => self.is_in(scope, core, set),
            E::Arithmetic { op, left, right } => {
                let (left, right) = (self.expr(scope, left), self.expr(scope, right));
                match op {
                    Arithmetic::Add => format!("(wrap ({left} + {right}))"),
                    Arithmetic::Sub => format!("(wrap ({left} - {right}))"),
                    Arithmetic::Mul => format!("(wrap ({left} * {right}))"),
                    Arithmetic::Div => format!("(wrap (quotient {left} {right}))"),
                    Arithmetic::Rem => format!("(remainder {left} {right})"),
                }
            }
            E::Conditional { test, then, otherwise } => {
                let [test, then, otherwise] = [test, then, otherwise].map(|e| self.expr(scope, e));
                format!("(if {test} then {then} else {otherwise})")
            }
            E::Default { optional, default } => {
                let x = self.unit.fresh("x");
                let (some, none) = cases(optional.ty);
                let (value, default) = (self.expr(scope, optional), self.expr(scope, default));
                let held = if e.ty.optional { self::some(e.ty, &x) } else { x.clone() };
                format!("(match {value} with {some} {x} -> {held} | {none} -> {default} end)")
            }
            E::Search(search) => self.search(scope, e, search),
            E::Count(_) | E::Effect(_) | E::Set(_) | E::Kept(_) | E::CoresOf(_) | E::SetOp { .. } => {
                self.unknown(e.ty)
            }
        }
    }

    /// The term of an argument; `None` for a set without a name.
    fn argument(&mut self, scope: &Scope, arg: &Expr) -> Option<String> {
        match (&arg.kind, arg.ty.base) {
            (ExprKind::Local(id), _) => scope.value(*id),
            (_, BaseType::Set) => self.hoisted.get(&std::ptr::from_ref(arg)).cloned(),
            _ => Some(self.expr(scope, arg)),
        }
    }

    fn thread_field(&mut self, scope: &Scope, field: ThreadField, thread: &Expr) -> String {
        let thread = self.expr(scope, thread);
        match field {
            ThreadField::Core => match &self.waits_on {
                Some((t, core)) if *t == thread => core.clone(),
                _ if thread == OWN => format!("(core_of {thread})"),
                // Other events move other threads.
                _ => self.unknown(Type::CORE),
            },
            ThreadField::Weight => format!("(weight_of {} {thread})", self.now()),
            ThreadField::Runtime => format!("(runtime {} {thread})", self.now()),
            ThreadField::Affinity => self.unknown(Type::SET),
        }
    }

    fn core_field(&mut self, scope: &Scope, field: CoreField, core: &Expr, ty: Type) -> String {
        let core = self.expr(scope, core);
        let function = match field {
            CoreField::Current => "current",
            CoreField::NrReady => "nr_ready",
            CoreField::NrRunning => "nr",
            CoreField::Frequency => return format!("(frequency {} {core})", self.now()),
            CoreField::IdleSince => return format!("(idle_since {} {core})", self.now()),
            CoreField::MinFrequency => return format!("(min_frequency {core})"),
            CoreField::ExitLatency => return format!("(exit_latency {core})"),
        };
        match self.state(&core) {
            Some(state) => format!("({function} {state})"),
            None => self.unknown(ty),
        }
    }

    fn is_in(&mut self, scope: &Scope, core: &Expr, set: &Expr) -> String {
        let value = self.expr(scope, core);
        if !core.ty.optional {
            return self.member(scope, set, &value);
        }
        let x = self.unit.fresh("x");
        let member = self.member(scope, set, &x);
        format!("(match {value} with Just {x} -> {member} | Nothing -> false end)")
    }

    /// The formula that core `c` is in a set.
    pub fn member(&mut self, scope: &Scope, set: &Expr, c: &str) -> String {
        use ExprKind as E;
        if let Some(name) = self.hoisted.get(&std::ptr::from_ref(set)) {
            return format!("(mem {c} {name})");
        }
        match &set.kind {
            E::Kept(kept) => self.kept(*kept, c),
            E::ThreadField { field: ThreadField::Affinity, thread } => {
                format!("(allowed {} {c})", self.expr(scope, thread))
            }
            E::CoresOf(domain) => format!("(inside {c} {})", self.expr(scope, domain)),
            E::SetOp { op, left, right } => {
                let (left, right) = (self.member(scope, left, c), self.member(scope, right, c));
                match op {
                    SetOp::Union => format!("({left} \\/ {right})"),
                    SetOp::Intersection => format!("({left} /\\ {right})"),
                    SetOp::Difference => format!("({left} /\\ not {right})"),
                }
            }
            E::Local(id) if set.ty.base == BaseType::Set => match scope.value(*id) {
                Some(name) => format!("(mem {c} {name})"),
                None => self.unknown_in(c),
            },
            _ => self.unknown_in(c),
        }
    }

    fn unknown_in(&self, c: &str) -> String {
        let place = self.unit.place();
        format!("(unknown_in {} {place} {c})", self.time(place))
    }

    fn kept(&self, kept: KeptSet, c: &str) -> String {
        match (kept, self.state(c)) {
            (KeptSet::Online, _) => format!("(is_core {c})"),
            (KeptSet::Idle, Some(state)) => format!("(idle {state})"),
            (KeptSet::IdleWhole, Some(state)) => format!("(idle {state} /\\ {})", self.unknown_in(c)),
            (KeptSet::Waiting, Some(state)) => format!("(nr_ready {state} >= 1)"),
            (_, None) => self.unknown_in(c),
        }
    }

    fn search(&mut self, scope: &Scope, e: &Expr, search: &Search) -> String {
        match (&search.kind, &search.iteration.over) {
            (SearchKind::Any, Over::Cores(_)) if search.iteration.limit.is_none() => {
                let c = self.unit.fresh("c");
                let mut scope = scope.clone();
                scope.bind(search.iteration.local, c.clone());
                let member = self.within(&c, |terms| terms.element_of(&scope, search, &c));
                format!("(exists {c}. is_core {c} /\\ {member})")
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
                    Some(state) => format!("(wrap (total sum_{number} {now} {state}))"),
                    None => self.unknown(e.ty),
                }
            }
            _ => self.unknown(e.ty),
        }
    }

    /// The formula that the search may find element `x`. The search's variable is bound to it.
    pub fn element_of(&mut self, scope: &Scope, search: &Search, x: &str) -> String {
        let over = match &search.iteration.over {
            Over::Cores(set) => self.member(scope, set, x),
            Over::Groups { domain, level } => {
                format!("(group_of {} {x} {})", level_number(*level), self.expr(scope, domain))
            }
            Over::Threads { core, queue } => {
                let core = self.expr(scope, core);
                match self.state(&core) {
                    Some(s) => format!("(waits {s} {x} /\\ queue {s} {x} = {})", queue.0),
                    None => "true".into(),
                }
            }
        };
        match (&search.filter, &search.iteration.over) {
            // A walk over a queue evaluates the filter at another time for each thread.
            (Some(filter), Over::Threads { .. }) => {
                let number = format!("(number {x})");
                format!("({over} /\\ {})", self.within(&number, |terms| terms.expr(scope, filter)))
            }
            (Some(filter), _) => format!("({over} /\\ {})", self.expr(scope, filter)),
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
        inner.bind(search.iteration.local, "t".into());
        let mut terms = Terms {
            unit: self.unit,
            readings: None,
            element: "0".into(),
            waits_on: None,
            hoisted: HashMap::new(),
            adds_up: false,
            blind: false,
            alone: false,
        };
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
pub fn some(ty: Type, value: &str) -> String {
    format!("({} {value})", cases(ty).0)
}

/// The constructors of an optional type.
pub fn cases(ty: Type) -> (&'static str, &'static str) {
    if ty.base == BaseType::Thread { ("Thread", "NoThread") } else { ("Just", "Nothing") }
}

pub fn level_number(level: Level) -> u32 {
    match level {
        Level::Smt => 0,
        Level::Llc => 1,
        Level::Numa => 2,
        Level::Machine => 3,
    }
}

fn comparison(op: Comparison, of: Type) -> &'static str {
    match op {
        Comparison::Eq if of == Type::BOOL => "<->",
        Comparison::Ne if of == Type::BOOL => "<-> not",
        Comparison::Eq => "=",
        Comparison::Ne => "<>",
        Comparison::Lt => "<",
        Comparison::Le => "<=",
        Comparison::Gt => ">",
        Comparison::Ge => ">=",
    }
}
