//! Errors of studies.

use hearth_base::suggest::closest;
use hearth_machine::Driver;
use hearth_policy::ParamError;
use hearth_sim::{BuildError, SimError};
use std::fmt::Display;
use std::path::Path;

/// An error of a study. [`Error::help`] says what to do if the message does not.
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

    #[error("--param {policy}.{name}: policy {policy} is not simulated; simulated are: {}", .simulated.join(", "))]
    ParamOfOther { policy: String, name: String, simulated: Vec<String> },

    #[error("machine {machine} does not have the driver {driver}; {}", known(.has))]
    NoDriver { machine: String, driver: Driver, has: Vec<Driver> },

    #[error("a trace can be stored of one run only, but {runs} are planned")]
    ManyRuns { runs: usize },

    #[error("cannot create a temporary folder for a simulated trace: {0}; set TMPDIR to another folder")]
    TemporaryFolder(std::io::Error),

    /// A mistake in a file of claims.
    #[error("{message}")]
    Claims { message: String, help: Option<String> },

    #[error("--only {start}: no id of a claim begins with this")]
    NoClaim { start: String, help: String },

    #[error("{workload} on {machine} under {policy}: {source}")]
    Claim { workload: String, machine: String, policy: String, source: Box<SimError> },

    #[error("{path}: {why}")]
    TooFine { path: String, why: String },

    #[error("{path} is not a recording of a complete play")]
    NoPlay { path: String },

    /// The files of a sweep.
    #[error("{path}: {what}")]
    Sweep { path: String, what: String },

    #[error("the simulations were stopped before their end")]
    Stopped,

    #[error("cannot write metrics as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl Error {
    /// What to do about the error.
    pub fn help(&self) -> Option<String> {
        match self {
            Error::Policy(error) => error.help(),
            Error::Param(error) => error.help(),
            Error::ParamOfOther { policy, simulated, .. } => Some(other_policy(policy, simulated)),
            Error::ManyRuns { .. } => {
                Some("name one machine, one governor and one policy, and one run".into())
            }
            Error::Claims { help, .. } => help.clone(),
            Error::NoClaim { help, .. } => Some(help.clone()),
            Error::NoPlay { .. } => Some("record one: hearth record -o FILE -- hearth play WORKLOAD".into()),
            _ => None,
        }
    }

    pub(crate) fn sweep(path: &Path, what: impl Display) -> Error {
        Error::Sweep { path: path.display().to_string(), what: what.to_string() }
    }

    pub(crate) fn claims(message: impl Display) -> Error {
        Error::Claims { message: message.to_string(), help: None }
    }

    /// Adds a help text to an error in a file of claims.
    pub(crate) fn with_help(self, text: impl Display) -> Error {
        match self {
            Error::Claims { message, .. } => Error::Claims { message, help: Some(text.to_string()) },
            other => other,
        }
    }
}

// Boxes large errors.
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

/// What to do about a parameter of a policy that is not simulated.
fn other_policy(policy: &str, simulated: &[String]) -> String {
    let built_in = hearth_policy::names();
    if built_in.contains(&policy) {
        return format!("add --policy {policy}");
    }
    match closest(policy, simulated.iter().map(String::as_str)) {
        Some(near) => did_you_mean(near),
        None => match closest(policy, built_in.iter().copied()) {
            Some(near) => format!("{} Then add --policy {near}", did_you_mean(near)),
            None => "`hearth list policies` shows the built-in policies".into(),
        },
    }
}

pub(crate) fn did_you_mean(near: &str) -> String {
    format!("did you mean `{near}`?")
}

/// The drivers of a machine, in words.
fn known(drivers: &[Driver]) -> String {
    let names: Vec<&str> = drivers.iter().map(|driver| driver.name()).collect();
    match names.is_empty() {
        true => "its file lists none".into(),
        false => format!("it has {}", names.join(", ")),
    }
}
