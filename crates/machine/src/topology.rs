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
    /// The kinds of physical cores of each socket, in the order of their numbers. Empty: all are of one kind.
    #[serde(default, rename = "kind", skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<Kind>,
}

/// Section `[[topology.kind]]`: physical cores of one kind in each socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// Name, such as `P` or `E`.
    pub name: String,
    /// Physical cores of this kind in each socket.
    pub cores: u16,
    /// Hardware threads in each of them.
    pub threads_per_core: u16,
    /// Physical cores that share one clock: all run at the highest frequency that one of them requests.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub cores_per_clock: u16,
    /// Last-level caches that only cores of this kind use. 0: they share the socket's other caches.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub llcs: u16,
    /// Lowest frequency.
    pub min_khz: u32,
    /// Highest frequency.
    pub max_khz: u32,
    /// Work per cycle relative to the machine's cycles of work, in thousandths.
    pub work_permille: u32,
    /// Power at equal frequency relative to the other kinds, in thousandths.
    pub power_permille: u32,
}

fn one() -> u16 {
    1
}

fn is_one(number: &u16) -> bool {
    *number == 1
}

fn is_zero(number: &u16) -> bool {
    *number == 0
}

/// Capacity of the fastest core (`SCHED_CAPACITY_SCALE`).
pub const FULL_CAPACITY: u16 = 1024;

impl Shape {
    /// Physical cores of the machine.
    pub fn physical_cores(&self) -> usize {
        usize::from(self.sockets) * usize::from(self.cores_per_socket)
    }

    /// Hardware threads of the machine.
    pub fn hardware_threads(&self) -> usize {
        usize::from(self.sockets) * self.threads_per_socket()
    }

    fn threads_per_socket(&self) -> usize {
        match self.kinds.is_empty() {
            true => usize::from(self.cores_per_socket) * usize::from(self.threads_per_core),
            false => self.kinds.iter().map(|k| usize::from(k.cores) * usize::from(k.threads_per_core)).sum(),
        }
    }

    /// Index of the kind of a physical core, by its index in the socket. 0 if all are of one kind.
    pub(crate) fn kind_of(&self, index: u16) -> usize {
        let mut end = 0;
        let found = self.kinds.iter().position(|kind| {
            end += kind.cores;
            index < end
        });
        found.unwrap_or(0)
    }

    /// Hardware threads of a physical core, by its index in the socket.
    fn threads_of(&self, index: u16) -> u16 {
        self.kinds.get(self.kind_of(index)).map_or(self.threads_per_core, |kind| kind.threads_per_core)
    }

    /// Last-level cache of each physical core of a socket.
    fn caches(&self) -> Vec<u16> {
        let own: u16 = self.kinds.iter().filter(|k| k.llcs > 0).map(|k| k.llcs).sum();
        let alone: u16 = self.kinds.iter().filter(|k| k.llcs > 0).map(|k| k.cores).sum();
        let shared = self.llcs_per_socket - own;
        let per_shared = (self.cores_per_socket - alone) / shared.max(1);
        let (mut next, mut common, mut caches) = (shared, 0, Vec::new());
        if self.kinds.is_empty() {
            return (0..self.cores_per_socket).map(|core| core / per_shared.max(1)).collect();
        }
        for kind in &self.kinds {
            for core in 0..kind.cores {
                caches.push(match kind.llcs {
                    0 => (common + core) / per_shared.max(1),
                    own => next + core / (kind.cores / own),
                });
            }
            (next, common) = (next + kind.llcs, common + if kind.llcs == 0 { kind.cores } else { 0 });
        }
        caches
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
            Numbering::Adjacent if self.kinds.is_empty() => {
                (id / self.threads_per_core, id % self.threads_per_core)
            }
            Numbering::Adjacent => self.locate_adjacent(id),
        }
    }

    fn locate_adjacent(&self, id: u16) -> (u16, u16) {
        let per_socket = self.threads_per_socket() as u16;
        let (socket, mut left) = (id / per_socket, id % per_socket);
        let mut index = 0;
        while left >= self.threads_of(index) {
            left -= self.threads_of(index);
            index += 1;
        }
        (socket * self.cores_per_socket + index, left)
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
    /// Index of its kind in [`Shape::kinds`]; 0 if all cores are of one kind.
    pub kind: u8,
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
    /// Speed of each core at its highest frequency, in work per time.
    speeds: Vec<u64>,
}

/// Cores of each domain of one kind, ascending.
type Domains = Vec<Vec<u16>>;

impl Topology {
    /// Builds the topology of a shape that [`crate::validate`] has accepted.
    ///
    /// `max_khz` is the highest frequency of each physical core of a socket.
    pub(crate) fn new(shape: Shape, max_khz: &[u32]) -> Topology {
        let caches = shape.caches();
        let cores: Vec<Core> = (0..shape.hardware_threads() as u16)
            .map(|id| {
                let (physical, thread) = shape.locate(id);
                let socket = physical / shape.cores_per_socket;
                let index = physical % shape.cores_per_socket;
                let part = |parts: u16| socket * parts + index / (shape.cores_per_socket / parts);
                Core {
                    id,
                    socket,
                    llc: socket * shape.llcs_per_socket + caches[usize::from(index)],
                    numa: part(shape.numa_per_socket),
                    physical,
                    thread,
                    kind: shape.kind_of(index) as u8,
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
            speeds: cores
                .iter()
                .map(|core| {
                    let khz = max_khz[usize::from(core.physical % shape.cores_per_socket)];
                    u64::from(khz)
                        * u64::from(shape.kinds.get(usize::from(core.kind)).map_or(1000, |k| k.work_permille))
                })
                .collect(),
            cores,
            shape,
        }
    }

    /// Speed of `core` at its highest frequency relative to the fastest core, 1 to [`FULL_CAPACITY`], like Linux's
    /// `cpu_capacity`. Hyperthreads have that of their physical core.
    pub fn capacity(&self, core: u16) -> u16 {
        let fastest = self.speeds.iter().copied().max().unwrap_or(1).max(1);
        let full = u64::from(FULL_CAPACITY);
        ((self.speeds[usize::from(core)] * full + fastest / 2) / fastest).clamp(1, full) as u16
    }

    /// Place of `core` in the preferred order: the number of different speeds above its own. 0 is preferred.
    pub fn rank(&self, core: u16) -> u16 {
        let own = self.speeds[usize::from(core)];
        let mut above: Vec<u64> = self.speeds.iter().copied().filter(|&speed| speed > own).collect();
        above.sort_unstable();
        above.dedup();
        above.len() as u16
    }

    /// The kind of `core`; `None` if all cores are of one kind.
    pub fn kind(&self, core: u16) -> Option<&Kind> {
        self.shape.kinds.get(usize::from(self.core(core).kind))
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

    /// For each physical core, those that share its clock; empty if no two do.
    pub(crate) fn clocks(&self) -> Vec<std::ops::Range<usize>> {
        if self.shape.kinds.iter().all(|kind| kind.cores_per_clock == 1) {
            return Vec::new();
        }
        let mut clocks = Vec::new();
        for _ in 0..self.shape.sockets {
            for kind in &self.shape.kinds {
                for core in 0..kind.cores {
                    let first = clocks.len() - usize::from(core % kind.cores_per_clock);
                    clocks.push(first..first + usize::from(kind.cores_per_clock));
                }
            }
        }
        clocks
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
