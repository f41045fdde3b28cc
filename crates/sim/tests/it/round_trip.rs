//! Extraction from a simulated trace reproduces the workload: threads, forks, wake-ups and work.

use hearth_machine::{Machine, MigrationCosts};
use hearth_policy::load;
use hearth_sim::{Job, Native, World, run};
use hearth_trace::{Event, Kind, Trace, Waker};
use hearth_workload::{Extraction, Op, Workload, extract};
use std::collections::BTreeMap;

/// A machine without switch, wake-up, migration and hyperthreading costs.
fn frictionless(name: &str) -> Machine {
    let mut machine = Machine::builtin(name).unwrap();
    machine.costs.stall_permille = 0;
    machine.costs.context_switch_ns = 0;
    machine.costs.remote_wakeup_ns = 0;
    machine.costs.migration = MigrationCosts { smt_ns: 0, llc_ns: 0, numa_ns: 0, machine_ns: 0 };
    machine.costs.smt_share_permille = 1000;
    machine
}

fn simulate(workload: &Workload, machine: &Machine, policy: &str) -> Trace {
    let policy = Native::build(load(policy).unwrap()).unwrap();
    let mut events: Vec<Event> = Vec::new();
    let job = Job { seed: 3, noise: 0.0, world: World::EMPTY, ..Job::new(workload, machine, &policy) };
    let outcome = run(&job, &mut events).unwrap();
    Trace { header: outcome.header, events }
}

type Edges = BTreeMap<(u32, u32), usize>;

/// The forks and wake-ups of a trace, with counts.
fn edges_of_trace(trace: &Trace) -> (Edges, Edges) {
    let (mut forks, mut wakes) = (Edges::new(), Edges::new());
    for event in &trace.events {
        match event.kind {
            Kind::Fork { parent, child, .. } if parent != 0 => {
                *forks.entry((parent, child)).or_default() += 1
            }
            Kind::Wakeup { thread, waker: Waker::Thread(waker), .. } => {
                *wakes.entry((waker, thread)).or_default() += 1;
            }
            _ => {}
        }
    }
    (forks, wakes)
}

/// The forks, posts and joins of an extracted graph, with counts, by the thread numbers of the trace.
fn edges_of_graph(extraction: &Extraction) -> (Edges, Edges, Edges) {
    let (mut forks, mut posts, mut joins) = (Edges::new(), Edges::new(), Edges::new());
    let mut waiter = BTreeMap::new();
    for (thread, tid) in extraction.workload.threads.iter().zip(&extraction.tids) {
        for op in &thread.ops {
            if let Op::Wait(sem) = op {
                waiter.insert(*sem, *tid);
            }
        }
    }
    for (thread, tid) in extraction.workload.threads.iter().zip(&extraction.tids) {
        for op in &thread.ops {
            match op {
                Op::Fork(child) => *forks.entry((*tid, extraction.tids[*child as usize])).or_default() += 1,
                Op::Join(child) => *joins.entry((extraction.tids[*child as usize], *tid)).or_default() += 1,
                Op::Post(sem) => *posts.entry((*tid, waiter[sem])).or_default() += 1,
                _ => {}
            }
        }
    }
    (forks, posts, joins)
}

fn cycles(workload: &Workload) -> f64 {
    workload.stats(1_000_000).cycles as f64
}

/// `tolerance` is the largest relative difference in run time when the extracted workload is simulated.
fn round_trip(spec: &str, tolerance: f64) {
    let original = Workload::resolve(spec).unwrap();
    let machine = frictionless("xeon-5218");
    let first = simulate(&original, &machine, "cfs");
    let extraction = extract(&first);
    let back = &extraction.workload;

    assert_eq!(back.threads.len(), original.threads.len(), "{spec}: threads");
    let (was, is) = (cycles(&original), cycles(back));
    assert!((is - was).abs() <= 0.01 * was, "{spec}: {was} cycles became {is}");
    for (b, tid) in back.threads.iter().zip(&extraction.tids) {
        let i = *tid as usize - 1;
        let a = &original.threads[i];
        let one =
            |t: &hearth_workload::Thread| cycles(&Workload { threads: vec![t.clone()], ..original.clone() });
        let (was, is) = (one(a), one(b));
        // A frequency step of 100 MHz may occur in the last nanosecond of a short run.
        assert!((is - was).abs() <= 0.01 * was + 1000.0, "{spec}: thread {i}: {was} cycles became {is}");
    }

    // Every wake-up is a post or a join of the graph, and every post is a wake-up.
    let (forked, woken) = edges_of_trace(&first);
    let (forks, posts, joins) = edges_of_graph(&extraction);
    assert_eq!(forks, forked, "{spec}: forks");
    for edge in woken.keys().chain(posts.keys()) {
        let count = |edges: &Edges| edges.get(edge).copied().unwrap_or(0);
        assert!(count(&posts) <= count(&woken), "{spec}: {edge:?}: more posts than wake-ups");
        assert!(count(&woken) <= count(&posts) + count(&joins), "{spec}: {edge:?}: a wake-up is missing");
    }

    // Simulated on the same machine, it takes as long.
    let second = simulate(back, &machine, "cfs");
    assert_eq!(edges_of_trace(&second).0.len(), forked.len(), "{spec}: forks of the second simulation");
    let (was, is) = (first.header.duration as f64, second.header.duration as f64);
    assert!((is - was).abs() <= tolerance * was, "{spec}: {was} ns became {is} ns");
}

#[test]
fn fork_wait() {
    round_trip("fork-wait:iterations=50", 0.01);
}

#[test]
fn configure() {
    round_trip("configure:tests=60", 0.01);
}

/// Any worker of a pool can take a request. The extracted workload fixes the assignment of the recorded run, which
/// costs up to 10% of the time.
#[test]
fn server() {
    round_trip("server", 0.10);
}

#[test]
fn barrier() {
    round_trip("barrier:threads=16,iterations=20,spin=0", 0.01);
}
