//! Machines of many shapes, as small descriptions of our own. The facts are those of machines whose sysfs is in the test
//! collection of hwloc (open-mpi/hwloc, tests/hwloc/linux), which names each by them.

use crate::common::Tree;
use hearth_host::Error;
use hearth_host::detect::{Detected, Measured, Options, detect, parse_cores};
use hearth_host::sysfs::show_list;
use hearth_machine::{Machine, Numbering};
use std::collections::BTreeSet;

/// What the kernel writes about sets of cores.
#[derive(Clone, Copy, PartialEq)]
enum Era {
    /// Lists, beside masks.
    Lists,
    /// Masks only, and no list of the online cores.
    Masks,
}

/// How many of each domain.
#[derive(Clone, Copy)]
struct Shape {
    packages: u32,
    /// NUMA nodes in each package; 0: one node spans all.
    nodes: u32,
    /// Last-level caches in each package; 0: not reported.
    llcs: u32,
    /// Physical cores in each package.
    cores: u32,
    threads: u32,
}

struct Described {
    name: &'static str,
    era: Era,
    shape: Shape,
    numbering: Numbering,
    /// The kernel's numbers of the nodes, and distances that cores and nodes are moved by.
    node_numbers: &'static [u32],
}

const fn known(name: &'static str, era: Era, shape: [u32; 5], numbering: Numbering) -> Described {
    let [packages, nodes, llcs, cores, threads] = shape;
    Described {
        name,
        era,
        shape: Shape { packages, nodes, llcs, cores, threads },
        numbering,
        node_numbers: &[],
    }
}

use Era::{Lists, Masks};
use Numbering::{Adjacent, Blocked, Interleaved};

const MACHINES: &[Described] = &[
    known("16amd64-4n4c", Lists, [4, 1, 1, 4, 1], Blocked),
    known("16amd64-8n2c", Lists, [8, 1, 2, 2, 1], Blocked),
    known("16em64t-4s2c2t", Masks, [4, 0, 1, 2, 2], Interleaved),
    known("16em64t-4s2ca2c", Masks, [4, 0, 1, 4, 1], Interleaved),
    known("2i386-2c", Masks, [1, 0, 1, 2, 1], Blocked),
    known("2i386-2t", Lists, [1, 0, 1, 1, 2], Blocked),
    known("2ps3-2t", Lists, [1, 0, 0, 1, 2], Blocked),
    known("2pa", Lists, [2, 0, 1, 1, 1], Blocked),
    known("20s390", Lists, [1, 0, 0, 20, 1], Blocked),
    known("32amd64-4s2n4c", Lists, [4, 2, 2, 8, 1], Blocked),
    known("32em64t-2n8c", Lists, [2, 1, 1, 8, 1], Blocked),
    known("32intel64-2p8co2t", Lists, [2, 1, 1, 8, 2], Blocked),
    known("40intel64-4n10c", Lists, [4, 1, 1, 10, 1], Interleaved),
    Described {
        node_numbers: &[0, 1, 2, 33, 34, 45, 72, 73],
        ..known("48amd64-4pa2n6c-sparse", Lists, [4, 2, 2, 12, 1], Blocked)
    },
    known("64amd64-4s2n4ca2co", Lists, [4, 2, 2, 8, 2], Adjacent),
    known("8em64t-2s2ca2c", Lists, [2, 1, 2, 4, 1], Interleaved),
    known("8ia64-2s2c2t", Lists, [2, 0, 0, 2, 2], Adjacent),
    known("nvidiagpunumanodes", Lists, [2, 1, 2, 4, 4], Adjacent),
    known("memorysidecaches", Lists, [2, 2, 2, 20, 2], Blocked),
    known("128arm-2pa2n8cluster4co", Lists, [2, 2, 2, 64, 1], Blocked),
    known("128ia64-64s2c", Masks, [64, 0, 0, 2, 1], Blocked),
    known("256ppc-8n8s4t", Masks, [1, 8, 64, 64, 4], Adjacent),
    known("256ia64-128s2c", Masks, [128, 0, 0, 2, 1], Blocked),
];

/// Package, physical core in it, and hardware thread of each core, in the order of the kernel's numbers.
fn places(shape: Shape, numbering: Numbering) -> Vec<[u32; 3]> {
    let all = |a: u32, b: u32, c: u32| {
        (0..a).flat_map(move |x| (0..b).flat_map(move |y| (0..c).map(move |z| [x, y, z])))
    };
    let (p, c, t) = (shape.packages, shape.cores, shape.threads);
    match numbering {
        Blocked => all(t, p, c).map(|[t, p, c]| [p, c, t]).collect(),
        Interleaved => all(t, c, p).map(|[t, c, p]| [p, c, t]).collect(),
        Adjacent => all(p, c, t).collect(),
    }
}

fn mask(cores: &[u32]) -> String {
    let words = cores.iter().max().map_or(0, |last| last / 32);
    let word = |n: u32| {
        cores.iter().filter(|&&core| core / 32 == n).fold(0u32, |bits, core| bits | 1 << (core % 32))
    };
    (0..=words).rev().map(|n| format!("{:08x}", word(n))).collect::<Vec<_>>().join(",")
}

impl Described {
    fn tree(&self) -> Tree {
        let (tree, places) = (Tree::new(), places(self.shape, self.numbering));
        let Shape { nodes, llcs, cores, packages, .. } = self.shape;
        if self.era == Lists {
            tree.online(&format!("0-{}", places.len() - 1));
        }
        let with = |same: &dyn Fn(&[u32; 3]) -> bool| -> Vec<u32> {
            (0..).zip(&places).filter(|(_, place)| same(place)).map(|(cpu, _)| cpu).collect()
        };
        for (cpu, &[package, core, _]) in (0..).zip(&places) {
            tree.cpu(cpu, "topology/physical_package_id", package);
            self.set(&tree, cpu, "topology/thread_siblings", "", &with(&|p| p[0] == package && p[1] == core));
            tree.cpu(cpu, "cache/index0/level", 1);
            self.set(&tree, cpu, "cache/index0/shared_cpu", "_map", &[cpu]);
            if llcs > 0 {
                let cache = |core: u32| core / (cores / llcs);
                tree.cpu(cpu, "cache/index1/level", 3);
                let shared = with(&|p| p[0] == package && cache(p[1]) == cache(core));
                self.set(&tree, cpu, "cache/index1/shared_cpu", "_map", &shared);
            }
        }
        for node in 0..packages * nodes {
            let number = self.node_numbers.get(node as usize).copied().unwrap_or(node);
            let here = with(&|p| p[0] == node / nodes && p[1] / (cores / nodes) == node % nodes);
            let (file, text) =
                if self.era == Lists { ("list", show_list(&here)) } else { ("map", mask(&here)) };
            tree.write(&format!("sys/devices/system/node/node{number}/cpu{file}"), text);
            if self.era == Lists {
                let numbers = if self.node_numbers.is_empty() {
                    (0..packages * nodes).collect()
                } else {
                    self.node_numbers.to_vec()
                };
                tree.write("sys/devices/system/node/online", show_list(&numbers));
            }
        }
        tree
    }

    fn set(&self, tree: &Tree, cpu: u32, file: &str, mask_suffix: &str, cores: &[u32]) {
        tree.cpu(cpu, &format!("{file}{mask_suffix}"), mask(cores));
        if self.era == Lists {
            tree.cpu(cpu, &format!("{file}_list"), show_list(cores));
        }
    }
}

fn run(tree: &Tree, cores: Option<&str>) -> Result<Detected, Error> {
    let cores = cores.map(|list| parse_cores(list).expect("a list"));
    detect(&tree.files(), &|_, _| None, &Options { cores, name: None }, &Measured::default())
}

fn machine(detected: &Detected) -> Machine {
    Machine::parse("detected", &detected.toml).expect("a machine file")
}

#[test]
fn machines_are_detected_as_they_are() {
    for described in MACHINES {
        let detected =
            run(&described.tree(), None).unwrap_or_else(|error| panic!("{}: {error}", described.name));
        let (found, expected) = (machine(&detected), described.shape);
        let found = found.topology.shape();
        let (nodes, llcs) = (expected.nodes.max(1), expected.llcs.max(1));
        let shape = [
            found.sockets,
            found.numa_per_socket,
            found.llcs_per_socket,
            found.cores_per_socket,
            found.threads_per_core,
        ];
        let expected = [expected.packages, nodes, llcs.max(nodes), expected.cores, expected.threads];
        assert_eq!(shape.map(u32::from), expected, "{}", described.name);
        // Several numberings describe a machine with one package, or with one thread in each core.
        let same = places(described.shape, found.numbering) == places(described.shape, described.numbering);
        assert!(same, "{}: {:?}", described.name, found.numbering);
        let said = detected.notes.iter().any(|note| note.contains("share a cache"));
        assert_eq!(said, described.shape.llcs == 0, "{}: {:?}", described.name, detected.notes);
    }
}

/// A core's kind: capacity, highest frequency in kHz, threads. 0: not reported.
type Core = [u32; 3];

/// A machine of one package and one cache with these physical cores, numbered side by side.
fn mixed(cores: &[(usize, Core)]) -> Tree {
    let tree = Tree::new();
    let all: Vec<Core> = cores.iter().flat_map(|&(count, core)| std::iter::repeat_n(core, count)).collect();
    let total: u32 = all.iter().map(|core| core[2]).sum();
    tree.online(&format!("0-{}", total - 1));
    let mut next = 0;
    for [capacity, khz, threads] in all {
        let siblings: Vec<u32> = (next..next + threads).collect();
        for &cpu in &siblings {
            tree.cpu(cpu, "topology/physical_package_id", 0);
            tree.cpu(cpu, "topology/core_cpus_list", show_list(&siblings));
            tree.cpu(cpu, "cache/index0/level", 3);
            tree.cpu(cpu, "cache/index0/shared_cpu_list", format!("0-{}", total - 1));
            for (file, value) in [("cpu_capacity", capacity), ("cpufreq/cpuinfo_max_freq", khz)] {
                if value > 0 {
                    tree.cpu(cpu, file, value);
                }
            }
        }
        next += threads;
    }
    tree
}

/// Each hint describes a machine, and the kinds' lists have each core once.
#[test]
fn cores_of_several_kinds_are_told_apart() {
    let p = |khz: u32| [0, khz, 2];
    let e = [0, 3_900_000, 1];
    for (name, cores, hint, shape) in [
        // 20em64t-hybrid-1p6c2t+2ca4co1t: two of its P cores are preferred.
        ("hybrid", &[(4, p(5_000_000)), (2, p(5_200_000)), (8, e)][..], "0-11", (6, 2)),
        // nvidia-dgx-gb10
        (
            "gb10",
            &[
                (5, [718, 2_808_000, 1]),
                (5, [997, 3_900_000, 1]),
                (5, [731, 2_808_000, 1]),
                (4, [1017, 3_900_000, 1]),
                (1, [1024, 3_900_000, 1]),
            ],
            "5-9,15-19",
            (10, 1),
        ),
        ("three kinds", &[(4, [250, 0, 1]), (3, [780, 0, 1]), (1, [1024, 0, 1])], "7", (1, 1)),
    ] {
        let tree = mixed(cores);
        let said = run(&tree, None).expect_err(name).to_string();
        assert!(said.contains(&format!("`--cores {hint}`")), "{name}: {said}");
        let lists: Vec<&str> =
            said.split("cores ").skip(1).filter_map(|text| text.split(" (").next()).collect();
        let listed: Vec<u32> = lists.iter().filter_map(|list| parse_cores(list).ok()).flatten().collect();
        let total: u32 = cores.iter().map(|(count, core)| *count as u32 * core[2]).sum();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), (0..total).collect(), "{name}: {said}");
        let found = machine(&run(&tree, Some(hint)).expect(name));
        let found = found.topology.shape();
        assert_eq!((found.cores_per_socket, found.threads_per_core), shape, "{name}");
    }
}
