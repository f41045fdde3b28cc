//! Progress reports to the caller.

use std::time::Duration;

/// A progress report.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// A short step has started.
    Doing(&'a str),
    /// Progress of a download.
    Fetching { what: &'a str, bytes: u64, total: u64 },
    /// The guest is booting.
    Booting { guest: &'a str, since: Duration },
    /// The guest has booted and its command runs.
    Running { booted_in: Duration },
    /// A note for the user.
    Note(&'a str),
}

/// Callback for progress reports.
pub type Watch<'a, 'b> = &'a mut (dyn FnMut(Progress) + 'b);
