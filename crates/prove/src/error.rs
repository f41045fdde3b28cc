//! Errors other than a failed proof.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot write {}: {error}", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("cannot run why3: {0}")]
    NoWhy3(io::Error),
    #[error("why3 knows no prover")]
    NoProver,
    #[error("why3 rejects the emitted WhyML: {0}")]
    Rejected(String),
    #[error("why3 exceeds its limits on a goal")]
    TooLarge,
    #[error("why3 finds no goal {0}")]
    NoGoal(String),
    #[error("the proof was stopped before its end")]
    Stopped,
    #[error("cannot run frama-c: {0}")]
    NoFramaC(io::Error),
    #[error("frama-c: {0}")]
    FramaC(String),
}

impl Error {
    /// How to fix it.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Error::NoWhy3(_) => Some("install why3 and z3 (on Debian: apt-get install why3 z3)"),
            Error::NoProver => {
                Some("install z3 (on Debian: apt-get install z3); a second prover, cvc4 or cvc5, is of use")
            }
            Error::NoFramaC(_) => {
                Some("install frama-c, z3 and cvc4 (on Debian: apt-get install frama-c-base z3 cvc4)")
            }
            Error::Write { .. } | Error::FramaC(_) | Error::Stopped => None,
            Error::Rejected(_) | Error::TooLarge | Error::NoGoal(_) => {
                Some("this is a bug in hearth: please report it, with the policy")
            }
        }
    }
}
