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

/// Writes beside `path`, then renames. (What is no regular file, `/dev/stdout` for instance, is written to
/// directly.)
pub fn file(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::new(format_args!("cannot write {}: {error}", path.display()));
    if fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
        return fs::write(path, content).map_err(failed);
    }
    let Some(name) = path.file_name() else {
        return Err(failed(io::Error::other("this path names no file")));
    };
    let mut beside = name.to_owned();
    beside.push(format!(".{}.partial", std::process::id()));
    let beside = path.with_file_name(beside);
    let written = fs::write(&beside, content).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&beside);
    }
    written.map_err(failed)
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
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match fs::metadata(parent) {
        Ok(meta) if meta.is_dir() => Ok(()),
        Ok(_) => Err(Failure::new(format_args!("{} is not a folder", parent.display()))),
        Err(error) => {
            Err(Failure::new(format_args!("cannot write {}: {}: {error}", path.display(), parent.display()))
                .help(format_args!("make the folder first: mkdir -p {}", parent.display())))
        }
    }
}
