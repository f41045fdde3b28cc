//! Detects this machine and writes its machine file.

mod frequency;
mod idle;
mod kinds;
mod nearest;
mod topology;
mod write;

use crate::error::Error;
use crate::report::Report;
use crate::sysfs::{Files, cpu_list, fields};
use crate::turbo::Together;
use crate::{ftl, sysfs};
use hearth_machine::Machine;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A value and its source, which becomes the comment above it in the file.
#[derive(Debug, Clone, PartialEq)]
struct SourcedValue<T> {
    value: T,
    source: String,
}

impl<T> SourcedValue<T> {
    fn new(value: T, source: impl Into<String>) -> SourcedValue<T> {
        SourcedValue { value, source: source.into() }
    }
}

/// Options of the detection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The machine's name; `None`: derived from the processor's.
    pub name: Option<String>,
    /// The cores to describe.
    pub cores: Option<Vec<u32>>,
}

/// Measurements that complement the kernel's data.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    pub ftl: Option<Report>,
    /// Of one socket.
    pub turbo: Option<Vec<Together>>,
}

/// A machine file.
#[derive(Debug, Clone, PartialEq)]
pub struct Detected {
    /// Contents of the file, which has been checked to load.
    pub toml: String,
    /// Deviations of the file from the machine. The file contains them as comments, too.
    pub notes: Vec<String>,
    /// Name of the built-in machine whose values fill gaps.
    pub nearest: String,
    /// Sections of the file with values that this machine does not show, in the file's order.
    pub assumed: Vec<String>,
}

/// Reads a model-specific register of a core, if possible.
pub type Registers<'a> = &'a dyn Fn(u32, u64) -> Option<u64>;

/// This machine's registers, through its msr devices.
pub fn registers(core: u32, register: u64) -> Option<u64> {
    let mut value = [0; 8];
    let path = Path::new("/dev/cpu").join(core.to_string()).join("msr");
    File::open(path).ok()?.read_exact_at(&mut value, register).ok()?;
    Some(u64::from_ne_bytes(value))
}

/// Builds the machine file of the machine whose `/sys` and `/proc` are `files`.
pub fn detect(
    files: &Files,
    registers: Registers<'_>,
    options: &Options,
    measured: &Measured,
) -> Result<Detected, Error> {
    let processor = Processor::read(files);
    let mut layout = topology::Layout::read(files, options.cores.as_deref())?;
    let shape = layout.shape(files)?;
    let nearest = nearest::nearest(&processor, &shape);
    let cpus = layout.cpus();
    let sources =
        frequency::Sources { files, registers, processor: &processor, nearest: &nearest, cpus: &cpus };
    let frequency = frequency::read(&sources, &shape, measured);
    let name = options.name.clone().unwrap_or_else(|| processor.short_name());
    let mut notes = std::mem::take(&mut layout.notes);
    notes.extend(shape.notes.iter().cloned());
    notes.extend(frequency.notes.iter().cloned());
    if ftl::is_virtual(files) {
        notes.push(
            "this is a virtual machine: its cores are what the hypervisor shows, and may share physical cores, caches \
             and turbo with others"
                .into(),
        );
    }
    let toml = write::file(&write::Parts {
        name: &name,
        processor: &processor,
        shape: &shape,
        frequency: &frequency,
        idle: &idle::read(files, cpus.first().copied().unwrap_or(0), &nearest),
        tdp: tdp(files),
        counts_energy: files.text("sys/class/powercap/intel-rapl:0/name").is_some() || tdp(files).is_some(),
        nearest: &nearest,
        measured,
        rate_limit: rate_limit(files),
        notes: &notes,
    });
    // The file must load with `--machine`.
    Machine::parse("the detected machine", &toml)?;
    Ok(Detected { assumed: assumed(&toml), toml, notes, nearest: nearest.name })
}

/// The sections of a written file that have a value marked as an assumption.
fn assumed(toml: &str) -> Vec<String> {
    let mut sections = Vec::new();
    let mut section = String::new();
    for line in toml.lines() {
        if let Some(name) = line.trim_start_matches('[').strip_suffix(']').filter(|_| line.starts_with('[')) {
            section = name.trim_end_matches(']').to_owned();
        }
        if line.starts_with("# assumption") && !section.is_empty() && !sections.contains(&section) {
            sections.push(section.clone());
        }
    }
    sections
}

/// The first thread of each physical core of the first socket: the cores that the turbo measurement keeps busy.
pub fn cores_of_a_socket(files: &Files, options: &Options) -> Result<Vec<u32>, Error> {
    Ok(topology::Layout::read(files, options.cores.as_deref())?.one_socket())
}

/// Parses a list of cores, such as `0-3,8`.
pub fn parse_cores(list: &str) -> Result<Vec<u32>, String> {
    let cores = cpu_list(list);
    let sound = !list.trim().is_empty() && list.chars().all(|c| c.is_ascii_digit() || "-, ".contains(c));
    if !sound || cores.is_empty() || cores.len() > sysfs::MOST_CORES as usize / 2 {
        return Err("give cores as in `0-3,8`".into());
    }
    Ok(cores)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vendor {
    Intel,
    Amd,
    Other,
}

/// The processor, from /proc/cpuinfo.
#[derive(Debug, Clone, PartialEq)]
struct Processor {
    vendor: Vendor,
    /// Family and model, as Intel numbers them.
    family: u32,
    model: u32,
    name: String,
    /// Has Intel's hardware-managed P-states, also called Speed Shift.
    speed_shift: bool,
    cpuinfo: String,
}

impl Processor {
    fn read(files: &Files) -> Processor {
        let cpuinfo = files.text("proc/cpuinfo").unwrap_or_default();
        let first = |key: &'static str| fields(&cpuinfo, key).next().unwrap_or_default();
        Processor {
            vendor: match first("vendor_id") {
                "GenuineIntel" => Vendor::Intel,
                "AuthenticAMD" => Vendor::Amd,
                _ => Vendor::Other,
            },
            family: first("cpu family").parse().unwrap_or(0),
            model: first("model").parse().unwrap_or(0),
            name: ftl::model(files),
            speed_shift: first("flags").split_whitespace().any(|flag| flag == "hwp"),
            cpuinfo,
        }
    }

    /// `intel-xeon-e7-8870-v4`
    fn short_name(&self) -> String {
        let name = self.name.to_lowercase();
        let name = name.split('@').next().unwrap_or_default();
        let name = ["(r)", "(tm)", " cpu", " processor"]
            .iter()
            .fold(name.to_owned(), |name, noise| name.replace(noise, " "));
        let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let name = words.take(8).collect::<Vec<_>>().join("-");
        if name.is_empty() { "this-machine".into() } else { name }
    }
}

/// Long-term power limit of a package in watts, from Intel's or AMD's RAPL.
fn tdp(files: &Files) -> Option<f64> {
    let limit: f64 = files.number("sys/class/powercap/intel-rapl:0/constraint_0_max_power_uw")?;
    Some(limit / 1e6).filter(|watts| (1.0..1500.0).contains(watts))
}

fn rate_limit(files: &Files) -> Option<u32> {
    let path = |folder: &str| format!("sys/devices/system/cpu/cpufreq/{folder}schedutil/rate_limit_us");
    ["policy0/", ""]
        .iter()
        .find_map(|folder| files.number(&path(folder)))
        .filter(|&us: &u32| us <= 10_000_000)
}
