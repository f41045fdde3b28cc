//! Embeds the web pages that `make web` builds in `web/dist`.
//!
//! It never builds them: building the binary does not need Node. Without them, `hearth` says that
//! they are missing.

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let dist = root.join("../../web/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut files: Vec<PathBuf> = fs::read_dir(&dist)
        .map(|entries| {
            entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_file()).collect()
        })
        .unwrap_or_default();
    files.sort();
    fs::write(out.join("page.rs"), table(&files)).expect("OUT_DIR is writable");
}

/// Rust source of an array of names and contents.
fn table(files: &[PathBuf]) -> String {
    let entry = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?;
        let path = Path::new(path).canonicalize().ok()?;
        Some(format!("    ({name:?}, include_bytes!({path:?}) as &[u8]),\n"))
    };
    let entries: String = files.iter().filter_map(entry).collect();
    format!("&[\n{entries}]\n")
}
