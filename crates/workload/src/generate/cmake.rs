//! `cmake`: configuration by CMake with Ninja, as that of LLVM in the Nest paper's figures 2 and 3.
//!
//! A check compiles and links a small program in a project of its own (CMake's `try_compile`): CMake writes the project and
//! runs `ninja`, which runs the compiler driver for each of the two. Each process waits for its child.

use super::builder::Builder;
use super::params::SEED;
use super::programs::{DRIVER, TINY};
use super::random::{Quantiles, Random};
use super::shell::Shell;
use super::{Args, Generator, Param};
use crate::Workload;

pub(super) const GENERATOR: Generator = Generator {
    name: "cmake",
    summary: "configuration by CMake with Ninja: each check compiles and links a small program",
    params: &[Param::new("checks", 60, 1, 100_000, "checks", "checks, 7 processes each"), SEED],
    build,
};

/// CMake's own work for a check in microseconds: it writes and reads the project's files. Assumed: twice that of a compiler
/// driver.
const CMAKE: Quantiles = Quantiles {
    min: 2 * DRIVER.min,
    half: 2 * DRIVER.half,
    p90: 2 * DRIVER.p90,
    p99: 2 * DRIVER.p99,
    max: 2 * DRIVER.max,
};

fn build(args: &Args) -> Workload {
    let mut random = Random::new(args.get("seed"));
    let mut builder = Builder::default();
    let me = builder.thread("cmake");
    let mut cmake = Shell { builder: &mut builder, random: &mut random, me };
    for _ in 0..args.get("checks") {
        cmake.work(CMAKE);
        cmake.run_children(("ninja", TINY), |ninja| {
            ninja.driver(|gcc| gcc.compile());
            ninja.driver(|gcc| gcc.link());
        });
    }
    builder.finish()
}
