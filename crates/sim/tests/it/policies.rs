//! The behaviour that the papers describe for each policy, on workloads with a few threads.

use hearth_machine::{Governor, Machine};
use hearth_policy::{Settings, load};
use hearth_sim::{Job, Native, Outcome, World, run};
use hearth_trace::{Event, Kind, Trace};
use hearth_workload::{Op, Thread, Workload};
use std::collections::BTreeSet;

const MS: u64 = 1_000_000;
/// Cycles of a millisecond at 2.1 GHz.
const WORK_MS: u64 = 2_100_000;

fn machine() -> Machine {
    Machine::builtin("xeon-6130-2s").unwrap()
}

fn simulate(workload: &Workload, policy: &str, params: &[(&str, &str)]) -> (Outcome, Trace) {
    simulate_on(&machine(), workload, policy, params)
}

fn simulate_on(
    machine: &Machine,
    workload: &Workload,
    policy: &str,
    params: &[(&str, &str)],
) -> (Outcome, Trace) {
    let policy = load(policy).unwrap();
    let mut settings = Settings::default();
    params.iter().for_each(|(name, value)| settings.set(&policy, name, value).unwrap());
    let policy = Native::build(policy).unwrap();
    let job = Job {
        params: &settings,
        seed: 5,
        noise: 0.0,
        world: World::EMPTY,
        ..Job::new(workload, machine, &policy)
    };
    let mut events: Vec<Event> = Vec::new();
    let outcome = run(&job, &mut events).unwrap();
    let trace = Trace { header: outcome.header.clone(), events };
    assert_eq!(trace.check(), []);
    (outcome, trace)
}

/// Reason and core of each placement of the threads with this name, in order.
fn placements(trace: &Trace, name: &str) -> Vec<(String, u16)> {
    let tids: BTreeSet<u32> = trace.header.threads.iter().filter(|t| t.name == name).map(|t| t.tid).collect();
    let reason = |r: u16| trace.header.reasons[usize::from(r)].clone();
    trace
        .events
        .iter()
        .filter_map(|e| match e.kind {
            Kind::Place { thread, target, reason: r, .. } if tids.contains(&thread) => {
                Some((reason(r), target))
            }
            _ => None,
        })
        .collect()
}

fn name(trace: &Trace, tid: u32) -> &str {
    &trace.header.threads.iter().find(|thread| thread.tid == tid).unwrap().name
}

/// A shell that forks `children` threads one after the other and waits for each. Each runs `ms` milliseconds.
fn shell(children: u32, ms: u64) -> Workload {
    let mut threads = vec![Thread { name: "sh".into(), ..Thread::default() }];
    for child in 1..=children {
        threads[0].ops.extend([
            Op::Run(WORK_MS / 20),
            Op::Fork(child),
            Op::Run(WORK_MS / 50),
            Op::Join(child),
        ]);
        threads.push(Thread { name: "cmd".into(), ops: vec![Op::Run(ms * WORK_MS)], ..Thread::default() });
    }
    Workload { name: "shell".into(), threads, ..Workload::default() }
}

fn thread(name: &str, ops: Vec<Op>) -> Thread {
    Thread { name: name.into(), ops, ..Thread::default() }
}

#[test]
fn cfs_disperses_a_shell_and_nest_does_not() {
    let (cfs, trace) = simulate(&shell(20, 3), "cfs", &[]);
    assert!(cfs.summary.cores_used >= 6, "{}", cfs.summary.cores_used);
    // CFS places new threads on cores without recent load.
    let first: Vec<u16> = placements(&trace, "cmd").iter().take(6).map(|(_, core)| *core).collect();
    assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), first.len(), "{first:?}");
    assert_eq!(cfs.summary.sockets_used, 1, "CFS stays on a die with idle cores");

    let (nest, trace) = simulate(&shell(20, 3), "nest", &[]);
    assert!(nest.summary.cores_used <= 3, "{}", nest.summary.cores_used);
    assert!(nest.time_s < cfs.time_s);
    let reasons: Vec<String> = placements(&trace, "cmd").into_iter().map(|(reason, _)| reason).collect();
    assert_eq!(reasons[0], "cfs", "the nests are empty initially");
    // The core was demoted when the first command exited, and is promoted for the next one.
    assert_eq!(reasons[1], "reserve");
    assert!(nest.summary.underload_per_s < 0.2 * cfs.summary.underload_per_s);
}

#[test]
fn slocal_puts_a_child_on_its_parents_core() {
    let (outcome, trace) = simulate(&shell(10, 1), "slocal", &[]);
    let home = placements(&trace, "sh")[0].1;
    for (reason, core) in placements(&trace, "cmd") {
        assert_eq!((reason.as_str(), core), ("local", home));
    }
    assert_eq!(outcome.summary.cores_used, 1);
}

#[test]
fn smove_moves_a_thread_that_waits_longer_than_the_delay() {
    // The parent runs for 5 ms after the fork, so the child cannot run on its core.
    let mut workload = shell(1, 1);
    workload.threads[0].ops = vec![Op::Run(WORK_MS), Op::Fork(1), Op::Run(5 * WORK_MS), Op::Join(1)];
    let (_, trace) = simulate(&workload, "smove", &[]);
    let child = placements(&trace, "cmd");
    assert_eq!(child[0].0, "local");
    assert_eq!(child[1].0, "moved");
    assert_ne!(child[0].1, child[1].1);
    let at = |reason: &str| {
        let number = trace.header.reasons.iter().position(|r| r == reason).unwrap() as u16;
        let place = |e: &&Event| matches!(e.kind, Kind::Place { thread: 2, reason: r, .. } if r == number);
        trace.events.iter().find(place).unwrap().time
    };
    assert_eq!(at("moved") - at("local"), 50_000, "D = 50 us");

    // The parent waits at once, so the child runs before the delay ends and stays.
    let (_, trace) = simulate(&shell(1, 1), "smove", &[]);
    assert_eq!(placements(&trace, "cmd").len(), 1);

    let (_, trace) = simulate(&workload, "smove", &[("delay", "1ms")]);
    let child = placements(&trace, "cmd");
    assert_eq!(child[1].0, "moved");
}

/// `n` threads that alternately run and sleep.
fn sleepers(n: u32, run: u64, sleep: u64, rounds: u32) -> Workload {
    let mut threads = vec![thread("main", vec![])];
    for i in 1..=n {
        threads[0].ops.push(Op::Fork(i));
        let round = vec![Op::Run(run), Op::Sleep(sleep)];
        threads.push(thread("sleeper", vec![Op::repeat(rounds, round)]));
    }
    Workload { name: "sleepers".into(), threads, ..Workload::default() }
}

#[test]
fn nest_attaches_a_thread_to_a_core_used_twice() {
    let (_, trace) = simulate(&sleepers(1, WORK_MS, MS, 10), "nest", &[]);
    let placed = placements(&trace, "sleeper");
    let attached: Vec<u16> = placed.iter().filter(|(r, _)| r == "attached").map(|(_, c)| *c).collect();
    assert!(attached.len() >= 6, "{placed:?}");
    assert_eq!(attached.iter().collect::<BTreeSet<_>>().len(), 1);

    let (_, trace) = simulate(&sleepers(1, WORK_MS, MS, 10), "nest", &[("attachment", "false")]);
    assert!(placements(&trace, "sleeper").iter().all(|(r, _)| r != "attached"));
}

#[test]
fn nest_spins_for_s_max_at_most() {
    let spin = |params: &[(&str, &str)]| {
        simulate(&sleepers(1, WORK_MS, 20 * MS, 5), "nest", params).0.summary.spin_core_ms
    };
    // Two ticks of 4 ms in each of the five sleeps of 20 ms.
    assert!((spin(&[]) - 5.0 * 8.0).abs() < 1.0, "{}", spin(&[]));
    assert!((spin(&[("s_max", "3ms")]) - 5.0 * 3.0).abs() < 0.5);
    assert_eq!(spin(&[("s_max", "0")]), 0.0);
}

#[test]
fn spinning_avoids_exit_latencies() {
    // In 300 us of sleep the core enters C1E, whose exit latency is 10 us on the 6130.
    let latency = |params: &[(&str, &str)]| {
        simulate(&sleepers(1, WORK_MS, MS / 3, 50), "nest", params).0.summary.wakeup_latency_us.p50
    };
    assert!(latency(&[]) < 1.0);
    assert!(latency(&[("s_max", "0")]) >= 10.0);
}

#[test]
fn the_reserve_nest_holds_r_max_cores() {
    for r_max in ["0", "1", "3"] {
        let (_, trace) = simulate(&shell(30, 2), "nest", &[("r_max", r_max)]);
        let reserve = trace.header.sets.iter().position(|s| s == "reserve").unwrap() as u8;
        let (mut size, mut most) = (0i32, 0);
        for event in &trace.events {
            if let Kind::Set { set, member } = event.kind
                && set == reserve
            {
                size += if member { 1 } else { -1 };
                most = most.max(size);
            }
        }
        assert!(most <= r_max.parse().unwrap(), "{most} of {r_max}");
        assert_eq!(most > 0, r_max != "0");
    }
}

#[test]
fn one_thread_per_core_takes_as_long_as_under_cfs() {
    let spec = "barrier:threads=64,iterations=200";
    let workload = Workload::resolve(spec).unwrap();
    let time = |policy: &str| simulate(&workload, policy, &[]).0;
    let cfs = time("cfs");
    assert_eq!(cfs.summary.cores_used, 64);
    for policy in ["smove", "nest"] {
        let ratio = time(policy).time_s / cfs.time_s;
        assert!((0.95..1.05).contains(&ratio), "{policy}: {ratio}");
    }
}

#[test]
fn slocal_oversubscribes_where_threads_block_and_wake_and_smove_does_not() {
    let workload = Workload::resolve("mkl").unwrap();
    let overload = |policy: &str| {
        let (outcome, _) = simulate(&workload, policy, &[]);
        (outcome.time_s, outcome.summary.overload_core_ms / outcome.time_s)
    };
    let (cfs, slocal, smove) = (overload("cfs"), overload("slocal"), overload("smove"));
    assert!(slocal.0 > 1.5 * cfs.0 && slocal.1 > 500.0, "{slocal:?} {cfs:?}");
    assert!(smove.0 < 1.1 * cfs.0, "{smove:?} {cfs:?}");
}

#[test]
fn idle_cores_pull_waiting_threads() {
    // S_local places eight threads on one core. It inherits CFS's balancing, which spreads them.
    let mut threads = vec![thread("main", (1..=8).map(Op::Fork).collect())];
    threads.extend((0..8).map(|_| thread("work", vec![Op::Run(100 * WORK_MS)])));
    let workload = Workload { name: "spread".into(), threads, ..Workload::default() };
    let (outcome, _) = simulate(&workload, "slocal", &[]);
    assert!(outcome.summary.cores_used >= 8, "{}", outcome.summary.cores_used);
    assert!(outcome.summary.placements["balance"] >= 7);
    assert!(outcome.time_s < 0.2, "{}", outcome.time_s);
}

/// When the short threads of half of the cores exit, each core of the other half has two long ones.
#[test]
fn work_conserving_policies_leave_no_core_idle_while_threads_wait() {
    let children =
        (0..128).map(|i| thread("work", vec![Op::Run(if i % 64 < 32 { 5 } else { 100 } * WORK_MS)]));
    let mut threads = vec![thread("main", (1..=128).map(Op::Fork).collect())];
    threads.extend(children);
    let workload = Workload { name: "halves".into(), threads, ..Workload::default() };
    let overload = |policy: &str| simulate(&workload, policy, &[]).0.summary.overload_core_ms;
    let ule = overload("ule");
    assert!(ule > 32.0 * 50.0, "{ule}");
    for policy in ["ule-cwc", "cfs-cwc", "cfs-cwc-flat"] {
        let some = overload(policy);
        assert!(some < ule / 50.0, "{policy}: {some} of {ule}");
    }
}

#[test]
fn nice_determines_shares_of_a_core() {
    let mut threads = vec![thread("main", vec![Op::Fork(1), Op::Fork(2)])];
    for (name, nice) in [("meek", 5), ("bold", -5)] {
        let ops = vec![Op::Run(200 * WORK_MS)];
        threads.push(Thread { name: name.into(), nice, affinity: vec![3], ops });
    }
    let workload = Workload { name: "nice".into(), threads, ..Workload::default() };
    let (_, trace) = simulate(&workload, "cfs", &[]);
    let end = |name: &str| {
        let tid = trace.header.threads.iter().find(|t| t.name == name).unwrap().tid;
        trace.events.iter().find(|e| e.kind == Kind::Exit { thread: tid }).unwrap().time as f64
    };
    // The weights are 3121 and 335: while both run, the bold one gets 90% of the core.
    let share = end("bold") / end("meek");
    assert!((0.52..0.60).contains(&share), "{share}");
}

/// Nine equal threads on eight cores take turns, as in Linux: none has a core for itself while others share one for good.
#[test]
fn threads_that_do_not_divide_evenly_take_turns() {
    let machine = Machine::builtin("ryzen-3400g").unwrap();
    let mut threads = vec![thread("main", (1..=9).map(Op::Fork).collect())];
    threads.extend((0..9).map(|_| thread("spin", vec![Op::Run(12_000 * WORK_MS)])));
    let workload = Workload { name: "nine".into(), threads, ..Workload::default() };
    for policy in ["cfs", "cfs-5-4", "eevdf", "nest"] {
        let (_, trace) = simulate_on(&machine, &workload, policy, &[]);
        let ends = trace.events.iter().filter(|e| matches!(e.kind, Kind::Exit { thread } if thread != 1));
        let ends: Vec<u64> = ends.map(|e| e.time).collect();
        let (first, last) = (ends[0] as f64, ends[8] as f64);
        assert!(last < 1.2 * first, "{policy}: {first} to {last}");
    }
}

/// Two threads that run on one physical core while others are idle part, although neither waits (active balance).
#[test]
fn cfs_separates_hyperthreads_that_both_run() {
    let machine = Machine::builtin("ryzen-3400g").unwrap();
    let pair =
        |core: u16| machine.topology.cores[usize::from(core)].physical == machine.topology.cores[0].physical;
    let others: Vec<u16> = (0..8).filter(|core| !pair(*core)).collect();
    let mut threads = vec![thread("main", (1..=8).map(Op::Fork).collect())];
    threads.extend(
        others
            .iter()
            .map(|core| Thread { affinity: vec![*core], ..thread("short", vec![Op::Run(30 * WORK_MS)]) }),
    );
    // The second one may use only its pair and the last core.
    threads.extend(
        [vec![], vec![0, 1, 7]]
            .map(|affinity| Thread { affinity, ..thread("long", vec![Op::Run(2000 * WORK_MS)]) }),
    );
    let workload = Workload { name: "pair".into(), threads, ..Workload::default() };
    let end = |policy: &str| simulate_on(&machine, &workload, policy, &[]).0.summary.duration_s;
    let together = end("ule");
    for policy in ["cfs", "cfs-5-4", "eevdf", "nest", "smove"] {
        let apart = end(policy);
        assert!(apart < 0.7 * together, "{policy}: {apart} s of {together} s");
    }
}

/// Attempts to find room on another die are an interval apart: work there in between does not matter (nr_balance_failed).
#[test]
fn cfs_leaves_a_die_if_five_attempts_find_room_on_another() {
    let machine = machine();
    let on =
        |socket| machine.topology.cores.iter().filter(move |core| core.socket == socket).map(|core| core.id);
    let short = || vec![Op::repeat(20, vec![Op::Run(6 * WORK_MS), Op::Sleep(60 * MS)])];
    let main = thread("main", (1..=22).map(Op::Fork).collect());
    let mut threads = vec![Thread { affinity: on(0).take(1).collect(), ..main }];
    threads.extend((0..10).map(|_| thread("long", vec![Op::Run(1200 * WORK_MS)])));
    threads.extend(on(1).take(12).map(|core| Thread { affinity: vec![core], ..thread("short", short()) }));
    let workload = Workload { name: "two dies".into(), threads, ..Workload::default() };
    let (_, trace) = simulate_on(&machine, &workload, "cfs", &[]);
    let elsewhere: BTreeSet<u16> = on(1).collect();
    let moved: Vec<_> =
        placements(&trace, "long").into_iter().filter(|(_, core)| elsewhere.contains(core)).collect();
    assert!(!moved.is_empty() && moved.iter().all(|(reason, _)| reason == "balance"), "{moved:?}");
}

/// The core whose tick makes the attempt may run a thread that cannot go.
#[test]
fn cfs_leaves_a_die_beside_a_pinned_thread() {
    let machine = Machine::builtin("xeon-6130-2s").unwrap();
    let long = || Op::Run(1500 * WORK_MS);
    let main = [Op::Run(10 * WORK_MS)].into_iter().chain((1..=20).map(Op::Fork)).chain([long()]);
    let mut threads = vec![Thread { affinity: vec![0], ..thread("main", main.collect()) }];
    threads.extend((0..20).map(|_| thread("long", vec![long()])));
    let workload = Workload { name: "pinned".into(), threads, ..Workload::default() };
    let (outcome, _) = simulate_on(&machine, &workload, "cfs", &[]);
    assert_eq!(outcome.summary.sockets_used, 2);
}

/// A thread that had a core for itself owes no time to a thread that arrives later: they share the core.
#[test]
fn a_thread_that_ran_alone_does_not_starve_later() {
    let here = |name: &str, ops| Thread { affinity: vec![0], ..thread(name, ops) };
    let long = here("long", vec![Op::Run(3000 * WORK_MS)]);
    let late = here("late", vec![Op::Sleep(2000 * MS), Op::Run(1000 * WORK_MS)]);
    let workload = Workload { name: "late".into(), threads: vec![long, late], ..Workload::default() };
    for policy in ["cfs", "nest", "smove"] {
        let (_, trace) = simulate(&workload, policy, &[]);
        let (mut stopped, mut waited) = (0, 0);
        for event in &trace.events {
            match event.kind {
                Kind::Switch { prev: 1, .. } => stopped = event.time,
                Kind::Switch { next: 1, .. } => waited = waited.max(event.time - stopped),
                _ => {}
            }
        }
        assert!(waited < 100 * MS, "{policy}: {} ms", waited / MS);
    }
}

#[test]
fn a_policy_that_loses_a_thread_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lossy.ipa");
    let source = "policy lossy extends cfs {
    queue lost : fifo;

    on unblock (thread t, core waker) {
        t => waker.lost because oblivion;
    }
}
";
    std::fs::write(&path, source).unwrap();
    let policy = Native::build(load(path.to_str().unwrap()).unwrap()).unwrap();
    let machine = machine();
    let workload = sleepers(1, WORK_MS, MS, 3);
    let job = Job {
        governor: Governor::Performance,
        seed: 0,
        noise: 0.0,
        world: World::EMPTY,
        ..Job::new(&workload, &machine, &policy)
    };
    let error = run(&job, &mut ()).err().unwrap().to_string();
    assert!(error.contains("lossy") && error.contains("`schedule`") && error.contains("1 ready"), "{error}");
}

#[test]
fn affinity_that_no_core_satisfies_is_an_error() {
    let mut workload = sleepers(1, WORK_MS, MS, 1);
    workload.threads[1].affinity = vec![900];
    let machine = machine();
    let policy = Native::build(load("cfs").unwrap()).unwrap();
    let job = Job {
        governor: Governor::Performance,
        seed: 0,
        noise: 0.0,
        world: World::EMPTY,
        ..Job::new(&workload, &machine, &policy)
    };
    let error = run(&job, &mut ()).err().unwrap().to_string();
    assert!(error.contains("sleeper") && error.contains("cores 0 to 63"), "{error}");
}

/// The exit of a thread wakes the threads that join it.
#[test]
fn a_policy_knows_that_the_waker_exits() {
    const POLICY: &str = "policy knows extends cfs { on unblock (thread t, core waker) {
        if (waker_exits) t => waker.ready because exits;
        super;
    } }";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("knows.ipa");
    std::fs::write(&file, POLICY).unwrap();
    let waker = vec![Op::Run(WORK_MS), Op::Post(0), Op::Run(WORK_MS / 100)];
    let joiner = vec![Op::Fork(1), Op::Fork(2), Op::Join(1)];
    let threads =
        vec![thread("joiner", joiner), thread("waker", waker), thread("sleeper", vec![Op::Wait(0)])];
    let workload = Workload { name: "exit".into(), threads, semaphores: vec![0], ..Workload::default() };
    let (_, trace) = simulate(&workload, file.to_str().unwrap(), &[]);
    let reasons = |name| placements(&trace, name).into_iter().map(|(reason, _)| reason).collect::<Vec<_>>();
    assert_eq!(reasons("sleeper"), ["cfs", "cfs"]);
    assert_eq!(reasons("joiner"), ["cfs", "exits"]);
}

/// The first post is a write to a pipe, the second a wake-up by a futex, the third a write again.
#[test]
fn a_policy_knows_that_the_waker_sleeps() {
    const POLICY: &str = "policy knows extends cfs { on unblock (thread t, core waker) {
        if (waker_sleeps) t => waker.ready because sleeps;
        super;
    } }";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("knows.ipa");
    std::fs::write(&file, POLICY).unwrap();
    let writer = vec![Op::Run(WORK_MS), Op::Post(0), Op::Sleep(MS), Op::Post(1), Op::Sleep(MS), Op::Post(0)];
    let reader = vec![Op::Wait(0), Op::Wait(1), Op::Wait(0)];
    let threads = vec![thread("writer", writer), thread("reader", reader)];
    let pipe = Workload { name: "pipe".into(), threads, semaphores: vec![0, 0], ..Workload::default() };
    let reasons = |sync| {
        let (_, trace) = simulate(&Workload { sync, ..pipe.clone() }, file.to_str().unwrap(), &[]);
        placements(&trace, "reader").into_iter().map(|(reason, _)| reason).collect::<Vec<_>>()
    };
    assert_eq!(reasons(vec![]), ["cfs", "cfs", "cfs", "cfs"]);
    assert_eq!(reasons(vec![0]), ["cfs", "sleeps", "cfs", "sleeps"]);
}

/// Frequencies are fixed and idle cores answer at once on a Graviton4, so that a woken thread has nothing to wait for.
#[test]
fn ember_waits_only_where_other_cores_are_cold() {
    let parent = vec![Op::Run(WORK_MS), Op::Fork(1), Op::Join(1), Op::Run(WORK_MS)];
    let threads = vec![thread("parent", parent), thread("child", vec![Op::Run(30 * WORK_MS)])];
    let workload = Workload { name: "join".into(), threads, ..Workload::default() };
    for (machine, hands_over) in [("xeon-6130-2s", true), ("graviton4", false)] {
        let machine = Machine::builtin(machine).unwrap();
        let (_, trace) = simulate_on(&machine, &workload, "ember", &[]);
        let core = |name| placements(&trace, name).last().unwrap().1;
        assert_eq!(core("parent") == core("child"), hands_over, "{}", machine.name);
    }
}

/// Those of an i9-13900K that are as fast as its fastest.
#[test]
fn work_goes_to_fast_cores() {
    let machine = Machine::builtin("i9-13900k").unwrap();
    let fast = |core: &u16| machine.capacity(*core) > 900;
    let (_, trace) = simulate_on(&machine, &shell(8, 1), "ember", &[]);
    let children: Vec<u16> = placements(&trace, "cmd").into_iter().map(|(_, core)| core).collect();
    assert!(children.iter().all(fast), "{children:?}");

    // Long threads that began on slow cores move when short ones leave the fast cores.
    let mut parent = Vec::new();
    let mut threads = vec![thread("parent", vec![])];
    for child in 1..=24 {
        parent.push(Op::Fork(child));
        let (name, ms) = if child <= 16 { ("short", 100) } else { ("long", 900) };
        threads.push(thread(name, vec![Op::Run(ms * WORK_MS)]));
    }
    threads[0].ops = parent;
    let workload = Workload { name: "long".into(), threads, ..Workload::default() };
    let (_, trace) = simulate_on(&machine, &workload, "eevdf", &[]);
    let cores: Vec<u16> = placements(&trace, "long").into_iter().map(|(_, core)| core).collect();
    let (first, later) = cores.split_at(8);
    assert!(first.iter().any(|core| !fast(core)), "{first:?}");
    assert!(!later.is_empty() && later.iter().all(fast), "{later:?}");

    // The first fast core that balances takes one: each does so every 32 ms.
    let free = trace
        .events
        .iter()
        .filter(|e| matches!(e.kind, Kind::Exit { thread } if name(&trace, thread) == "short"));
    let moved = trace
        .events
        .iter()
        .filter(|e| matches!(e.kind, Kind::Place { thread, .. } if name(&trace, thread) == "long"));
    let (free, moved) = (free.map(|e| e.time).max().unwrap(), moved.map(|e| e.time).max().unwrap());
    assert!(moved - free < 40 * MS, "{free} to {moved} ns");
}

/// As in the kernel, where cpufreq has no driver: cores of unknown frequency count as fast.
#[test]
fn a_machine_without_cpufreq_has_no_slow_core() {
    const POLICY: &str = "policy asks extends cfs { on new (thread t, core parent) {
        if (parent.frequency <= parent.min_frequency) t => parent.ready because slow;
        super;
    } }";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("asks.ipa");
    std::fs::write(&file, POLICY).unwrap();
    for (machine, slow) in [("xeon-6130-2s", true), ("cloud-guest", false)] {
        let machine = Machine::builtin(machine).unwrap();
        let (_, trace) = simulate_on(&machine, &shell(1, 1), file.to_str().unwrap(), &[]);
        let placed = placements(&trace, "cmd");
        assert_eq!(placed[0].0 == "slow", slow, "{}: {placed:?}", machine.name);
    }
}

/// The first child of a team waits for its parent, until ember's timer moves it. EEVDF places the others meanwhile.
#[test]
fn a_thread_that_waited_gets_a_core_of_its_own() {
    let work = || Op::Run(20 * WORK_MS);
    let joins = (1..=15).map(Op::Join);
    let ops =
        [Op::Run(WORK_MS)].into_iter().chain((1..=15).map(Op::Fork)).chain([work()]).chain(joins).collect();
    let mut threads = vec![thread("main", ops)];
    threads.extend((0..15).map(|_| thread("work", vec![work()])));
    let workload = Workload { name: "team".into(), threads, ..Workload::default() };
    let machine = Machine::builtin("ryzen-7950x").unwrap();
    let time = |policy: &str| {
        let policy = Native::build(load(policy).unwrap()).unwrap();
        let governor = Governor::Performance;
        let job = Job { governor, noise: 0.0, ..Job::new(&workload, &machine, &policy) };
        run(&job, &mut Vec::<Event>::new()).unwrap().time_s
    };
    let (eevdf, ember) = (time("eevdf"), time("ember"));
    assert!(ember < 1.1 * eevdf, "{ember} {eevdf}");
}
