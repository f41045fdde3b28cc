//! `barrier`: a parallel loop with a barrier, as in the NAS benchmarks with OpenMP.
//!
//! "These benchmarks each involve one task per core. In the optimal case, each task is immediately
//! placed on its own core at the time of fork, and remains there throughout its execution" (Nest
//! paper, section 5.4). The master forks the team, as in OpenMP, and works with it.
//!
//! A thread spins at the barrier before it blocks, like libgomp without a wait policy. With one
//! thread per core and evenly distributed work, it hardly ever blocks. New threads first meet the
//! master, which comes when it has forked all of them (libgomp's team.c: `threads_dock`).

use super::builder::{Builder, run, varied};
use super::params::SEED;
use super::random::Random;
use super::{Args, Generator, Param};
use crate::{Op, ThreadIdx, Workload};

pub(super) const GENERATOR: Generator = Generator {
    name: "barrier",
    summary: "one thread per core, iterations of equal work with a barrier (NAS, OpenMP)",
    params: &[
        Param::new(
            "threads",
            64,
            1,
            4_096,
            "threads",
            "team size, including the master; one thread per core",
        ),
        Param::new("iterations", 200, 1, 10_000_000, "iterations", "number of barriers passed"),
        Param::new("compute", 5_000, 1, 60_000_000, "us", "CPU time of each thread per iteration (assumed)"),
        Param::new(
            "spread",
            2,
            0,
            100,
            "%",
            "maximum deviation from `compute` (assumed: even distribution of work)",
        ),
        Param::new(
            "spin",
            13_000,
            0,
            1_000_000,
            "us",
            "time to spin at the barrier before blocking: libgomp's 300,000 rounds of PAUSE, 140 cycles each since Skylake",
        ),
        Param::new("serial", 5_000, 0, 60_000_000, "us", "CPU time of the master before the team starts"),
        SEED,
    ],
    build,
};

/// CPU time of `pthread_create` in microseconds: stack, `clone`, first page faults. Assumed.
pub(super) const CREATE: u64 = 20;

fn build(args: &Args) -> Workload {
    let threads = args.count("threads");
    let mut random = Random::new(args.get("seed"));
    let mut builder = Builder::default();
    let barrier = builder.barrier(threads);
    let mut work = || {
        let iterations = varied(&mut random, args.get("iterations"), |random| {
            vec![run(random.around(args.get("compute"), args.get("spread"))), Op::Barrier(barrier)]
        });
        [vec![Op::Barrier(barrier)], iterations].concat()
    };
    let master = builder.thread("master");
    let team: Vec<ThreadIdx> = (1..threads).map(|_| builder.thread_with("worker", work())).collect();
    builder.push(master, run(args.get("serial")));
    for &worker in &team {
        builder.extend(master, [run(CREATE), Op::Fork(worker)]);
    }
    builder.extend(master, work());
    builder.extend(master, team.into_iter().map(Op::Join));
    Workload { barrier_spin: args.get("spin") * 1_000, ..builder.finish() }
}
