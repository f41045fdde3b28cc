//! The emitted WhyML of the policies. `BLESS=1 cargo test` rewrites it.

use crate::common::{changed, emitted, policy, policy_of};
use std::path::Path;

#[test]
fn emitted_whyml_is_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut stale = Vec::new();
    for name in ["cfs-cwc", "cfs-cwc-flat", "ule-cwc", "nest", "smove"] {
        let path = folder.join(format!("{name}.mlw"));
        let whyml = emitted(&policy(name)).whyml;
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &whyml).unwrap();
        } else if std::fs::read_to_string(&path).ok().as_deref() != Some(&whyml) {
            stale.push(name);
        }
    }
    assert!(stale.is_empty(), "the WhyML of {stale:?} changed: look at it, then bless it");
}

/// An obligation names its module. If two modules had one name, the proof of the one would count for the other.
#[test]
fn modules_have_unique_names() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/broken");
    let broken = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| policy_of(&entry.unwrap().path().display().to_string()));
    for policy in broken.chain(["cfs-cwc", "nest", "smove", "ule-cwc"].map(policy)) {
        let whyml = emitted(&policy).whyml;
        let mut names: Vec<&str> = whyml.lines().filter_map(|line| line.strip_prefix("module ")).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "{}", policy.name);
    }
}

/// A module about a handler assigns to what it reads, also by way of another attribute, and to nothing else.
#[test]
fn what_nothing_reads_is_not_assigned() {
    let charge = "t.charged = t.runtime;";
    let more = "t.charged = t.runtime; note(t);";
    let note = "void note(thread t) { t.noted = now; t.beyond = t.before; }
                void charge(thread t) { t.before = t.runtime;";
    let changes = [
        (charge, more),
        ("void charge(thread t) {", note),
        ("time charged,", "time noted, before, beyond, charged,"),
    ];
    let assigned = |changes: &[(&str, &str)], name: &str| {
        let whyml = emitted(&changed("cfs", changes)).alone("Waiting_block_vruntime");
        whyml.contains(&format!("    set_thread_{name} own_thread"))
    };
    for (name, expected) in
        [("vruntime", true), ("charged", true), ("noted", false), ("before", false), ("beyond", false)]
    {
        assert_eq!(assigned(&changes, name), expected, "{name}");
    }
    let by_way = [
        changes[0],
        changes[1],
        changes[2],
        (more, "t.charged = t.runtime; note(t); t.vruntime = t.vruntime + t.beyond;"),
    ];
    for (name, expected) in [("noted", false), ("before", true), ("beyond", true)] {
        assert_eq!(assigned(&by_way, name), expected, "{name}");
    }
}
