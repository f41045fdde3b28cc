//! Topology: sockets, NUMA nodes, last-level caches, physical cores and hardware threads.

use serde::{Deserialize, Serialize};

/// Maximum number of hardware threads of a machine.
pub(crate) use hearth_base::constants::MAX_CORES;

/// Order in which Linux numbers the hardware threads, as set by the firmware.
///
/// For `S` sockets of `C` physical cores:
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Numbering {
    /// Round robin over the sockets, then the second hyperthreads: cores 0, `S`, 2`S`, … are on
    /// socket 0, and `n` and `n + S·C` share a physical core.
    Interleaved,
    /// Socket by socket, then the second hyperthreads: cores 0 … `C`−1 are on
    /// socket 0, and `n` and `n + S·C` share a physical core.
    Blocked,
    /// Socket by socket, hyperthreads side by side: 0 and 1 share a physical core.
    Adjacent,
}

/// Section `[topology]`: the regular shape of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Processor packages.
    pub sockets: u16,
    /// NUMA nodes in each socket.
    #[serde(default = "one")]
    pub numa_per_socket: u16,
    /// Last-level caches in each socket: the papers' *dies*, AMD's *CCXs*.
    #[serde(default = "one")]
    pub llcs_per_socket: u16,
    /// Physical cores in each socket.
    pub cores_per_socket: u16,
    /// Hardware threads in each physical core.
    pub threads_per_core: u16,
    /// Order in which Linux numbers the hardware threads.
    pub numbering: Numbering,
    /// ACPI SLIT: memory distance from the row's node to the column's; 10 = local.
    pub numa_distances: Vec<Vec<u8>>,
}

fn one() -> u16 {
    1
}

impl Shape {
    /// Physical cores of the machine.
    pub fn physical_cores(&self) -> usize {
        usize::from(self.sockets) * usize::from(self.cores_per_socket)
    }

    /// Hardware threads of the machine.
    pub fn hardware_threads(&self) -> usize {
        self.physical_cores() * usize::from(self.threads_per_core)
    }

    /// NUMA nodes of the machine.
    pub fn numa_nodes(&self) -> usize {
        usize::from(self.sockets) * usize::from(self.numa_per_socket)
    }

    /// Distance matrix for `sockets` sockets of one NUMA node each. The remote distance is this
    /// machine's largest one, or 21 (a usual SLIT value) if it has one node.
    pub(crate) fn uniform_distances(&self, sockets: u16) -> Vec<Vec<u8>> {
        let farthest = self.numa_distances.iter().flatten().copied().max();
        let remote = farthest.filter(|&d| d > 10).unwrap_or(21);
        // Bounds the allocation: validation rejects a machine with more nodes than `MAX_CORES`
        // before it reads the matrix.
        let nodes = sockets.min(MAX_CORES as u16);
        (0..nodes).map(|a| (0..nodes).map(|b| if a == b { 10 } else { remote }).collect()).collect()
    }

    /// Physical core (numbered socket by socket) and hyperthread index of core `id`.
    fn locate(&self, id: u16) -> (u16, u16) {
        let physical = self.sockets * self.cores_per_socket;
        match self.numbering {
            Numbering::Interleaved => {
                let (thread, n) = (id / physical, id % physical);
                let (socket, index) = (n % self.sockets, n / self.sockets);
                (socket * self.cores_per_socket + index, thread)
            }
            Numbering::Blocked => (id % physical, id / physical),
            Numbering::Adjacent => (id / self.threads_per_core, id % self.threads_per_core),
        }
    }
}

/// A hardware thread and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Core {
    /// Number in Linux.
    pub id: u16,
    /// Processor package.
    pub socket: u16,
    /// Last-level cache, numbered across the machine.
    pub llc: u16,
    /// NUMA node, numbered across the machine.
    pub numa: u16,
    /// Physical core, numbered across the machine, socket by socket.
    pub physical: u16,
    /// Index of the hyperthread within the physical core: 0, 1, …
    pub thread: u16,
}

/// Distance between two cores: the smallest domain that contains both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The same hardware thread.
    Core,
    /// Hyperthreads of one physical core.
    Smt,
    /// Different physical cores with the same last-level cache.
    Llc,
    /// Different last-level caches in the same NUMA node.
    Numa,
    /// Different NUMA nodes.
    Machine,
}

impl Level {
    /// All levels, nearest first.
    pub const ALL: [Level; 5] = [Level::Core, Level::Smt, Level::Llc, Level::Numa, Level::Machine];
}

/// Topology of a machine, built from a validated [`Shape`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// All hardware threads; `cores[i].id == i`.
    pub cores: Vec<Core>,
    shape: Shape,
    by_physical: Domains,
    by_llc: Domains,
    by_numa: Domains,
    by_socket: Domains,
}

/// Cores of each domain of one kind, ascending.
type Domains = Vec<Vec<u16>>;

impl Topology {
    /// Builds the topology of a shape that [`crate::validate`] has accepted.
    pub(crate) fn new(shape: Shape) -> Topology {
        let cores: Vec<Core> = (0..shape.hardware_threads() as u16)
            .map(|id| {
                let (physical, thread) = shape.locate(id);
                let socket = physical / shape.cores_per_socket;
                let index = physical % shape.cores_per_socket;
                let part = |parts: u16| socket * parts + index / (shape.cores_per_socket / parts);
                Core {
                    id,
                    socket,
                    llc: part(shape.llcs_per_socket),
                    numa: part(shape.numa_per_socket),
                    physical,
                    thread,
                }
            })
            .collect();
        let group = |domain: fn(&Core) -> u16| {
            let mut domains: Domains = Vec::new();
            for core in &cores {
                let domain = usize::from(domain(core));
                if domains.len() <= domain {
                    domains.resize(domain + 1, Vec::new());
                }
                domains[domain].push(core.id);
            }
            domains
        };
        Topology {
            by_physical: group(|c| c.physical),
            by_llc: group(|c| c.llc),
            by_numa: group(|c| c.numa),
            by_socket: group(|c| c.socket),
            cores,
            shape,
        }
    }

    /// The shape that the topology was built from.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Number of hardware threads of the machine.
    pub fn core_count(&self) -> usize {
        self.cores.len()
    }

    /// Number of physical cores of the machine.
    pub fn physical_count(&self) -> usize {
        self.by_physical.len()
    }

    /// Number of last-level caches of the machine.
    pub fn llc_count(&self) -> usize {
        self.by_llc.len()
    }

    /// Number of NUMA nodes of the machine.
    pub fn numa_count(&self) -> usize {
        self.by_numa.len()
    }

    /// Number of sockets of the machine.
    pub fn socket_count(&self) -> usize {
        self.by_socket.len()
    }

    /// Hardware threads of `core`'s physical core, `core` included, ascending.
    pub fn siblings(&self, core: u16) -> &[u16] {
        &self.by_physical[usize::from(self.core(core).physical)]
    }

    /// Cores that share `core`'s last-level cache, `core` included, ascending.
    pub fn same_llc(&self, core: u16) -> &[u16] {
        &self.by_llc[usize::from(self.core(core).llc)]
    }

    /// Hardware threads of a physical core, ascending.
    pub fn cores_of_physical(&self, physical: u16) -> &[u16] {
        &self.by_physical[usize::from(physical)]
    }

    /// Cores of a NUMA node, ascending.
    pub fn cores_of_numa(&self, numa: u16) -> &[u16] {
        &self.by_numa[usize::from(numa)]
    }

    /// Cores of a socket, ascending.
    pub fn cores_of_socket(&self, socket: u16) -> &[u16] {
        &self.by_socket[usize::from(socket)]
    }

    /// Distance between two cores.
    pub fn level(&self, a: u16, b: u16) -> Level {
        let (a, b) = (self.core(a), self.core(b));
        if a.id == b.id {
            Level::Core
        } else if a.physical == b.physical {
            Level::Smt
        } else if a.llc == b.llc {
            Level::Llc
        } else if a.numa == b.numa {
            Level::Numa
        } else {
            Level::Machine
        }
    }

    /// ACPI SLIT distance between the NUMA nodes of two cores; 10 = same node.
    pub fn numa_distance(&self, a: u16, b: u16) -> u8 {
        let (a, b) = (self.core(a).numa, self.core(b).numa);
        self.shape.numa_distances[usize::from(a)][usize::from(b)]
    }

    fn core(&self, id: u16) -> &Core {
        &self.cores[usize::from(id)]
    }
}
