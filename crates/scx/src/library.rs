//! The library folder that policies are compiled with. Its C sources and headers are GPL-2.0-only, and therefore files of
//! their own.

use crate::error::Error;
pub use hearth_base::paths::Library;
use std::path::PathBuf;

/// The C file that includes all others.
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
