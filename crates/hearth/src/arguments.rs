//! Arguments that several verbs take.

use clap::value_parser;
use hearth_policy::{Spec, SpecError};
use std::convert::Infallible;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Jobs {
    /// Number of jobs that run in parallel [default: one per CPU]
    #[arg(short, long, value_name = "N", value_parser = value_parser!(u16).range(1..))]
    jobs: Option<u16>,
}

impl Jobs {
    /// The number of threads; 0 for one per CPU.
    pub fn threads(&self) -> usize {
        self.jobs.map_or(0, usize::from)
    }

    /// Runs `work` on so many threads.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match rayon::ThreadPoolBuilder::new().num_threads(self.threads()).build() {
            Ok(pool) => pool.install(work),
            // Without worker threads, this one does all.
            Err(_) => work(),
        }
    }
}

#[derive(clap::Args)]
pub struct PolicyFile {
    /// A policy: the name of a built-in one (`hearth list policies`), or the path of an .ipa file
    #[arg(value_name = "POLICY", value_parser = or_stdin)]
    pub policy: String,
}

#[derive(clap::Args)]
pub struct WorkloadFile {
    /// A workload: a generator (`hearth list workloads`), with parameters as `:NAME=VALUE,...`, or the path
    /// of a workload file or rt-app document. Arguments that end in .json or contain a `/` are paths
    #[arg(value_name = "WORKLOAD", value_parser = or_stdin)]
    pub workload: String,
}

/// The path of standard input.
pub const STDIN: &str = "/dev/stdin";

/// A name or a path; `-` is standard input.
pub fn or_stdin(text: &str) -> Result<String, Infallible> {
    Ok(if text == "-" { STDIN } else { text }.into())
}

/// A policy with parameters; `-` is standard input.
pub fn policy(text: &str) -> Result<Spec, SpecError> {
    let spec: Spec = text.parse()?;
    let Ok(source) = or_stdin(&spec.source);
    Ok(Spec { source, ..spec })
}

/// A time, in seconds (`90`) or with a unit (`5min`).
pub fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map(Duration::from_secs);
    let time = seconds.or_else(|_| humantime::parse_duration(text));
    time.map_err(|_| "write a time as a number and a unit: 500ms, 10s, 2min".into())
}

/// A time of a trace: in seconds, which may have a fraction, or with a unit.
pub fn time_of_trace(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.map_or_else(|| duration(text), Ok)
}

/// As [`duration`], but greater than 0.
pub fn time(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    if time.is_zero() { Err("the time must be greater than 0".into()) } else { Ok(time) }
}

/// The examples at the end of a verb's help.
pub fn examples(lines: &[&str]) -> String {
    let header = clap::builder::Styles::styled();
    let header = header.get_header();
    format!("{header}Examples:{header:#}\n  {}", lines.join("\n  "))
}
