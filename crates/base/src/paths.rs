//! Where Hearth finds files of its own: what was installed beside the program, and the user's cache.

use crate::environment;
use etcetera::base_strategy::{BaseStrategy, Xdg};
use std::env;
use std::path::{Path, PathBuf};

/// A folder of installed files in one of its two forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// C sources of the runtime: `saakm.h`, `bpf/`.
    pub runtime: PathBuf,
    /// BPF headers: `scx/`, `vmlinux.h`. Absent unless `make bpf` or `make install` unpacked them.
    pub include: PathBuf,
    /// Compiled objects: `NAME.bpf.o`.
    pub objects: PathBuf,
}

impl Library {
    /// `PREFIX/lib/hearth`, as `make install` makes it.
    pub fn installed(folder: &Path) -> Library {
        Library { runtime: folder.join("runtime"), include: folder.join("include"), objects: folder.into() }
    }

    /// The root of the source tree, after `make bpf`.
    pub fn source_tree(root: &Path) -> Library {
        Library {
            runtime: root.join("runtime"),
            include: root.join("target/bpf/include"),
            objects: root.join("target/bpf"),
        }
    }

    /// The folders that may hold the library, most specific first: `$HEARTH_LIB` alone if it is set, else
    /// those relative to the running program. None of them need exist.
    pub fn candidates() -> Vec<Library> {
        let program = env::current_exe().unwrap_or_default();
        // Behind a symbolic link is the real installation.
        let program = program.canonicalize().unwrap_or(program);
        candidates(environment::variable("HEARTH_LIB").map(PathBuf::from), &program)
    }
}

fn candidates(named: Option<PathBuf>, program: &Path) -> Vec<Library> {
    if let Some(folder) = named {
        // Both forms have runtime/, so that its presence does not tell them apart.
        let is_source_tree = folder.join("Cargo.toml").is_file();
        return vec![if is_source_tree {
            Library::source_tree(&folder)
        } else {
            Library::installed(&folder)
        }];
    }
    // ROOT/target/PROFILE/hearth, or a test in ROOT/target/PROFILE/deps.
    let target = program.ancestors().skip(2).take(2).find(|folder| folder.ends_with("target"));
    let root = target.and_then(Path::parent);
    // PREFIX/bin/hearth
    let prefix = program.parent().and_then(Path::parent);
    let installed = prefix.map(|prefix| Library::installed(&prefix.join("lib/hearth")));
    root.map(Library::source_tree).into_iter().chain(installed).collect()
}

/// The file or folder `name` in the user's cache (`$XDG_CACHE_HOME/hearth`, `~/.cache/hearth`), or in
/// `/var/cache/hearth` for a user without a home, and where the environment cannot be believed. It need not exist.
pub fn cache(name: &str) -> PathBuf {
    let of_user = Xdg::new().ok().filter(|_| !environment::has_raised_rights());
    let base = of_user.map_or_else(|| "/var/cache".into(), |base| base.cache_dir());
    base.join("hearth").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_to_the_program() {
        let of = |program: &str| candidates(None, Path::new(program));
        let sources = Library::source_tree(Path::new("/src/h"));
        assert_eq!(of("/src/h/target/release/hearth")[0], sources);
        assert_eq!(of("/src/h/target/debug/deps/kernel-12ab")[0], sources);
        assert_eq!(of("/usr/local/bin/hearth"), [Library::installed(Path::new("/usr/local/lib/hearth"))]);
        assert!(of("hearth").len() <= 1);
    }

    #[test]
    fn the_named_folder_is_the_only_candidate_and_may_have_either_form() {
        let folder = tempfile::tempdir().unwrap();
        let named = || candidates(Some(folder.path().into()), Path::new("/src/h/target/debug/hearth"));
        assert_eq!(named(), [Library::installed(folder.path())]);
        std::fs::write(folder.path().join("Cargo.toml"), "").unwrap();
        assert_eq!(named(), [Library::source_tree(folder.path())]);
    }
}
