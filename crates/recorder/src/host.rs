//! Description of this machine: its cores, topology and frequencies.

use hearth_trace::{CoreInfo, Header, INSTRUCTIONS, Source};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

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
    /// Names of the idle states, shallowest first.
    pub idle_states: Vec<String>,
}

impl Host {
    /// Reads the description of this machine.
    pub fn detect() -> Self {
        Self::under(Path::new("/"))
    }

    /// Present frequency of each core in kHz, from cpufreq; 0: unknown.
    pub(crate) fn present_khz(&self) -> Vec<u32> {
        let files = Files { root: Path::new("/") };
        let khz = |cpu: &u32| files.cpu(*cpu, "cpufreq/scaling_cur_freq")?.parse().ok();
        self.cpus.iter().map(|cpu| khz(cpu).unwrap_or(0)).collect()
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

    /// Reads the machine whose `sys` and `proc` are in `root`.
    fn under(root: &Path) -> Self {
        let files = Files { root };
        let cpus = match files.text("sys/devices/system/cpu/online") {
            Some(list) => cpu_list(&list),
            None => vec![0],
        };
        let possible = files.text("sys/devices/system/cpu/possible").map(|list| cpu_list(&list));
        let cpuinfo = files.text("proc/cpuinfo").unwrap_or_default();
        Host {
            name: files.text("proc/sys/kernel/hostname").unwrap_or_default(),
            model: field(&cpuinfo, "model name").next().unwrap_or_default().to_owned(),
            kernel: files.text("proc/sys/kernel/osrelease").unwrap_or_default(),
            clock: files.clock(),
            cores: files.topology(&cpus),
            nominal_khz: files.nominal_khz(&cpus, &cpuinfo),
            khz_range: (
                files.frequencies(&cpus, "cpuinfo_min_freq").min().unwrap_or(0),
                files.frequencies(&cpus, "cpuinfo_max_freq").max().unwrap_or(0),
            ),
            idle_states: files.idle_states(cpus.first().copied().unwrap_or(0)),
            possible: possible.unwrap_or_else(|| cpus.clone()),
            cpus,
        }
    }
}

struct Files<'a> {
    root: &'a Path,
}

impl Files<'_> {
    fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        Some(fs::read_to_string(self.root.join(path)).ok()?.trim().to_owned())
    }

    /// `hearth vm --accel icount` says on the kernel's command line that time is the number of instructions.
    fn clock(&self) -> String {
        let parameters = self.text("proc/cmdline").unwrap_or_default();
        let counts = parameters.split_whitespace().any(|word| word == "hearth.clock=instructions");
        if counts { INSTRUCTIONS } else { "mono" }.to_owned()
    }

    fn cpu(&self, cpu: u32, file: &str) -> Option<String> {
        self.text(format!("sys/devices/system/cpu/cpu{cpu}/{file}"))
    }

    fn topology(&self, cpus: &[u32]) -> Vec<CoreInfo> {
        let numa = self.numa_nodes();
        let mut physical = Numbers::default();
        let mut llc = Numbers::default();
        let mut socket = Numbers::default();
        let core = |cpu: &u32| {
            // Virtual machines and some ARM boards have -1 or no file: one package of separate cores.
            let package = self.cpu(*cpu, "topology/physical_package_id").unwrap_or_default();
            let siblings =
                (self.cpu(*cpu, "topology/thread_siblings_list")).unwrap_or_else(|| cpu.to_string());
            CoreInfo {
                physical: physical.of(siblings),
                llc: llc.of(self.last_level_cache(*cpu).unwrap_or_else(|| format!("package {package}"))),
                numa: numa.get(cpu).copied().unwrap_or(0),
                socket: socket.of(package),
            }
        };
        cpus.iter().map(core).collect()
    }

    /// sysfs's list of the cores that share the last-level cache of `cpu`.
    fn last_level_cache(&self, cpu: u32) -> Option<String> {
        let caches = (0..16).map_while(|index| {
            let level: u32 = self.cpu(cpu, &format!("cache/index{index}/level"))?.parse().ok()?;
            Some((level, index))
        });
        let (_, index) = caches.max()?;
        self.cpu(cpu, &format!("cache/index{index}/shared_cpu_list"))
    }

    /// The NUMA node of each core.
    fn numa_nodes(&self) -> BTreeMap<u32, u16> {
        let mut nodes = BTreeMap::new();
        let online = self.text("sys/devices/system/node/online").unwrap_or_default();
        for (number, node) in cpu_list(&online).into_iter().enumerate() {
            let list = self.text(format!("sys/devices/system/node/node{node}/cpulist"));
            nodes.extend(cpu_list(&list.unwrap_or_default()).into_iter().map(|cpu| (cpu, number as u16)));
        }
        nodes
    }

    fn frequencies(&self, cpus: &[u32], file: &str) -> impl Iterator<Item = u32> {
        cpus.iter().filter_map(move |cpu| self.cpu(*cpu, &format!("cpufreq/{file}"))?.parse().ok())
    }

    fn nominal_khz(&self, cpus: &[u32], cpuinfo: &str) -> u32 {
        // "cpu MHz" is the present frequency, or without cpufreq the nominal one.
        let present = field(cpuinfo, "cpu MHz").filter_map(|mhz| mhz.parse::<f64>().ok());
        (self.frequencies(cpus, "base_frequency").max())
            .or_else(|| self.frequencies(cpus, "cpuinfo_max_freq").max())
            .or_else(|| present.map(|mhz| (mhz * 1000.0) as u32).max())
            .unwrap_or(0)
    }

    fn idle_states(&self, cpu: u32) -> Vec<String> {
        (0..64).map_while(|state| self.cpu(cpu, &format!("cpuidle/state{state}/name"))).collect()
    }
}

/// Numbers names in the order of their first use.
#[derive(Default)]
struct Numbers(BTreeMap<String, u16>);

impl Numbers {
    fn of(&mut self, thing: String) -> u16 {
        let next = self.0.len() as u16;
        *self.0.entry(thing).or_insert(next)
    }
}

/// Values of the lines `name : value`.
fn field<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// Parses a list such as `0-3,8,10-11`. Ignores invalid parts; returns at most 65536 cores.
fn cpu_list(list: &str) -> Vec<u32> {
    let mut cpus = Vec::new();
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            cpus.extend((first..=last).take(65536 - cpus.len().min(65536)));
        }
    }
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// File of a core's trace buffer; `cpu` is the kernel's CPU number.
pub(crate) fn per_cpu(instance: &Path, cpu: u32, file: &str) -> PathBuf {
    instance.join(format!("per_cpu/cpu{cpu}/{file}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cores() {
        assert_eq!(cpu_list("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(cpu_list("nonsense,5"), [5]);
        assert!(cpu_list("0-4294967295").len() <= 65536);
    }

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
            idle_states: vec!["POLL".into()],
        };
        assert_eq!(Host::under(root.path()), expected);
    }

    #[test]
    fn an_undescribed_machine_has_one_core() {
        let root = tempfile::tempdir().unwrap();
        let host = Host::under(root.path());
        assert_eq!((host.cores, host.possible), (vec![CoreInfo::default()], vec![0]));
    }
}
