//! The programs of a guest whose architecture is not the host's: a small Debian, fetched into the cache. It is laid over
//! the host's root, and contains only `/usr` and the links into it.

use crate::apt::{self, Apt};
use crate::architecture::Architecture;
use crate::cache::Cache;
use crate::error::Error;
use crate::progress::Watch;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A shell with the usual programs, what hearth is linked with, and a C compiler for its simulator.
const PACKAGES: [&str; 19] = [
    "bash",
    "busybox-static",
    "coreutils",
    "dash",
    "diffutils",
    "findutils",
    "gcc",
    "grep",
    "hostname",
    "libc-bin",
    "libc6-dev",
    "libelf1",
    "make",
    "mawk",
    "procps",
    "python3-minimal",
    "sed",
    "util-linux",
    "zlib1g",
];
/// Links that installing these packages would make.
const LINKS: [(&str, &str); 2] = [("usr/bin/awk", "mawk"), ("usr/bin/cc", "gcc")];
/// Folders that are links into `/usr`.
const LINKED: [&str; 4] = ["bin", "sbin", "lib", "lib64"];
/// File that names the packages.
const CONTENTS: &str = "packages";
/// Where programs are searched for.
pub const PATH: &str = "/usr/sbin:/usr/bin";

/// Fetches the programs of an architecture for the running release; returns their folder.
pub fn get(architecture: Architecture, cache: &Cache, watch: Watch) -> Result<PathBuf, Error> {
    let name = format!("system-{}-{}", architecture.debian(), apt::release()?);
    let folder = cache.path(&name);
    let there = || fs::read_to_string(folder.join(CONTENTS)).is_ok_and(|text| text == PACKAGES.join(" "));
    if there() {
        return Ok(folder);
    }
    let _lock = cache.lock()?;
    if there() {
        return Ok(folder);
    }
    let mut apt = Apt::of_release(cache, architecture, watch)?;
    let packages = apt.with_missing_dependencies(&PACKAGES, None, watch)?;
    let root = cache.workplace()?;
    apt.fetch(&format!("programs for {architecture}"), &packages, root.path(), watch)?;
    tidy(root.path()).map_err(Error::file("arrange the programs in", root.path()))?;
    cache.keep(root, &name)
}

/// Moves everything into `usr`, as on an installed system, and removes the rest.
fn tidy(root: &Path) -> io::Result<()> {
    for name in LINKED {
        let (from, to) = (root.join(name), root.join("usr").join(name));
        if fs::symlink_metadata(&from).is_ok_and(|folder| folder.is_dir()) {
            move_into(&from, &to)?;
        }
    }
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true if entry.file_name() == "usr" => {}
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    for name in LINKED.iter().filter(|name| root.join("usr").join(name).exists()) {
        symlink(Path::new("usr").join(name), root.join(name))?;
    }
    for (link, to) in LINKS {
        symlink(to, root.join(link))?;
    }
    fs::write(root.join(CONTENTS), PACKAGES.join(" "))
}

/// Moves a folder's content into another folder, which may exist.
fn move_into(from: &Path, to: &Path) -> io::Result<()> {
    if !to.is_dir() {
        return fs::create_dir_all(to.parent().unwrap_or(to)).and_then(|()| fs::rename(from, to));
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() && target.is_dir() {
            move_into(&entry.path(), &target)?;
        } else {
            fs::rename(entry.path(), target)?;
        }
    }
    fs::remove_dir(from)
}

/// Checks that the guest's processor can run a program of the host.
///
/// # Errors
/// [`Error::ForeignProgram`].
pub fn check(
    program: &Path,
    directory: &Path,
    system: &Path,
    architecture: Architecture,
) -> Result<(), Error> {
    let named = program.components().count() > 1;
    let folders: Vec<_> =
        if named { vec![directory] } else { PATH.split(':').map(Path::new).collect::<Vec<_>>() };
    for path in folders.into_iter().map(|folder| folder.join(program)) {
        if path.strip_prefix("/").is_ok_and(|below| fs::symlink_metadata(system.join(below)).is_ok()) {
            return Ok(());
        }
        let Some(of) = start_of(&path).and_then(|start| Architecture::of_elf(&start)) else { continue };
        return match of == architecture {
            true => Ok(()),
            false => Err(Error::ForeignProgram { program: program.into(), of, wanted: architecture }),
        };
    }
    Ok(())
}

/// The first bytes of a file, if it has so many.
fn start_of(path: &Path) -> Option<[u8; 20]> {
    let mut start = [0; 20];
    io::Read::read_exact(&mut fs::File::open(path).ok()?, &mut start).ok()?;
    Some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, content: &[u8]) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    #[test]
    fn everything_moves_into_usr() {
        let root = tempfile::tempdir().unwrap();
        let path = |path: &str| root.path().join(path);
        for file in ["bin/sh", "usr/bin/env", "lib/a/one.so", "usr/lib/a/two.so", "sbin/x", "etc/passwd"] {
            write(&path(file), b"");
        }
        tidy(root.path()).unwrap();
        for file in ["usr/bin/sh", "bin/env", "lib/a/one.so", "lib/a/two.so", "usr/sbin/x", "packages"] {
            assert!(path(file).is_file(), "{file}");
        }
        assert!(!path("etc").exists() && !path("lib64").exists());
        assert_eq!(fs::read_link(path("usr/bin/cc")).unwrap(), Path::new("gcc"));
        assert_eq!(fs::read_link(path("bin")).unwrap(), Path::new("usr/bin"));
    }

    #[test]
    fn programs_of_the_host_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let other = match Architecture::HOST {
            Architecture::X86_64 => Architecture::Arm64,
            Architecture::Arm64 => Architecture::X86_64,
        };
        let (system, here) = (folder.path().join("system"), folder.path());
        let check = |program: &Path| check(program, here, &system, other);
        let this = std::env::current_exe().unwrap();
        assert!(matches!(check(&this), Err(Error::ForeignProgram { .. })));
        assert!(matches!(check(Path::new("env")), Err(Error::ForeignProgram { .. })));
        write(&system.join("usr/bin/env"), b"");
        check(Path::new("env")).unwrap();
        write(&here.join("script"), b"#!/bin/sh\n");
        check(Path::new("./script")).unwrap();
        check(Path::new("no-such-program")).unwrap();
    }
}
