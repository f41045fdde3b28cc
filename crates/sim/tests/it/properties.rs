//! Invariants of simulations of random workloads, machines, governors and policies.

use hearth_machine::{Governor, Machine};
use hearth_policy::{Settings, load, names};
use hearth_sim::{Job, Native, World, run};
use hearth_trace::{Event, Trace};
use hearth_workload::{Op, Thread, Timer, Workload};
use proptest::prelude::*;

/// A step that cannot block forever.
fn step() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (1u64..3_000_000).prop_map(Op::Run),
        2 => (1u64..5_000_000).prop_map(Op::Sleep),
        1 => (1u64..2_000_000).prop_map(Op::Io),
        1 => (0u32..2, 1u64..5_000_000).prop_map(|(timer, period)| Op::Timer(timer, period)),
        1 => Just(Op::Yield),
    ]
}

/// A tree of forks, some with joins. Some parents also post to a semaphore on which the child waits.
fn workload() -> impl Strategy<Value = Workload> {
    let thread = (prop::collection::vec(step(), 0..8), -20i8..=19, prop::collection::vec(0u16..4, 0..3));
    prop::collection::vec((thread, any::<bool>(), any::<bool>()), 1..24).prop_map(|specs| {
        let n = specs.len();
        let mut threads: Vec<Thread> = specs
            .iter()
            .enumerate()
            .map(|(i, ((ops, nice, affinity), _, _))| Thread {
                name: format!("t{i}"),
                nice: *nice,
                affinity: affinity.clone(),
                ops: ops.clone(),
            })
            .collect();
        for child in (1..n).rev() {
            let parent = (child - 1) / 2;
            let (_, joins, posts) = &specs[child];
            if *posts {
                threads[parent].ops.push(Op::Post(child as u32));
                threads[child].ops.insert(0, Op::Wait(child as u32));
            }
            threads[parent].ops.insert(0, Op::Fork(child as u32));
            if *joins {
                threads[parent].ops.push(Op::Join(child as u32));
            }
        }
        Workload {
            name: "random".into(),
            threads,
            semaphores: vec![0; n],
            timers: vec![Timer::Relative, Timer::Absolute],
            ..Workload::default()
        }
    })
}

/// The name of a machine, its sockets, and cores per socket.
fn shape() -> impl Strategy<Value = (&'static str, u16, u16)> {
    let names: Vec<&str> = Machine::names().collect();
    // At least four cores, which the affinities name, also without hyperthreads.
    (prop::sample::select(names), 1u16..4, prop::sample::select(vec![4u16, 6]))
}

fn world() -> impl Strategy<Value = World> {
    any::<[bool; 6]>().prop_map(|[warm, daemons, search, races, handovers, sched_ext]| World {
        warm,
        daemons,
        search,
        races,
        handovers,
        sched_ext,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hearth_tests::cases(64, 1024)))]

    /// Every workload completes under every policy. The executed work is the demanded work, the trace is
    /// consistent, and the same seed gives the same trace.
    #[test]
    fn simulations_complete_and_conserve_work(
        workload in workload(),
        (name, sockets, cores) in shape(),
        governor in prop::sample::select(Governor::ALL.to_vec()),
        policy in prop::sample::select(names().to_vec()),
        seed in any::<u64>(),
        world in world(),
    ) {
        let machine = Machine::builtin(name).unwrap().scaled(sockets, cores).unwrap();
        let policy = Native::build(load(policy).unwrap()).unwrap();
        let params = Settings::default();
        let job = Job { governor, params: &params, seed, noise: 0.05, world, ..Job::new(&workload, &machine, &policy) };
        let mut events: Vec<Event> = Vec::new();
        let outcome = run(&job, &mut events).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(outcome.demanded_cycles, outcome.executed_cycles);
        prop_assert_eq!(outcome.events as usize, events.len());
        let trace = Trace { header: outcome.header, events };
        let violations = trace.check();
        prop_assert!(violations.is_empty(), "{:?}", &violations[..violations.len().min(3)]);
        let again = run(&job, &mut ()).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(outcome.trace_hash, again.trace_hash);
    }
}
