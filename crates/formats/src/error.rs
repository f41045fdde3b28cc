//! Errors of importing and exporting.

use std::io;
use std::path::{Path, PathBuf};

/// Position of an error in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Line(u64),
    Byte(u64),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Line(line) => write!(f, "line {line}"),
            Place::Byte(byte) => write!(f, "byte {byte}"),
        }
    }
}

/// Every message says what to do, or where to look.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {action} {}: {source}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },

    #[error("cannot {action}: {source}")]
    Io { action: &'static str, source: io::Error },

    #[error(transparent)]
    Trace(#[from] hearth_trace::Error),

    #[error(
        "the format is unknown: this is neither Perfetto, trace.dat, perf.data, ftrace text, JSON trace events nor an \
         archive of SchedViz. If it is one of these, name it with --format"
    )]
    Unknown,

    #[error("this is a Hearth trace already: use it as it is")]
    Hearth,

    #[error("{place}: {what}")]
    At { place: Place, what: String },

    #[error("{0}")]
    Format(String),

    #[error(
        "it has no {what} event: record the events of the scheduler, of all threads (`trace-cmd record -e sched`, \
         `perf sched record`)"
    )]
    Empty { what: &'static str },

    /// A perf.data that perf itself must convert.
    #[error("{what}. Let perf print it, and import the text: {}", by_perf(Path::new("perf.data")))]
    ByPerf { what: &'static str },

    #[error("{}: {source}", path.display())]
    In { path: PathBuf, source: Box<Error> },
}

/// The commands that import a file that only perf can read. They write into the current folder.
fn by_perf(path: &Path) -> String {
    let name = Path::new(path.file_name().unwrap_or_default());
    let (file, text, trace) = (path.display(), name.with_extension("txt"), name.with_extension("trace"));
    let [file, text, trace] =
        [file.to_string(), text.display().to_string(), trace.display().to_string()].map(|path| quoted(&path));
    format!("perf script --ns -i {file} > {text}; hearth import {text} -o {trace}")
}

/// A word of a command for the shell.
fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| "FILE".into(), |word| word.into_owned())
}

impl Error {
    pub(crate) fn at(place: Place, what: impl Into<String>) -> Self {
        Error::At { place, what: what.into() }
    }

    pub(crate) fn byte(offset: u64, what: impl Into<String>) -> Self {
        Error::at(Place::Byte(offset), what)
    }

    pub(crate) fn read(source: io::Error) -> Self {
        Error::Io { action: "read", source }
    }

    pub(crate) fn write(source: io::Error) -> Self {
        Error::Io { action: "write", source }
    }

    /// The same error, with the file's name.
    pub(crate) fn named(self, path: &Path) -> Self {
        match self {
            Error::Io { action, source } => Error::File { action, path: path.into(), source },
            Error::ByPerf { what } => Error::In {
                path: path.into(),
                source: Box::new(Error::Format(format!(
                    "{what}. Let perf print it, and import the text: {}",
                    by_perf(path)
                ))),
            },
            named @ (Error::File { .. } | Error::In { .. } | Error::Trace(_)) => named,
            other => Error::In { path: path.into(), source: Box::new(other) },
        }
    }
}
