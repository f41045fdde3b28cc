//! Recording a command, for `record` and `predict`.

use crate::failure::{Failure, RECORDER_FAILED};
use hearth_kernel::{Error, Options, Recording};
use hearth_trace::{Reader, Trace};
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

#[derive(clap::Args)]
pub struct RecorderOptions {
    /// Size of the kernel's event buffer of each core, in KiB
    #[arg(
        long,
        value_name = "KIB",
        default_value_t = Options::default().buffer_kb,
        value_parser = clap::value_parser!(u32).range(64..=4_194_304),
    )]
    buffer_kb: u32,
}

/// Runs the command and records it. What went wrong with the command or was lost is told.
pub fn record(command: &[String], options: &RecorderOptions) -> Result<Recording, Failure> {
    let options = Options { buffer_kb: options.buffer_kb, ..Options::default() };
    let recording = hearth_kernel::record(command, options)
        .map_err(|error| Failure::new(&error).status(status_of_error(&error)))?;
    // Switches that the recorder inferred are counted among the lost; no buffer would have held them.
    let lost = recording.trace.header.lost.iter().sum::<u64>().saturating_sub(recording.inferred);
    if lost > 0 {
        eprintln!("warning: {lost} events were lost: the trace has gaps");
        eprintln!("  help: record again with larger buffers (--buffer-kb)");
    }
    if !recording.status.success() {
        // "exit status: 1", or "signal: 9 (SIGKILL)"
        eprintln!("warning: {} ended with {}", command[0], recording.status);
    }
    Ok(recording)
}

/// Reads a trace. That it is only the beginning of one is told.
pub fn read(path: &Path) -> Result<Trace, Failure> {
    let reader = Reader::open(path)?;
    if !reader.store().complete() {
        let end = reader.header().duration as f64 / 1e9;
        eprintln!(
            "warning: {} is the beginning of a trace, {end:.3} s: its writer was interrupted",
            path.display()
        );
    }
    Ok(reader.into_trace()?)
}

/// The shell's conventions: 127 for a command that is not there, 126 for one that cannot be run.
fn status_of_error(error: &Error) -> u8 {
    match error {
        Error::Command { source, .. } if source.kind() == ErrorKind::NotFound => 127,
        Error::Command { .. } => 126,
        _ => RECORDER_FAILED,
    }
}

/// The status with which a shell would pass this one on.
pub fn passed_on(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_passed_on_as_a_shell_does() {
        assert_eq!(passed_on(ExitStatus::from_raw(0)), 0);
        assert_eq!(passed_on(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(passed_on(ExitStatus::from_raw(9)), 137);
    }

    #[test]
    fn a_command_that_is_not_there_is_not_the_recorders_fault() {
        let command = |kind: ErrorKind| Error::Command { program: "x".into(), source: kind.into() };
        assert_eq!(status_of_error(&command(ErrorKind::NotFound)), 127);
        assert_eq!(status_of_error(&command(ErrorKind::PermissionDenied)), 126);
        assert_eq!(status_of_error(&Error::NoTracefs), RECORDER_FAILED);
    }
}
