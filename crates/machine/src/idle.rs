//! Idle states (C-states): depth and exit latency.
//!
//! Linux's `menu` governor *predicts* the idle time and enters the deepest state whose target
//! residency fits the prediction. This crate *promotes* instead: an idle core is in the deepest
//! state whose target residency it has already been idle for. Promotion needs no prediction. It is
//! never too deep for a short sleep, and at most one residency late for a long one.

use serde::{Deserialize, Serialize};

/// Idle state (C-state) of a core, with the values of the kernel's idle driver where it has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleState {
    /// Name as in `/sys/devices/system/cpu/cpu0/cpuidle/state*/name`.
    pub name: String,
    /// Time from the wake-up to the first instruction, in microseconds.
    pub exit_latency_us: u32,
    /// Minimum idle time for which entering the state pays off, in microseconds.
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

/// Deepest of `states` (ordered shallow to deep) reached by a core that has been idle for
/// `idle_ns`; `None` while it still polls.
pub fn state_after(states: &[IdleState], idle_ns: u64) -> Option<&IdleState> {
    let passed = states.partition_point(|s| s.target_residency_ns() <= idle_ns);
    passed.checked_sub(1).map(|deepest| &states[deepest])
}
