//! Recording for `record` and `predict`, and opening of traces.

use crate::failure::{Failure, RECORDER_FAILED};
use crate::output::count;
use hearth_recorder::{Error, MethodChoice, Options, Recorded, Session, Subject, User};
use hearth_scx::client::Client;
use hearth_trace::{Header, Method, Reader, RecordedPolicy, RunningPolicy, Source, Store};
use std::fmt::Display;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

#[derive(clap::Args)]
pub struct RecorderOptions {
    /// How to record: with BPF programs, with the kernel's trace events (tracefs), or with the first that
    /// works (auto)
    #[arg(long, value_name = "METHOD", value_enum, default_value_t = MethodArg::Auto)]
    method: MethodArg,
    /// Buffer size per core, in KiB: 64 to 4194304
    #[arg(
        long,
        value_name = "KIB",
        default_value_t = Options::default().buffer_kb,
        value_parser = clap::value_parser!(u32).range(64..=4_194_304),
    )]
    buffer_kb: u32,
    /// User whom the trace belongs to and whom the command runs as [default: who called sudo]
    #[arg(long, value_name = "USER")]
    user: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum MethodArg {
    Auto,
    Bpf,
    Tracefs,
}

impl RecorderOptions {
    fn user(&self) -> Result<Option<User>, Error> {
        self.user.as_deref().map_or_else(User::caller, |name| User::named(name).map(Some))
    }

    fn options(&self) -> Options {
        let method = match self.method {
            MethodArg::Auto => MethodChoice::Auto,
            MethodArg::Bpf => MethodChoice::Bpf,
            MethodArg::Tracefs => MethodChoice::Tracefs,
        };
        Options { method, buffer_kb: self.buffer_kb, ..Options::default() }
    }
}

/// Records into a trace file. Prints warnings about lost events and a failed command.
pub fn record_to(
    path: &Path,
    subject: Subject<'_>,
    options: &RecorderOptions,
) -> Result<Recorded<()>, Failure> {
    let user = options.user().map_err(failure)?;
    let mut session = Session::prepare_as(user.as_ref(), subject, options.options()).map_err(failure)?;
    follow_policy(&mut session);
    let recorded = session.write_to(path).map_err(failure)?;
    let command = match subject {
        Subject::Command(command) | Subject::SystemWhile(command) => command,
        Subject::System(_) | Subject::UntilStopped => &[],
    };
    let assembled = &recorded.assembled;
    tell(&assembled.header, assembled.inferred, recorded.status.map(|status| (command, status)));
    Ok(recorded)
}

/// Also records the decisions of a policy of Hearth that runs on this machine.
fn follow_policy(session: &mut Session) {
    let Ok(info) = Client::of_this_machine().and_then(|mut client| client.info()) else { return };
    let members = info.sets.iter().map(|set| set.members.clone()).collect();
    let sets = info.sets.into_iter().map(|set| set.name).collect();
    let changed = info.params.into_iter().filter(|param| param.value != param.initial);
    let params = changed.map(|param| (param.name, param.shown)).collect();
    let policy = RecordedPolicy { name: info.policy.clone(), params };
    match session.follow(RunningPolicy { policy, reasons: info.reasons, sets, members }) {
        Ok(()) => eprintln!("note: {} is running; its decisions are recorded, too", info.policy),
        Err(why) => eprintln!("note: {} is running, but its decisions are not recorded: {why}", info.policy),
    }
}

fn failure(error: Error) -> Failure {
    let status = status_of_error(&error);
    Failure::from(error).status(status)
}

/// Prints warnings about a recording.
fn tell(header: &Header, inferred: u64, command: Option<(&[String], ExitStatus)>) {
    if let Source::Recorded(recording) = &header.source
        && let Method::Tracefs { why_not_bpf: Some(why) } = &recording.method
    {
        eprintln!("note: recorded through tracefs, which costs more than BPF: {why}");
    }
    // `lost` includes the switches that the recorder inferred, which larger buffers would not have kept.
    let lost = header.lost.iter().sum::<u64>().saturating_sub(inferred);
    if lost > 0 {
        let cores = header.lost.iter().enumerate().filter(|(_, lost)| **lost > 0);
        let cores: Vec<_> = cores.map(|(core, lost)| format!("core {core}: {lost}")).collect();
        eprintln!("warning: {} lost: the trace has gaps ({})", count(lost, "event"), cores.join(", "));
        eprintln!("  help: record again with larger buffers (--buffer-kb)");
    }
    if let Some((command, status)) = command
        && !status.success()
    {
        // "exit status: 1", or "signal: 9 (SIGKILL)"
        eprintln!("warning: {} ended with {status}", command.first().map_or("the command", String::as_str));
    }
}

/// Fails if there is no trace of this name. Says what the trace lacks.
pub fn check(path: &Path) -> Result<(), Failure> {
    tell_what_is_missing(&Store::open(path)?, path);
    Ok(())
}

/// Opens a trace. Says what the trace lacks.
pub fn open(path: &Path) -> Result<Reader, Failure> {
    let reader = Reader::open(path)?;
    tell_what_is_missing(reader.store(), path);
    Ok(reader)
}

/// Fails if a workload cannot be extracted from the trace: its frequencies are another machine's, or its recording lacks events.
pub fn check_extractable(path: &Path) -> Result<(), Failure> {
    let store = Store::open(path)?;
    let source = &store.header().source;
    if source.laid_over().is_some() {
        let message =
            format!("{}: its frequencies are not those of the machine that recorded it", path.display());
        return Err(Failure::new(message).help("it is the result of `hearth overlay`; take the recording"));
    }
    let unrecorded = source.unrecorded();
    let Some(remedy) = unrecorded.remedy() else { return Ok(()) };
    let what = match unrecorded.threads {
        true => "it has the events of some threads only, so how long they run is unknown",
        false => "it has no wake-ups, so what threads wait for is unknown",
    };
    Err(Failure::new(format_args!("{}: no workload can be extracted: {what}", path.display())).help(remedy))
}

/// Fails if the underload of a trace is unknown.
pub fn check_underload(source: &Source, path: impl Display) -> Result<(), Failure> {
    match source.unrecorded().remedy() {
        None => Ok(()),
        Some(remedy) => {
            let message = format!("{path}: its underload is unknown and cannot be drawn: events are missing");
            Err(Failure::new(message).help(remedy))
        }
    }
}

pub fn tell_what_is_missing(store: &Store, path: &Path) {
    for note in store.header().source.unrecorded().notes() {
        eprintln!("note: {}: {note}", path.display());
    }
    if !store.complete() {
        let end = store.header().duration as f64 / 1e9;
        eprintln!(
            "warning: {} is incomplete and ends after {end:.3} s: its writer was interrupted",
            path.display()
        );
    }
}

/// The exit status by the shell's conventions: 127 if the command is not found, 126 if it cannot be run.
fn status_of_error(error: &Error) -> u8 {
    match error {
        Error::Command { source, .. } if source.kind() == ErrorKind::NotFound => 127,
        Error::Command { .. } => 126,
        _ => RECORDER_FAILED,
    }
}

/// The exit status that a shell would return for this status.
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
