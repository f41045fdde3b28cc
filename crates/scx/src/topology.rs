//! The host's topology as SaaKM's domains.

use crate::arena::{Arena, store};
use crate::layout::*;
use hearth_host::Host;
use hearth_machine::FULL_CAPACITY;
use serde::{Deserialize, Serialize};

/// A group of cores that share hardware at one level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The kernel's numbers.
    pub cores: Vec<u32>,
    /// For each narrower level: index of the first group inside this one, and the number of groups.
    pub first: [u32; LEVELS],
    pub count: [u32; LEVELS],
}

/// All groups: physical cores, last-level caches, NUMA nodes, and the machine.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Domains {
    /// By level. The narrower groups of one wider group have consecutive indices.
    pub groups: [Vec<Group>; LEVELS],
}

impl Domains {
    /// Groups the cores of a host. If a narrower group crosses the border of a wider one, it is split.
    pub fn of(host: &Host) -> Domains {
        let mut domains = Domains::default();
        let keys = |i: usize| {
            let core = &host.cores[i];
            [core.physical, core.llc, core.numa, 0]
        };
        let mut order: Vec<usize> = (0..host.cpus.len().min(host.cores.len())).collect();
        order.sort_by_key(|i| {
            let [physical, llc, numa, machine] = keys(*i);
            (machine, numa, llc, physical, host.cpus[*i])
        });
        let mut last: Option<[u16; LEVELS]> = None;
        for i in order {
            let keys = keys(i);
            for level in (0..LEVELS).rev() {
                // A new wider group begins new narrower ones.
                if last.is_none_or(|last| last[level..] != keys[level..]) {
                    domains.begin(level);
                }
            }
            for level in 0..LEVELS {
                let narrower = std::array::from_fn::<_, LEVELS, _>(|l| domains.groups[l].len() as u32);
                if let Some(group) = domains.groups[level].last_mut() {
                    group.cores.push(host.cpus[i]);
                    for (l, count) in group.count.iter_mut().enumerate().take(level + 1) {
                        *count = narrower[l] - group.first[l];
                    }
                }
            }
            last = Some(keys);
        }
        domains
    }

    fn begin(&mut self, level: usize) {
        let first = std::array::from_fn(|l| if l <= level { self.groups[l].len() as u32 } else { 0 });
        self.groups[level].push(Group { cores: Vec::new(), first, count: [0; LEVELS] });
    }
}

/// Where the sets that the runtime keeps store each core: `struct saakm_parts` in layout.h.
#[derive(Debug, PartialEq, Eq)]
struct Places {
    /// The first part of each range of 64 cores, and the number of parts.
    first: [u32; SET_WORDS + 1],
    /// The cores of each part, as bits of its range.
    cores: Vec<u64>,
}

impl Places {
    /// A part for each last-level cache in a range. `caches`: the cores of each cache.
    fn of<'a>(caches: impl IntoIterator<Item = &'a [u32]>) -> Places {
        let mut ranges = vec![Vec::new(); SET_WORDS];
        for cache in caches {
            for (range, parts) in ranges.iter_mut().enumerate() {
                let here = cache.iter().filter(|cpu| **cpu as usize / 64 == range);
                let bits = here.fold(0u64, |bits, cpu| bits | 1 << (cpu % 64));
                if bits != 0 {
                    parts.push(bits);
                }
            }
        }
        let mut places = Places { first: [0; SET_WORDS + 1], cores: Vec::new() };
        for (range, mut parts) in ranges.into_iter().enumerate() {
            places.first[range] = places.cores.len() as u32;
            places.cores.append(&mut parts);
            if places.cores.len() == places.first[range] as usize {
                places.cores.push(0);
            }
        }
        places.first[SET_WORDS] = places.cores.len() as u32;
        places
    }

    /// The part of a core. One that is not on line has the first part of its range.
    fn part(&self, cpu: usize) -> usize {
        let (first, end) = (self.first[cpu / 64] as usize, self.first[cpu / 64 + 1] as usize);
        let found = self.cores[first..end].iter().position(|cores| cores >> (cpu % 64) & 1 != 0);
        first + found.unwrap_or(0)
    }

    fn write(&self, arena: &Arena) {
        let parts = arena.parts();
        for (range, first) in self.first.iter().enumerate() {
            store!(parts, first[range], *first);
        }
        for (part, cores) in self.cores.iter().enumerate() {
            store!(parts, cores[part], *cores);
        }
        store!(arena.world(), split, u32::from(self.cores.len() > SET_WORDS));
    }
}

/// Writes cores and domains into the arena, while no policy runs. Cores have the kernel's numbers; numbers from
/// `MAX_CORES` on are left out.
pub fn fill(arena: &Arena, host: &Host) {
    let world = arena.world();
    let nr_cores = host.cpus.last().map_or(1, |last| *last as usize + 1).min(MAX_CORES);
    let domains = Domains::of(host);
    let known =
        |group: &Group| group.cores.iter().copied().filter(|cpu| (*cpu as usize) < MAX_CORES).collect();
    let caches: Vec<Vec<u32>> = domains.groups[LLC].iter().map(known).collect();
    let places = Places::of(caches.iter().map(Vec::as_slice));
    places.write(arena);
    // A core that comes on line wakes threads before the kernel reports it.
    for &cpu in host.possible.iter().chain(&host.cpus).filter(|cpu| (**cpu as usize) < MAX_CORES) {
        arena.clear_core(cpu as usize);
        store!(arena.core(cpu as usize), part, places.part(cpu as usize) as u32);
        store!(arena.core(cpu as usize), capacity, FULL_CAPACITY.into());
    }
    for (&cpu, &capacity) in
        host.cpus.iter().zip(&host.capacities).filter(|(cpu, _)| (**cpu as usize) < MAX_CORES)
    {
        let cpu = cpu as usize;
        let core = arena.core(cpu);
        store!(core, capacity, capacity);
        store!(core, known, 1);
        store!(core, max_khz, host.khz_range.1.max(host.nominal_khz));
        store!(core, min_khz, host.khz_range.0);
        // SAFETY: both sets are in the arena, and the policy does not run yet.
        unsafe {
            include(&raw mut (*core).self_, cpu);
            include(&raw mut (*world).online, cpu);
        }
    }
    store!(world, pairs, u32::from(domains.groups[0].iter().any(|group| group.cores.len() > 1)));
    for (level, groups) in domains.groups.iter().enumerate() {
        for (index, group) in groups.iter().enumerate().take(MAX_CORES) {
            arena.clear_domain(level, index);
            let domain = arena.domain(level, index);
            for l in 0..=level {
                store!(domain, first[l], group.first[l]);
                store!(domain, count[l], group.count[l]);
            }
            let known = || group.cores.iter().filter(|cpu| (**cpu as usize) < MAX_CORES);
            store!(domain, size, known().count() as u32);
            for &cpu in known() {
                // SAFETY: as above.
                unsafe { include(&raw mut (*domain).cores, cpu as usize) };
                let core = arena.core(cpu as usize);
                store!(core, domain[level], index as u32);
            }
        }
        store!(world, nr_domains[level], groups.len() as u32);
    }
    store!(world, nr_cores, nr_cores as u32);
    store!(world, nr_words, nr_cores.div_ceil(64) as u32);
}

/// Adds a core to a set.
///
/// # Safety
/// `set` is in the arena, and `cpu` below `MAX_CORES`.
unsafe fn include(set: *mut Set, cpu: usize) {
    // SAFETY: the caller guarantees it.
    unsafe { (*set).word[cpu / 64] |= 1 << (cpu % 64) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_trace::CoreInfo;
    use proptest::prelude::*;

    fn host(cores: Vec<(u32, CoreInfo)>) -> Host {
        let (cpus, cores) = cores.into_iter().unzip();
        Host { cpus, cores, ..Host::default() }
    }

    fn info(physical: u16, llc: u16, numa: u16) -> CoreInfo {
        CoreInfo { physical, llc, numa, socket: numa }
    }

    #[test]
    fn two_sockets_numbered_in_turns() {
        let core = |cpu: u32| (cpu, info((cpu % 4) as u16, (cpu % 2) as u16, (cpu % 2) as u16));
        let domains = Domains::of(&host((0..8).map(core).collect()));
        let cores = |level: usize| domains.groups[level].iter().map(|g| g.cores.clone()).collect::<Vec<_>>();
        assert_eq!(cores(0), [[0, 4], [2, 6], [1, 5], [3, 7]]);
        assert_eq!(cores(1), [[0, 4, 2, 6], [1, 5, 3, 7]]);
        assert_eq!(domains.groups[2][1].first, [2, 1, 1, 0]);
        assert_eq!(domains.groups[2][1].count, [2, 1, 1, 0]);
        assert_eq!(domains.groups[3][0].count, [4, 2, 2, 1]);
    }

    #[test]
    fn caches_have_parts_of_their_own() {
        // Two caches of 32 cores, whose second hyperthreads are numbered from 64 on.
        let cache = |first: u32| (first..first + 32).chain(first + 64..first + 96).collect::<Vec<_>>();
        let places = Places::of([cache(0).as_slice(), cache(32).as_slice()]);
        assert_eq!(places.first[..4], [0, 2, 4, 5]);
        assert_eq!(places.cores[..4], [0xffff_ffff, 0xffff_ffff << 32, 0xffff_ffff, 0xffff_ffff << 32]);
        assert_eq!([0, 40, 64, 127, 128, 1023].map(|cpu| places.part(cpu)), [0, 1, 2, 3, 4, 17]);
    }

    proptest! {
        /// Two cores share a part if they share a cache and a range of 64 numbers, and no core is missing.
        #[test]
        fn every_core_has_one_part(caches in proptest::collection::btree_map(0u32..1024, 0usize..9, 0..200)) {
            let groups: Vec<Vec<u32>> = (0..9)
                .map(|cache| caches.iter().filter(|(_, c)| **c == cache).map(|(cpu, _)| *cpu).collect())
                .collect();
            let places = Places::of(groups.iter().map(Vec::as_slice));
            for (range, parts) in places.first.windows(2).enumerate() {
                let parts = &places.cores[parts[0] as usize..parts[1] as usize];
                let known = caches.keys().filter(|cpu| **cpu as usize / 64 == range);
                let known = known.fold(0u64, |all, cpu| all | 1 << (cpu % 64));
                prop_assert_eq!(parts.iter().fold(0, |all, cores| all | cores), known);
                let sizes = parts.iter().map(|cores| cores.count_ones());
                prop_assert_eq!(sizes.sum::<u32>(), known.count_ones(), "no core is in two parts");
            }
            for (cpu, cache) in &caches {
                for (other, of_other) in &caches {
                    let together = cache == of_other && cpu / 64 == other / 64;
                    let parts = [*cpu, *other].map(|cpu| places.part(cpu as usize));
                    prop_assert_eq!(parts[0] == parts[1], together);
                }
            }
        }

        /// The rules of layout.h for domains hold for any topology that a kernel may report.
        #[test]
        fn every_core_is_in_one_domain_of_each_level(
            cores in proptest::collection::btree_map(0u32..200, (0u16..20, 0u16..6, 0u16..3), 1..60)
        ) {
            let cores: Vec<_> = cores.into_iter().map(|(cpu, (p, l, n))| (cpu, info(p, l, n))).collect();
            let mut all: Vec<u32> = cores.iter().map(|(cpu, _)| *cpu).collect();
            all.sort_unstable();
            let domains = Domains::of(&host(cores));
            for level in 0..LEVELS {
                let groups = &domains.groups[level];
                let mut members: Vec<u32> = groups.iter().flat_map(|g| g.cores.iter().copied()).collect();
                members.sort_unstable();
                prop_assert_eq!(&members, &all);
                for narrower in 0..=level {
                    // Indices start at 0 and have no gaps.
                    let mut next = 0;
                    for group in groups {
                        prop_assert_eq!(group.first[narrower], next);
                        prop_assert!(group.count[narrower] > 0);
                        next += group.count[narrower];
                        let (first, count) = (group.first[narrower] as usize, group.count[narrower] as usize);
                        let within: Vec<u32> = domains.groups[narrower][first..first + count]
                            .iter().flat_map(|g| g.cores.iter().copied()).collect();
                        prop_assert_eq!(&within, &group.cores);
                    }
                    prop_assert_eq!(next as usize, domains.groups[narrower].len());
                }
            }
            prop_assert_eq!(domains.groups[LEVELS - 1].len(), 1);
        }
    }
}
