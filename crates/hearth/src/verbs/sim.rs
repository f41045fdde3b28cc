use crate::arguments::{self, examples, or_stdin};
use crate::combinations::{Combinations, MatrixChoice};
use crate::failure::Outcome;
use crate::{provenance, replay};
use hearth_policy::Spec;
use hearth_workload::Workload;
use std::path::PathBuf;

/// Simulate a workload on machines, under governors and policies
///
/// Prints a table of time, energy, underload and overload, each a mean over the runs. The first policy under
/// the first governor is the baseline of each machine. With POLICY, says how much faster that is than its base
/// and than eevdf, the scheduler of today's Linux, and in which decision it first differs from its base. With
/// --schedule, replays a schedule that `hearth modelcheck` found.
#[derive(clap::Args)]
#[command(override_usage = "hearth sim [OPTIONS] --workload <SPEC|FILE>\n       \
                            hearth sim [OPTIONS] <POLICY>\n       \
                            hearth sim --schedule <FILE> [--policy <NAME|FILE>] [--output <TRACE>] [--json]")]
#[command(after_help = examples(&[
    "hearth sim -w configure -m xeon-5218 -p eevdf -p nest",
    "hearth sim mine.ipa -m xeon-5218",
    "hearth sim -w kbuild:jobs=64 -m ./mine.toml -p ./mine.ipa --runs 1 -o mine.trace",
]))]
pub struct Args {
    /// A policy to compare with its base and with eevdf: as for --policy. Without --workload, in `configure`
    #[arg(value_name = "POLICY", value_parser = arguments::policy, conflicts_with_all = ["policies", "schedule"], help_heading = "What to simulate")]
    policy: Option<Spec>,

    /// The workload: a generator (`hearth list workloads`), with parameters as `:NAME=VALUE,...`, or the path
    /// of a workload file or rt-app document. Arguments that end in .json or contain a `/` are paths
    #[arg(short, long, value_name = "SPEC|FILE", value_parser = or_stdin, required_unless_present_any = ["policy", "schedule"], help_heading = "What to simulate")]
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
        let Args { policy, workload, mut combinations, .. } = self;
        let compares = policy.is_some();
        policy.into_iter().for_each(|policy| combinations.compare(policy));
        let MatrixChoice { mut matrix, here } = combinations.choose(1, false)?;
        let indices = if compares { Some(matrix.add_base()?) } else { None };
        let resolved = Workload::resolve_with_notes(workload.as_deref().unwrap_or("configure"))?;
        let mut prediction = combinations.simulate(&matrix, &resolved.workload, resolved.notes)?;
        prediction.provenance.command = provenance::command();
        if let Some(indices) = indices {
            prediction.against_base = Some(matrix.against_base(&prediction, &resolved.workload, indices)?);
        }
        combinations.print(&prediction, here.as_deref(), true)
    }
}
