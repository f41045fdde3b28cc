//! Syntax tree of a policy, before name resolution and type checking.
//!
//! Each node has the [`Span`] of its source text. Documentation comments are attached to what they
//! document. Other comments and parentheses are not in the tree: the formatter takes comments from
//! the source and adds parentheses where needed.
//!
//! The tree is at most [`MAX_DEPTH`] nodes high, so passes may recurse.

use hearth_base::constants::TICK_NS;
use serde::Serialize;

pub use super::span::Span;

/// Maximum height of a tree (statements and expressions together).
pub const MAX_DEPTH: u32 = 128;

/// A name and its source location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ident {
    pub name: String,
    pub span: Span,
}

/// A documentation comment: the lines after `///`, without the marker and one leading space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Doc {
    /// Lines joined by `\n`, without one at the end.
    pub text: String,
    pub span: Span,
}

// ---- policy and items -------------------------------------------------------------------------

/// A file: `policy NAME [extends BASE [with FEATURE, ...]] { items }` or `feature NAME : SLOT { items }`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Policy {
    pub doc: Option<Doc>,
    pub name: Ident,
    /// The slot that a feature is for. A policy has none.
    pub slot: Option<Ident>,
    pub base: Option<Ident>,
    /// Features for the slots of the base.
    pub with: Vec<Ident>,
    pub items: Vec<Item>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    pub doc: Option<Doc>,
    pub kind: ItemKind,
    /// Without the documentation comment.
    pub span: Span,
}

// A policy has few items, so their size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum ItemKind {
    Param(Param),
    Set(SetDecl),
    /// `global { ... }`, `thread { ... }` or `core { ... }`. A policy may have several of each.
    Attributes(Attributes),
    Queue(Queue),
    Invariant(Invariant),
    Function(Function),
    Handler(Handler),
    Steal(Steal),
    Slot(Slot),
    /// Only in a slot.
    Need(Need),
}

/// `slot name { items }`: a part that a feature declares. Functions and handlers with a body are defaults.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slot {
    pub name: Ident,
    pub items: Vec<Item>,
    /// From `{` to `}`, inclusive.
    pub body_span: Span,
}

/// What each feature of a slot declares.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Need {
    /// `queue name;`
    Queue(Ident),
    /// `on EVENT (type a, ...);`
    Handler { event: Event, event_span: Span, formals: Vec<Formal> },
    /// `type name(type a, type b);`
    Function { result: Option<Type>, name: Ident, formals: Vec<Formal> },
}

/// `param name : type [in lo..hi] = default;`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Param {
    pub name: Ident,
    pub ty: Type,
    /// Allowed values, bounds included.
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

/// Owner of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Owner {
    /// The policy: one value.
    Global,
    /// Each thread has a value.
    Thread,
    /// Each core has a value.
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
    /// Without the documentation comment.
    pub span: Span,
}

/// One of the attributes that a [`Field`] declares.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldName {
    pub name: Ident,
    /// Default: false, zero, none or the empty set.
    pub initial: Option<Expr>,
}

/// `queue name : fifo | list | rbtree by attribute;`: a queue on each core.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Queue {
    pub name: Ident,
    pub order: QueueOrder,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum QueueOrder {
    Fifo,
    List,
    /// Ascending by a thread attribute.
    Rbtree {
        by: Ident,
    },
}

/// `type name(type a, type b) { ... }`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Function {
    /// `None` for `void`.
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

/// Event handled by a policy. `runtime/saakm.h` specifies when it occurs and what a handler must
/// do.
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

    /// Events that need a handler; without it, threads would be stuck.
    pub const NEEDED: [Event; 7] = [
        Event::New,
        Event::Unblock,
        Event::Schedule,
        Event::Yield,
        Event::Preempt,
        Event::Block,
        Event::Terminate,
    ];

    /// Name in the source, after `on`.
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
/// The phases are in the order of the fields below, each at most once. A later pass checks which
/// ones are missing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Steal {
    pub name: Ident,
    pub thief: Formal,
    pub victims: Formal,
    /// `can_steal_core (core src) { ... }`: filter of the victims.
    pub can_steal_core: Option<Phase>,
    /// `select_core (core src) max by ...;`: order of the victims.
    pub select_core: Option<SelectCore>,
    /// `steal_thread (thread t) { ... }`: filter of the threads of a victim.
    pub steal_thread: Option<Phase>,
    /// `stop_core { ... }`: whether to stop stealing from this victim.
    pub stop_core: Option<StopPhase>,
    /// `stop { ... }`: whether to stop the steal.
    pub stop: Option<StopPhase>,
    /// `move (thread t) { ... }`: makes a stolen thread ready.
    pub move_thread: Option<Phase>,
    /// From `{` to `}`, inclusive.
    pub body_span: Span,
}

/// A phase of a steal with a core or thread as parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Phase {
    pub doc: Option<Doc>,
    pub subject: Formal,
    pub body: Block,
    /// Without the documentation comment.
    pub span: Span,
}

/// A phase of a steal that decides whether to stop.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StopPhase {
    pub doc: Option<Doc>,
    pub body: Block,
    /// Without the documentation comment.
    pub span: Span,
}

/// `select_core (core src) max|min by expr, ... [from x | nearest x];`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelectCore {
    pub doc: Option<Doc>,
    pub subject: Formal,
    pub extreme: Extreme,
    /// At least one key; each later key breaks ties of the earlier ones.
    pub by: Vec<Expr>,
    /// Order among candidates with equal keys.
    pub order: Option<Order>,
    /// Without the documentation comment.
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Extreme {
    Min,
    Max,
}

// ---- types ------------------------------------------------------------------------------------

/// A type and its source location. `void` is represented by its absence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Type {
    pub base: BaseType,
    /// True if `?` follows: the value may be `none`. Only cores, threads and domains can be
    /// optional.
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
    /// Load; 1024 is a core that is always busy.
    Load,
    Core,
    Thread,
    /// Part of the topology; also the set of its cores.
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

    /// True if `?` may follow.
    pub fn can_be_optional(self) -> bool {
        matches!(self, BaseType::Core | BaseType::Thread | BaseType::Domain)
    }
}

// ---- statements -------------------------------------------------------------------------------

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Block {
    pub stmts: Vec<Stmt>,
    /// From `{` to `}`, inclusive.
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
    /// `target = value;` The target is a name or ends in a member access.
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
    /// `super;`: calls the base's handler of this event with the same arguments.
    Super,
    /// `call(...);` The parser accepts any expression whose outermost node is a call.
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
    /// `if (type name = value)`: true if the optional value is not none; binds it to `name`.
    Bind { ty: Type, name: Ident, value: Expr, span: Span },
}

/// `type name in set [from x | nearest x] [limit n]`, in loops and searches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Iteration {
    /// Core, thread or domain, not optional.
    pub ty: Type,
    pub name: Ident,
    /// A set of cores, a ready queue (of threads), or `groups(...)` (of domains).
    pub set: Expr,
    /// Default: ascending core numbers.
    pub order: Option<Order>,
    /// Maximum number of elements to visit.
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
    /// `from x`: ascending core numbers starting at x, wrapping around.
    From,
    /// `nearest x`: by distance from core x, then by core number.
    Nearest,
}

/// Target state of a transition.
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
    /// Includes enclosing parentheses.
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
    /// A local, parameter, global attribute, set, level (`llc`) or library word (`now`, `idle`,
    /// ...).
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

/// Unit in the source. The value is always in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum TimeUnit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
    /// [`TICK_NS`], whatever the kernel's HZ.
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

    /// Nanoseconds per unit.
    pub fn ns(self) -> i64 {
        match self {
            TimeUnit::Nanoseconds => 1,
            TimeUnit::Microseconds => 1_000,
            TimeUnit::Milliseconds => 1_000_000,
            TimeUnit::Seconds => 1_000_000_000,
            TimeUnit::Ticks => TICK_NS as i64,
        }
    }
}

/// Unit in the source. The value is always in kilohertz.
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

    /// Kilohertz per unit.
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
    /// Subtraction of numbers, or difference of sets.
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
/// `min(a, b)` and `max(a, b)` of two numbers, `count(set)` and `empty(set)` are calls, not
/// searches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Search {
    pub kind: SearchKind,
    pub iteration: Iteration,
    /// `where test`: condition for elements. Not allowed with `sum`.
    pub filter: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum SearchKind {
    /// The first element, or none.
    First,
    /// Whether there is an element.
    Any,
    /// `by e, ...`: the element with the least or greatest e, or none; the first one among equals.
    Extreme { extreme: Extreme, by: Vec<Expr> },
    /// `of e`: the sum of e over all elements.
    Sum { of: Expr },
}
