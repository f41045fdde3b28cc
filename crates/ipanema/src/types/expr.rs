//! Expressions except calls and searches.

use super::body::Lowering;
use super::{Lowered, Top, units};
use crate::codes::{DIVISION_BY_ZERO, MISMATCH, MISUSED_NAME, OPTIONAL, UNITS, UNKNOWN_NAME};
use crate::diagnostic::Diagnostic;
use crate::ir::{Arithmetic, BaseType, Comparison, Expr, ExprKind, Owner, SetOp, Type};
use crate::library::{self, Kind, Value, WORDS};
use crate::syntax::Span;
use crate::syntax::ast::{self, BinaryOp, ExprKind as Ast, UnaryOp};
use hearth_base::suggest::closest;

impl Lowering<'_, '_> {
    /// Lowers an expression and converts it to type `want`.
    pub(super) fn expr_of(&mut self, expr: &ast::Expr, want: Type) -> Option<Expr> {
        let typed = self.expr(expr, Some(want))?;
        self.coerce(typed, want)
    }

    /// Lowers an expression. `hint` is the type of a `none` in it.
    pub(super) fn expr(&mut self, expr: &ast::Expr, hint: Option<Type>) -> Option<Expr> {
        let span = expr.span;
        let (kind, ty) = match &expr.kind {
            Ast::Bool(value) => (ExprKind::Bool(*value), Type::BOOL),
            Ast::Int(value) => (ExprKind::Number(*value), Type::INT),
            Ast::Time { ns, .. } => (ExprKind::Number(*ns), Type::TIME),
            Ast::Frequency { khz, .. } => (ExprKind::Number(*khz), Type::FREQUENCY),
            Ast::None => match hint {
                Some(ty) if ty.base.can_be_optional() => (ExprKind::None, ty.optional()),
                _ => {
                    let message = "`none` is not allowed here";
                    self.error(
                        Diagnostic::error(MISMATCH, span, message)
                            .help("only an optional core, thread or domain can be `none`"),
                    );
                    return None;
                }
            },
            Ast::Name(name) => self.name(name, span)?,
            Ast::Member { object, member } => self.member(object, member)?,
            Ast::Call { .. } | Ast::SuperCall { .. } | Ast::MethodCall { .. } => {
                return self.call(expr, false);
            }
            Ast::Unary { op: UnaryOp::Not, operand } => {
                let operand = self.expr_of(operand, Type::BOOL)?;
                (ExprKind::Not(Box::new(operand)), Type::BOOL)
            }
            Ast::Unary { op: UnaryOp::Neg, operand } => {
                let operand = self.expr(operand, None)?;
                if !operand.ty.is_scalar() {
                    let message = format!("{} cannot be negated", operand.ty.with_article());
                    self.error(Diagnostic::error(UNITS, span, message));
                    return None;
                }
                let ty = operand.ty;
                match operand.kind {
                    ExprKind::Number(value) => (ExprKind::Number(value.wrapping_neg()), ty),
                    _ => (ExprKind::Neg(Box::new(operand)), ty),
                }
            }
            Ast::Binary { op, left, right } => return self.binary(*op, left, right, span),
            Ast::Conditional { condition, then, otherwise } => {
                let test = self.expr_of(condition, Type::BOOL);
                let then = self.expr(then, hint);
                let otherwise = self.expr(otherwise, hint);
                let (test, (then, otherwise)) = (test?, self.alike(then?, otherwise?)?);
                let ty = then.ty;
                let parts = (Box::new(test), Box::new(then), Box::new(otherwise));
                let (test, then, otherwise) = parts;
                (ExprKind::Conditional { test, then, otherwise }, ty)
            }
            Ast::Default { optional, default } => {
                let optional = self.expr(optional, hint.map(Type::optional))?;
                if !optional.ty.optional {
                    let message = format!("this {} is never none", optional.ty);
                    self.error(Diagnostic::error(OPTIONAL, optional.span, message).help("remove the `else`"));
                    return None;
                }
                let held = optional.ty.held();
                let default = self.expr(default, Some(held))?;
                let want = if default.ty.optional { held.optional() } else { held };
                let default = self.coerce(default, want)?;
                let (optional, default) = (Box::new(optional), Box::new(default));
                (ExprKind::Default { optional, default }, want)
            }
            Ast::Search(search) => return self.search(search, span),
        };
        Some(Expr { kind, ty, span })
    }

    // ---- names ----------------------------------------------------------------------------

    fn name(&mut self, name: &str, span: Span) -> Option<(ExprKind, Type)> {
        let (policy, at) = (&self.context.policy, self.context.within(span, name));
        if let Some(id) = self.find(name) {
            let local = &self.locals[id.index()].local;
            match self.context.sources.text(local.span) == name {
                true => self.context.uses(at, local.span),
                // The compiler declares it in the phases of a steal.
                false => self.context.uses_word(at, name, |kind| kind == Kind::Stolen),
            }
            return Some((ExprKind::Local(id), local.ty));
        }
        match self.context.top.get(name) {
            Some(Top::Param(id)) => {
                let param = &policy.params[id.index()];
                self.context.uses(at, param.at.span);
                return Some((ExprKind::Param(*id), param.ty));
            }
            Some(Top::Set(id)) => {
                self.context.uses(at, policy.sets[id.index()].at.span);
                return Some((ExprKind::Set(*id), Type::SET));
            }
            Some(Top::Global(id)) => {
                let global = &policy.globals[id.index()];
                self.context.uses(at, global.at.span);
                return Some((ExprKind::Global(*id), global.ty));
            }
            Some(Top::Version(_)) => {
                let message = format!("`{name}` is a function");
                self.error(Diagnostic::error(MISUSED_NAME, span, message).help("call it: `name(...)`"));
                return None;
            }
            None => {}
        }
        self.context.uses_word(at, name, |kind| matches!(kind, Kind::Value(_)));
        match library::value(name) {
            Some(Value::Now) => return Some((ExprKind::Now, Type::TIME)),
            Some(Value::Fact(fact)) => return Some((ExprKind::Fact(fact), Type::BOOL)),
            Some(Value::Kept(set)) => return Some((ExprKind::Kept(set), Type::SET)),
            Some(Value::Machine) => return Some((ExprKind::Machine, Type::DOMAIN)),
            None => {}
        }
        if library::function(name).is_some() {
            let message = format!("`{name}` is a function");
            self.error(Diagnostic::error(MISUSED_NAME, span, message).help(library::usage(name)));
            return None;
        }
        if name == "stolen" {
            let message = "`stolen` is available only in `stop_core` and `stop`";
            self.error(Diagnostic::error(MISUSED_NAME, span, message));
            return None;
        }
        let mut unknown = Diagnostic::error(UNKNOWN_NAME, span, format!("unknown name `{name}`"));
        let library = WORDS.iter().filter(|w| matches!(w.kind, Kind::Value(_))).map(|w| w.name);
        let top = self.context.top.keys().map(String::as_str);
        let mut known: Vec<&str> = self.names().chain(top).chain(library).collect();
        known.sort_unstable();
        if let Some(near) = closest(name, known) {
            unknown = unknown.help(format!("did you mean `{near}`?"));
        } else if self.context.attribute(Owner::Thread, name).is_some() {
            unknown = unknown.help(format!("it is an attribute of threads: `t.{name}`"));
        } else if self.context.attribute(Owner::Core, name).is_some() {
            unknown = unknown.help(format!("it is an attribute of cores: `c.{name}`"));
        }
        self.error(unknown);
        None
    }

    fn member(&mut self, object: &ast::Expr, member: &ast::Ident) -> Option<(ExprKind, Type)> {
        let object = self.expr(object, None)?;
        let name = member.name.as_str();
        if object.ty.optional {
            self.mismatch(object.ty, object.ty.held(), object.span);
            return None;
        }
        let owner = match object.ty.base {
            BaseType::Core => Owner::Core,
            BaseType::Thread => Owner::Thread,
            _ => {
                let message = format!("{} has no members", object.ty.with_article());
                self.error(Diagnostic::error(MISUSED_NAME, member.span, message));
                return None;
            }
        };
        let attribute = self.context.attribute(owner, name);
        match attribute {
            Some((id, _)) => {
                let declared = self.context.policy.attributes(owner)[id.index()].at.span;
                self.context.uses(member.span, declared);
            }
            None => self.context.uses_word(member.span, name, |kind| match kind {
                Kind::CoreField(_) => owner == Owner::Core,
                Kind::ThreadField(_) => owner == Owner::Thread,
                _ => false,
            }),
        }
        let boxed = Box::new(object);
        match (owner, attribute) {
            (Owner::Core, Some((attribute, ty))) => {
                return Some((ExprKind::Core { attribute, core: boxed }, ty));
            }
            (Owner::Thread, Some((attribute, ty))) => {
                return Some((ExprKind::Thread { attribute, thread: boxed }, ty));
            }
            (Owner::Core, None) => {
                if let Some(field) = library::core_field(name) {
                    return Some((ExprKind::CoreField { field, core: boxed }, field.ty()));
                }
            }
            _ => {
                if let Some(field) = library::thread_field(name) {
                    return Some((ExprKind::ThreadField { field, thread: boxed }, field.ty()));
                }
            }
        }
        if owner == Owner::Core && self.context.queue(name).is_some() {
            let message = format!("the queue `{name}` is not a value");
            self.error(Diagnostic::error(MISUSED_NAME, member.span, message).help(format!(
                "iterate over its threads: `first(thread t in c.{name})`, `for (thread t in c.{name})`"
            )));
            return None;
        }
        let message = format!("{} has no `{name}`", boxed.ty.with_article());
        let mut unknown = Diagnostic::error(UNKNOWN_NAME, member.span, message);
        let library = WORDS.iter().filter(|w| match w.kind {
            Kind::CoreField(_) => owner == Owner::Core,
            Kind::ThreadField(_) => owner == Owner::Thread,
            _ => false,
        });
        let own = self.context.policy.attributes(owner).iter().map(|a| &*a.name);
        let near = || closest(name, own.chain(library.map(|w| w.name))).map(str::to_owned);
        if let Some(meant) = self.instead_of_member(&boxed, name).or_else(near) {
            unknown = unknown.help(format!("did you mean `{meant}`?"));
        }
        self.error(unknown);
        None
    }

    /// The steal with this name.
    pub(super) fn steal(&self, name: &str) -> Option<crate::ir::StealId> {
        match self.context.top.get(name) {
            Some(Top::Version(version)) if self.find(name).is_none() => {
                match self.context.versions[*version] {
                    Lowered::Steal(id) => Some(id),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    // ---- operators ------------------------------------------------------------------------

    /// Converts two alternatives to a common type.
    fn alike(&mut self, left: Expr, right: Expr) -> Option<(Expr, Expr)> {
        let want = match (left.ty, right.ty) {
            (l, r) if l == r => l,
            (l, r) if l.held() == r.held() => l.optional(),
            (l, r) => {
                units::common(l, r).or((l == Type::SET || r == Type::SET).then_some(Type::SET)).unwrap_or(l)
            }
        };
        Some((self.coerce(left, want)?, self.coerce(right, want)?))
    }

    fn binary(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr, span: Span) -> Option<Expr> {
        let comparison = |op| Some(op);
        let compare = match op {
            BinaryOp::Eq => comparison(Comparison::Eq),
            BinaryOp::Ne => comparison(Comparison::Ne),
            BinaryOp::Lt => comparison(Comparison::Lt),
            BinaryOp::Le => comparison(Comparison::Le),
            BinaryOp::Gt => comparison(Comparison::Gt),
            BinaryOp::Ge => comparison(Comparison::Ge),
            _ => None,
        };
        if let Some(op) = compare {
            return self.compare(op, left, right, span);
        }
        match op {
            BinaryOp::Or | BinaryOp::And => {
                let (left, right) = self.sides(op, left, right, Type::BOOL)?;
                let kind = ExprKind::Logic { and: op == BinaryOp::And, left, right };
                Some(Expr { kind, ty: Type::BOOL, span })
            }
            BinaryOp::In => {
                let core = self.expr_of(left, Type::CORE.optional());
                let set = self.expr_of(right, Type::SET);
                let mut core = core?;
                // A value that is never none needs no test.
                if let ExprKind::Some(held) = core.kind {
                    core = *held;
                }
                let (core, set) = (Box::new(core), Box::new(set?));
                Some(Expr { kind: ExprKind::In { core, set }, ty: Type::BOOL, span })
            }
            BinaryOp::Union | BinaryOp::Intersection => {
                let (left, right) = self.sides(op, left, right, Type::SET)?;
                let op = if op == BinaryOp::Union { SetOp::Union } else { SetOp::Intersection };
                Some(Expr { kind: ExprKind::SetOp { op, left, right }, ty: Type::SET, span })
            }
            _ => {
                let left = self.expr(left, None);
                let right = self.expr(right, None);
                let (left, right) = (left?, right?);
                let is_set = |e: &Expr| matches!(e.ty, Type::SET | Type::DOMAIN);
                if op == BinaryOp::Sub && is_set(&left) && is_set(&right) {
                    let left = Box::new(self.coerce(left, Type::SET)?);
                    let right = Box::new(self.coerce(right, Type::SET)?);
                    let op = SetOp::Difference;
                    return Some(Expr { kind: ExprKind::SetOp { op, left, right }, ty: Type::SET, span });
                }
                let op = match op {
                    BinaryOp::Add => Arithmetic::Add,
                    BinaryOp::Sub => Arithmetic::Sub,
                    BinaryOp::Mul => Arithmetic::Mul,
                    BinaryOp::Div => Arithmetic::Div,
                    _ => Arithmetic::Rem,
                };
                self.arithmetic(op, left, right, span)
            }
        }
    }

    /// Lowers both sides of `&&` or `||`, which take conditions, or of `&` or `|`, which take sets.
    /// Suggests the other operator when they are confused.
    fn sides(
        &mut self,
        op: BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
        want: Type,
    ) -> Option<(Box<Expr>, Box<Expr>)> {
        let sides = [left, right].map(|side| self.expr(side, Some(want)));
        let is_set = |ty: Type| matches!(ty, Type::SET | Type::DOMAIN);
        let confused = |side: &&Expr| if want == Type::SET { side.ty == Type::BOOL } else { is_set(side.ty) };
        if let Some(side) = sides.iter().flatten().find(confused) {
            let (this, that) = match op {
                BinaryOp::And => ("&&", "&"),
                BinaryOp::Or => ("||", "|"),
                BinaryOp::Intersection => ("&", "&&"),
                _ => ("|", "||"),
            };
            let (of_this, of_that) =
                if want == Type::SET { ("sets", "conditions") } else { ("conditions", "sets") };
            let (have, span) = (side.ty, side.span);
            let message = format!("this is {}; expected {}", have.with_article(), want.with_article());
            self.error(
                Diagnostic::error(MISMATCH, span, message).at(have.with_article()).help(format!(
                    "did you mean `{that}`? `{this}` takes {of_this}, `{that}` takes {of_that}"
                )),
            );
            return None;
        }
        let [left, right] = sides.map(|side| side.and_then(|side| self.coerce(side, want)));
        Some((Box::new(left?), Box::new(right?)))
    }

    fn compare(&mut self, op: Comparison, left: &ast::Expr, right: &ast::Expr, span: Span) -> Option<Expr> {
        // A `none` takes the type of the other side.
        let (left, right) = if left.kind == Ast::None {
            let right = self.expr(right, None)?;
            (self.expr(left, Some(right.ty))?, right)
        } else {
            let left = self.expr(left, None)?;
            let right = self.expr(right, Some(left.ty))?;
            (left, right)
        };
        let equality = matches!(op, Comparison::Eq | Comparison::Ne);
        let common = units::common(left.ty, right.ty).or_else(|| {
            let (l, r) = (left.ty, right.ty);
            match l.base {
                _ if !equality => None,
                BaseType::Bool if l == r => Some(l),
                BaseType::Core | BaseType::Thread | BaseType::Domain if l.held() == r.held() => {
                    Some(if l.optional || r.optional { l.optional() } else { l })
                }
                _ => None,
            }
        });
        let Some(common) = common else {
            let (l, r) = (left.ty, right.ty);
            let message = format!("{} and {} cannot be compared", l.with_article(), r.with_article());
            let mut wrong = Diagnostic::error(UNITS, span, message)
                .label(left.span, l.with_article())
                .label(right.span, r.with_article());
            if !equality && l.held() == r.held() {
                wrong = wrong.help("compare them with `==` or `!=`");
            } else if l == Type::SET || r == Type::SET {
                wrong = wrong.help("to test for a subset, write `empty(a - b)`");
            } else if l == Type::TIME || r == Type::TIME {
                wrong = wrong.help("a time needs a unit, as in `5ms` or `0ns`");
            }
            self.error(wrong);
            return None;
        };
        let left = Box::new(self.coerce(left, common)?);
        let right = Box::new(self.coerce(right, common)?);
        Some(Expr { kind: ExprKind::Compare { op, left, right }, ty: Type::BOOL, span })
    }

    pub(super) fn arithmetic(&mut self, op: Arithmetic, left: Expr, right: Expr, span: Span) -> Option<Expr> {
        let Some(ty) = units::arithmetic(op, left.ty, right.ty) else {
            let symbol = match op {
                Arithmetic::Add => "+",
                Arithmetic::Sub => "-",
                Arithmetic::Mul => "*",
                Arithmetic::Div => "/",
                Arithmetic::Rem => "%",
            };
            let message =
                format!("`{symbol}` cannot take {} and {}", left.ty.with_article(), right.ty.with_article());
            let mut wrong = Diagnostic::error(UNITS, span, message)
                .label(left.span, left.ty.with_article())
                .label(right.span, right.ty.with_article());
            if left.ty.optional || right.ty.optional {
                wrong = wrong.help("unwrap optional values with `else`");
            } else if op == Arithmetic::Mul && left.ty.is_scalar() && right.ty.is_scalar() {
                wrong = wrong.help("one operand must be a plain number; divide first");
            } else if [left.ty, right.ty].contains(&Type::TIME) && left.ty.is_scalar() {
                wrong = wrong.help("a time needs a unit, as in `5ms` or `0ns`");
            }
            self.error(wrong);
            return None;
        };
        if matches!(op, Arithmetic::Div | Arithmetic::Rem) && super::value_of(&right) == Some(0) {
            self.error(
                Diagnostic::warning(DIVISION_BY_ZERO, right.span, "this divisor is always zero")
                    .help("division by zero gives zero"),
            );
        }
        // Fold literals, which keeps the emitted code small and readable.
        let kind = match (&left.kind, &right.kind) {
            (ExprKind::Number(l), ExprKind::Number(r)) => {
                ExprKind::Number(super::constant::compute(op, *l, *r))
            }
            _ => ExprKind::Arithmetic { op, left: Box::new(left), right: Box::new(right) },
        };
        Some(Expr { kind, ty, span })
    }
}
