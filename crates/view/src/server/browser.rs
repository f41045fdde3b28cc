//! The user's browser.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// A file that leads the browser to the address. Other users can see the arguments of programs, and
/// must not see the address; they cannot read this file.
pub struct BrowserPage(PathBuf);

impl BrowserPage {
    /// Opens the address in the user's browser. `None`: there is no display, or no program that opens it.
    pub fn open(address: &str) -> Option<BrowserPage> {
        if !has_display() {
            return None;
        }
        let folder = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        let path = folder.join(format!("hearth-view-{}.html", std::process::id()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).ok()?;
        let page = BrowserPage(path);
        write!(file, "<!doctype html><meta http-equiv=refresh content='0;url={address}'>").ok()?;
        let mut command = Command::new("xdg-open");
        command.arg(&page.0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Without it, there is still the printed address.
        let mut opener = command.spawn().ok()?;
        std::thread::spawn(move || opener.wait());
        Some(page)
    }
}

impl Drop for BrowserPage {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
