use crate::arguments::examples;
use crate::combinations::Combinations;
use crate::failure::Outcome;
use crate::recording::{self, RecorderOptions};
use crate::verbs::extract::{extract, record_and_extract};
use std::path::PathBuf;
use std::process::ExitCode;

/// Predict the effect of policies on a command, on any machine
///
/// Takes a trace, or a command, which is recorded first (see `hearth help record`). Extracts the workload:
/// the work of each thread, its waits for other threads, and its delays. Simulates the workload and prints a
/// table; the first policy under the first governor is the baseline of each machine. Memory use is 16 bytes
/// per step of the workload, however long the trace is.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth predict build.trace -m xeon-5218 -p eevdf -p nest",
    "sudo hearth predict -m xeon-5218 --report out.html -- make -j8",
]))]
pub struct Args {
    /// A recorded trace
    #[arg(required_unless_present = "command", conflicts_with = "command")]
    trace: Option<PathBuf>,
    /// The command to record, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten, next_help_heading = "Recording")]
    recorder: RecorderOptions,
    #[command(flatten)]
    combinations: Combinations,
}

impl Args {
    pub fn run(self) -> Outcome {
        let matrix = self.combinations.matrix()?;
        let (extraction, status) = match &self.trace {
            Some(path) => (extract(path)?, 0),
            None => {
                let (extraction, status) = record_and_extract(&self.command, &self.recorder)?;
                (extraction, status.map_or(0, recording::passed_on))
            }
        };
        self.combinations.run(&matrix, &extraction.workload, extraction.report.warnings())?;
        Ok(ExitCode::from(status))
    }
}
