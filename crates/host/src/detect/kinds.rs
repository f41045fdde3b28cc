//! Kinds of cores: those of one kind have about the same capacity and highest frequency.

use crate::sysfs::{Files, show_list};
use std::collections::BTreeMap;
use std::fmt;

/// Largest difference of capacity or highest frequency within a kind, as a part of the larger one.
const ONE_KIND: f64 = 0.1;
const CAPACITY: &str = "cpu_capacity";
const HIGHEST: &str = "cpufreq/cpuinfo_max_freq";
/// The rank of a core that `amd_pstate` prefers. Highest frequencies of ranked cores may differ by more than a tenth in
/// all, in small steps.
const RANK: &str = "cpufreq/amd_pstate_prefcore_ranking";

/// The cores of one kind.
pub struct Kind {
    pub cores: Vec<u32>,
    /// Lowest and highest value of each file that tells kinds apart, if known.
    capacity: Option<(u64, u64)>,
    khz: Option<(u64, u64)>,
}

impl Kind {
    /// The highest capacity of its cores, if the kernel reports it.
    pub fn highest_capacity(&self) -> Option<u64> {
        self.capacity.map(|(_, highest)| highest)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cores {}", show_list(&self.cores))?;
        let range =
            |(low, high): (String, String)| if low == high { low } else { format!("{low} to {high}") };
        let ghz = |khz: u64| format!("{:.1}", khz as f64 / 1e6);
        let capacity = self.capacity.map(|(low, high)| range((low.to_string(), high.to_string())));
        let khz = self.khz.map(|(low, high)| range((ghz(low), ghz(high))));
        let facts = [
            capacity.map(|range| format!("capacity {range}")),
            khz.map(|range| format!("up to {range} GHz")),
        ];
        let facts: Vec<String> = facts.into_iter().flatten().collect();
        if facts.is_empty() { Ok(()) } else { write!(f, " ({})", facts.join(", ")) }
    }
}

/// The kinds of `cpus`, the one with the highest capacity or frequency first.
pub fn read(files: &Files, cpus: &[u32], notes: &mut Vec<String>) -> Vec<Kind> {
    let capacity = values(files, cpus, CAPACITY, notes);
    let khz = values(files, cpus, HIGHEST, notes);
    let ranked = cpus.iter().any(|&cpu| files.cpu::<u64>(cpu, RANK).is_some());
    let (capacities, frequencies) = (groups(&capacity, false), groups(&khz, ranked));
    let mut kinds: BTreeMap<(usize, usize), Vec<u32>> = BTreeMap::new();
    for &cpu in cpus {
        let group = |groups: &BTreeMap<u32, usize>| groups.get(&cpu).copied().unwrap_or(0);
        kinds.entry((group(&capacities), group(&frequencies))).or_default().push(cpu);
    }
    let kind = |cores: Vec<u32>| Kind { capacity: range(&capacity, &cores), khz: range(&khz, &cores), cores };
    kinds.into_values().map(kind).collect()
}

/// The value of a file of each core that has one.
fn values(files: &Files, cpus: &[u32], file: &str, notes: &mut Vec<String>) -> BTreeMap<u32, u64> {
    let values: BTreeMap<u32, u64> =
        cpus.iter().filter_map(|&cpu| Some((cpu, files.cpu(cpu, file)?))).collect();
    let unknown: Vec<u32> = cpus.iter().copied().filter(|cpu| !values.contains_key(cpu)).collect();
    if !values.is_empty() && !unknown.is_empty() {
        notes.push(format!(
            "the kernel does not report {file} of cores {}; the others' is used",
            show_list(&unknown)
        ));
    }
    values
}

fn range(values: &BTreeMap<u32, u64>, cores: &[u32]) -> Option<(u64, u64)> {
    let known = || cores.iter().filter_map(|cpu| values.get(cpu).copied());
    known().min().zip(known().max())
}

/// Numbers the groups of cores with about the same value, the highest first. A group's values differ by at most a tenth
/// in all, or if `in_steps` from one to the next.
fn groups(values: &BTreeMap<u32, u64>, in_steps: bool) -> BTreeMap<u32, usize> {
    let mut sorted: Vec<(u64, u32)> = values.iter().map(|(&cpu, &value)| (value, cpu)).collect();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let (mut group, mut above) = (0, sorted.first().map_or(0, |&(value, _)| value));
    let numbered = sorted.into_iter().map(|(value, cpu)| {
        if (value as f64) < (1.0 - ONE_KIND) * above as f64 {
            (group, above) = (group + 1, value);
        } else if in_steps {
            above = value;
        }
        (cpu, group)
    });
    numbered.collect()
}
