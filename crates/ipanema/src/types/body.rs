//! Lowering of one body: scopes and shared helpers.

use super::signature::{Job, JobBody};
use super::{Context, ty};
use crate::codes::{DECLARED_TWICE, MISMATCH, OPTIONAL};
use crate::diagnostic::Diagnostic;
use crate::ir::{self, Expr, ExprKind, LocalId, Role, StmtKind, Type};
use crate::library;
use crate::syntax::{Span, ast};

/// State during the lowering of one body.
pub struct Lowering<'c, 'a> {
    pub(super) context: &'c Context<'a>,
    /// Index of the policy in the chain that contains the body; `super` is relative to it.
    pub(super) policy: usize,
    pub(super) role: Role,
    pub(super) result: Option<Type>,
    pub(super) locals: Vec<Variable>,
    /// Scopes, innermost last; within a scope, latest declaration last.
    scopes: Vec<Vec<(String, LocalId)>>,
    pub(super) loops: u32,
    pub(super) reasons: &'c mut Vec<String>,
    pub(super) diagnostics: &'c mut Vec<Diagnostic>,
}

pub struct Variable {
    pub local: ir::Local,
    /// `Err` holds the reason why it is not assignable.
    pub assignable: Result<(), &'static str>,
}

/// Lowers a job to its local variables and body.
pub fn lower(
    context: &Context,
    job: &Job,
    reasons: &mut Vec<String>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Vec<ir::Local>, ir::Block) {
    let function = context.policy.function(job.function);
    let mut lowering = Lowering {
        context,
        policy: job.policy,
        role: function.role,
        result: function.result,
        locals: Vec::new(),
        scopes: vec![Vec::new()],
        loops: 0,
        reasons,
        diagnostics,
    };
    for local in &function.locals {
        let assignable = match (function.role, local.ty) {
            (Role::Phase(_), _) => Err("parameters of a phase of a steal are not assignable"),
            (Role::Handler(_), _) => Err("parameters of a handler are not assignable"),
            (_, Type::SET) => Err("set parameters are not assignable"),
            (_, ty) => fixed(ty),
        };
        lowering.declare_local(local.clone(), assignable);
    }
    // The parameters share the scope of the body, so that a local variable cannot hide a parameter.
    let body = match job.body {
        JobBody::Block(block) => lowering.statements(&block.stmts),
        JobBody::Value(value) => lowering.key(value).map(returned).unwrap_or_default(),
        JobBody::Condition(value) => lowering.expr_of(value, Type::BOOL).map(returned).unwrap_or_default(),
    };
    (lowering.locals.into_iter().map(|v| v.local).collect(), body)
}

fn returned(value: Expr) -> ir::Block {
    let span = value.span;
    vec![ir::Stmt { kind: StmtKind::Return(Some(value)), span }]
}

/// Thread variables are never reassigned, so that it is always known which thread is moved.
fn fixed(ty: Type) -> Result<(), &'static str> {
    if ty.base == ir::BaseType::Thread {
        Err("variables of type `thread` are not assignable")
    } else {
        Ok(())
    }
}

impl<'c, 'a> Lowering<'c, 'a> {
    /// Lowering for an expression outside of a body.
    pub fn alone(
        context: &'c Context<'a>,
        policy: usize,
        diagnostics: &'c mut Vec<Diagnostic>,
    ) -> AloneLowering<'c, 'a> {
        AloneLowering { context, policy, diagnostics }
    }

    // ---- scopes ---------------------------------------------------------------------------

    pub(super) fn scoped<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(Vec::new());
        let result = inner(self);
        self.scopes.pop();
        result
    }

    /// Declares a variable in the innermost scope.
    pub(super) fn declare(&mut self, name: &ast::Ident, ty: Type) -> LocalId {
        let assignable = fixed(ty);
        self.declare_as(name, ty, assignable)
    }

    pub(super) fn declare_as(
        &mut self,
        name: &ast::Ident,
        ty: Type,
        assignable: Result<(), &'static str>,
    ) -> LocalId {
        let scope = self.scopes.last().map_or(&[][..], Vec::as_slice);
        if let Some((_, id)) = scope.iter().rev().find(|(n, _)| *n == name.name) {
            let before = self.locals[id.index()].local.span;
            let message = format!("`{}` is declared twice", name.name);
            self.error(
                Diagnostic::error(DECLARED_TWICE, name.span, message).label(before, "first declared here"),
            );
        } else if library::is_reserved(&name.name) {
            let message = format!("`{}` is a name of the library", name.name);
            self.error(Diagnostic::error(crate::codes::RESERVED_WORD, name.span, message));
        }
        let local = ir::Local { name: name.name.clone(), ty, span: name.span };
        self.declare_local(local, assignable)
    }

    fn declare_local(&mut self, local: ir::Local, assignable: Result<(), &'static str>) -> LocalId {
        let id = LocalId(self.locals.len() as u32);
        if let Some(scope) = self.scopes.last_mut() {
            scope.push((local.name.clone(), id));
        }
        self.locals.push(Variable { local, assignable });
        id
    }

    pub(super) fn find(&self, name: &str) -> Option<LocalId> {
        self.scopes
            .iter()
            .rev()
            .flat_map(|scope| scope.iter().rev())
            .find(|(n, _)| n == name)
            .map(|(_, id)| *id)
    }

    /// Names of all visible variables, for suggestions.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.scopes.iter().flatten().map(|(name, _)| name.as_str())
    }

    pub(super) fn local(&self, id: LocalId, span: Span) -> Expr {
        Expr { kind: ExprKind::Local(id), ty: self.locals[id.index()].local.ty, span }
    }

    // ---- words ----------------------------------------------------------------------------

    pub(super) fn error(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    pub(super) fn mismatch(&mut self, have: Type, want: Type, span: Span) {
        let diagnostic = if have.optional && have.held() == want {
            Diagnostic::error(OPTIONAL, span, format!("this {have} may be none"))
                .at(format!("expected a {want}"))
                .help(format!("unwrap it with `if ({want} x = ...)`, or give a default with `... else`"))
        } else {
            Diagnostic::error(
                MISMATCH,
                span,
                format!("this is {}; expected {}", have.with_article(), want.with_article()),
            )
            .at(have.with_article())
        };
        let diagnostic = match (want, have) {
            (Type::TIME, Type::INT) => diagnostic.help("a time needs a unit, as in `5ms` or `0ns`"),
            (Type::FREQUENCY, Type::INT) => diagnostic.help("a frequency needs a unit, as in `2GHz`"),
            (Type::BOOL, _) if have.is_scalar() => diagnostic.help("compare it with a value"),
            (Type::BOOL, _) if have.optional => diagnostic.help("compare it with `none`, or unwrap it"),
            _ => diagnostic,
        };
        self.error(diagnostic);
    }

    /// Converts a value to type `want`: a domain to its cores, a value to an optional, and a plain
    /// number to a load.
    pub(super) fn coerce(&mut self, expr: Expr, want: Type) -> Option<Expr> {
        let span = expr.span;
        let kind = match (expr.ty, want) {
            (have, want) if have == want => return Some(expr),
            (Type::INT, Type::LOAD) => expr.kind,
            (Type::DOMAIN, Type::SET) => ExprKind::CoresOf(Box::new(expr)),
            (have, want) if want.optional && have == want.held() => ExprKind::Some(Box::new(expr)),
            (have, want) => {
                self.mismatch(have, want, span);
                return None;
            }
        };
        Some(Expr { kind, ty: want, span })
    }

    pub(super) fn ty(&self, written: &ast::Type) -> Type {
        ty(written)
    }
}

/// Lowers expressions outside of functions.
pub struct AloneLowering<'c, 'a> {
    context: &'c Context<'a>,
    policy: usize,
    diagnostics: &'c mut Vec<Diagnostic>,
}

impl AloneLowering<'_, '_> {
    pub fn expr_of(self, expr: &ast::Expr, want: Type) -> Option<Expr> {
        let mut reasons = Vec::new();
        let mut lowering = Lowering {
            context: self.context,
            policy: self.policy,
            role: Role::Function,
            result: None,
            locals: Vec::new(),
            scopes: vec![Vec::new()],
            loops: 0,
            reasons: &mut reasons,
            diagnostics: self.diagnostics,
        };
        lowering.expr_of(expr, want)
    }
}
