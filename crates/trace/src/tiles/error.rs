//! What can go wrong with an index.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The trace itself.
    #[error(transparent)]
    Trace(#[from] crate::Error),
    #[error("cannot {action} the index of the trace: {source}")]
    Io { action: &'static str, source: io::Error },
    /// It is not what this version writes, or not as it was written.
    #[error(
        "the index of the trace is damaged: {0}; remove its folder `tiles`: it is built again when the trace is opened"
    )]
    Damaged(&'static str),
    #[error("the trace has {0} cores, and the viewer shows at most {most}", most = super::MOST_CORES)]
    TooManyCores(usize),
}
