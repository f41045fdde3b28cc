//! Errors of Rust as exceptions.

use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use std::fmt::Display;
use std::path::PathBuf;

create_exception!(hearth, Error, PyException, "What went wrong, where, and what to do.");

/// The exception of an error whose message says what to do.
pub fn raise(error: impl Display) -> PyErr {
    Error::new_err(error.to_string().trim_end().to_owned())
}

/// The exception of an error that may have a separate help text.
pub fn raise_with_help(error: impl Into<hearth_study::Error>) -> PyErr {
    let error = error.into();
    match error.help() {
        Some(help) => raise(format_args!("{error}\n  help: {help}")),
        None => raise(error),
    }
}

/// The name of a noun, or the path of its file.
pub fn text(name_or_path: PathBuf) -> Result<String, PyErr> {
    let text = name_or_path.into_os_string().into_string();
    text.map_err(|path| raise(format_args!("{}: the path is not UTF-8; rename the file", path.display())))
}
