//! Options of a session.

use crate::cgroup::Cgroup;
use crate::error::Error;
use crate::frequency::Source;
use crate::load::LoadOptions;
use crate::object::Purpose;
use crate::observer::Record;
use hearth_policy::{Policy, Settings};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Scope of a policy that does not schedule the whole system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Partial {
    /// A command and its children.
    Command,
    /// All threads of a cgroup and of its descendants.
    Cgroup(PathBuf),
}

/// Options of a session.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub params: Settings,
    pub partial: Option<Partial>,
    pub frequency: Source,
    pub record: Option<Record>,
    /// File of the log to write (see [`crate::log`]); excludes `record`.
    pub log: Option<PathBuf>,
    /// Command that the trace or log names.
    pub command: Vec<String>,
    /// Replace a running policy of Hearth.
    pub replace: bool,
    /// Count underload, for which all cores write the same words at each wake-up.
    pub underload: bool,
    /// Let the kernel measure how long a placement takes.
    pub cost: bool,
    /// Longest wait of a ready thread before the kernel ejects the policy [default: the kernel's 30 s].
    pub watchdog: Option<Duration>,
    /// Index of a parameter, and its value while the machine's power profile saves power. Excludes `log`: parameters must
    /// not change while a log is being written.
    pub power_save: Vec<(usize, i64)>,
    /// Called with the number of cores after a hot-plug, when the policy schedules again.
    pub restarted: Option<fn(usize)>,
}

impl Options {
    pub(super) fn load_options(&self, policy: &Policy) -> Result<LoadOptions, Error> {
        Ok(LoadOptions {
            params: self.params.values(policy)?,
            partial: self.partial.is_some(),
            moves: self.cgroup().is_some(),
            watchdog: self.watchdog,
            log: self.log.is_some(),
            underload: self.underload,
            cost: self.cost,
        })
    }

    pub(super) fn purpose(&self) -> Purpose {
        if self.log.is_some() { Purpose::Log } else { Purpose::Run }
    }

    pub(super) fn cgroup(&self) -> Option<&Path> {
        match &self.partial {
            Some(Partial::Cgroup(path)) => Some(path),
            _ => None,
        }
    }

    /// What the policy schedules, for the socket. `cgroup`: the opened one.
    pub(super) fn scope(&self, cgroup: Option<&Cgroup>) -> String {
        match (&self.partial, cgroup) {
            (Some(Partial::Command), _) => "command".into(),
            (_, Some(cgroup)) => format!("cgroup {}", cgroup.path().display()),
            _ => "system".into(),
        }
    }
}
