//! Progress of long work, on standard error if that is a terminal.

use crate::output::is_dumb_terminal;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// Shows a bar of `length` steps while `work` runs. `work` calls its argument after each step.
pub fn during<T>(what: &'static str, length: usize, work: impl FnOnce(&(dyn Fn() + Sync)) -> T) -> T {
    let bar = if is_dumb_terminal() { ProgressBar::hidden() } else { ProgressBar::new(length as u64) };
    let bar = bar.with_message(what);
    if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:40}] {pos}/{len}, {eta} left") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    let result = work(&|| bar.inc(1));
    bar.finish_and_clear();
    result
}
