use crate::arguments::Jobs;
use crate::failure::{Failure, Outcome};
use crate::output::{self, Document, count};
use crate::progress;
use hearth_features::Model;
use hearth_machine::Scaling;
use hearth_policy::{ScopedAssignment, Spec};
use hearth_sim::World;
use hearth_study::sweep::{GiveUp, Sweep, sweep_of};
use hearth_study::{Matrix, Selection};
use hearth_workload::Workload;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Simulate workloads × machines × governors × policies × seeds, and write a row for each run to a Parquet table
///
/// A sweep that was stopped continues where it was: run the same command again. The finished parts are in the folder
/// TABLE.parts until the table is complete. The table does not depend on the number of jobs. With --part, several processes
/// or machines that share the folder do a part each.
#[derive(clap::Args)]
pub struct Args {
    /// A workload, as for `hearth sim`. Repeatable
    #[arg(short, long = "workload", value_name = "SPEC|FILE", required = true, help_heading = WHAT)]
    workloads: Vec<String>,

    /// A machine, as for `hearth sim`. Repeatable
    #[arg(short, long = "machine", value_name = "NAME|FILE", required = true, help_heading = WHAT)]
    machines: Vec<String>,

    /// The frequency governor: schedutil, performance or powersave. Repeatable
    #[arg(short, long = "governor", value_name = "GOVERNOR", default_value = "schedutil", help_heading = WHAT)]
    governors: Vec<Scaling>,

    /// A policy, as for `hearth sim`. Repeatable. The first is the one that others are compared with [default: all
    /// built-in policies]
    #[arg(short, long = "policy", value_name = "NAME|FILE[:PARAMS]", help_heading = WHAT)]
    policies: Vec<Spec>,

    /// Add all products of a feature model (`hearth features list`). They come after the policies
    #[arg(long, value_name = "MODEL", help_heading = WHAT)]
    products: Option<String>,

    /// Set a parameter of a policy, in all its simulations. Repeatable
    #[arg(long = "param", value_name = "POLICY.NAME=VALUE", help_heading = WHAT)]
    params: Vec<ScopedAssignment>,

    /// Seed of the first run. All policies have the same random numbers
    #[arg(long, default_value_t = 1, help_heading = HOW)]
    seed: u64,

    /// Number of runs of each combination, with successive seeds
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=10_000), help_heading = HOW)]
    runs: u64,

    /// The world around the workload, as for `hearth sim`
    #[arg(long, value_name = "PARTS", default_value_t = World::default(), help_heading = HOW)]
    world: World,

    /// Run a policy with no more seeds if the first three show with 95% confidence that it takes PERCENT % longer
    /// than the first policy
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(1..), help_heading = HOW)]
    give_up: Option<u32>,

    /// Do every N-th part only, beginning with the K-th. The process that finishes the last part writes the table
    #[arg(long, value_name = "K/N", default_value = "1/1", help_heading = HOW)]
    part: Part,

    #[command(flatten, next_help_heading = HOW)]
    jobs: Jobs,

    /// The table to write
    #[arg(short, long, value_name = "TABLE.parquet")]
    output: PathBuf,

    /// Print a summary as JSON (schema hearth.study.run/1)
    #[arg(long)]
    json: bool,
}

const WHAT: &str = "What to simulate";
const HOW: &str = "Simulation";

/// Every `of`-th part, beginning with number `first` (from 0).
#[derive(Clone, Copy)]
struct Part {
    first: usize,
    of: usize,
}

impl FromStr for Part {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Part, Self::Err> {
        let numbers = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        let (k, of): (usize, usize) = numbers.ok_or("expected K/N, for example 2/4")?;
        if (1..=of).contains(&k) { Ok(Part { first: k - 1, of }) } else { Err("K must be between 1 and N") }
    }
}

#[derive(Serialize)]
struct Summary<'a> {
    table: &'a Path,
    /// Whether the table is written.
    complete: bool,
    runs: usize,
}

impl Args {
    pub fn run(self) -> Outcome {
        output::check_writable(&self.output)?;
        let (table, folder) = (&self.output, self.folder());
        let sweep = self.sweep()?;
        let name = sweep.name().map_err(|error| Failure::new(format_args!("cannot read hearth: {error}")))?;
        let is_complete = || sweep_of(table).as_ref() == Some(&name);
        if table.exists() && !folder.exists() {
            if !is_complete() {
                return Err(Failure::new(format_args!(
                    "{} exists, and is not of this sweep",
                    table.display()
                ))
                .help("remove it, or name another file"));
            }
            return self.print(true, sweep.runs());
        }
        let numbers: Vec<usize> = (self.part.first..sweep.chunks().len()).step_by(self.part.of).collect();
        let ran = progress::during("simulating", sweep.runs() / self.part.of, |step| {
            sweep.run(&folder, &numbers, |runs| (0..runs).for_each(|_| step()))
        });
        match ran.and_then(|()| sweep.merge(&folder, table)) {
            Ok(Some(_)) => {
                let failed =
                    |error| Failure::new(format_args!("cannot remove {}: {error}", folder.display()));
                fs::remove_dir_all(&folder).or_else(absent).map_err(failed)?;
            }
            // Another process may have written the table, and removed the parts.
            Err(error) if !is_complete() => return Err(error.into()),
            _ => {}
        }
        self.print(is_complete(), sweep.runs())
    }

    fn print(&self, complete: bool, runs: usize) -> Outcome {
        let table = &self.output;
        let content = Summary { table, complete, runs };
        output::print(self.json, &Document { schema: "hearth.study.run/1", content }, || match complete {
            true => format!("{}: {}\n", table.display(), count(runs, "run")),
            false => format!("{}: this part is done; others are missing\n", self.folder().display()),
        })
    }

    /// The folder of the finished parts.
    fn folder(&self) -> PathBuf {
        let mut name = self.output.clone().into_os_string();
        name.push(".parts");
        name.into()
    }

    fn policies(&self) -> Result<Vec<Spec>, Failure> {
        let mut policies = self.policies.clone();
        if let Some(name) = &self.products {
            let products = Model::named(name).map_err(Failure::usage)?.products();
            policies.extend(products.iter().map(|one| Spec { source: one.name(), params: Vec::new() }));
        }
        Ok(policies)
    }

    fn sweep(&self) -> Result<Sweep, Failure> {
        // First what is checked in no time.
        let workloads = self.workloads.iter().map(|spec| Workload::resolve(spec));
        let workloads = workloads.collect::<Result<_, _>>()?;
        let selection = Selection {
            machines: self.machines.clone(),
            governors: self.governors.clone(),
            policies: self.policies()?,
            params: self.params.clone(),
        };
        let matrix = Matrix {
            seed: self.seed,
            runs: self.runs,
            world: self.world,
            threads: self.jobs.threads(),
            ..progress::meanwhile("compiling the policies", || Matrix::load(&selection))?
        };
        let slower = self.give_up.map(|percent| f64::from(percent) / 100.0);
        Ok(Sweep { workloads, matrix, give_up: GiveUp { slower, ..GiveUp::default() } })
    }
}

/// Another process may have finished the sweep at the same time.
fn absent(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}
