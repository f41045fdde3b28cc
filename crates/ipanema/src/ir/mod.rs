//! The intermediate representation: a policy with its bases merged in, every name resolved and
//! every expression typed.
//!
//! What a proof or a kernel needs to see is kept as a node of its own and not lowered: loops are
//! searches over finite sets with an order, a limit and a filter; transitions, claims, changes of
//! sets and steals are statements. What an expression means is said here; how it is computed is
//! the emitter's business.
//!
//! Declarations are numbered by their place in the lists of [`Policy`]; a local variable by its
//! place in [`Function::locals`], parameters first.

pub mod effects;
mod prune;
pub mod visit;

use serde::{Serialize, Serializer};

use crate::syntax::Span;
pub use crate::syntax::ast::{BaseType, Event, Extreme, OrderKind, Owner};
pub use effects::Effects;
pub(crate) use prune::{prune, reachable};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        pub struct $name(pub u32);

        impl $name {
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A place in [`Policy::params`].
    ParamId;
    /// A place in [`Policy::sets`].
    SetId;
    /// A place in [`Policy::queues`].
    QueueId;
    /// A place in [`Policy::reasons`].
    ReasonId;
    /// A place in [`Policy::functions`].
    FunctionId;
    /// A place in [`Policy::steals`].
    StealId;
    /// A place in [`Function::locals`].
    LocalId;
    /// A place in [`Policy::globals`], [`Policy::thread`] or [`Policy::core`].
    AttributeId;
}

// ---- policies ---------------------------------------------------------------------------------

/// A policy that stands alone: the bases' declarations come before its own.
#[derive(Clone, Debug, Serialize)]
pub struct Policy {
    pub name: String,
    pub doc: String,
    /// What it extends, nearest first.
    pub bases: Vec<String>,
    pub params: Vec<Param>,
    pub sets: Vec<CoreSet>,
    pub globals: Vec<Attribute>,
    pub thread: Vec<Attribute>,
    pub core: Vec<Attribute>,
    pub queues: Vec<Queue>,
    /// Why a thread was placed; the first, `none`, is that of a transition without `because`.
    pub reasons: Vec<String>,
    /// All that has a body, in the order of the sources: functions, handlers, phases of steals.
    pub functions: Vec<Function>,
    pub steals: Vec<Steal>,
    /// The effective handler of each event that has one.
    pub handlers: Vec<Handler>,
    /// What holds while no event is under way, by what the policy says: functions without parameters that return it.
    pub invariants: Vec<FunctionId>,
}

impl Policy {
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.index()]
    }

    pub fn handler(&self, event: Event) -> Option<FunctionId> {
        self.handlers.iter().find(|h| h.event == event).map(|h| h.function)
    }

    pub fn attributes(&self, owner: Owner) -> &[Attribute] {
        match owner {
            Owner::Global => &self.globals,
            Owner::Thread => &self.thread,
            Owner::Core => &self.core,
        }
    }

    pub fn attribute(&self, owner: Owner, id: AttributeId) -> &Attribute {
        &self.attributes(owner)[id.index()]
    }

    /// For tools: the whole policy as JSON.
    pub fn to_json(&self) -> String {
        // Every key is a string and no value can fail to serialise.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// Where something was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The policy that says it.
    pub policy: String,
    pub line: u32,
    #[serde(skip)]
    pub span: Span,
}

/// A value that can be set when the policy is loaded.
#[derive(Clone, Debug, Serialize)]
pub struct Param {
    pub name: String,
    pub doc: String,
    /// Bool, int, time, frequency or load; never optional.
    pub ty: Type,
    /// Both are allowed.
    pub min: i64,
    pub max: i64,
    pub initial: i64,
    pub at: Place,
}

/// A set of cores that belongs to the policy; empty at first.
#[derive(Clone, Debug, Serialize)]
pub struct CoreSet {
    pub name: String,
    pub doc: String,
    /// Adding to a set of this many cores is refused. A constant or a parameter.
    pub capacity: Option<Expr>,
    pub at: Place,
}

#[derive(Clone, Debug, Serialize)]
pub struct Attribute {
    pub name: String,
    pub doc: String,
    pub ty: Type,
    /// Of a scalar; an optional core starts as `none` and a set empty.
    pub initial: i64,
    pub at: Place,
}

/// One on each core.
#[derive(Clone, Debug, Serialize)]
pub struct Queue {
    pub name: String,
    pub doc: String,
    /// `None`: first in, first out. Else ascending by this attribute of the thread.
    pub by: Option<AttributeId>,
    pub at: Place,
}

/// The effective handler of an event.
#[derive(Clone, Debug, Serialize)]
pub struct Handler {
    pub event: Event,
    pub function: FunctionId,
}

/// What a [`Function`] was in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Function,
    Handler(Event),
    /// A phase of a steal. Its parameters are the thief, the victims, and then the candidate core
    /// or thread, or how many were `stolen`.
    Phase(StealId),
    /// A condition that holds while no event is under way: one `return`, without effects. No event calls it.
    Invariant,
}

#[derive(Clone, Debug, Serialize)]
pub struct Function {
    /// In the source; of a handler the event's; of a phase `steal.phase`.
    pub name: String,
    pub role: Role,
    /// Replaced by a policy that extends `at.policy`, and only reached through `super`.
    pub superseded: bool,
    pub doc: String,
    pub at: Place,
    /// How many of `locals` are parameters.
    pub arity: u32,
    pub locals: Vec<Local>,
    /// `None`: void.
    pub result: Option<Type>,
    pub body: Block,
    /// Whether a call moves a thread to another state, which ends the handler.
    pub moves: Moves,
    /// With those of everything that it calls.
    pub effects: Effects,
}

impl Function {
    pub fn params(&self) -> &[Local] {
        &self.locals[..self.arity as usize]
    }

    pub fn local(&self, id: LocalId) -> &Local {
        &self.locals[id.index()]
    }
}

/// A parameter or local variable.
#[derive(Clone, Debug, Serialize)]
pub struct Local {
    pub name: String,
    pub ty: Type,
    #[serde(skip)]
    pub span: Span,
}

/// Does a call move a thread, and so end the handler? `thread` is the parameter that is moved; of a
/// handler of `schedule`, which chooses a thread itself, there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Moves {
    #[default]
    Never,
    /// On some paths; on the others the caller goes on.
    Maybe {
        thread: Option<u32>,
    },
    Always {
        thread: Option<u32>,
    },
}

/// Balancing in three phases. A steal of `thief` from `victims`:
///
/// 1. The candidates are the victims, without the thief, for which `can_steal_core` holds.
/// 2. Until there is none left: the candidate that `select` prefers is taken out of them.
/// 3. For each of its ready threads, in the order of its queues, as long as `can_steal_core` still
///    holds: if `steal_thread` holds, `move_thread`. Then, if `stop_core` holds, this candidate is
///    done; if `stop` holds, so is the whole steal.
#[derive(Clone, Debug, Serialize)]
pub struct Steal {
    pub name: String,
    pub doc: String,
    pub at: Place,
    /// Replaced by a policy that extends `at.policy`.
    pub superseded: bool,
    pub thief: Local,
    pub victims: Local,
    pub can_steal_core: FunctionId,
    /// Without one: the nearest candidate of the thief.
    pub select: Option<Select>,
    /// Without one: the thief is in the thread's affinity.
    pub steal_thread: Option<FunctionId>,
    /// Without one: never. `stolen` counts the threads of this candidate.
    pub stop_core: Option<FunctionId>,
    /// Without one: never. `stolen` counts all threads.
    pub stop: Option<FunctionId>,
    pub move_thread: FunctionId,
    pub effects: Effects,
}

/// How a steal chooses among the candidates: by the function's results, one after the other.
#[derive(Clone, Debug, Serialize)]
pub struct Select {
    pub extreme: Extreme,
    /// Phases that return a scalar.
    pub by: Vec<FunctionId>,
    /// Where all are equal. The origin is the thief.
    pub order: OrderKind,
}

// ---- types ------------------------------------------------------------------------------------

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    pub base: BaseType,
    /// The value may be `none`. Only of cores, threads and domains.
    pub optional: bool,
}

impl Type {
    pub const BOOL: Type = Type::of(BaseType::Bool);
    pub const INT: Type = Type::of(BaseType::Int);
    pub const TIME: Type = Type::of(BaseType::Time);
    pub const FREQUENCY: Type = Type::of(BaseType::Frequency);
    pub const LOAD: Type = Type::of(BaseType::Load);
    pub const CORE: Type = Type::of(BaseType::Core);
    pub const THREAD: Type = Type::of(BaseType::Thread);
    pub const DOMAIN: Type = Type::of(BaseType::Domain);
    pub const SET: Type = Type::of(BaseType::Set);

    pub const fn of(base: BaseType) -> Type {
        Type { base, optional: false }
    }

    pub const fn optional(self) -> Type {
        Type { optional: true, ..self }
    }

    /// What an optional holds.
    pub const fn held(self) -> Type {
        Type { optional: false, ..self }
    }

    /// A number with a unit, of which there is an order.
    pub fn is_scalar(self) -> bool {
        use BaseType::*;
        matches!(self.base, Int | Time | Frequency | Load)
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.base.name())?;
        if self.optional { f.write_str("?") } else { Ok(()) }
    }
}

impl Serialize for Type {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

// ---- statements -------------------------------------------------------------------------------

pub type Block = Vec<Stmt>;

#[derive(Clone, Debug, Serialize)]
pub struct Stmt {
    #[serde(flatten)]
    pub kind: StmtKind,
    #[serde(skip)]
    pub span: Span,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StmtKind {
    /// The first value of a local variable.
    Let {
        local: LocalId,
        value: Expr,
    },
    Assign {
        target: Target,
        value: Expr,
    },
    If {
        test: Expr,
        then: Block,
        otherwise: Block,
    },
    /// If `value` is not none, `then` with what it holds in `local`.
    IfSome {
        local: LocalId,
        value: Expr,
        then: Block,
        otherwise: Block,
    },
    /// The body for each element, in order. The set is taken as it is when the loop starts.
    For {
        iteration: Iteration,
        body: Block,
    },
    Break,
    Continue,
    Return(Option<Expr>),
    /// The thread, always a local variable, changes its state; this ends the handler.
    Transition {
        thread: Expr,
        to: State,
        reason: ReasonId,
    },
    /// A call whose result, if any, is dropped. If it moves a thread, the handler is over.
    Call {
        function: FunctionId,
        args: Vec<Expr>,
    },
    Effect(Effect),
    Steal {
        steal: StealId,
        thief: Expr,
        victims: Expr,
    },
    Block(Block),
}

/// What can stand left of `=`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    Local(LocalId),
    /// A set of the policy, as a whole.
    Set(SetId),
    Global(AttributeId),
    Thread {
        attribute: AttributeId,
        thread: Expr,
    },
    Core {
        attribute: AttributeId,
        core: Expr,
    },
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Ready { core: Expr, queue: QueueId },
    Running,
    Blocked,
    Terminated,
}

/// What changes the world outside of the policy's attributes, or one of its sets.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// False if the set is full and the core not in it.
    Add {
        set: SetId,
        core: Expr,
    },
    /// False if the core was not in it.
    Remove {
        set: SetId,
        core: Expr,
    },
    /// True if the core is idle and no other placement has it.
    Claim(Expr),
    Release(Expr),
    Arm {
        thread: Expr,
        after: Expr,
    },
    Cancel(Expr),
    KeepWarm {
        core: Expr,
        time: Expr,
    },
    Preempt(Expr),
}

// ---- expressions ------------------------------------------------------------------------------

#[derive(Clone, Debug, Serialize)]
pub struct Expr {
    #[serde(flatten)]
    pub kind: ExprKind,
    #[serde(rename = "type")]
    pub ty: Type,
    #[serde(skip)]
    pub span: Span,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExprKind {
    Bool(bool),
    /// In the unit of the type: nanoseconds, kilohertz.
    Number(i64),
    None,
    /// What is not none, as an optional.
    Some(Box<Expr>),
    Local(LocalId),
    Param(ParamId),
    /// A set of the policy.
    Set(SetId),
    Global(AttributeId),
    Thread {
        attribute: AttributeId,
        thread: Box<Expr>,
    },
    Core {
        attribute: AttributeId,
        core: Box<Expr>,
    },
    ThreadField {
        field: ThreadField,
        thread: Box<Expr>,
    },
    CoreField {
        field: CoreField,
        core: Box<Expr>,
    },
    Now,
    /// A set that the runtime keeps.
    Kept(KeptSet),
    Machine,
    /// The domain of a level that holds the core.
    DomainOf {
        level: Level,
        core: Box<Expr>,
    },
    /// A domain as a set.
    CoresOf(Box<Expr>),
    Call {
        function: FunctionId,
        args: Vec<Expr>,
    },
    /// An effect that says whether it succeeded.
    Effect(Box<Effect>),
    Decay {
        value: Box<Expr>,
        time: Box<Expr>,
        half_life: Box<Expr>,
    },
    /// Of two scalars.
    Pick {
        extreme: Extreme,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Count(Box<Expr>),
    Empty(Box<Expr>),
    Not(Box<Expr>),
    Neg(Box<Expr>),
    /// The right side is computed only if it decides.
    Logic {
        and: bool,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Compare {
        op: Comparison,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// False if the core is none.
    In {
        core: Box<Expr>,
        set: Box<Expr>,
    },
    /// Wraps; division by zero is zero.
    Arithmetic {
        op: Arithmetic,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    SetOp {
        op: SetOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Conditional {
        test: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    /// What `optional` holds, or else `default`.
    Default {
        optional: Box<Expr>,
        default: Box<Expr>,
    },
    Search(Box<Search>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadField {
    Core,
    Weight,
    Runtime,
    Affinity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CoreField {
    Current,
    NrReady,
    NrRunning,
    Frequency,
    MinFrequency,
    ExitLatency,
    IdleSince,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptSet {
    Online,
    Idle,
    IdleWhole,
    Waiting,
}

/// Levels of the topology, narrowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Smt,
    Llc,
    Numa,
    Machine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SetOp {
    Union,
    Intersection,
    Difference,
}

/// Elements of a finite collection, in an order.
#[derive(Clone, Debug, Serialize)]
pub struct Iteration {
    pub local: LocalId,
    pub over: Over,
    /// Of cores and groups. Without one: in numerical order from 0.
    pub order: Option<Order>,
    /// At most so many elements are looked at.
    pub limit: Option<Expr>,
    #[serde(skip)]
    pub span: Span,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// The cores of a set.
    Cores(Expr),
    /// The threads of a ready queue, in its order.
    Threads { core: Expr, queue: QueueId },
    /// The domains of a level in a domain.
    Groups { domain: Expr, level: Level },
}

#[derive(Clone, Debug, Serialize)]
pub struct Order {
    pub kind: OrderKind,
    /// A core. Groups start with the one that it is in.
    pub origin: Expr,
}

#[derive(Clone, Debug, Serialize)]
pub struct Search {
    pub kind: SearchKind,
    pub iteration: Iteration,
    /// Only elements for which this holds. Only that of a `first` or `any` may have effects.
    pub filter: Option<Expr>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchKind {
    /// The first element, or none.
    First,
    /// Is there one?
    Any,
    /// The element with the least or greatest keys, compared one after the other, or none; the
    /// first of equals.
    Extreme {
        extreme: Extreme,
        by: Vec<Expr>,
    },
    Sum {
        of: Expr,
    },
}
