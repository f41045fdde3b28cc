//! `producer-consumer`: pairs of threads that pass items.
//!
//! "Lightweight threads that unblock and block each other, as is common in producer-consumer
//! applications" (Fewer Cores paper, section 2): the second source of frequency inversion. A
//! producer "woke up a consumer thread as its last action before going to sleep" (section 1). With
//! room for one item the two threads alternate; with more room they overlap.

use super::builder::{Builder, run, varied};
use super::params::SEED;
use super::random::Random;
use super::{Args, Generator, Param};
use crate::{Op, Workload};

pub(super) const GENERATOR: Generator = Generator {
    name: "producer-consumer",
    summary: "pairs of threads that pass items: wake the other, then block",
    params: &[
        Param::new("pairs", 4, 1, 10_000, "pairs", "pairs of a producer and a consumer"),
        Param::new("items", 2_000, 1, 10_000_000, "items", "items passed by each pair"),
        Param::new(
            "produce",
            100,
            1,
            1_000_000,
            "us",
            "CPU time to produce an item (assumed: a short request)",
        ),
        Param::new("consume", 100, 1, 1_000_000, "us", "CPU time to consume an item"),
        Param::new("spread", 20, 0, 100, "%", "maximum deviation of both (assumed)"),
        Param::new(
            "room",
            1,
            1,
            1_000_000,
            "items",
            "items produced but not yet consumed; 1 means strict alternation",
        ),
        SEED,
    ],
    build,
};

fn build(args: &Args) -> Workload {
    let mut random = Random::new(args.get("seed"));
    let mut builder = Builder::default();
    let (items, spread) = (args.get("items"), args.get("spread"));
    for _ in 0..args.get("pairs") {
        let room = builder.semaphore(args.count("room") - 1);
        let full = builder.semaphore(0);
        let producer = varied(&mut random, items, |random| {
            vec![run(random.around(args.get("produce"), spread)), Op::Post(full), Op::Wait(room)]
        });
        let consumer = varied(&mut random, items, |random| {
            vec![Op::Wait(full), run(random.around(args.get("consume"), spread)), Op::Post(room)]
        });
        builder.thread_with("producer", producer);
        builder.thread_with("consumer", consumer);
    }
    builder.finish()
}
