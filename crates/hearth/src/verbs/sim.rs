use crate::combinations::Combinations;
use crate::failure::Outcome;
use hearth_workload::Workload;

/// Simulate a workload: on machines, under governors and policies
///
/// Prints one table; the first policy under the first governor is the baseline of each machine.
#[derive(clap::Args)]
pub struct Args {
    /// A generator (`hearth list workloads`), with `:NAME=VALUE,...` appended under these parameters; or the
    /// path of a workload file or of an rt-app document (what ends in .json or has a `/` is a path)
    #[arg(short, long, value_name = "SPEC|FILE", help_heading = "What to simulate")]
    workload: String,

    #[command(flatten)]
    combinations: Combinations,
}

impl Args {
    pub fn run(self) -> Outcome {
        self.combinations.check()?;
        let resolved = Workload::resolve_with_notes(&self.workload)?;
        self.combinations.run(&resolved.workload, resolved.notes)
    }
}
