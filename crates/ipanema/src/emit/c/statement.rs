//! Emission of statements.

use super::body::{Body, C, level};
use super::contract::Loop;
use super::declare::{declarator, none};
use crate::ir::{
    Arithmetic, BaseType, Block, Expr, ExprKind, FunctionId, LocalId, Moves, Role, SearchKind, State, Stmt,
    StmtKind, Target, Type,
};

impl Body<'_> {
    /// True if the C function returns whether it moved its thread, which ends the handler.
    fn reports(&self) -> bool {
        reports(self.function)
    }

    pub fn block(&mut self, block: &Block, tail: bool) {
        for (i, stmt) in block.iter().enumerate() {
            self.stmt(stmt, tail && i + 1 == block.len());
        }
    }

    /// `tail` is true if the function ends after this statement.
    fn stmt(&mut self, stmt: &Stmt, tail: bool) {
        match &stmt.kind {
            StmtKind::Let { local, value } => self.declare(*local, value),
            StmtKind::Assign { target, value } => self.assign(target, value),
            StmtKind::If { test, then, otherwise } => {
                let test = self.expr(test).text;
                self.branches(&test, then, otherwise, tail);
            }
            StmtKind::IfSome { local, value, then, otherwise } => {
                let name = self.bind(*local, value);
                let test = format!("{name} != {}", none(value.ty));
                self.branches(&test, then, otherwise, tail);
            }
            StmtKind::For { iteration, body } => {
                let inside = self.effects_of(body);
                self.open_loop(iteration, &inside, &Loop::Body(body, &inside));
                self.unread(iteration.local);
                self.loops += 1;
                self.block(body, false);
                self.loops -= 1;
                self.close_loop();
            }
            StmtKind::Break => self.out.line("break;"),
            StmtKind::Continue => self.out.line("continue;"),
            StmtKind::Return(Some(value)) => {
                let value = self.expr(value).text;
                self.out.line(&format!("return {value};"));
            }
            StmtKind::Return(None) => {
                if self.reports() {
                    self.out.line("return false;");
                } else if !tail {
                    self.out.line("return;");
                }
            }
            StmtKind::Transition { thread, to, reason } => {
                let thread = self.expr(thread).text;
                let call = match to {
                    State::Ready { core, queue } => {
                        let core = self.expr(core).text;
                        let names = &self.unit.names;
                        let enter = &names.ready[queue.index()];
                        let reason = &names.reason_constants[reason.index()];
                        format!("{enter}(s, {thread}, {core}, {reason});")
                    }
                    State::Running => format!("saakm_run(s, {thread});"),
                    State::Blocked => format!("saakm_blocked(s, {thread});"),
                    State::Terminated => format!("saakm_terminated(s, {thread});"),
                };
                self.out.line(&call);
                self.over(tail);
            }
            StmtKind::Call { function, args } => self.call_statement(*function, args, tail),
            StmtKind::Effect(effect) => {
                let effect = self.effect(effect);
                self.out.line(&format!("{effect};"));
            }
            StmtKind::Steal { steal, thief, victims } => {
                let call = self.steal_call(*steal, thief, victims);
                self.out.line(&format!("{call};"));
            }
            StmtKind::Block(block) => {
                self.out.open("{");
                self.inner_block(block, tail);
                self.out.close("}");
            }
        }
    }

    /// Emits a block in braces.
    fn inner_block(&mut self, block: &Block, tail: bool) {
        self.enter();
        self.block(block, tail);
        self.leave();
    }

    /// Emits the end of the handler.
    fn over(&mut self, tail: bool) {
        if self.reports() {
            self.out.line("return true;");
        } else if !tail {
            self.out.line("return;");
        }
    }

    fn call_statement(&mut self, function: FunctionId, args: &[Expr], tail: bool) {
        let args: Vec<&Expr> = args.iter().collect();
        let call = self.call(function, &args);
        let callee = self.policy.function(function);
        match callee.moves {
            Moves::Never => self.out.line(&format!("{call};")),
            Moves::Always { .. } => {
                self.out.line(&format!("{call};"));
                self.over(tail);
            }
            Moves::Maybe { .. } if tail && self.reports() => {
                self.out.line(&format!("return {call};"));
            }
            Moves::Maybe { .. } if tail => self.out.line(&format!("{call};")),
            Moves::Maybe { .. } => {
                self.out.line(&format!("if ({call})"));
                let over = if self.reports() { "\treturn true;" } else { "\treturn;" };
                self.out.line(over);
            }
        }
    }

    // ---- variables ------------------------------------------------------------------------

    fn declare(&mut self, local: LocalId, value: &Expr) {
        if self.function.local(local).ty == Type::SET {
            let members = self.members_to_copy(value);
            let name = self.name(local);
            self.declare_copy(&name, value, &members);
            return;
        }
        let ty = self.function.local(local).ty;
        let value = self.expr(value).text;
        let name = self.name(local);
        self.out.line(&format!("{} = {value};", declarator(ty, &name)));
        self.unread(local);
    }

    /// Declares a variable for an optional value. For a `first` that needs a loop, reuses the loop
    /// variable.
    fn bind(&mut self, local: LocalId, value: &Expr) -> String {
        let result = self.expr(value);
        if let ExprKind::Search(search) = &value.kind {
            let found = self.name_of(search.iteration.local).to_owned();
            if matches!(search.kind, SearchKind::First) && found == result.text {
                self.alias(local, &found);
                return found;
            }
        }
        let name = self.name(local);
        let ty = self.function.local(local).ty;
        self.out.line(&format!("{} = {};", declarator(ty, &name), result.text));
        self.out.blank();
        name
    }

    fn assign(&mut self, target: &Target, value: &Expr) {
        let place = match target {
            Target::Set(id) => {
                let words = self.set_words(value).text;
                let (pointer, constant) = self.own_set(*id);
                let target = pointer.replace("_state(s)->", "_the_state.");
                let contract = self.assign_contract(value, &target, target.trim_start_matches('&'));
                let line = format!("SAAKM_REPLACE(s, {pointer}, {constant}, w, {words}{contract});");
                self.out.line(&line);
                return;
            }
            Target::Local(id) => ExprKind::Local(*id),
            Target::Global(id) => ExprKind::Global(*id),
            Target::Thread { attribute, thread } => {
                ExprKind::Thread { attribute: *attribute, thread: Box::new(thread.clone()) }
            }
            Target::Core { attribute, core } => {
                ExprKind::Core { attribute: *attribute, core: Box::new(core.clone()) }
            }
        };
        let place = Expr { kind: place, ty: value.ty, span: value.span };
        if value.ty == Type::SET {
            let members = self.members_to_copy(value);
            let logic = self.unit.term(&self.env(), &place).unwrap_or("".into());
            let storage = logic.to_string().trim_start_matches('&').to_owned();
            let contract = self.assign_contract(value, logic, &storage);
            let pointer = self.set_pointer(&place, "set", None);
            let pointer = if pointer.starts_with('&') { format!("({pointer})") } else { pointer };
            self.out.line(&members.assign_to(&pointer, &contract));
            return;
        }
        if self.increase(&place, value) {
            return;
        }
        // The value comes first: C leaves the order of evaluation of the two sides unspecified.
        let (value_text, before) = self.aside(0, |this| this.expr(value).text);
        self.out.append(before);
        let value_pure = self.effects_of_expr(value).is_pure();
        let value_text = if value_pure || matches!(target, Target::Local(_) | Target::Global(_)) {
            value_text
        } else {
            self.temporary(value.ty, "value", C::atom(value_text)).text
        };
        let counts = self.counts(&place);
        let place = self.expr(&place).text;
        if counts {
            self.out.line(&format!("{place} = SAAKM_FORGET({value_text});"));
        } else {
            self.out.line(&format!("{place} = {value_text};"));
        }
    }

    /// True for a number that changes in a loop; it is hidden from the kernel's verifier, which
    /// would otherwise enumerate its values.
    fn counts(&self, place: &Expr) -> bool {
        let number =
            matches!(place.ty.base, BaseType::Int | BaseType::Time | BaseType::Frequency | BaseType::Load);
        self.loops > 0 && number && matches!(place.kind, ExprKind::Local(_))
    }

    /// Emits `x = x + e` as `x += e` where possible. Without effects, the order does not matter.
    fn increase(&mut self, place: &Expr, value: &Expr) -> bool {
        let ExprKind::Arithmetic { op, left, right } = &value.kind else { return false };
        let symbol = match op {
            Arithmetic::Add => "+",
            Arithmetic::Sub => "-",
            _ => return false,
        };
        let alike = std::mem::discriminant(&place.kind) == std::mem::discriminant(&left.kind);
        if !alike || !self.effects_of_expr(value).is_pure() {
            return false;
        }
        let counts = self.counts(place);
        let ((place, left), before) = self.aside(0, |this| (this.expr(place).text, this.expr(left).text));
        if place != left || !before.is_empty() {
            return false;
        }
        let right = self.expr(right);
        if counts {
            let right = right.within(level::PRODUCT);
            self.out.line(&format!("{place} = SAAKM_FORGET({place} {symbol} {right});"));
        } else {
            self.out.line(&format!("{place} {symbol}= {};", right.text));
        }
        true
    }

    // ---- branches -------------------------------------------------------------------------

    fn branches(&mut self, test: &str, then: &Block, otherwise: &Block, tail: bool) {
        self.out.open(&format!("if ({test}) {{"));
        self.inner_block(then, tail);
        self.out.indent -= 1;
        if otherwise.is_empty() {
            self.out.line("}");
            return;
        }
        // `else if`, if the second test needs no preceding statements.
        if let [Stmt { kind: StmtKind::If { test, then, otherwise }, .. }] = otherwise.as_slice() {
            let (next, before) = self.aside(1, |this| this.expr(test).text);
            if before.is_empty() {
                let ((), rest) = self.aside(0, |this| this.branches(&next, then, otherwise, tail));
                self.out.line("} else ");
                self.out.join(rest);
                return;
            }
        }
        self.out.open("} else {");
        self.inner_block(otherwise, tail);
        self.out.close("}");
    }
}

/// True if a function moves its thread on some paths only and so must return whether it did.
/// Handlers called by the runtime return nothing.
pub fn reports(function: &crate::ir::Function) -> bool {
    let called = function.superseded || !matches!(function.role, Role::Handler(_));
    called && matches!(function.moves, Moves::Maybe { .. })
}
