//! Embeds the viewer's page, if it has been built: `make web` makes `web/dist`. It is never built
//! here: who builds the binary need not have Node.

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
    fs::write(out.join("page.rs"), table(&files)).expect("the build's own folder can be written to");
}

/// An array of names and contents, as Rust.
fn table(files: &[PathBuf]) -> String {
    let entry = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?;
        let path = Path::new(path).canonicalize().ok()?;
        Some(format!("    ({name:?}, include_bytes!({path:?}) as &[u8]),\n"))
    };
    let entries: String = files.iter().filter_map(entry).collect();
    format!("&[\n{entries}]\n")
}
