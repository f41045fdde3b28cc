//! Topology of a guest: packages, cores, hyperthreads, NUMA nodes.

use crate::error::Error;
use hearth_machine::topology::Shape;
use hearth_machine::{IdleState, Machine};
use std::ffi::OsString;

/// QEMU's limit of CPUs without an interrupt remapper.
const MOST_CPUS: u32 = 255;
/// Linux takes eight from ACPI's description, with the one that polls.
const MOST_IDLE_STATES: usize = 7;
/// Unit of a NUMA node's memory, in MiB.
const LEAST_NODE_MIB: u64 = 128;
/// Linux's default distance of a remote node.
const REMOTE: u8 = 20;

/// The parts of a topology that the user specified; the others are derived.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wish {
    /// Hardware threads of the machine.
    pub cpus: Option<u16>,
    /// Processor packages, each with its own last-level cache.
    pub sockets: Option<u16>,
    /// Physical cores of each package.
    pub cores: Option<u16>,
    /// Hardware threads of each physical core.
    pub smt: Option<u16>,
    /// NUMA nodes of the machine.
    pub numa: Option<u16>,
}

/// A topology that QEMU can build and Linux recognises.
///
/// Each last-level cache becomes a package. A socket with two caches becomes two packages on one NUMA node, which
/// gives the same scheduling domains. QEMU's dies would be more exact, but crash QEMU 10.0 on the processor models
/// that have hyperthreads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// Packages, each with one last-level cache.
    pub packages: u16,
    /// Physical cores in each package.
    pub cores: u16,
    /// Hardware threads in each physical core.
    pub threads: u16,
    /// ACPI distances between the NUMA nodes; the length is their number. CPUs are split evenly over the nodes.
    pub distances: Vec<Vec<u8>>,
    /// Exit latencies of the idle states that the guest's kernel believes its x86 processors to have, in µs, ascending. All
    /// of them halt. Without any, the kernel has no cpuidle.
    pub idle_us: Vec<u16>,
}

impl Default for Topology {
    /// Four cores with one cache.
    fn default() -> Self {
        Topology { packages: 1, cores: 4, threads: 1, distances: uniform(1), idle_us: Vec::new() }
    }
}

impl Topology {
    /// Derives a topology from the user's options. Defaults: four cores, no hyperthreads, one NUMA node per package.
    pub fn new(wish: Wish) -> Result<Self, Error> {
        let one = |what: &str, value: Option<u16>| match value {
            Some(0) => Err(Error::Topology(format!("{what} must be at least 1"))),
            value => Ok(value),
        };
        let cpus = one("--cpus", wish.cpus)?;
        let threads = one("--smt", wish.smt)?.unwrap_or(1);
        let nodes = one("--numa", wish.numa)?;
        let packages = one("--sockets", wish.sockets)?.or(nodes).unwrap_or(1);
        let rows = u32::from(packages) * u32::from(threads);
        let cores = match (one("--cores", wish.cores)?, cpus.map(u32::from)) {
            (Some(cores), None) => cores,
            (Some(cores), Some(cpus)) if u32::from(cores) * rows == cpus => cores,
            (Some(cores), Some(cpus)) => {
                return Err(Error::Topology(format!(
                    "--cpus {cpus} contradicts {packages} sockets of {cores} cores of {threads} hardware threads: leave one of them out"
                )));
            }
            (None, Some(cpus)) if cpus % rows == 0 => (cpus / rows) as u16,
            (None, Some(cpus)) => {
                let smt = if threads > 1 {
                    format!(" of cores with {threads} hardware threads")
                } else {
                    String::new()
                };
                let sockets = format!("{packages} sockets{smt}");
                return Err(Error::Topology(format!("{cpus} CPUs cannot be split evenly over {sockets}")));
            }
            (None, None) => (4 / rows).max(1) as u16,
        };
        Self::split(packages, cores, threads, uniform(nodes.unwrap_or(packages)))
    }

    /// The topology of a machine, with the exit latencies of its idle states.
    pub fn of_machine(machine: &Machine) -> Result<Self, Error> {
        let shape: &Shape = machine.topology.shape();
        let first = shape.kinds.first();
        if shape
            .kinds
            .iter()
            .any(|kind| Some(kind.threads_per_core) != first.map(|first| first.threads_per_core))
        {
            return Err(Error::Topology(
                "QEMU's cores all have the same number of hyperthreads, but the machine's kinds of core differ in it".into(),
            ));
        }
        let packages = shape.sockets * shape.llcs_per_socket;
        let cores = shape.cores_per_socket / shape.llcs_per_socket;
        let idle_us = |state: &IdleState| u16::try_from(state.exit_latency_us).unwrap_or(u16::MAX);
        Ok(Topology {
            idle_us: machine.idle.iter().take(MOST_IDLE_STATES).map(idle_us).collect(),
            ..Self::split(packages, cores, shape.threads_per_core, shape.numa_distances.clone())?
        })
    }

    /// Splits CPUs over nodes. A node may hold several packages. If a package holds several nodes, its cache
    /// is split with it, because Linux believes in no cache that spans nodes.
    fn split(packages: u16, cores: u16, threads: u16, distances: Vec<Vec<u8>>) -> Result<Self, Error> {
        let nodes = distances.len() as u16;
        let cpus = u32::from(packages) * u32::from(cores) * u32::from(threads);
        if cpus > MOST_CPUS {
            return Err(Error::Topology(format!(
                "{cpus} CPUs are more than the maximum of {MOST_CPUS} of a virtual machine"
            )));
        }
        let parts = nodes / packages.min(nodes);
        let even =
            nodes.is_multiple_of(packages) && cores.is_multiple_of(parts) || packages.is_multiple_of(nodes);
        match even {
            true => Ok(Topology {
                packages: packages * parts,
                cores: cores / parts,
                threads,
                distances,
                idle_us: Vec::new(),
            }),
            false => Err(Error::Topology(format!(
                "{packages} sockets of {cores} cores cannot be split evenly over {nodes} NUMA nodes"
            ))),
        }
    }

    /// Hardware threads of the machine.
    pub fn cpus(&self) -> u16 {
        self.packages * self.cores * self.threads
    }

    /// NUMA nodes of the machine.
    pub fn nodes(&self) -> u16 {
        self.distances.len() as u16
    }

    /// QEMU's arguments for CPUs and memory. All memory is shared, as virtio-fs requires.
    pub(crate) fn arguments(&self, memory_mib: u64) -> Result<Vec<OsString>, Error> {
        let nodes = u64::from(self.nodes());
        let each = memory_mib / nodes;
        if each < LEAST_NODE_MIB {
            return Err(Error::Topology(format!(
                "{memory_mib} MiB of memory are too few for {nodes} NUMA nodes: set `--memory` to at least {}",
                LEAST_NODE_MIB * nodes
            )));
        }
        let mut arguments = Vec::new();
        let mut add = |option: &str, value: String| arguments.extend([option.into(), value.into()]);
        add(
            "-smp",
            format!(
                "{},sockets={},cores={},threads={}",
                self.cpus(),
                self.packages,
                self.cores,
                self.threads
            ),
        );
        add("-m", format!("{}M", each * nodes));
        let per_node = u64::from(self.cpus()) / nodes;
        for node in 0..nodes {
            add("-object", format!("memory-backend-memfd,id=memory{node},size={each}M,share=on"));
            let (first, last) = (node * per_node, (node + 1) * per_node - 1);
            add("-numa", format!("node,nodeid={node},memdev=memory{node},cpus={first}-{last}"));
        }
        for (from, row) in self.distances.iter().enumerate().filter(|_| nodes > 1) {
            for (to, distance) in row.iter().enumerate().filter(|(to, _)| *to != from) {
                add("-numa", format!("dist,src={from},dst={to},val={distance}"));
            }
        }
        Ok(arguments)
    }
}

impl std::fmt::Display for Topology {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} CPU{}", self.cpus(), if self.cpus() == 1 { "" } else { "s" })?;
        if self.packages > 1 || self.threads > 1 {
            write!(f, " ({} x {} x {})", self.packages, self.cores, self.threads)?;
        }
        match self.nodes() {
            1 => Ok(()),
            nodes => write!(f, " on {nodes} NUMA nodes"),
        }
    }
}

fn uniform(nodes: u16) -> Vec<Vec<u8>> {
    (0..nodes).map(|a| (0..nodes).map(|b| if a == b { 10 } else { REMOTE }).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(wish: Wish) -> Option<(u16, u16, u16, u16)> {
        Topology::new(wish).ok().map(|t| (t.packages, t.cores, t.threads, t.nodes()))
    }

    #[test]
    fn what_is_not_said_follows() {
        let wish = Wish::default();
        assert_eq!(shape(wish), Some((1, 4, 1, 1)));
        assert_eq!(shape(Wish { cpus: Some(6), ..wish }), Some((1, 6, 1, 1)));
        assert_eq!(
            shape(Wish { cpus: Some(64), sockets: Some(4), smt: Some(2), ..wish }),
            Some((4, 8, 2, 4))
        );
        assert_eq!(shape(Wish { sockets: Some(2), cores: Some(3), ..wish }), Some((2, 3, 1, 2)));
        assert_eq!(shape(Wish { cpus: Some(8), numa: Some(2), ..wish }), Some((2, 4, 1, 2)));
        assert_eq!(
            shape(Wish { sockets: Some(4), cores: Some(2), numa: Some(2), ..wish }),
            Some((4, 2, 1, 2))
        );
        assert_eq!(shape(Wish { sockets: Some(4), smt: Some(2), ..wish }), Some((4, 1, 2, 4)));
        // A node smaller than a socket gets its part of the cache.
        assert_eq!(
            shape(Wish { sockets: Some(2), cores: Some(8), numa: Some(4), ..wish }),
            Some((4, 4, 1, 4))
        );
    }

    #[test]
    fn contradictions_are_refused() {
        let wish = Wish::default();
        for wrong in [
            Wish { cpus: Some(0), ..wish },
            Wish { cpus: Some(5), sockets: Some(2), ..wish },
            Wish { cpus: Some(8), sockets: Some(2), cores: Some(2), ..wish },
            Wish { sockets: Some(3), cores: Some(2), numa: Some(2), ..wish },
            Wish { sockets: Some(2), cores: Some(3), numa: Some(4), ..wish },
            Wish { cpus: Some(256), ..wish },
        ] {
            assert!(Topology::new(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn every_machine_has_a_shape() {
        for name in hearth_machine::Machine::names() {
            let machine = hearth_machine::Machine::load(name).unwrap();
            let shape = machine.topology.shape();
            let uneven = shape.kinds.iter().any(|kind| kind.threads_per_core != shape.threads_per_core);
            let topology = Topology::of_machine(&machine);
            if uneven || machine.topology.core_count() > 255 {
                assert!(topology.is_err(), "{name}");
                continue;
            }
            let topology = topology.unwrap();
            assert_eq!(usize::from(topology.cpus()), machine.topology.core_count());
            assert_eq!(usize::from(topology.nodes()), machine.topology.numa_count());
            assert_eq!(usize::from(topology.packages), machine.topology.llc_count());
            topology.arguments(8192).unwrap();
        }
    }

    #[test]
    fn cpus_and_memory_are_split_evenly() {
        let wish = Wish { sockets: Some(2), cores: Some(2), smt: Some(2), ..Wish::default() };
        let arguments = Topology::new(wish).unwrap().arguments(1025).unwrap();
        let arguments: Vec<_> = arguments.iter().map(|a| a.to_str().unwrap()).collect();
        assert_eq!(
            arguments.join(" "),
            "-smp 8,sockets=2,cores=2,threads=2 -m 1024M \
             -object memory-backend-memfd,id=memory0,size=512M,share=on \
             -numa node,nodeid=0,memdev=memory0,cpus=0-3 \
             -object memory-backend-memfd,id=memory1,size=512M,share=on \
             -numa node,nodeid=1,memdev=memory1,cpus=4-7 \
             -numa dist,src=0,dst=1,val=20 -numa dist,src=1,dst=0,val=20"
        );
    }
}
