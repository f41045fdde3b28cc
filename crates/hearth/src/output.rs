//! Writes results to standard output and to files.

use crate::failure::{Failure, Outcome};
use hearth_base::escape::terminal;
use hearth_trace::Writer;
use serde::Serialize;
use std::fmt::Display;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

/// A JSON document: `schema`, then the fields of the content.
#[derive(Serialize)]
pub struct Document<T> {
    pub schema: &'static str,
    #[serde(flatten)]
    pub content: T,
}

/// Prints text, which ends with a newline. Names in it may be of other users' processes: a terminal gets no control
/// characters.
pub fn text(text: &str) -> Outcome {
    raw(terminal(text).as_bytes())
}

/// Prints diagnostics of the compiler, which has cleaned and may have coloured them.
pub fn diagnostics(text: &str) -> Outcome {
    raw(text.as_bytes())
}

/// Prints bytes that are for another program: they stay as they are.
pub fn raw(bytes: &[u8]) -> Outcome {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Prints text on standard error, if somebody reads it.
pub fn error(text: &str) {
    let _ = io::stderr().lock().write_all(terminal(text).as_bytes());
}

/// Prints diagnostics of the compiler on standard error.
pub fn error_diagnostics(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Prints one JSON document.
pub fn json(value: &impl Serialize) -> Outcome {
    let json = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
    raw((json + "\n").as_bytes())
}

/// Prints the JSON document if `json`, else the text.
pub fn print(json: bool, document: &impl Serialize, text: impl FnOnce() -> String) -> Outcome {
    if json { self::json(document) } else { self::text(&text()) }
}

/// Whether text for a stream may have colours (no-color.org).
pub fn has_colours(stream: &impl IsTerminal) -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !refused && !is_dumb_terminal()
}

/// Whether the terminal can neither colour text nor move the cursor.
pub fn is_dumb_terminal() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term == "dumb")
}

/// A number of things: `1 event`, `2 events`.
pub fn count<N: Display + PartialEq + From<u8>>(number: N, thing: &str) -> String {
    format!("{number} {thing}{}", if number == N::from(1) { "" } else { "s" })
}

/// Whether a name stands for standard input or output. The file of this name is `./-`.
pub fn is_dash(path: &Path) -> bool {
    path == Path::new("-")
}

/// Writes a file atomically (see [`hearth_base::file`]), or to standard output.
pub fn file(path: &Path, content: &[u8]) -> Result<(), Failure> {
    if is_dash(path) {
        return raw(content).map(drop);
    }
    let failed = |error| Failure::new(format_args!("cannot write {}: {error}", path.display()));
    hearth_base::file::write(path, content).map_err(failed)
}

/// Writes text to the file, or to standard output without one.
pub fn file_or_text(path: Option<&Path>, content: &str) -> Outcome {
    match path {
        Some(path) => file(path, content.as_bytes()).map(|()| ExitCode::SUCCESS),
        None => raw(content.as_bytes()),
    }
}

/// Reads a text file. `what` names its content in the error: "the policy".
pub fn read(what: &str, path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| {
        Failure::new(format_args!("cannot read {what} {}: {error}", path.display())).near(path, &error)
    })
}

/// Fails if a file cannot be written. Verbs check this before they start long work.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(Failure::new(format_args!("{} is a folder", path.display())).help("name a file in it"));
    }
    check_parent(path)
}

/// Fails if a trace, which is a folder, cannot be written.
pub fn check_trace(path: &Path) -> Result<(), Failure> {
    if is_dash(path) {
        return Err(
            Failure::usage("a trace is a folder, and cannot be printed").help("name it: -o NAME.trace")
        );
    }
    check_parent(path)?;
    Ok(Writer::check(path)?)
}

/// Fails if a recording cannot be written, or the trace that it replaces cannot be kept.
pub fn check_recording(path: &Path) -> Result<(), Failure> {
    check_trace(path)?;
    check_trace(&Writer::old_name(path))
}

fn check_parent(path: &Path) -> Result<(), Failure> {
    let parent = hearth_base::file::folder(path);
    match fs::metadata(parent) {
        Ok(meta) if meta.is_dir() => Ok(()),
        Ok(_) => Err(Failure::new(format_args!("{} is not a folder", parent.display()))),
        Err(error) => {
            Err(Failure::new(format_args!("cannot write {}: {}: {error}", path.display(), parent.display()))
                .help(format_args!("create the folder first: mkdir -p {}", parent.display())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_and_many() {
        assert_eq!(
            [count(0_u64, "event"), count(1_usize, "event"), count(2_u16, "event")],
            ["0 events", "1 event", "2 events"]
        );
    }
}
