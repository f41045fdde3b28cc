//! Each part of the world has its effect, and the empty world has none.

use hearth_machine::{Governor, Machine};
use hearth_policy::{Settings, load};
use hearth_sim::{Job, Native, Outcome, SimError, World, run};
use hearth_trace::{Event, Kind, Stop, Trace, Waker};
use hearth_workload::{Op, Thread, Timer, Workload};
use std::collections::BTreeSet;

/// Cycles of a millisecond at 2.1 GHz.
const WORK_MS: u64 = 2_100_000;

const SEARCH: World = World { search: true, ..World::EMPTY };
const RACES: World = World { search: true, races: true, ..World::EMPTY };

fn try_simulate(
    workload: &Workload,
    policy: &str,
    params: &[(&str, &str)],
    world: World,
) -> Result<(Outcome, Trace), SimError> {
    let policy = load(policy).unwrap();
    let mut settings = Settings::default();
    params.iter().for_each(|(name, value)| settings.set(&policy, name, value).unwrap());
    let policy = Native::build(policy).unwrap();
    let machine = Machine::builtin("xeon-e7-8870v4").unwrap();
    let job = Job { params: &settings, seed: 5, noise: 0.0, world, ..Job::new(workload, &machine, &policy) };
    let mut events: Vec<Event> = Vec::new();
    let outcome = run(&job, &mut events)?;
    let trace = Trace { header: outcome.header.clone(), events };
    assert_eq!(trace.check(), []);
    Ok((outcome, trace))
}

fn simulate(workload: &Workload, policy: &str, world: World) -> (Outcome, Trace) {
    try_simulate(workload, policy, &[], world).unwrap()
}

fn workload(threads: Vec<Vec<Op>>) -> Workload {
    let thread = |(number, ops)| Thread { name: format!("t{number}"), ops, ..Thread::default() };
    let threads = threads.into_iter().enumerate().map(thread).collect();
    Workload {
        name: "small".into(),
        threads,
        barriers: vec![2],
        barrier_spin: 100_000_000,
        ..Workload::default()
    }
}

/// Periods of 10 ms: `work` of each at 2.1 GHz.
fn periodic(work: u64, timer: Timer) -> Workload {
    let round = vec![Op::Run(work * WORK_MS), Op::Timer(0, 10_000_000)];
    Workload { timers: vec![timer], ..workload(vec![vec![Op::repeat(20, round)]]) }
}

/// The E7 has 1.2 to 3.0 GHz.
#[test]
fn a_timer_keeps_its_period_at_any_frequency() {
    let policy = Native::build(load("eevdf").unwrap()).unwrap();
    let machine = Machine::builtin("xeon-e7-8870v4").unwrap();
    for governor in Governor::ALL {
        for timer in [Timer::Relative, Timer::Absolute] {
            let workload = periodic(5, timer);
            let params = Settings::default();
            let job = Job {
                params: &params,
                noise: 0.0,
                world: World::EMPTY,
                governor,
                ..Job::new(&workload, &machine, &policy)
            };
            let time = run(&job, &mut Vec::<Event>::new()).unwrap().time_s;
            assert!((0.2..0.201).contains(&time), "{governor:?} {timer:?}: {time}");
        }
    }
}

/// Under sched_ext, `schedutil` asks for what `performance` does from the second placement on a core on; a thread that is mostly
/// asleep is slow without it. The E7 has 1.2 to 3.0 GHz.
#[test]
fn schedutil_asks_for_the_highest_frequency_under_sched_ext() {
    let policy = Native::build(load("eevdf").unwrap()).unwrap();
    let machine = Machine::builtin("xeon-e7-8870v4").unwrap();
    let (workload, params) = (periodic(2, Timer::Relative), Settings::default());
    let top_khz = |governor, sched_ext| {
        let world = World { sched_ext, ..World::EMPTY };
        let job =
            Job { params: &params, noise: 0.0, world, governor, ..Job::new(&workload, &machine, &policy) };
        let mut events = Vec::<Event>::new();
        run(&job, &mut events).unwrap();
        events
            .iter()
            .filter_map(|event| match event.kind {
                Kind::Frequency { khz } => Some(khz),
                _ => None,
            })
            .max()
    };
    assert_eq!(top_khz(Governor::Schedutil, true), top_khz(Governor::Performance, false));
    assert!(top_khz(Governor::Schedutil, false) < top_khz(Governor::Schedutil, true));
}

/// Runs alone.
fn single(ms: u64) -> Workload {
    workload(vec![vec![Op::Run(ms * WORK_MS)]])
}

/// Whether a thread that waits for a post leaves its core.
fn blocks(wait_spin: u64) -> bool {
    let first = vec![Op::Fork(1), Op::Run(4 * WORK_MS), Op::Post(0)];
    let mut pair = workload(vec![first, vec![Op::Run(WORK_MS), Op::Wait(0), Op::Run(WORK_MS)]]);
    (pair.semaphores, pair.wait_spin) = (vec![0], wait_spin);
    let (_, trace) = simulate(&pair, "cfs", World::EMPTY);
    trace.events.iter().any(|e| matches!(e.kind, Kind::Switch { prev: 2, stop: Stop::Blocked, .. }))
}

#[test]
fn a_thread_spins_for_a_semaphore_before_it_blocks() {
    assert!(blocks(0));
    assert!(blocks(1_000_000));
    assert!(!blocks(1_000_000_000));
}

#[test]
fn a_search_takes_the_forking_thread_time_for_each_core_that_it_looks_at() {
    let parent = vec![Op::Run(WORK_MS), Op::Fork(1), Op::Run(20 * WORK_MS)];
    let fork = workload(vec![parent, vec![Op::Run(WORK_MS)]]);
    let forks = |policy, world| -> Vec<u64> {
        let (_, trace) = simulate(&fork, policy, world);
        let forks = trace.events.iter().filter(|e| matches!(e.kind, Kind::Fork { .. }));
        forks.map(|fork| fork.time).collect()
    };
    // CFS compares the load of the die's cores, for the first thread and for the second one: 39 others, 42 ns each. The
    // 120 of other nodes do not matter, because the own node has an idle core.
    let (alone, took) = (forks("cfs", World::EMPTY), 39 * 42);
    // The first search passes while the core leaves its idle state, unless the placement waits for its end.
    assert_eq!(forks("cfs", SEARCH), [0, alone[1]]);
    let raced = forks("cfs", RACES);
    assert_eq!(raced[0], took);
    assert!(raced[1] >= alone[1] + took, "{raced:?} {alone:?}");
    // S_local looks at no other core.
    assert_eq!(forks("slocal", RACES), forks("slocal", World::EMPTY));
}

/// Cores on which two threads that leave a barrier place their children at the same time.
fn cores_of_simultaneous_forks(policy: &str, world: World) -> BTreeSet<u16> {
    let twin = |child| vec![Op::Run(WORK_MS), Op::Barrier(0), Op::Fork(child), Op::Run(5 * WORK_MS)];
    let child = vec![Op::Run(WORK_MS)];
    let first = [vec![Op::Run(WORK_MS), Op::Fork(1)], twin(2)].concat();
    let (_, trace) = simulate(&workload(vec![first, twin(3), child.clone(), child]), policy, world);
    let place = |event: &Event| match event.kind {
        Kind::Fork { child: 3 | 4, target, .. } => Some(target),
        _ => None,
    };
    trace.events.iter().filter_map(place).collect()
}

#[test]
fn forks_at_the_same_time_collide() {
    assert_eq!(cores_of_simultaneous_forks("cfs", SEARCH).len(), 2);
    assert_eq!(cores_of_simultaneous_forks("cfs", RACES).len(), 1);
}

/// Cores to which two threads that leave a barrier wake two threads at the same time, under Nest.
fn cores_of_simultaneous_wakeups(placement_flag: &str) -> BTreeSet<u16> {
    let sleeper = |semaphore| vec![Op::Run(WORK_MS / 10), Op::Wait(semaphore), Op::Run(WORK_MS)];
    let twin = |semaphore| vec![Op::Barrier(0), Op::Post(semaphore), Op::Run(5 * WORK_MS)];
    let first = [vec![Op::Fork(1), Op::Fork(2), Op::Fork(3), Op::Run(2 * WORK_MS)], twin(0)].concat();
    let mut workload = workload(vec![first, twin(1), sleeper(0), sleeper(1)]);
    workload.semaphores = vec![0, 0];
    let params = [("placement_flag", placement_flag)];
    let (_, trace) = try_simulate(&workload, "nest", &params, RACES).unwrap();
    let woken = |event: &Event| match event.kind {
        Kind::Wakeup { thread: 3 | 4, target, .. } => Some(target),
        _ => None,
    };
    trace.events.iter().filter_map(woken).collect()
}

#[test]
fn the_placement_flag_of_nest_prevents_collisions() {
    assert_eq!(cores_of_simultaneous_wakeups("true").len(), 2);
    assert_eq!(cores_of_simultaneous_wakeups("false").len(), 1);
}

const HANDOVERS: World = World { handovers: true, ..World::EMPTY };
/// `costs.handover_ns` of a machine whose file has none, in cycles.
const HANDOVER: u64 = 2 * WORK_MS / 1000;

/// Two threads that wake each other. Each has this work left when it wakes the other.
fn ping_pong(after: u64) -> Workload {
    let rest = if after > 0 { vec![Op::Run(after)] } else { vec![] };
    let round = |first, second| [vec![Op::Post(first)], rest.clone(), vec![Op::Wait(second)]].concat();
    let work = || vec![Op::Run(WORK_MS / 10 - after)];
    let ping = [vec![Op::Fork(1)], vec![Op::repeat(20, [work(), round(0, 1)].concat())]].concat();
    let pong = [vec![Op::Wait(0)], vec![Op::repeat(20, [work(), round(1, 0)].concat())]].concat();
    // The last wait of `pong` has no post.
    let mut workload = workload(vec![ping, pong]);
    workload.semaphores = vec![0, 0];
    workload.threads[0].ops.push(Op::Post(0));
    workload
}

/// Time from each wake-up by a thread to the switch away from it, in nanoseconds.
fn handovers(trace: &Trace) -> Vec<u64> {
    let mut woke = None;
    let mut times = Vec::new();
    for event in &trace.events {
        match event.kind {
            Kind::Wakeup { waker: Waker::Thread(waker), .. } => woke = Some((waker, event.time)),
            Kind::Switch { prev, .. } => match woke {
                Some((waker, since)) if waker == prev => {
                    times.push(event.time - since);
                    woke = None;
                }
                _ => {}
            },
            _ => {}
        }
    }
    times
}

#[test]
fn a_thread_runs_on_after_it_wakes_another() {
    let (alone, at_once) = simulate(&ping_pong(0), "cfs", World::EMPTY);
    assert!(handovers(&at_once)[..30].iter().all(|ns| *ns == 0));
    let (outcome, trace) = simulate(&ping_pong(0), "cfs", HANDOVERS);
    // 2 us at the nominal frequency, where the E7 has 1.2 to 3.0 GHz; the last also has a context switch.
    let times = handovers(&trace);
    assert!(times.len() > 30 && times.iter().all(|ns| (1_000..=4_000).contains(ns)), "{times:?}");
    // It is no additional work, except after the last wake-up of each thread and the fork.
    let extra = outcome.demanded_cycles - alone.demanded_cycles;
    assert!((0.0..=3.0 * HANDOVER as f64).contains(&extra), "{extra}");
    // It is off the critical path.
    assert!(outcome.time_s < alone.time_s);
}

#[test]
fn a_recorded_hand_over_stays_as_long_as_it_is() {
    let after = 5 * HANDOVER;
    let times = |world| handovers(&simulate(&ping_pong(after), "cfs", world).1);
    let (with, without) = (times(HANDOVERS), times(World::EMPTY));
    // The step is cut in two, each of which ends at a nanosecond.
    let same = |(a, b): (&u64, &u64)| a.abs_diff(*b) <= 2;
    assert!(with.len() > 30 && with[..40].iter().zip(&without).all(same), "{with:?} {without:?}");
}

#[test]
fn a_thread_that_wakes_several_owes_one_hand_over() {
    let first = vec![Op::Fork(1), Op::Fork(2), Op::Run(WORK_MS), Op::Post(0), Op::Post(1), Op::Wait(2)];
    let other = |own| vec![Op::Wait(own), Op::Run(WORK_MS), Op::Post(2)];
    let mut workload = workload(vec![first, other(0), other(1)]);
    workload.semaphores = vec![0; 3];
    let (_, trace) = simulate(&workload, "cfs", HANDOVERS);
    let woken = |event: &&Event| matches!(event.kind, Kind::Wakeup { waker: Waker::Thread(1), .. });
    let times: Vec<u64> = trace.events.iter().filter(woken).map(|event| event.time).collect();
    assert!(matches!(times[..], [one, other] if one == other), "{times:?}");
    assert!(matches!(handovers(&trace)[..], [1_000..=4_000, ..]));
}

#[test]
fn an_exiting_thread_runs_on_after_it_wakes_its_parent() {
    let parent = vec![Op::Run(WORK_MS), Op::Fork(1), Op::Run(WORK_MS / 10), Op::Join(1), Op::Run(WORK_MS)];
    let fork = workload(vec![parent, vec![Op::Run(WORK_MS)]]);
    let last = |world| {
        let (outcome, trace) = simulate(&fork, "cfs", world);
        (outcome.demanded_cycles, handovers(&trace))
    };
    let (work, at_once) = last(World::EMPTY);
    assert_eq!(at_once, [0]);
    let (same, later) = last(HANDOVERS);
    assert_eq!(work, same);
    assert!(matches!(later[..], [1_000..=3_500]), "{later:?}");
}

#[test]
fn daemons_run_but_do_not_count() {
    let daemons = World { daemons: true, ..World::EMPTY };
    let alone = simulate(&single(300), "cfs", World::EMPTY).0;
    let (outcome, trace) = simulate(&single(300), "cfs", daemons);
    let background: BTreeSet<u32> =
        trace.header.threads.iter().filter(|t| !t.traced).map(|t| t.tid).collect();
    assert_eq!(background.len(), 9);
    let switched = |event: &Event| match event.kind {
        Kind::Switch { next, .. } => background.contains(&next).then_some(next),
        _ => None,
    };
    let runs: Vec<u32> = trace.events.iter().filter_map(switched).collect();
    assert_eq!(BTreeSet::from_iter(runs.iter().copied()), background);
    // 250 and 8 x 10 wake-ups per second, for about 0.3 s.
    assert!((60..140).contains(&runs.len()), "{}", runs.len());
    assert_eq!(outcome.summary.cores_used, 1);
    assert_eq!(
        (outcome.demanded_cycles, outcome.executed_cycles),
        (alone.demanded_cycles, alone.executed_cycles)
    );
    // The run ends with the workload.
    assert!(outcome.time_s < 1.05 * alone.time_s);
}

#[test]
fn a_deadlock_is_found_while_daemons_run() {
    let mut stuck = workload(vec![vec![Op::Wait(0)]]);
    stuck.semaphores = vec![0];
    for world in [World::EMPTY, World::ALL] {
        let error = try_simulate(&stuck, "cfs", &[], world).unwrap_err().to_string();
        assert!(error.contains("all remaining threads wait: `t0` (1)"), "{error}");
    }
}

#[test]
fn a_warm_run_starts_fast_and_with_the_policys_memory() {
    let warm = World { warm: true, ..World::EMPTY };
    let time = |world| simulate(&single(40), "nest", world).0.time_s;
    assert!(time(warm) < time(World::EMPTY), "{} {}", time(warm), time(World::EMPTY));
    let (_, trace) = simulate(&single(40), "nest", warm);
    let fast = |event: &&Event| matches!(event.kind, Kind::Frequency { khz } if khz > 2_000_000);
    assert_eq!(trace.events[..160].iter().filter(fast).count(), 2, "the two hyperthreads of the last core");
    assert!(matches!(trace.events[160], Event { time: 0, kind: Kind::Set { member: true, .. }, .. }));
}
