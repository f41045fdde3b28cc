//! Progress of long work, on standard error, and only if that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// A bar of `length` steps. Where standard error is no terminal it shows nothing.
pub fn bar(what: &'static str, length: usize) -> ProgressBar {
    let bar = ProgressBar::new(length as u64).with_message(what);
    if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:40}] {pos}/{len}, {eta} left") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
