//! `kbuild`: a build of the Linux kernel, `make -j`.
//!
//! The case study of the Fewer Cores paper (section 2, figure 1: Linux 5.4, -j320, 80 cores): 0-4.5
//! s mostly sequential with a short parallel phase, 4.5-18 s parallel, 18-22 s mostly sequential,
//! 22-31 s "mostly sequential code with very few active cores" and a short parallel phase. The
//! model has preparation, compilation, scripts and link. `kbuild:files=30` has the shape of
//! kbuild-sched (section 4.4), whose parallel phase is short.
//!
//! CPU time of a compilation: the parallel phase occupies the paper's 160 hardware threads for 13.5
//! s, i.e. 2160 thread-seconds. With about 2900 objects (assumed: a default configuration) that is
//! 0.7 s on a busy hyperthread, about 0.5 s on a core of its own. With the skew assumed below, a
//! mean of 0.5 s corresponds to a median of 0.4 s. The long sequential phase takes 9 s at 3.0 GHz
//! for the whole kernel, 13 s at the nominal frequency; scaled to the default 200 files, 0.9 s.

use super::builder::{Builder, run};
use super::configure;
use super::params::SEED;
use super::programs::*;
use super::random::{Quantiles, Random};
use super::shell::Shell;
use super::{Args, Generator, Param};
use crate::{Op, SemIdx, ThreadIdx, Workload};

pub(super) const GENERATOR: Generator = Generator {
    name: "kbuild",
    summary: "kernel build: sequential scripts, parallel compilation (-j), sequential link",
    params: &[
        Param::new("files", 200, 1, 100_000, "files", "source files to compile"),
        Param::new("dirs", 20, 1, 10_000, "directories", "directories, each with its own make"),
        Param::new("jobs", 32, 1, 100_000, "jobs", "parallel compilations (make -j)"),
        Param::new("compile", 400, 1, 60_000, "ms", "median CPU time of cc1 for one file"),
        Param::new("prepare", 150, 1, 10_000, "tests", "tests in the scripts before compilation"),
        Param::new("link", 900, 1, 600_000, "ms", "CPU time of the link phase"),
        SEED,
    ],
    build,
};

/// Percentage of the preparation's tests that try a compiler option (`cc-option`). Assumed.
const OPTION_TESTS: u64 = 30;
/// Percentage of tests that wait once for a device. Assumed: sources are in the page cache.
const IO_TESTS: u64 = 2;
/// `make` reads the makefiles of a directory: 10 ms ± 50 %. Assumed.
const PARSE: Quantiles = Quantiles { min: 5_000, half: 10_000, p90: 14_000, p99: 15_000, max: 15_000 };
/// CPU time of `as` for a source file, in percent of `cc1`. Assumed.
const AS_SHARE: u64 = 8;
/// CPU time of `fixdep` and `objtool`, filters over one file, in microseconds. Assumed.
const FIXDEP: Quantiles = Quantiles { min: 1_500, half: 2_500, p90: 4_000, p99: 6_000, max: 10_000 };
const OBJTOOL: Quantiles = Quantiles { min: 3_000, half: 8_000, p90: 20_000, p99: 40_000, max: 80_000 };

fn build(args: &Args) -> Workload {
    let mut random = Random::new(args.get("seed"));
    let mut builder = Builder::default();
    let me = builder.thread("make");
    let mut make = Shell { builder: &mut builder, random: &mut random, me };
    configure::script(&mut make, args.get("prepare"), OPTION_TESTS, IO_TESTS);
    compile(&mut make, args);
    // In the paper, the scripts between compilation and link take as long as the preparation.
    configure::script(&mut make, args.get("prepare"), 0, IO_TESTS);
    link(&mut make, args.get("link") * 1000);
    builder.finish()
}

/// The parallel phase: one `make` per directory, all with the same jobserver.
fn compile(make: &mut Shell, args: &Args) {
    let tokens = make.builder.semaphore(args.count("jobs"));
    let (files, dirs) = (args.get("files"), args.get("dirs"));
    let submakes: Vec<ThreadIdx> = (0..dirs)
        .map(|dir| {
            let submake = make.start(("make", PARSE));
            let share = files / dirs + u64::from(dir < files % dirs);
            let mut inner = Shell { builder: make.builder, random: make.random, me: submake };
            directory(&mut inner, share, args.get("compile") * 1000, tokens);
            submake
        })
        .collect();
    for submake in submakes {
        make.wait_for(submake);
    }
}

fn directory(make: &mut Shell, files: u64, cc1: u64, tokens: SemIdx) {
    // Assumed spread between files: headers give a minimum, and a few files are huge.
    let cost = Quantiles { min: cc1 * 2 / 5, half: cc1, p90: cc1 * 2, p99: cc1 * 4, max: cc1 * 8 };
    let jobs: Vec<ThreadIdx> = (0..files)
        .map(|_| {
            make.step(Op::Wait(tokens));
            let job = make.start(("sh", SUBSHELL));
            let mut shell = Shell { builder: make.builder, random: make.random, me: job };
            object(&mut shell, cost);
            // `make` returns the token when it reaps the job, i.e. when the job ends.
            shell.step(Op::Post(tokens));
            job
        })
        .collect();
    for job in jobs {
        make.wait_for(job);
    }
    make.command(("ar", TINY));
}

/// Appends the commands for one object file, run one after the other.
fn object(shell: &mut Shell, cost: Quantiles) {
    let us = cost.draw(shell.random);
    let exactly = |us| Quantiles { min: us, half: us, p90: us, p99: us, max: us };
    let gcc = shell.start(("gcc", DRIVER));
    let mut driver = Shell { builder: shell.builder, random: shell.random, me: gcc };
    driver.command(("cc1", exactly(us)));
    driver.command(("as", exactly(us * AS_SHARE / 100)));
    shell.wait_for(gcc);
    shell.command(("fixdep", FIXDEP));
    shell.command(("objtool", OBJTOOL));
}

/// The link phase: long programs, one after the other. Their shares follow what they read: all
/// objects three times (`vmlinux.o`, and twice with the symbol table), symbols in between. Assumed.
fn link(make: &mut Shell, total: u64) {
    let programs = [
        ("ld", 25),
        ("modpost", 10),
        ("ld", 15),
        ("nm", 4),
        ("kallsyms", 6),
        ("as", 5),
        ("ld", 15),
        ("objcopy", 5),
        ("gzip", 15),
    ];
    for (name, percent) in programs {
        make.work(SCRIPT);
        let child = make.start((name, TINY));
        make.builder.push(child, run(total * percent / 100));
        make.wait_for(child);
    }
}
