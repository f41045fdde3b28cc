//! Limits of cgroups: `cpu.weight`, `cpu.max` and `cpu.idle`.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

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

#[cfg(test)]
mod tests {
    use super::*;

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
