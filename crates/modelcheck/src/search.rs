//! Breadth-first search of the reachable states, and the shortest path to a violation.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hash, Hasher};

use hearth_ipanema::ir;
use hearth_policy::{ParamError, Policy, Settings};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

use crate::counterexample::Counterexample;
use crate::cwc::Checks;
use crate::cycle::Internal;
use crate::driver::Driver;
use crate::env::{Budget, Env, Stop};
use crate::model::{Faults, Invariant, Model};
use crate::progress::Rounds;
use crate::property::{Property, Violation};
use crate::reduction::Reduction;
use crate::scenario::{Scenario, ScenarioError};
use crate::step::Step;
use crate::world::{Activity, World};
use crate::{consistency, counterexample, initial, interp, narrate};

/// The limits and the properties of an exploration.
#[derive(Clone, Debug)]
pub struct Options {
    /// The exploration stops at this number of states. Each takes about 100 bytes, and one in the search frontier about
    /// a kilobyte more.
    pub max_states: usize,
    /// No cycle is searched among more steps than this that follow one external event: whether they end is then
    /// undecided.
    pub max_event_steps: usize,
    /// Apply partial-order reduction.
    pub reduce: bool,
    /// Check concurrent work conservation.
    pub cwc: bool,
    /// Check that no placements collide.
    pub collisions: bool,
    /// Check that preemptions, timers and steals end.
    pub livelock: bool,
    /// Check that a ready thread runs within so many ticks. A scenario with fewer ticks cannot refute it.
    pub within: Option<u8>,
    /// Check that balancing reaches a state in which no core is idle while another is overloaded, if external events
    /// stop.
    pub rounds: Option<Rounds>,
    /// Invariants to check in every state, besides those that the policy declares.
    pub invariants: Vec<Invariant>,
    pub params: Settings,
    /// Injected faults, to test that they are detected.
    pub faults: Faults,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            max_states: 5_000_000,
            max_event_steps: 10_000,
            reduce: true,
            cwc: false,
            collisions: false,
            livelock: false,
            within: None,
            rounds: None,
            invariants: Vec::new(),
            params: Settings::default(),
            faults: Faults::default(),
        }
    }
}

/// The result of an exploration.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Distinct states reached.
    pub states: usize,
    /// Steps executed.
    pub transitions: usize,
    /// Steps from the initial state to the farthest one.
    pub depth: usize,
    /// All reachable states were explored. Without a violation, the properties hold.
    pub complete: bool,
    /// Properties that the scenario is too short to refute.
    pub vacuous: Vec<Property>,
    /// Why not all reachable states were explored, if there is no violation.
    pub undecided: Option<String>,
    pub violation: Option<Counterexample>,
}

impl Outcome {
    fn refuted(self, states: usize, found: Counterexample) -> Outcome {
        Outcome { states, undecided: None, violation: Some(found), ..self }
    }
}

/// Why a policy cannot be checked, or a counterexample not replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error(transparent)]
    Param(#[from] ParamError),
    #[error("the schedule is of policy `{of}`, not of `{given}`")]
    OtherPolicy { of: String, given: String },
    #[error("the schedule is of another policy named `{policy}`, with different attributes, globals or sets")]
    OtherShape { policy: String },
    #[error(
        "step {step} of the schedule cannot happen under `{policy}`: it is of another version of the policy"
    )]
    Impossible { policy: String, step: usize },
    #[error(
        "under `{policy}` the schedule does not end in a violation of {property}: it is of another version of the policy"
    )]
    Harmless { policy: String, property: Property },
}

/// Explores the states of the policy on the scenario, up to the nearest violation of a property.
///
/// # Errors
/// If the scenario or a parameter does not fit.
pub fn check(policy: &Policy, scenario: &Scenario, options: &Options) -> Result<Outcome, CheckError> {
    let mut model = Model::new(policy, scenario)?;
    model.params = options.params.values(policy)?;
    model.faults = options.faults;
    let within = options.within.filter(|within| *within < scenario.ticks);
    let Options { cwc, collisions, rounds, .. } = *options;
    let checks = Checks { cwc, collisions, within, rounds };
    let mut driver = Driver { model: &model, reduction: Reduction::new(&model, options.reduce), checks };
    loop {
        // An exploration that breaks the assumptions of the reduction is restarted with corrected ones.
        if let Some(outcome) = explore(&mut driver, scenario, options) {
            return Ok(outcome);
        }
    }
}

/// Follows one schedule from the initial state, in which the cores take turns and the clock advances when nothing else can
/// happen. So it goes farther than an exploration of as many states. It ends when threads would have to choose, or after
/// `max_states` steps.
///
/// # Errors
/// If the scenario or a parameter does not fit.
pub fn walk(
    policy: &Policy,
    scenario: &Scenario,
    options: &Options,
) -> Result<Option<Counterexample>, CheckError> {
    let mut model = Model::new(policy, scenario)?;
    model.params = options.params.values(policy)?;
    let within = options.within.filter(|within| *within < scenario.ticks);
    let checks = Checks { within, ..Checks::default() };
    let mut driver = Driver { model: &model, reduction: Reduction::new(&model, false), checks };
    let invariants = Invariants::of(policy.ir(), options.invariants.clone());
    let Ok(mut world) = initial::world(&model, scenario) else { return Ok(None) };
    let (mut steps, mut turn) = (Vec::new(), 0);
    while steps.len() < options.max_states {
        let enabled = driver.enabled(&world);
        let actors = enabled.iter().filter_map(|step| Some((step.actor()?, *step)));
        let next = actors.min_by_key(|(actor, _)| (*actor < turn, *actor)).map(|(actor, step)| {
            turn = actor + 1;
            step
        });
        let Some(step) = next.or(enabled.contains(&Step::Clock).then_some(Step::Clock)) else { break };
        steps.push(step);
        match driver
            .step(&mut world, step, None)
            .and_then(|()| check_state(&mut driver, world.clone(), &invariants))
        {
            Ok(next) => world = next,
            Err(violation) => return Ok(Some(report(&driver, scenario, violation, steps, None))),
        }
    }
    Ok(None)
}

/// Collects what a state hashes, because XXH3's 128-bit hash needs all bytes at once.
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        unreachable!("only the bytes are used")
    }
}

/// The hasher of a set of fingerprints, which are hashes already.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("fingerprints are numbers")
    }

    fn write_u128(&mut self, fingerprint: u128) {
        self.0 = fingerprint as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The hash that identifies a state.
fn fingerprint(world: &World, buffer: &mut Bytes) -> u128 {
    buffer.0.clear();
    world.hash(buffer);
    xxh3_128(&buffer.0)
}

/// The step by which a state was first reached, and from which node.
struct Node {
    parent: u32,
    step: Step,
}

/// Explores once. `None` means that an assumption of the reduction was broken.
fn explore(driver: &mut Driver<'_>, scenario: &Scenario, options: &Options) -> Option<Outcome> {
    let is_short = options.within.is_some() && driver.checks.within.is_none();
    let mut outcome = Outcome {
        states: 0,
        transitions: 0,
        depth: 0,
        complete: false,
        vacuous: is_short.then_some(Property::Waiting).into_iter().collect(),
        undecided: None,
        violation: None,
    };
    let invariants = Invariants::of(driver.model.policy, options.invariants.clone());
    let first = match initial::world(driver.model, scenario).and_then(|w| check_state(driver, w, &invariants))
    {
        Ok(world) => world,
        Err(violation) => {
            let found = report(driver, scenario, violation, Vec::new(), None);
            return Some(outcome.refuted(0, found));
        }
    };
    let mut buffer = Bytes(Vec::new());
    let mut seen: HashMap<u128, u32, BuildHasherDefault<Identity>> = HashMap::default();
    seen.insert(fingerprint(&first, &mut buffer), 0);
    let mut nodes = vec![Node { parent: 0, step: Step::Clock }];
    let mut internal = Internal::default();
    let mut frontier = VecDeque::from([(0u32, 0usize, first)]);
    while let Some((node, depth, world)) = frontier.pop_front() {
        outcome.depth = depth;
        if options.livelock && node % PROBES == 0 {
            let probed = probe(driver, world.clone(), options.max_event_steps);
            if driver.reduction.take_broken() {
                return None;
            }
            match probed {
                Probe::Ends => {}
                Probe::Long => {
                    let steps = options.max_event_steps;
                    outcome.undecided = Some(format!("more than {steps} steps follow one event"));
                }
                Probe::Repeats(stem, cycle) => {
                    let stem = [path(&nodes, node), stem].concat();
                    return Some(outcome.refuted(nodes.len(), endless(driver, scenario, stem, cycle)));
                }
            }
        }
        let steps = driver.enabled(&world);
        internal.expand(&steps);
        for step in steps {
            outcome.transitions += 1;
            let mut next = world.clone();
            let stepped = driver.step(&mut next, step, None);
            if driver.reduction.take_broken() {
                return None;
            }
            match stepped.and_then(|()| check_state(driver, next, &invariants)) {
                Ok(next) => {
                    let to = *seen.entry(fingerprint(&next, &mut buffer)).or_insert(nodes.len() as u32);
                    if options.livelock {
                        internal.step(step, to);
                    }
                    if to as usize == nodes.len() {
                        frontier.push_back((to, depth + 1, next));
                        nodes.push(Node { parent: node, step });
                    }
                }
                Err(violation) => {
                    let steps = [path(&nodes, node), vec![step]].concat();
                    let found = report(driver, scenario, violation, steps, None);
                    return Some(outcome.refuted(nodes.len(), found));
                }
            }
        }
        if nodes.len() >= options.max_states {
            outcome.undecided.get_or_insert(format!("more than {} states", options.max_states));
            break;
        }
    }
    if let Some((start, cycle)) = internal.livelock() {
        let found = endless(driver, scenario, path(&nodes, start), cycle);
        return Some(outcome.refuted(nodes.len(), found));
    }
    outcome.states = nodes.len();
    outcome.complete = outcome.undecided.is_none();
    Some(outcome)
}

/// One of so many states is the start of a `probe`.
const PROBES: u32 = 64;

/// What follows a state if there are no external events and the cores take turns.
enum Probe {
    Ends,
    /// The limit of steps was reached.
    Long,
    /// These steps, and then these for ever.
    Repeats(Vec<Step>, Vec<Step>),
}

/// Follows one schedule without external events, to find a livelock long before the whole cycle is explored.
fn probe(driver: &mut Driver<'_>, mut world: World, limit: usize) -> Probe {
    let mut buffer = Bytes(Vec::new());
    let mut seen = HashMap::new();
    let (mut steps, mut turn) = (Vec::new(), 0);
    while steps.len() < limit {
        if let Some(start) = seen.insert((fingerprint(&world, &mut buffer), turn), steps.len()) {
            let cycle = steps.split_off(start);
            return Probe::Repeats(steps, cycle);
        }
        let enabled = driver.enabled(&world);
        let actors = enabled.iter().filter_map(|step| Some((step.actor()?, *step)));
        // The next actor from `turn` on, with wrap-around.
        let Some((actor, step)) = actors.min_by_key(|(actor, _)| (*actor < turn, *actor)) else {
            return Probe::Ends;
        };
        // A violation is left to the search, which finds the nearest one.
        if driver.step(&mut world, step, None).is_err() {
            return Probe::Ends;
        }
        steps.push(step);
        turn = actor + 1;
    }
    Probe::Long
}

/// The counterexample of steps that repeat for ever after others.
fn endless(
    driver: &Driver<'_>,
    scenario: &Scenario,
    mut steps: Vec<Step>,
    cycle: Vec<Step>,
) -> Counterexample {
    let from = steps.len();
    let what = format!("the last {} steps repeat for ever, without any external event", cycle.len());
    steps.extend(cycle);
    report(driver, scenario, Violation { property: Property::Livelock, what }, steps, Some(from))
}

fn report(
    driver: &Driver<'_>,
    scenario: &Scenario,
    violation: Violation,
    steps: Vec<Step>,
    repeats_from: Option<usize>,
) -> Counterexample {
    let replayed = counterexample::replay(driver.model, scenario, driver.reduction.clone(), &steps);
    let params = driver.model.policy.params.iter().zip(&driver.model.params);
    Counterexample {
        policy: driver.model.policy.name.clone(),
        scenario: scenario.clone(),
        params: params.map(|(param, value)| (param.name.clone(), *value)).collect(),
        reduction: driver.reduction.clone(),
        schedule: narrate::lines(&replayed),
        steps,
        repeats_from,
        within: driver.checks.within.filter(|_| violation.property == Property::Waiting),
        rounds: driver.checks.rounds.filter(|_| violation.property == Property::Conservation),
        violation,
    }
}

/// The steps from the initial state to a node.
fn path(nodes: &[Node], mut node: u32) -> Vec<Step> {
    let mut steps = Vec::new();
    while node != 0 {
        let Node { parent, step } = nodes[node as usize];
        steps.push(step);
        node = parent;
    }
    steps.reverse();
    steps
}

/// The invariants of an exploration, by when they are checked.
pub(crate) struct Invariants {
    /// In every state.
    always: Vec<Invariant>,
    /// While no event is in progress.
    quiescent: Vec<Invariant>,
}

impl Invariants {
    /// `always`, and those that the policy declares.
    pub(crate) fn of(policy: &ir::Policy, always: Vec<Invariant>) -> Invariants {
        Invariants { always, quiescent: Invariant::declared(policy) }
    }
}

/// Checks consistency and invariants of a state.
pub(crate) fn check_state(
    driver: &mut Driver<'_>,
    mut world: World,
    invariants: &Invariants,
) -> Result<World, Violation> {
    consistency::check(&world)?;
    let is_quiescent = world.cores.iter().all(|core| core.activity.is_none());
    let quiescent = invariants.quiescent.iter().filter(|_| is_quiescent);
    for invariant in invariants.always.iter().chain(quiescent) {
        let mut reduction = Reduction::new(driver.model, false);
        let mut env = Env::new(driver.model, &mut world, &mut reduction, 0, Activity::none(), Budget::All);
        match interp::evaluate(&mut env, &invariant.expr) {
            Ok(0) => {
                let what = format!("`{}` does not hold", invariant.name);
                return Err(Violation { property: Property::Invariant, what });
            }
            Ok(_) => {}
            Err(Stop::Violated(violation)) => return Err(violation),
            Err(Stop::Suspended) => unreachable!("the budget is unlimited"),
        }
    }
    Ok(world)
}
