//! `fork-wait`: starts one program after the other and waits for each.
//!
//! The purest form of the "fork() and wait()" pattern (Fewer Cores paper, section 2):
//! perl-benchmark-2, which "measures the startup time of the perl interpreter" and "mostly consists
//! of fork/wait patterns" (section 4.1). S_local and S_move gain most on it.

use super::builder::{Builder, run};
use super::params::SEED;
use super::programs::{BEFORE_WAIT, FORK, UNTIL_EXEC};
use super::random::Random;
use super::{Args, Generator, Param};
use crate::{Op, Workload};

pub(super) const GENERATOR: Generator = Generator {
    name: "fork-wait",
    summary: "a shell that runs one short program after the other (perl startup)",
    params: &[
        Param::new(
            "iterations",
            500,
            1,
            1_000_000,
            "programs",
            "number of programs run, one after the other",
        ),
        Param::new(
            "run",
            2_300,
            1,
            60_000_000,
            "us",
            "CPU time of a program (2.3 ms: measured for `perl -e 1`)",
        ),
        Param::new("spread", 5, 0, 100, "%", "maximum deviation from `run` (5 %: measured for perl)"),
        Param::new("between", 150, 0, 60_000_000, "us", "CPU time of the shell between two programs"),
        SEED,
    ],
    build,
};

fn build(args: &Args) -> Workload {
    let mut random = Random::new(args.get("seed"));
    let mut builder = Builder::default();
    let shell = builder.thread("sh");
    for _ in 0..args.get("iterations") {
        let work = random.around(args.get("run"), args.get("spread"));
        let child = builder.thread_with("sh", vec![run(UNTIL_EXEC), Op::Exec("perl".into()), run(work)]);
        builder.extend(
            shell,
            [run(args.get("between") + FORK), Op::Fork(child), run(BEFORE_WAIT), Op::Join(child)],
        );
    }
    builder.finish()
}
