//! What can go wrong on the way to a workload.

use std::path::PathBuf;

use crate::Problem;

/// Every message names the place and, where there is one, the way out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },

    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },

    /// Not JSON, or JSON that is no workload. Lines and columns count from 1.
    #[error("{origin}:{line}:{column}: {message}")]
    Syntax { origin: String, line: usize, column: usize, message: String },

    /// JSON without the version field.
    #[error(
        "{origin}: not a workload file: the field \"hearth_workload\": {} is missing{hint}",
        crate::FORMAT_VERSION
    )]
    NotAWorkload { origin: String, hint: &'static str },

    #[error(
        "{origin}: workload format {found}, but this program reads format {} only; use a matching version of Hearth",
        crate::FORMAT_VERSION
    )]
    Version { origin: String, found: u64 },

    /// The graph does not make sense.
    #[error("{origin}: {}", list(problems))]
    Invalid { origin: String, problems: Vec<Problem> },

    /// A generator specification that cannot be followed.
    #[error("workload \"{spec}\": {message}")]
    Spec { spec: String, message: String },

    /// An rt-app document that cannot be represented at all.
    #[error("{origin}: {place}: {message}")]
    RtApp { origin: String, place: String, message: String },
}

/// So many problems are printed before the rest is only counted.
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
