//! `mkl`: threads, one per core, that keep blocking and unblocking each other.
//!
//! mkl-dnn-7-1 is the worst case of S_local: "all threads keep blocking and unblocking and
//! therefore avoid periodic load balancing and continue returning to the same set of cores" (Fewer
//! Cores paper, section 4.4). Work comes in short phases. After one phase, each thread wakes one
//! neighbour and waits for the other; after the next, all meet at a barrier.

use super::barrier::CREATE;
use super::builder::{Builder, run, varied};
use super::params::SEED;
use super::random::Random;
use super::{Args, Generator, Param};
use crate::{Op, ThreadIdx, Workload};

pub(super) const GENERATOR: Generator = Generator {
    name: "mkl",
    summary: "one thread per core, short phases, threads that block and unblock each other (mkl-dnn)",
    params: &[
        Param::new(
            "threads",
            64,
            1,
            4_096,
            "threads",
            "team size, including the master; one thread per core",
        ),
        Param::new("iterations", 300, 1, 1_000_000, "iterations", "number of pairs of phases"),
        Param::new(
            "phase",
            300,
            1,
            1_000_000,
            "us",
            "CPU time of each thread per phase (assumed: one layer's tile)",
        ),
        Param::new(
            "spread",
            20,
            0,
            100,
            "%",
            "maximum deviation from `phase` (assumed: tiles of unequal size)",
        ),
        SEED,
    ],
    build,
};

fn build(args: &Args) -> Workload {
    let threads = args.count("threads");
    let mut random = Random::new(args.get("seed"));
    let mut builder = Builder::default();
    let barrier = builder.barrier(threads);
    let ring: Vec<_> = (0..threads).map(|_| builder.semaphore(0)).collect();
    let mut work = |index: u32| {
        let (mine, next) = (ring[index as usize], ring[((index + 1) % threads) as usize]);
        varied(&mut random, args.get("iterations"), |random| {
            let mut phase = || run(random.around(args.get("phase"), args.get("spread")));
            vec![phase(), Op::Post(next), Op::Wait(mine), phase(), Op::Barrier(barrier)]
        })
    };
    let master = builder.thread("master");
    let team: Vec<ThreadIdx> = (1..threads).map(|index| builder.thread_with("worker", work(index))).collect();
    for &worker in &team {
        builder.extend(master, [run(CREATE), Op::Fork(worker)]);
    }
    builder.extend(master, work(0));
    builder.extend(master, team.into_iter().map(Op::Join));
    builder.finish()
}
