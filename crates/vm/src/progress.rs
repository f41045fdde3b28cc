//! What a caller is told while things take their time.

use std::time::Duration;

/// A step.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// Something short has begun.
    Doing(&'a str),
    /// A download, so far.
    Fetching { what: &'a str, bytes: u64, total: u64 },
    /// The guest boots.
    Booting { guest: &'a str, since: Duration },
    /// The guest is there: its command runs.
    Running { booted_in: Duration },
    /// Something that the user should know.
    Note(&'a str),
}

/// Who is told.
pub type Watch<'a, 'b> = &'a mut (dyn FnMut(Progress) + 'b);
