//! `wavefront`: a pipelined loop, as in the NAS benchmark LU.
//!
//! A thread may start a plane of the grid when its predecessor has finished that plane, and spins until then. It hands a
//! plane on when its successor has taken the one before. After all planes, the team meets at a barrier.

use super::barrier::CREATE;
use super::builder::{Builder, run, varied};
use super::params::SEED;
use super::random::Random;
use super::{Args, Generator, Param};
use crate::{Op, SemIdx, ThreadIdx, Workload};

pub(super) const GENERATOR: Generator = Generator {
    name: "wavefront",
    summary: "one thread per core, each waits for its predecessor (NAS LU, pipelined)",
    params: &[
        Param::new(
            "threads",
            64,
            2,
            4_096,
            "threads",
            "team size, including the master; one thread per core",
        ),
        Param::new("iterations", 20, 1, 1_000_000, "iterations", "sweeps over the grid (LU: 250)"),
        Param::new("planes", 100, 1, 10_000, "planes", "planes of the grid (class B: 102, class C: 162)"),
        Param::new("plane", 100, 1, 1_000_000, "us", "CPU time of each thread for a plane (assumed)"),
        Param::new(
            "spread",
            5,
            0,
            100,
            "%",
            "maximum deviation from `plane` (assumed: even distribution of work)",
        ),
        Param::new(
            "spin",
            13_000,
            0,
            1_000_000,
            "us",
            "time to spin at the barrier before blocking, as in `barrier`",
        ),
        SEED,
    ],
    build,
};

/// LU waits for its neighbours in a loop that reads a flag, and never blocks there (NPB 3.4, OMP/LU/syncs.f90,
/// `sync_left` and `sync_right`). In nanoseconds: an hour.
const FLAG_SPIN: u64 = 3_600_000_000_000;

fn build(args: &Args) -> Workload {
    let (threads, planes) = (args.count("threads"), args.get("planes"));
    let mut random = Random::new(args.get("seed"));
    let mut builder = Builder::default();
    let barrier = builder.barrier(threads);
    // The flag of a thread: its successor may take a plane, and it may set the flag again.
    let flags: Vec<(SemIdx, SemIdx)> =
        (1..threads).map(|_| (builder.semaphore(0), builder.semaphore(1))).collect();
    let mut work = |index: usize| {
        let mut sweep = varied(&mut random, planes, |random| {
            let before = index.checked_sub(1).map(|before| flags[before]);
            let before = before.into_iter().flat_map(|(full, clear)| [Op::Wait(full), Op::Post(clear)]);
            let after =
                flags.get(index).into_iter().flat_map(|&(full, clear)| [Op::Wait(clear), Op::Post(full)]);
            let plane = run(random.around(args.get("plane"), args.get("spread")));
            before.chain([plane]).chain(after).collect()
        });
        sweep.push(Op::Barrier(barrier));
        // New threads first meet the master, as in `barrier`.
        vec![Op::Barrier(barrier), Op::repeat(args.count("iterations"), sweep)]
    };
    let master = builder.thread("master");
    let team: Vec<ThreadIdx> =
        (1..threads as usize).map(|index| builder.thread_with("worker", work(index))).collect();
    for &worker in &team {
        builder.extend(master, [run(CREATE), Op::Fork(worker)]);
    }
    builder.extend(master, work(0));
    builder.extend(master, team.into_iter().map(Op::Join));
    Workload { barrier_spin: args.get("spin") * 1_000, wait_spin: FLAG_SPIN, ..builder.finish() }
}
