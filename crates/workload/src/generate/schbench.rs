//! `schbench`: message threads with workers, which measure wake-up latency.
//!
//! As in the source of schbench: a worker computes, sends a message to its message thread and
//! waits; the message thread sleeps for a while "to make them wait" and wakes all workers on its
//! list. The defaults are those of schbench's first version (2 message threads, 16 workers each, 10
//! ms and 10 ms, jitter up to a quarter of the sleep). In this model a message thread waits until
//! all its workers have sent a message, because the graph cannot express "all that wait by now".
//! schbench itself settles into this pattern, because the workers compute for equally long.

use super::barrier::CREATE;
use super::builder::{Builder, run, sleep, varied};
use super::params::SEED;
use super::random::Random;
use super::{Args, Generator, Param};
use crate::{Op, ThreadIdx, Workload};

pub(super) const GENERATOR: Generator = Generator {
    name: "schbench",
    summary: "message threads that wake all their workers at once (schbench: wake-up latency)",
    params: &[
        Param::new("messages", 2, 1, 100, "threads", "message threads (Nest paper, 5.6: 2 to 32)"),
        Param::new(
            "workers",
            16,
            1,
            1_000,
            "threads",
            "workers per message thread (Nest paper, 5.6: 2 to 32)",
        ),
        Param::new("rounds", 50, 1, 1_000_000, "rounds", "wake-ups of each worker"),
        Param::new("cpu", 10_000, 1, 10_000_000, "us", "CPU time of a worker per round"),
        Param::new("sleep", 10_000, 0, 10_000_000, "us", "delay of the message thread, plus up to a quarter"),
        SEED,
    ],
    build,
};

fn build(args: &Args) -> Workload {
    let (workers, rounds) = (args.count("workers"), args.count("rounds"));
    let mut random = Random::new(args.get("seed"));
    let mut builder = Builder::default();
    let main = builder.thread("schbench");
    let mut messengers: Vec<ThreadIdx> = Vec::new();
    for _ in 0..args.get("messages") {
        let messages = builder.semaphore(0);
        let (mut team, mut wakes) = (Vec::new(), Vec::new());
        for _ in 0..workers {
            let mine = builder.semaphore(0);
            wakes.push(Op::Post(mine));
            let round = vec![run(args.get("cpu")), Op::Post(messages), Op::Wait(mine)];
            team.push(builder.thread_with("worker", vec![Op::repeat(rounds, round)]));
        }
        let messenger = builder.thread("messenger");
        for &worker in &team {
            builder.extend(messenger, [run(CREATE), Op::Fork(worker)]);
        }
        let pause = args.get("sleep");
        let work = varied(&mut random, u64::from(rounds), |random| {
            let mut ops = vec![Op::repeat(workers, vec![Op::Wait(messages)])];
            ops.push(sleep(pause + random.below(pause / 4 + 1)));
            ops.extend_from_slice(&wakes);
            ops
        });
        builder.extend(messenger, work);
        builder.extend(messenger, team.into_iter().map(Op::Join));
        messengers.push(messenger);
    }
    for &messenger in &messengers {
        builder.extend(main, [run(CREATE), Op::Fork(messenger)]);
    }
    builder.extend(main, messengers.into_iter().map(Op::Join));
    builder.finish()
}
