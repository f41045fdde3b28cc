//! Breadth-first search of the reachable states, and the shortest path to a violation.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hash, Hasher};

use hearth_ipanema::ir;
use hearth_policy::{ParamError, Policy, Settings};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

use crate::counterexample::Counterexample;
use crate::cwc::Checks;
use crate::driver::Driver;
use crate::env::{Budget, Env, Stop};
use crate::model::{Faults, Invariant, Model};
use crate::property::{Property, Violation};
use crate::reduction::Reduction;
use crate::scenario::{Scenario, ScenarioError};
use crate::step::{Step, enabled};
use crate::world::{Activity, World};
use crate::{consistency, counterexample, initial, interp, narrate};

/// The limits and the properties of an exploration.
#[derive(Clone, Debug)]
pub struct Options {
    /// The exploration stops at this number of states. Each takes about 60 bytes, and one in the search frontier about
    /// a kilobyte more.
    pub max_states: usize,
    /// Apply partial-order reduction.
    pub reduce: bool,
    /// Check concurrent work conservation.
    pub cwc: bool,
    /// Check that no placements collide.
    pub collisions: bool,
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
            reduce: true,
            cwc: false,
            collisions: false,
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
    pub violation: Option<Counterexample>,
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
    let checks = Checks { cwc: options.cwc, collisions: options.collisions };
    let mut driver = Driver { model: &model, reduction: Reduction::new(&model, options.reduce), checks };
    loop {
        // An exploration that breaks the assumptions of the reduction is restarted with corrected ones.
        if let Some(outcome) = explore(&mut driver, scenario, options) {
            return Ok(outcome);
        }
    }
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
    let mut outcome = Outcome { states: 0, transitions: 0, depth: 0, complete: true, violation: None };
    let invariants = Invariants::of(driver.model.policy, options.invariants.clone());
    let first = match initial::world(driver.model, scenario).and_then(|w| check_state(driver, w, &invariants))
    {
        Ok(world) => world,
        Err(violation) => {
            outcome.violation = Some(report(driver, scenario, violation, Vec::new()));
            return Some(outcome);
        }
    };
    let mut buffer = Bytes(Vec::new());
    let mut seen: HashSet<u128, BuildHasherDefault<Identity>> = HashSet::default();
    seen.insert(fingerprint(&first, &mut buffer));
    let mut nodes = vec![Node { parent: 0, step: Step::Clock }];
    let mut frontier = VecDeque::from([(0u32, 0usize, first)]);
    while let Some((node, depth, world)) = frontier.pop_front() {
        outcome.depth = depth;
        for step in enabled(driver.model, &world) {
            outcome.transitions += 1;
            let mut next = world.clone();
            let stepped = driver.step(&mut next, step, None);
            if driver.reduction.take_broken() {
                return None;
            }
            match stepped.and_then(|()| check_state(driver, next, &invariants)) {
                Ok(next) => {
                    if seen.insert(fingerprint(&next, &mut buffer)) {
                        frontier.push_back((nodes.len() as u32, depth + 1, next));
                        nodes.push(Node { parent: node, step });
                    }
                }
                Err(violation) => {
                    outcome.states = nodes.len();
                    outcome.complete = false;
                    outcome.violation = Some(report(driver, scenario, violation, path(&nodes, node, step)));
                    return Some(outcome);
                }
            }
        }
        if nodes.len() >= options.max_states {
            outcome.complete = false;
            break;
        }
    }
    outcome.states = nodes.len();
    Some(outcome)
}

fn report(
    driver: &Driver<'_>,
    scenario: &Scenario,
    violation: Violation,
    steps: Vec<Step>,
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
        violation,
    }
}

/// The steps from the initial state to a node, and one more.
fn path(nodes: &[Node], mut node: u32, last: Step) -> Vec<Step> {
    let mut steps = vec![last];
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
