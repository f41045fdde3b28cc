use crate::combinations::Combinations;
use crate::failure::Outcome;
use crate::recording::{self, RecorderOptions};
use std::path::PathBuf;
use std::process::ExitCode;

/// Predict what policies would make of a recorded command, on any machine
///
/// Takes a trace, or a command, which is then recorded first (see `hearth help record`). Extracts the workload: the
/// work of each thread, who waits for whom, and for how long nobody could help it. Then simulates that. Prints one
/// table; the first policy under the first governor is the baseline of each machine.
#[derive(clap::Args)]
pub struct Args {
    /// A trace that `hearth record` wrote
    #[arg(required_unless_present = "command", conflicts_with = "command")]
    trace: Option<PathBuf>,
    /// A command to record
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
        let (trace, status) = match &self.trace {
            Some(path) => (recording::read(path)?, 0),
            None => {
                let recording = recording::record(&self.command, &self.recorder)?;
                (recording.trace, recording::passed_on(recording.status))
            }
        };
        let extraction = hearth_workload::extract(&trace);
        drop(trace);
        self.combinations.run(&matrix, &extraction.workload, extraction.report.warnings())?;
        Ok(ExitCode::from(status))
    }
}
