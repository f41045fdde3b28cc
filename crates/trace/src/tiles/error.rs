//! Errors from reading and writing an index.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Error from reading the trace.
    #[error(transparent)]
    Trace(#[from] crate::Error),
    #[error("cannot {action} the index of the trace: {source}")]
    Io { action: &'static str, source: io::Error },
    /// The index is corrupt, or from another version or trace.
    #[error(
        "the index of the trace is damaged: {0}. Remove the folder `tiles` of the trace; the next viewer rebuilds it"
    )]
    Damaged(&'static str),
    #[error("the trace has {0} cores; the viewer supports at most {most}", most = super::MOST_CORES)]
    TooManyCores(usize),
}
