//! `configure`: a configuration script (autotools, cmake).
//!
//! "Typical software configuration code is based on shell scripts, and forks off hundreds or even
//! thousands of tasks, many running alone and with a short lifespan" (Nest paper, 5.2); for LLVM,
//! the pattern of short tasks, one or two at a time, "makes up around half of the execution; the
//! remainder involves longer non-concurrent tasks".
//!
//! The mix of short tests comes from recording an autoconf script (`strace -f`; a shell project
//! without compiler tests): 249 processes, of which half (127) never execute a program (subshells
//! and command substitutions with builtins only), 116 pipes; `cat` 33, `sed` 21, `rm` 15, then
//! `expr`, `basename`, `uname` and others, at most 6 each. A script for a compiled language adds
//! compiler tests, the "longer non-concurrent tasks": their share is a parameter.

use super::builder::{Builder, io};
use super::params::SEED;
use super::programs::*;
use super::random::Random;
use super::shell::{Program, Shell};
use super::{Args, Generator, Param};
use crate::Workload;

pub(super) const GENERATOR: Generator = Generator {
    name: "configure",
    summary: "a configuration script: many short tasks, one or two at a time, and compiler tests",
    params: &[
        Param::new(
            "tests",
            300,
            1,
            100_000,
            "tests",
            "checks of the script, about 3 processes each, 7 with the compiler",
        ),
        Param::new(
            "compile",
            20,
            0,
            100,
            "%",
            "tests that run the compiler (at 20 %, tasks of 5 ms and more take over 40 % of the CPU time)",
        ),
        Param::new(
            "io",
            5,
            0,
            100,
            "%",
            "tests that wait for a device once (config.log, directories not in the cache)",
        ),
        SEED,
    ],
    build,
};

/// What a test of the script does.
#[derive(Clone, Copy)]
enum Test {
    /// `cmd args`
    Command,
    /// `$(... | sed ...)`: a subshell with a pipeline.
    Substitution,
    /// `a | b | c` with three processes.
    Pipeline,
    /// `( test ... )`: a subshell that executes nothing.
    Builtins,
}

/// Chosen so that without compiler tests half of the processes execute no program, as recorded.
const MIX: &[(u64, Test)] =
    &[(45, Test::Command), (30, Test::Substitution), (10, Test::Pipeline), (15, Test::Builtins)];

/// The programs recorded, with their counts.
const PROGRAMS: &[(u64, Program)] = &[
    (33, ("cat", TINY)),
    (21, ("sed", FILTER)),
    (15, ("rm", TINY)),
    (6, ("expr", TINY)),
    (6, ("basename", TINY)),
    (6, ("uname", TINY)),
    (4, ("mkdir", TINY)),
    (4, ("ln", TINY)),
    (4, ("grep", FILTER)),
];

fn build(args: &Args) -> Workload {
    let mut random = Random::new(args.get("seed"));
    let mut builder = Builder::default();
    let me = builder.thread("configure");
    let mut shell = Shell { builder: &mut builder, random: &mut random, me };
    script(&mut shell, args.get("tests"), args.get("compile"), args.get("io"));
    builder.finish()
}

/// The body of a script of so many `tests`, of which `compile` percent run the compiler and
/// `io_percent` wait for a device.
pub(super) fn script(shell: &mut Shell, tests: u64, compile: u64, io_percent: u64) {
    for _ in 0..tests {
        if shell.random.percent(io_percent) {
            // A read from an SSD, journal and queue included: 100 to 500 us. Assumed.
            let wait = shell.random.around(300, 67);
            shell.step(io(wait));
        }
        shell.work(SCRIPT);
        // Each test logs what it does ("checking for ..."): a substitution of builtins.
        shell.subshell(|_| ());
        shell.work(SCRIPT);
        match shell.random.percent(compile) {
            true => compiler(shell),
            false => short(shell),
        }
    }
}

fn short(shell: &mut Shell) {
    match shell.random.choose(MIX) {
        Test::Command => {
            let program = shell.random.choose(PROGRAMS);
            shell.command(program);
        }
        Test::Substitution => shell.subshell(|inner| {
            let program = inner.random.choose(PROGRAMS);
            inner.pipeline(&[program, ("sed", FILTER)]);
        }),
        Test::Pipeline => {
            let program = shell.random.choose(PROGRAMS);
            shell.pipeline(&[program, ("sed", FILTER), ("grep", FILTER)]);
        }
        Test::Builtins => shell.subshell(|_| ()),
    }
}

/// A compiler test as autoconf writes it: the source is written by `cat`, compiled, half of the
/// time linked, half of those run, and all is removed.
fn compiler(shell: &mut Shell) {
    shell.command(("cat", TINY));
    let link = shell.random.percent(50);
    shell.compiler_test(link);
    if link && shell.random.percent(50) {
        shell.command(("conftest", CONFTEST));
    }
    shell.command(("rm", TINY));
    // The first errors of the log are looked for by a pipeline when a test fails.
    if shell.random.percent(30) {
        shell.pipeline(&[("grep", FILTER), ("sed", FILTER)]);
    }
}
