//! The cores in sysfs. All numbers of cores are the kernel's.

use crate::error::Error;
use crate::sysfs::{Files, cpu_mask, whole_list};
use std::collections::BTreeMap;
use std::str::FromStr;

/// The kernel's maximum of NUMA nodes.
const MOST_NODES: usize = 1024;
const ONLINE: &str = "sys/devices/system/cpu/online";
const NODES: &str = "sys/devices/system/node";

impl Files {
    /// Reads a file of a core, relative to its folder.
    pub fn cpu<T: FromStr>(&self, cpu: u32, file: &str) -> Option<T> {
        self.number(&format!("sys/devices/system/cpu/cpu{cpu}/{file}"))
    }

    /// The online cores, ascending.
    ///
    /// # Errors
    /// The list cannot be read.
    pub fn online_cores(&self) -> Result<Vec<u32>, Error> {
        match self.required(ONLINE, "the list of online cores", whole_list) {
            // Kernels before 2.6.29 have a folder for each core, and no list.
            Err(error) if !self.path(ONLINE).exists() => {
                let mut cores = self.numbered("sys/devices/system/cpu", "cpu");
                cores.retain(|&cpu| self.cpu::<u8>(cpu, "online") != Some(0));
                if cores.is_empty() { Err(error) } else { Ok(cores) }
            }
            list => list,
        }
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
    ///
    /// # Errors
    /// They cannot be read.
    pub fn siblings(&self, cpu: u32) -> Result<Vec<u32>, Error> {
        // Linux 5.3 renamed the files.
        let files = ["topology/core_cpus", "topology/thread_siblings"];
        if let Some(siblings) = files.iter().find_map(|file| self.shared(cpu, file)) {
            return Ok(siblings);
        }
        let what = "the hardware threads of a physical core";
        let with_core = |list: &str| whole_list(list).filter(|cores| cores.contains(&cpu));
        let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list");
        self.required(&path, what, with_core)
    }

    /// The level of the core's last-level cache, and the cores that share it.
    pub fn last_level_cache(&self, cpu: u32) -> Option<(u32, Vec<u32>)> {
        let levels = (0..16).map_while(|index| {
            let level: u32 = self.cpu(cpu, &format!("cache/index{index}/level"))?;
            Some((level, index))
        });
        let (level, index) = levels.max()?;
        Some((level, self.shared(cpu, &format!("cache/index{index}/shared_cpu"))?))
    }

    /// The cores of the core's cluster.
    pub fn cluster(&self, cpu: u32) -> Option<Vec<u32>> {
        let id: i64 = self.cpu(cpu, "topology/cluster_id")?;
        (0..65_535).contains(&id).then(|| self.shared(cpu, "topology/cluster_cpus"))?
    }

    /// The kernel's numbers of the NUMA nodes; none if the kernel does not know NUMA.
    pub fn numa_nodes(&self) -> Vec<u32> {
        let mut nodes =
            self.cores(&format!("{NODES}/online")).unwrap_or_else(|| self.numbered(NODES, "node"));
        nodes.truncate(MOST_NODES);
        nodes
    }

    /// The index of each core's node in [`Files::numa_nodes`]. Some nodes have no cores.
    pub fn numa_of_cores(&self) -> BTreeMap<u32, u16> {
        let cores = |node| self.listed(&format!("{NODES}/node{node}/cpu"), "list", "map");
        let nodes = (0..).zip(self.numa_nodes());
        nodes
            .flat_map(|(index, node)| cores(node).into_iter().flatten().map(move |cpu| (cpu, index)))
            .collect()
    }

    /// Reads a core's set of cores. A set without the core itself cannot be right.
    fn shared(&self, cpu: u32, file: &str) -> Option<Vec<u32>> {
        let path = format!("sys/devices/system/cpu/cpu{cpu}/{file}");
        // Only the mask of a cache has a suffix: `shared_cpu_map`.
        let mask = if file.starts_with("cache") { "_map" } else { "" };
        self.listed(&path, "_list", mask).filter(|cores| cores.contains(&cpu))
    }

    /// A set of cores that is in a file as a list, or in another one as a mask. Kernels before 2.6.26 have only masks.
    fn listed(&self, path: &str, list: &str, mask: &str) -> Option<Vec<u32>> {
        let text = |suffix| self.text(&format!("{path}{suffix}"));
        text(list).and_then(|list| whole_list(&list)).or_else(|| cpu_mask(&text(mask)?))
    }
}
