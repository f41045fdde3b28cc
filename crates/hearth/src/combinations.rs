//! Machines × governors × policies × seeds: what `predict` and `sim` have in common.

use crate::failure::{Failure, Outcome};
use crate::output;
use crate::prediction::{Prediction, Run, Setting, WorkloadFacts};
use crate::progress;
use hearth_machine::{Governor, Machine};
use hearth_policy::{ScopedAssignment, Settings, Spec, load, names};
use hearth_sim::{Job, Native};
use hearth_trace::{Event, Trace, Writer};
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

/// A policy with its parameters: a row of each machine's comparison.
struct Variant {
    /// The policy's name; where policies of several files have the same one, what the user called them.
    name: String,
    source: String,
    policy: Native,
    params: Settings,
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

    /// What can be said against the flags before any long work is done.
    pub fn check(&self) -> Result<(), Failure> {
        self.report.as_deref().map_or(Ok(()), output::check_writable)?;
        self.output.as_deref().map_or(Ok(()), output::check_trace)?;
        let combinations = self.machines()?.len()
            * unique(&self.governors).count()
            * self.variants()?.len()
            * self.runs() as usize;
        if self.output.is_some() && combinations != 1 {
            return Err(Failure::usage(format_args!(
                "--output takes the trace of one run, but {combinations} were asked for"
            ))
            .help("name one machine, one governor and one policy, and --runs 1; or use --report for a page about all of them"));
        }
        Ok(())
    }

    /// Simulates the workload under all combinations and tells the results. `notes` are what must be said
    /// about the workload.
    pub fn run(&self, workload: &Workload, notes: Vec<String>) -> Outcome {
        let (machines, variants) = (self.machines()?, self.variants()?);
        let mut jobs = Vec::new();
        let mut settings = Vec::new();
        for machine in &machines {
            for governor in unique(&self.governors) {
                for variant in &variants {
                    let setting = Setting {
                        machine: machine.name.clone(),
                        governor: governor.to_string(),
                        policy: variant.name.clone(),
                        params: variant.params.shown(variant.policy.policy()).collect(),
                    };
                    for seed in (self.seed..).take(self.runs() as usize) {
                        settings.push((setting.clone(), seed));
                        jobs.push(Job {
                            workload,
                            machine,
                            governor: *governor,
                            policy: &variant.policy,
                            params: &variant.params,
                            seed,
                            noise: self.noise / 100.0,
                        });
                    }
                }
            }
        }

        let threads = self.jobs.map_or(0, usize::from);
        let bar = progress::bar("simulating", jobs.len());
        let outcomes = hearth_sim::run_all(&jobs, threads, || bar.inc(1));
        bar.finish_and_clear();
        let runs = settings
            .into_iter()
            .zip(outcomes)
            .map(|((setting, seed), outcome)| Ok(Run::new(setting, seed, outcome.map_err(Failure::new)?)))
            .collect::<Result<Vec<_>, Failure>>()?;
        let prediction = Prediction::new(WorkloadFacts::of(workload, notes), runs);

        if let Some(path) = &self.output {
            let mut writer = Writer::create(path, &hearth_sim::header(&jobs[0]))?;
            let outcome = hearth_sim::run(&jobs[0], &mut writer).map_err(Failure::new)?;
            writer.commit(&outcome.header)?;
        }
        if let Some(path) = &self.report {
            let first: Vec<&Job> = jobs.iter().step_by(self.runs() as usize).collect();
            let page = prediction.page(|i| trace(first[i]), TIMELINE_COLUMNS)?;
            output::file(path, page.as_bytes())?;
        }
        if self.json {
            output::json(&prediction)?;
        } else {
            output::text(&prediction.text())?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn runs(&self) -> u64 {
        self.runs.unwrap_or(if self.output.is_some() { 1 } else { 5 })
    }

    fn machines(&self) -> Result<Vec<Machine>, Failure> {
        let mut machines: Vec<Machine> = Vec::new();
        for source in unique(&self.machines) {
            let mut machine = Machine::load(source)?;
            // A copy of a machine file may still have the original's name.
            if machines.iter().any(|other| other.name == machine.name) {
                machine.name = source.clone();
            }
            machines.push(machine);
        }
        Ok(machines)
    }

    fn variants(&self) -> Result<Vec<Variant>, Failure> {
        let all: Vec<Spec>;
        let specs = if self.policies.is_empty() {
            let spec = |name: &&str| Spec { source: name.to_string(), params: Vec::new() };
            all = names().iter().map(spec).collect();
            &all
        } else {
            &self.policies
        };
        let mut variants: Vec<Variant> = Vec::new();
        for spec in specs {
            let policy = load(&spec.source)?;
            // What is said of this variant counts more than what is said of the policy.
            let general = self.params.iter().filter(|p| p.policy == policy.name()).map(|p| &p.assignment);
            let params = Settings::parse(&policy, general.chain(&spec.params))?;
            if variants.iter().any(|v| v.source == spec.source && v.params == params) {
                continue;
            }
            // A changed copy of a policy may still have the original's name.
            let taken = variants.iter().any(|v| v.source != spec.source && v.name == policy.name());
            let name = if taken { spec.source.clone() } else { policy.name().to_owned() };
            let policy = Native::build(policy)?;
            variants.push(Variant { name, source: spec.source.clone(), policy, params });
        }
        if let Some(param) =
            self.params.iter().find(|param| !variants.iter().any(|v| v.policy.name() == param.policy))
        {
            let named: Vec<&str> = variants.iter().map(|v| v.policy.name()).collect();
            return Err(Failure::usage(format_args!(
                "--param {}.{} is about a policy that is not simulated here: these are {}",
                param.policy,
                param.assignment.name,
                named.join(", ")
            ))
            .help(format_args!("add --policy {}", param.policy)));
        }
        Ok(variants)
    }
}

/// Each value once, in order.
fn unique<T: PartialEq>(values: &[T]) -> impl Iterator<Item = &T> {
    values.iter().enumerate().filter(|(i, value)| !values[..*i].contains(value)).map(|(_, value)| value)
}

/// Runs a job (again), and keeps its events.
fn trace(job: &Job) -> Result<Trace, Failure> {
    let mut events: Vec<Event> = Vec::new();
    let outcome = hearth_sim::run(job, &mut events).map_err(Failure::new)?;
    Ok(Trace { header: outcome.header, events })
}
