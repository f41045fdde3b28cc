//! What the programs of a build cost in CPU time.
//!
//! Measured as user plus system time of the child (`wait4`), 55 runs each after 5 to warm up, on a
//! virtual machine with an AMD EPYC at 2.4 GHz, Debian, GCC; virtualised page faults make starting
//! a process dearer there than on bare metal, where half of [`TINY`] is usual. The
//! figures here are the measured quantiles rounded, in microseconds; 99 % and maximum, which 55 runs
//! do not give, are assumed to be up to twice the 90 %, for page cache misses and interrupts.

use super::random::Quantiles;

const fn quantiles(min: u64, half: u64, p90: u64) -> Quantiles {
    Quantiles { min, half, p90, p99: p90 * 3 / 2, max: p90 * 2 }
}

/// Parent's side of `fork` of a shell: copying page tables. Assumed: about a tenth of what
/// starting a program costs in all.
pub(super) const FORK: u64 = 100;
/// What the shell does between fork and wait: bookkeeping, signal masks. Assumed.
pub(super) const BEFORE_WAIT: u64 = 20;
/// What a forked shell runs until `exec`: copy-on-write faults, redirections. Assumed.
pub(super) const UNTIL_EXEC: u64 = 100;
/// A forked shell that runs only builtins (`$(echo ...)`, `( test ... )`) and exits: a third of
/// what `sh -c :` takes, because nothing is loaded. Assumed.
pub(super) const SUBSHELL: Quantiles = quantiles(200, 350, 600);
/// Interpreting the script between two commands. The `configure` recorded (see `configure.rs`)
/// took 0.32 s of CPU time for 249 processes of which half never execute a program; what these do
/// not explain is 0.1 to 0.5 ms per process.
pub(super) const SCRIPT: Quantiles = quantiles(30, 150, 600);

/// `true`, `cat`, `rm`, `mkdir`, `expr`, `uname`: 0.7 / 1.1 / 1.4 ms.
pub(super) const TINY: Quantiles = quantiles(700, 1_100, 1_400);
/// `sed`, `grep`: 1.4 / 1.6 / 1.9 ms (libraries, locale).
pub(super) const FILTER: Quantiles = quantiles(1_400, 1_600, 1_900);
/// A program just compiled by a test: 0.7 / 0.9 / 1.0 ms.
pub(super) const CONFTEST: Quantiles = quantiles(650, 900, 1_000);
/// The `gcc` driver, children not counted: 1.2 / 1.8 / 1.9 ms.
pub(super) const DRIVER: Quantiles = quantiles(1_200, 1_800, 1_900);
/// `cc1` on a test of ten lines that includes the usual headers: 7.4 / 10 / 10.7 ms.
pub(super) const CC1_TEST: Quantiles = quantiles(7_400, 10_000, 10_700);
/// `as` on its output: 2.1 / 2.5 / 3.4 ms.
pub(super) const AS_TEST: Quantiles = quantiles(2_100, 2_500, 3_400);
/// `collect2`: a driver like `gcc`.
pub(super) const COLLECT2: Quantiles = quantiles(1_200, 1_500, 1_900);
/// `ld` of a test: `gcc` linking takes 19 / 21 / 25 ms in all, less driver and `collect2`.
pub(super) const LD_TEST: Quantiles = quantiles(15_500, 18_000, 21_000);
