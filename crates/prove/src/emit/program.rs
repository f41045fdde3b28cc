//! Pass "emit": bodies as WhyML programs.
//!
//! Calls are inlined. A `return` is an exception that the call catches; a transition is an exception that ends the
//! event. Other events run between two accesses to shared state (`look`, `env`). Effects that are not watched are left
//! out, and values that depend on them are arbitrary.

use super::events::CONSISTENT;
use super::inline::needs_program;
use super::term::{Hoisted, Terms, cases, some};
use super::text::{block, indented, renamed};
use super::unit::{Scope, Unit, why_type};
use super::watch::{Watch, tells_affinity};
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
    pub loop_invariants: Vec<String>,
    /// Under [`Watch::Alone`], the WhyML names of the attributes that something reads: only these are assigned to.
    pub read: BTreeSet<String>,
}

impl<'u, 'p> Program<'u, 'p> {
    pub fn watching(unit: &'u Unit<'p>, watch: Watch) -> Self {
        let reads_cores = matches!(watch, Watch::Cores | Watch::OwnCore);
        let loop_invariants = if reads_cores { vec![CONSISTENT.into()] } else { Vec::new() };
        Program { unit, watch, places: false, loop_invariants, read: BTreeSet::new() }
    }

    // ---- functions ----------------------------------------------------------------------------

    /// The body of a function whose parameters are bound.
    pub fn body(&self, scope: &Scope<'p>) -> String {
        let mut scope = scope.clone();
        let assigned = assigned(&scope.function.body);
        let mut lets = String::new();
        for i in 0..scope.function.arity {
            let local = LocalId(i);
            if assigned.contains(&local) {
                let any = || format!("any {}", why_type(scope.function.local(local).ty));
                let value = scope.value(local).unwrap_or_else(any);
                let name = self.unit.fresh(&scope.function.local(local).name);
                lets += &format!("let {name} = ref {value} in\n");
                scope.bind_mutable(local, name);
            }
        }
        let function: &'p Function = scope.function;
        lets + &self.block(&mut scope, &function.body, &assigned)
    }

    fn call(&self, scope: &Scope<'p>, id: FunctionId, args: &[Expr]) -> String {
        let function = self.unit.policy.function(id);
        let mut inner = Scope::new(function);
        let mut lets = String::new();
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
            lets += &format!("let {name} = {} in\n", self.expr(scope, arg));
            inner.bind(local, name);
        }
        let body = self.body(&inner);
        let (before, after) = self.contract(&inner);
        let (result, exception) = match function.result {
            Some(ty) => (format!("any {}", why_type(ty)), format!("Return_{} x -> x", why_type(ty))),
            None => ("()".into(), "Return -> ()".into()),
        };
        format!(
            "({lets}(* {} *)\n{before}try\n{}\nwith {exception} end{after})",
            function.name,
            indented(&format!("{body};\n{result}"))
        )
    }

    /// The name of a variable that does not change. A copy of it has the same name, so that the event's own thread is
    /// known by each of its names.
    fn alias(&self, scope: &Scope<'p>, value: &Expr) -> Option<String> {
        let ExprKind::Local(id) = value.kind else { return None };
        scope.value(id).filter(|name| !name.starts_with('!'))
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

    fn block(&self, scope: &mut Scope<'p>, stmts: &[Stmt], assigned: &HashSet<LocalId>) -> String {
        let mut parts = String::new();
        for stmt in stmts {
            parts += &self.stmt(scope, stmt, assigned);
        }
        // In WhyML a sequence of `let` and `;` ends with a value.
        parts + "()"
    }

    pub fn nested(&self, scope: &Scope<'p>, stmts: &[Stmt], assigned: &HashSet<LocalId>) -> String {
        block(&self.block(&mut scope.clone(), stmts, assigned))
    }

    /// A statement with its separator.
    fn stmt(&self, scope: &mut Scope<'p>, stmt: &Stmt, assigned: &HashSet<LocalId>) -> String {
        match &stmt.kind {
            StmtKind::Let { local, value } => {
                if let Some(alias) = self.alias(scope, value).filter(|_| !assigned.contains(local)) {
                    scope.bind(*local, alias);
                    return String::new();
                }
                let value = self.expr(scope, value);
                let name = self.unit.fresh(&scope.function.local(*local).name);
                if assigned.contains(local) {
                    scope.bind_mutable(*local, name.clone());
                    return format!("let {name} = ref {value} in\n");
                }
                scope.bind(*local, name.clone());
                format!("let {name} = {value} in\n")
            }
            StmtKind::Assign { target, value } => self.assign(scope, target, value),
            StmtKind::If { test, then, otherwise } => {
                let test = self.expr(scope, test);
                let then = self.nested(scope, then, assigned);
                let otherwise = match otherwise.is_empty() {
                    true => String::new(),
                    false => format!("\nelse {}", self.nested(scope, otherwise, assigned)),
                };
                format!("if {test} then {then}{otherwise};\n")
            }
            StmtKind::IfSome { local, value, then, otherwise } => {
                let optional = self.expr(scope, value);
                let name = self.unit.fresh(&scope.function.local(*local).name);
                let mut inner = scope.clone();
                inner.bind(*local, name.clone());
                let (some, none) = cases(value.ty);
                let then = self.nested(&inner, then, assigned);
                let otherwise = self.nested(scope, otherwise, assigned);
                format!("(match {optional} with\n| {some} {name} -> {then}\n| {none} -> {otherwise}\nend);\n")
            }
            StmtKind::For { iteration, body } => self.for_each(scope, iteration, body, assigned),
            StmtKind::Break => "break;\n".into(),
            StmtKind::Continue => "continue;\n".into(),
            StmtKind::Return(None) => "raise Return;\n".into(),
            StmtKind::Return(Some(value)) => {
                format!("raise (Return_{} {});\n", why_type(value.ty), self.expr(scope, value))
            }
            StmtKind::Transition { thread, to, .. } => self.transition(scope, thread, to),
            StmtKind::Call { function, args } => {
                let callee = self.unit.policy.function(*function);
                if !self.minds(&callee.effects) {
                    return format!("(* {}: nothing that matters here *)\n", callee.name);
                }
                let drop = if callee.result.is_some() { "let _ = " } else { "" };
                let end = if callee.result.is_some() { " in\n" } else { ";\n" };
                format!("{drop}{}{end}", self.call(scope, *function, args))
            }
            StmtKind::Effect(effect) => format!("let _ = {} in\n", self.effect(scope, effect)),
            StmtKind::Steal { steal, thief, victims } => self.steal(scope, *steal, thief, victims),
            StmtKind::Block(inner) => format!("{};\n", self.nested(scope, inner, assigned)),
        }
    }

    fn assign(&self, scope: &Scope<'p>, target: &Target, value: &Expr) -> String {
        match target {
            Target::Local(local) => match scope.name(*local) {
                Some(name) => format!("{name} := {};\n", self.expr(scope, value)),
                None => String::new(),
            },
            Target::Thread { attribute, thread }
                if self.watch == Watch::Timer && self.unit.timed.borrow().contains(attribute) =>
            {
                let attribute = &self.unit.policy.thread[attribute.index()];
                let written = format!("own_{} := {};\n", attribute.name, self.expr(scope, value));
                match self.is_own(scope, thread) {
                    true => written,
                    false => format!("if any bool then begin {written} end;\n"),
                }
            }
            Target::Set(id) if self.watch == Watch::Sets => {
                let name = &self.unit.policy.sets[id.index()].name;
                format!("assign_{name} ({});\n", self.expr(scope, value))
            }
            _ if self.watch == Watch::Alone && self.is_read(target) => self.set(scope, target, value),
            // Nothing reads it, or every read gives an arbitrary value.
            _ if self.has_effect(value) => format!("let _ = {} in\n", self.expr(scope, value)),
            _ => String::new(),
        }
    }

    fn has_effect(&self, value: &Expr) -> bool {
        !hearth_ipanema::ir::effects::is_pure(self.unit.policy, value)
    }

    // ---- expressions --------------------------------------------------------------------------

    pub fn expr(&self, scope: &Scope<'p>, e: &Expr) -> String {
        use ExprKind as E;
        if let Some(value) = self.watched_value(scope, e) {
            return value;
        }
        match &e.kind {
            E::Bool(value) => value.to_string(),
            E::Number(n) => format!("({n})"),
            E::None => cases(e.ty).1.into(),
            E::Local(id) => match scope.value(*id) {
                Some(value) => value,
                None => format!("(any {})", why_type(e.ty)),
            },
            E::Some(inner) => some(e.ty, &self.expr(scope, inner)),
            _ if !needs_program(self.unit.policy, e) => self.value(scope, e, Hoisted::new()),
            E::Call { function, .. } if self.is_nothing(*function) => format!("(any {})", why_type(e.ty)),
            E::Call { function, args } => self.call(scope, *function, args),
            E::Search(search) => self.search(scope, search),
            E::Effect(effect) => self.effect(scope, effect),
            E::Not(inner) => format!("(not {})", self.expr(scope, inner)),
            E::Logic { and, left, right } => {
                let op = if *and { "&&" } else { "||" };
                format!("({} {op} {})", self.expr(scope, left), self.expr(scope, right))
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
            _ => self.hoisting(scope, e),
        }
    }

    /// An expression with parts that need programs, which are computed first.
    fn hoisting(&self, scope: &Scope<'p>, e: &Expr) -> String {
        let mut parts = Parts { program: self, scope, root: e, lets: String::new(), hoisted: Hoisted::new() };
        hearth_ipanema::ir::visit::walk_expr(&mut parts, e);
        let (lets, hoisted) = (parts.lets, parts.hoisted);
        format!("({lets}{})", self.value(scope, e, hoisted))
    }

    /// A value that is read while other events run.
    pub fn value(&self, scope: &Scope<'p>, e: &Expr, hoisted: Hoisted) -> String {
        let told = self.watch.is_about_affinity()
            && (tells_affinity(self.unit.policy, e)
                || !matches!(why_type(e.ty), "bool" | "int")
                || e.ty.base == BaseType::Core);
        if self.watch.is_vague() || (self.watch.is_about_affinity() && !told) {
            return format!("(any {})", why_type(e.ty));
        }
        let r = self.unit.fresh("r");
        let mut terms = Terms::new(self.unit, &r, "0");
        terms.blind = self.watch.is_about_affinity();
        terms.alone = self.watch == Watch::Alone;
        terms.hoisted = hoisted;
        let spec = match e.ty {
            Type { base: BaseType::Set, .. } => {
                let c = self.unit.fresh("c");
                terms.element.clone_from(&c);
                let member = terms.member(scope, e, &c);
                format!("forall {c}. is_core {c} -> (mem {c} result <-> {member})")
            }
            Type::BOOL => format!("result <-> {}", terms.expr(scope, e)),
            _ => format!("result = {}", terms.expr(scope, e)),
        };
        self.read(&r, e.ty, &spec)
    }

    /// An arbitrary value that satisfies `spec`, a formula about `result` and the readings `r`.
    pub fn read(&self, r: &str, ty: Type, spec: &str) -> String {
        // A reading of attributes alone may be any: other events need no step of their own.
        let look = match (spec.contains(&format!("(seen {r} ")), spec.contains(&format!("(time {r} "))) {
            (true, _) => format!("let {r} = {} in ", self.watch.look()),
            (false, true) => format!("let {r} = any readings in "),
            (false, false) => String::new(),
        };
        let x = self.unit.fresh("value");
        let mut spec = renamed(spec, "result", &x);
        if ty.optional {
            // Redundant, but it triggers the provers' case distinction.
            let (some, none) = cases(ty);
            spec += &format!("\n  /\\ ({x} = {none} \\/ exists held. {x} = {some} held)");
        }
        for place in places(&spec, r) {
            spec += &format!("\n  /\\ noted {place}");
        }
        format!("({look}let {x} = any {} in\nassume {{ {spec} }}; {x})", why_type(ty))
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
fn places(spec: &str, r: &str) -> BTreeSet<String> {
    let begin = format!("(seen {r} ");
    let after = spec.split(&begin).skip(1).filter_map(|rest| rest.split(')').next());
    after.filter(|place| place.ends_with(" 0")).map(|place| format!("{begin}{place})")).collect()
}

/// Finds the maximal subexpressions that need programs.
struct Parts<'a, 'u, 'p> {
    program: &'a Program<'u, 'p>,
    scope: &'a Scope<'p>,
    root: &'a Expr,
    lets: String,
    hoisted: Hoisted,
}

impl Visitor for Parts<'_, '_, '_> {
    fn expr(&mut self, e: &Expr) {
        let policy = self.program.unit.policy;
        if std::ptr::eq(e, self.root) || !needs_program(policy, e) {
            return;
        }
        let name = self.program.unit.fresh("part");
        self.lets += &format!("let {name} = {} in\n", self.program.expr(self.scope, e));
        self.hoisted.insert(std::ptr::from_ref(e), name);
    }
}
