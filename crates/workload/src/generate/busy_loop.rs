//! `busy-loop`: one thread that computes once, then a silence.
//!
//! The load of the frequency transition tool (Fewer Cores paper, section 2, figure 3): "an isolated busy loop" of 0.20 s
//! on one core. A second thread sleeps until the end, so that the run does not end with the loop.

use super::builder::{Builder, run, sleep};
use super::{Args, Generator, Param};
use crate::Workload;

pub(super) const GENERATOR: Generator = Generator {
    name: "busy-loop",
    summary: "one thread that computes once, then silence (frequency transitions)",
    params: &[
        Param::new(
            "run",
            270_000,
            1,
            60_000_000,
            "us",
            "CPU time of the loop at 2.1 GHz (Fewer Cores, figure 3: 0.20 s, mostly at 3.0 GHz)",
        ),
        Param::new(
            "total",
            600_000,
            1,
            600_000_000,
            "us",
            "length of the run (figure 3 shows 0.1 s after the loop)",
        ),
    ],
    build,
};

fn build(args: &Args) -> Workload {
    let mut builder = Builder::default();
    builder.thread_with("loop", vec![run(args.get("run"))]);
    builder.thread_with("rest", vec![sleep(args.get("total"))]);
    builder.finish()
}
