//! The model of a policy on a scenario: what is constant during an exploration.

use hearth_ipanema::ir::{
    self, Attribute, AttributeId, BaseType, Event, Expr, Function, FunctionId, Owner, SetId, StmtKind, Type,
};
use hearth_policy::Policy;

use crate::cores::Cores;
use crate::scenario::{Op, Scenario, ScenarioError, Stealing, ThreadSpec, Value};
use crate::topology::Map;
use crate::world::{Core, Ghost, Line, MAX_QUEUES, Mode, NO_THREAD, State, Thread, World};

/// The time of the initial state. Late enough that a timestamp of 0 does not look recent.
pub const START_NS: i64 = 1_000_000_000;
/// The frequency that the policy sees of a slow core.
pub const MIN_KHZ: i64 = 1_000_000;
/// The frequency that the policy sees of a core in `Scenario::fast`.
pub const FAST_KHZ: i64 = 2_000_000;
/// Exit latency of an idle core.
pub const EXIT_LATENCY_NS: i64 = 50_000;

/// The capacity of a core: machines have cores of two kinds, so that a policy that reads it has both to choose from.
pub fn capacity(core: u8) -> i64 {
    if core.is_multiple_of(2) { 1024 } else { 512 }
}

/// A condition that must hold: a closed expression over the policy's sets, parameters and global attributes.
#[derive(Clone, Debug)]
pub struct Invariant {
    pub name: String,
    pub expr: Expr,
}

impl Invariant {
    /// The invariants that the policy declares.
    pub fn declared(policy: &ir::Policy) -> Vec<Invariant> {
        let functions = policy.invariants.iter().map(|id| policy.function(*id));
        let expr = |f: &Function| match f.body.first().map(|stmt| &stmt.kind) {
            Some(StmtKind::Return(Some(expr))) => Some(expr.clone()),
            _ => None,
        };
        functions.filter_map(|f| Some(Invariant { name: f.name.clone(), expr: expr(f)? })).collect()
    }
}

/// Injected faults of the steal algorithm, which no policy can express. For mutation tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Faults {
    /// The third phase does not check `can_steal_core` again.
    pub no_recheck: bool,
    /// A steal ends after its first candidate, even if it stole nothing there.
    pub one_victim: bool,
}

/// Offsets of sets and attributes in `World::vars`.
#[derive(Clone, Copy)]
struct Layout {
    globals: usize,
    cores: usize,
    threads: usize,
    per_core: usize,
    per_thread: usize,
}

#[derive(Clone)]
pub struct Model<'p> {
    pub policy: &'p ir::Policy,
    pub params: Vec<i64>,
    pub map: Map,
    pub affinity: Vec<Cores>,
    pub weight: Vec<i64>,
    pub programs: Vec<&'p [Op]>,
    pub fast: Cores,
    pub stealing: Stealing,
    pub faults: Faults,
    pub queues: usize,
    /// The policy reads `waker_sleeps`.
    pub reads_sync: bool,
    handlers: [Option<FunctionId>; Event::ALL.len()],
    layout: Layout,
}

/// The initial value of an attribute.
fn initial(attribute: &Attribute) -> i64 {
    match attribute.ty {
        Type { optional: true, .. } => -1,
        Type { base: BaseType::Set, .. } => 0,
        _ => attribute.initial,
    }
}

impl<'p> Model<'p> {
    /// # Errors
    /// If the scenario is invalid or the policy has too many queues.
    pub fn new(policy: &'p Policy, scenario: &'p Scenario) -> Result<Model<'p>, ScenarioError> {
        scenario.check()?;
        let policy = policy.ir();
        if policy.queues.len() > MAX_QUEUES {
            return Err(ScenarioError::Queues(policy.queues.len()));
        }
        let map = Map::new(&scenario.topology, scenario.offline);
        let all = map.online;
        let globals = policy.sets.len();
        let cores = globals + policy.globals.len();
        let layout = Layout {
            globals,
            cores,
            threads: cores + policy.core.len() * scenario.topology.nr_cores(),
            per_core: policy.core.len(),
            per_thread: policy.thread.len(),
        };
        let specs = &scenario.threads;
        // As in the kernel's runtime, an affinity without any core on line does not count.
        let affinity = |spec: &ThreadSpec| match spec.affinity & all {
            Cores::EMPTY => all,
            allowed => allowed,
        };
        let model = Model {
            policy,
            params: policy.params.iter().map(|param| param.initial).collect(),
            map,
            affinity: specs.iter().map(affinity).collect(),
            weight: specs.iter().map(|spec| i64::from(spec.weight)).collect(),
            programs: specs.iter().map(|spec| spec.program.as_slice()).collect(),
            fast: scenario.fast,
            stealing: scenario.stealing,
            faults: Faults::default(),
            queues: policy.queues.len(),
            reads_sync: ir::facts_read(policy).contains(&ir::Fact::WakerSleeps),
            handlers: Event::ALL.map(|event| policy.handler(event)),
            layout,
        };
        scenario.values.iter().try_for_each(|value| model.value_at(value).map(|_| ()))?;
        Ok(model)
    }

    /// Where the attribute of a value of the scenario is in `World::vars`.
    pub fn value_at(&self, value: &Value) -> Result<usize, ScenarioError> {
        let (owner, number, of) = match value.of {
            crate::scenario::Owner::Global => (Owner::Global, 0, "the policy".to_owned()),
            crate::scenario::Owner::Core(core) => (Owner::Core, core, format!("core {core}")),
            crate::scenario::Owner::Thread(thread) => (Owner::Thread, thread, format!("thread {thread}")),
        };
        let exists = match owner {
            Owner::Global => true,
            Owner::Core => self.map.online.contains(number),
            Owner::Thread => usize::from(number) < self.programs.len(),
        };
        let attributes = self.policy.attributes(owner);
        let found = attributes.iter().position(|attribute| attribute.name == value.name).filter(|_| exists);
        let missing = || ScenarioError::Attribute {
            policy: self.policy.name.clone(),
            owner: of,
            name: value.name.clone(),
        };
        let attribute = AttributeId(found.ok_or_else(missing)? as u32);
        Ok(match owner {
            Owner::Global => self.global_at(attribute),
            Owner::Core => self.core_at(number, attribute),
            Owner::Thread => self.thread_at(number, attribute),
        })
    }

    pub fn handler(&self, event: Event) -> Option<FunctionId> {
        self.handlers[event as usize]
    }

    /// The frequency that the policy sees of a core, in kHz.
    pub fn frequency(&self, core: u8) -> i64 {
        if self.fast.contains(core) { FAST_KHZ } else { MIN_KHZ }
    }

    pub fn set_at(&self, set: SetId) -> usize {
        set.index()
    }

    pub fn global_at(&self, attribute: AttributeId) -> usize {
        self.layout.globals + attribute.index()
    }

    pub fn core_at(&self, core: u8, attribute: AttributeId) -> usize {
        self.layout.cores + usize::from(core) * self.layout.per_core + attribute.index()
    }

    pub fn thread_at(&self, thread: u8, attribute: AttributeId) -> usize {
        self.layout.threads + usize::from(thread) * self.layout.per_thread + attribute.index()
    }

    /// The state without any thread: every core is idle.
    pub fn empty_world(&self, ticks: u8) -> World {
        let of = |owner| self.policy.attributes(owner).iter().map(initial).collect::<Vec<i64>>();
        let nr_cores = usize::from(self.map.nr_cores);
        let nr_threads = self.programs.len();
        let mut vars = vec![0; self.policy.sets.len()];
        vars.extend(of(Owner::Global));
        vars.extend(of(Owner::Core).repeat(nr_cores));
        vars.extend(of(Owner::Thread).repeat(nr_threads));
        let core = Core {
            current: NO_THREAD,
            queues: [Line::default(); MAX_QUEUES],
            idle_since: 0,
            resched: false,
            tick: false,
            mode: Mode::Idle,
            ghost: Ghost::default(),
            activity: None,
        };
        let thread = Thread {
            state: State::NotQueued,
            core: 0,
            queue: 0,
            next: 0,
            token: false,
            sleeps: false,
            key: 0,
            runtime: 0,
            since: -1,
            timer: -1,
            timer_core: 0,
            waited: 0,
        };
        World {
            now: START_NS,
            ticks,
            quiet: None,
            idle: self.map.online,
            claimed: Cores::EMPTY,
            vars,
            cores: vec![core; nr_cores],
            threads: vec![thread; nr_threads],
        }
    }
}
