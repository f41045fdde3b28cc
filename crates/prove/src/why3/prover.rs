//! The provers as programs, and their limits.

use crate::error::Error;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Limit of processor time for a prover. It is a backstop: provers are bounded by steps, so that verdicts do not depend
/// on the machine or its load.
pub const PROVER_SECONDS: u64 = 600;

/// Limit of address space in bytes. Without it, a goal with too many paths exhausts memory.
const MOST_BYTES: u64 = 4 << 30;

/// Attempts with Z3: the threshold of eager instantiation, and thirds of the step limit. No threshold is best for all
/// goals. Model-based instantiation is off: it spends its time on models, which are not used.
pub type Attempts = &'static [(u32, u64)];

/// Those of a part of a goal, of a goal that may still be split, and of one that has too many paths for that.
pub const PARTS: Attempts = &[(5, 1), (10, 1), (5, 3)];
pub const WHOLES: Attempts = &[(5, 2)];
pub const LAST: Attempts = &[(8, 20), (10, 20)];

pub const CVC4_LIMIT: &[&str] = &["--rlimit=20000"];

/// Step limits of the search for a contradiction between assumptions.
pub const SOON: u64 = 200_000;
pub const CVC4_SOON: &[&str] = &["--full-saturate-quant", "--rlimit=50000"];

pub fn z3(smt: &Path, threshold: u32, steps: u64) -> Command {
    let mut command = Command::new("z3");
    command.args(["-smt2", "smt.mbqi=false", "smt.random_seed=42", "sat.random_seed=42"]);
    command.arg("nlsat.randomize=false").arg(format!("smt.qi.eager_threshold={threshold}"));
    command.arg(format!("rlimit={steps}")).arg(smt);
    command
}

pub fn ask_cvc4(smt: &Path, limits: &[&str]) -> Command {
    let mut command = Command::new("cvc4");
    command.arg("--lang=smt2").args(limits).arg(smt);
    command
}

/// Whether a prover finds a proof. `None`: it ended without an answer, as at its limit of time or memory.
pub fn answer(command: Command) -> Result<Option<bool>, Error> {
    let output = bounded(command, PROVER_SECONDS)?;
    Ok(output.and_then(|output| match output.stdout.split(|byte| *byte == b'\n').next() {
        Some(b"unsat") => Some(true),
        Some(b"unknown" | b"sat") => Some(false),
        _ => None,
    }))
}

/// The output of a command; `None` if it exceeds the limit of processor time or of memory ([`MOST_BYTES`]).
pub fn bounded(command: Command, seconds: u64) -> Result<Option<Output>, Error> {
    let output = limited(command, seconds)?.wait_with_output().map_err(Error::NoWhy3)?;
    let stopped = matches!(output.status.signal(), Some(libc::SIGXCPU | libc::SIGKILL | libc::SIGABRT));
    // OCaml reports memory exhaustion on stderr.
    let full =
        || String::from_utf8_lossy(&output.stderr).to_lowercase().replace('_', " ").contains("out of memory");
    Ok((!stopped && (output.status.success() || !full())).then_some(output))
}

/// Starts a command with limits of processor time and of memory. They are set from outside, because a closure between fork
/// and exec would make the start copy this process.
pub fn limited(mut command: Command, seconds: u64) -> Result<Child, Error> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(Error::NoWhy3)?;
    for (what, most) in [(libc::RLIMIT_CPU, seconds), (libc::RLIMIT_AS, MOST_BYTES)] {
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: a valid structure; the child is not waited for yet, so its number is its own.
        let set =
            unsafe { libc::prlimit(child.id() as libc::pid_t, what, &raw const limit, std::ptr::null_mut()) };
        if set != 0 {
            let error = io::Error::last_os_error();
            child.kill().and_then(|()| child.wait()).map_err(Error::NoWhy3)?;
            return Err(Error::NoWhy3(error));
        }
    }
    Ok(child)
}

/// The version that a program prints.
pub fn version(program: &str, before: &str) -> io::Result<String> {
    let output = Command::new(program).arg("--version").output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split(before).nth(1).and_then(|rest| rest.split_whitespace().next());
    version.map(str::to_owned).ok_or_else(|| io::Error::other(format!("{program} does not say its version")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_end_is_stopped() {
        let mut command = Command::new("sh");
        command.args(["-c", "kill -s XCPU $$"]);
        assert!(bounded(command, 5).expect("a shell").is_none());
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]);
        assert!(bounded(command, 1).expect("a shell").is_none());
    }
}
