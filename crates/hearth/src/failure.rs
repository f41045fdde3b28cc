//! Error messages: what went wrong, where, and what to do.

use crate::{output, place};
use hearth_base::suggest::closest_file;
use hearth_ipanema::Sources;
use hearth_ipanema::diagnostic::{Diagnostic, render_all};
use std::fmt::Display;
use std::io;
use std::panic::PanicHookInfo;
use std::path::Path;
use std::process::ExitCode;

/// The exit status of a verb, or why it failed.
pub type Outcome = Result<ExitCode, Failure>;

/// Exit status of a verb that runs a command, if hearth failed and not the command: the convention of `env`,
/// `timeout` and container tools.
pub const HEARTH_FAILED: u8 = 125;
pub const RECORDER_FAILED: u8 = HEARTH_FAILED;

#[derive(Debug)]
pub struct Failure {
    /// What went wrong, and where. Nothing is printed if it is empty.
    message: String,
    help: Option<String>,
    status: u8,
    /// Print the message without a prefix.
    verbatim: bool,
}

impl Failure {
    pub fn new(message: impl Display) -> Self {
        Failure { message: message.to_string(), help: None, status: 1, verbatim: false }
    }

    /// Adds what to do.
    pub fn help(self, help: impl Display) -> Self {
        Failure { help: Some(help.to_string()), ..self }
    }

    pub fn has_help(&self) -> bool {
        self.help.is_some()
    }

    /// Adds the file that the user may have meant, if there is none at `path`.
    pub fn near(self, path: &Path, error: &io::Error) -> Self {
        match closest_file(path).filter(|_| error.kind() == io::ErrorKind::NotFound) {
            Some(near) => self.help(format_args!("did you mean `{}`?", near.display())),
            None => self,
        }
    }

    /// Sets the exit status, which is 1 otherwise.
    pub fn status(self, status: u8) -> Self {
        Failure { status, ..self }
    }

    /// An error in the command line that the parser cannot detect.
    pub fn usage(message: impl Display) -> Self {
        Failure::new(message).status(2)
    }

    /// The compiler's diagnostics of a rejected policy.
    pub fn diagnostics(diagnostics: &[Diagnostic], sources: &Sources) -> Self {
        let text = render_all(diagnostics, sources, output::has_colours(&io::stderr()));
        Failure { verbatim: true, ..Failure::new(text) }
    }

    /// A failure whose message has been printed already.
    pub fn quiet() -> Self {
        Failure::new("")
    }

    /// What went wrong, and where.
    pub fn message(&self) -> &str {
        self.message.trim_end()
    }

    /// Prints the failure as a warning that begins with what it means.
    pub fn warn(&self, what: &str) {
        eprintln!("warning: {what}: {}", self.message());
    }

    /// Prints the failure and returns the exit status.
    pub fn report(&self) -> ExitCode {
        if self.verbatim {
            output::error_diagnostics(&self.message);
        } else if !self.message.is_empty() {
            eprintln!("error: {}", self.message.trim_end().replace('\n', "\n  "));
        }
        if let Some(help) = &self.help {
            eprintln!("  help: {}", help.replace('\n', "\n        "));
        }
        ExitCode::from(self.status)
    }
}

/// The reader of standard output may close the pipe early (`| head`).
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::quiet().status(0),
            _ => Failure::new(format_args!("cannot write the results: {error}")),
        }
    }
}

/// Errors whose message includes what to do.
macro_rules! from_errors {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::new(error)
            }
        }
    )*};
}

from_errors!(hearth_play::Error, hearth_host::Error, hearth_sim::BuildError);

/// Errors of files that the user named.
macro_rules! from_errors_of_files {
    ($($error:ident::$variant:ident),* $(,)?) => {$(
        impl From<$error::Error> for Failure {
            fn from(error: $error::Error) -> Self {
                let failure = Failure::new(&error);
                match &error {
                    $error::Error::$variant { path, source, .. } => failure.near(path, source),
                    _ => failure,
                }
            }
        }
    )*};
}

from_errors_of_files!(hearth_machine::Read, hearth_workload::Read);

impl From<hearth_trace::Error> for Failure {
    fn from(error: hearth_trace::Error) -> Self {
        let failure = Failure::new(&error);
        match &error {
            hearth_trace::Error::File { path, source, .. } => failure.near(path, source),
            hearth_trace::Error::NotATrace { path } => match of_another_tool(path) {
                Some((format, import)) => {
                    let message = format_args!("{} is {format}, not a trace of hearth", path.display());
                    Failure::new(message).help(format_args!("convert it: {import}"))
                }
                None => failure,
            },
            _ => failure,
        }
    }
}

impl From<hearth_formats::Error> for Failure {
    fn from(error: hearth_formats::Error) -> Self {
        match error {
            hearth_formats::Error::Trace(error) => error.into(),
            hearth_formats::Error::File { ref path, ref source, .. } => {
                Failure::new(&error).near(path, source)
            }
            error => Failure::new(error),
        }
    }
}

/// The format of a file that `hearth import` can read, and the command, which writes into the current folder.
fn of_another_tool(path: &Path) -> Option<(&'static str, String)> {
    let format = hearth_formats::recognised(path)?;
    let name = Path::new(path.file_name()?);
    let output = name.with_extension("trace");
    let output = if output == name { name.with_extension("hearth.trace") } else { output };
    let words = ["hearth", "import", path.to_str()?, "-o", output.to_str()?];
    Some((format, shlex::try_join(words).ok()?))
}

/// Errors that have a separate help text.
macro_rules! from_errors_with_help {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure { help: error.help().map(Into::into), ..Failure::new(error) }
            }
        }
    )*};
}

from_errors_with_help!(hearth_policy::ParamError, hearth_prove::Error);

impl From<hearth_scx::Error> for Failure {
    fn from(error: hearth_scx::Error) -> Self {
        use hearth_scx::Error::{File, NoSchedExt, NotAllowed, NotRunning, Observer, RealTime};
        match error {
            Observer(error) => match error.downcast::<hearth_recorder::Error>() {
                Ok(error) => (*error).into(),
                Err(error) => Failure::new(error),
            },
            NotAllowed { .. } => Failure::new(error).help(as_root()),
            NoSchedExt { .. } | RealTime => {
                let help = format!("{}\n{}", error.help().unwrap_or_default(), place::elsewhere());
                Failure::new(error).help(help)
            }
            NotRunning { ops: None } => Failure::new(error).help(place::without_policy()),
            File { ref source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Failure::new(error).help(as_root())
            }
            error => Failure { help: error.help(), ..Failure::new(error) },
        }
    }
}

impl From<hearth_recorder::Error> for Failure {
    fn from(error: hearth_recorder::Error) -> Self {
        match error {
            hearth_recorder::Error::NotAllowed { .. } | hearth_recorder::Error::OtherUser { .. } => {
                Failure::new(error).help(as_root())
            }
            error => Failure::new(error),
        }
    }
}

/// Advice to run the same command line as root.
fn as_root() -> String {
    format!("run it as root: {}", place::as_root())
}

impl From<hearth_policy::Error> for Failure {
    fn from(error: hearth_policy::Error) -> Self {
        match &error {
            hearth_policy::Error::Rejected(failed) => {
                Failure::diagnostics(&failed.diagnostics, &failed.sources)
            }
            hearth_policy::Error::Read { path, source } => Failure::new(&error).near(path, source),
            _ => Failure { help: error.help(), ..Failure::new(error) },
        }
    }
}

impl From<hearth_features::ModelError> for Failure {
    fn from(error: hearth_features::ModelError) -> Self {
        match error {
            hearth_features::ModelError::Policy(error) => error.into(),
            error => Failure::new(error).help("`hearth features list` shows the features"),
        }
    }
}

impl From<hearth_features::JudgeError> for Failure {
    fn from(error: hearth_features::JudgeError) -> Self {
        use hearth_features::JudgeError::{Model, Policy, Proof};
        match error {
            Model(error) => (*error).into(),
            Policy(error) => error.into(),
            Proof(error) => error.into(),
            error => Failure::new(error),
        }
    }
}

impl From<hearth_study::tune::Error> for Failure {
    fn from(error: hearth_study::tune::Error) -> Self {
        match error {
            hearth_study::tune::Error::Study(error) => error.into(),
            error => Failure::new(error),
        }
    }
}

impl From<hearth_study::Error> for Failure {
    fn from(error: hearth_study::Error) -> Self {
        use hearth_study::Error::{Machine, NoClaim, ParamOfOther, Policy, Trace};
        let status = match error {
            Policy(error) => return Failure::from(*error),
            Machine(error) => return error.into(),
            Trace(error) => return error.into(),
            ParamOfOther { .. } | NoClaim { .. } => 2,
            _ => 1,
        };
        Failure { help: error.help(), ..Failure::new(&error).status(status) }
    }
}

/// Prints panics as errors of hearth, with how to report them.
pub fn install_panic_hook() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic: &PanicHookInfo| {
        let payload = panic.payload();
        let what = (payload.downcast_ref::<&str>().copied())
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("unknown cause");
        let at = panic.location().map_or_else(String::new, |at| format!(" ({}:{})", at.file(), at.line()));
        eprintln!("error: hearth has a bug: {what}{at}");
        eprintln!(
            "  help: report these lines, the version ({}) and the command line",
            env!("CARGO_PKG_VERSION")
        );
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            default(panic);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_root_reads_what_to_type() {
        let refused = || hearth_recorder::Error::NotAllowed { action: "open", path: "/sys/x".into() };
        let connect = hearth_scx::Error::File {
            action: "connect to",
            path: "/run/x".into(),
            source: io::ErrorKind::PermissionDenied.into(),
        };
        let failures = [
            Failure::from(refused()),
            Failure::from(hearth_scx::Error::Observer(refused().into())),
            Failure::from(hearth_scx::Error::NotAllowed { missing: "CAP_BPF".into() }),
            Failure::from(connect),
        ];
        for failure in failures {
            let help = failure.help.as_deref().unwrap_or_default();
            assert!(help.starts_with("run it as root: sudo "), "{failure:?}");
        }
    }
}
