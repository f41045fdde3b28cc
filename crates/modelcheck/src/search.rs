//! Breadth-first search: all reachable states, and the shortest way to one that is wrong.

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

/// What is explored, how far, and what is looked at.
#[derive(Clone, Debug)]
pub struct Options {
    /// The exploration stops behind so many states. Each takes about 60 bytes, and those of the
    /// present depth about a kilobyte more.
    pub max_states: usize,
    /// Accesses that commute with all others are not interleaved.
    pub reduce: bool,
    /// Look at concurrent work conservation.
    pub cwc: bool,
    /// Look at placements that collide.
    pub collisions: bool,
    /// Besides those that the policy declares.
    pub invariants: Vec<Invariant>,
    pub params: Settings,
    /// What is wrong with the machinery below the policy, to see whether it is noticed.
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
    /// Different states reached.
    pub states: usize,
    /// Steps from one to another.
    pub transitions: usize,
    /// Steps to the farthest state.
    pub depth: usize,
    /// All states were reached: where there is no violation, there is none.
    pub complete: bool,
    pub violation: Option<Counterexample>,
}

/// Why nothing was explored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error(transparent)]
    Param(#[from] ParamError),
    #[error("the schedule is of policy `{of}`, and does not fit `{given}`")]
    OtherPolicy { of: String, given: String },
    #[error("the schedule is of another policy called `{policy}`, with other attributes, globals or sets")]
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

/// Reaches every state of the policy in the scenario, or the nearest that violates a property.
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
        // An exploration that breaks its own assumptions begins anew with better ones.
        if let Some(outcome) = once(&mut driver, scenario, options) {
            return Ok(outcome);
        }
    }
}

/// The hash of a state is its name: with 128 bits, ten million states have the same name as another
/// with a chance of 10^-25.
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        unreachable!("the bytes are what is wanted")
    }
}

#[derive(Default)]
struct Named(u64);

impl Hasher for Named {
    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("names are numbers")
    }

    fn write_u128(&mut self, name: u128) {
        self.0 = name as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

fn name(world: &World, buffer: &mut Bytes) -> u128 {
    buffer.0.clear();
    world.hash(buffer);
    xxh3_128(&buffer.0)
}

/// How a state was reached first.
struct Node {
    parent: u32,
    step: Step,
}

/// `None`: an assumption of the reduction was broken.
fn once(driver: &mut Driver<'_>, scenario: &Scenario, options: &Options) -> Option<Outcome> {
    let mut outcome = Outcome { states: 0, transitions: 0, depth: 0, complete: true, violation: None };
    let invariants = Invariants::of(driver.model.policy, options.invariants.clone());
    let first = match initial::world(driver.model, scenario).and_then(|w| whole(driver, w, &invariants)) {
        Ok(world) => world,
        Err(violation) => {
            outcome.violation = Some(report(driver, scenario, violation, Vec::new()));
            return Some(outcome);
        }
    };
    let mut buffer = Bytes(Vec::new());
    let mut seen: HashSet<u128, BuildHasherDefault<Named>> = HashSet::default();
    seen.insert(name(&first, &mut buffer));
    let mut nodes = vec![Node { parent: 0, step: Step::Clock }];
    let mut frontier = VecDeque::from([(0u32, 0usize, first)]);
    while let Some((node, depth, world)) = frontier.pop_front() {
        outcome.depth = depth;
        for step in enabled(driver.model, &world) {
            outcome.transitions += 1;
            let mut next = world.clone();
            let stepped = driver.step(&mut next, step, None);
            if driver.reduction.take_news() {
                return None;
            }
            match stepped.and_then(|()| whole(driver, next, &invariants)) {
                Ok(next) => {
                    if seen.insert(name(&next, &mut buffer)) {
                        frontier.push_back((nodes.len() as u32, depth + 1, next));
                        nodes.push(Node { parent: node, step });
                    }
                }
                Err(violation) => {
                    outcome.states = nodes.len();
                    outcome.complete = false;
                    outcome.violation = Some(report(driver, scenario, violation, way(&nodes, node, step)));
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
    let replayed = counterexample::repeat(driver.model, scenario, driver.reduction.clone(), &steps);
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

/// The steps to a node, and one more.
fn way(nodes: &[Node], mut node: u32, last: Step) -> Vec<Step> {
    let mut steps = vec![last];
    while node != 0 {
        let Node { parent, step } = nodes[node as usize];
        steps.push(step);
        node = parent;
    }
    steps.reverse();
    steps
}

/// What is looked at in each state, and what while no event is under way.
pub(crate) struct Invariants {
    always: Vec<Invariant>,
    at_rest: Vec<Invariant>,
}

impl Invariants {
    /// Those that the policy declares, and those that hold even while events are under way.
    pub(crate) fn of(policy: &ir::Policy, always: Vec<Invariant>) -> Invariants {
        Invariants { always, at_rest: Invariant::declared(policy) }
    }
}

/// Does everything hold in this state?
pub(crate) fn whole(
    driver: &mut Driver<'_>,
    mut world: World,
    invariants: &Invariants,
) -> Result<World, Violation> {
    consistency::check(&world)?;
    let rests = world.cores.iter().all(|core| core.activity.is_none());
    let at_rest = invariants.at_rest.iter().filter(|_| rests);
    for invariant in invariants.always.iter().chain(at_rest) {
        let mut reduction = Reduction::new(driver.model, false);
        let mut env = Env::new(driver.model, &mut world, &mut reduction, 0, Activity::none(), Budget::All);
        match interp::closed(&mut env, &invariant.expr) {
            Ok(0) => {
                let what = format!("`{}` does not hold", invariant.name);
                return Err(Violation { property: Property::Invariant, what });
            }
            Ok(_) => {}
            Err(Stop::Violated(violation)) => return Err(violation),
            Err(Stop::Suspended) => unreachable!("an invariant is computed at once"),
        }
    }
    Ok(world)
}
