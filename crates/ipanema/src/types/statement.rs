//! Lowering of statements.

use super::Lowered;
use super::body::Lowering;
use crate::codes::{MISMATCH, MISUSED_NAME, NO_BASE_VERSION, NOT_ASSIGNABLE, NOT_IN_LOOP, UNKNOWN_NAME};
use crate::diagnostic::Diagnostic;
use crate::ir::{Arithmetic, Block, Expr, ExprKind, ReasonId, Role, State, Stmt, StmtKind, Target, Type};
use crate::resolve::Key;
use crate::syntax::ast::{self, AssignOp, Condition, ExprKind as Ast};
use crate::syntax::{Span, ast::StmtKind as AstStmt};
use hearth_base::suggest::closest;

impl Lowering<'_, '_> {
    /// Lowers the valid statements; errors in the others have been reported.
    pub(super) fn statements(&mut self, stmts: &[ast::Stmt]) -> Block {
        stmts.iter().filter_map(|stmt| self.statement(stmt)).collect()
    }

    /// Lowers a statement in a scope of its own.
    fn block(&mut self, stmt: &ast::Stmt) -> Block {
        self.scoped(|this| match &stmt.kind {
            AstStmt::Block(block) => this.statements(&block.stmts),
            _ => this.statement(stmt).into_iter().collect(),
        })
    }

    fn statement(&mut self, stmt: &ast::Stmt) -> Option<Stmt> {
        let span = stmt.span;
        let kind = match &stmt.kind {
            AstStmt::Local { ty, name, value } => {
                let want = self.ty(ty);
                let value = self.expr_of(value, want);
                // Declared even after an error, to avoid further errors about an unknown name.
                let local = self.declare(name, want);
                StmtKind::Let { local, value: value? }
            }
            AstStmt::Assign { target, op, value } => self.assign(target, *op, value)?,
            AstStmt::If { condition, then, otherwise } => {
                self.conditional(condition, then, otherwise.as_deref())?
            }
            AstStmt::For { iteration, body } => self.scoped(|this| {
                let iteration = this.iteration(iteration);
                this.loops += 1;
                let body = this.block(body);
                this.loops -= 1;
                Some(StmtKind::For { iteration: iteration?, body })
            })?,
            AstStmt::Break => self.in_loop("break", span, StmtKind::Break)?,
            AstStmt::Continue => self.in_loop("continue", span, StmtKind::Continue)?,
            AstStmt::Return(value) => self.result(value.as_ref(), span)?,
            AstStmt::Transition { thread, target, reason } => {
                self.transition(thread, target, reason.as_ref())?
            }
            AstStmt::Super => self.base_handler(span)?,
            AstStmt::Call(call) => self.call_statement(call)?,
            AstStmt::Block(block) => StmtKind::Block(self.scoped(|this| this.statements(&block.stmts))),
        };
        Some(Stmt { kind, span })
    }

    fn conditional(
        &mut self,
        condition: &Condition,
        then: &ast::Stmt,
        otherwise: Option<&ast::Stmt>,
    ) -> Option<StmtKind> {
        match condition {
            Condition::Test(test) => {
                let test = self.expr_of(test, Type::BOOL);
                let then = self.block(then);
                let otherwise = otherwise.map(|s| self.block(s)).unwrap_or_default();
                Some(StmtKind::If { test: test?, then, otherwise })
            }
            Condition::Bind { ty, name, value, .. } => {
                let want = self.ty(ty);
                let value = self.expr(value, Some(want.optional()));
                let value = value.and_then(|value| self.unwrapped(value, want));
                let (local, then) = self.scoped(|this| (this.declare(name, want), this.block(then)));
                let otherwise = otherwise.map(|s| self.block(s)).unwrap_or_default();
                Some(StmtKind::IfSome { local, value: value?, then, otherwise })
            }
        }
    }

    /// Checks that a value is an optional whose inner type is `want`.
    fn unwrapped(&mut self, value: Expr, want: Type) -> Option<Expr> {
        if want.optional {
            let message = "a variable declared in `if` is never none";
            self.error(
                Diagnostic::error(MISMATCH, value.span, message)
                    .help(format!("write `{}` without `?`", want.held())),
            );
            return None;
        }
        if value.ty == want {
            let message = format!("this {} is never none", value.ty);
            self.error(
                Diagnostic::error(MISMATCH, value.span, message)
                    .help("declare it in a separate statement, without `if`"),
            );
            return None;
        }
        if value.ty != want.optional() {
            self.mismatch(value.ty, want.optional(), value.span);
            return None;
        }
        Some(value)
    }

    fn in_loop(&mut self, word: &str, span: Span, kind: StmtKind) -> Option<StmtKind> {
        if self.loops == 0 {
            let message = format!("`{word}` is outside of a loop");
            self.error(Diagnostic::error(NOT_IN_LOOP, span, message));
            return None;
        }
        Some(kind)
    }

    fn result(&mut self, value: Option<&ast::Expr>, span: Span) -> Option<StmtKind> {
        match (self.result, value) {
            (None, None) => Some(StmtKind::Return(None)),
            (Some(want), Some(value)) => Some(StmtKind::Return(Some(self.expr_of(value, want)?))),
            (Some(want), None) => {
                let message = format!("expected a return value of type {want}");
                self.error(Diagnostic::error(MISMATCH, span, message));
                None
            }
            (None, Some(value)) => {
                self.error(Diagnostic::error(MISMATCH, value.span, "this function does not return a value"));
                None
            }
        }
    }

    // ---- assignments ----------------------------------------------------------------------

    fn assign(&mut self, target: &ast::Expr, op: AssignOp, value: &ast::Expr) -> Option<StmtKind> {
        let (target, ty) = self.target(target)?;
        let op = match op {
            AssignOp::Set => {
                return Some(StmtKind::Assign { target, value: self.expr_of(value, ty)? });
            }
            AssignOp::Add => Arithmetic::Add,
            AssignOp::Sub => Arithmetic::Sub,
        };
        let right = self.expr(value, Some(ty))?;
        let span = right.span;
        // `c.x += y` is `c.x = c.x + y`, with `c` evaluated once.
        let mut before = None;
        let target = match target {
            Target::Thread { attribute, thread } => {
                Target::Thread { attribute, thread: self.once(thread, &mut before) }
            }
            Target::Core { attribute, core } => {
                Target::Core { attribute, core: self.once(core, &mut before) }
            }
            other => other,
        };
        let left = Expr { kind: read(&target), ty, span };
        let value = self.arithmetic(op, left, right, span)?;
        let value = self.coerce(value, ty)?;
        let assign = StmtKind::Assign { target, value };
        Some(match before {
            None => assign,
            Some(before) => StmtKind::Block(vec![Stmt { kind: before, span }, Stmt { kind: assign, span }]),
        })
    }

    /// An expression that can be repeated: a variable itself, otherwise a new variable with its
    /// value.
    fn once(&mut self, expr: Expr, before: &mut Option<StmtKind>) -> Expr {
        if matches!(expr.kind, ExprKind::Local(_)) {
            return expr;
        }
        let span = expr.span;
        let name = ast::Ident { name: "place".to_owned(), span };
        // In a separate scope, so that no source code can refer to it.
        let ty = expr.ty;
        let local = self.scoped(|this| this.declare(&name, ty));
        *before = Some(StmtKind::Let { local, value: expr });
        self.local(local, span)
    }

    fn target(&mut self, target: &ast::Expr) -> Option<(Target, Type)> {
        let refuse = |this: &mut Self, message: String, help: &str| {
            this.error(Diagnostic::error(NOT_ASSIGNABLE, target.span, message).help(help));
            None
        };
        match &target.kind {
            Ast::Name(name) => {
                let typed = self.expr(target, None)?;
                match typed.kind {
                    ExprKind::Local(id) => {
                        if let Err(why) = self.locals[id.index()].assignable {
                            return refuse(self, format!("`{name}` is not assignable"), why);
                        }
                        Some((Target::Local(id), typed.ty))
                    }
                    ExprKind::Set(id) => Some((Target::Set(id), Type::SET)),
                    ExprKind::Global(id) => Some((Target::Global(id), typed.ty)),
                    ExprKind::Param(_) => {
                        let help = "parameters are set when the policy is loaded";
                        refuse(self, format!("`{name}` is a parameter"), help)
                    }
                    _ => {
                        let help = "it is maintained by the runtime";
                        refuse(self, format!("`{name}` is not assignable"), help)
                    }
                }
            }
            Ast::Member { member, .. } => {
                let typed = self.expr(target, None)?;
                match typed.kind {
                    ExprKind::Thread { attribute, thread } => {
                        Some((Target::Thread { attribute, thread: *thread }, typed.ty))
                    }
                    ExprKind::Core { attribute, core } => {
                        Some((Target::Core { attribute, core: *core }, typed.ty))
                    }
                    _ => {
                        let help = if member.name == "core" {
                            "use a transition `=>` to move a thread to another core"
                        } else {
                            "it is maintained by the runtime"
                        };
                        refuse(self, format!("`{}` is not assignable", member.name), help)
                    }
                }
            }
            _ => refuse(self, "this is not assignable".to_owned(), "assign to a variable or attribute"),
        }
    }

    // ---- transitions ----------------------------------------------------------------------

    fn transition(
        &mut self,
        thread: &ast::Expr,
        target: &ast::Target,
        reason: Option<&ast::Ident>,
    ) -> Option<StmtKind> {
        let typed = self.expr_of(thread, Type::THREAD);
        let to = match target {
            ast::Target::Ready { core, queue } => {
                let core = self.expr_of(core, Type::CORE);
                let found = self.context.queue(&queue.name);
                if let Some(id) = found {
                    self.context.uses(queue.span, self.context.policy.queues[id.index()].at.span);
                } else {
                    let message = format!("no queue is called `{}`", queue.name);
                    let mut unknown = Diagnostic::error(UNKNOWN_NAME, queue.span, message);
                    let names = self.context.policy.queues.iter().map(|q| &*q.name);
                    if let Some(near) = closest(&queue.name, names) {
                        unknown = unknown.help(format!("did you mean `{near}`?"));
                    }
                    self.error(unknown);
                }
                State::Ready { core: core?, queue: found? }
            }
            ast::Target::Running(_) => State::Running,
            ast::Target::Blocked(_) => State::Blocked,
            ast::Target::Terminated(_) => State::Terminated,
        };
        let typed = typed?;
        if !matches!(typed.kind, ExprKind::Local(_)) {
            let message = "only a thread in a variable can change its state";
            self.error(
                Diagnostic::error(crate::codes::WRONG_THREAD, thread.span, message)
                    .help("move the thread passed to the handler"),
            );
            return None;
        }
        Some(StmtKind::Transition { thread: typed, to, reason: self.reason(reason) })
    }

    fn reason(&mut self, reason: Option<&ast::Ident>) -> ReasonId {
        let Some(reason) = reason else { return ReasonId(0) };
        let index = self.reasons.iter().position(|r| *r == reason.name).unwrap_or_else(|| {
            self.reasons.push(reason.name.clone());
            self.reasons.len() - 1
        });
        ReasonId(index as u32)
    }

    /// `super;`
    fn base_handler(&mut self, span: Span) -> Option<StmtKind> {
        let Role::Handler(event) = self.role else {
            self.error(
                Diagnostic::error(NO_BASE_VERSION, span, "`super;` is only allowed in a handler")
                    .help("in a function, call `super.name(...)`"),
            );
            return None;
        };
        let base = self.context.merged.version(&Key::Event(event), Some(self.policy));
        let Some(base) = base else {
            let message = format!("no base policy has a handler of `{}`", event.name());
            self.error(Diagnostic::error(NO_BASE_VERSION, span, message));
            return None;
        };
        let Lowered::Function(id) = self.context.versions[base] else { return None };
        let function = self.context.policy.function(id);
        self.context.uses(span, function.at.span);
        let (function, arity) = (id, function.arity);
        let args = (0..arity).map(|i| self.local(crate::ir::LocalId(i), span)).collect();
        Some(StmtKind::Call { function, args })
    }

    /// A call in statement position.
    fn call_statement(&mut self, call: &ast::Expr) -> Option<StmtKind> {
        if let Ast::Call { function, args } = &call.kind
            && let Some(steal) = self.steal(&function.name)
        {
            return self.steal_call(steal, function, args);
        }
        let typed = self.call(call, true)?;
        match typed.kind {
            ExprKind::Call { function, args } => Some(StmtKind::Call { function, args }),
            ExprKind::Effect(effect) => Some(StmtKind::Effect(*effect)),
            _ => {
                let message = "the result of this call is not used";
                self.error(Diagnostic::error(MISUSED_NAME, call.span, message));
                None
            }
        }
    }
}

/// Reads the current value of an assignment target.
fn read(target: &Target) -> ExprKind {
    match target {
        Target::Local(id) => ExprKind::Local(*id),
        Target::Set(id) => ExprKind::Set(*id),
        Target::Global(id) => ExprKind::Global(*id),
        Target::Thread { attribute, thread } => {
            ExprKind::Thread { attribute: *attribute, thread: Box::new(thread.clone()) }
        }
        Target::Core { attribute, core } => {
            ExprKind::Core { attribute: *attribute, core: Box::new(core.clone()) }
        }
    }
}
