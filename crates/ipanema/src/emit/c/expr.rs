//! Emission of expressions.

use super::body::{Body, C, level, takes};
use super::contract::Pass;
use super::declare::none;
use super::memo::call_of_a_core;
use super::text::number;
use crate::ir::{
    Arithmetic, Comparison, CoreField, Effect, Expr, ExprKind, Extreme, Fact, Level, LocalId, StealId,
    ThreadField, Type,
};

/// The runtime's name of a fact.
pub fn fact_constant(fact: Fact) -> &'static str {
    match fact {
        Fact::WakerExits => "SAAKM_WAKER_EXITS",
        Fact::WakerSleeps => "SAAKM_WAKER_SLEEPS",
    }
}

impl Body<'_> {
    /// Returns the C expression; emits preceding statements as needed.
    pub fn expr(&mut self, expr: &Expr) -> C {
        let prefix = &self.unit.names.prefix;
        match &expr.kind {
            ExprKind::Bool(value) => C::atom(value.to_string()),
            ExprKind::Number(value) => {
                let text = number(*value, expr.ty);
                let level = if text.contains([' ', '-']) { level::PRODUCT } else { level::ATOM };
                C::new(text, level)
            }
            ExprKind::None => C::atom(none(expr.ty)),
            ExprKind::Some(inner) => self.expr(inner),
            ExprKind::Local(id) => C::atom(self.name_of(*id)),
            ExprKind::Param(id) => {
                let field = &self.unit.names.params[id.index()];
                C::atom(format!("{prefix}_state(s)->{field}"))
            }
            ExprKind::Global(id) => {
                let field = &self.unit.names.globals[id.index()];
                C::atom(format!("{prefix}_state(s)->{field}"))
            }
            ExprKind::Thread { attribute, thread } => {
                let thread = self.expr(thread).text;
                let names = &self.unit.names;
                let field = &names.thread[attribute.index()];
                C::atom(format!("{}_thread({thread})->{field}", names.prefix))
            }
            ExprKind::Core { attribute, core } => {
                let core = self.expr(core).text;
                let names = &self.unit.names;
                let field = &names.core[attribute.index()];
                C::atom(format!("{}_core(s, {core})->{field}", names.prefix))
            }
            ExprKind::ThreadField { field, thread } => {
                let thread = self.expr(thread).text;
                C::atom(match field {
                    ThreadField::Core => format!("saakm_core({thread})"),
                    ThreadField::Weight => format!("saakm_weight({thread})"),
                    // The runtime of a running thread depends on the current time.
                    ThreadField::Runtime => format!("saakm_runtime(s, {thread})"),
                    ThreadField::Affinity => format!("saakm_affinity({thread})"),
                })
            }
            ExprKind::CoreField { field, core } => {
                let core = self.expr(core).text;
                let function = match field {
                    CoreField::Current => "saakm_current",
                    CoreField::NrReady => "saakm_nr_ready",
                    CoreField::NrRunning => "saakm_nr_running",
                    CoreField::Frequency => "saakm_frequency",
                    CoreField::MinFrequency => "saakm_min_frequency",
                    CoreField::Capacity => "saakm_capacity",
                    CoreField::ExitLatency => "saakm_exit_latency",
                    CoreField::IdleSince => "saakm_idle_since",
                };
                C::atom(format!("{function}(s, {core})"))
            }
            ExprKind::Now => C::atom("saakm_now(s)"),
            ExprKind::Fact(fact) => C::atom(format!("saakm_fact(s, {})", fact_constant(*fact))),
            ExprKind::Machine => C::atom("saakm_machine(s)"),
            ExprKind::DomainOf { level, core } => {
                let core = self.expr(core).text;
                let function = match level {
                    Level::Smt => "saakm_smt",
                    Level::Llc => "saakm_llc",
                    Level::Numa => "saakm_numa",
                    Level::Machine => return C::atom("saakm_machine(s)"),
                };
                C::atom(format!("{function}(s, {core})"))
            }
            // Sets are accessed word by word, or passed as an argument by address.
            ExprKind::Set(_) | ExprKind::Kept(_) | ExprKind::CoresOf(_) | ExprKind::SetOp { .. } => {
                C::atom(self.set_pointer(expr, "set", None))
            }
            ExprKind::Call { function, args } => {
                let args: Vec<&Expr> = args.iter().collect();
                let call = self.call(*function, &args);
                let memo = call_of_a_core(expr);
                C::atom(match self.memos.iter().position(|known| Some(*known) == memo) {
                    Some(index) => format!("SAAKM_MEMO_VALUE({}, {index}, {call})", self.memo_name),
                    None => call,
                })
            }
            ExprKind::Effect(effect) => C::atom(self.effect(effect)),
            ExprKind::Decay { value, time, half_life } => {
                let parts = self.operands(&[value, time, half_life]);
                let parts: Vec<String> = parts.into_iter().map(|part| part.text).collect();
                C::atom(format!("saakm_decay({})", parts.join(", ")))
            }
            ExprKind::Pick { extreme, left, right } => {
                let function = match extreme {
                    Extreme::Min => "saakm_min",
                    Extreme::Max => "saakm_max",
                };
                let parts = self.operands(&[left, right]);
                C::atom(format!("{function}({}, {})", parts[0].text, parts[1].text))
            }
            ExprKind::Count(set) => C::atom(self.pass(Pass::Count, set)),
            ExprKind::Empty(set) => C::atom(self.pass(Pass::Empty, set)),
            ExprKind::Not(inner) => {
                let inner = self.expr(inner).within(level::UNARY);
                C::new(format!("!{inner}"), level::UNARY)
            }
            ExprKind::Neg(inner) => {
                let inner = self.expr(inner).within(level::ATOM);
                C::new(format!("-{inner}"), level::UNARY)
            }
            ExprKind::Logic { and, left, right } => self.logic(*and, left, right),
            ExprKind::Compare { op, left, right } => self.compare(*op, left, right),
            ExprKind::In { core, set } => self.is_in(core, set),
            ExprKind::Arithmetic { op, left, right } => self.arithmetic(*op, left, right),
            ExprKind::Conditional { test, then, otherwise } => {
                self.conditional(test, then, otherwise, expr.ty)
            }
            ExprKind::Default { optional, default } => self.default(optional, default),
            ExprKind::Search(search) => self.search(search, expr.ty),
        }
    }

    /// Emits a call of one of the policy's functions.
    pub fn call(&mut self, function: crate::ir::FunctionId, args: &[&Expr]) -> String {
        let callee = self.policy.function(function);
        let mut texts = vec!["s".to_owned()];
        let (sets, values): (Vec<_>, Vec<_>) =
            args.iter().zip(callee.params()).partition(|(arg, _)| arg.ty == Type::SET);
        // Sets are copied before any other argument is evaluated.
        let mut pointers = Vec::new();
        for (arg, param) in sets {
            pointers.push(self.set_pointer(arg, &param.name, Some(&callee.effects)));
        }
        let values: Vec<&Expr> = values.into_iter().map(|(arg, _)| *arg).collect();
        let mut values = self.operands(&values).into_iter();
        let mut pointers = pointers.into_iter();
        for param in callee.params() {
            let next =
                if param.ty == Type::SET { pointers.next() } else { values.next().map(|value| value.text) };
            texts.extend(next);
        }
        let name = &self.unit.names.functions[function.index()];
        format!("{name}({})", texts.join(", "))
    }

    pub fn steal_call(&mut self, steal: StealId, thief: &Expr, victims: &Expr) -> String {
        let callee = &self.policy.steals[steal.index()];
        // The first phase computes the set of candidates. If no phase uses the victims, they may
        // change afterwards.
        let phases = callee.phases();
        let looks = phases.iter().any(|phase| takes(self.policy.function(*phase), LocalId(1)));
        let effects = looks.then_some(&callee.effects);
        let victims = self.set_pointer(victims, &callee.victims.name, effects);
        let thief = self.expr(thief).text;
        format!("{}(s, {thief}, {victims})", self.unit.names.steals[steal.index()])
    }

    pub fn effect(&mut self, effect: &Effect) -> String {
        match effect {
            Effect::Add { set, core } => {
                let core = self.expr(core).text;
                let capacity = match &self.policy.sets[set.index()].capacity {
                    Some(capacity) => self.expr(capacity).text,
                    None => "SAAKM_MAX_CORES".to_owned(),
                };
                let (pointer, constant) = self.own_set(*set);
                format!("saakm_add(s, {pointer}, {constant}, {core}, {capacity})")
            }
            Effect::Remove { set, core } => {
                let core = self.expr(core).text;
                let (pointer, constant) = self.own_set(*set);
                format!("saakm_remove(s, {pointer}, {constant}, {core})")
            }
            Effect::Claim(core) => format!("saakm_claim(s, {})", self.expr(core).text),
            Effect::Release(core) => format!("saakm_release(s, {})", self.expr(core).text),
            Effect::Preempt(core) => format!("saakm_preempt(s, {})", self.expr(core).text),
            Effect::Cancel(thread) => format!("saakm_cancel(s, {})", self.expr(thread).text),
            Effect::Arm { thread, after } => {
                let parts = self.operands(&[thread, after]);
                format!("saakm_arm(s, {}, {})", parts[0].text, parts[1].text)
            }
            Effect::KeepWarm { core, time } => {
                let parts = self.operands(&[core, time]);
                format!("saakm_keep_warm(s, {}, {})", parts[0].text, parts[1].text)
            }
        }
    }

    // ---- operators ------------------------------------------------------------------------

    fn logic(&mut self, and: bool, left: &Expr, right: &Expr) -> C {
        let left = self.expr(left);
        let (right, before) = self.aside(1, |this| this.expr(right));
        if before.is_empty() {
            // Parentheses where && and || are mixed avoid a compiler warning.
            let (op, own) = if and { ("&&", level::AND) } else { ("||", level::OR) };
            let side = |c: C| {
                let mixed = c.level == level::AND && !and;
                if mixed { format!("({})", c.text) } else { c.within(own) }
            };
            return C::new(format!("{} {op} {}", side(left), side(right)), own);
        }
        let result = self.temporary(Type::BOOL, "holds", left);
        let open = if and { "" } else { "!" };
        self.out.open(&format!("if ({open}{}) {{", result.text));
        self.out.append(before);
        self.out.line(&format!("{} = {};", result.text, right.text));
        self.out.close("}");
        result
    }

    fn compare(&mut self, op: Comparison, left: &Expr, right: &Expr) -> C {
        let (op, own) = match op {
            Comparison::Eq => ("==", level::EQUAL),
            Comparison::Ne => ("!=", level::EQUAL),
            Comparison::Lt => ("<", level::RELATION),
            Comparison::Le => ("<=", level::RELATION),
            Comparison::Gt => (">", level::RELATION),
            Comparison::Ge => (">=", level::RELATION),
        };
        // Parentheses around comparisons of booleans and negations, for readability.
        let tight = if left.ty == Type::BOOL { level::ATOM } else { level::SUM };
        let mut sides = self.operands(&[left, right]).into_iter().map(|side| side.within(tight));
        let (left, right) = (sides.next().unwrap_or_default(), sides.next().unwrap_or_default());
        C::new(format!("{left} {op} {right}"), own)
    }

    fn arithmetic(&mut self, op: Arithmetic, left: &Expr, right: &Expr) -> C {
        let divisor = crate::types::value_of(right);
        let mut sides = self.operands(&[left, right]).into_iter();
        let (Some(left), Some(right)) = (sides.next(), sides.next()) else { return C::atom("0") };
        let (symbol, own) = match op {
            Arithmetic::Add => ("+", level::SUM),
            Arithmetic::Sub => ("-", level::SUM),
            Arithmetic::Mul => ("*", level::PRODUCT),
            Arithmetic::Div | Arithmetic::Rem => {
                let (symbol, helper) =
                    if op == Arithmetic::Div { ("/", "saakm_div") } else { ("%", "saakm_mod") };
                if matches!(divisor, None | Some(0 | -1)) {
                    return C::atom(format!("{helper}({}, {})", left.text, right.text));
                }
                (symbol, level::PRODUCT)
            }
        };
        // The right operand needs a higher precedence, because these operators are
        // left-associative.
        let text = format!("{} {symbol} {}", left.within(own), right.within(own + 1));
        C::new(text, own)
    }

    fn conditional(&mut self, test: &Expr, then: &Expr, otherwise: &Expr, ty: Type) -> C {
        if ty == Type::SET {
            let pointer = self.set_pointer_of_choice(test, then, otherwise);
            return C::atom(pointer);
        }
        let test = self.expr(test);
        let (then, before_then) = self.aside(1, |this| this.expr(then));
        let (otherwise, before_otherwise) = self.aside(1, |this| this.expr(otherwise));
        if before_then.is_empty() && before_otherwise.is_empty() {
            let text = format!(
                "{} ? {} : {}",
                test.within(level::OR),
                wide(then, ty).within(level::OR),
                wide(otherwise, ty).within(level::OR)
            );
            return C::new(text, level::CONDITIONAL);
        }
        let result = self.fresh("choice");
        self.out.line(&format!("{};", super::declare::declarator(ty, &result)));
        self.out.open(&format!("if ({}) {{", test.text));
        self.out.append(before_then);
        self.out.line(&format!("{result} = {};", then.text));
        self.out.indent -= 1;
        self.out.open("} else {");
        self.out.append(before_otherwise);
        self.out.line(&format!("{result} = {};", otherwise.text));
        self.out.close("}");
        C::atom(result)
    }

    /// Emits `optional`, or `default` if it is none.
    fn default(&mut self, optional: &Expr, default: &Expr) -> C {
        let none = none(optional.ty);
        let found = self.simple(optional, "found");
        let (default_value, before) = self.aside(1, |this| this.expr(default));
        if before.is_empty() {
            let text = format!("{found} != {none} ? {found} : {}", default_value.within(level::OR));
            return C::new(text, level::CONDITIONAL);
        }
        let result = self.temporary(optional.ty, "found", C::atom(found));
        self.out.open(&format!("if ({} == {none}) {{", result.text));
        self.out.append(before);
        self.out.line(&format!("{} = {};", result.text, default_value.text));
        self.out.close("}");
        result
    }
}

/// Widens a literal operand of a conditional, which C would otherwise evaluate as an int.
fn wide(c: C, ty: Type) -> C {
    let literal = ty.is_scalar() && c.text.chars().all(|c| c.is_ascii_digit());
    if literal { C::atom(c.text + "LL") } else { c }
}
