//! Machines as folders: `sys` and `proc` of machines that we do not have.

use hearth_host::sysfs::{Files, show_list};
use std::fs;
use tempfile::TempDir;

pub struct Tree {
    root: TempDir,
}

/// Where a core is. What names a domain is its list of cores.
pub struct Core<'a> {
    pub cpu: u32,
    pub package: i32,
    pub siblings: &'a [u32],
    pub llc: &'a [u32],
}

impl Tree {
    pub fn new() -> Tree {
        // Hundreds of small files: in memory, where there is such a place.
        let root = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Tree { root: root.expect("a temporary folder") }
    }

    pub fn files(&self) -> Files {
        Files::under(self.root.path())
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    pub fn cpu(&self, cpu: u32, file: &str, text: impl ToString) {
        self.write(&format!("sys/devices/system/cpu/cpu{cpu}/{file}"), text.to_string() + "\n");
    }

    pub fn online(&self, list: &str) {
        for file in ["online", "present", "possible"] {
            self.write(&format!("sys/devices/system/cpu/{file}"), format!("{list}\n"));
        }
    }

    pub fn core(&self, core: &Core<'_>) {
        self.cpu(core.cpu, "topology/physical_package_id", core.package);
        self.cpu(core.cpu, "topology/core_cpus_list", show_list(core.siblings));
        self.cpu(core.cpu, "cache/index0/level", 1);
        self.cpu(core.cpu, "cache/index0/shared_cpu_list", show_list(core.siblings));
        self.cpu(core.cpu, "cache/index1/level", 3);
        self.cpu(core.cpu, "cache/index1/shared_cpu_list", show_list(core.llc));
    }

    pub fn node(&self, node: u32, cores: &[u32], distances: &str) {
        self.write(&format!("sys/devices/system/node/node{node}/cpulist"), show_list(cores));
        self.write(&format!("sys/devices/system/node/node{node}/distance"), distances);
    }

    pub fn idle(&self, states: &[(&str, u32, u32)]) {
        self.write("sys/devices/system/cpu/cpuidle/current_driver", "a_driver\n");
        for (i, (name, latency, residency)) in states.iter().enumerate() {
            self.cpu(0, &format!("cpuidle/state{i}/name"), name);
            self.cpu(0, &format!("cpuidle/state{i}/latency"), latency);
            self.cpu(0, &format!("cpuidle/state{i}/residency"), residency);
        }
    }
}

/// Four sockets of 20 cores with two hyperthreads, numbered round robin.
pub fn e7_8870() -> Tree {
    let tree = Tree::new();
    tree.online("0-159");
    let of = |socket: u32| (0..160).filter(move |cpu| cpu % 4 == socket).collect::<Vec<u32>>();
    for cpu in 0..160 {
        let siblings = [cpu % 80, cpu % 80 + 80];
        // Packages may have any number.
        tree.core(&Core { cpu, package: (cpu % 4) as i32, siblings: &siblings, llc: &of(cpu % 4) });
        tree.cpu(cpu, "cpufreq/cpuinfo_min_freq", 1_200_000);
        tree.cpu(cpu, "cpufreq/cpuinfo_max_freq", 3_000_000);
        tree.cpu(cpu, "cpufreq/scaling_driver", "intel_pstate");
    }
    tree.write("sys/devices/system/node/online", "0-3");
    for (node, row) in ["10 21 21 21", "21 10 21 21", "21 21 10 21", "21 21 21 10"].iter().enumerate() {
        tree.node(node as u32, &of(node as u32), row);
    }
    tree.idle(&[("POLL", 0, 0), ("C1", 2, 2), ("C1E", 10, 20), ("C3", 40, 100), ("C6", 133, 400)]);
    tree.write("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
    tree.write("sys/class/powercap/intel-rapl:0/constraint_0_max_power_uw", "140000000\n");
    tree.write(
        "proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 79\nmodel name\t: Intel(R) Xeon(R) CPU \
         E7-8870 v4 @ 2.10GHz\ncpu MHz\t\t: 1200.1\nflags\t\t: fpu msr aperfmperf\n",
    );
    tree
}

/// Its turbo registers: 3.0 GHz for two cores, 2.8 for three, 2.7 for four, 2.6 for all.
pub fn e7_registers(_: u32, register: u64) -> Option<u64> {
    match register {
        0xce => Some(12 << 40 | 21 << 8),
        0x1ad => Some(u64::from_le_bytes([30, 30, 28, 27, 26, 26, 26, 26])),
        0x1ae => Some(u64::from_le_bytes([26; 8])),
        0x1af => Some(u64::from_le_bytes([26, 26, 26, 26, 0, 0, 0, 0x80])),
        _ => None,
    }
}

/// One socket of two CCXs of three cores with two hyperthreads side by side.
pub fn ryzen_4650g() -> Tree {
    let tree = Tree::new();
    tree.online("0-11");
    for cpu in 0..12 {
        let ccx: Vec<u32> = (0..12).filter(|other| other / 6 == cpu / 6).collect();
        tree.core(&Core { cpu, package: 0, siblings: &[cpu / 2 * 2, cpu / 2 * 2 + 1], llc: &ccx });
        tree.cpu(cpu, "cpufreq/cpuinfo_min_freq", 1_400_000);
        tree.cpu(cpu, "cpufreq/cpuinfo_max_freq", 3_700_000);
        tree.cpu(cpu, "cpufreq/scaling_driver", "acpi-cpufreq");
        tree.cpu(cpu, "acpi_cppc/nominal_freq", 3700);
        tree.cpu(cpu, "acpi_cppc/lowest_freq", 400);
        tree.cpu(cpu, "acpi_cppc/nominal_perf", 111);
        tree.cpu(cpu, "acpi_cppc/highest_perf", 126);
    }
    tree.write("sys/devices/system/cpu/cpufreq/boost", "1\n");
    tree.write("sys/devices/system/node/online", "0");
    tree.node(0, &(0..12).collect::<Vec<_>>(), "10");
    tree.idle(&[("POLL", 0, 0), ("C1", 1, 2), ("C2", 400, 800)]);
    tree.write(
        "proc/cpuinfo",
        "vendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: 96\nmodel name\t: AMD Ryzen 5 PRO 4650G with Radeon \
         Graphics\nflags\t\t: fpu cppc\n",
    );
    tree
}

/// A small virtual machine: no cpufreq, no registers.
pub fn virtual_machine() -> Tree {
    let tree = Tree::new();
    tree.online("0-1");
    for cpu in 0..2 {
        tree.core(&Core { cpu, package: 0, siblings: &[cpu], llc: &[0, 1] });
        tree.cpu(cpu, "cpu_capacity", 1024);
        tree.cpu(cpu, "topology/cluster_id", 65_535);
    }
    tree.write("sys/devices/system/node/online", "0");
    tree.node(0, &[0, 1], "10");
    tree.idle(&[("POLL", 0, 0), ("haltpoll idle", 1, 1)]);
    tree.write(
        "proc/cpuinfo",
        "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC\ncpu MHz\t\t: 2445.424\nflags\t\t: \
         fpu hypervisor\n",
    );
    tree
}

/// Four small and four large cores; no caches are told, but clusters.
pub fn big_little() -> Tree {
    let tree = Tree::new();
    tree.online("0-7");
    for cpu in 0..8 {
        let large = cpu >= 4;
        tree.cpu(cpu, "topology/physical_package_id", 0);
        tree.cpu(cpu, "topology/core_cpus_list", cpu);
        tree.cpu(cpu, "topology/cluster_id", cpu / 4);
        tree.cpu(cpu, "topology/cluster_cpus_list", if large { "4-7" } else { "0-3" });
        tree.cpu(cpu, "cpu_capacity", if large { 1024 } else { 485 });
        tree.cpu(cpu, "cpufreq/cpuinfo_min_freq", if large { 600_000 } else { 400_000 });
        tree.cpu(cpu, "cpufreq/cpuinfo_max_freq", if large { 2_400_000 } else { 1_800_000 });
        tree.cpu(cpu, "cpufreq/scaling_driver", "cpufreq-dt");
    }
    tree.write("proc/cpuinfo", "processor : 0\nBogoMIPS : 48.00\nCPU implementer : 0x41\n");
    tree.write("proc/device-tree/model", "A Board\0");
    tree
}
