//! Sections `[frequency]` and `[power]` of a machine file.

use super::Driver;
use crate::topology::Shape;
use serde::{Deserialize, Serialize};

/// Interface by which the kernel requests frequencies from the hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Control {
    /// Enhanced Intel SpeedStep: the hardware runs the requested P-state.
    SpeedStep,
    /// Intel Speed Shift (HWP): the request is a lower bound, and the hardware chooses above it.
    SpeedShift,
    /// Each core runs the requested P-state. With a list of ACPI P-states, the hardware boosts above the highest.
    PerCore,
    /// The kernel requests nothing (no cpufreq): the hardware runs the highest frequency that it grants.
    None,
}

impl Control {
    /// Its name in machine files.
    pub fn name(self) -> &'static str {
        match self {
            Control::SpeedStep => "speedstep",
            Control::SpeedShift => "speedshift",
            Control::PerCore => "percore",
            Control::None => "none",
        }
    }
}

/// Effect of the governor `powersave` on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Powersave {
    /// `intel_pstate` without HWP samples the load every 10 ms.
    Sampler,
    /// The hardware decides (HWP).
    Hardware,
    /// Always the lowest frequency (`acpi-cpufreq`; ATC'20 paper, section 4.3).
    Lowest,
}

impl Powersave {
    /// Its name in machine files.
    pub fn name(self) -> &'static str {
        match self {
            Powersave::Sampler => "sampler",
            Powersave::Hardware => "hardware",
            Powersave::Lowest => "lowest",
        }
    }
}

/// Frequency that the governor `performance` requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Performance {
    /// The highest turbo frequency, as `intel_pstate` does (Linux 5.4 and 5.9).
    #[default]
    Turbo,
    /// The nominal frequency, in the words of the Nest paper (section 2.3).
    Nominal,
}

/// Section `[frequency]`: range, requests, turbo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrequencySpec {
    /// Lowest frequency.
    pub min_khz: u32,
    /// Highest frequency without turbo.
    pub nominal_khz: u32,
    /// Distance between two P-states, in kHz.
    pub step_khz: u32,
    /// Interval at which the hardware grants requests: frequencies change only at multiples of it.
    pub window_us: u32,
    /// Interface between kernel and hardware.
    pub control: Control,
    /// Effect of the governor `powersave`.
    pub powersave: Powersave,
    /// The cpufreq drivers that an administrator can choose, first the usual one. If it lists any, they decide `control` and
    /// `powersave`, whose values here are those of the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drivers: Vec<Driver>,
    /// Effect of the governor `performance`.
    #[serde(default)]
    pub performance: Performance,
    /// The frequencies that the kernel can request, ascending, from the minimum to the nominal one
    /// (ACPI P-states). If empty, it can request every P-state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests_khz: Vec<u32>,
    /// Highest frequency of each physical core of a socket (preferred cores). If empty, that of its kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub core_max_khz: Vec<u32>,
    /// Turbo limits above the nominal frequency.
    pub turbo: Turbo,
    /// How the hardware chooses a frequency by itself; required where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hwp: Option<Hwp>,
    /// Parameters of the `schedutil` governor.
    pub schedutil: Schedutil,
}

impl FrequencySpec {
    /// Highest frequency: the turbo limit with one active core.
    pub fn max_khz(&self) -> u32 {
        self.turbo.limits.first().map_or(self.nominal_khz, |l| l.khz)
    }

    /// Highest frequency of each physical core of a socket.
    pub(crate) fn core_maxima(&self, shape: &Shape) -> Vec<u32> {
        let of = |core: u16| {
            let kind = shape.kinds.get(shape.kind_of(core)).map_or(u32::MAX, |kind| kind.max_khz);
            let own = self.core_max_khz.get(usize::from(core)).copied().unwrap_or(u32::MAX);
            kind.min(own).min(self.max_khz())
        };
        (0..shape.cores_per_socket).map(of).collect()
    }
}

/// Section `[frequency.turbo]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turbo {
    /// Time for which a physical core counts as active after it entered an idle state that does not
    /// count, in microseconds.
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

/// Section `[frequency.hwp]`: choice of the hardware (Speed Shift).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hwp {
    /// Time constant of the moving average of a core's activity, in microseconds.
    pub tau_us: u32,
    /// Average activity from which the hardware chooses the highest frequency, in thousandths.
    pub full_permille: u32,
}

/// Section `[frequency.schedutil]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedutil {
    /// Minimum time between two requests for one core, in microseconds.
    pub rate_limit_us: u32,
    /// Frequency at which running time counts fully (frequency invariance); 0 if the kernel has no
    /// frequency invariance on this machine.
    pub invariant_khz: u32,
}

/// Section `[[power.limit]]`: a limit of a socket's average power (PL1, PL2, PPT).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerLimit {
    /// Largest average power of the socket, in watts.
    pub watts: f64,
    /// Time constant of the average, in microseconds.
    pub tau_us: u32,
}

/// Section `[power]`: power of one socket, in watts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerSpec {
    /// All cores busy at the all-core turbo frequency, or at `tdp_khz`.
    pub tdp_w: f64,
    /// Frequency at which the socket draws `tdp_w` with all cores busy, if it is not the all-core turbo frequency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tdp_khz: Option<u32>,
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
    /// Limits of the average power.
    #[serde(default, rename = "limit", skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<PowerLimit>,
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
        self.limits.iter_mut().for_each(|limit| limit.watts *= factor);
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
