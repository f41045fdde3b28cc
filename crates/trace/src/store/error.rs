//! What can go wrong with a trace file.

use std::io;
use std::path::PathBuf;

/// Why a trace could not be read or written. Every message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {action} the trace {}: {source}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },

    #[error("cannot {action} the trace: {source}")]
    Io { action: &'static str, source: io::Error },

    #[error(
        "this is not a trace: it does not begin with \"HEARTHTR\" (was it written by `hearth record` or `hearth sim`?)"
    )]
    NotATrace,

    #[error(
        "the trace has format version {found}, this program reads version {supported}: use the version of hearth that wrote it, or record it again"
    )]
    Version { found: u16, supported: u16 },

    #[error(
        "the trace ends early, after {length} bytes: whoever wrote it was interrupted, or the copy is incomplete. Copy or record it again"
    )]
    Truncated { length: u64 },

    #[error("the trace is damaged at byte {offset}: {what}. Copy or record it again")]
    Corrupt { offset: u64, what: String },

    #[error("in the trace {}: {source}", path.display())]
    In { path: PathBuf, source: Box<Error> },
}

impl Error {
    pub(super) fn corrupt(offset: u64, what: impl Into<String>) -> Self {
        Error::Corrupt { offset, what: what.into() }
    }

    /// The same error, with the file's name.
    pub(super) fn at(self, path: &std::path::Path) -> Self {
        match self {
            Error::Io { action, source } => Error::File { action, path: path.into(), source },
            named @ (Error::File { .. } | Error::In { .. }) => named,
            other => Error::In { path: path.into(), source: Box::new(other) },
        }
    }
}
