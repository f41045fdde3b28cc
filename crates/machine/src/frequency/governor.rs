//! The kernel's side: what the governor asks of the hardware.

use super::pstate::{PState, PStates};
use super::spec::{Control, FrequencySpec, Powersave};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A Linux cpufreq governor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Governor {
    /// At least the nominal frequency; the hardware is free above it.
    Performance,
    /// The hardware decides, or always the lowest frequency, by machine
    /// ([`Powersave`]).
    Powersave,
    /// Follows the utilisation that the scheduler sees.
    Schedutil,
}

impl Governor {
    /// All governors.
    pub const ALL: [Governor; 3] = [Governor::Performance, Governor::Powersave, Governor::Schedutil];

    /// The kernel's name for it.
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

/// Not a governor's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no governor is called `{0}`; there are `performance`, `powersave` and `schedutil`")]
pub struct UnknownGovernor(pub String);

impl FromStr for Governor {
    type Err = UnknownGovernor;

    fn from_str(name: &str) -> Result<Governor, UnknownGovernor> {
        Governor::ALL.into_iter().find(|g| g.name() == name).ok_or_else(|| UnknownGovernor(name.to_owned()))
    }
}

/// The bounds within which the hardware may choose for one physical core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Not below this while busy.
    pub floor: PState,
    /// Not above this.
    pub ceiling: PState,
}

/// What `schedutil` remembers of one hardware thread.
#[derive(Debug, Clone, Copy)]
struct Request {
    /// Last accepted request.
    pstate: PState,
    /// From when on the next one is accepted.
    open_at: u64,
}

/// The governor of one machine.
pub(super) struct Policy {
    governor: Governor,
    control: Control,
    /// Bounds that no utilisation changes.
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

    /// The P-state that an idle core's shown frequency falls to.
    pub fn idle_floor(&self) -> PState {
        self.fixed.floor
    }

    /// Before any utilisation is known.
    pub fn initial(&self) -> Bounds {
        self.bounds(PState::LOWEST)
    }

    /// `schedutil` hears of `core`'s utilisation (0..=1024). True if its request
    /// changed.
    ///
    /// Request: 1.25 · util / 1024 · maximum, as `get_next_freq` and
    /// `map_util_freq` in Linux. An update within the rate limit is dropped, as
    /// in `sugov_should_update_freq`: the next scheduler event brings another.
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

    /// The bounds of a physical core with these hardware threads. The most
    /// demanding one decides.
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
