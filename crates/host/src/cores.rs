//! The cores in sysfs. All numbers of cores are the kernel's.

use crate::sysfs::Files;
use std::collections::BTreeMap;
use std::str::FromStr;

/// The kernel's maximum of NUMA nodes.
const MOST_NODES: usize = 1024;

impl Files {
    /// Reads a file of a core, relative to its folder.
    pub fn cpu<T: FromStr>(&self, cpu: u32, file: &str) -> Option<T> {
        self.number(&format!("sys/devices/system/cpu/cpu{cpu}/{file}"))
    }

    /// The online cores, ascending; core 0 if the kernel reports none.
    pub fn online_cores(&self) -> Vec<u32> {
        self.cores("sys/devices/system/cpu/online").unwrap_or_else(|| vec![0])
    }

    /// The values of a cpufreq file, of the cores that have it.
    pub fn cpufreq(&self, cpus: &[u32], file: &str) -> impl Iterator<Item = u32> {
        cpus.iter().filter_map(move |cpu| self.cpu(*cpu, &format!("cpufreq/{file}")))
    }

    /// The core's socket. Virtual machines and some ARM boards report -1 or nothing.
    pub fn package(&self, cpu: u32) -> Option<i64> {
        self.cpu(cpu, "topology/physical_package_id")
    }

    /// The hardware threads of a physical core.
    pub fn siblings(&self, cpu: u32) -> Vec<u32> {
        // Linux 5.3 renamed the file.
        let lists = ["topology/core_cpus_list", "topology/thread_siblings_list"];
        lists.iter().find_map(|list| self.shared(cpu, list)).unwrap_or_else(|| vec![cpu])
    }

    /// The level of the core's last-level cache, and the cores that share it.
    pub fn last_level_cache(&self, cpu: u32) -> Option<(u32, Vec<u32>)> {
        let levels = (0..16).map_while(|index| {
            let level: u32 = self.cpu(cpu, &format!("cache/index{index}/level"))?;
            Some((level, index))
        });
        let (level, index) = levels.max()?;
        Some((level, self.shared(cpu, &format!("cache/index{index}/shared_cpu_list"))?))
    }

    /// The cores of the core's cluster.
    pub fn cluster(&self, cpu: u32) -> Option<Vec<u32>> {
        let id: i64 = self.cpu(cpu, "topology/cluster_id")?;
        (0..65_535).contains(&id).then(|| self.shared(cpu, "topology/cluster_cpus_list"))?
    }

    /// The kernel's numbers of the NUMA nodes.
    pub fn numa_nodes(&self) -> Vec<u32> {
        let mut nodes = self.cores("sys/devices/system/node/online").unwrap_or_default();
        nodes.truncate(MOST_NODES);
        nodes
    }

    /// The index of each core's node in [`Files::numa_nodes`].
    pub fn numa_of_cores(&self) -> BTreeMap<u32, u16> {
        let cores = |node| self.cores(&format!("sys/devices/system/node/node{node}/cpulist"));
        let nodes = (0..).zip(self.numa_nodes());
        nodes
            .flat_map(|(index, node)| cores(node).into_iter().flatten().map(move |cpu| (cpu, index)))
            .collect()
    }

    /// Reads a core's list of cores. A list without the core itself cannot be right.
    fn shared(&self, cpu: u32, file: &str) -> Option<Vec<u32>> {
        let list = self.cores(&format!("sys/devices/system/cpu/cpu{cpu}/{file}"))?;
        list.contains(&cpu).then_some(list)
    }
}
