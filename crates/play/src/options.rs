//! Options of a play.

use crate::error::Error;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The resource that a `run` step consumes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Burn {
    /// A fixed amount of work: rounds of a calibrated loop. It takes longer on a slow core, next to a busy
    /// hyperthread, or if preempted.
    #[default]
    Work,
    /// A fixed amount of the thread's CPU time, including its time in the kernel. For emulated machines, where
    /// the speed of a core is meaningless.
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
    /// Frequency of the graph's cycles in GHz, greater than 0. `run` N takes N/`ghz` nanoseconds on an
    /// undisturbed core of this machine.
    pub ghz: f64,
    /// Factor on all work, greater than 0. Delays are not scaled.
    pub scale: f64,
    pub burn: Burn,
    /// Time after which the play is stopped with an error.
    pub timeout: Duration,
}

impl Default for Options {
    /// The generators' nominal frequency, no scaling, [`Burn::Work`], and a timeout of ten minutes.
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
    /// Checks the ranges of all numbers.
    pub fn check(&self) -> Result<(), Error> {
        check_positive("the frequency (--ghz)", self.ghz)?;
        check_positive("the factor on the work (--scale)", self.scale)
    }
}

pub(crate) fn check_positive(what: &'static str, value: f64) -> Result<(), Error> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(Error::Option { what, value }) }
}
