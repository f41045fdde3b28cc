//! The syntax tree of a policy: what was written, before any name is looked up or type checked.
//!
//! Every node has the [`Span`] of its source text, and documentation comments hang on what they
//! document. All other comments, and parentheses, are left out: the formatter finds the first in
//! the source, and puts the second back where they are needed.
//!
//! The tree is at most [`MAX_DEPTH`] nodes high, so that a pass may simply recurse.

use serde::Serialize;

pub use super::span::Span;

/// The parser accepts no tree that is higher than this (statements and expressions together).
pub const MAX_DEPTH: u32 = 128;

/// A name, where it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ident {
    pub name: String,
    pub span: Span,
}

/// A documentation comment: the lines behind `///`, without it and without one leading blank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Doc {
    /// Lines joined by `\n`, none at the end.
    pub text: String,
    pub span: Span,
}

// ---- policy and items -------------------------------------------------------------------------

/// A whole file: `policy NAME [extends BASE] { items }`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Policy {
    pub doc: Option<Doc>,
    pub name: Ident,
    pub base: Option<Ident>,
    pub items: Vec<Item>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    pub doc: Option<Doc>,
    pub kind: ItemKind,
    /// Without the documentation.
    pub span: Span,
}

// A policy has few items: their size is no matter.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum ItemKind {
    Param(Param),
    Set(SetDecl),
    /// `global { ... }`, `thread { ... }` or `core { ... }`. Several of one kind add up.
    Attributes(Attributes),
    Queue(Queue),
    Invariant(Invariant),
    Function(Function),
    Handler(Handler),
    Steal(Steal),
}

/// `param name : type [in lo..hi] = default;`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Param {
    pub name: Ident,
    pub ty: Type,
    /// Both bounds are allowed values.
    pub range: Option<Range>,
    pub default: Expr,
}

/// `lo..hi`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Range {
    pub low: Expr,
    pub high: Expr,
    pub span: Span,
}

/// `set name [max capacity];`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SetDecl {
    pub name: Ident,
    pub capacity: Option<Expr>,
}

/// `invariant name : condition;`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Invariant {
    pub name: Ident,
    pub condition: Expr,
}

/// Who has an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Owner {
    /// The policy itself: one value.
    Global,
    /// Each thread.
    Thread,
    /// Each core.
    Core,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attributes {
    pub owner: Owner,
    pub fields: Vec<Field>,
}

/// `type name [= literal], name [= literal], ...;`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Field {
    pub doc: Option<Doc>,
    pub ty: Type,
    /// At least one.
    pub names: Vec<FieldName>,
    /// Without the documentation.
    pub span: Span,
}

/// One of the attributes that a [`Field`] declares.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldName {
    pub name: Ident,
    /// Without one: false, zero, none or the empty set.
    pub initial: Option<Expr>,
}

/// `queue name : fifo | list | rbtree by attribute;`, one on each core.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Queue {
    pub name: Ident,
    pub order: QueueOrder,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum QueueOrder {
    Fifo,
    List,
    /// Ascending by an attribute of the thread.
    Rbtree {
        by: Ident,
    },
}

/// `type name(type a, type b) { ... }`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Function {
    /// `None`: void.
    pub result: Option<Type>,
    pub name: Ident,
    pub formals: Vec<Formal>,
    pub body: Block,
}

/// A parameter of a function, of a handler or of a phase of a steal: `type name`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Formal {
    pub ty: Type,
    pub name: Ident,
    pub span: Span,
}

/// `on EVENT (type a, ...) { ... }`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Handler {
    pub event: Event,
    pub event_span: Span,
    pub formals: Vec<Formal>,
    pub body: Block,
}

/// What a policy is told (`runtime/saakm.h` says when, and what it must do).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    New,
    Unblock,
    Enqueue,
    Schedule,
    Tick,
    Yield,
    Preempt,
    Block,
    Terminate,
    Timer,
    NewlyIdle,
    EnterIdle,
    ExitIdle,
    Balance,
    Entry,
    Exit,
}

impl Event {
    pub const ALL: [Event; 16] = [
        Event::New,
        Event::Unblock,
        Event::Enqueue,
        Event::Schedule,
        Event::Tick,
        Event::Yield,
        Event::Preempt,
        Event::Block,
        Event::Terminate,
        Event::Timer,
        Event::NewlyIdle,
        Event::EnterIdle,
        Event::ExitIdle,
        Event::Balance,
        Event::Entry,
        Event::Exit,
    ];

    /// As it is written behind `on`.
    pub fn name(self) -> &'static str {
        match self {
            Event::New => "new",
            Event::Unblock => "unblock",
            Event::Enqueue => "enqueue",
            Event::Schedule => "schedule",
            Event::Tick => "tick",
            Event::Yield => "yield",
            Event::Preempt => "preempt",
            Event::Block => "block",
            Event::Terminate => "terminate",
            Event::Timer => "timer",
            Event::NewlyIdle => "newly_idle",
            Event::EnterIdle => "enter_idle",
            Event::ExitIdle => "exit_idle",
            Event::Balance => "balance",
            Event::Entry => "entry",
            Event::Exit => "exit",
        }
    }

    pub fn from_name(name: &str) -> Option<Event> {
        Event::ALL.into_iter().find(|e| e.name() == name)
    }
}

/// `steal name (core thief, set victims) { phases }`.
///
/// The phases come in the order of the fields below, each at most once. Which ones may be left
/// out is not a matter of syntax.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Steal {
    pub name: Ident,
    pub thief: Formal,
    pub victims: Formal,
    /// `can_steal_core (core src) { ... }`: filter of the victims.
    pub can_steal_core: Option<Phase>,
    /// `select_core (core src) max by ...;`: which victim comes first.
    pub select_core: Option<SelectCore>,
    /// `steal_thread (thread t) { ... }`: filter of the threads of a victim.
    pub steal_thread: Option<Phase>,
    /// `stop_core { ... }`: enough from this victim?
    pub stop_core: Option<StopPhase>,
    /// `stop { ... }`: enough altogether?
    pub stop: Option<StopPhase>,
    /// `move (thread t) { ... }`: how a stolen thread becomes ready again.
    pub move_thread: Option<Phase>,
    /// From `{` to `}`.
    pub body_span: Span,
}

/// A phase of a steal that looks at one core or thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Phase {
    pub doc: Option<Doc>,
    pub subject: Formal,
    pub body: Block,
    /// Without the documentation.
    pub span: Span,
}

/// A phase of a steal that asks whether to stop.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StopPhase {
    pub doc: Option<Doc>,
    pub body: Block,
    /// Without the documentation.
    pub span: Span,
}

/// `select_core (core src) max|min by expr, ... [from x | nearest x];`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelectCore {
    pub doc: Option<Doc>,
    pub subject: Formal,
    pub extreme: Extreme,
    /// At least one; the next one decides where the former are equal.
    pub by: Vec<Expr>,
    /// Decides where all of `by` are equal.
    pub order: Option<Order>,
    /// Without the documentation.
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Extreme {
    Min,
    Max,
}

// ---- types ------------------------------------------------------------------------------------

/// A type, where it was written. `void` is the absence of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Type {
    pub base: BaseType,
    /// Followed by `?`: the value may be `none`. Only cores, threads and domains can be optional.
    pub optional: bool,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BaseType {
    Bool,
    Int,
    /// Nanoseconds, signed.
    Time,
    /// Kilohertz.
    Frequency,
    /// 1024: a core that is always busy.
    Load,
    Core,
    Thread,
    /// A part of the topology, which is also the set of its cores.
    Domain,
    /// A set of cores.
    Set,
}

impl BaseType {
    pub const ALL: [BaseType; 9] = [
        BaseType::Bool,
        BaseType::Int,
        BaseType::Time,
        BaseType::Frequency,
        BaseType::Load,
        BaseType::Core,
        BaseType::Thread,
        BaseType::Domain,
        BaseType::Set,
    ];

    pub fn name(self) -> &'static str {
        match self {
            BaseType::Bool => "bool",
            BaseType::Int => "int",
            BaseType::Time => "time",
            BaseType::Frequency => "frequency",
            BaseType::Load => "load",
            BaseType::Core => "core",
            BaseType::Thread => "thread",
            BaseType::Domain => "domain",
            BaseType::Set => "set",
        }
    }

    /// May `?` follow?
    pub fn can_be_optional(self) -> bool {
        matches!(self, BaseType::Core | BaseType::Thread | BaseType::Domain)
    }
}

// ---- statements -------------------------------------------------------------------------------

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Block {
    pub stmts: Vec<Stmt>,
    /// From `{` to `}`.
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum StmtKind {
    /// `type name = value;`
    Local {
        ty: Type,
        name: Ident,
        value: Expr,
    },
    /// `target = value;` The target is a name or ends in a member.
    Assign {
        target: Expr,
        op: AssignOp,
        value: Expr,
    },
    /// `if (condition) then [else otherwise]`
    If {
        condition: Condition,
        then: Box<Stmt>,
        otherwise: Option<Box<Stmt>>,
    },
    /// `for (type name in set ...) body`
    For {
        iteration: Iteration,
        body: Box<Stmt>,
    },
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// `return [value];`
    Return(Option<Expr>),
    /// `thread => target [because reason];`
    Transition {
        thread: Expr,
        target: Target,
        reason: Option<Ident>,
    },
    /// `super;`: the handler of this event in the base policy, with the same arguments.
    Super,
    /// `call(...);` The parser lets any expression pass whose outermost node is a call.
    Call(Expr),
    Block(Block),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum AssignOp {
    /// `=`
    Set,
    /// `+=`
    Add,
    /// `-=`
    Sub,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Condition {
    /// `if (test)`
    Test(Expr),
    /// `if (type name = value)`: the optional value is not none, and `name` is what it holds.
    Bind { ty: Type, name: Ident, value: Expr, span: Span },
}

/// `type name in set [from x | nearest x] [limit n]`, of loops and searches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Iteration {
    /// Core, thread or domain, not optional.
    pub ty: Type,
    pub name: Ident,
    /// A set of cores, a ready queue (of threads), or `groups(...)` (of domains).
    pub set: Expr,
    /// Without one: in numerical order from core 0.
    pub order: Option<Order>,
    /// At most so many elements are looked at.
    pub limit: Option<Expr>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Order {
    pub kind: OrderKind,
    pub origin: Expr,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum OrderKind {
    /// `from x`: numerical order from core x on, round to the one before it.
    From,
    /// `nearest x`: by distance from core x, in numerical order where equal.
    Nearest,
}

/// The state that a thread is brought to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Target {
    /// `core.queue`
    Ready {
        core: Expr,
        queue: Ident,
    },
    Running(Span),
    Blocked(Span),
    Terminated(Span),
}

// ---- expressions ------------------------------------------------------------------------------

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expr {
    pub kind: ExprKind,
    /// With the parentheses around it, if there are any.
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum ExprKind {
    Bool(bool),
    Int(i64),
    Time {
        ns: i64,
        unit: TimeUnit,
    },
    Frequency {
        khz: i64,
        unit: FrequencyUnit,
    },
    None,
    /// A local, a parameter, a global attribute, a set, a level (`llc`), or a word of the library
    /// (`now`, `idle`, ...).
    Name(String),
    /// `object.member`
    Member {
        object: Box<Expr>,
        member: Ident,
    },
    /// `function(args)`
    Call {
        function: Ident,
        args: Vec<Expr>,
    },
    /// `super.function(args)`
    SuperCall {
        function: Ident,
        args: Vec<Expr>,
    },
    /// `receiver.method(args)`
    MethodCall {
        receiver: Box<Expr>,
        method: Ident,
        args: Vec<Expr>,
    },
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `condition ? then : otherwise`
    Conditional {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    /// `optional else default`
    Default {
        optional: Box<Expr>,
        default: Box<Expr>,
    },
    Search(Box<Search>),
}

/// The unit in which a time was written. The value is always in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum TimeUnit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
    /// 4 ms, whatever the kernel's HZ.
    Ticks,
}

impl TimeUnit {
    pub const ALL: [TimeUnit; 5] = [
        TimeUnit::Nanoseconds,
        TimeUnit::Microseconds,
        TimeUnit::Milliseconds,
        TimeUnit::Seconds,
        TimeUnit::Ticks,
    ];

    pub fn name(self) -> &'static str {
        match self {
            TimeUnit::Nanoseconds => "ns",
            TimeUnit::Microseconds => "us",
            TimeUnit::Milliseconds => "ms",
            TimeUnit::Seconds => "s",
            TimeUnit::Ticks => "ticks",
        }
    }

    /// Nanoseconds in one of it.
    pub fn ns(self) -> i64 {
        match self {
            TimeUnit::Nanoseconds => 1,
            TimeUnit::Microseconds => 1_000,
            TimeUnit::Milliseconds => 1_000_000,
            TimeUnit::Seconds => 1_000_000_000,
            TimeUnit::Ticks => 4_000_000,
        }
    }
}

/// The unit in which a frequency was written. The value is always in kilohertz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum FrequencyUnit {
    Kilohertz,
    Megahertz,
    Gigahertz,
}

impl FrequencyUnit {
    pub const ALL: [FrequencyUnit; 3] =
        [FrequencyUnit::Kilohertz, FrequencyUnit::Megahertz, FrequencyUnit::Gigahertz];

    pub fn name(self) -> &'static str {
        match self {
            FrequencyUnit::Kilohertz => "kHz",
            FrequencyUnit::Megahertz => "MHz",
            FrequencyUnit::Gigahertz => "GHz",
        }
    }

    /// Kilohertz in one of it.
    pub fn khz(self) -> i64 {
        match self {
            FrequencyUnit::Kilohertz => 1,
            FrequencyUnit::Megahertz => 1_000,
            FrequencyUnit::Gigahertz => 1_000_000,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum UnaryOp {
    /// `!`
    Not,
    /// `-`
    Neg,
}

impl UnaryOp {
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Not => "!",
            UnaryOp::Neg => "-",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum BinaryOp {
    Or,
    And,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Core in set.
    In,
    Union,
    Intersection,
    Add,
    /// Of numbers, and of sets.
    Sub,
    Mul,
    Div,
    Rem,
}

impl BinaryOp {
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Or => "||",
            BinaryOp::And => "&&",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::In => "in",
            BinaryOp::Union => "|",
            BinaryOp::Intersection => "&",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
        }
    }
}

/// `first(...)`, `min(...)`, `max(...)`, `any(...)`, `sum(...)` over a finite set.
///
/// `min(a, b)` and `max(a, b)` of two numbers, `count(set)` and `empty(set)` are calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Search {
    pub kind: SearchKind,
    pub iteration: Iteration,
    /// `where test`: only elements for which this holds. Not with `sum`.
    pub filter: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum SearchKind {
    /// The first element, or none.
    First,
    /// Is there one?
    Any,
    /// `by e, ...`: the element with the least or greatest e, or none; the first of equals.
    Extreme { extreme: Extreme, by: Vec<Expr> },
    /// `of e`: the sum of e over all elements.
    Sum { of: Expr },
}
