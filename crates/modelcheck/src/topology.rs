//! The topology of a small machine, and the orders in which a policy walks over its cores.

use hearth_ipanema::ir::{Level, OrderKind};
use serde::{Deserialize, Serialize};

use crate::cores::Cores;

/// Levels of domains: SMT, LLC, NUMA, machine.
const LEVELS: usize = 4;

/// The hardware that cores share. Numbers start at 0, have no gaps, and do not decrease from core to core, so
/// that every domain is a range of cores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// The physical core of each core. Two hyperthreads share one.
    pub physical: Vec<u8>,
    /// The last-level cache of each core, and also its NUMA node.
    pub llc: Vec<u8>,
}

impl Topology {
    /// Cores without hyperthreads, with these numbers of cores per LLC.
    pub fn llcs(sizes: &[u8]) -> Topology {
        let llc: Vec<u8> = (0..).zip(sizes).flat_map(|(llc, size)| vec![llc; usize::from(*size)]).collect();
        Topology { physical: (0..llc.len() as u8).collect(), llc }
    }

    /// Pairs of hyperthreads, with these numbers of pairs per LLC.
    pub fn smt_llcs(sizes: &[u8]) -> Topology {
        let pairs = Topology::llcs(sizes);
        let llc: Vec<u8> = pairs.llc.iter().flat_map(|llc| [*llc, *llc]).collect();
        Topology { physical: (0..llc.len() as u8).map(|core| core / 2).collect(), llc }
    }

    pub fn nr_cores(&self) -> usize {
        self.llc.len()
    }

    fn domain_index(&self, core: u8, level: usize) -> u8 {
        match level {
            0 => self.physical[usize::from(core)],
            1 | 2 => self.llc[usize::from(core)],
            _ => 0,
        }
    }
}

/// A domain that the interpreter encodes as a number.
#[derive(Clone, Copy)]
pub struct DomainId {
    level: u8,
    index: u8,
}

impl DomainId {
    pub fn to_value(self) -> i64 {
        i64::from(self.level) << 8 | i64::from(self.index)
    }

    pub fn from_value(value: i64) -> DomainId {
        DomainId { level: (value >> 8) as u8, index: value as u8 }
    }
}

/// A topology with precomputed domains and walks.
#[derive(Clone)]
pub struct Map {
    pub nr_cores: u8,
    pub online: Cores,
    domains: [Vec<Cores>; LEVELS],
    /// By core and level, the index of the domain.
    of: Vec<[u8; LEVELS]>,
    from: Vec<Vec<u8>>,
    nearest: Vec<Vec<u8>>,
}

fn number(level: Level) -> usize {
    match level {
        Level::Smt => 0,
        Level::Llc => 1,
        Level::Numa => 2,
        Level::Machine => 3,
    }
}

impl Map {
    pub fn new(topology: &Topology, offline: Cores) -> Map {
        let nr_cores = topology.nr_cores() as u8;
        let online = (0..nr_cores).collect::<Cores>() - offline;
        let of: Vec<[u8; LEVELS]> = (0..nr_cores)
            .map(|core| std::array::from_fn(|level| topology.domain_index(core, level)))
            .collect();
        let domains = std::array::from_fn(|level| {
            let count = of.iter().map(|of| of[level] + 1).max().unwrap_or(0);
            (0..count)
                .map(|index| online.iter().filter(|c| of[usize::from(*c)][level] == index).collect())
                .collect()
        });
        let mut map = Map { nr_cores, online, domains, of, from: Vec::new(), nearest: Vec::new() };
        map.from = (0..nr_cores).map(|x| (x..nr_cores).chain(0..x).collect()).collect();
        map.nearest = (0..nr_cores).map(|x| map.nearest_first(x)).collect();
        map
    }

    /// The cores of x's LLC, then the rest of its NUMA node, then all others; each group from x upwards, with
    /// wrap-around.
    fn nearest_first(&self, x: u8) -> Vec<u8> {
        let mut order: Vec<u8> = Vec::new();
        for level in [1, 2, 3] {
            let ring = self.domains[level][usize::from(self.of[usize::from(x)][level])];
            for core in &self.from[usize::from(x)] {
                if ring.contains(*core) && !order.contains(core) {
                    order.push(*core);
                }
            }
        }
        order
    }

    /// All cores in the order of a walk from core `x`.
    pub fn order(&self, kind: OrderKind, x: u8) -> &[u8] {
        // As in the runtimes, a walk from a core that does not exist starts at 0.
        let x = if x < self.nr_cores { usize::from(x) } else { 0 };
        match kind {
            OrderKind::From => &self.from[x],
            OrderKind::Nearest => &self.nearest[x],
        }
    }

    pub fn domain_of(&self, core: u8, level: Level) -> DomainId {
        let level = number(level);
        DomainId { level: level as u8, index: self.of[usize::from(core)][level] }
    }

    pub fn machine(&self) -> DomainId {
        DomainId { level: 3, index: 0 }
    }

    pub fn cores_of(&self, domain: DomainId) -> Cores {
        self.domains[usize::from(domain.level)][usize::from(domain.index)]
    }

    /// The hyperthreads of the core's physical core, including the core.
    pub fn siblings(&self, core: u8) -> Cores {
        self.cores_of(self.domain_of(core, Level::Smt))
    }

    /// The domains of a narrower level in a domain, beginning with the domain of `origin`.
    pub fn groups(&self, domain: DomainId, level: Level, origin: Option<u8>) -> Vec<DomainId> {
        let within = self.cores_of(domain);
        let level = number(level);
        let groups: Vec<DomainId> = (0..self.domains[level].len() as u8)
            .map(|index| DomainId { level: level as u8, index })
            .filter(|group| !(self.cores_of(*group) & within).is_empty())
            .collect();
        let holds = |group: &DomainId| origin.is_some_and(|core| self.cores_of(*group).contains(core));
        let start = groups.iter().position(holds).unwrap_or(0);
        groups[start..].iter().chain(&groups[..start]).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_walks_each_domain_from_the_origin_upwards() {
        let map = Map::new(&Topology::llcs(&[2, 2]), Cores::EMPTY);
        assert_eq!(map.order(OrderKind::Nearest, 3), [3, 2, 0, 1]);
        assert_eq!(map.order(OrderKind::From, 3), [3, 0, 1, 2]);
        assert_eq!(map.order(OrderKind::Nearest, 1), [1, 0, 2, 3]);
    }

    #[test]
    fn groups_begin_with_the_domain_of_the_origin() {
        let map = Map::new(&Topology::smt_llcs(&[1, 2]), Cores::EMPTY);
        let cores = |origin| {
            let groups = map.groups(map.machine(), Level::Smt, origin);
            groups.iter().map(|group| map.cores_of(*group).0).collect::<Vec<u8>>()
        };
        assert_eq!(cores(Some(3)), [0b1100, 0b110000, 0b11]);
        assert_eq!(cores(None), [0b11, 0b1100, 0b110000]);
        assert_eq!(map.siblings(5).0, 0b110000);
    }
}
