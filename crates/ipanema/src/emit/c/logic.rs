//! ACSL terms and predicates: what an expression means, independent of the C that computes it.
//!
//! Written from the IR alone, so that a mistake of the C emitter is not repeated here. What has no
//! translation is an error that names it.

use std::collections::HashMap;

use super::Unit;
use super::search::level_constant;
use crate::ir::visit::{Visitor, walk_expr};
use crate::ir::{
    Arithmetic, BaseType, Block, Comparison, CoreField, Expr, ExprKind, Extreme, Function, FunctionId,
    KeptSet, LocalId, OrderKind, Over, Search, SearchKind, SetOp, Stmt, StmtKind, Target, ThreadField, Type,
};

/// The construct that has no translation.
pub type Logic<T = String> = Result<T, String>;

/// Logic names of variables.
pub type Env = HashMap<LocalId, String>;

/// The elements of an iteration: `guard(K)` says which K count, `element(K)` is the element of K, and
/// `place(K)` its place in the walk.
pub struct Elements {
    pub guard: String,
    pub element: String,
    pub place: String,
    /// The number of places.
    pub end: String,
    pub cores: bool,
}

/// A quantified variable. No variable of the C code has such a name.
pub fn bound(env: &Env) -> String {
    format!("K{}", env.values().filter(|name| name.contains('K')).count() + 1)
}

impl Unit<'_> {
    pub fn term(&self, env: &Env, expr: &Expr) -> Logic {
        let prefix = &self.names.prefix;
        let names = &self.names;
        let of = |inner: &Expr| self.term(env, inner);
        Ok(match &expr.kind {
            ExprKind::Bool(value) => format!("\\{value}"),
            ExprKind::Number(value) => format!("({value})"),
            ExprKind::None if expr.ty.base == BaseType::Core => "SAAKM_NO_CORE".into(),
            ExprKind::None => "\\null".into(),
            ExprKind::Some(inner) => of(inner)?,
            ExprKind::Local(id) => {
                let name = env.get(id).ok_or("a variable that changes")?;
                if expr.ty == Type::BOOL { format!("({name} != 0)") } else { name.clone() }
            }
            ExprKind::Param(id) => {
                self.boolean(expr, format!("{prefix}_the_state.{}", names.params[id.index()]))
            }
            ExprKind::Global(id) if expr.ty == Type::SET => {
                format!("(&{prefix}_the_state.{})", names.globals[id.index()])
            }
            ExprKind::Global(id) => {
                self.boolean(expr, format!("{prefix}_the_state.{}", names.globals[id.index()]))
            }
            ExprKind::Set(id) => format!("(&{prefix}_the_state.{})", names.sets[id.index()]),
            ExprKind::Thread { attribute, thread } => {
                let field =
                    format!("{prefix}_threads[number({})].{}", of(thread)?, names.thread[attribute.index()]);
                if expr.ty == Type::SET { format!("(&{field})") } else { self.boolean(expr, field) }
            }
            ExprKind::Core { attribute, core } => {
                let field = format!("{prefix}_cores[{}].{}", of(core)?, names.core[attribute.index()]);
                if expr.ty == Type::SET { format!("(&{field})") } else { self.boolean(expr, field) }
            }
            ExprKind::ThreadField { field, thread } => {
                let thread = of(thread)?;
                match field {
                    ThreadField::Core => format!("core_of({thread})"),
                    ThreadField::Weight => format!("saakm_weights[number({thread})]"),
                    ThreadField::Runtime => format!("saakm_the.runtime_of[number({thread})]"),
                    ThreadField::Affinity => format!("(&saakm_affinities[number({thread})])"),
                }
            }
            ExprKind::CoreField { field, core } => {
                let field = match field {
                    CoreField::Current => "current",
                    CoreField::NrReady => "nr_ready",
                    CoreField::NrRunning => "nr_running",
                    CoreField::Frequency => "seen_khz",
                    CoreField::MinFrequency => "min_khz",
                    CoreField::ExitLatency => "exit_latency_ns",
                    CoreField::IdleSince => "idle_since",
                };
                format!("saakm_the.core[{}].{field}", of(core)?)
            }
            ExprKind::Now => "saakm_the.now".into(),
            ExprKind::Kept(kept) => {
                let index = match kept {
                    KeptSet::Online => 0,
                    KeptSet::Idle => 1,
                    KeptSet::IdleWhole => 2,
                    KeptSet::Waiting => 3,
                };
                format!("(&saakm_kept[{index}])")
            }
            ExprKind::Machine => "domain(SAAKM_MACHINE, 0)".into(),
            ExprKind::DomainOf { level: crate::ir::Level::Machine, .. } => "domain(SAAKM_MACHINE, 0)".into(),
            ExprKind::DomainOf { level, core } => {
                let level = level_constant(*level);
                format!("domain({level}, saakm_domain_of_core[{level}][{}])", of(core)?)
            }
            ExprKind::CoresOf(domain) => format!("(&{}->cores)", of(domain)?),
            ExprKind::Call { function, args } => self.call_term(env, *function, args)?,
            ExprKind::Effect(_) => return Err("an expression with an effect".into()),
            ExprKind::Decay { value, time, half_life } => {
                format!("decay({}, {}, {})", of(value)?, of(time)?, of(half_life)?)
            }
            ExprKind::Pick { extreme, left, right } => {
                let (left, right) = (of(left)?, of(right)?);
                let op = if *extreme == Extreme::Min { "<" } else { ">" };
                format!("({left} {op} {right} ? {left} : {right})")
            }
            ExprKind::Empty(set) => {
                let k = bound(env);
                format!("(\\forall integer {k}; is_core({k}) ==> !{})", self.member(env, set, &k)?)
            }
            ExprKind::Count(set) => self.accumulated(env, expr, &self.count_key(set))?,
            ExprKind::Not(inner) => format!("!{}", of(inner)?),
            ExprKind::Neg(inner) => format!("(int64_t)(-{})", of(inner)?),
            ExprKind::Logic { and, left, right } => {
                format!("({} {} {})", of(left)?, if *and { "&&" } else { "||" }, of(right)?)
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
                format!("({} {op} {})", of(left)?, of(right)?)
            }
            ExprKind::In { core, set } => {
                let name = of(core)?;
                let member = self.member(env, set, &name)?;
                if core.ty.optional { format!("({name} != SAAKM_NO_CORE && {member})") } else { member }
            }
            ExprKind::Arithmetic { op, left, right } => {
                let divisor = crate::types::value_of(right);
                let (left, right) = (of(left)?, of(right)?);
                match (op, divisor) {
                    (Arithmetic::Add, _) => format!("(int64_t)({left} + {right})"),
                    (Arithmetic::Sub, _) => format!("(int64_t)({left} - {right})"),
                    (Arithmetic::Mul, _) => format!("(int64_t)({left} * {right})"),
                    (Arithmetic::Div, Some(n)) if n != 0 && n != -1 => format!("({left} / {right})"),
                    (Arithmetic::Rem, Some(n)) if n != 0 && n != -1 => format!("({left} % {right})"),
                    (Arithmetic::Div, _) => format!("quotient({left}, {right})"),
                    (Arithmetic::Rem, _) => format!("remainder({left}, {right})"),
                }
            }
            ExprKind::SetOp { .. } => return Err("a set that is computed".into()),
            ExprKind::Conditional { test, then, otherwise } => {
                format!("({} ? {} : {})", of(test)?, of(then)?, of(otherwise)?)
            }
            ExprKind::Default { optional, default } => {
                let (value, default) = (of(optional)?, of(default)?);
                format!("({value} != {} ? {value} : {default})", none(optional.ty))
            }
            ExprKind::Search(search) => self.search_term(env, expr, search)?,
        })
    }

    fn boolean(&self, expr: &Expr, place: String) -> String {
        if expr.ty == Type::BOOL { format!("({place} != 0)") } else { place }
    }

    /// Core `k` is a member of the set.
    pub fn member(&self, env: &Env, set: &Expr, k: &str) -> Logic {
        Ok(match &set.kind {
            ExprKind::SetOp { op, left, right } => {
                let (left, right) = (self.member(env, left, k)?, self.member(env, right, k)?);
                match op {
                    SetOp::Union => format!("({left} || {right})"),
                    SetOp::Intersection => format!("({left} && {right})"),
                    SetOp::Difference => format!("({left} && !{right})"),
                }
            }
            ExprKind::Conditional { test, then, otherwise } => format!(
                "({} ? {} : {})",
                self.term(env, test)?,
                self.member(env, then, k)?,
                self.member(env, otherwise, k)?
            ),
            _ => format!("in({}, {k})", self.term(env, set)?),
        })
    }

    fn call_term(&self, env: &Env, function: FunctionId, args: &[Expr]) -> Logic {
        if !self.defined.borrow().contains(&function) {
            return Err(format!("a call of `{}`", self.policy.function(function).name));
        }
        let texts: Logic<Vec<String>> = args.iter().map(|arg| self.argument(env, arg)).collect();
        Ok(format!("{}_is({})", self.names.functions[function.index()], texts?.join(", ")))
    }

    fn argument(&self, env: &Env, arg: &Expr) -> Logic {
        let text = self.term(env, arg)?;
        Ok(if arg.ty == Type::BOOL { format!("({text} ? 1 : 0)") } else { text })
    }

    /// What an iteration goes over. `k` is the quantified variable.
    pub fn elements(&self, env: &Env, search: &crate::ir::Iteration, k: &str) -> Logic<Elements> {
        Ok(match &search.over {
            Over::Cores(set) => {
                let place = match &search.order {
                    None => k.to_owned(),
                    Some(order) => {
                        let origin = self.term(env, &order.origin)?;
                        let walk = if order.kind == OrderKind::Nearest { "nearest" } else { "from" };
                        format!("{walk}({origin}, {k})")
                    }
                };
                let guard = format!("is_core({k}) && {}", self.member(env, set, k)?);
                Elements { guard, element: k.into(), place, end: "saakm_cores".into(), cores: true }
            }
            Over::Threads { core, queue } => {
                let (core, queue) = (self.term(env, core)?, &self.names.queue_constants[queue.index()]);
                Elements {
                    guard: format!("0 <= {k} < length({core}, {queue})"),
                    element: format!("ready({core}, {queue}, {k})"),
                    place: k.into(),
                    end: format!("length({core}, {queue})"),
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
                Elements {
                    guard: format!("0 <= {k} < {domain}->count[{level}]"),
                    element: format!("group({domain}, {level}, {origin}, {k})"),
                    place: k.into(),
                    end: format!("{domain}->count[{level}]"),
                    cores: false,
                }
            }
        })
    }

    /// `guard(K)` with the filter.
    pub fn matches(&self, env: &Env, search: &Search, k: &str) -> Logic<(Elements, Env)> {
        let mut elements = self.elements(env, &search.iteration, k)?;
        let mut inner = env.clone();
        inner.insert(search.iteration.local, elements.element.clone());
        if let Some(filter) = &search.filter {
            elements.guard += &format!(" && {}", self.term(&inner, filter)?);
        }
        Ok((elements, inner))
    }

    fn search_term(&self, env: &Env, expr: &Expr, search: &Search) -> Logic {
        if search.iteration.limit.is_some() {
            return Err("a search with a limit".into());
        }
        let k = bound(env);
        let (elements, _) = self.matches(env, search, &k)?;
        match &search.kind {
            SearchKind::Any => Ok(format!("(\\exists integer {k}; {})", elements.guard)),
            SearchKind::First if !elements.cores && search.filter.is_none() => {
                let first = elements.element.replace(&k, "0");
                Ok(format!("({} > 0 ? {first} : \\null)", elements.end))
            }
            SearchKind::Sum { .. } => self.accumulated(env, expr, &search_key(search)),
            _ => Err("the result of a search inside an expression".into()),
        }
    }

    // ---- sums and counts --------------------------------------------------------------------

    /// The whole sum or count.
    fn accumulated(&self, env: &Env, expr: &Expr, key: &str) -> Logic {
        self.partial(env, expr, key, None)
    }

    /// The sum or count over the first `upto` elements.
    pub fn partial(&self, env: &Env, expr: &Expr, key: &str, upto: Option<&str>) -> Logic {
        let sums = self.sums.borrow();
        let (name, free) = sums.get(key).ok_or("a sum or a count of an expression that has not been met")?;
        let mut args: Vec<String> = Vec::new();
        for id in free {
            args.push(env.get(id).ok_or("a variable that changes")?.clone());
        }
        let end = match (&expr.kind, upto) {
            (_, Some(upto)) => upto.to_owned(),
            (ExprKind::Search(search), None) => self.elements(env, &search.iteration, "K0")?.end,
            _ => "saakm_cores".into(),
        };
        args.push(end);
        Ok(format!("{name}({})", args.join(", ")))
    }

    pub fn count_key(&self, set: &Expr) -> String {
        format!("count {:?}", set.kind)
    }

    /// Defines the logic function of each sum and count in a function; returns their text.
    pub fn define_sums(&self, id: FunctionId) -> Vec<String> {
        let function = self.policy.function(id);
        let mut found = Sums(Vec::new());
        crate::ir::visit::walk_block(&mut found, &function.body);
        let mut lines = Vec::new();
        for expr in found.0 {
            let name = format!("{}_sum{}", self.names.functions[id.index()], self.sums.borrow().len() + 1);
            let _ = self.define_sum(function, &expr, &name).map(|line| lines.push(line));
        }
        lines
    }

    fn define_sum(&self, function: &Function, expr: &Expr, name: &str) -> Logic {
        let mut free = Free(Vec::new());
        free.expr(expr);
        let mut free = free.0;
        free.sort_unstable();
        free.dedup();
        if let ExprKind::Search(search) = &expr.kind {
            free.retain(|id| *id != search.iteration.local);
        }
        let mut env: Env = free.iter().map(|id| (*id, format!("V{}", id.0))).collect();
        let params: String =
            free.iter().map(|id| format!("{} V{}, ", logic_type(function.local(*id).ty), id.0)).collect();
        let args: String = free.iter().map(|id| format!("V{}, ", id.0)).collect();
        let last = "(N - 1)";
        let (key, guard, value) = match &expr.kind {
            ExprKind::Count(set) => (self.count_key(set), self.member(&env, set, last)?, "1".to_owned()),
            ExprKind::Search(search) => {
                let SearchKind::Sum { of } = &search.kind else { return Err(String::new()) };
                let elements = self.elements(&env, &search.iteration, last)?;
                env.insert(search.iteration.local, elements.element.clone());
                let mut guard = if elements.cores { elements.guard } else { "\\true".to_owned() };
                if search.iteration.order.is_some() || search.iteration.limit.is_some() {
                    return Err("a sum in an order".into());
                }
                if let Some(filter) = &search.filter {
                    guard += &format!(" && {}", self.term(&env, filter)?);
                }
                (search_key(search), guard, self.term(&env, of)?)
            }
            _ => return Err(String::new()),
        };
        let before = format!("{name}({args}N - 1)");
        self.sums.borrow_mut().insert(key, (name.to_owned(), free));
        Ok(format!(
            "logic integer {name}{{L}}({params}integer N) = N <= 0 ? 0 : ({guard} ? (int64_t)({before} + {value}) : {before});"
        ))
    }

    // ---- functions --------------------------------------------------------------------------

    /// The logic definition of a pure function, `None` if it has none.
    pub fn definition(&self, id: FunctionId) -> Logic {
        let function = self.policy.function(id);
        if !function.effects.is_pure() {
            return Err("effects".into());
        }
        let result = function.result.ok_or("no result")?;
        let mut env = Env::new();
        let mut params = Vec::new();
        for index in (0..function.arity).map(LocalId) {
            if !super::body::takes(function, index) {
                continue;
            }
            env.insert(index, format!("V{}", index.0));
            params.push(format!("{} V{}", logic_type(function.local(index).ty), index.0));
        }
        let name = &self.names.functions[id.index()];
        let body = self.run(&env, &function.body, &|_| Err("a path without a result".into()))?;
        let kind = if result == Type::BOOL {
            "predicate".to_owned()
        } else {
            format!("logic {}", logic_type(result))
        };
        let params = if params.is_empty() { String::new() } else { format!("({})", params.join(", ")) };
        Ok(format!("{kind} {name}_is{{L}}{params} = {body};"))
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
            StmtKind::If { test, then, otherwise } => {
                let test = self.term(env, test)?;
                Ok(format!(
                    "({test} ? {} : {})",
                    self.run(env, then, &next)?,
                    self.run(env, otherwise, &next)?
                ))
            }
            StmtKind::IfSome { local, value, then, otherwise } => {
                let text = self.term(env, value)?;
                let mut inner = env.clone();
                inner.insert(*local, text.clone());
                Ok(format!(
                    "({text} != {} ? {} : {})",
                    none(value.ty),
                    self.run(&inner, then, &next)?,
                    self.run(env, otherwise, &next)?
                ))
            }
            StmtKind::Return(Some(value)) => self.term(env, value),
            StmtKind::Block(block) => self.run(env, block, &next),
            _ => Err("a loop or a statement with effects".into()),
        }
    }
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
