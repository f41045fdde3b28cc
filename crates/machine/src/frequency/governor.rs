//! Governor: the kernel's frequency requests to the hardware.

use super::pstate::{PState, PStates};
use super::spec::{Control, FrequencySpec, Powersave};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A Linux cpufreq governor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Governor {
    /// Requests at least the nominal frequency; the hardware may go above it.
    Performance,
    /// Leaves the choice to the hardware or requests the lowest frequency, depending on the machine
    /// ([`Powersave`]).
    Powersave,
    /// Follows the utilisation tracked by the scheduler.
    Schedutil,
}

impl Governor {
    /// All governors.
    pub const ALL: [Governor; 3] = [Governor::Performance, Governor::Powersave, Governor::Schedutil];

    /// The governor's name in the kernel.
    pub fn name(self) -> &'static str {
        match self {
            Governor::Performance => "performance",
            Governor::Powersave => "powersave",
            Governor::Schedutil => "schedutil",
        }
    }
}

impl fmt::Display for Governor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Error for an unknown governor name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no governor is called `{0}`; use `performance`, `powersave` or `schedutil`")]
pub struct UnknownGovernor(pub String);

impl FromStr for Governor {
    type Err = UnknownGovernor;

    fn from_str(name: &str) -> Result<Governor, UnknownGovernor> {
        Governor::ALL.into_iter().find(|g| g.name() == name).ok_or_else(|| UnknownGovernor(name.to_owned()))
    }
}

/// Range within which the hardware chooses the P-state of one physical core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Lowest P-state while busy.
    pub floor: PState,
    /// Highest P-state.
    pub ceiling: PState,
}

/// `schedutil` state of one hardware thread.
#[derive(Debug, Clone, Copy)]
struct Request {
    /// Last accepted request.
    pstate: PState,
    /// Time from which the next request is accepted (rate limit).
    open_at: u64,
}

/// Governor state of one machine.
pub(super) struct Policy {
    governor: Governor,
    control: Control,
    /// Bounds that do not depend on utilisation.
    fixed: Bounds,
    requests: Vec<Request>,
    rate_limit_ns: u64,
    max_khz: u64,
    top: PState,
}

impl Policy {
    pub fn new(spec: &FrequencySpec, pstates: &PStates, governor: Governor, cores: usize) -> Policy {
        let (lowest, top) = (PState::LOWEST, pstates.top());
        let fixed = match (governor, spec.powersave) {
            (Governor::Performance, _) => Bounds { floor: pstates.at_most(spec.nominal_khz), ceiling: top },
            (Governor::Powersave, Powersave::Lowest) => Bounds { floor: lowest, ceiling: lowest },
            (Governor::Powersave, Powersave::Hardware) | (Governor::Schedutil, _) => {
                Bounds { floor: lowest, ceiling: top }
            }
        };
        Policy {
            governor,
            control: spec.control,
            fixed,
            requests: vec![Request { pstate: lowest, open_at: 0 }; cores],
            rate_limit_ns: u64::from(spec.schedutil.rate_limit_us) * 1000,
            max_khz: u64::from(spec.max_khz()),
            top,
        }
    }

    /// P-state to which the displayed frequency of an idle core falls.
    pub fn idle_floor(&self) -> PState {
        self.fixed.floor
    }

    /// Bounds before any utilisation is known.
    pub fn initial(&self) -> Bounds {
        self.bounds(PState::LOWEST)
    }

    /// Updates the utilisation of `core` (0..=1024). Returns true if the `schedutil` request
    /// changed.
    ///
    /// Request: 1.25 · util / 1024 · maximum, as in `get_next_freq` and `map_util_freq` of Linux.
    /// As in `sugov_should_update_freq`, an update within the rate limit is dropped; the next
    /// scheduler event sends another.
    pub fn hear(&mut self, now: u64, core: u16, util: u32, pstates: &PStates) -> bool {
        if self.governor != Governor::Schedutil {
            return false;
        }
        let request = &mut self.requests[usize::from(core)];
        if now < request.open_at {
            return false;
        }
        let util = u64::from(util.min(1024));
        let khz = (self.max_khz + self.max_khz / 4) * util / 1024;
        let pstate = pstates.at_least(khz.min(self.max_khz) as u32).min(self.top);
        if pstate == request.pstate {
            return false;
        }
        *request = Request { pstate, open_at: now + self.rate_limit_ns };
        true
    }

    /// Bounds of a physical core with the hardware threads `cores`: the highest request wins.
    pub fn bounds_of(&self, cores: &[u16]) -> Bounds {
        let wanted = cores.iter().map(|&c| self.requests[usize::from(c)].pstate);
        self.bounds(wanted.max().unwrap_or(PState::LOWEST))
    }

    fn bounds(&self, request: PState) -> Bounds {
        match (self.governor, self.control) {
            (Governor::Schedutil, Control::SpeedShift) => Bounds { floor: request, ..self.fixed },
            (Governor::Schedutil, Control::SpeedStep | Control::PerCore) => {
                Bounds { ceiling: request, ..self.fixed }
            }
            (Governor::Performance | Governor::Powersave, _) => self.fixed,
        }
    }
}
