//! Intermediate representation: a policy with its bases merged, all names resolved and all
//! expressions typed.
//!
//! Constructs that proofs or the kernel need are separate nodes and not lowered: loops are searches
//! over finite sets with an order, a limit and a filter; transitions, claims, changes of sets and
//! steals are statements. The IR defines what an expression means; the emitter decides how it is
//! computed.
//!
//! Declarations are identified by their index in the lists of [`Policy`], local variables by their
//! index in [`Function::locals`], parameters first.

pub mod effects;
mod empty;
mod facts;
mod first;
mod prune;
pub mod visit;

use serde::{Serialize, Serializer};

use crate::syntax::Span;
pub use crate::syntax::ast::{BaseType, Event, Extreme, OrderKind, Owner};
pub use effects::Effects;
pub(crate) use empty::drop_empty;
pub use facts::facts_read;
pub use first::runs_first;
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
    /// Index into [`Policy::params`].
    ParamId;
    /// Index into [`Policy::sets`].
    SetId;
    /// Index into [`Policy::queues`].
    QueueId;
    /// Index into [`Policy::reasons`].
    ReasonId;
    /// Index into [`Policy::functions`].
    FunctionId;
    /// Index into [`Policy::steals`].
    StealId;
    /// Index into [`Function::locals`].
    LocalId;
    /// Index into [`Policy::globals`], [`Policy::thread`] or [`Policy::core`].
    AttributeId;
}

// ---- policies ---------------------------------------------------------------------------------

/// A self-contained policy. Declarations of the bases come before its own.
#[derive(Clone, Debug, Serialize)]
pub struct Policy {
    pub name: String,
    pub doc: String,
    /// Bases, nearest first.
    pub bases: Vec<String>,
    pub params: Vec<Param>,
    pub sets: Vec<CoreSet>,
    pub globals: Vec<Attribute>,
    pub thread: Vec<Attribute>,
    pub core: Vec<Attribute>,
    pub queues: Vec<Queue>,
    /// Reasons for placements. The first, `none`, is that of a transition without `because`.
    pub reasons: Vec<String>,
    /// Functions, handlers and phases of steals, in source order.
    pub functions: Vec<Function>,
    pub steals: Vec<Steal>,
    /// Effective handler of each handled event.
    pub handlers: Vec<Handler>,
    /// Conditions that hold between events: functions without parameters that return a boolean.
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

    /// The declared name of the object of an access.
    pub fn access_name(&self, access: effects::Access) -> String {
        use effects::Access;
        match access {
            Access::Set(id) => self.sets[id.index()].name.clone(),
            Access::Kept(kept) => format!("{kept:?}").to_lowercase(),
            Access::Global(id) => self.attribute(Owner::Global, id).name.clone(),
            Access::Thread { attribute, .. } => self.attribute(Owner::Thread, attribute).name.clone(),
            Access::Core { attribute, .. } => self.attribute(Owner::Core, attribute).name.clone(),
        }
    }

    /// Serialises the whole policy as JSON, for tools.
    pub fn to_json(&self) -> String {
        // Cannot fail: all keys are strings and all values can be serialised.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// Source location of a declaration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The declaring policy.
    pub policy: String,
    pub line: u32,
    #[serde(skip)]
    pub span: Span,
}

/// A parameter, set when the policy is loaded.
#[derive(Clone, Debug, Serialize)]
pub struct Param {
    pub name: String,
    pub doc: String,
    /// Bool, int, time, frequency or load; never optional.
    pub ty: Type,
    /// Lower bound, inclusive. `max` is inclusive too.
    pub min: i64,
    pub max: i64,
    pub initial: i64,
    pub at: Place,
}

/// A set of cores of the policy, initially empty.
#[derive(Clone, Debug, Serialize)]
pub struct CoreSet {
    pub name: String,
    pub doc: String,
    /// Maximum size: a constant or a parameter. Adding to a full set fails.
    pub capacity: Option<Expr>,
    pub at: Place,
}

#[derive(Clone, Debug, Serialize)]
pub struct Attribute {
    pub name: String,
    pub doc: String,
    pub ty: Type,
    /// Initial value of a scalar. An optional core starts as `none`, a set empty.
    pub initial: i64,
    pub at: Place,
}

/// A ready queue, one on each core.
#[derive(Clone, Debug, Serialize)]
pub struct Queue {
    pub name: String,
    pub doc: String,
    /// `None` for first in, first out; otherwise ascending by this thread attribute.
    pub by: Option<AttributeId>,
    pub at: Place,
}

/// Effective handler of an event.
#[derive(Clone, Debug, Serialize)]
pub struct Handler {
    pub event: Event,
    pub function: FunctionId,
}

/// Kind of a [`Function`] in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Function,
    Handler(Event),
    /// A phase of a steal. Its parameters are the thief, the victims, and the candidate core, the
    /// thread, or the number of threads `stolen`.
    Phase(StealId),
    /// A condition that holds between events: one `return` without effects. No event calls it.
    Invariant,
}

#[derive(Clone, Debug, Serialize)]
pub struct Function {
    /// Name in the source: the event for a handler, `steal.phase` for a phase.
    pub name: String,
    pub role: Role,
    /// True if a policy that extends `at.policy` replaces it; then only `super` calls it.
    pub superseded: bool,
    pub doc: String,
    pub at: Place,
    /// Number of parameters in `locals`.
    pub arity: u32,
    pub locals: Vec<Local>,
    /// `None` for a function without a result.
    pub result: Option<Type>,
    pub body: Block,
    /// Whether a call makes a transition, which ends the handler.
    pub moves: Moves,
    /// Whether the thread can become ready on another core than its own.
    #[serde(skip)]
    pub leaves_core: bool,
    /// Effects of the function and its callees.
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

/// Whether a call moves a thread, which ends the handler. `thread` is the index of the moved
/// parameter; `None` for a `schedule` handler, which chooses a thread itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Moves {
    #[default]
    Never,
    /// On some paths; otherwise the caller continues.
    Maybe {
        thread: Option<u32>,
    },
    Always {
        thread: Option<u32>,
    },
}

/// Load balancing in three phases. A steal by `thief` from `victims`:
///
/// 1. The candidates are the victims, except the thief, for which `can_steal_core` holds.
/// 2. While candidates remain, the one that `select` prefers is removed from them.
/// 3. For each of its ready threads, in the order of its queues, while `can_steal_core` still
///    holds: if `steal_thread` holds, `move_thread` runs. Then, if `stop_core` holds, this
///    candidate is done; if `stop` holds, the whole steal is done.
#[derive(Clone, Debug, Serialize)]
pub struct Steal {
    pub name: String,
    pub doc: String,
    pub at: Place,
    /// True if a policy that extends `at.policy` replaces it.
    pub superseded: bool,
    pub thief: Local,
    pub victims: Local,
    pub can_steal_core: FunctionId,
    /// Default: the candidate nearest to the thief.
    pub select: Option<Select>,
    /// Default: the thief is in the thread's affinity.
    pub steal_thread: Option<FunctionId>,
    /// Default: never. `stolen` counts the threads taken from this candidate.
    pub stop_core: Option<FunctionId>,
    /// Default: never. `stolen` counts the threads taken from all candidates.
    pub stop: Option<FunctionId>,
    pub move_thread: FunctionId,
    pub effects: Effects,
}

/// How a steal selects a candidate: by the functions' results, compared in order.
#[derive(Clone, Debug, Serialize)]
pub struct Select {
    pub extreme: Extreme,
    /// Phases that return a scalar.
    pub by: Vec<FunctionId>,
    /// Order among equal candidates, starting from the thief.
    pub order: OrderKind,
}

// ---- types ------------------------------------------------------------------------------------

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    pub base: BaseType,
    /// True if the value may be `none`; only for cores, threads and domains.
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

    /// Type of the value in an optional.
    pub const fn held(self) -> Type {
        Type { optional: false, ..self }
    }

    /// True for ordered numbers with a unit.
    pub fn is_scalar(self) -> bool {
        use BaseType::*;
        matches!(self.base, Int | Time | Frequency | Load)
    }
}

impl Type {
    /// The name with its article: "an int".
    pub fn with_article(self) -> String {
        let name = self.to_string();
        format!("{} {name}", if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" })
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
    /// Declares a local variable with its initial value.
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
    /// If `value` is not none, binds it to `local` and runs `then`.
    IfSome {
        local: LocalId,
        value: Expr,
        then: Block,
        otherwise: Block,
    },
    /// Runs the body for each element in order. Iterates over the set as it was at the start of the
    /// loop.
    For {
        iteration: Iteration,
        body: Block,
    },
    Break,
    Continue,
    Return(Option<Expr>),
    /// Changes the state of a thread, which is always a local variable. Ends the handler.
    Transition {
        thread: Expr,
        to: State,
        reason: ReasonId,
    },
    /// A call whose result, if any, is discarded. If it moves a thread, the handler ends.
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

/// Left side of an assignment.
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

impl Target {
    /// The attribute that is assigned to, if it is one.
    pub fn attribute(&self) -> Option<(Owner, AttributeId)> {
        match self {
            Target::Global(id) => Some((Owner::Global, *id)),
            Target::Thread { attribute, .. } => Some((Owner::Thread, *attribute)),
            Target::Core { attribute, .. } => Some((Owner::Core, *attribute)),
            Target::Local(_) | Target::Set(_) => None,
        }
    }
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Ready { core: Expr, queue: QueueId },
    Running,
    Blocked,
    Terminated,
}

/// A change of runtime state or of one of the policy's sets.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// False if the set is full and does not contain the core.
    Add {
        set: SetId,
        core: Expr,
    },
    /// False if the set did not contain the core.
    Remove {
        set: SetId,
        core: Expr,
    },
    /// True if the core is idle and not claimed by another placement.
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
    /// In the unit of the type: nanoseconds or kilohertz.
    Number(i64),
    None,
    /// An optional that holds the value.
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
    /// What the kernel knows of this event.
    Fact(Fact),
    /// A set that the runtime maintains.
    Kept(KeptSet),
    Machine,
    /// The domain at `level` that contains the core.
    DomainOf {
        level: Level,
        core: Box<Expr>,
    },
    /// The cores of a domain.
    CoresOf(Box<Expr>),
    Call {
        function: FunctionId,
        args: Vec<Expr>,
    },
    /// An effect that returns whether it succeeded.
    Effect(Box<Effect>),
    Decay {
        value: Box<Expr>,
        time: Box<Expr>,
        half_life: Box<Expr>,
    },
    /// Minimum or maximum of two scalars.
    Pick {
        extreme: Extreme,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Count(Box<Expr>),
    Empty(Box<Expr>),
    Not(Box<Expr>),
    Neg(Box<Expr>),
    /// Short-circuit evaluation.
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
    /// Wraps on overflow; division by zero gives zero.
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
    /// The value of `optional`, or `default` if it is none.
    Default {
        optional: Box<Expr>,
        default: Box<Expr>,
    },
    Search(Box<Search>),
}

/// Facts of an event: false in every other event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    WakerExits,
    WakerSleeps,
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
    Capacity,
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

/// Iteration over the elements of a finite collection, in order.
#[derive(Clone, Debug, Serialize)]
pub struct Iteration {
    pub local: LocalId,
    pub over: Over,
    /// Order of cores and groups. Default: ascending numbers.
    pub order: Option<Order>,
    /// Maximum number of elements to visit.
    pub limit: Option<Expr>,
    #[serde(skip)]
    pub span: Span,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// The cores of a set.
    Cores(Expr),
    /// The threads of a ready queue, in queue order.
    Threads { core: Expr, queue: QueueId },
    /// The domains at `level` within a domain.
    Groups { domain: Expr, level: Level },
}

#[derive(Clone, Debug, Serialize)]
pub struct Order {
    pub kind: OrderKind,
    /// A core. Iterations over groups start with the group that contains it.
    pub origin: Expr,
}

#[derive(Clone, Debug, Serialize)]
pub struct Search {
    pub kind: SearchKind,
    pub iteration: Iteration,
    /// Condition that elements must satisfy. Only filters of `first` and `any` may have effects.
    pub filter: Option<Expr>,
}

impl Search {
    /// The core and the queue whose first thread it is. Such a search walks over no queue.
    pub fn first_in_queue(&self) -> Option<(&Expr, QueueId)> {
        let Search { kind: SearchKind::First, iteration, filter: None } = self else { return None };
        match iteration {
            Iteration { over: Over::Threads { core, queue }, order: None, limit: None, .. } => {
                Some((core, *queue))
            }
            _ => None,
        }
    }
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchKind {
    /// The first element, or none.
    First,
    /// Whether there is an element.
    Any,
    /// The element with the least or greatest keys, compared in order, or none; the first one among
    /// equals.
    Extreme {
        extreme: Extreme,
        by: Vec<Expr>,
    },
    Sum {
        of: Expr,
    },
}
