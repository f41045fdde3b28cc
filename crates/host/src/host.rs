//! Description of this machine: its cores, topology and frequencies.

use crate::error::Error;
use crate::sysfs::{Files, fields};
use hearth_trace::{CoreInfo, Header, INSTRUCTIONS, Source};
use std::collections::BTreeMap;
use std::path::Path;

/// The machine as described by sysfs and procfs. Unknown fields are 0 or empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Host {
    pub name: String,
    /// Model name of the processor.
    pub model: String,
    /// Kernel release, as `uname -r` prints it.
    pub kernel: String,
    /// Name of the clock, for a trace's header.
    pub clock: String,
    /// CPU numbers of the online cores, ascending. A core's number in traces is its index in this list, so that an
    /// offline core does not appear as an idle one.
    pub cpus: Vec<u32>,
    /// CPU numbers of the possible cores, online or not, ascending.
    pub possible: Vec<u32>,
    /// In the order of `cpus`.
    pub cores: Vec<CoreInfo>,
    /// Frequency without turbo in kHz, or the best known substitute.
    pub nominal_khz: u32,
    /// Lowest and highest frequency in kHz.
    pub khz_range: (u32, u32),
    /// Speed of each core of `cpus` at its highest frequency relative to the fastest one, 1 to 1024.
    pub capacities: Vec<u32>,
    /// Names of the idle states, shallowest first.
    pub idle_states: Vec<String>,
}

impl Host {
    /// Reads the description of this machine.
    ///
    /// # Errors
    /// Its cores cannot be read.
    pub fn detect() -> Result<Self, Error> {
        Self::read(&Files::under(Path::new("/")))
    }

    fn read(files: &Files) -> Result<Self, Error> {
        let cpus = files.online_cores()?;
        let cpuinfo = files.text("proc/cpuinfo").unwrap_or_default();
        Ok(Host {
            name: files.text("proc/sys/kernel/hostname").unwrap_or_default(),
            model: fields(&cpuinfo, "model name").next().unwrap_or_default().to_owned(),
            kernel: files.text("proc/sys/kernel/osrelease").unwrap_or_default(),
            clock: clock(files),
            cores: topology(files, &cpus)?,
            nominal_khz: nominal_khz(files, &cpus, &cpuinfo),
            khz_range: (
                files.cpufreq(&cpus, "cpuinfo_min_freq").min().unwrap_or(0),
                files.cpufreq(&cpus, "cpuinfo_max_freq").max().unwrap_or(0),
            ),
            capacities: capacities(files, &cpus, &cpuinfo),
            idle_states: idle_states(files, cpus.first().copied().unwrap_or(0)),
            possible: files.cores("sys/devices/system/cpu/possible").unwrap_or_else(|| cpus.clone()),
            cpus,
        })
    }

    /// Present frequency of each core in kHz, from cpufreq; 0: unknown.
    pub fn present_khz(&self) -> Vec<u32> {
        let files = Files::under(Path::new("/"));
        self.cpus.iter().map(|cpu| files.cpu(*cpu, "cpufreq/scaling_cur_freq").unwrap_or(0)).collect()
    }

    /// The part of a trace's header that describes this machine.
    pub fn header(&self, source: Source) -> Header {
        Header {
            source,
            machine: self.model.clone(),
            cores: self.cores.clone(),
            idle_states: self.idle_states.clone(),
            assumed_khz: self.nominal_khz,
            khz_range: self.khz_range,
            ..Header::default()
        }
    }
}

/// `hearth vm --accel icount` says on the kernel's command line that time is the number of instructions.
fn clock(files: &Files) -> String {
    let parameters = files.text("proc/cmdline").unwrap_or_default();
    let counts = parameters.split_whitespace().any(|word| word == "hearth.clock=instructions");
    if counts { INSTRUCTIONS } else { "mono" }.to_owned()
}

fn topology(files: &Files, cpus: &[u32]) -> Result<Vec<CoreInfo>, Error> {
    let numa = files.numa_of_cores();
    let (mut physical, mut llc, mut socket) = (Numbers::new(), Numbers::new(), Numbers::new());
    let core = |&cpu: &u32| {
        let package = files.package(cpu);
        // Without information about caches, a package has one.
        let cache = files.last_level_cache(cpu).map(|(_, cores)| cores).ok_or(package);
        Ok(CoreInfo {
            physical: physical.of(files.siblings(cpu)?),
            llc: llc.of(cache),
            numa: numa.get(&cpu).copied().unwrap_or(0),
            socket: socket.of(package),
        })
    };
    cpus.iter().map(core).collect()
}

fn nominal_khz(files: &Files, cpus: &[u32], cpuinfo: &str) -> u32 {
    // "cpu MHz" is the present frequency, or without cpufreq the nominal one.
    let present = fields(cpuinfo, "cpu MHz").filter_map(|mhz| mhz.parse::<f64>().ok());
    (files.cpufreq(cpus, "base_frequency").max())
        .or_else(|| files.cpufreq(cpus, "cpuinfo_max_freq").max())
        .or_else(|| present.map(|mhz| (mhz * 1000.0) as u32).max())
        .unwrap_or(0)
}

/// From the first file that all cores have. All are equal if there is none. AMD's `highest_perf` is a rank, in steps that are
/// larger than the differences of speed.
fn capacities(files: &Files, cpus: &[u32], cpuinfo: &str) -> Vec<u32> {
    let read = |file| -> Option<Vec<u64>> {
        cpus.iter().map(|&cpu| files.cpu(cpu, file).filter(|&speed| speed > 0)).collect()
    };
    let intel = fields(cpuinfo, "vendor_id").next() == Some("GenuineIntel");
    let speeds = read("cpu_capacity")
        .or_else(|| intel.then(|| read("acpi_cppc/highest_perf")).flatten())
        .or_else(|| read("cpufreq/cpuinfo_max_freq"))
        .unwrap_or_else(|| vec![1; cpus.len()]);
    let fastest = speeds.iter().copied().max().unwrap_or(1);
    speeds.into_iter().map(|speed| (speed * 1024 / fastest).max(1) as u32).collect()
}

fn idle_states(files: &Files, cpu: u32) -> Vec<String> {
    (0..64).map_while(|state| files.cpu(cpu, &format!("cpuidle/state{state}/name"))).collect()
}

/// Numbers things in the order of their first use.
struct Numbers<T>(BTreeMap<T, u16>);

impl<T: Ord> Numbers<T> {
    fn new() -> Self {
        Numbers(BTreeMap::new())
    }

    fn of(&mut self, thing: T) -> u16 {
        let next = self.0.len() as u16;
        *self.0.entry(thing).or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Two sockets with two hyperthreads each, and core 2 offline.
    #[test]
    fn a_machine_with_a_hole() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let cpu = "sys/devices/system/cpu";
        write(&format!("{cpu}/online"), "0-1,3\n");
        write(&format!("{cpu}/possible"), "0-3\n");
        for (n, highest) in [(0, 236), (1, 236), (3, 118)] {
            write(&format!("{cpu}/cpu{n}/acpi_cppc/highest_perf"), &format!("{highest}\n"));
        }
        for (n, package, siblings) in [(0, 0, "0-1"), (1, 0, "0-1"), (3, 7, "3")] {
            write(&format!("{cpu}/cpu{n}/topology/physical_package_id"), &format!("{package}\n"));
            write(&format!("{cpu}/cpu{n}/topology/thread_siblings_list"), siblings);
            write(&format!("{cpu}/cpu{n}/cache/index0/level"), "1");
            write(&format!("{cpu}/cpu{n}/cache/index0/shared_cpu_list"), siblings);
            write(&format!("{cpu}/cpu{n}/cpufreq/cpuinfo_min_freq"), "1000000");
            write(&format!("{cpu}/cpu{n}/cpufreq/cpuinfo_max_freq"), "3700000");
            write(&format!("{cpu}/cpu{n}/cpufreq/base_frequency"), "2100000");
        }
        write(&format!("{cpu}/cpu0/cpuidle/state0/name"), "POLL\n");
        write("sys/devices/system/node/online", "0-1");
        write("sys/devices/system/node/node0/cpulist", "0-1");
        write("sys/devices/system/node/node1/cpulist", "2-3");
        write("proc/cpuinfo", "processor\t: 0\nmodel name\t: A Processor\ncpu MHz\t\t: 800.0\n");
        write("proc/sys/kernel/osrelease", "6.18.0\n");
        let capacities = |vendor: &str| {
            let cpuinfo = format!("vendor_id\t: {vendor}\n");
            capacities(&Files::under(root.path()), &[0, 1, 3], &cpuinfo)
        };
        assert_eq!(capacities("GenuineIntel"), [1024, 1024, 512], "from highest_perf");
        let info = |physical, llc, numa, socket| CoreInfo { physical, llc, numa, socket };
        write("proc/sys/kernel/hostname", "build7\n");
        let expected = Host {
            name: "build7".into(),
            model: "A Processor".into(),
            kernel: "6.18.0".into(),
            clock: "mono".into(),
            cpus: vec![0, 1, 3],
            possible: vec![0, 1, 2, 3],
            cores: vec![info(0, 0, 0, 0), info(0, 0, 0, 0), info(1, 1, 1, 1)],
            nominal_khz: 2_100_000,
            khz_range: (1_000_000, 3_700_000),
            capacities: vec![1024; 3],
            idle_states: vec!["POLL".into()],
        };
        assert_eq!(Host::read(&Files::under(root.path())).unwrap(), expected);
    }

    #[test]
    fn a_machine_that_cannot_be_read_has_no_description() {
        let root = tempfile::tempdir().unwrap();
        let error = Host::read(&Files::under(root.path())).unwrap_err().to_string();
        assert!(error.contains("cpu/online: No such file"), "{error}");
    }
}
