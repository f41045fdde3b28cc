//! How to play.

use crate::error::Error;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What a `run` step spends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Burn {
    /// A fixed amount of work: rounds of a calibrated loop. On a slow core, beside a busy hyperthread or
    /// after a preemption it takes longer.
    #[default]
    Work,
    /// A fixed amount of the thread's CPU time, whatever is done in it; what the kernel does for the thread is
    /// part of it. For emulated machines, where the speed of a core means nothing.
    Time,
}

impl FromStr for Burn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "work" => Ok(Burn::Work),
            "time" => Ok(Burn::Time),
            _ => Err("it must be \"work\" or \"time\"".into()),
        }
    }
}

impl fmt::Display for Burn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Burn::Work => "work",
            Burn::Time => "time",
        })
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// The frequency of the graph's cycles in GHz: `run` N is work that takes N/`ghz` nanoseconds on an
    /// undisturbed core of this machine. More than 0.
    pub ghz: f64,
    /// Factor on all work (delays stay). More than 0.
    pub scale: f64,
    pub burn: Burn,
    /// A play that has not ended after so long is stopped, and is an error.
    pub timeout: Duration,
}

impl Default for Options {
    /// At the generators' nominal frequency, unscaled, by work, for at most ten minutes.
    fn default() -> Self {
        Options {
            ghz: f64::from(hearth_workload::generate::NOMINAL_KHZ) / 1e6,
            scale: 1.0,
            burn: Burn::Work,
            timeout: Duration::from_secs(600),
        }
    }
}

impl Options {
    /// Fails if a number is out of its range.
    pub fn check(&self) -> Result<(), Error> {
        check_positive("the frequency (--ghz)", self.ghz)?;
        check_positive("the factor on the work (--scale)", self.scale)
    }
}

pub(crate) fn check_positive(what: &'static str, value: f64) -> Result<(), Error> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(Error::Option { what, value }) }
}
