//! Idle states (C-states): depth, exit latency, and the kernel's choice among them ([`Menu`]). Updates of idle cores' load
//! ([`Nohz`]).

mod menu;
mod nohz;

pub(crate) use menu::{Choice, Menu};
pub(crate) use nohz::Nohz;

use serde::{Deserialize, Serialize};

/// Idle state (C-state) of a core, with the values of the kernel's idle driver where it has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleState {
    /// Name as in `/sys/devices/system/cpu/cpu0/cpuidle/state*/name`.
    pub name: String,
    /// Time from the wake-up to the first instruction while the package is active, in microseconds.
    pub exit_latency_us: u32,
    /// Minimum idle time for which entering the state pays off, in microseconds.
    pub target_residency_us: u32,
    /// True if a core in this state counts as active for the turbo limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counts: bool,
    /// Power of a physical core whose shallowest hardware thread is in this state, in watts. `None`: `core_idle_w`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_w: Option<f64>,
}

impl IdleState {
    /// [`Self::exit_latency_us`] in nanoseconds.
    pub fn exit_latency_ns(&self) -> u64 {
        u64::from(self.exit_latency_us) * 1000
    }
}
