//! Overload: threads share a core while another core is idle.

use super::state::CoreState;
use crate::event::Time;

/// Time integral of the number of cores with more than one runnable thread, while at least one core
/// is idle. All threads count, traced or not, because an idle core could run any of them.
pub struct Overload {
    overloaded: u64,
    idle: u64,
    core_ns: u128,
}

impl Overload {
    pub fn new(cores: usize) -> Self {
        Overload { overloaded: 0, idle: cores as u64, core_ns: 0 }
    }

    #[inline]
    pub fn advance(&mut self, ns: Time) {
        if self.idle > 0 {
            self.core_ns += u128::from(self.overloaded) * u128::from(ns);
        }
    }

    #[inline]
    pub fn core(&mut self, before: CoreState, after: CoreState) {
        let overloaded = |core: CoreState| u64::from(core.runnable > 1);
        self.overloaded = self.overloaded + overloaded(after) - overloaded(before);
        self.idle = self.idle + u64::from(after.idle()) - u64::from(before.idle());
    }

    pub fn core_ms(&self) -> f64 {
        self.core_ns() as f64 / 1e6
    }

    /// Time integral so far, in core-nanoseconds.
    pub fn core_ns(&self) -> u64 {
        u64::try_from(self.core_ns).unwrap_or(u64::MAX)
    }
}
