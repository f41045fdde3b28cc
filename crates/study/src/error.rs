//! What can go wrong in a study.

use hearth_base::suggest::closest;
use hearth_sim::{Policy, PolicyError, SimError};
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

    #[error("{source}")]
    Policy {
        source: Box<PolicyError>,
        /// The known name that was probably meant.
        near: Option<String>,
    },

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
            Error::Policy { near, .. } => near.as_deref().map(did_you_mean),
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

    /// A policy that cannot be loaded, with the built-in name that was probably meant.
    pub(crate) fn loading(source: PolicyError) -> Error {
        let near = match &source {
            PolicyError::Unknown { name, .. } => closest(name, Policy::names().iter().copied()),
            _ => None,
        };
        Error::Policy { near: near.map(str::to_owned), source: Box::new(source) }
    }

    /// A parameter that `policy` does not take, with the one that was probably meant.
    pub(crate) fn setting(source: PolicyError, policy: &Policy) -> Error {
        let near = match &source {
            PolicyError::UnknownParam { name, .. } => {
                closest(name, policy.parameters().iter().map(|p| p.name.as_str()))
            }
            _ => None,
        };
        Error::Policy { near: near.map(str::to_owned), source: Box::new(source) }
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

impl From<SimError> for Error {
    fn from(error: SimError) -> Error {
        Error::Simulation(Box::new(error))
    }
}

pub(crate) fn did_you_mean(near: &str) -> String {
    format!("did you mean `{near}`?")
}
