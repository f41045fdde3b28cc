//! Linux's cpufreq drivers: what each makes of a machine's frequency control.

use super::spec::{Control, FrequencySpec, Powersave};
use super::{Governor, UnknownGovernor};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A cpufreq driver in one of its modes, by its name in `scaling_driver`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Driver {
    /// Active mode.
    #[serde(rename = "intel_pstate")]
    IntelPstate,
    /// `intel_pstate` in passive mode.
    #[serde(rename = "intel_cpufreq")]
    IntelCpufreq,
    /// `amd-pstate` in active mode: the hardware chooses.
    #[serde(rename = "amd-pstate-epp")]
    AmdPstateEpp,
    /// Passive mode: the hardware runs any requested frequency.
    #[serde(rename = "amd-pstate")]
    AmdPstate,
    #[serde(rename = "acpi-cpufreq")]
    AcpiCpufreq,
}

impl Driver {
    pub const ALL: [Driver; 5] = [
        Driver::IntelPstate,
        Driver::IntelCpufreq,
        Driver::AmdPstateEpp,
        Driver::AmdPstate,
        Driver::AcpiCpufreq,
    ];

    /// The driver's name in the kernel.
    pub fn name(self) -> &'static str {
        match self {
            Driver::IntelPstate => "intel_pstate",
            Driver::IntelCpufreq => "intel_cpufreq",
            Driver::AmdPstateEpp => "amd-pstate-epp",
            Driver::AmdPstate => "amd-pstate",
            Driver::AcpiCpufreq => "acpi-cpufreq",
        }
    }

    /// The kernel parameter that selects it (Linux, admin-guide/kernel-parameters). On AMD, where two drivers can be
    /// disabled in favour of `acpi-cpufreq`, that of `amd-pstate`.
    pub fn kernel_parameter(self) -> &'static str {
        match self {
            Driver::IntelPstate => "intel_pstate=active",
            Driver::IntelCpufreq => "intel_pstate=passive",
            Driver::AmdPstateEpp => "amd_pstate=active",
            Driver::AmdPstate => "amd_pstate=passive",
            Driver::AcpiCpufreq => "amd_pstate=disable",
        }
    }

    /// Whether it offers the governor. Drivers in active mode have two of their own.
    pub fn offers(self, governor: Governor) -> bool {
        governor != Governor::Schedutil || !matches!(self, Driver::IntelPstate | Driver::AmdPstateEpp)
    }

    /// The frequency control of a machine under this driver.
    pub(crate) fn control(self, spec: &FrequencySpec) -> FrequencySpec {
        let (control, powersave) = match self {
            Driver::IntelPstate if spec.control == Control::SpeedStep => (spec.control, Powersave::Sampler),
            Driver::IntelPstate => (spec.control, Powersave::Hardware),
            Driver::IntelCpufreq => (spec.control, Powersave::Lowest),
            Driver::AmdPstateEpp => (Control::SpeedShift, Powersave::Hardware),
            Driver::AmdPstate | Driver::AcpiCpufreq => (Control::PerCore, Powersave::Lowest),
        };
        let requests_khz = match self {
            Driver::AcpiCpufreq => spec.requests_khz.clone(),
            _ => Vec::new(),
        };
        FrequencySpec { control, powersave, requests_khz, ..spec.clone() }
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A governor, under a driver if one is named: `schedutil`, `amd-pstate/schedutil`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scaling {
    pub driver: Option<Driver>,
    pub governor: Governor,
}

impl From<Governor> for Scaling {
    fn from(governor: Governor) -> Scaling {
        Scaling { driver: None, governor }
    }
}

impl fmt::Display for Scaling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.driver.map_or(Ok(()), |driver| write!(f, "{driver}/"))?;
        self.governor.fmt(f)
    }
}

/// Error for a text that is no [`Scaling`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoScaling {
    #[error(transparent)]
    Governor(#[from] UnknownGovernor),
    #[error("no driver is called `{0}`; drivers are {drivers}", drivers = list(&Driver::ALL))]
    Driver(String),
    #[error("the driver {0} does not offer the governor {1}")]
    NotOffered(Driver, Governor),
}

/// The names of drivers, separated by commas.
pub fn list(drivers: &[Driver]) -> String {
    drivers.iter().map(|driver| driver.name()).collect::<Vec<_>>().join(", ")
}

impl FromStr for Scaling {
    type Err = NoScaling;

    fn from_str(text: &str) -> Result<Scaling, NoScaling> {
        let Some((driver, governor)) = text.split_once('/') else {
            return Ok(text.parse::<Governor>()?.into());
        };
        let governor = governor.parse()?;
        let named = Driver::ALL.into_iter().find(|known| known.name() == driver);
        let driver = named.ok_or_else(|| NoScaling::Driver(driver.to_owned()))?;
        if !driver.offers(governor) {
            return Err(NoScaling::NotOffered(driver, governor));
        }
        Ok(Scaling { driver: Some(driver), governor })
    }
}

impl FrequencySpec {
    /// The driver that is named, or the first of the machine's that offers the governor. `None`: the machine lists none.
    pub fn driver(&self, scaling: Scaling) -> Option<Driver> {
        let offers = |driver: &Driver| driver.offers(scaling.governor);
        scaling.driver.or_else(|| self.drivers.iter().copied().find(offers))
    }

    /// The frequency control under the driver of `scaling`.
    pub(crate) fn under(&self, scaling: Scaling) -> Cow<'_, FrequencySpec> {
        match self.driver(scaling) {
            Some(driver) => Cow::Owned(driver.control(self)),
            None => Cow::Borrowed(self),
        }
    }

    /// What an administrator can choose instead of `baseline`, each once. A driver is named if it is not the baseline's.
    /// `performance` is the same under all drivers. `powersave` is left out where it is always the lowest frequency.
    pub fn other_choices(&self, baseline: Scaling) -> Vec<Scaling> {
        let current = self.driver(baseline);
        let mut choices = vec![Governor::Performance.into()];
        for &driver in &self.drivers {
            let lowest = driver.control(self).powersave == Powersave::Lowest;
            let mut governors = vec![Governor::Schedutil];
            governors.extend((!lowest).then_some(Governor::Powersave));
            let offered = governors.into_iter().filter(|&governor| driver.offers(governor));
            let named = Some(driver).filter(|_| current != Some(driver));
            choices.extend(offered.map(|governor| Scaling { driver: named, governor }));
        }
        choices.retain(|choice| choice.governor != baseline.governor || choice.driver.is_some());
        choices
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;

    #[test]
    fn a_scaling_is_read_as_it_is_written() {
        for text in
            ["schedutil", "amd-pstate/schedutil", "intel_pstate/powersave", "acpi-cpufreq/performance"]
        {
            assert_eq!(text.parse::<Scaling>().unwrap().to_string(), text);
        }
        for (text, message) in [
            ("ondemand", "no governor is called `ondemand`; use `performance`, `powersave` or `schedutil`"),
            (
                "amd/schedutil",
                "no driver is called `amd`; drivers are intel_pstate, intel_cpufreq, amd-pstate-epp, amd-pstate, acpi-cpufreq",
            ),
            ("intel_pstate/schedutil", "the driver intel_pstate does not offer the governor schedutil"),
        ] {
            assert_eq!(text.parse::<Scaling>().unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn drivers_decide_what_a_request_means() {
        let spec = Machine::load("ryzen-7950x").unwrap().frequency;
        let control = |text: &str| {
            let spec = spec.under(text.parse().unwrap());
            (spec.control, spec.powersave)
        };
        assert_eq!(control("powersave"), (Control::SpeedShift, Powersave::Hardware));
        assert_eq!(
            control("schedutil"),
            (Control::PerCore, Powersave::Lowest),
            "only the passive mode has it"
        );
        assert_eq!(control("amd-pstate/powersave"), (Control::PerCore, Powersave::Lowest));
    }

    #[test]
    fn choices_name_a_driver_that_has_to_be_changed() {
        for (machine, baseline, expected) in [
            ("xeon-5218", "schedutil", "performance intel_pstate/powersave"),
            ("xeon-5218", "powersave", "performance intel_cpufreq/schedutil"),
            ("xeon-5218", "performance", "powersave intel_cpufreq/schedutil"),
            ("ryzen-7950x", "schedutil", "performance amd-pstate-epp/powersave"),
            ("epyc-9654", "schedutil", "performance amd-pstate-epp/powersave amd-pstate/schedutil"),
            ("ryzen-4650g", "schedutil", "performance"),
        ] {
            let spec = Machine::load(machine).unwrap().frequency;
            let choices: Vec<String> =
                spec.other_choices(baseline.parse().unwrap()).iter().map(Scaling::to_string).collect();
            assert_eq!(choices.join(" "), expected, "{machine}, {baseline}");
        }
    }
}
