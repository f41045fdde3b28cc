//! Where the files are that Hearth needs beside its program to run policies: the C of SaaKM's kernel side and
//! the headers that it includes, which are GPL-2.0-only and therefore files of their own, and objects that
//! were made in advance.

use crate::error::Error;
use std::env;
use std::path::{Path, PathBuf};

/// A library folder, as it lies in the source tree or as `make install` makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// `saakm.h`, `saakm_inline.h` and `bpf/`.
    pub runtime: PathBuf,
    /// `scx/`, `bpf/`, `arch/`, `vmlinux.h`: there only if `make bpf` or `make install` unpacked them.
    pub include: PathBuf,
    /// Where `NAME.bpf.o` of built-in policies are.
    pub objects: PathBuf,
}

impl Library {
    /// Finds the folder: `$HEARTH_LIB`, else relative to this program.
    ///
    /// # Errors
    /// [`Error::NoLibrary`].
    pub fn find() -> Result<Library, Error> {
        let program = env::current_exe().unwrap_or_default();
        // Behind a symbolic link is the real installation.
        let program = program.canonicalize().unwrap_or(program);
        Self::among(candidates(env::var_os("HEARTH_LIB").map(PathBuf::from), &program))
    }

    fn among(candidates: Vec<Library>) -> Result<Library, Error> {
        let exists = |library: &Library| library.main().is_file();
        candidates.iter().find(|library| exists(library)).cloned().ok_or_else(|| Error::NoLibrary {
            sought: candidates.into_iter().map(|library| library.runtime).collect(),
        })
    }

    /// The C file that includes all others.
    pub fn main(&self) -> PathBuf {
        self.runtime.join("bpf/main.bpf.c")
    }

    fn installed(folder: &Path) -> Library {
        Library { runtime: folder.join("runtime"), include: folder.join("include"), objects: folder.into() }
    }

    fn sources(root: &Path) -> Library {
        Library {
            runtime: root.join("runtime"),
            include: root.join("target/bpf/include"),
            objects: root.join("target/bpf"),
        }
    }
}

fn candidates(named: Option<PathBuf>, program: &Path) -> Vec<Library> {
    if let Some(folder) = named {
        // Either form: an installed folder, or the root of the sources.
        return vec![Library::installed(&folder), Library::sources(&folder)];
    }
    let mut found = Vec::new();
    // ROOT/target/PROFILE/hearth, or one of its tests in ROOT/target/PROFILE/deps.
    if let Some(target) = program.ancestors().skip(2).take(2).find(|folder| folder.ends_with("target")) {
        found.extend(target.parent().map(Library::sources));
    }
    // PREFIX/bin/hearth
    if let Some(prefix) = program.parent().and_then(Path::parent) {
        found.push(Library::installed(&prefix.join("lib/hearth")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_to_the_program() {
        let of = |program: &str| candidates(None, Path::new(program));
        assert_eq!(of("/src/h/target/release/hearth")[0], Library::sources(Path::new("/src/h")));
        assert_eq!(of("/src/h/target/debug/deps/kernel-12ab")[0], Library::sources(Path::new("/src/h")));
        assert_eq!(of("/usr/local/bin/hearth"), [Library::installed(Path::new("/usr/local/lib/hearth"))]);
        assert!(of("hearth").len() <= 1);
    }

    #[test]
    fn the_named_folder_comes_first_and_may_have_either_form() {
        let folder = tempfile::tempdir().unwrap();
        let named = || candidates(Some(folder.path().into()), Path::new("/usr/bin/hearth"));
        assert!(matches!(Library::among(named()), Err(Error::NoLibrary { sought }) if sought.len() == 2));
        std::fs::create_dir_all(folder.path().join("runtime/bpf")).unwrap();
        std::fs::write(folder.path().join("runtime/bpf/main.bpf.c"), "").unwrap();
        assert_eq!(Library::among(named()).unwrap(), Library::installed(folder.path()));
    }

    #[test]
    fn this_workspace_has_one() {
        assert!(Library::find().unwrap().main().is_file());
    }
}
