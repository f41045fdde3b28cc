//! Requirements of a kernel that runs policies.

use crate::error::Error;
use hearth_base::rights;
use std::fs;
use std::path::Path;

const SCHED_EXT: &str = "sys/kernel/sched_ext";

/// Checks the kernel and the rights of this process.
///
/// # Errors
/// The first requirement that is not met.
pub fn check() -> Result<(), Error> {
    check_kernel(Path::new("/"))?;
    match rights::missing(rights::BPF) {
        Some(missing) => Err(Error::NotAllowed { missing }),
        None => Ok(()),
    }
}

/// Whether this kernel can run policies, whoever asks.
pub fn running_kernel_fits() -> bool {
    check_kernel(Path::new("/")).is_ok()
}

/// The name of the running sched_ext scheduler, if any.
pub fn running() -> Option<String> {
    let read = |file: &str| {
        Some(fs::read_to_string(Path::new("/").join(SCHED_EXT).join(file)).ok()?.trim().to_owned())
    };
    match read("state")?.as_str() {
        "disabled" => None,
        _ => Some(read("root/ops").unwrap_or_else(|| "a scheduler".into())),
    }
}

/// Number of hot-plugs since boot.
pub(crate) fn hotplugs() -> u64 {
    let text = fs::read_to_string(Path::new("/").join(SCHED_EXT).join("hotplug_seq")).unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

/// Whether a core is going on line or off line.
pub(crate) fn hotplugging() -> bool {
    let cores = fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    cores.map(|core| core.path().join("hotplug")).any(|hotplug| {
        let read = |file: &str| fs::read_to_string(hotplug.join(file)).ok();
        read("state") != read("target")
    })
}

/// Whether the kernel's BPF has what policies need, such as arenas, on this architecture.
fn check_architecture() -> Result<(), Error> {
    // Without LSE the kernel's compiler (bpf_jit_supports_insn) refuses atomic operations on arenas.
    #[cfg(target_arch = "aarch64")]
    if !std::arch::is_aarch64_feature_detected!("lse") {
        return Err(Error::NoAtomics);
    }
    match std::env::consts::ARCH {
        "x86_64" | "aarch64" => Ok(()),
        other => Err(Error::Architecture(other)),
    }
}

fn check_kernel(root: &Path) -> Result<(), Error> {
    let kernel =
        fs::read_to_string(root.join("proc/sys/kernel/osrelease")).unwrap_or_default().trim().to_owned();
    if !root.join(SCHED_EXT).is_dir() {
        return Err(Error::NoSchedExt { kernel });
    }
    check_architecture()?;
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
    fn missing_requirements_are_reported() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/sys/kernel/osrelease", "6.1.0\n");
        let error = check_kernel(root.path()).unwrap_err();
        assert!(
            error.to_string().contains("6.1.0") && error.help().unwrap().contains("Linux 6.12 and newer"),
            "{error}"
        );
        write("sys/kernel/sched_ext/state", "disabled\n");
        write("sys/kernel/realtime", "1\n");
        assert!(matches!(check_kernel(root.path()), Err(Error::RealTime)));
        write("sys/kernel/realtime", "0\n");
        assert!(matches!(check_kernel(root.path()), Err(Error::NoBtf)));
        write("sys/kernel/btf/vmlinux", "");
        assert!(matches!(check_kernel(root.path()), Err(Error::NoConfig { .. })));
        write("boot/config-6.1.0", "");
        check_kernel(root.path()).unwrap();
    }
}
