//! State of the emitter within the body of one function.

use std::cell::RefCell;
use std::collections::HashSet;

use super::Unit;
use super::declare::declarator;
use super::memo::Memo;
use super::names::Locals;
use super::text::Text;
use crate::ir::effects::{self, Effects};
use crate::ir::visit::{Visitor, walk_block, walk_expr};
use crate::ir::{Block, Expr, ExprKind, Function, LocalId, Policy, Role, Type};

/// A C expression with the precedence of its outermost operator.
pub struct C {
    pub text: String,
    pub level: u8,
}

/// Precedence of operators; higher binds tighter.
pub mod level {
    pub const CONDITIONAL: u8 = 3;
    pub const OR: u8 = 4;
    pub const AND: u8 = 5;
    pub const BIT_OR: u8 = 6;
    pub const BIT_AND: u8 = 8;
    pub const EQUAL: u8 = 9;
    pub const RELATION: u8 = 10;
    pub const SUM: u8 = 12;
    pub const PRODUCT: u8 = 13;
    pub const UNARY: u8 = 14;
    pub const ATOM: u8 = 20;
}

impl C {
    pub fn new(text: impl Into<String>, level: u8) -> C {
        C { text: text.into(), level }
    }

    pub fn atom(text: impl Into<String>) -> C {
        C::new(text, level::ATOM)
    }

    /// The text as an operand of an operator of precedence `level`, in parentheses if necessary.
    pub fn within(self, level: u8) -> String {
        if self.level < level { format!("({})", self.text) } else { self.text }
    }
}

pub struct Body<'u> {
    pub unit: &'u Unit<'u>,
    pub policy: &'u Policy,
    pub function: &'u Function,
    pub out: Text,
    locals: Locals<'u>,
    /// C names by local variable, once declared.
    names: Vec<String>,
    /// Number of reads of each local variable.
    reads: Vec<u32>,
    /// The memoised calls of a thread rule.
    pub memos: Vec<Memo>,
    /// The C name of the parameter that has their values.
    pub memo_name: String,
    /// Variables of loops over groups. The runtime knows which words hold their cores.
    groups: Vec<LocalId>,
    /// Names in use outside each open block.
    outside: Vec<HashSet<String>>,
    /// Number of open loops of the source.
    pub loops: u32,
    /// What the contracts do not say.
    pub gaps: RefCell<Vec<String>>,
}

impl<'u> Body<'u> {
    pub fn new(unit: &'u Unit<'u>, function: &'u Function) -> Body<'u> {
        let mut reads = Reads(vec![0; function.locals.len()]);
        walk_block(&mut reads, &function.body);
        let mut body = Body {
            unit,
            policy: unit.policy,
            function,
            out: Text::at(1),
            locals: unit.names.locals(),
            names: vec![String::new(); function.locals.len()],
            reads: reads.0,
            memos: unit.memos(function),
            memo_name: String::new(),
            groups: Vec::new(),
            outside: Vec::new(),
            loops: 0,
            gaps: RefCell::default(),
        };
        for index in 0..function.arity {
            body.name(LocalId(index));
        }
        if !body.memos.is_empty() {
            body.memo_name = body.fresh("memo");
        }
        body
    }

    // ---- names ----------------------------------------------------------------------------

    /// Chooses the C name of a variable.
    pub fn name(&mut self, id: LocalId) -> String {
        let name = self.locals.new_name(&self.function.local(id).name);
        self.names[id.index()].clone_from(&name);
        name
    }

    /// Makes the variable an alias of an existing C name.
    pub fn alias(&mut self, id: LocalId, name: &str) {
        self.names[id.index()] = name.to_owned();
    }

    pub fn name_of(&self, id: LocalId) -> &str {
        &self.names[id.index()]
    }

    pub fn is_read(&self, id: LocalId) -> bool {
        self.reads[id.index()] > 0
    }

    pub fn add_group(&mut self, id: LocalId) {
        self.groups.push(id);
    }

    pub fn is_group(&self, id: LocalId) -> bool {
        self.groups.contains(&id)
    }

    /// Enters a block. Its names can be reused after it.
    pub fn enter(&mut self) {
        self.outside.push(self.locals.taken());
    }

    pub fn leave(&mut self) {
        if let Some(taken) = self.outside.pop() {
            self.locals.go_back(taken);
        }
    }

    /// Name for a variable that is not in the source.
    pub fn fresh(&mut self, wish: &str) -> String {
        self.locals.new_name(wish)
    }

    /// Declares a new variable initialised with `value`.
    pub fn temporary(&mut self, ty: Type, wish: &str, value: C) -> C {
        let name = self.fresh(wish);
        self.out.line(&format!("{} = {};", declarator(ty, &name), value.text));
        C::atom(name)
    }

    // ---- order ----------------------------------------------------------------------------

    /// Runs `inner` and returns what it emits separately, with its result.
    pub fn aside<T>(&mut self, deeper: usize, inner: impl FnOnce(&mut Self) -> T) -> (T, Text) {
        let mut apart = self.out.beside();
        apart.indent += deeper;
        std::mem::swap(&mut self.out, &mut apart);
        let result = inner(self);
        std::mem::swap(&mut self.out, &mut apart);
        (result, apart)
    }

    /// Emits operands so that C's unspecified evaluation order does not matter: a value that
    /// another operand's evaluation might change is stored in a temporary first.
    pub fn operands(&mut self, exprs: &[&Expr]) -> Vec<C> {
        let mut parts: Vec<(C, Text)> = Vec::new();
        for expr in exprs {
            parts.push(self.aside(0, |this| this.expr(expr)));
        }
        let pure: Vec<bool> = exprs.iter().map(|expr| effects::is_pure(self.policy, expr)).collect();
        let stable: Vec<bool> = exprs.iter().map(|expr| is_stable(expr)).collect();
        let statements: Vec<bool> = parts.iter().map(|(_, before)| !before.is_empty()).collect();
        let mut operands = Vec::new();
        for (i, (value, before)) in parts.into_iter().enumerate() {
            self.out.append(before);
            let keep = (i + 1..exprs.len())
                .any(|j| (!pure[j] && !stable[i]) || (!pure[i] && (!stable[j] || statements[j])));
            operands.push(if keep { self.temporary(exprs[i].ty, "value", value) } else { value });
        }
        operands
    }

    /// A variable or a path that is free to repeat; otherwise a temporary.
    pub fn simple(&mut self, expr: &Expr, wish: &str) -> String {
        let value = self.expr(expr);
        let is_variable = value.text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if is_variable || is_simple(expr) { value.text } else { self.temporary(expr.ty, wish, value).text }
    }

    /// Negation of a test, for an early exit.
    pub fn negated(&mut self, test: &Expr) -> String {
        match &test.kind {
            ExprKind::Not(inner) => self.expr(inner).text,
            _ => format!("!{}", self.expr(test).within(level::UNARY)),
        }
    }

    pub fn effects_of(&self, block: &Block) -> Effects {
        effects::of_block(self.policy, self.function, block)
    }

    pub fn effects_of_expr(&self, expr: &Expr) -> Effects {
        effects::of_expr(self.policy, self.function, expr)
    }
}

/// True if the value cannot change during the evaluation of one expression.
fn is_stable(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Bool(_)
        | ExprKind::Number(_)
        | ExprKind::None
        | ExprKind::Local(_)
        | ExprKind::Param(_)
        | ExprKind::Now
        | ExprKind::Fact(_)
        | ExprKind::Machine => true,
        ExprKind::Some(inner) | ExprKind::CoresOf(inner) | ExprKind::DomainOf { core: inner, .. } => {
            is_stable(inner)
        }
        _ => false,
    }
}

/// True for a path to a value, which needs no computation to repeat.
fn is_simple(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Local(_) | ExprKind::Global(_) | ExprKind::Machine | ExprKind::Number(_) => true,
        ExprKind::Thread { thread: object, .. }
        | ExprKind::Core { core: object, .. }
        | ExprKind::ThreadField { thread: object, .. }
        | ExprKind::DomainOf { core: object, .. } => {
            matches!(&object.kind, ExprKind::Local(_))
                || matches!(&object.kind, ExprKind::ThreadField { thread, .. } if matches!(thread.kind, ExprKind::Local(_)))
        }
        ExprKind::Some(inner) => is_simple(inner),
        _ => false,
    }
}

struct Reads(Vec<u32>);

impl Visitor for Reads {
    fn expr(&mut self, expr: &Expr) {
        if let ExprKind::Local(id) = expr.kind {
            self.0[id.index()] += 1;
        }
        walk_expr(self, expr);
    }
}

/// True if a function reads one of its variables.
pub fn reads(function: &Function, id: LocalId) -> bool {
    let mut reads = Reads(vec![0; function.locals.len()]);
    walk_block(&mut reads, &function.body);
    reads.0[id.index()] > 0
}

/// Phases of a steal take the victims as a parameter only if they use them.
pub fn takes(function: &Function, param: LocalId) -> bool {
    !matches!(function.role, Role::Phase(_)) || param != LocalId(1) || reads(function, param)
}

/// True if an expression reads a variable.
pub fn mentions(expr: &Expr, id: LocalId) -> bool {
    struct Mentions(LocalId, bool);
    impl Visitor for Mentions {
        fn expr(&mut self, expr: &Expr) {
            self.1 |= matches!(expr.kind, ExprKind::Local(id) if id == self.0);
            walk_expr(self, expr);
        }
    }
    let mut mentions = Mentions(id, false);
    mentions.expr(expr);
    mentions.1
}
