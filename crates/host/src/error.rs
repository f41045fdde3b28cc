//! Errors of measurement and detection.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// An error of measurement or detection.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("this process may not use core {core}: choose one of {allowed}")]
    Core { core: u32, allowed: String },
    #[error("this process has no core: its affinity is empty")]
    NoCore,
    #[error("cannot stay on core {core}: {source}; is it online?")]
    Pin { core: u32, source: io::Error },
    #[error("the measuring thread has ended early: please report this as a bug of hearth")]
    Thread,
    #[error("the {name} time is {value:?}; give {low:?} to {high:?}")]
    Time { name: &'static str, value: Duration, low: Duration, high: Duration },
    #[error("{0} rounds; give 1 to 10000")]
    Rounds(u32),
    /// A file of sysfs that every description of the cores needs.
    #[error("the cores of this machine are unknown: cannot read {what} in {}: {reason}; is sysfs mounted, and readable here?", path.display())]
    Unreadable { what: &'static str, path: PathBuf, reason: String },
    /// A machine file cannot express this machine.
    #[error("{0}")]
    Irregular(String),
    #[error("{0}")]
    Machine(#[from] hearth_machine::Error),
}
