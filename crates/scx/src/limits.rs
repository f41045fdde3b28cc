//! Limits of cgroups: `cpu.weight`, `cpu.max` and `cpu.idle`.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A setting of a cgroup that differs from the kernel's default.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Limit {
    /// The cgroup, below the mount point.
    pub cgroup: PathBuf,
    /// The file: `cpu.max`.
    pub name: &'static str,
    pub value: String,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} = {}", self.cgroup.display(), self.name, self.value)
    }
}

/// A kind of limit: the kernel's file, the first word of its default, and the operation of sched_ext that tells of it.
pub type Kind = (&'static str, &'static str, &'static str);

const KINDS: [Kind; 3] = [
    ("cpu.weight", "100", "cgroup_set_weight"),
    ("cpu.max", "max", "cgroup_set_bandwidth"),
    ("cpu.idle", "0", "cgroup_set_idle"),
];

/// The kinds that a policy does not respect: those that this kernel does not tell of, and weights if it reads none.
pub fn ignored(sees_weights: bool, told: impl Fn(&str) -> bool) -> Vec<Kind> {
    let respects = |(name, _, operation): &Kind| told(operation) && (sees_weights || *name == "cpu.max");
    KINDS.into_iter().filter(|kind| !respects(kind)).collect()
}

/// The limits of these kinds of a cgroup and of its descendants, in order. A cgroup that cannot be read, or that goes
/// meanwhile, has none.
pub fn of(cgroup: &Path, kinds: &[Kind]) -> Vec<Limit> {
    let mut limits = Vec::new();
    collect(cgroup, kinds, 0, &mut limits);
    limits.sort();
    limits
}

/// Deepest nesting that is looked at.
const DEPTH: usize = 64;

fn collect(cgroup: &Path, kinds: &[Kind], depth: usize, limits: &mut Vec<Limit>) {
    let shown = Path::new("/").join(cgroup.strip_prefix(crate::cgroup::MOUNT).unwrap_or(cgroup));
    for &(name, default, _) in kinds {
        let Ok(value) = fs::read_to_string(cgroup.join(name)) else { continue };
        if value.split_whitespace().next() != Some(default) {
            limits.push(Limit { cgroup: shown.clone(), name, value: value.trim().to_owned() });
        }
    }
    let below = fs::read_dir(cgroup).into_iter().flatten().flatten();
    let below = below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    if depth < DEPTH {
        below.for_each(|entry| collect(&entry.path(), kinds, depth + 1, limits));
    }
}

/// A tick of 100 Hz, the slowest: a thread runs at least until the next one before its cgroup is throttled.
const TICK: Duration = Duration::from_millis(10);

/// A cgroup whose threads may wait long for their turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slow {
    pub limit: Limit,
    /// Threads of the cgroup and of those below it.
    pub threads: usize,
    /// Time in which each of them runs once.
    pub round: Duration,
}

/// The cgroups below `cgroup` whose `cpu.max` lets a ready thread wait longer than `watchdog`.
pub fn slower_than(cgroup: &Path, watchdog: Duration) -> Vec<Slow> {
    let limits = of(cgroup, &[KINDS[1]]);
    let slow = limits.into_iter().filter_map(|limit| {
        let path = Path::new(crate::cgroup::MOUNT).join(limit.cgroup.strip_prefix("/").ok()?);
        let path = if path.is_dir() { path } else { limit.cgroup.clone() };
        let threads = threads(&path, 0);
        let round = round(&limit.value, threads)?;
        (round > watchdog).then_some(Slow { limit, threads, round })
    });
    slow.collect()
}

/// The nearest `cpu.max` of a thread, or of a cgroup above its own.
pub fn quota_of(pid: u32) -> Option<Limit> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    Path::new(own).ancestors().find_map(|group| {
        let folder = Path::new(crate::cgroup::MOUNT).join(group.strip_prefix("/").unwrap_or(group));
        let value = fs::read_to_string(folder.join("cpu.max")).ok()?.trim().to_owned();
        let limit = Limit { cgroup: group.to_owned(), name: "cpu.max", value };
        (!limit.value.starts_with("max")).then_some(limit)
    })
}

/// The time in which `threads` busy threads run once each under `QUOTA PERIOD`, in microseconds.
fn round(value: &str, threads: usize) -> Option<Duration> {
    let mut numbers = value.split_whitespace().map(str::parse::<u32>);
    let (quota, period) = (numbers.next()?.ok()?.max(1), numbers.next()?.ok()?);
    let turn = TICK.max(Duration::from_micros(quota.into()));
    let stretch = f64::from(period) / f64::from(quota);
    Some(turn.mul_f64(stretch.max(1.0)).saturating_mul(u32::try_from(threads).unwrap_or(u32::MAX)))
}

fn threads(cgroup: &Path, depth: usize) -> usize {
    let own = fs::read_to_string(cgroup.join("cgroup.threads")).map_or(0, |text| text.lines().count());
    let below = fs::read_dir(cgroup).into_iter().flatten().flatten().filter(|_| depth < DEPTH);
    let below = below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    own + below.map(|entry| threads(&entry.path(), depth + 1)).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_can_outlast_the_watchdog() {
        // 2 ms in 100 ms, and turns of a tick: half a second for each thread.
        assert_eq!(round("2000 100000", 8), Some(Duration::from_secs(4)));
        assert_eq!(round("200000 100000", 1), Some(Duration::from_millis(200)));
        assert_eq!(round("max 100000", 8), None);
        let root = tempfile::tempdir().unwrap();
        let below = root.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        fs::write(root.path().join("a/cpu.max"), "2000 100000\n").unwrap();
        fs::write(root.path().join("a/cgroup.threads"), "1\n2\n").unwrap();
        fs::write(below.join("cgroup.threads"), "3\n").unwrap();
        assert!(slower_than(root.path(), Duration::from_secs(30)).is_empty());
        let slow = slower_than(root.path(), Duration::from_secs(1));
        assert_eq!((slow[0].threads, slow[0].round), (3, Duration::from_millis(1500)));
    }

    #[test]
    fn only_what_differs_from_the_defaults_is_a_limit() {
        let root = tempfile::tempdir().unwrap();
        let set = |cgroup: &str, name: &str, value: &str| {
            let folder = root.path().join(cgroup);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(name), value).unwrap();
        };
        set("a", "cpu.weight", "100\n");
        set("a", "cpu.max", "max 100000\n");
        set("a/b", "cpu.max", "20000 100000\n");
        set("c", "cpu.weight", "300\n");
        set("c", "cpu.idle", "1\n");
        let names: Vec<String> = of(root.path(), &KINDS).iter().map(ToString::to_string).collect();
        let root = root.path().display();
        let expected = [
            format!("{root}/a/b: cpu.max = 20000 100000"),
            format!("{root}/c: cpu.idle = 1"),
            format!("{root}/c: cpu.weight = 300"),
        ];
        assert_eq!(names, expected);
        assert!(of(Path::new("/nonexistent"), &KINDS).is_empty());
    }

    #[test]
    fn a_policy_respects_what_it_is_told_of() {
        let names = |sees_weights, told: &[&str]| -> Vec<&str> {
            ignored(sees_weights, |operation| told.contains(&operation)).iter().map(|kind| kind.0).collect()
        };
        let all = ["cgroup_set_weight", "cgroup_set_bandwidth", "cgroup_set_idle"];
        assert!(names(true, &all).is_empty());
        assert_eq!(names(false, &all), ["cpu.weight", "cpu.idle"]);
        // Linux 6.16.
        assert_eq!(names(true, &all[..1]), ["cpu.max", "cpu.idle"]);
    }
}
