//! `daemons`: threads that wake up now and then for a short time, as on any machine.
//!
//! "System or daemon threads (e.g. systemd) that wake up and block immediately" (Fewer Cores paper, section 4.4). Run
//! them beside another workload: `mkl + daemons`.

use super::builder::{Builder, run, sleep, varied};
use super::params::SEED;
use super::random::Random;
use super::{Args, Generator, Param};
use crate::Workload;

pub(super) const GENERATOR: Generator = Generator {
    name: "daemons",
    summary: "threads that wake up now and then for a short time; run beside another workload",
    params: &[
        Param::new("threads", 8, 1, 4_096, "threads", "number of daemons (assumed)"),
        Param::new("run", 50, 1, 60_000_000, "us", "CPU time after a wake-up (assumed)"),
        Param::new("sleep", 10_000, 1, 60_000_000, "us", "median delay between two wake-ups (assumed)"),
        Param::new("wakeups", 100, 1, 10_000_000, "wake-ups", "wake-ups of each daemon, then it exits"),
        SEED,
    ],
    build,
};

fn build(args: &Args) -> Workload {
    let mut random = Random::new(args.get("seed"));
    let mut builder = Builder::default();
    for _ in 0..args.get("threads") {
        let ops = varied(&mut random, args.get("wakeups"), |random| {
            vec![sleep(random.around(args.get("sleep"), 50)), run(args.get("run"))]
        });
        builder.thread_with("daemon", ops);
    }
    builder.finish()
}
