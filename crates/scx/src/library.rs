//! The library folder with the C sources of the BPF runtime. They are GPL-2.0-only, so they are separate files and not
//! part of the binary.

use crate::error::Error;
pub use hearth_base::paths::Library;
use std::path::PathBuf;

/// The C file of the BPF runtime that includes all others.
pub fn main(library: &Library) -> PathBuf {
    library.runtime.join("bpf/main.bpf.c")
}

/// Finds the library folder that has the C sources.
///
/// # Errors
/// [`Error::NoLibrary`].
pub fn find() -> Result<Library, Error> {
    let candidates = Library::candidates();
    candidates.iter().find(|library| main(library).is_file()).cloned().ok_or_else(|| Error::NoLibrary {
        sought: candidates.into_iter().map(|library| library.runtime).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_workspace_has_one() {
        assert!(main(&find().unwrap()).is_file());
    }
}
