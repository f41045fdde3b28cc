//! What can go wrong in a study.

use hearth_policy::ParamError;
use hearth_sim::{BuildError, SimError};
use std::fmt::Display;

/// Why a study has no result. [`Error::help`] says what to do, where the message does not.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Machine(#[from] hearth_machine::Error),

    #[error(transparent)]
    Trace(#[from] hearth_trace::Error),

    #[error(transparent)]
    Simulation(Box<SimError>),

    #[error(transparent)]
    Policy(Box<hearth_policy::Error>),

    #[error(transparent)]
    Param(Box<ParamError>),

    #[error(transparent)]
    Build(Box<BuildError>),

    #[error("--param {policy}.{name} is about a policy that is not simulated here: these are {simulated}")]
    ParamOfOther { policy: String, name: String, simulated: String },

    #[error("a trace is kept of one run, but {runs} are planned")]
    ManyRuns { runs: usize },

    #[error("cannot keep a simulated trace in a temporary folder: {0}; TMPDIR names another one")]
    TemporaryFolder(std::io::Error),

    /// A mistake in a file of claims.
    #[error("{message}")]
    Claims { message: String, help: Option<String> },

    #[error("--only {start}: no claim's id begins so")]
    NoClaim { start: String, help: String },

    #[error("{workload} on {machine} under {policy}: {source}")]
    Claim { workload: String, machine: String, policy: String, source: Box<SimError> },

    #[error("{path}: {why}")]
    TooFine { path: String, why: String },

    #[error("{path} is no recording of a play that came to its end")]
    NoPlay { path: String },

    #[error("cannot write the numbers of a trace as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl Error {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Error::Policy(error) => error.help(),
            Error::Param(error) => error.help(),
            Error::ParamOfOther { policy, .. } => Some(format!("add --policy {policy}")),
            Error::ManyRuns { .. } => {
                Some("name one machine, one governor and one policy, and one run".into())
            }
            Error::Claims { help, .. } => help.clone(),
            Error::NoClaim { help, .. } => Some(help.clone()),
            Error::NoPlay { .. } => Some("record one: hearth record -o FILE -- hearth play WORKLOAD".into()),
            _ => None,
        }
    }

    pub(crate) fn claims(message: impl Display) -> Error {
        Error::Claims { message: message.to_string(), help: None }
    }

    /// The same with this help, where the variant has room for one.
    pub(crate) fn with_help(self, text: impl Display) -> Error {
        match self {
            Error::Claims { message, .. } => Error::Claims { message, help: Some(text.to_string()) },
            other => other,
        }
    }
}

/// Large errors are boxed.
macro_rules! from_boxed {
    ($($error:ty => $variant:ident),* $(,)?) => {$(
        impl From<$error> for Error {
            fn from(error: $error) -> Error {
                Error::$variant(Box::new(error))
            }
        }
    )*};
}

from_boxed!(SimError => Simulation, hearth_policy::Error => Policy, ParamError => Param, BuildError => Build);

pub(crate) fn did_you_mean(near: &str) -> String {
    format!("did you mean `{near}`?")
}
