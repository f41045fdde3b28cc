//! The flags that `predict` and `sim` have in common.

use crate::failure::{Failure, Outcome};
use crate::{output, prediction, progress};
use hearth_machine::Governor;
use hearth_policy::{ScopedAssignment, Spec};
use hearth_study::{Keep, Matrix, Selection};
use hearth_workload::Workload;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Combinations {
    /// A machine: a built-in one (`hearth list machines`), or the path of a machine file. Repeatable
    #[arg(short, long = "machine", value_name = "NAME|FILE", required = true, help_heading = WHAT)]
    machines: Vec<String>,

    /// A frequency governor: schedutil, performance or powersave. Repeatable
    #[arg(short, long = "governor", value_name = "GOVERNOR", default_value = "schedutil", help_heading = WHAT)]
    governors: Vec<Governor>,

    /// A policy: a built-in one (`hearth list policies`), or the path of an .ipa file; with
    /// `:NAME=VALUE,...` appended, under these parameters. Repeatable; without any, all built-in ones.
    /// The first one, under the first governor, is the baseline of each machine
    #[arg(short, long = "policy", value_name = "NAME|FILE[:PARAMS]", help_heading = WHAT)]
    policies: Vec<Spec>,

    /// A parameter of a policy, wherever the policy is named: `nest.s_max=4ticks`, `cfs.latency=12ms`,
    /// `nest.attachment=false`. Repeatable
    #[arg(long = "param", value_name = "POLICY.NAME=VALUE", help_heading = WHAT)]
    params: Vec<ScopedAssignment>,

    /// The seed of the first run
    #[arg(long, default_value_t = 1, help_heading = HOW)]
    seed: u64,

    /// Runs of each combination, with successive seeds [default: 5; with --output 1]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000), help_heading = HOW)]
    runs: Option<u64>,

    /// Per cent by which a seed varies each piece of work, up or down
    #[arg(long, value_name = "PERCENT", default_value_t = hearth_sim::NOISE * 100.0, value_parser = noise, help_heading = HOW)]
    noise: f64,

    /// Simulations at a time [default: one on each core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = HOW)]
    jobs: Option<u16>,

    /// Print JSON (schema hearth.predict/1) instead of a table
    #[arg(long, help_heading = RESULTS)]
    json: bool,

    /// Write a self-contained page with the table, the distributions and the execution traces
    #[arg(long, value_name = "FILE.html", help_heading = RESULTS)]
    report: Option<PathBuf>,

    /// Write the simulated trace. For exactly one machine, governor, policy and run
    #[arg(short, long, value_name = "TRACE", help_heading = RESULTS)]
    output: Option<PathBuf>,
}

/// The flags that matter when a schedule is replayed.
pub struct ReplayFlags<'a> {
    pub policy: Option<&'a str>,
    pub output: Option<&'a Path>,
    pub json: bool,
}

const WHAT: &str = "What to simulate";
const HOW: &str = "How";
const RESULTS: &str = "Results";

/// Columns of time in a report's execution trace.
const TIMELINE_COLUMNS: u32 = 2000;

fn noise(text: &str) -> Result<f64, String> {
    let percent: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    (0.0..=50.0).contains(&percent).then_some(percent).ok_or_else(|| "it must be between 0 and 50".into())
}

impl Combinations {
    /// What a replay takes of the flags.
    pub fn of_replay(&self) -> Result<ReplayFlags<'_>, Failure> {
        match self.policies.as_slice() {
            [] => Ok(ReplayFlags { policy: None, output: self.output.as_deref(), json: self.json }),
            [only] if only.params.is_empty() => {
                let policy = Some(only.source.as_str());
                Ok(ReplayFlags { policy, output: self.output.as_deref(), json: self.json })
            }
            [_] => Err(Failure::usage("a schedule has the parameters that it was found with")
                .help("name the policy without any")),
            _ => Err(Failure::usage("a schedule is of one policy, but several are named")),
        }
    }

    /// Loads what the flags name, and says what is wrong with them before any long work is done.
    pub fn matrix(&self) -> Result<Matrix, Failure> {
        self.report.as_deref().map_or(Ok(()), output::check_writable)?;
        self.output.as_deref().map_or(Ok(()), output::check_trace)?;
        let matrix = Matrix {
            seed: self.seed,
            runs: self.runs.unwrap_or(if self.output.is_some() { 1 } else { 5 }),
            noise: self.noise / 100.0,
            threads: self.jobs.map_or(0, usize::from),
            ..Matrix::load(&Selection {
                machines: self.machines.clone(),
                governors: self.governors.clone(),
                policies: self.policies.clone(),
                params: self.params.clone(),
            })?
        };
        let combinations = matrix.len();
        if self.output.is_some() && combinations != 1 {
            return Err(Failure::usage(format_args!(
                "--output takes the trace of one run, but {combinations} were asked for"
            ))
            .help("name one machine, one governor and one policy, and --runs 1; or use --report for a page about all of them"));
        }
        Ok(matrix)
    }

    /// Simulates the workload in all settings and tells the results. `notes` are what must be said
    /// about the workload.
    pub fn run(&self, matrix: &Matrix, workload: &Workload, notes: Vec<String>) -> Outcome {
        let keep =
            Keep { trace: self.output.as_deref(), columns: self.report.as_ref().map(|_| TIMELINE_COLUMNS) };
        let bar = progress::bar("simulating", matrix.len());
        let prediction = matrix.predict(workload, notes, &keep, || bar.inc(1));
        bar.finish_and_clear();
        let prediction = prediction?;
        if let Some(path) = &self.report {
            output::file(path, prediction.page().as_bytes())?;
        }
        if self.json {
            output::json(&prediction)?;
        } else {
            output::text(&prediction::text(&prediction))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
