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
