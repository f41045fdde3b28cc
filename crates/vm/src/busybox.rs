//! A static busybox for the guest's init: the machine's own, Debian's, or that of the guest's programs.

use crate::apt::Apt;
use crate::architecture::Architecture;
use crate::cache::Cache;
use crate::error::Error;
use crate::progress::Watch;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PACKAGE: &str = "busybox-static";
const FOLDER: &str = "busybox";

pub fn get(cache: &Cache, watch: Watch) -> Result<Vec<u8>, Error> {
    let places =
        || ["/bin/busybox", "/usr/bin/busybox"].map(PathBuf::from).into_iter().chain([in_cache(cache)]);
    let found = || places().find_map(|path| usable(&path));
    if let Some(busybox) = found() {
        return Ok(busybox);
    }
    let _lock = cache.lock()?;
    if let Some(busybox) = found() {
        return Ok(busybox);
    }
    let mut apt = Apt::of_release(cache, Architecture::HOST, watch)?;
    let version = apt.show(PACKAGE)?.field("Version").unwrap_or_default().to_owned();
    let root = cache.workplace()?;
    apt.fetch("busybox", &[(PACKAGE.into(), version)], root.path(), watch)?;
    cache.keep(root, FOLDER)?;
    usable(&in_cache(cache)).ok_or_else(|| Error::Fetch {
        what: PACKAGE.into(),
        why: "the package contains no static busybox".into(),
        help: "Install a static busybox as /bin/busybox, and please report this",
    })
}

/// The busybox of the programs of another architecture, which the host cannot try.
pub fn of_system(system: &Path) -> Result<Vec<u8>, Error> {
    let path = system.join("usr/bin/busybox");
    fs::read(&path).map_err(Error::file("read", &path))
}

/// Path of the fetched busybox: below /usr since Debian 13.
fn in_cache(cache: &Cache) -> PathBuf {
    let old = cache.path(FOLDER).join("bin/busybox");
    if old.exists() { old } else { cache.path(FOLDER).join("usr/bin/busybox") }
}

/// Reads the program if it is static and has the applets that the guest's scripts use.
fn usable(path: &Path) -> Option<Vec<u8>> {
    const NEEDED: [&str; 6] = ["insmod", "mount", "poweroff", "setsid", "stty", "switch_root"];
    let program = fs::read(path).ok()?;
    let list = Command::new(path).arg("--list").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let has_all = NEEDED.iter().all(|needed| list.lines().any(|applet| applet == *needed));
    (has_all && is_static(&program)?).then_some(program)
}

/// Whether a 64-bit little-endian ELF program has no PT_INTERP program header. `None` if it is no such program.
fn is_static(elf: &[u8]) -> Option<bool> {
    const PT_INTERP: [u8; 4] = 3u32.to_le_bytes();
    let short = |at: usize| Some(usize::from(u16::from_le_bytes(elf.get(at..at + 2)?.try_into().ok()?)));
    if !elf.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let headers = u64::from_le_bytes(elf.get(32..40)?.try_into().ok()?) as usize;
    let (size, count) = (short(54)?, short(56)?);
    let kinds = (0..count).map(|index| elf.get(headers + index * size..headers + index * size + 4));
    Some(!kinds.flatten().any(|kind| kind == PT_INTERP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_itself_is_not_static() {
        let program = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(is_static(&program), Some(false));
        assert_eq!(is_static(b"#!/bin/sh\n"), None);
    }
}
