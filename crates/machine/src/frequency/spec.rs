//! The sections `[frequency]` and `[power]` of a machine file.

use serde::{Deserialize, Serialize};

/// Who chooses the frequency, and what a request of the kernel means to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Control {
    /// Enhanced Intel SpeedStep: the kernel's request is the most that the
    /// hardware will run at.
    SpeedStep,
    /// Intel Speed Shift (HWP): the kernel's request is a lower bound; the
    /// hardware is free above it.
    SpeedShift,
    /// AMD's per-core control: as [`Control::SpeedStep`].
    PerCore,
}

/// What the governor `powersave` means on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Powersave {
    /// The hardware, or a driver acting for it, decides (`intel_pstate`).
    Hardware,
    /// Always the lowest frequency (`acpi-cpufreq`; ATC'20, section 4.3).
    Lowest,
}

/// Section `[frequency]`: how fast the cores can run and how fast that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrequencySpec {
    /// Lowest frequency.
    pub min_khz: u32,
    /// Highest frequency without turbo.
    pub nominal_khz: u32,
    /// Distance between two P-states.
    pub step_khz: u32,
    /// Who chooses.
    pub control: Control,
    /// What `powersave` means here.
    pub powersave: Powersave,
    /// Limits above the nominal frequency.
    pub turbo: Turbo,
    /// How the hardware follows the load.
    pub ramp: Ramp,
    /// The kernel's `schedutil` governor.
    pub schedutil: Schedutil,
}

impl FrequencySpec {
    /// The highest frequency of all: turbo with one active core.
    pub fn max_khz(&self) -> u32 {
        self.turbo.limits.first().map_or(self.nominal_khz, |l| l.khz)
    }
}

/// Section `[frequency.turbo]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turbo {
    /// For how long a physical core still counts as active after it went idle.
    pub release_us: u32,
    /// Limits by number of active physical cores of the socket, falling.
    pub limits: Vec<TurboLimit>,
}

/// One column of the turbo table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurboLimit {
    /// Up to so many active physical cores …
    pub cores: u16,
    /// … each may run at this frequency.
    pub khz: u32,
}

impl Turbo {
    /// Cuts or stretches the table to a socket of `cores`.
    pub(crate) fn stretch_to(&mut self, cores: u16) {
        let needed = self.limits.iter().position(|l| l.cores >= cores);
        if let Some(last) = needed {
            self.limits.truncate(last + 1);
        }
        if let Some(last) = self.limits.last_mut() {
            last.cores = cores;
        }
    }
}

/// Section `[frequency.ramp]`: the warmth of a core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ramp {
    /// The hardware changes frequencies only at multiples of this.
    pub window_us: u32,
    /// Busy time from cold to fully warm.
    pub up_us: u32,
    /// Idle time until the shown frequency is back at its lowest.
    pub down_us: u32,
    /// Idle time from fully warm to cold.
    pub settle_us: u32,
}

/// Section `[frequency.schedutil]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedutil {
    /// Shortest time between two requests for one core.
    pub rate_limit_us: u32,
}

/// Section `[power]`: what a socket draws. All values are for one socket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerSpec {
    /// With every core busy at the all-core turbo frequency, in watts.
    pub tdp_w: f64,
    /// What is on in every socket while any core of the machine is active.
    pub uncore_w: f64,
    /// The same while the whole machine is idle.
    pub package_idle_w: f64,
    /// One idle physical core.
    pub core_idle_w: f64,
    /// Part of a busy core's power, at the all-core turbo voltage, that leaks.
    pub leakage: f64,
    /// Voltage by frequency; linear in between.
    pub voltage: Vec<VoltagePoint>,
}

/// One point of the voltage curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VoltagePoint {
    /// At this frequency …
    pub khz: u32,
    /// … a core needs this voltage.
    pub mv: u32,
}

impl PowerSpec {
    /// A socket with `factor` times the cores.
    pub(crate) fn scale_by(&mut self, factor: f64) {
        self.tdp_w *= factor;
        self.uncore_w *= factor;
        self.package_idle_w *= factor;
    }

    /// Voltage at `khz`, in millivolts, extrapolated flat beyond the table.
    pub(crate) fn millivolts(&self, khz: u32) -> f64 {
        let points = &self.voltage;
        let above = points.partition_point(|p| p.khz < khz);
        match (above.checked_sub(1).and_then(|i| points.get(i)), points.get(above)) {
            (Some(low), Some(high)) => {
                let part = f64::from(khz - low.khz) / f64::from(high.khz - low.khz);
                f64::from(low.mv) + part * (f64::from(high.mv) - f64::from(low.mv))
            }
            (Some(only), None) | (None, Some(only)) => f64::from(only.mv),
            (None, None) => 1000.0,
        }
    }
}
