//! Sections `[frequency]` and `[power]` of a machine file.

use serde::{Deserialize, Serialize};

/// Who chooses the frequency, and how the hardware treats a request of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Control {
    /// Enhanced Intel SpeedStep: the kernel's request is an upper bound.
    SpeedStep,
    /// Intel Speed Shift (HWP): the kernel's request is a lower bound.
    SpeedShift,
    /// AMD's per-core control: the request is an upper bound, as with [`Control::SpeedStep`].
    PerCore,
}

/// Effect of the governor `powersave` on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Powersave {
    /// The hardware or its driver decides (`intel_pstate`).
    Hardware,
    /// Always the lowest frequency (`acpi-cpufreq`; ATC'20 paper, section 4.3).
    Lowest,
}

/// Section `[frequency]`: range, turbo and ramp.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrequencySpec {
    /// Lowest frequency.
    pub min_khz: u32,
    /// Highest frequency without turbo.
    pub nominal_khz: u32,
    /// Distance between two P-states, in kHz.
    pub step_khz: u32,
    /// Who chooses the frequency.
    pub control: Control,
    /// Effect of the governor `powersave`.
    pub powersave: Powersave,
    /// Turbo limits above the nominal frequency.
    pub turbo: Turbo,
    /// How the hardware follows the load.
    pub ramp: Ramp,
    /// Parameters of the `schedutil` governor.
    pub schedutil: Schedutil,
}

impl FrequencySpec {
    /// Highest frequency: the turbo limit with one active core.
    pub fn max_khz(&self) -> u32 {
        self.turbo.limits.first().map_or(self.nominal_khz, |l| l.khz)
    }
}

/// Section `[frequency.turbo]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turbo {
    /// Time for which a physical core counts as active after it went idle, in microseconds.
    pub release_us: u32,
    /// Limits by number of active physical cores of the socket, descending.
    pub limits: Vec<TurboLimit>,
}

/// One column of the turbo table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurboLimit {
    /// Maximum number of active physical cores for this limit.
    pub cores: u16,
    /// Frequency limit of each active core.
    pub khz: u32,
}

impl Turbo {
    /// Truncates or extends the table to a socket of `cores` physical cores.
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

/// Section `[frequency.ramp]`: time constants of a core's warmth, in microseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ramp {
    /// Update interval: the hardware changes frequencies only at multiples of it.
    pub window_us: u32,
    /// Busy time from cold to fully warm.
    pub up_us: u32,
    /// Idle time until the displayed frequency reaches its lowest value.
    pub down_us: u32,
    /// Idle time from fully warm to cold.
    pub settle_us: u32,
}

/// Section `[frequency.schedutil]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedutil {
    /// Minimum time between two requests for one core, in microseconds.
    pub rate_limit_us: u32,
}

/// Section `[power]`: power of one socket, in watts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerSpec {
    /// All cores busy at the all-core turbo frequency.
    pub tdp_w: f64,
    /// Uncore of each socket while any core of the machine is active.
    pub uncore_w: f64,
    /// Uncore of each socket while the whole machine is idle.
    pub package_idle_w: f64,
    /// One idle physical core.
    pub core_idle_w: f64,
    /// Fraction of a busy core's power that is leakage, at the all-core turbo voltage.
    pub leakage: f64,
    /// Voltage by frequency, interpolated linearly.
    pub voltage: Vec<VoltagePoint>,
}

/// One point of the voltage curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VoltagePoint {
    /// Frequency of a core.
    pub khz: u32,
    /// Voltage that the core needs at this frequency, in millivolts.
    pub mv: u32,
}

impl PowerSpec {
    /// Scales the socket's power for `factor` times as many cores.
    pub(crate) fn scale_by(&mut self, factor: f64) {
        self.tdp_w *= factor;
        self.uncore_w *= factor;
        self.package_idle_w *= factor;
    }

    /// Voltage at `khz`, in millivolts; constant outside the table.
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
