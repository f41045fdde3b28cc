//! `bursts`: a pool of threads that compute for short bursts, as in parallel compressors and decoders.
//!
//! "The tasks run for very short times, and thus obtain a low frequency" (Nest paper, section 5.5, on Zstd compression).
//! A reader puts blocks into a queue, with a bounded number of them in work. The thread of the pool that has waited
//! longest takes the next block and computes. Nothing sleeps for a fixed time: a thread waits because it is another's
//! turn. The paper gives neither the number of threads nor the lengths: all are assumptions.

use super::barrier::CREATE;
use super::builder::{Builder, run, varied};
use super::params::SEED;
use super::random::Random;
use super::{Args, Generator, Param};
use crate::{Op, ThreadIdx, Workload};

pub(super) const GENERATOR: Generator = Generator {
    name: "bursts",
    summary: "a reader and a pool of threads that compute for short bursts in turn (zstd -T, decoders)",
    params: &[
        Param::new("threads", 16, 1, 4_096, "threads", "threads of the pool (assumed)"),
        Param::new("flight", 2, 1, 4_096, "blocks", "blocks in work at one time (assumed)"),
        Param::new("burst", 500, 1, 60_000_000, "us", "CPU time for a block (assumed)"),
        Param::new("blocks", 2_400, 1, 10_000_000, "blocks", "blocks in all"),
        Param::new(
            "spread",
            50,
            0,
            100,
            "%",
            "maximum deviation from `burst` (assumed: blocks of unequal content)",
        ),
        SEED,
    ],
    build,
};

/// CPU time of the reader for a block in microseconds: a read of cached data, a queue operation. Assumed.
const READ: u64 = 20;

fn build(args: &Args) -> Workload {
    let (threads, blocks) = (args.get("threads"), args.get("blocks"));
    let mut random = Random::new(args.get("seed"));
    let mut builder = Builder::default();
    let reader = builder.thread("main");
    let queue = builder.semaphore(0);
    // The reader may put the first blocks without waiting for results.
    let room = builder.semaphore(args.count("flight"));
    let pool: Vec<ThreadIdx> = (0..threads)
        .map(|index| {
            let share = blocks / threads + u64::from(index < blocks % threads);
            let ops = varied(&mut random, share, |random| {
                let us = random.around(args.get("burst"), args.get("spread"));
                vec![Op::Wait(queue), run(us), Op::Post(room)]
            });
            builder.thread_with("worker", ops)
        })
        .collect();
    for &thread in &pool {
        builder.extend(reader, [run(CREATE), Op::Fork(thread)]);
    }
    builder.push(reader, Op::repeat(args.count("blocks"), vec![Op::Wait(room), run(READ), Op::Post(queue)]));
    builder.extend(reader, pool.into_iter().map(Op::Join));
    builder.finish()
}
