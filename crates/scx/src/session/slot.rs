//! The place of the loaded policy, which several threads use.

use super::options::Options;
use crate::error::Error;
use crate::exit::ExitInfo;
use crate::load::Loaded;
use crate::requirements;
use crate::statistics::Statistics;
use hearth_host::{Host, now};
use hearth_policy::Policy;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

/// A loaded policy, and what the socket tells of it.
pub struct Running {
    pub loaded: Loaded,
    pub host: Host,
    /// CLOCK_MONOTONIC when the policy became the scheduler, in ns.
    pub since: u64,
    /// Number of hot-plugs since boot, before `host` was read.
    pub hotplugs: u64,
    /// Number of new starts after hot-plugs.
    pub restarts: u64,
    /// File of the recording in progress.
    pub recording: Option<PathBuf>,
    /// A log is being written, so parameters must not change.
    pub logging: bool,
}

impl Running {
    /// A policy that is about to be attached.
    pub fn new(loaded: Loaded, host: Host, hotplugs: u64, options: &Options) -> Running {
        Running {
            loaded,
            host,
            hotplugs,
            since: now(),
            restarts: 0,
            recording: options.record.as_ref().map(|record| record.path.clone()),
            logging: options.log.is_some(),
        }
    }

    /// Attaches the policy. True if a hot-plug has ended it already.
    pub fn attach(&mut self) -> Result<bool, Error> {
        match self.loaded.attach() {
            Err(Error::Ended(info)) if self.ended_by_hotplug(&info) => Ok(true),
            attached => attached.map(|()| false),
        }
    }

    /// Whether an end of the policy is due to a core that came or went: the kernel asks for a new start, or it found an error
    /// because that core dispatched first.
    pub fn ended_by_hotplug(&self, info: &ExitInfo) -> bool {
        info.restart()
            || info.is_error() && (requirements::hotplugs() != self.hotplugs || requirements::hotplugging())
    }

    pub fn statistics(&self, policy: &Policy) -> Statistics {
        Statistics {
            restarts: self.restarts,
            ..Statistics::read(&self.loaded.arena, policy, self.since, self.loaded.placing())
        }
    }
}

/// Holds the policy from loading to the end of the session. Empty while the policy starts again.
pub struct Slot(RwLock<Option<Running>>);

impl Slot {
    pub fn new(running: Running) -> Slot {
        Slot(RwLock::new(Some(running)))
    }

    /// `None` if the slot is empty.
    pub fn read<T>(&self, read: impl FnOnce(&Running) -> T) -> Option<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(read)
    }

    /// `None` if the slot is empty.
    pub fn change<T>(&self, change: impl FnOnce(&mut Running) -> T) -> Option<T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).as_mut().map(change)
    }

    pub fn take(&self) -> Option<Running> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub fn put(&self, running: Running) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(running);
    }
}
