//! What the kernel must have before a policy can run in it.

use crate::error::Error;
use std::fs;
use std::path::Path;

const SCHED_EXT: &str = "sys/kernel/sched_ext";

/// Checks all of it.
///
/// # Errors
/// What is missing.
pub fn check() -> Result<(), Error> {
    under(Path::new("/"))?;
    // SAFETY: no arguments, cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Err(Error::NotRoot);
    }
    Ok(())
}

/// The name of the scheduler that runs through sched_ext, if one does.
pub fn running() -> Option<String> {
    let read = |file: &str| {
        Some(fs::read_to_string(Path::new("/").join(SCHED_EXT).join(file)).ok()?.trim().to_owned())
    };
    match read("state")?.as_str() {
        "disabled" => None,
        _ => Some(read("root/ops").unwrap_or_else(|| "a scheduler".into())),
    }
}

/// How often cores have come and gone since the kernel was booted.
pub(crate) fn hotplugs() -> u64 {
    let text = fs::read_to_string(Path::new("/").join(SCHED_EXT).join("hotplug_seq")).unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

/// Is a core on its way in or out?
pub(crate) fn hotplugging() -> bool {
    let cores = fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    cores.map(|core| core.path().join("hotplug")).any(|hotplug| {
        let read = |file: &str| fs::read_to_string(hotplug.join(file)).ok();
        read("state") != read("target")
    })
}

/// This architecture as libbpf's headers call it, and their folder for it.
///
/// # Errors
/// [`Error::Architecture`]: they do not know it, or arenas do not work there.
pub fn architecture() -> Result<(&'static str, &'static str), Error> {
    match std::env::consts::ARCH {
        "x86_64" => Ok(("x86", "x86")),
        "aarch64" => Ok(("arm64", "arm64")),
        other => Err(Error::Architecture(other)),
    }
}

fn under(root: &Path) -> Result<(), Error> {
    let kernel =
        fs::read_to_string(root.join("proc/sys/kernel/osrelease")).unwrap_or_default().trim().to_owned();
    if !root.join(SCHED_EXT).is_dir() {
        return Err(Error::NoSchedExt { kernel });
    }
    architecture()?;
    if fs::read_to_string(root.join("sys/kernel/realtime")).is_ok_and(|flag| flag.trim() == "1") {
        return Err(Error::RealTime);
    }
    if !root.join("sys/kernel/btf/vmlinux").exists() {
        return Err(Error::NoBtf);
    }
    // libbpf reads it for the `kconfig` externs of the scx headers.
    let readable = |path: String| fs::File::open(root.join(path)).is_ok();
    if !readable(format!("boot/config-{kernel}")) && !readable("proc/config.gz".into()) {
        return Err(Error::NoConfig { kernel });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/sys/kernel/osrelease", "6.1.0\n");
        let error = under(root.path()).unwrap_err();
        assert!(
            error.to_string().contains("6.1.0") && error.help().unwrap().contains("hearth vm"),
            "{error}"
        );
        write("sys/kernel/sched_ext/state", "disabled\n");
        write("sys/kernel/realtime", "1\n");
        assert!(matches!(under(root.path()), Err(Error::RealTime)));
        write("sys/kernel/realtime", "0\n");
        assert!(matches!(under(root.path()), Err(Error::NoBtf)));
        write("sys/kernel/btf/vmlinux", "");
        assert!(matches!(under(root.path()), Err(Error::NoConfig { .. })));
        write("boot/config-6.1.0", "");
        under(root.path()).unwrap();
    }
}
