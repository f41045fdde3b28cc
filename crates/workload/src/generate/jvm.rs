//! `jvm`: a Java program with one thread of its own, beside the compiler and the collector of its virtual machine.
//!
//! DaCapo's fop "only involves one application task (in addition to JIT compilation and garbage collection)" (Nest
//! paper, section 5.3). The application computes; now and then it hands methods to the compiler threads, and waits while
//! the threads of the collector work. All numbers are assumptions.

use super::barrier::CREATE;
use super::builder::{Builder, run, varied};
use super::params::SEED;
use super::random::Random;
use super::{Args, Generator, Param};
use crate::{Op, ThreadIdx, Workload};

pub(super) const GENERATOR: Generator = Generator {
    name: "jvm",
    summary: "one application thread, with compiler and garbage collector threads (DaCapo fop)",
    params: &[
        Param::new(
            "steps",
            60,
            1,
            1_000_000,
            "steps",
            "steps of the application, each ends with a collection",
        ),
        Param::new("step", 20_000, 1, 60_000_000, "us", "CPU time of the application in a step (assumed)"),
        Param::new(
            "compilers",
            3,
            0,
            64,
            "threads",
            "compiler threads (assumed: as HotSpot starts on a small load)",
        ),
        Param::new(
            "compile",
            2_000,
            1,
            60_000_000,
            "us",
            "CPU time of each compiler thread in a step (assumed)",
        ),
        Param::new("collectors", 8, 0, 256, "threads", "threads of the collector (assumed)"),
        Param::new(
            "collect",
            500,
            1,
            60_000_000,
            "us",
            "CPU time of each collector thread in a collection (assumed)",
        ),
        SEED,
    ],
    build,
};

/// Maximum deviation of all CPU times, in percent. Assumed.
const SPREAD: u64 = 30;

fn build(args: &Args) -> Workload {
    let steps = args.get("steps");
    let mut random = Random::new(args.get("seed"));
    let mut builder = Builder::default();
    let app = builder.thread("java");
    let done = builder.semaphore(0);
    let mut helpers: Vec<ThreadIdx> = Vec::new();
    // Wakes all threads of a kind; each works once and, if the application waits for it, reports.
    let mut kind = |builder: &mut Builder, name: &str, count: u64, us: u64, reports: bool| -> Vec<Op> {
        let mut wakes = Vec::new();
        for _ in 0..count {
            let mine = builder.semaphore(0);
            let ops = varied(&mut random, steps, |random| {
                let mut ops = vec![Op::Wait(mine), run(random.around(us, SPREAD))];
                ops.extend(reports.then_some(Op::Post(done)));
                ops
            });
            helpers.push(builder.thread_with(name, ops));
            wakes.push(Op::Post(mine));
        }
        wakes
    };
    let compile = kind(&mut builder, "compiler", args.get("compilers"), args.get("compile"), false);
    let collect = kind(&mut builder, "collector", args.get("collectors"), args.get("collect"), true);
    for &helper in &helpers {
        builder.extend(app, [run(CREATE), Op::Fork(helper)]);
    }
    let mut random = Random::new(args.get("seed").wrapping_add(1));
    let ops = varied(&mut random, steps, |random| {
        let half = random.around(args.get("step") / 2, SPREAD);
        let mut ops = vec![run(half)];
        ops.extend_from_slice(&compile);
        ops.push(run(half));
        ops.extend_from_slice(&collect);
        if !collect.is_empty() {
            ops.push(Op::repeat(collect.len() as u32, vec![Op::Wait(done)]));
        }
        ops
    });
    builder.extend(app, ops);
    builder.extend(app, helpers.into_iter().map(Op::Join));
    builder.finish()
}
