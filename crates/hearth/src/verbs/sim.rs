use crate::combinations::Combinations;
use crate::failure::{Failure, Outcome};
use crate::replay;
use hearth_workload::Workload;
use std::path::PathBuf;

/// Simulate a workload: on machines, under governors and policies
///
/// Prints one table; the first policy under the first governor is the baseline of each machine. With --schedule, lets
/// happen again what `hearth modelcheck` has found.
#[derive(clap::Args)]
#[command(override_usage = "hearth sim [OPTIONS] --workload <SPEC|FILE> --machine <NAME|FILE>\n       \
                            hearth sim --schedule <FILE> [--policy <NAME|FILE>] [--output <TRACE>] [--json]")]
pub struct Args {
    /// A generator (`hearth list workloads`), with `:NAME=VALUE,...` appended under these parameters; or the
    /// path of a workload file or of an rt-app document (what ends in .json or has a `/` is a path)
    #[arg(short, long, value_name = "SPEC|FILE", required = true, help_heading = "What to simulate")]
    workload: Option<String>,

    /// A schedule that `hearth modelcheck --output` wrote, instead of a workload: lets it happen again on its small
    /// machine, step by step. The policy is that of the schedule, or --policy names its file
    #[arg(long, value_name = "FILE", help_heading = "What to simulate", conflicts_with_all = NOT_OF_A_SCHEDULE)]
    schedule: Option<PathBuf>,

    #[command(flatten)]
    combinations: Combinations,
}

const NOT_OF_A_SCHEDULE: [&str; 9] =
    ["workload", "machines", "governors", "params", "seed", "runs", "noise", "jobs", "report"];

impl Args {
    pub fn run(self) -> Outcome {
        if let Some(schedule) = &self.schedule {
            return replay::run(schedule, &self.combinations.of_replay()?);
        }
        let workload = self.workload.ok_or_else(|| Failure::usage("there is no --workload to simulate"))?;
        let matrix = self.combinations.matrix()?;
        let resolved = Workload::resolve_with_notes(&workload)?;
        self.combinations.run(&matrix, &resolved.workload, resolved.notes)
    }
}
