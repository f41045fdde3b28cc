//! Calls of the policy's functions, library functions and steals.

use super::body::Lowering;
use super::{Lowered, Top, units};
use crate::codes::{ARGUMENTS, MISMATCH, MISUSED_NAME, NO_BASE_VERSION, UNITS, UNKNOWN_NAME};
use crate::diagnostic::Diagnostic;
use crate::ir::{BaseType, Effect, Expr, ExprKind, Extreme, FunctionId, Level, StealId, StmtKind, Type};
use crate::library::{self, Function, Kind, SetMethod, WORDS};
use crate::resolve::Key;
use crate::syntax::Span;
use crate::syntax::ast::{self, ExprKind as Ast};
use hearth_base::suggest::closest;

impl Lowering<'_, '_> {
    /// Lowers a call. In a statement, it need not return a value.
    pub(super) fn call(&mut self, call: &ast::Expr, statement: bool) -> Option<Expr> {
        let span = call.span;
        let typed = match &call.kind {
            Ast::Call { function, args } => self.plain_call(function, args, span)?,
            Ast::SuperCall { function, args } => {
                let key = Key::Name(function.name.clone());
                let above = self.context.merged.version(&key, Some(self.policy));
                match above.map(|version| self.context.versions[version]) {
                    Some(Lowered::Function(id)) => self.own_call(id, function, args, span)?,
                    Some(Lowered::Nothing) => return None,
                    Some(Lowered::Steal(_)) | None => {
                        let message = format!("no base policy has a function `{}`", function.name);
                        self.error(Diagnostic::error(NO_BASE_VERSION, function.span, message));
                        return None;
                    }
                }
            }
            Ast::MethodCall { receiver, method, args } => self.method_call(receiver, method, args, span)?,
            _ => return self.expr(call, None),
        };
        let (typed, returns) = typed;
        if !statement && !returns {
            self.error(Diagnostic::error(MISMATCH, span, "this call does not return a value"));
            return None;
        }
        Some(typed)
    }

    fn plain_call(&mut self, name: &ast::Ident, args: &[ast::Expr], span: Span) -> Option<(Expr, bool)> {
        if let Some(Top::Version(version)) = self.context.top.get(&name.name) {
            return match self.context.versions[*version] {
                Lowered::Function(id) => self.own_call(id, name, args, span),
                Lowered::Nothing => None,
                Lowered::Steal(_) => {
                    let message = format!("the steal `{}` does not return a value", name.name);
                    self.error(Diagnostic::error(MISUSED_NAME, span, message));
                    None
                }
            };
        }
        if let Some(function) = library::function(&name.name) {
            return self.library_call(function, name, args, span);
        }
        if self.find(&name.name).is_some() || self.context.top.contains_key(&name.name) {
            let message = format!("`{}` is not a function", name.name);
            self.error(Diagnostic::error(MISUSED_NAME, name.span, message));
            return None;
        }
        let message = format!("no function is called `{}`", name.name);
        let mut unknown = Diagnostic::error(UNKNOWN_NAME, name.span, message);
        let library = WORDS.iter().filter(|w| matches!(w.kind, Kind::Function(_))).map(|w| w.name);
        let own = self.context.top.iter().filter(|(_, top)| matches!(top, Top::Version(_)));
        let mut known: Vec<&str> = own.map(|(name, _)| name.as_str()).chain(library).collect();
        known.sort_unstable();
        let near = || closest(&name.name, known).map(str::to_owned);
        if let Some(meant) = self.instead_of_call(&name.name, args).or_else(near) {
            unknown = unknown.help(format!("did you mean `{meant}`?"));
        }
        self.error(unknown);
        None
    }

    fn own_call(
        &mut self,
        function: FunctionId,
        name: &ast::Ident,
        args: &[ast::Expr],
        span: Span,
    ) -> Option<(Expr, bool)> {
        let callee = self.context.policy.function(function);
        self.context.uses(name.span, callee.at.span);
        let want: Vec<Type> = callee.params().iter().map(|p| p.ty).collect();
        let (result, declared) = (callee.result, callee.at.span);
        if want.len() != args.len() {
            let list: Vec<String> = callee.params().iter().map(|p| format!("{} {}", p.ty, p.name)).collect();
            let message = format!("`{}` takes ({})", name.name, list.join(", "));
            self.error(Diagnostic::error(ARGUMENTS, span, message).label(declared, "declared here"));
            return None;
        }
        let typed: Vec<Option<Expr>> =
            args.iter().zip(want).map(|(arg, want)| self.expr_of(arg, want)).collect();
        let args = typed.into_iter().collect::<Option<Vec<_>>>()?;
        let ty = result.unwrap_or(Type::BOOL);
        Some((Expr { kind: ExprKind::Call { function, args }, ty, span }, result.is_some()))
    }

    fn library_call(
        &mut self,
        function: Function,
        name: &ast::Ident,
        args: &[ast::Expr],
        span: Span,
    ) -> Option<(Expr, bool)> {
        self.context.uses_word(name.span, &name.name, |kind| kind == Kind::Function(function));
        let want: &[Type] = match function {
            Function::DomainOf(_) | Function::Claim | Function::Release | Function::Preempt => &[Type::CORE],
            Function::Decay => &[Type::LOAD, Type::TIME, Type::TIME],
            Function::Count | Function::Empty => &[Type::SET],
            Function::Arm => &[Type::THREAD, Type::TIME],
            Function::Cancel => &[Type::THREAD],
            Function::KeepWarm => &[Type::CORE, Type::TIME],
            Function::Min | Function::Max => return self.pick(function, name, args, span),
            Function::Groups => {
                let message = "`groups` is only allowed in an iteration";
                self.error(
                    Diagnostic::error(MISUSED_NAME, span, message)
                        .help("write, for example, `for (domain d in groups(machine, llc))`"),
                );
                return None;
            }
        };
        if want.len() != args.len() {
            self.wrong_arguments(name, span);
            return None;
        }
        let typed: Vec<Option<Expr>> =
            args.iter().zip(want).map(|(arg, want)| self.expr_of(arg, *want)).collect();
        let mut args = typed.into_iter().collect::<Option<Vec<_>>>()?.into_iter().map(Box::new);
        // The length matches `want`.
        let mut next = || args.next();
        let (kind, ty, returns) = match function {
            Function::DomainOf(level) => (ExprKind::DomainOf { level, core: next()? }, Type::DOMAIN, true),
            Function::Decay => {
                let (value, time, half_life) = (next()?, next()?, next()?);
                (ExprKind::Decay { value, time, half_life }, Type::LOAD, true)
            }
            Function::Count => (ExprKind::Count(next()?), Type::INT, true),
            Function::Empty => (ExprKind::Empty(next()?), Type::BOOL, true),
            _ => {
                let (effect, returns) = match function {
                    Function::Claim => (Effect::Claim(*next()?), true),
                    Function::Release => (Effect::Release(*next()?), false),
                    Function::Arm => (Effect::Arm { thread: *next()?, after: *next()? }, false),
                    Function::Cancel => (Effect::Cancel(*next()?), false),
                    Function::KeepWarm => (Effect::KeepWarm { core: *next()?, time: *next()? }, false),
                    _ => (Effect::Preempt(*next()?), false),
                };
                (ExprKind::Effect(Box::new(effect)), Type::BOOL, returns)
            }
        };
        Some((Expr { kind, ty, span }, returns))
    }

    /// `min(a, b)` and `max(a, b)` of two numbers.
    fn pick(
        &mut self,
        function: Function,
        name: &ast::Ident,
        args: &[ast::Expr],
        span: Span,
    ) -> Option<(Expr, bool)> {
        let [left, right] = args else {
            self.wrong_arguments(name, span);
            return None;
        };
        let (left, right) = (self.expr(left, None), self.expr(right, None));
        let (left, right) = (left?, right?);
        let Some(ty) = units::common(left.ty, right.ty) else {
            let message = format!(
                "`{}` cannot take {} and {}",
                name.name,
                left.ty.with_article(),
                right.ty.with_article()
            );
            self.error(
                Diagnostic::error(UNITS, span, message)
                    .label(left.span, left.ty.with_article())
                    .label(right.span, right.ty.with_article()),
            );
            return None;
        };
        let left = Box::new(self.coerce(left, ty)?);
        let right = Box::new(self.coerce(right, ty)?);
        let extreme = if function == Function::Min { Extreme::Min } else { Extreme::Max };
        Some((Expr { kind: ExprKind::Pick { extreme, left, right }, ty, span }, true))
    }

    fn wrong_arguments(&mut self, name: &ast::Ident, span: Span) {
        let message = format!("wrong number of arguments for `{}`", name.name);
        self.error(
            Diagnostic::error(ARGUMENTS, span, message)
                .help(format!("usage: `{}`", library::usage(&name.name))),
        );
    }

    fn method_call(
        &mut self,
        receiver: &ast::Expr,
        method: &ast::Ident,
        args: &[ast::Expr],
        span: Span,
    ) -> Option<(Expr, bool)> {
        let typed = self.expr(receiver, None)?;
        let ExprKind::Set(set) = typed.kind else {
            let message = format!("{} has no `{}`", typed.ty.with_article(), method.name);
            let mut wrong = Diagnostic::error(MISUSED_NAME, receiver.span, message);
            if typed.ty == Type::SET {
                wrong = wrong.help("only sets declared by a policy can be changed");
            }
            self.error(wrong);
            return None;
        };
        self.context.uses_word(method.span, &method.name, |kind| matches!(kind, Kind::SetMethod(_)));
        let Some(which) = library::set_method(&method.name) else {
            let message = format!("a set has no `{}`", method.name);
            self.error(
                Diagnostic::error(UNKNOWN_NAME, method.span, message)
                    .help("sets have `add` and `remove`; see also `count(s)` and `empty(s)`"),
            );
            return None;
        };
        let [core] = args else {
            self.wrong_arguments(method, span);
            return None;
        };
        let core = self.expr_of(core, Type::CORE)?;
        let effect = match which {
            SetMethod::Add => Effect::Add { set, core },
            SetMethod::Remove => Effect::Remove { set, core },
        };
        Some((Expr { kind: ExprKind::Effect(Box::new(effect)), ty: Type::BOOL, span }, true))
    }

    pub(super) fn steal_call(
        &mut self,
        steal: StealId,
        name: &ast::Ident,
        args: &[ast::Expr],
    ) -> Option<StmtKind> {
        self.context.uses(name.span, self.context.policy.steals[steal.index()].at.span);
        let [thief, victims] = args else {
            let message = format!("`{}` takes (core, set)", name.name);
            self.error(Diagnostic::error(ARGUMENTS, name.span, message));
            return None;
        };
        let thief = self.expr_of(thief, Type::CORE);
        let victims = self.expr_of(victims, Type::SET);
        Some(StmtKind::Steal { steal, thief: thief?, victims: victims? })
    }

    /// `groups(domain, level)` after `in`.
    pub(super) fn groups(
        &mut self,
        name: &ast::Ident,
        args: &[ast::Expr],
        span: Span,
    ) -> Option<(Expr, Level)> {
        self.context.uses_word(name.span, &name.name, |kind| kind == Kind::Function(Function::Groups));
        let [domain, level] = args else {
            self.wrong_arguments(name, span);
            return None;
        };
        let domain = self.expr_of(domain, Type::DOMAIN);
        let found = match &level.kind {
            Ast::Name(name) => {
                self.context.uses_word(self.context.within(level.span, name), name, |kind| {
                    matches!(kind, Kind::Level(_) | Kind::Function(Function::DomainOf(_)))
                });
                library::level(name).filter(|level| *level != Level::Machine)
            }
            _ => None,
        };
        if found.is_none() {
            let message = "this is not a level with groups";
            self.error(
                Diagnostic::error(ARGUMENTS, level.span, message)
                    .help("the levels are `smt`, `llc` and `numa`"),
            );
        }
        Some((domain?, found?))
    }

    /// A scalar sort key.
    pub(super) fn key(&mut self, key: &ast::Expr) -> Option<Expr> {
        let typed = self.expr(key, None)?;
        if !typed.ty.is_scalar() {
            let message = format!("{} has no order", typed.ty.with_article());
            let mut wrong = Diagnostic::error(MISMATCH, typed.span, message);
            if typed.ty.base == BaseType::Bool {
                wrong = wrong.help("write `test ? 0 : 1`");
            }
            self.error(wrong);
            return None;
        }
        Some(typed)
    }
}
