//! Idle states: how deep an idle core sleeps, and what waking it costs.
//!
//! Linux's `menu` governor *predicts* the idle time and picks the deepest state
//! whose target residency fits the prediction. This crate *promotes* instead: an
//! idle core is in the deepest state whose target residency it has already been
//! idle for. That needs no prediction, is never too deep for a short sleep, and
//! is at most one residency late for a long one.

use serde::{Deserialize, Serialize};

/// One idle state (C-state) of a core.
///
/// The numbers are those of the kernel's idle driver, where there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleState {
    /// As in `/sys/devices/system/cpu/cpu0/cpuidle/state*/name`.
    pub name: String,
    /// Time from the wake-up to the first instruction, in microseconds.
    pub exit_latency_us: u32,
    /// Shortest idle time for which entering the state pays, in microseconds.
    pub target_residency_us: u32,
}

impl IdleState {
    /// [`Self::exit_latency_us`] in nanoseconds.
    pub fn exit_latency_ns(&self) -> u64 {
        u64::from(self.exit_latency_us) * 1000
    }

    /// [`Self::target_residency_us`] in nanoseconds.
    pub fn target_residency_ns(&self) -> u64 {
        u64::from(self.target_residency_us) * 1000
    }
}

/// The deepest of `states` (shallow to deep) that a core idle for `idle_ns` is
/// in; `None` while it still polls.
pub fn state_after(states: &[IdleState], idle_ns: u64) -> Option<&IdleState> {
    let passed = states.partition_point(|s| s.target_residency_ns() <= idle_ns);
    passed.checked_sub(1).map(|deepest| &states[deepest])
}
