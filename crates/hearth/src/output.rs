//! Results: to standard output, or into files that are never seen half-written.

use crate::failure::Failure;
use hearth_trace::Writer;
use serde::Serialize;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Prints text for people. It ends with a newline.
pub fn text(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Prints one JSON document.
pub fn json(value: &impl Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
    text(&(json + "\n"))
}

/// Writes a file that is never seen half-written (see [`hearth_base::file`]).
pub fn file(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let failed = |error| Failure::new(format_args!("cannot write {}: {error}", path.display()));
    hearth_base::file::write(path, content).map_err(failed)
}

/// Says early that a file cannot be written, before long work is done for it.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(Failure::new(format_args!("{} is a folder", path.display())).help("name a file in it"));
    }
    check_parent(path)
}

/// The same for a trace, which is a folder itself.
pub fn check_trace(path: &Path) -> Result<(), Failure> {
    check_parent(path)?;
    Ok(Writer::check(path)?)
}

fn check_parent(path: &Path) -> Result<(), Failure> {
    let parent = hearth_base::file::folder(path);
    match fs::metadata(parent) {
        Ok(meta) if meta.is_dir() => Ok(()),
        Ok(_) => Err(Failure::new(format_args!("{} is not a folder", parent.display()))),
        Err(error) => {
            Err(Failure::new(format_args!("cannot write {}: {}: {error}", path.display(), parent.display()))
                .help(format_args!("make the folder first: mkdir -p {}", parent.display())))
        }
    }
}
