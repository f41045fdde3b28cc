use crate::failure::{Failure, Outcome, RECORDER_FAILED};
use crate::output;
use crate::recording::{self, RecorderOptions};
use std::path::PathBuf;
use std::process::ExitCode;

/// Record what a command and its children do: every switch, wake-up, fork, exit
///
/// Needs root, or the rights to use tracefs. The exit status is the command's (128 + N if signal N ended it;
/// 126 or 127 if it cannot be run), or 125 if hearth could not record.
#[derive(clap::Args)]
pub struct Args {
    /// The trace to write
    #[arg(short, long, value_name = "TRACE", default_value = "hearth.trace")]
    output: PathBuf,
    #[command(flatten)]
    recorder: RecorderOptions,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Args {
    pub fn run(self) -> Outcome {
        let not_ours = |failure: Failure| failure.status(RECORDER_FAILED);
        output::check_trace(&self.output).map_err(not_ours)?;
        let recording = recording::record(&self.command, &self.recorder)?;
        let trace = &recording.trace;
        trace.write(&self.output).map_err(|error| not_ours(error.into()))?;
        eprintln!(
            "{}: {} events of {} threads in {:.2} s",
            self.output.display(),
            trace.events.len(),
            trace.header.threads.iter().filter(|thread| thread.traced).count(),
            trace.header.duration as f64 / 1e9,
        );
        Ok(ExitCode::from(recording::passed_on(recording.status)))
    }
}
