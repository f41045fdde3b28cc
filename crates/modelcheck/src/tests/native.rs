//! Differential test: after each handler, the interpreter and the native build agree on decisions, attributes,
//! sets and queues. The interpreter suspends after each access, so this also tests its replay of recorded results.

use std::cell::Cell;

use hearth_ipanema::builtin::NAMES;
use hearth_ipanema::ir::Event;
use hearth_policy::Policy;
use hearth_sim::Native;
use hearth_sim::saakm::{Call, Decision, WAKER_EXITS, WAKER_SLEEPS};
use proptest::prelude::*;

use super::stage::{stage, vars};
use super::{load, tiny};
use crate::Cores;
use crate::access::Access;
use crate::cwc::Checks;
use crate::driver::Driver;
use crate::initial;
use crate::log::LogEntry;
use crate::model::Model;
use crate::reduction::Reduction;
use crate::scenario::{Op, Scenario, Start, ThreadSpec};
use crate::step::{Step, enabled, waker_exits, waker_sleeps};
use crate::topology::Topology;
use crate::world::{Activity, Phase, World};

/// A scenario with hyperthreads, two LLCs, affinities, weights, timers and ticks.
fn rich(fast: u8) -> Scenario {
    use Op::{Block, Fork, Sleep, Wake, Yield};
    let spec = ThreadSpec::new;
    let mut threads = vec![
        spec(Start::Awake(0), &[Fork(5), Wake(2), Yield, Fork(6), Sleep, Wake(2), Block]),
        spec(Start::Awake(1), &[Sleep, Wake(3), Sleep, Sleep, Yield]),
        spec(Start::Blocked(2), &[Wake(0), Block, Yield, Sleep]),
        spec(Start::Blocked(3), &[Yield, Wake(2), Sleep, Sleep]).on(&[0, 3]),
        spec(Start::Awake(4), &[Yield, Sleep, Wake(0), Sleep]),
        spec(Start::Forked, &[Sleep, Wake(0)]),
        spec(Start::Forked, &[Yield]).on(&[1, 4, 5]),
    ];
    threads[1].weight = 335;
    threads[4].weight = 3121;
    let topology = Topology::smt_llcs(&[2, 1]);
    let (name, doc, stealing) = ("rich".into(), String::new(), Default::default());
    Scenario {
        name,
        doc,
        topology,
        threads,
        ticks: 40,
        fast: Cores(fast),
        offline: Cores::EMPTY,
        values: Vec::new(),
        stealing,
    }
}

/// The call of the activity's handler.
fn call(activity: &Activity) -> Option<Call> {
    let (thread, core) = (u32::from(activity.subject), u32::from(activity.core));
    Some(match activity.event() {
        Event::New => Call::New { thread, parent: core },
        Event::Unblock => Call::Unblock { thread, waker: core },
        Event::Tick => Call::Tick { thread },
        Event::Yield => Call::Yield { thread },
        Event::Preempt => Call::Preempt { thread },
        Event::Block => Call::Block { thread },
        Event::Terminate => Call::Terminate { thread },
        Event::Timer => Call::Timer { thread },
        Event::Schedule => Call::Schedule { core },
        Event::NewlyIdle => Call::NewlyIdle { core },
        Event::EnterIdle => Call::EnterIdle { core },
        Event::ExitIdle => Call::ExitIdle { core },
        Event::Balance => Call::Balance { core },
        Event::Enqueue | Event::Entry | Event::Exit => return None,
    })
}

fn decision(access: Access) -> Option<Decision> {
    Some(match access {
        Access::Ready { thread, core, queue, key, reason, .. } => {
            let (thread, core) = (thread.into(), core.into());
            Decision::Ready { thread, core, queue: queue.0, key, reason: reason.0 }
        }
        Access::Run(thread) => Decision::Run { thread: thread.into() },
        Access::Blocked(thread) => Decision::Blocked { thread: thread.into() },
        Access::Terminated(thread) => Decision::Terminated { thread: thread.into() },
        Access::Arm(thread, ns) => Decision::Arm { thread: thread.into(), ns },
        Access::Cancel(thread) => Decision::Cancel { thread: thread.into() },
        Access::Preempt(core) => Decision::Preempt { core: core.into() },
        _ => return None,
    })
}

/// The phase in progress on the core, and the core that it is about.
fn phase(world: &World, core: u8) -> Option<(Phase, u8)> {
    world.core(core).activity.as_ref().map(|activity| (activity.phase, activity.core))
}

/// Runs one handler in both builds and compares. Returns the number of decisions.
fn compare_handler(driver: &mut Driver<'_>, native: &Native, world: &mut World, core: u8) -> usize {
    let before = phase(world, core);
    let activity = world.core(core).activity.clone().expect("an event is in progress");
    assert!(activity.record.is_empty(), "the handler has not begun");
    let mut host = stage(driver.model, native, world);
    if activity.phase != Phase::GoIdle
        && let Some(call) = call(&activity)
    {
        let exits = waker_exits(driver.model, world, core, activity.event());
        let sleeps = waker_sleeps(driver.model, world, core, &activity);
        host.memory.instance.facts = u32::from(exits) << WAKER_EXITS | u32::from(sleeps) << WAKER_SLEEPS;
        host.call(call);
    }
    let mut log = Vec::new();
    loop {
        driver.step(world, Step::Go(core), Some(&mut log)).expect("no violation");
        let over = world.core(core).activity.as_ref().is_none_or(|a| a.record.is_empty());
        if over || phase(world, core) != before {
            break;
        }
    }
    let decisions: Vec<Decision> = log
        .iter()
        .filter_map(|entry| match entry {
            LogEntry::Access { access, .. } => decision(*access),
            _ => None,
        })
        .collect();
    let event = activity.event().name();
    assert_eq!(decisions, host.runtime.decisions, "decisions of {event}");
    assert_eq!(world.vars, vars(&mut host.memory, driver.model), "sets and attributes after {event}");
    let lines: Vec<_> = world.cores.iter().map(|core| core.queues).collect();
    assert_eq!(lines, host.runtime.lines(), "queues after {event}");
    decisions.len()
}

/// Executes a sequence of events that the numbers choose. Returns the numbers of handlers and decisions.
fn compare_sequence(policy: &Policy, native: &Native, fast: u8, choices: &[u8]) -> (usize, usize) {
    let scenario = rich(fast);
    let model = Model::new(policy, &scenario).expect("a valid scenario");
    let mut driver =
        Driver { model: &model, reduction: Reduction::new(&model, false), checks: Checks::default() };
    let mut world = initial::world(&model, &scenario).expect("no violation");
    let (mut handlers, mut decisions) = (0, 0);
    for choice in choices {
        let steps = enabled(&model, &world);
        let Some(step) = steps.get(usize::from(*choice) % steps.len().max(1)) else { break };
        if let Step::Dispatch(core) = step {
            // The step of an idle core includes `schedule`.
            let mut log = Vec::new();
            driver.step(&mut world, Step::Dispatch(*core), Some(&mut log)).expect("no violation");
        } else {
            driver.step(&mut world, *step, None).expect("no violation");
        }
        while let Some(core) = (0..model.map.nr_cores).find(|core| world.core(*core).activity.is_some()) {
            decisions += compare_handler(&mut driver, native, &mut world, core);
            handlers += 1;
        }
    }
    (handlers, decisions)
}

/// Compares random sequences of events.
fn compare(name: &str, policy: &Policy) {
    let native = Native::build(policy.clone()).expect("it compiles");
    let counts = Cell::new((0, 0));
    let config = ProptestConfig {
        cases: hearth_tests::cases(15, 240),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let sequences = (0u8..64, proptest::collection::vec(any::<u8>(), 150));
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let result = runner.run(&sequences, |(fast, choices)| {
        let (h, d) = compare_sequence(policy, &native, fast, &choices);
        let (handlers, decisions) = counts.get();
        counts.set((handlers + h, decisions + d));
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{name}: {error}"));
    let (handlers, decisions) = counts.get();
    println!("{name}: {handlers} handlers, {decisions} decisions");
    assert!(decisions > 300, "{name}: only {decisions} decisions");
}

#[test]
fn interpreter_agrees_with_native_build() {
    NAMES.iter().for_each(|name| compare(name, &load(name)));
}

/// In `rich`, a thread exits after it has woken another.
#[test]
fn interpreter_and_native_build_know_the_facts_of_a_wakeup() {
    let facts = "on new (thread t, core parent) { t => near(t, parent).ready; }
        on unblock (thread t, core waker) {
            if (waker_exits && waker in t.affinity) t => waker.ready because exits;
            if (waker_sleeps && waker in t.affinity) t => waker.ready because sleeps;
            t => near(t, t.core).ready;
        }";
    compare("facts", &tiny(facts));
}
