//! CPU times of the programs of a build.
//!
//! Measured as user plus system time of the child (`wait4`), 55 runs after 5 for warm-up, on a
//! virtual machine with an AMD EPYC at 2.4 GHz, Debian, GCC. Virtualised page faults make process
//! startup more expensive there than on bare metal, where half of [`TINY`] is usual. The numbers
//! are the measured quantiles, rounded, in microseconds. The 99 % quantile and the maximum, which
//! 55 runs do not give, are assumed to be up to twice the 90 % quantile, for page cache misses and
//! interrupts.

use super::random::Quantiles;

const fn quantiles(min: u64, half: u64, p90: u64) -> Quantiles {
    Quantiles { min, half, p90, p99: p90 * 3 / 2, max: p90 * 2 }
}

/// Parent's side of `fork` in a shell: copying page tables. Assumed: about a tenth of the total
/// cost of starting a program.
pub(super) const FORK: u64 = 100;
/// Work of the shell between fork and wait: bookkeeping, signal masks. Assumed.
pub(super) const BEFORE_WAIT: u64 = 20;
/// Work of a forked shell before `exec`: copy-on-write faults, redirections. Assumed.
pub(super) const UNTIL_EXEC: u64 = 100;
/// A forked shell that runs only builtins (`$(echo ...)`, `( test ... )`) and exits: a third of `sh
/// -c :`, because nothing is loaded. Assumed.
pub(super) const SUBSHELL: Quantiles = quantiles(200, 350, 600);
/// Interpreting the script between two commands. The recorded `configure` (see `configure.rs`) took
/// 0.32 s of CPU time for 249 processes, of which half never execute a program. The part not
/// explained by these is 0.1 to 0.5 ms per process.
pub(super) const SCRIPT: Quantiles = quantiles(30, 150, 600);

/// `true`, `cat`, `rm`, `mkdir`, `expr`, `uname`: 0.7 / 1.1 / 1.4 ms.
pub(super) const TINY: Quantiles = quantiles(700, 1_100, 1_400);
/// `sed`, `grep`: 1.4 / 1.6 / 1.9 ms (libraries, locale).
pub(super) const FILTER: Quantiles = quantiles(1_400, 1_600, 1_900);
/// A program that a test just compiled: 0.7 / 0.9 / 1.0 ms.
pub(super) const CONFTEST: Quantiles = quantiles(650, 900, 1_000);
/// The `gcc` driver without its children: 1.2 / 1.8 / 1.9 ms.
pub(super) const DRIVER: Quantiles = quantiles(1_200, 1_800, 1_900);
/// `cc1` on a ten-line test that includes the usual headers: 7.4 / 10 / 10.7 ms.
pub(super) const CC1_TEST: Quantiles = quantiles(7_400, 10_000, 10_700);
/// `as` on its output: 2.1 / 2.5 / 3.4 ms.
pub(super) const AS_TEST: Quantiles = quantiles(2_100, 2_500, 3_400);
/// `collect2`: a driver like `gcc`.
pub(super) const COLLECT2: Quantiles = quantiles(1_200, 1_500, 1_900);
/// `ld` for a test: linking with `gcc` takes 19 / 21 / 25 ms in total, minus driver and `collect2`.
pub(super) const LD_TEST: Quantiles = quantiles(15_500, 18_000, 21_000);
