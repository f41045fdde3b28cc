//! Detection of frequencies and turbo limits, from the best available source.

use super::nearest::control;
use super::topology::Regular;
use super::{Measured, Processor, Registers, SourcedValue, Vendor};
use crate::sysfs::{Files, fields};
use crate::turbo::Together;
use hearth_machine::frequency::TurboLimit;
use hearth_machine::{Control, Driver, Machine, Powersave};

/// Intel's register with the base and the lowest ratio.
const PLATFORM_INFO: u64 = 0xce;
/// Intel's registers with turbo ratios, one per number of cores. In [`GROUPED`] models the second one has the core
/// counts of the ratios in the first.
const TURBO_RATIOS: [u64; 3] = [0x1ad, 0x1ae, 0x1af];
/// Models with one turbo ratio per group of core counts: Skylake-SP and Cascade Lake, Ice Lake, Sapphire Rapids,
/// Emerald Rapids, Granite Rapids.
const GROUPED: [u32; 7] = [0x55, 0x6a, 0x6c, 0x8f, 0xcf, 0xad, 0xae];
/// Unit of Intel's ratios.
const RATIO_KHZ: u32 = 100_000;
const STEP_KHZ: u32 = 100_000;
/// Plausible range of a core's frequency.
const PLAUSIBLE_KHZ: std::ops::RangeInclusive<u32> = 100_000..=10_000_000;

pub struct Sources<'a> {
    pub files: &'a Files,
    pub registers: Registers<'a>,
    pub processor: &'a Processor,
    pub nearest: &'a Machine,
    pub cpus: &'a [u32],
}

/// The frequencies and limits of section `[frequency]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Frequencies {
    pub min_khz: SourcedValue<u32>,
    pub nominal_khz: SourcedValue<u32>,
    pub step_khz: SourcedValue<u32>,
    pub control: SourcedValue<Control>,
    pub powersave: SourcedValue<Powersave>,
    pub drivers: SourcedValue<Vec<Driver>>,
    /// ACPI P-states, if the kernel can request only these.
    pub requests: Option<SourcedValue<Vec<u32>>>,
    /// Highest frequency of each physical core of a socket, if they differ within a kind.
    pub core_max_khz: SourcedValue<Vec<u32>>,
    pub limits: SourcedValue<Vec<TurboLimit>>,
    pub notes: Vec<String>,
}

pub fn read(sources: &Sources<'_>, shape: &Regular, measured: &Measured) -> Frequencies {
    let mut notes = Vec::new();
    let nominal_khz = sources.nominal();
    let mut min_khz = sources.min();
    if min_khz.value > nominal_khz.value {
        min_khz = SourcedValue::new(nominal_khz.value, "no lower frequency than the nominal one is known");
    }
    let control = sources.control();
    if control.value == Control::None {
        min_khz = SourcedValue::new(nominal_khz.value, "no cpufreq: the kernel requests no lower frequency");
    }
    let counted = shape.kinds.iter().map(|kind| kind.cores).max().unwrap_or(shape.cores_per_socket);
    let limits = sources.limits(counted, nominal_khz.value, measured, &mut notes);
    let highest = limits.value.first().map_or(nominal_khz.value, |limit| limit.khz);
    Frequencies {
        step_khz: match sources.processor.vendor {
            Vendor::Intel => SourcedValue::new(STEP_KHZ, "One multiplier step of the 100 MHz clock."),
            _ => SourcedValue::new(STEP_KHZ, "assumption: 100 MHz, as all known machines."),
        },
        requests: sources.requests(min_khz.value, nominal_khz.value),
        core_max_khz: sources.core_maxima(shape, min_khz.value, highest),
        control,
        powersave: sources.powersave(),
        drivers: sources.drivers(),
        min_khz,
        nominal_khz,
        limits,
        notes,
    }
}

impl Sources<'_> {
    /// Reads a frequency from a cpufreq file of each core; `pick` chooses among them.
    fn cpufreq(&self, file: &str, pick: fn(u32, u32) -> u32) -> Option<u32> {
        self.files.cpufreq(self.cpus, file).filter(|khz| PLAUSIBLE_KHZ.contains(khz)).reduce(pick)
    }

    /// Reads a frequency from ACPI's CPPC, which uses MHz.
    fn cppc(&self, file: &str) -> Option<u32> {
        let mhz: u32 = self.files.cpu(*self.cpus.first()?, &format!("acpi_cppc/{file}"))?;
        mhz.checked_mul(1000).filter(|khz| PLAUSIBLE_KHZ.contains(khz))
    }

    /// Reads a register of the first core, on Intel processors only.
    fn register(&self, register: u64) -> Option<u64> {
        let family = self.processor.vendor == Vendor::Intel && self.processor.family == 6;
        (self.registers)(*self.cpus.first()?, register).filter(|_| family)
    }

    fn ratio(&self, shift: u32) -> Option<u32> {
        let ratio = (self.register(PLATFORM_INFO)? >> shift) as u8;
        Some(u32::from(ratio) * RATIO_KHZ).filter(|khz| PLAUSIBLE_KHZ.contains(khz))
    }

    fn nominal(&self) -> SourcedValue<u32> {
        let told = None
            .or_else(|| {
                Some(SourcedValue::new(
                    self.cpufreq("base_frequency", u32::max)?,
                    "sysfs, cpufreq/base_frequency",
                ))
            })
            .or_else(|| Some(SourcedValue::new(self.ratio(8)?, "MSR_PLATFORM_INFO")))
            .or_else(|| Some(SourcedValue::new(self.cppc("nominal_freq")?, "sysfs, acpi_cppc/nominal_freq")))
            .or_else(|| Some(SourcedValue::new(self.name_khz()?, "the processor's name")))
            .or_else(|| {
                Some(SourcedValue::new(self.highest_available()?, "sysfs, scaling_available_frequencies"))
            })
            .or_else(|| {
                Some(SourcedValue::new(
                    self.cpufreq("cpuinfo_max_freq", u32::max)?,
                    "sysfs, cpuinfo_max_freq: the kernel reports no base frequency",
                ))
            })
            .or_else(|| {
                Some(SourcedValue::new(
                    self.cpuinfo_khz()?,
                    "/proc/cpuinfo, cpu MHz: where there is no cpufreq, the time-stamp counter's rate",
                ))
            });
        told.unwrap_or_else(|| {
            let khz = self.nearest.frequency.nominal_khz;
            SourcedValue::new(khz, format!("assumption: as {}", self.nearest.name))
        })
    }

    /// `… @ 2.10GHz`
    fn name_khz(&self) -> Option<u32> {
        let (_, after) = self.processor.name.split_once('@')?;
        let ghz: f64 = after.trim().strip_suffix("GHz")?.trim().parse().ok()?;
        plausible(ghz * 1e6)
    }

    /// The highest non-turbo P-state of ACPI's list. The first one denotes turbo if it is 1 MHz above the second.
    fn highest_available(&self) -> Option<u32> {
        let list: String = self.files.cpu(*self.cpus.first()?, "cpufreq/scaling_available_frequencies")?;
        let mut all: Vec<u32> = list.split_whitespace().filter_map(|khz| khz.parse().ok()).collect();
        all.retain(|khz| PLAUSIBLE_KHZ.contains(khz));
        all.sort_unstable_by(|a, b| b.cmp(a));
        match all[..] {
            [turbo, nominal, ..] if turbo - nominal == 1000 => Some(nominal),
            [highest, ..] => Some(highest),
            [] => None,
        }
    }

    fn cpuinfo_khz(&self) -> Option<u32> {
        let mhz = fields(&self.processor.cpuinfo, "cpu MHz").filter_map(|mhz| mhz.parse::<f64>().ok());
        let most = mhz.fold(0.0, f64::max);
        // Round to 10 MHz, the accuracy of the counter's rate.
        plausible((most / 10.0).round() * 10_000.0)
    }

    fn min(&self) -> SourcedValue<u32> {
        let told = None
            .or_else(|| {
                Some(SourcedValue::new(
                    self.cpufreq("cpuinfo_min_freq", u32::min)?,
                    "sysfs, cpufreq/cpuinfo_min_freq",
                ))
            })
            .or_else(|| Some(SourcedValue::new(self.cppc("lowest_freq")?, "sysfs, acpi_cppc/lowest_freq")))
            .or_else(|| Some(SourcedValue::new(self.ratio(40)?, "MSR_PLATFORM_INFO")));
        let nearest = &self.nearest;
        told.unwrap_or_else(|| {
            SourcedValue::new(
                nearest.frequency.min_khz,
                format!("assumption: as {}; this machine reports none", nearest.name),
            )
        })
    }

    fn control(&self) -> SourcedValue<Control> {
        let control = control(self.processor);
        match self.driver().as_deref() {
            None => {
                return SourcedValue::new(Control::None, "no cpufreq driver: the kernel requests nothing");
            }
            Some(driver @ ("amd-pstate-epp" | "amd_pstate_epp")) => {
                let source = format!("the cpufreq driver is {driver}: the hardware chooses");
                return SourcedValue::new(Control::SpeedShift, source);
            }
            Some(driver @ ("amd-pstate" | "amd_pstate" | "cppc_cpufreq")) => {
                let source =
                    format!("the cpufreq driver is {driver}: the hardware runs any requested frequency");
                return SourcedValue::new(Control::PerCore, source);
            }
            Some(_) => {}
        }
        let source = match self.processor.vendor {
            Vendor::Intel if control == Control::SpeedShift => "/proc/cpuinfo: flag hwp",
            Vendor::Intel => "/proc/cpuinfo: an Intel processor without the flag hwp",
            Vendor::Amd => "AMD: each core has its own frequency",
            Vendor::Other => "assumption: each core has its own frequency",
        };
        SourcedValue::new(control, source)
    }

    /// The driver, first, and its other mode. `amd-pstate` also had names with an underscore (Linux 6.3).
    fn drivers(&self) -> SourcedValue<Vec<Driver>> {
        let modes = match self.driver().unwrap_or_default().replace("amd_pstate", "amd-pstate").as_str() {
            "intel_pstate" => vec![Driver::IntelPstate, Driver::IntelCpufreq],
            "intel_cpufreq" => vec![Driver::IntelCpufreq, Driver::IntelPstate],
            "amd-pstate-epp" => vec![Driver::AmdPstateEpp, Driver::AmdPstate],
            "amd-pstate" => vec![Driver::AmdPstate, Driver::AmdPstateEpp],
            _ => Vec::new(),
        };
        SourcedValue::new(modes, "sysfs, cpufreq/scaling_driver, and the driver's other mode")
    }

    fn driver(&self) -> Option<String> {
        self.files.cpu(self.cpus.first().copied().unwrap_or(0), "cpufreq/scaling_driver")
    }

    /// The P-states of acpi-cpufreq on processors that boost above them.
    fn requests(&self, min: u32, nominal: u32) -> Option<SourcedValue<Vec<u32>>> {
        self.driver().filter(|driver| driver == "acpi-cpufreq" && self.processor.vendor == Vendor::Amd)?;
        let list: Option<String> =
            self.files.cpu(*self.cpus.first()?, "cpufreq/scaling_available_frequencies");
        let listed = list.iter().flat_map(|list| list.split_whitespace()).filter_map(|khz| khz.parse().ok());
        let mut khz: Vec<u32> = listed.filter(|khz| (min..=nominal).contains(khz)).collect();
        let source = match khz.is_empty() {
            true => "assumption: the lowest and the nominal; the kernel lists none.",
            false => "sysfs, cpufreq/scaling_available_frequencies",
        };
        khz.extend([min, nominal]);
        khz.sort_unstable();
        khz.dedup();
        Some(SourcedValue::new(khz, source))
    }

    /// Highest frequencies of preferred cores. Sockets are taken to be alike.
    fn core_maxima(&self, shape: &Regular, min: u32, highest: u32) -> SourcedValue<Vec<u32>> {
        let file = "sysfs, cpufreq/cpuinfo_max_freq of each core of the first socket";
        let first_threads = self.first_threads(shape);
        let read = |&cpu: &u32| self.files.cpu::<u32>(cpu, "cpufreq/cpuinfo_max_freq");
        let khz: Option<Vec<u32>> = first_threads.iter().map(read).collect();
        let khz = khz.filter(|khz| khz.len() == usize::from(shape.cores_per_socket)).unwrap_or_default();
        let of_kind = |core: usize| {
            let mut end = 0;
            let kind = shape.kinds.iter().find(|kind| {
                end += usize::from(kind.cores);
                core < end
            });
            kind.map_or((min, highest), |kind| (kind.min_khz, kind.max_khz.min(highest)))
        };
        let khz: Vec<u32> =
            khz.iter().enumerate().map(|(i, khz)| (*khz).clamp(of_kind(i).0, of_kind(i).1)).collect();
        let differ = khz.iter().enumerate().any(|(i, &khz)| khz != of_kind(i).1);
        // One value for all cores says nothing about single ones.
        let uniform = shape.kinds.is_empty() && khz.windows(2).all(|pair| pair[0] == pair[1]);
        SourcedValue::new(if differ && !uniform { khz } else { Vec::new() }, file)
    }

    /// The first thread of each physical core of the first socket, in the file's order.
    fn first_threads(&self, shape: &Regular) -> Vec<u32> {
        let mut seen = std::collections::BTreeSet::new();
        let first = |&&cpu: &&u32| {
            let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            seen.insert(self.files.cores(&path).and_then(|all| all.first().copied()).unwrap_or(cpu))
        };
        let stride = match shape.numbering {
            hearth_machine::Numbering::Interleaved => usize::from(shape.sockets),
            _ => 1,
        };
        let all: Vec<u32> = self.cpus.iter().filter(first).copied().collect();
        all.into_iter().step_by(stride).take(usize::from(shape.cores_per_socket)).collect()
    }

    fn powersave(&self) -> SourcedValue<Powersave> {
        let driver = self.driver();
        match driver.as_deref() {
            Some("intel_pstate") if control(self.processor) == Control::SpeedStep => {
                SourcedValue::new(Powersave::Sampler, "the cpufreq driver is intel_pstate without HWP")
            }
            Some(driver @ ("intel_pstate" | "amd-pstate-epp" | "amd_pstate_epp")) => SourcedValue::new(
                Powersave::Hardware,
                format!("the cpufreq driver is {driver}: the hardware decides"),
            ),
            Some(driver) => SourcedValue::new(Powersave::Lowest, format!("the cpufreq driver is {driver}")),
            None => SourcedValue::new(Powersave::Lowest, "not used: there is no cpufreq here"),
        }
    }

    /// The turbo table: measured, read from registers, or from the highest frequency alone.
    fn limits(
        &self,
        cores: u16,
        nominal: u32,
        measured: &Measured,
        notes: &mut Vec<String>,
    ) -> SourcedValue<Vec<TurboLimit>> {
        if let Some(off) = self.turbo_is_off() {
            notes.push(format!("turbo is switched off on this machine ({off}), and so it is in this file"));
            return SourcedValue::new(
                vec![TurboLimit { cores, khz: nominal }],
                format!("{off}: turbo is off"),
            );
        }
        if let Some(together) = measured.turbo.as_deref().filter(|together| !together.is_empty()) {
            return measured_limits(together, cores, nominal, notes);
        }
        if let Some(table) = self.turbo_registers() {
            let limits = falling(table, cores, nominal);
            return SourcedValue::new(limits, "MSR_TURBO_RATIO_LIMIT");
        }
        match self.highest(nominal) {
            Some(highest) => self.between(highest, cores, nominal),
            None => {
                let measuring = if measured.ftl.is_some() { "gave no answer" } else { "finds out" };
                let source = format!(
                    "assumption: no turbo, because this machine reports none (`--measure` {measuring})"
                );
                SourcedValue::new(vec![TurboLimit { cores, khz: nominal }], source)
            }
        }
    }

    fn turbo_is_off(&self) -> Option<&'static str> {
        let off = |path: &str, value: &str| self.files.text(path).is_some_and(|text| text == value);
        if off("sys/devices/system/cpu/intel_pstate/no_turbo", "1") {
            return Some("intel_pstate/no_turbo");
        }
        off("sys/devices/system/cpu/cpufreq/boost", "0").then_some("cpufreq/boost")
    }

    /// Pairs of a number of busy cores and their highest frequency, in the registers' order.
    fn turbo_registers(&self) -> Option<Vec<(u16, u32)>> {
        let bytes = |register: u64| Some(self.register(register)?.to_le_bytes());
        let khz = |ratio: u8| u32::from(ratio) * RATIO_KHZ;
        let ratios = bytes(TURBO_RATIOS[0])?;
        let table: Vec<(u16, u32)> = if GROUPED.contains(&self.processor.model) {
            let counts = bytes(TURBO_RATIOS[1])?;
            counts.iter().zip(ratios).map(|(&cores, ratio)| (u16::from(cores), khz(ratio))).collect()
        } else {
            let more = TURBO_RATIOS[1..].iter().filter_map(|&register| bytes(register)).flatten();
            (1..).zip(ratios.into_iter().chain(more)).map(|(cores, ratio)| (cores, khz(ratio))).collect()
        };
        let sound: Vec<(u16, u32)> =
            table.into_iter().filter(|(cores, khz)| *cores > 0 && PLAUSIBLE_KHZ.contains(khz)).collect();
        (!sound.is_empty()).then_some(sound)
    }

    /// The highest reported frequency, if it is a turbo frequency.
    fn highest(&self, nominal: u32) -> Option<SourcedValue<u32>> {
        let cpufreq = self
            .cpufreq("cpuinfo_max_freq", u32::max)
            .map(|khz| SourcedValue::new(khz, "sysfs, cpufreq/cpuinfo_max_freq"));
        let cppc = || {
            let cpu = *self.cpus.first()?;
            let perf = |file: &str| -> Option<u64> { self.files.cpu(cpu, &format!("acpi_cppc/{file}")) };
            let (highest, base) = (perf("highest_perf")?, perf("nominal_perf").filter(|&base| base > 0)?);
            let khz = plausible(u64::from(nominal).checked_mul(highest)? as f64 / base as f64)?;
            Some(SourcedValue::new(khz, "sysfs, acpi_cppc/highest_perf over nominal_perf"))
        };
        cpufreq
            .filter(|highest| highest.value > nominal)
            .or_else(cppc)
            .filter(|highest| highest.value > nominal)
    }

    /// Turbo table scaled from the nearest machine: one busy core reaches the highest frequency.
    fn between(&self, highest: SourcedValue<u32>, cores: u16, nominal: u32) -> SourcedValue<Vec<TurboLimit>> {
        let theirs = &self.nearest.frequency;
        let span = f64::from(theirs.max_khz().saturating_sub(theirs.nominal_khz)).max(1.0);
        let all = theirs.turbo.limits.last().map_or(theirs.nominal_khz, |limit| limit.khz);
        let part = f64::from(all.saturating_sub(theirs.nominal_khz)) / span;
        let khz = f64::from(nominal) + part * f64::from(highest.value - nominal);
        let all = (khz / f64::from(STEP_KHZ)).floor() as u32 * STEP_KHZ;
        let limits = falling(vec![(1, highest.value), (cores, all)], cores, nominal);
        let source = match limits.len() {
            1 => highest.source,
            _ => format!(
                "One core: {}. All cores: assumption, from the proportions of {}; `--measure` measures it.",
                highest.source, self.nearest.name
            ),
        };
        SourcedValue::new(limits, source)
    }
}

fn plausible(khz: f64) -> Option<u32> {
    // Also rejects NaN.
    let (low, high) = (f64::from(*PLAUSIBLE_KHZ.start()), f64::from(*PLAUSIBLE_KHZ.end()));
    (low..=high).contains(&khz).then_some(khz.round() as u32)
}

/// Converts a measured table to limits, rounded to steps.
fn measured_limits(
    together: &[Together],
    cores: u16,
    nominal: u32,
    notes: &mut Vec<String>,
) -> SourcedValue<Vec<TurboLimit>> {
    let steps =
        |khz: f64| plausible((khz / f64::from(STEP_KHZ)).round() * f64::from(STEP_KHZ)).unwrap_or(nominal);
    let table: Vec<(u16, u32)> = together.iter().map(|t| (t.cores, steps(t.khz))).collect();
    let shown: Vec<String> =
        together.iter().map(|t| format!("{}: {:.2} GHz", t.cores, t.khz / 1e6)).collect();
    if table.iter().any(|(_, khz)| *khz < nominal) {
        notes.push(
            "some measured frequencies were below the nominal one, which this file cannot say: the cores were \
             disturbed, or are slowed by power or heat"
                .into(),
        );
    }
    let limits = falling(table, cores, nominal);
    SourcedValue::new(
        limits,
        format!("Measured with n busy cores, rounded to 100 MHz ({}).", shown.join(", ")),
    )
}

/// Normalises limits: decreasing with the number of cores, at least `nominal`, the last one for all `cores`.
fn falling(mut table: Vec<(u16, u32)>, cores: u16, nominal: u32) -> Vec<TurboLimit> {
    table.sort_by_key(|(count, _)| *count);
    let mut limits: Vec<TurboLimit> = Vec::new();
    for (count, khz) in table {
        let below = limits.last().map_or(u32::MAX, |limit| limit.khz);
        let khz = khz.max(nominal).min(below);
        match limits.last_mut() {
            // The table extends beyond this socket.
            Some(last) if last.cores >= cores => break,
            Some(last) if last.khz == khz => last.cores = count.min(cores),
            // Two entries for one number of cores: the lower one is the limit.
            Some(last) if last.cores == count => last.khz = khz,
            _ => limits.push(TurboLimit { cores: count.min(cores), khz }),
        }
    }
    match limits.last_mut() {
        Some(last) => last.cores = cores,
        None => limits.push(TurboLimit { cores, khz: nominal }),
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(limits: &[TurboLimit]) -> Vec<(u16, u32)> {
        limits.iter().map(|limit| (limit.cores, limit.khz)).collect()
    }

    #[test]
    fn measured_tables_fall() {
        let together = |khz: &[f64]| -> Vec<Together> {
            (1..).zip(khz).map(|(cores, khz)| Together { cores, khz: khz * 1e6 }).collect()
        };
        let mut notes = Vec::new();
        let limits = measured_limits(&together(&[3.68, 3.71, 3.52, 3.55, 2.0]), 5, 2_100_000, &mut notes);
        assert_eq!(table(&limits.value), [(2, 3_700_000), (4, 3_500_000), (5, 2_100_000)]);
        assert_eq!(notes.len(), 1);
    }

    proptest! {
        #[test]
        fn any_table_becomes_limits(
            entries in proptest::collection::vec((1u16..80, 0u32..9_000_000), 0..30),
            cores in 1u16..64,
            nominal in 1_000_000u32..4_000_000,
        ) {
            let limits = falling(entries, cores, nominal);
            prop_assert_eq!(limits.last().unwrap().cores, cores);
            prop_assert!(limits.iter().all(|limit| limit.khz >= nominal && limit.cores > 0));
            prop_assert!(limits.windows(2).all(|w| w[0].cores < w[1].cores && w[0].khz > w[1].khz), "{limits:?}");
        }
    }
}
