use crate::arguments::{examples, or_stdin};
use crate::combinations::{Combinations, MatrixChoice};
use crate::failure::{Failure, Outcome};
use crate::{provenance, replay};
use hearth_workload::Workload;
use std::path::PathBuf;

/// Simulate a workload on machines, under governors and policies
///
/// Prints a table of time, energy, underload and overload, each a mean over the runs. The first policy under
/// the first governor is the baseline of each machine. With --schedule, replays a schedule that `hearth
/// modelcheck` found.
#[derive(clap::Args)]
#[command(override_usage = "hearth sim [OPTIONS] --workload <SPEC|FILE>\n       \
                            hearth sim --schedule <FILE> [--policy <NAME|FILE>] [--output <TRACE>] [--json]")]
#[command(after_help = examples(&[
    "hearth sim -w configure -m xeon-5218 -p eevdf -p nest",
    "hearth sim -w kbuild:jobs=64 -m ./mine.toml -p ./mine.ipa --runs 1 -o mine.trace",
]))]
pub struct Args {
    /// The workload: a generator (`hearth list workloads`), with parameters as `:NAME=VALUE,...`, or the path
    /// of a workload file or rt-app document. Arguments that end in .json or contain a `/` are paths
    #[arg(short, long, value_name = "SPEC|FILE", value_parser = or_stdin, required = true, help_heading = "What to simulate")]
    workload: Option<String>,

    /// Replay a schedule that `hearth modelcheck --output` wrote, on its small machine. If its policy is not
    /// built in, name the policy's file with --policy
    #[arg(long, value_name = "FILE", help_heading = "What to simulate", conflicts_with_all = NOT_OF_A_SCHEDULE)]
    schedule: Option<PathBuf>,

    #[command(flatten)]
    combinations: Combinations,
}

const NOT_OF_A_SCHEDULE: [&str; 10] =
    ["workload", "machines", "governors", "params", "seed", "runs", "noise", "world", "jobs", "report"];

impl Args {
    pub fn run(self) -> Outcome {
        if let Some(schedule) = &self.schedule {
            return replay::run(schedule, &self.combinations.of_replay()?);
        }
        let workload = self.workload.ok_or_else(|| Failure::usage("--workload is missing"))?;
        let MatrixChoice { matrix, here } = self.combinations.choose(1, false)?;
        let resolved = Workload::resolve_with_notes(&workload)?;
        let mut prediction = self.combinations.simulate(&matrix, &resolved.workload, resolved.notes)?;
        prediction.provenance.command = provenance::command();
        self.combinations.print(&prediction, here.as_deref(), true)
    }
}
