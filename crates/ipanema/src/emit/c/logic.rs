//! ACSL terms and predicates: what an expression means, independent of the C that computes it.
//!
//! Written from the IR alone, so that a mistake of the C emitter is not repeated here. What has no
//! translation is an error that names it.

use std::collections::HashMap;

use super::Unit;
use super::acsl::{Acsl, Clause, call, conditional, exists, forall, not, wrapped};
use super::expr::fact_constant;
use super::search::level_constant;
use crate::ir::visit::{Visitor, walk_expr};
use crate::ir::{
    Arithmetic, BaseType, Block, Comparison, CoreField, Expr, ExprKind, Extreme, Function, FunctionId,
    KeptSet, LocalId, OrderKind, Over, Search, SearchKind, SetOp, Stmt, StmtKind, Target, ThreadField, Type,
};

/// The construct that has no translation.
pub type Logic<T = Acsl> = Result<T, String>;

/// Values of variables.
pub type Env = HashMap<LocalId, Acsl>;

/// The elements of an iteration: `guard(K)` says which K count, `element(K)` is the element of K, and
/// `place(K)` its place in the walk.
pub struct Elements {
    pub guard: Acsl,
    pub element: Acsl,
    pub place: Acsl,
    /// The number of places.
    pub end: Acsl,
    pub cores: bool,
}

/// A quantified variable. No variable of the C code has such a name.
pub fn bound(env: &Env) -> String {
    format!("K{}", env.values().filter(|value| value.to_string().contains('K')).count() + 1)
}

impl Unit<'_> {
    /// A field of the policy's state.
    pub fn own(&self, name: &str) -> Acsl {
        format!("{}_the_state.{name}", self.names.prefix).into()
    }

    /// A field of a core's or thread's attributes.
    pub fn attribute(&self, of: &str, index: Acsl, name: &str) -> Acsl {
        Acsl::from(format!("{}_{of}", self.names.prefix)).index(index).field(name)
    }

    pub fn term(&self, env: &Env, expr: &Expr) -> Logic {
        let names = &self.names;
        let of = |inner: &Expr| self.term(env, inner);
        Ok(match &expr.kind {
            ExprKind::Bool(value) => format!("\\{value}").into(),
            ExprKind::Number(value) if *value < 0 => format!("({value})").into(),
            ExprKind::Number(value) => value.to_string().into(),
            ExprKind::None => none(expr.ty).into(),
            ExprKind::Some(inner) => of(inner)?,
            ExprKind::Local(id) => {
                let value = env.get(id).ok_or("a variable that changes")?;
                self.truth(expr, value.clone())
            }
            ExprKind::Param(id) => self.truth(expr, self.own(&names.params[id.index()])),
            ExprKind::Global(id) => self.read(expr, self.own(&names.globals[id.index()])),
            ExprKind::Set(id) => self.own(&names.sets[id.index()]).address(),
            ExprKind::Thread { attribute, thread } => {
                let number = call!("number", of(thread)?);
                self.read(expr, self.attribute("threads", number, &names.thread[attribute.index()]))
            }
            ExprKind::Core { attribute, core } => {
                self.read(expr, self.attribute("cores", of(core)?, &names.core[attribute.index()]))
            }
            ExprKind::ThreadField { field, thread } => {
                let thread = of(thread)?;
                match field {
                    ThreadField::Core => call!("core_of", thread),
                    ThreadField::Weight => Acsl::from("saakm_weights").index(call!("number", thread)),
                    ThreadField::Runtime => Acsl::from("saakm_the.runtime_of").index(call!("number", thread)),
                    ThreadField::Affinity => affinity(thread),
                }
            }
            ExprKind::CoreField { field, core } => {
                let field = match field {
                    CoreField::Current => "current",
                    CoreField::NrReady => "nr_ready",
                    CoreField::NrRunning => "nr_running",
                    CoreField::Frequency => "seen_khz",
                    CoreField::MinFrequency => "min_khz",
                    CoreField::Capacity => "capacity",
                    CoreField::ExitLatency => "exit_latency_ns",
                    CoreField::IdleSince => "idle_since",
                };
                Acsl::from("saakm_the.core").index(of(core)?).field(field)
            }
            ExprKind::Now => "saakm_the.now".into(),
            ExprKind::Fact(fact) => Acsl::from("saakm_the.fact").index(fact_constant(*fact)),
            ExprKind::Kept(kept) => {
                let index = match kept {
                    KeptSet::Online => "0",
                    KeptSet::Idle => "1",
                    KeptSet::IdleWhole => "2",
                    KeptSet::Waiting => "3",
                };
                Acsl::from("saakm_kept").index(index).address()
            }
            ExprKind::Machine | ExprKind::DomainOf { level: crate::ir::Level::Machine, .. } => {
                call!("domain", "SAAKM_MACHINE", "0")
            }
            ExprKind::DomainOf { level, core } => {
                let level = level_constant(*level);
                let domains = Acsl::from("saakm_domain_of_core").index(level);
                call!("domain", level, domains.index(of(core)?))
            }
            ExprKind::CoresOf(domain) => of(domain)?.to("cores").address(),
            ExprKind::Call { function, args } => self.call_term(env, *function, args)?,
            ExprKind::Effect(_) => return Err("an expression with an effect".into()),
            ExprKind::Decay { value, time, half_life } => {
                call!("decay", of(value)?, of(time)?, of(half_life)?)
            }
            ExprKind::Pick { extreme, left, right } => {
                let (left, right) = (of(left)?, of(right)?);
                let op = if *extreme == Extreme::Min { "<" } else { ">" };
                conditional(left.clone().infix(op, &right), left, right)
            }
            ExprKind::Empty(set) => {
                let k = bound(env);
                forall(&k, call!("is_core", &k).implies(not(self.member(env, set, &(&k).into())?)))
            }
            ExprKind::Count(set) => self.partial(env, expr, &self.count_key(set), None)?,
            ExprKind::Not(inner) => not(of(inner)?),
            ExprKind::Neg(inner) => wrapped(Acsl::Prefix("-", of(inner)?.into())),
            ExprKind::Logic { and, left, right } => {
                of(left)?.infix(if *and { "&&" } else { "||" }, of(right)?)
            }
            ExprKind::Compare { op, left, right } => {
                let op = match op {
                    Comparison::Eq if left.ty == Type::BOOL => "<==>",
                    Comparison::Ne if left.ty == Type::BOOL => "^^",
                    Comparison::Eq => "==",
                    Comparison::Ne => "!=",
                    Comparison::Lt => "<",
                    Comparison::Le => "<=",
                    Comparison::Gt => ">",
                    Comparison::Ge => ">=",
                };
                of(left)?.infix(op, of(right)?)
            }
            ExprKind::In { core, set } => {
                let value = of(core)?;
                let member = self.member(env, set, &value)?;
                if core.ty.optional { value.differs("SAAKM_NO_CORE").and(member) } else { member }
            }
            ExprKind::Arithmetic { op, left, right } => {
                let divisor = crate::types::value_of(right).filter(|n| *n != 0 && *n != -1);
                let (left, right) = (of(left)?, of(right)?);
                match (op, divisor) {
                    (Arithmetic::Add, _) => wrapped(left.infix("+", right)),
                    (Arithmetic::Sub, _) => wrapped(left.infix("-", right)),
                    (Arithmetic::Mul, _) => wrapped(left.infix("*", right)),
                    (Arithmetic::Div, Some(_)) => left.infix("/", right),
                    (Arithmetic::Rem, Some(_)) => left.infix("%", right),
                    (Arithmetic::Div, None) => call!("quotient", left, right),
                    (Arithmetic::Rem, None) => call!("remainder", left, right),
                }
            }
            ExprKind::SetOp { .. } => return Err("a set that is computed".into()),
            ExprKind::Conditional { test, then, otherwise } => {
                conditional(of(test)?, of(then)?, of(otherwise)?)
            }
            ExprKind::Default { optional, default } => {
                let (value, default) = (of(optional)?, of(default)?);
                conditional(value.clone().differs(none(optional.ty)), value, default)
            }
            ExprKind::Search(search) => self.search_term(env, expr, search)?,
        })
    }

    /// What is read at a place: a pointer to a set, or a value.
    fn read(&self, expr: &Expr, place: Acsl) -> Acsl {
        if expr.ty == Type::SET { place.address() } else { self.truth(expr, place) }
    }

    /// A value of C as a term or predicate.
    fn truth(&self, expr: &Expr, value: Acsl) -> Acsl {
        if expr.ty == Type::BOOL { value.differs("0") } else { value }
    }

    /// Core `k` is a member of the set.
    pub fn member(&self, env: &Env, set: &Expr, k: &Acsl) -> Logic {
        let member = |set: &Expr| self.member(env, set, k);
        Ok(match &set.kind {
            ExprKind::SetOp { op, left, right } => {
                let (left, right) = (member(left)?, member(right)?);
                match op {
                    SetOp::Union => left.or(right),
                    SetOp::Intersection => left.and(right),
                    SetOp::Difference => left.and(not(right)),
                }
            }
            ExprKind::Conditional { test, then, otherwise } => {
                conditional(self.term(env, test)?, member(then)?, member(otherwise)?)
            }
            _ => call!("in", self.term(env, set)?, k),
        })
    }

    fn call_term(&self, env: &Env, function: FunctionId, args: &[Expr]) -> Logic {
        if !self.defined.borrow().contains(&function) {
            return Err(format!("a call of `{}`", self.policy.function(function).name));
        }
        let args: Logic<Vec<Acsl>> = args.iter().map(|arg| self.argument(env, arg)).collect();
        Ok(Acsl::Call(format!("{}_is", self.names.functions[function.index()]), args?))
    }

    fn argument(&self, env: &Env, arg: &Expr) -> Logic {
        let value = self.term(env, arg)?;
        Ok(if arg.ty == Type::BOOL { conditional(value, "1".into(), "0".into()) } else { value })
    }

    /// What an iteration goes over. `k` is the quantified variable.
    pub fn elements(&self, env: &Env, search: &crate::ir::Iteration, k: &Acsl) -> Logic<Elements> {
        Ok(match &search.over {
            Over::Cores(set) => {
                let place = match &search.order {
                    None => k.clone(),
                    Some(order) => call!(walk(order.kind), self.term(env, &order.origin)?, k),
                };
                let guard = call!("is_core", k).and(self.member(env, set, k)?);
                Elements { guard, element: k.clone(), place, end: "saakm_cores".into(), cores: true }
            }
            Over::Threads { core, queue } => {
                let (core, queue) = (self.term(env, core)?, &self.names.queue_constants[queue.index()]);
                let end = call!("length", &core, queue);
                Elements {
                    guard: Acsl::from("0").infix("<=", k.clone().infix("<", &end)),
                    element: call!("ready", core, queue, k),
                    place: k.clone(),
                    end,
                    cores: false,
                }
            }
            Over::Groups { domain, level } => {
                let domain = self.term(env, domain)?;
                let level = level_constant(*level);
                let origin = match &search.order {
                    Some(order) => self.term(env, &order.origin)?,
                    None => "SAAKM_NO_CORE".into(),
                };
                let end = domain.clone().to("count").index(level);
                Elements {
                    guard: Acsl::from("0").infix("<=", k.clone().infix("<", &end)),
                    element: call!("group", domain, level, origin, k),
                    place: k.clone(),
                    end,
                    cores: false,
                }
            }
        })
    }

    /// `guard(K)` with the filter.
    pub fn matches(&self, env: &Env, search: &Search, k: &Acsl) -> Logic<(Elements, Env)> {
        let mut elements = self.elements(env, &search.iteration, k)?;
        let mut inner = env.clone();
        inner.insert(search.iteration.local, elements.element.clone());
        if let Some(filter) = &search.filter {
            elements.guard = elements.guard.and(self.term(&inner, filter)?);
        }
        Ok((elements, inner))
    }

    fn search_term(&self, env: &Env, expr: &Expr, search: &Search) -> Logic {
        if search.iteration.limit.is_some() {
            return Err("a search with a limit".into());
        }
        let k = bound(env);
        let (elements, _) = self.matches(env, search, &(&k).into())?;
        match &search.kind {
            SearchKind::Any => Ok(exists(&k, elements.guard)),
            SearchKind::First if !elements.cores && search.filter.is_none() => {
                let first = self.elements(env, &search.iteration, &"0".into())?.element;
                Ok(conditional(elements.end.infix(">", "0"), first, "\\null".into()))
            }
            SearchKind::Sum { .. } => self.partial(env, expr, &search_key(search), None),
            _ => Err("the result of a search inside an expression".into()),
        }
    }

    // ---- sums and counts --------------------------------------------------------------------

    /// The sum or count over the first `upto` elements, or all.
    pub fn partial(&self, env: &Env, expr: &Expr, key: &str, upto: Option<&str>) -> Logic {
        let sums = self.sums.borrow();
        let (name, free) = sums.get(key).ok_or("a sum or a count of an expression that has not been met")?;
        let values = free.iter().map(|id| env.get(id).cloned().ok_or("a variable that changes".to_owned()));
        let mut args = values.collect::<Logic<Vec<Acsl>>>()?;
        args.push(match (&expr.kind, upto) {
            (_, Some(upto)) => upto.into(),
            (ExprKind::Search(search), None) => self.elements(env, &search.iteration, &"K0".into())?.end,
            _ => "saakm_cores".into(),
        });
        Ok(Acsl::Call(name.clone(), args))
    }

    pub fn count_key(&self, set: &Expr) -> String {
        format!("count {:?}", set.kind)
    }

    /// Defines the logic function of each sum and count in a function.
    pub fn define_sums(&self, id: FunctionId) -> Vec<Clause> {
        let function = self.policy.function(id);
        let mut found = Sums(Vec::new());
        crate::ir::visit::walk_block(&mut found, &function.body);
        let mut definitions = Vec::new();
        for expr in found.0 {
            let name = format!("{}_sum{}", self.names.functions[id.index()], self.sums.borrow().len() + 1);
            definitions.extend(self.define_sum(function, &expr, &name));
        }
        definitions
    }

    fn define_sum(&self, function: &Function, expr: &Expr, name: &str) -> Logic<Clause> {
        let mut free = Free(Vec::new());
        free.expr(expr);
        let mut free = free.0;
        free.sort_unstable();
        free.dedup();
        if let ExprKind::Search(search) = &expr.kind {
            free.retain(|id| *id != search.iteration.local);
        }
        let mut env: Env = free.iter().map(|id| (*id, parameter(*id))).collect();
        let last = Acsl::from("N").infix("-", "1");
        let (key, guard, value) = match &expr.kind {
            ExprKind::Count(set) => (self.count_key(set), self.member(&env, set, &last)?, "1".into()),
            ExprKind::Search(search) => {
                let SearchKind::Sum { of } = &search.kind else { return Err(String::new()) };
                let elements = self.elements(&env, &search.iteration, &last)?;
                env.insert(search.iteration.local, elements.element.clone());
                let mut guard = if elements.cores { elements.guard } else { "\\true".into() };
                if search.iteration.order.is_some() || search.iteration.limit.is_some() {
                    return Err("a sum in an order".into());
                }
                if let Some(filter) = &search.filter {
                    guard = guard.and(self.term(&env, filter)?);
                }
                (search_key(search), guard, self.term(&env, of)?)
            }
            _ => return Err(String::new()),
        };
        let params: String =
            free.iter().map(|id| format!("{} V{}, ", logic_type(function.local(*id).ty), id.0)).collect();
        let args = free.iter().map(|id| parameter(*id)).chain([last]).collect();
        let before = Acsl::Call(name.into(), args);
        self.sums.borrow_mut().insert(key, (name.to_owned(), free));
        let head = format!("logic integer {name}{{L}}({params}integer N)");
        let sum = conditional(guard, wrapped(before.clone().infix("+", value)), before);
        Ok(Clause::Define(head, conditional(Acsl::from("N").infix("<=", "0"), "0".into(), sum)))
    }

    // ---- functions --------------------------------------------------------------------------

    /// The logic definition of a pure function.
    pub fn definition(&self, id: FunctionId) -> Logic<Clause> {
        let function = self.policy.function(id);
        if !function.effects.is_pure() {
            return Err("effects".into());
        }
        let result = function.result.ok_or("no result")?;
        let taken = (0..function.arity).map(LocalId).filter(|id| super::body::takes(function, *id));
        let taken: Vec<LocalId> = taken.collect();
        let env: Env = taken.iter().map(|id| (*id, parameter(*id))).collect();
        let name = &self.names.functions[id.index()];
        let body = self.run(&env, &function.body, &|_| Err("a path without a result".into()))?;
        let kind = if result == Type::BOOL {
            "predicate".to_owned()
        } else {
            format!("logic {}", logic_type(result))
        };
        let params: Vec<String> =
            taken.iter().map(|id| format!("{} V{}", logic_type(function.local(*id).ty), id.0)).collect();
        let params = if params.is_empty() { String::new() } else { format!("({})", params.join(", ")) };
        Ok(Clause::Define(format!("{kind} {name}_is{{L}}{params}"), body))
    }

    /// The value that a block returns; `rest` is what comes after it.
    fn run(&self, env: &Env, block: &[Stmt], rest: &dyn Fn(&Env) -> Logic) -> Logic {
        let Some((stmt, after)) = block.split_first() else { return rest(env) };
        let next = |env: &Env| self.run(env, after, rest);
        match &stmt.kind {
            StmtKind::Let { local, value } | StmtKind::Assign { target: Target::Local(local), value } => {
                let mut env = env.clone();
                let value = self.argument(&env, value)?;
                env.insert(*local, value);
                next(&env)
            }
            StmtKind::If { test, then, otherwise } => Ok(conditional(
                self.term(env, test)?,
                self.run(env, then, &next)?,
                self.run(env, otherwise, &next)?,
            )),
            StmtKind::IfSome { local, value, then, otherwise } => {
                let found = self.term(env, value)?;
                let mut inner = env.clone();
                inner.insert(*local, found.clone());
                Ok(conditional(
                    found.differs(none(value.ty)),
                    self.run(&inner, then, &next)?,
                    self.run(env, otherwise, &next)?,
                ))
            }
            StmtKind::Return(Some(value)) => self.term(env, value),
            StmtKind::Block(block) => self.run(env, block, &next),
            _ => Err("a loop or a statement with effects".into()),
        }
    }
}

/// The affinity of a thread, a pointer to a set.
pub fn affinity(thread: Acsl) -> Acsl {
    Acsl::from("saakm_affinities").index(call!("number", thread)).address()
}

/// A parameter of a logic function.
fn parameter(id: LocalId) -> Acsl {
    format!("V{}", id.0).into()
}

/// The function that gives the place of a core in a walk.
pub fn walk(order: OrderKind) -> &'static str {
    if order == OrderKind::Nearest { "nearest" } else { "from" }
}

pub fn search_key(search: &Search) -> String {
    format!("{:?} {:?} {:?} {:?}", search.kind, search.iteration.over, search.filter, search.iteration.local)
}

/// The logic type of a parameter.
pub fn logic_type(ty: Type) -> &'static str {
    match ty.base {
        BaseType::Thread => "thread_t",
        BaseType::Domain => "domain_t",
        BaseType::Set => "set_t",
        _ => "integer",
    }
}

pub fn none(ty: Type) -> &'static str {
    if ty.base == BaseType::Core { "SAAKM_NO_CORE" } else { "\\null" }
}

struct Free(Vec<LocalId>);

impl Visitor for Free {
    fn expr(&mut self, expr: &Expr) {
        if let ExprKind::Local(id) = expr.kind {
            self.0.push(id);
        }
        walk_expr(self, expr);
    }
}

/// Sums and counts, inner ones first.
struct Sums(Vec<Expr>);

impl Visitor for Sums {
    fn expr(&mut self, expr: &Expr) {
        walk_expr(self, expr);
        let is_sum = match &expr.kind {
            ExprKind::Search(search) => matches!(search.kind, SearchKind::Sum { .. }),
            ExprKind::Count(_) => true,
            _ => false,
        };
        if is_sum {
            self.0.push(expr.clone());
        }
    }
}

/// Variables that a block assigns and does not declare.
pub fn assigned(block: &Block) -> Vec<LocalId> {
    #[derive(Default)]
    struct Assigned {
        assigned: Vec<LocalId>,
        declared: Vec<LocalId>,
    }
    impl Visitor for Assigned {
        fn stmt(&mut self, stmt: &Stmt) {
            match &stmt.kind {
                StmtKind::Let { local, .. } | StmtKind::IfSome { local, .. } => self.declared.push(*local),
                StmtKind::Assign { target: Target::Local(local), .. } => self.assigned.push(*local),
                _ => {}
            }
            crate::ir::visit::walk_stmt(self, stmt);
        }
    }
    let mut found = Assigned::default();
    crate::ir::visit::walk_block(&mut found, block);
    let Assigned { mut assigned, declared } = found;
    assigned.retain(|local| !declared.contains(local));
    assigned.sort_unstable();
    assigned.dedup();
    assigned
}
