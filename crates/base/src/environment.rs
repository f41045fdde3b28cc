//! Variables of the environment that choose programs, code or folders.

use std::ffi::OsString;

/// The variable, if it is set, is not empty, and can be believed: a process with more rights than its caller (setuid, file
/// capabilities) runs no code that the caller chose.
pub fn variable(name: &str) -> Option<OsString> {
    if has_raised_rights() { None } else { std::env::var_os(name).filter(|value| !value.is_empty()) }
}

/// Whether the kernel gave this program more rights than its caller has.
pub fn has_raised_rights() -> bool {
    // SAFETY: no preconditions.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The user and group who called this program through sudo.
pub fn caller() -> Option<(u32, u32)> {
    // SAFETY: no preconditions.
    let is_root = unsafe { libc::geteuid() } == 0;
    let number = |name| variable(name)?.to_str()?.parse().ok();
    is_root.then_some((number("SUDO_UID")?, number("SUDO_GID")?))
}
