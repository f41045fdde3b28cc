//! The flags that `predict` and `sim` share.

use crate::arguments::{self, Jobs};
use crate::failure::{Failure, Outcome};
use crate::here::Here;
use crate::{output, prediction, progress};
use hearth_machine::{Governor, Scaling};
use hearth_policy::{ScopedAssignment, Spec};
use hearth_sim::World;
use hearth_study::tune::BASELINE;
use hearth_study::{Keep, Matrix, Prediction, Selection};
use hearth_workload::Workload;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Combinations {
    /// A machine to simulate: the name of a built-in one (`hearth list machines`), or the path of a machine
    /// file. Repeatable [default: this machine, xeon-5218 and xeon-6130-4s]
    #[arg(short, long = "machine", value_name = "NAME|FILE", help_heading = WHAT)]
    machines: Vec<String>,

    /// The frequency governor: schedutil, performance or powersave, also of another driver of the machine:
    /// `amd-pstate/schedutil`. Repeatable [default: schedutil, or that of this machine without --machine; `predict` adds
    /// performance, and for the baseline's policy each other driver and governor of the machine]
    #[arg(short, long = "governor", value_name = "[DRIVER/]GOVERNOR", help_heading = WHAT)]
    governors: Vec<Scaling>,

    /// A policy: the name of a built-in one (`hearth list policies`), or the path of an .ipa file. May be
    /// followed by parameters: `:NAME=VALUE,...`. Repeatable. The first policy, under the first governor, is
    /// the baseline of each machine [default: all built-in policies, first eevdf: the scheduler of today's Linux]
    #[arg(short, long = "policy", value_name = "NAME|FILE[:PARAMS]", value_parser = arguments::policy, help_heading = WHAT)]
    policies: Vec<Spec>,

    /// Set a parameter of a policy, in all its simulations: `nest.s_max=4ticks`, `cfs.latency=12ms`.
    /// Repeatable
    #[arg(long = "param", value_name = "POLICY.NAME=VALUE", help_heading = WHAT)]
    params: Vec<ScopedAssignment>,

    /// Seed of the first run. The same seed gives the same trace
    #[arg(long, default_value_t = 1, help_heading = HOW)]
    seed: u64,

    /// Number of runs of each combination, with successive seeds [default: 5, or 1 with --output]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000), help_heading = HOW)]
    runs: Option<u64>,

    /// Random variation of each piece of work, in per cent of its cycles: 0 to 50
    #[arg(long, value_name = "PERCENT", default_value_t = hearth_sim::NOISE * 100.0, value_parser = noise, help_heading = HOW)]
    noise: f64,

    /// The world around the workload: `all`, `empty`, or parts separated by commas: warm (a run before it), daemons,
    /// search (placements take time), races (placements at the same time collide), handovers (a thread runs on
    /// after it has woken another), sched_ext (schedutil asks for the highest frequency under all policies but eevdf)
    /// [default: handovers; for predictions handovers,sched_ext]
    #[arg(long, value_name = "PARTS", help_heading = HOW)]
    world: Option<World>,

    #[command(flatten, next_help_heading = HOW)]
    jobs: Jobs,

    /// Print JSON (schema hearth.predict/1) instead of a table
    #[arg(long, help_heading = RESULTS)]
    pub json: bool,

    /// Write an HTML page with the table, the distributions and the execution traces
    #[arg(long, value_name = "FILE.html", help_heading = RESULTS)]
    report: Option<PathBuf>,

    /// Write the simulated trace. Requires exactly one machine, governor, policy and run
    #[arg(short, long, value_name = "TRACE", help_heading = RESULTS)]
    output: Option<PathBuf>,
}

/// The flags that apply to the replay of a schedule.
pub struct ReplayFlags<'a> {
    pub policy: Option<&'a str>,
    pub output: Option<&'a Path>,
    pub json: bool,
}

const WHAT: &str = "What to simulate";
const HOW: &str = "Simulation";
const RESULTS: &str = "Results";

/// What is simulated beside this machine if no machine is named: a two-socket and a four-socket server.
const SERVERS: [&str; 2] = ["xeon-5218", "xeon-6130-4s"];

/// What the flags select.
pub struct MatrixChoice {
    pub matrix: Matrix,
    /// Name of this machine, if no machine was named.
    pub here: Option<String>,
}

/// Number of time intervals in the execution traces of a report.
const TIMELINE_COLUMNS: u32 = 2000;

fn noise(text: &str) -> Result<f64, String> {
    let percent: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    (0.0..=50.0).contains(&percent).then_some(percent).ok_or_else(|| "must be between 0 and 50".into())
}

impl Combinations {
    /// Selects a policy beside today's kernel, which is the baseline.
    pub fn compare(&mut self, policy: Spec) {
        self.policies = vec![Spec { source: BASELINE.into(), params: Vec::new() }, policy];
    }

    /// The flags of a replay. Fails if the policy is not unique or has parameters.
    pub fn of_replay(&self) -> Result<ReplayFlags<'_>, Failure> {
        let policy = match self.policies.as_slice() {
            [] => None,
            [only] if only.params.is_empty() => Some(only.source.as_str()),
            [_] => {
                return Err(Failure::usage("--schedule replays with the parameters in the schedule")
                    .help("remove the parameters after the policy's name"));
            }
            _ => return Err(Failure::usage("--schedule replays one policy, but several are named")),
        };
        Ok(ReplayFlags { policy, output: self.output.as_deref(), json: self.json })
    }

    /// Checks the flags and loads the machines and policies, for the simulation of so many workloads.
    /// `predicts`: without --governor, also simulate the governor `performance`, and without --world, policies as
    /// `hearth run` runs them.
    pub fn choose(&self, workloads: usize, predicts: bool) -> Result<MatrixChoice, Failure> {
        self.report.as_deref().map_or(Ok(()), output::check_writable)?;
        self.output.as_deref().map_or(Ok(()), output::check_trace)?;
        let detected = self.machines.is_empty().then(Here::detect);
        let here =
            detected.and_then(|here| here.map_err(|failure| failure.warn("this machine is left out")).ok());
        let governor = here.as_ref().and_then(|here| here.governor).unwrap_or(Governor::Schedutil);
        let compares_governors = predicts && self.output.is_none() && self.governors.is_empty();
        let mut default: Vec<Scaling> = vec![governor.into()];
        if compares_governors && governor != Governor::Performance {
            default.push(Governor::Performance.into());
        }
        let selection = Selection {
            machines: match self.machines.as_slice() {
                [] => SERVERS.map(str::to_owned).into(),
                named => named.into(),
            },
            governors: if self.governors.is_empty() { default } else { self.governors.clone() },
            policies: self.policies.clone(),
            params: self.params.clone(),
        };
        let mut matrix = Matrix {
            seed: self.seed,
            runs: self.runs.unwrap_or(if self.output.is_some() { 1 } else { 5 }),
            noise: self.noise / 100.0,
            world: self.world.unwrap_or(World { sched_ext: predicts, ..World::default() }),
            threads: self.jobs.threads(),
            other_governors: compares_governors,
            ..progress::meanwhile("compiling the policies", || Matrix::load(&selection))?
        };
        let name = here.as_ref().map(|here| here.machine.name.clone());
        if let Some(here) = here {
            eprintln!("note: {}", here.about);
            matrix.gaps = Some(here.gaps);
            matrix.machines.insert(0, here.machine);
            matrix.check_drivers()?;
        }
        let combinations = matrix.len() * workloads;
        if self.output.is_some() && combinations != 1 {
            return Err(Failure::usage(format_args!(
                "--output writes the trace of one run, but {combinations} are selected"
            ))
            .help("select one machine, one governor, one policy and --runs 1; or write a page about all with --report"));
        }
        Ok(MatrixChoice { matrix, here: name })
    }

    /// Simulates the workload in all combinations. `notes` are remarks on it.
    pub fn simulate(
        &self,
        matrix: &Matrix,
        workload: &Workload,
        notes: Vec<String>,
    ) -> Result<Prediction, Failure> {
        let keep =
            Keep { trace: self.output.as_deref(), columns: self.report.as_ref().map(|_| TIMELINE_COLUMNS) };
        Ok(progress::during("simulating", matrix.len(), |step| matrix.predict(workload, notes, &keep, step))?)
    }

    /// Writes the page, and prints the results.
    pub fn print(&self, prediction: &Prediction, here: Option<&str>, all: bool) -> Outcome {
        if let Some(path) = &self.report {
            output::file(path, prediction.page().as_bytes())?;
        }
        output::print(self.json, prediction, || prediction::text(prediction, here, all))
    }
}
