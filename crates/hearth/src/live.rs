//! Runs of a command on this machine, under the kernel's scheduler and under a policy.

use crate::failure::Failure;
use crate::progress;
use hearth_study::statistics::{Change, Sample, speedup};
use serde::Serialize;
use std::fmt;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The times of a command under both.
#[derive(Serialize)]
pub struct Comparison {
    policy: String,
    runs: u16,
    kernel_s: f64,
    policy_s: f64,
    speedup: f64,
    speedup_ci95: Option<[f64; 2]>,
}

impl Comparison {
    /// Whether the policy is surely faster (95%).
    pub fn is_faster(&self) -> bool {
        self.speedup_ci95.is_some_and(|[low, _]| low > 0.0)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Comparison { policy, runs, kernel_s, policy_s, .. } = self;
        write!(
            f,
            "On this machine, {runs} runs each: {kernel_s:.3} s under the kernel's scheduler, {policy_s:.3} s under {policy}"
        )?;
        write!(f, ": {:+.1}%", self.speedup * 100.0)?;
        self.speedup_ci95
            .map_or(Ok(()), |[low, high]| write!(f, " ({:.1} to {:.1})", low * 100.0, high * 100.0))
    }
}

/// Runs the command under both in turn, with one run of each before that does not count. Its output is discarded.
pub fn compare(policy: &str, command: &[String], runs: u16) -> Result<Comparison, Failure> {
    let hearth =
        std::env::current_exe().map_err(|error| Failure::new(format_args!("cannot find hearth: {error}")))?;
    let hearth = hearth.to_string_lossy().into_owned();
    let under: Vec<String> = [&hearth, "exec", policy, "--"]
        .map(str::to_owned)
        .into_iter()
        .chain(command.iter().cloned())
        .collect();
    let (mut kernel, mut own) = (Vec::new(), Vec::new());
    progress::during("running", 2 * (usize::from(runs) + 1), |step| {
        for run in 0..=runs {
            let times = (time(command)?, time(&under)?);
            step();
            step();
            if run > 0 {
                kernel.push(times.0);
                own.push(times.1);
            }
        }
        Ok::<(), Failure>(())
    })?;
    let (Some(kernel), Some(own)) = (Sample::of(kernel), Sample::of(own)) else {
        return Err(Failure::new("no run was measured"));
    };
    let Change { value, ci95 } = speedup(&kernel, &own);
    Ok(Comparison {
        policy: policy.to_owned(),
        runs,
        kernel_s: kernel.mean,
        policy_s: own.mean,
        speedup: value,
        speedup_ci95: ci95,
    })
}

/// The time of a run in seconds.
fn time(command: &[String]) -> Result<f64, Failure> {
    let (program, arguments) = command.split_first().ok_or_else(|| Failure::usage("no command is named"))?;
    let start = Instant::now();
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .map_err(|error| Failure::new(format_args!("cannot run {program}: {error}")))?;
    let elapsed = start.elapsed().as_secs_f64();
    if output.status.success() {
        return Ok(elapsed);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(format_args!("{} ended with {}: {}", command.join(" "), output.status, said.trim_end())))
}
