//! Linux's cpufreq governors.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A Linux cpufreq governor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Governor {
    /// Requests the highest frequency ([`super::Performance`]).
    Performance,
    /// Depends on the machine's driver ([`super::Powersave`]).
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
