//! What a user is told when something cannot be done: what, where, and what to do about it.

use hearth_ipanema::Sources;
use hearth_ipanema::diagnostic::{Diagnostic, render_all};
use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::panic::PanicHookInfo;
use std::process::ExitCode;

/// A verb's outcome: the exit status, or why there is none.
pub type Outcome = Result<ExitCode, Failure>;

/// Exit status of `hearth record` when it is hearth that failed, not the recorded command. (The convention
/// of `env`, `timeout` and container tools.)
pub const RECORDER_FAILED: u8 = 125;

#[derive(Debug)]
pub struct Failure {
    /// What is wrong, and where. Empty: say nothing.
    message: String,
    help: Option<String>,
    status: u8,
    /// The message is printed as it is, without a prefix.
    verbatim: bool,
}

impl Failure {
    pub fn new(message: impl Display) -> Self {
        Failure { message: message.to_string(), help: None, status: 1, verbatim: false }
    }

    /// What to do about it.
    pub fn help(self, help: impl Display) -> Self {
        Failure { help: Some(help.to_string()), ..self }
    }

    /// With another exit status than 1.
    pub fn status(self, status: u8) -> Self {
        Failure { status, ..self }
    }

    /// The command line contradicts itself, in a way that the parser cannot see.
    pub fn usage(message: impl Display) -> Self {
        Failure::new(message).status(2)
    }

    /// The compiler rejects a policy.
    pub fn diagnostics(diagnostics: &[Diagnostic], sources: &Sources) -> Self {
        let text = render_all(diagnostics, sources, io::stderr().is_terminal());
        Failure { verbatim: true, ..Failure::new(text) }
    }

    /// All has been said already.
    pub fn quiet() -> Self {
        Failure::new("")
    }

    /// Tells the user, and ends the program's work.
    pub fn report(&self) -> ExitCode {
        if self.verbatim {
            eprint!("{}", self.message);
        } else if !self.message.is_empty() {
            // Later lines of a message continue it: they are set in.
            eprintln!("error: {}", self.message.trim_end().replace('\n', "\n  "));
        }
        if let Some(help) = &self.help {
            eprintln!("  help: {}", help.replace('\n', "\n        "));
        }
        ExitCode::from(self.status)
    }
}

/// Results go to standard output: whoever reads them may stop reading when he has seen enough.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::quiet().status(0),
            _ => Failure::new(format_args!("cannot write the results: {error}")),
        }
    }
}

/// The errors of our own crates say all three things themselves.
macro_rules! from_errors {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::new(error)
            }
        }
    )*};
}

from_errors!(
    hearth_machine::Error,
    hearth_workload::Error,
    hearth_trace::Error,
    hearth_play::Error,
    hearth_sim::BuildError
);

/// The same for errors whose help stands apart from the message.
macro_rules! from_errors_with_help {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure { help: error.help().map(Into::into), ..Failure::new(error) }
            }
        }
    )*};
}

from_errors_with_help!(hearth_policy::ParamError, hearth_prove::Error, hearth_scx::Error);

impl From<hearth_policy::Error> for Failure {
    fn from(error: hearth_policy::Error) -> Self {
        match &error {
            hearth_policy::Error::Rejected(failed) => {
                Failure::diagnostics(&failed.diagnostics, &failed.sources)
            }
            _ => Failure { help: error.help(), ..Failure::new(error) },
        }
    }
}

/// What a study says comes with its help.
impl From<hearth_study::Error> for Failure {
    fn from(error: hearth_study::Error) -> Self {
        use hearth_study::Error::{NoClaim, ParamOfOther, Policy};
        let error = match error {
            Policy(error) => return Failure::from(*error),
            error => error,
        };
        let failure = match &error {
            ParamOfOther { .. } | NoClaim { .. } => Failure::usage(&error),
            _ => Failure::new(&error),
        };
        match error.help() {
            Some(help) => failure.help(help),
            None => failure,
        }
    }
}

/// No panic message reaches a user as such.
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
            "  help: please report these lines, hearth's version ({}) and the command line",
            env!("CARGO_PKG_VERSION")
        );
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            default(panic);
        }
    }));
}
