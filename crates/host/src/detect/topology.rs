//! Detection of the topology, and whether a machine file can express it.

use super::kinds;
use crate::error::Error;
use crate::sysfs::{Files, cpu_list, show_list};
use hearth_base::constants::MAX_CORES;
use hearth_machine::Numbering;
use std::collections::{BTreeMap, BTreeSet};

/// ACPI's distance of a node to itself; also used between nodes that the kernel treats as one.
const LOCAL: u8 = 10;
const NEXT: u8 = 11;
/// A typical distance between sockets, used if the kernel reports none.
const USUAL: u8 = 21;

/// The domains of one hardware thread. Any core of a domain may identify it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    cpu: u32,
    socket: i64,
    /// A node that spans sockets counts as one node per socket.
    numa: (i64, u16),
    /// A cache that spans nodes counts as one cache per node.
    llc: (i64, u16, u32),
    physical: u32,
}

/// The online cores, as sysfs reports them.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    places: Vec<Place>,
    /// Distance between two of the kernel's nodes, by their indices.
    distances: BTreeMap<(u16, u16), u8>,
    pub notes: Vec<String>,
}

/// Contents of section `[topology]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Regular {
    pub sockets: u16,
    pub numa_per_socket: u16,
    pub llcs_per_socket: u16,
    pub cores_per_socket: u16,
    pub threads_per_core: u16,
    pub numbering: Numbering,
    pub numa_distances: Vec<Vec<u8>>,
    /// Whether distances are assumed because the kernel reports none.
    pub assumed_distances: bool,
    /// Kinds of cores; empty if there is one.
    pub kinds: Vec<hearth_machine::Kind>,
    /// Source of their work per cycle.
    pub work_source: String,
    pub notes: Vec<String>,
}

/// The four kinds of domains: socket, node, cache, physical core.
type Domains = [usize; 4];

impl Layout {
    /// All online cores, or only those of `only`.
    pub fn read(files: &Files, only: Option<&[u32]>) -> Result<Layout, Error> {
        let online = files.online_cores()?;
        let mut notes = Vec::new();
        let offline = files.cores("sys/devices/system/cpu/offline").unwrap_or_default();
        let present = files.cores("sys/devices/system/cpu/present").unwrap_or_default();
        let offline: Vec<u32> = offline.into_iter().filter(|cpu| present.contains(cpu)).collect();
        let cpus: Vec<u32> = match only {
            None => online,
            Some(only) => {
                if let Some(missing) = only.iter().find(|cpu| !online.contains(cpu)) {
                    return Err(Error::Irregular(format!(
                        "core {missing} is not online; the online cores are {}",
                        show_list(&online)
                    )));
                }
                notes.push(format!("only the kernel's cores {} are described", show_list(only)));
                only.to_vec()
            }
        };
        if only.is_none() && !offline.is_empty() {
            notes.push(format!("the kernel's cores {} are offline, and left out", show_list(&offline)));
        }
        if cpus.len() > MAX_CORES {
            return Err(Error::Irregular(format!(
                "this machine has {} hardware threads; a machine file has at most {MAX_CORES}: describe a part of it \
                 with `--cores LIST`",
                cpus.len()
            )));
        }
        if cpus.iter().enumerate().any(|(i, &cpu)| i != cpu as usize) {
            notes.push(format!("cores 0 to {} are the kernel's {}", cpus.len() - 1, show_list(&cpus)));
        }
        let nodes = files.numa_of_cores();
        let places = cpus.iter().map(|&cpu| place(files, cpu, &cpus, &nodes)).collect::<Result<_, _>>()?;
        notes.extend(unknown_caches(files, &cpus));
        Ok(Layout { places, distances: distances(files), notes })
    }

    /// The kernel's numbers.
    pub fn cpus(&self) -> Vec<u32> {
        self.places.iter().map(|place| place.cpu).collect()
    }

    /// The first thread of each physical core of the first socket.
    pub fn one_socket(&self) -> Vec<u32> {
        let mut seen = BTreeSet::new();
        let first = self.places.first().map(|place| place.socket);
        let here = self.places.iter().filter(|place| Some(place.socket) == first);
        here.filter(|place| seen.insert(place.physical)).map(|place| place.cpu).collect()
    }

    /// Derives the topology of a machine with one or several kinds of cores. Fails if it is irregular.
    pub fn shape(&mut self, files: &Files) -> Result<Regular, Error> {
        let mut kinds = kinds::read(files, &self.cpus(), &mut self.notes);
        if kinds.len() < 2 {
            return self.regular();
        }
        let list: Vec<String> = kinds.iter().map(ToString::to_string).collect();
        let largest = show_list(&kinds[0].cores);
        kinds.sort_by_key(|kind| kind.cores.first().copied());
        self.hybrid(files, &kinds).map_err(|why| {
            Error::Irregular(format!(
                "this machine has {} kinds of cores: {}; a machine file cannot express it, because {why}: describe a \
                 part with `--cores {largest}`, say",
                kinds.len(),
                list.join("; "),
            ))
        })
    }

    /// The topology of one socket with several kinds of cores, or why a machine file cannot express it.
    fn hybrid(&self, files: &Files, kinds: &[kinds::Kind]) -> Result<Regular, String> {
        let count = |of: fn(&Place) -> (i64, i64)| self.places.iter().map(of).collect::<BTreeSet<_>>().len();
        if count(|p| (p.socket, 0)) > 1 || count(|p| (p.numa.0, p.numa.1.into())) > 1 {
            return Err("it has several sockets or NUMA nodes".into());
        }
        let of_kind = |kind: &kinds::Kind| -> Vec<Place> {
            self.places.iter().filter(|place| kind.cores.contains(&place.cpu)).copied().collect()
        };
        let caches = |places: &[Place]| places.iter().map(|p| p.llc).collect::<BTreeSet<_>>();
        let mut found = Vec::new();
        for (i, kind) in kinds.iter().enumerate() {
            let places = of_kind(kind);
            let cores = places.iter().map(|p| p.physical).collect::<BTreeSet<_>>().len();
            if !places.len().is_multiple_of(cores) {
                return Err(format!("cores {} differ in hyperthreads", show_list(&kind.cores)));
            }
            let own = caches(&places);
            let shares = kinds
                .iter()
                .enumerate()
                .any(|(j, other)| j != i && !own.is_disjoint(&caches(&of_kind(other))));
            // A list with blanks between its numbers.
            let first = files
                .text(&format!(
                    "sys/devices/system/cpu/cpu{}/cpufreq/related_cpus",
                    kind.cores.first().copied().unwrap_or(0)
                ))
                .map(|list| cpu_list(&list.replace(' ', ",")));
            let clock: BTreeSet<u32> = places
                .iter()
                .filter(|p| first.as_ref().is_some_and(|cpus| cpus.contains(&p.cpu)))
                .map(|p| p.physical)
                .collect();
            let (Some(min_khz), Some(max_khz)) = (
                files.cpufreq(&kind.cores, "cpuinfo_min_freq").reduce(u32::min),
                files.cpufreq(&kind.cores, "cpuinfo_max_freq").reduce(u32::max),
            ) else {
                return Err("the kernel does not report their frequencies".into());
            };
            found.push(hearth_machine::Kind {
                name: char::from(b'a' + i as u8).to_string(),
                cores: cores as u16,
                threads_per_core: (places.len() / cores) as u16,
                cores_per_clock: if cores.is_multiple_of(clock.len().max(1)) {
                    clock.len().max(1) as u16
                } else {
                    1
                },
                llcs: if shares { 0 } else { own.len() as u16 },
                min_khz,
                max_khz,
                work_permille: 1000,
                power_permille: 1000,
            });
        }
        let work_source = work(&mut found, kinds);
        let mut shape = Regular {
            sockets: 1,
            numa_per_socket: 1,
            llcs_per_socket: caches(&self.places).len() as u16,
            cores_per_socket: found.iter().map(|kind| kind.cores).sum(),
            threads_per_core: found[0].threads_per_core,
            numbering: Numbering::Adjacent,
            numa_distances: vec![vec![LOCAL]],
            assumed_distances: false,
            kinds: found,
            work_source,
            notes: Vec::new(),
        };
        let in_order = kinds.iter().flat_map(|kind| &kind.cores).is_sorted()
            && self.places.windows(2).all(|pair| pair[0].physical <= pair[1].physical);
        if !in_order {
            shape.notes.push(
                "the kernel numbers this machine's cores in a way that a machine file cannot say: the numbers of \
                 domains are right, but core n here is not the kernel's core n"
                    .into(),
            );
        }
        Ok(shape)
    }

    /// Derives the topology. Fails if the sockets, nodes, caches or cores differ among themselves.
    pub fn regular(&self) -> Result<Regular, Error> {
        let sockets = self.children("socket", |_| 0, |p| p.socket)?;
        let numa_per_socket = self.children("NUMA node", |p| p.socket, |p| p.numa)?;
        let llcs_per_node = self.children("last-level cache", |p| p.numa, |p| p.llc)?;
        let cores_per_llc = self.children("physical core", |p| p.llc, |p| p.physical)?;
        let threads_per_core = self.children("hardware thread", |p| p.physical, |p| p.cpu)?;
        let llcs_per_socket = numa_per_socket * llcs_per_node;
        let mut shape = Regular {
            sockets: sockets as u16,
            numa_per_socket: numa_per_socket as u16,
            llcs_per_socket: llcs_per_socket as u16,
            cores_per_socket: (llcs_per_socket * cores_per_llc) as u16,
            threads_per_core: threads_per_core as u16,
            numbering: Numbering::Blocked,
            numa_distances: Vec::new(),
            assumed_distances: false,
            kinds: Vec::new(),
            work_source: String::new(),
            notes: Vec::new(),
        };
        self.number(&mut shape);
        self.measure(&mut shape);
        Ok(shape)
    }

    /// The number of children of each parent. Fails if parents differ in it.
    fn children<P: Ord, C: Ord>(
        &self,
        what: &str,
        parent: impl Fn(&Place) -> P,
        child: impl Fn(&Place) -> C,
    ) -> Result<usize, Error> {
        let mut families: BTreeMap<P, (BTreeSet<C>, u32)> = BTreeMap::new();
        for place in &self.places {
            families
                .entry(parent(place))
                .or_insert_with(|| (BTreeSet::new(), place.cpu))
                .0
                .insert(child(place));
        }
        let mut sizes: BTreeMap<usize, u32> = BTreeMap::new();
        for (children, cpu) in families.values() {
            sizes.entry(children.len()).or_insert(*cpu);
        }
        match sizes.len() {
            0 | 1 => Ok(sizes.keys().next().copied().unwrap_or(1)),
            _ => {
                let list: Vec<String> =
                    sizes.iter().map(|(size, cpu)| format!("{size} around core {cpu}")).collect();
                Err(Error::Irregular(format!(
                    "this machine is irregular: the number of {what}s differs ({}), but a machine file describes parts \
                     that are all alike; describe a part of the machine with `--cores LIST`, or bring offline cores \
                     online",
                    list.join(", ")
                )))
            }
        }
    }

    /// Finds the numbering that puts each core where it is.
    fn number(&self, shape: &mut Regular) {
        let mut best = (0, Numbering::Blocked);
        for numbering in [Numbering::Blocked, Numbering::Interleaved, Numbering::Adjacent] {
            let placed: Vec<Domains> = (0..self.places.len()).map(|i| locate(shape, numbering, i)).collect();
            let right = (0..4).filter(|&kind| self.same_parts(&placed, kind)).count();
            if right > best.0 {
                best = (right, numbering);
            }
        }
        shape.numbering = best.1;
        if best.0 < 4 {
            shape.notes.push(format!(
                "the kernel numbers this machine's cores in a way that a machine file cannot say: the numbers of \
                 domains are right, but core n here is not the kernel's core n; the nearest numbering, `{}`, is used",
                numbering_name(best.1)
            ));
        }
    }

    /// Whether exactly those cores share a domain in `placed` that do on the machine.
    fn same_parts(&self, placed: &[Domains], kind: usize) -> bool {
        let (mut there, mut back) = (BTreeMap::new(), BTreeMap::new());
        self.places.iter().zip(placed).all(|(place, domains)| {
            let (real, model) = (key(place, kind), domains[kind]);
            *there.entry(real).or_insert(model) == model && *back.entry(model).or_insert(real) == real
        })
    }

    /// The matrix of distances, in the order of the file's nodes.
    fn measure(&self, shape: &mut Regular) {
        let nodes: usize = usize::from(shape.sockets) * usize::from(shape.numa_per_socket);
        let mut real: Vec<Option<(i64, u16)>> = vec![None; nodes];
        for (i, place) in self.places.iter().enumerate() {
            let node = locate(shape, shape.numbering, i)[1];
            if let Some(slot) = real.get_mut(node) {
                slot.get_or_insert(place.numa);
            }
        }
        let mut spans = false;
        let mut assumed = false;
        let mut distance = |a: usize, b: usize| -> u8 {
            match (a == b, real[a], real[b]) {
                (true, ..) => LOCAL,
                (false, Some((_, a)), Some((_, b))) if a == b => {
                    spans = true;
                    NEXT
                }
                (false, Some((_, a)), Some((_, b))) => {
                    let told = self.distances.get(&(a, b)).copied().filter(|&told| told > LOCAL);
                    assumed |= told.is_none();
                    told.unwrap_or(USUAL)
                }
                _ => {
                    assumed = true;
                    USUAL
                }
            }
        };
        shape.numa_distances = (0..nodes).map(|a| (0..nodes).map(|b| distance(a, b)).collect()).collect();
        shape.assumed_distances = assumed;
        if spans {
            shape.notes.push(format!(
                "the kernel knows one NUMA node that spans sockets; here each socket is a node, at a distance of {NEXT}"
            ));
        }
    }
}

/// The domain of one kind that a core belongs to.
fn key(place: &Place, kind: usize) -> (i64, u16, u32) {
    match kind {
        0 => (place.socket, 0, 0),
        1 => (place.numa.0, place.numa.1, 0),
        2 => place.llc,
        _ => (0, 0, place.physical),
    }
}

/// Where a machine file's core `id` is. (docs/src/machines.md, `numbering`)
fn locate(shape: &Regular, numbering: Numbering, id: usize) -> Domains {
    let sockets = usize::from(shape.sockets).max(1);
    let per_socket = usize::from(shape.cores_per_socket).max(1);
    let threads = usize::from(shape.threads_per_core).max(1);
    let physical = match numbering {
        Numbering::Blocked => id % (sockets * per_socket),
        Numbering::Adjacent => id / threads,
        Numbering::Interleaved => {
            let n = id % (sockets * per_socket);
            n % sockets * per_socket + n / sockets
        }
    };
    let (socket, index) = (physical / per_socket, physical % per_socket);
    let part = |parts: u16| {
        let parts = usize::from(parts).max(1);
        socket * parts + index / (per_socket / parts).max(1)
    };
    [socket, part(shape.numa_per_socket), part(shape.llcs_per_socket), physical]
}

pub fn numbering_name(numbering: Numbering) -> &'static str {
    match numbering {
        Numbering::Interleaved => "interleaved",
        Numbering::Blocked => "blocked",
        Numbering::Adjacent => "adjacent",
    }
}

fn place(files: &Files, cpu: u32, cpus: &[u32], nodes: &BTreeMap<u32, u16>) -> Result<Place, Error> {
    // The lowest core of a domain names it.
    let first = |cores: Vec<u32>| cores.into_iter().find(|cpu| cpus.contains(cpu));
    // Machines that report no socket, or -1, have one.
    let socket = files.package(cpu).unwrap_or(0).max(0);
    let numa = (socket, nodes.get(&cpu).copied().unwrap_or(0));
    let shared = shared_cache(files, cpu).and_then(first).unwrap_or(0);
    let physical = first(files.siblings(cpu)?).unwrap_or(cpu);
    Ok(Place { cpu, socket, numa, llc: (numa.0, numa.1, shared), physical })
}

/// The cores that share a core's last-level cache.
fn shared_cache(files: &Files, cpu: u32) -> Option<Vec<u32>> {
    // A core's own first level is not shared.
    let cache = files.last_level_cache(cpu).filter(|(level, _)| *level > 1).map(|(_, cores)| cores);
    cache.or_else(|| files.cluster(cpu))
}

fn unknown_caches(files: &Files, cpus: &[u32]) -> Option<String> {
    let unknown: Vec<u32> = cpus.iter().copied().filter(|&cpu| shared_cache(files, cpu).is_none()).collect();
    let list = show_list(&unknown);
    (!unknown.is_empty()).then(|| {
        format!(
            "the kernel does not report which cores share a cache with {list}; here those of a NUMA node do"
        )
    })
}

/// Between two nodes, by their indices.
fn distances(files: &Files) -> BTreeMap<(u16, u16), u8> {
    let nodes = files.numa_nodes();
    let mut distances = BTreeMap::new();
    for (index, node) in (0..).zip(&nodes) {
        let row = files.text(&format!("sys/devices/system/node/node{node}/distance")).unwrap_or_default();
        let row = (0..).zip(row.split_whitespace()).take(nodes.len());
        distances.extend(row.filter_map(|(other, distance)| Some(((index, other), distance.parse().ok()?))));
    }
    distances
}

/// Sets the kinds' work per cycle from their capacity, if the kernel reports it. Returns its source.
fn work(found: &mut [hearth_machine::Kind], kinds: &[kinds::Kind]) -> String {
    let per_cycle = |(kind, of): (&hearth_machine::Kind, &kinds::Kind)| {
        Some(of.highest_capacity()? as f64 / f64::from(kind.max_khz))
    };
    let all: Option<Vec<f64>> = found.iter().zip(kinds).map(per_cycle).collect();
    let Some(all) = all else {
        return "assumption: as the other kinds; the kernel reports no capacity.".into();
    };
    let most = all.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    for (kind, work) in found.iter_mut().zip(all) {
        let part = (work / most).clamp(0.001, 1.0);
        kind.work_permille = (part * 1000.0).round() as u32;
        kind.power_permille = ((part.powi(3) * 1000.0).round() as u32).max(1);
    }
    "sysfs: cpu_capacity over the highest frequency.".into()
}
