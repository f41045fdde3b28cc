//! The judges: the model checker, and the checks of the simulator.

use hearth_ipanema::ir::Event;
use hearth_machine::Machine;
use hearth_modelcheck::{
    CheckError, Counterexample, Options, Property, Question, Scenario, Standing, Violation, check,
    standard_scenarios, standing, survey,
};
use hearth_policy::{Policy, Settings};
use hearth_sim::{Job, Native, SimError, World, run};
use hearth_workload::{Op, Thread, Workload};
use std::fmt;
use std::time::Duration;

/// States per scenario. Most violations are found within the first few hundred.
const STATES: usize = 1_500;

/// A property that a policy does not have.
#[derive(Clone, Debug)]
pub struct Refutation {
    pub violation: Violation,
    /// The scenario or workload that shows it.
    by: String,
    /// The handlers at its end.
    handlers: Vec<String>,
}

/// The handlers in the last line of a schedule that has any.
fn last_handlers(schedule: &[String]) -> Vec<String> {
    let handlers = |line: &String| {
        let begun = line.split('[').skip(1).filter_map(|rest| rest.split_once('('));
        begun.map(|(name, _)| name.to_owned()).collect::<Vec<String>>()
    };
    schedule.iter().rev().map(handlers).find(|handlers| !handlers.is_empty()).unwrap_or_default()
}

impl Refutation {
    /// Whether a handler is at the end of the schedule, or a steal that it may call.
    pub fn names(&self, about: &str) -> bool {
        let named = |name: &str| self.handlers.iter().any(|handler| handler == name);
        let is_handler = Event::ALL.iter().any(|event| event.name() == about);
        named(about) || !is_handler && (named("newly_idle") || named("balance") || named("tick"))
    }
}

impl fmt::Display for Refutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.violation, self.by)
    }
}

pub struct Judges {
    scenarios: Vec<Scenario>,
    machine: Machine,
    /// Threads that may run on any core, and threads with affinities.
    workloads: [Workload; 2],
}

impl Judges {
    pub fn new() -> Judges {
        let machine = Machine::builtin(MACHINE).expect("a built-in machine");
        Judges { scenarios: standard_scenarios(), machine, workloads: [workload(false), workload(true)] }
    }

    /// One refutation of each kind, and the errors of the judges. The simulator is asked only if the model checker refutes
    /// neither safety nor work conservation, or only one of them: native code is slow to build.
    pub fn refutations(&self, policy: &Policy) -> (Vec<Refutation>, Vec<String>) {
        let (mut found, mut errors) = (Vec::new(), Vec::new());
        let conserves = conserves_work(policy);
        for scenario in &self.scenarios {
            if let Err(error) = explore(policy, scenario, conserves, &mut found) {
                errors.push(format!("model checker: {}: {error}", scenario.name));
            }
        }
        let is_refuted = |property| found.iter().any(|one: &Refutation| one.violation.property == property);
        if is_refuted(Property::Safety) && (!conserves || is_refuted(Property::Cwc)) {
            return (found, errors);
        }
        match Native::build(policy.clone()) {
            Ok(native) => self.simulate(&native, &mut found, &mut errors),
            Err(error) => errors.push(format!("simulator: {error}")),
        }
        (found, errors)
    }

    /// The simulator refutes a policy that violates a rule of its events. One that lets threads wait beside idle cores
    /// does not conserve work: events take no time in a simulation, so no concurrent one excuses that.
    fn simulate(&self, native: &Native, found: &mut Vec<Refutation>, errors: &mut Vec<String>) {
        for workload in &self.workloads {
            let job = Job { world: World::EMPTY, limit: LIMIT, ..Job::new(workload, &self.machine, native) };
            let by = format!("simulation of {}", workload.name);
            match run(&job, &mut ()) {
                Ok(run)
                    if run.summary.overload_core_ms > 0.0
                        && is_free(workload)
                        && conserves_work(native.policy()) =>
                {
                    let wasted = run.summary.overload_core_ms;
                    let what = format!("threads wait for {wasted} core-milliseconds beside idle cores");
                    let violation = Violation { property: Property::Cwc, what };
                    found.push(Refutation { violation, by, handlers: Vec::new() });
                }
                Ok(_) => {}
                Err(SimError::Illegal { what, .. }) => {
                    found.push(Refutation { violation: Violation::safety(what), by, handlers: Vec::new() });
                }
                // That a thread runs at last is not claimed.
                Err(SimError::TimeLimit { .. } | SimError::Stuck { .. }) => {}
                Err(error) => errors.push(format!("{by}: {error}")),
            }
        }
    }
}

/// 4 cores with 2 hyperthreads each.
const MACHINE: &str = "ryzen-3400g";

/// Limit of simulated time.
const LIMIT: Duration = Duration::from_secs(10);

/// Other policies do not claim to conserve work. Their obligations take minutes and do not hold.
fn conserves_work(policy: &Policy) -> bool {
    let ir = policy.ir();
    ir.bases.iter().chain([&ir.name]).any(|name| name.contains("cwc"))
}

fn is_free(workload: &Workload) -> bool {
    workload.threads.iter().all(|thread| thread.affinity.is_empty())
}

/// Threads that compute, sleep, yield and fork: one for each core, and half as many again.
fn workload(pinned: bool) -> Workload {
    let ms = |ms: u64| Op::Run(ms * 2_000_000);
    let thread = |i: u32| {
        let n = u64::from(i);
        let mut ops = vec![ms(1 + n % 3), Op::Sleep(500_000 + n * 130_000), ms(6), Op::Yield];
        ops.extend([
            ms(2 + n % 5),
            Op::Io(200_000),
            Op::repeat(6, vec![ms(1), Op::Sleep(1_000_000)]),
            ms(25),
        ]);
        ops = vec![Op::repeat(30, ops)];
        if i < 4 {
            ops.splice(0..0, [Op::Fork(i + 8), Op::Run(300_000)]);
        }
        let (first, last) = (i as u16 % 5, (i as u16 * 3) % 8);
        let affinity = if pinned && !i.is_multiple_of(3) { vec![first, last] } else { Vec::new() };
        Thread { name: format!("t{i}"), affinity, ops, ..Thread::default() }
    };
    let name = if pinned { "pinned threads" } else { "free threads" };
    Workload { name: name.into(), threads: (0..12).map(thread).collect(), ..Workload::default() }
}

/// Explores a scenario for all properties. A violation may hide one of another property, so it is explored again without the
/// property that is violated. Properties over time count only if they contradict the prover's theorem, which bounds turns
/// and moves instead of ticks and rounds.
fn explore(
    policy: &Policy,
    scenario: &Scenario,
    conserves: bool,
    found: &mut Vec<Refutation>,
) -> Result<(), CheckError> {
    let params = Settings::default();
    let recovers = Question::Conservation.options(STATES, &params);
    let mut options = Options {
        livelock: true,
        cwc: conserves,
        rounds: recovers.rounds.filter(|_| conserves),
        ..Question::Safety.options(STATES, &params)
    };
    while let Some(counterexample) = check(policy, scenario, &options)?.violation {
        match counterexample.violation.property {
            Property::Cwc => options.cwc = false,
            Property::Livelock => options.livelock = false,
            Property::Conservation => options.rounds = None,
            _ => {
                add(policy, &counterexample, found)?;
                break;
            }
        }
        add(policy, &counterexample, found)?;
    }
    // It takes long schedules, so it is explored by itself.
    let waits =
        survey(policy, &params, std::slice::from_ref(scenario), &[Question::Waiting], STATES, &|| ())?;
    waits.violations().into_iter().try_for_each(|counterexample| add(policy, counterexample, found))
}

/// Adds a violation of a new kind, if it contradicts a claim of the prover.
fn add(
    policy: &Policy,
    counterexample: &Counterexample,
    found: &mut Vec<Refutation>,
) -> Result<(), CheckError> {
    let kind = |one: &Violation| {
        let numbers = |c: char| if c.is_ascii_digit() { '#' } else { c };
        (one.property.to_string(), one.what.chars().map(numbers).collect::<String>())
    };
    let violation = counterexample.violation.clone();
    let known = found.iter().any(|old| kind(&old.violation) == kind(&violation));
    if !known && matches!(standing(policy, counterexample)?, Standing::Contradicts(_)) {
        let handlers = last_handlers(&counterexample.schedule);
        found.push(Refutation { violation, by: counterexample.scenario.name.clone(), handlers });
    }
    Ok(())
}
