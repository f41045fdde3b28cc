//! Errors from reading and writing traces on disk.

use std::io;
use std::path::{Path, PathBuf};

/// Error from reading or writing a trace. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {action} {}: {source}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },

    #[error(
        "{} is not a trace: it is not a folder with a trace.json. Give a trace written by `hearth record` or `hearth sim`",
        path.display()
    )]
    NotATrace { path: PathBuf },

    #[error(
        "the trace {} has format version {found}, but this program reads version {supported}. Use the version of hearth that wrote it, or record it again",
        path.display()
    )]
    Version { path: PathBuf, found: u32, supported: u32 },

    #[error("the trace is damaged: {}: {what}. Copy or record it again", path.display())]
    Corrupt { path: PathBuf, what: String },

    #[error("{} already exists and is not replaced: {why}. Remove it, or give another name", path.display())]
    Exists { path: PathBuf, why: String },

    #[error("{} is being written by another process. Wait until it ends, or give another name", path.display())]
    Busy { path: PathBuf },

    #[error("the trace {} cannot be written: {what}", path.display())]
    TooLarge { path: PathBuf, what: String },
}

impl Error {
    pub(super) fn corrupt(path: &Path, what: impl Into<String>) -> Self {
        Error::Corrupt { path: path.into(), what: what.into() }
    }

    /// Error of the operating system, concerning `path`.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Error::File { action, path, source }
    }

    /// Error of the Parquet library while writing, which wraps an I/O error.
    pub(super) fn writing(path: &Path) -> impl FnOnce(parquet::errors::ParquetError) -> Self + use<> {
        let path = path.to_owned();
        move |error| Error::File { action: "write", path, source: io::Error::other(error) }
    }

    /// Error of the Parquet library while decoding bytes in memory, which means corrupt data.
    pub(super) fn reading(path: &Path) -> impl Fn(parquet::errors::ParquetError) -> Self + use<> {
        let path = path.to_owned();
        move |error| Error::corrupt(&path, error.to_string())
    }
}
