//! Errors from loading, generating and importing workloads.

use std::path::PathBuf;

use crate::Problem;

/// Error from a workload operation. Messages name the place and, where possible, a remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },

    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },

    /// Invalid JSON, or JSON that is not a workload. Lines and columns count from 1.
    #[error("{origin}:{line}:{column}: {message}")]
    Syntax { origin: String, line: usize, column: usize, message: String },

    /// JSON without the version field.
    #[error(
        "{origin}: not a workload file: the field `\"hearth_workload\": {}` is missing{hint}",
        crate::FORMAT_VERSION
    )]
    NotAWorkload { origin: String, hint: &'static str },

    #[error(
        "{origin}: the workload has format {found}, but this program reads format {}; use a matching version of Hearth",
        crate::FORMAT_VERSION
    )]
    Version { origin: String, found: u64 },

    /// The graph is invalid.
    #[error("{origin}: {}", list(problems))]
    Invalid { origin: String, problems: Vec<Problem> },

    /// An invalid generator specification.
    #[error("workload `{spec}`: {message}")]
    Spec { spec: String, message: String },

    /// An rt-app document that cannot be represented.
    #[error("{origin}: {place}: {message}")]
    RtApp { origin: String, place: String, message: String },
}

/// Maximum number of problems listed in an error message.
const SHOWN: usize = 20;

fn list(problems: &[Problem]) -> String {
    use std::fmt::Write;
    let mut text = match problems.len() {
        1 => "the workload has a problem:".to_string(),
        n => format!("the workload has {n} problems:"),
    };
    for problem in problems.iter().take(SHOWN) {
        let _ = write!(text, "\n  {problem}");
    }
    if problems.len() > SHOWN {
        let _ = write!(text, "\n  and {} more", problems.len() - SHOWN);
    }
    text
}
