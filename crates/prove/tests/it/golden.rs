//! The emitted WhyML: of two policies as text, of all policies that Why3 accepts it.

use crate::common::{changed, emitted, policy, policy_of};
use hearth_ipanema::builtin;
use hearth_ipanema::ir::Policy;
use hearth_prove::theory::FILES;
use std::process::Command;

/// `tests/golden` has the same policies in C.
#[test]
fn emitted_whyml_is_as_expected() {
    let fixture = policy_of(concat!(env!("CARGO_MANIFEST_DIR"), "/../ipanema/tests/golden/fixture.ipa"));
    for (name, policy) in [("ule-cwc", policy("ule-cwc")), ("fixture", fixture)] {
        hearth_tests::golden(format!("crates/prove/tests/golden/{name}.mlw"), &emitted(&policy).whyml);
    }
}

/// One product in which each feature of a slot occurs, and those of `warm`.
const PRODUCTS: [&str; 7] = [
    "fifo+fixed+nrRun+all+one",
    "list+infinite+usedTime+smt+node",
    "rbtree+split+nrRunBlock+llc+each",
    "fifo+split+nrRunBlock+all+one+idle",
    "warm+rbtree+split+usedTime+llc+each+idle+recent+beyond+local",
    "warm+deadline+fixed+nrRun+all+one+nests+fast+defer+spin",
    "nest-like",
];

#[test]
fn why3_accepts_the_whyml_of_all_policies() {
    if !hearth_tests::has(&["why3"], "provers") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in FILES {
        std::fs::write(folder.path().join(file), text).unwrap();
    }
    let accepts = |policy: &Policy| {
        let file = folder.path().join("policy.mlw");
        std::fs::write(&file, emitted(policy).whyml).unwrap();
        let mut why3 = Command::new("why3");
        let output =
            why3.args(["prove", "--type-only", "-L"]).arg(folder.path()).arg(&file).output().unwrap();
        assert!(output.status.success(), "{}: {}", policy.name, String::from_utf8_lossy(&output.stderr));
    };
    for name in builtin::NAMES.into_iter().chain(PRODUCTS) {
        accepts(&policy(name));
    }
    // An attribute that is called as a name of the theory ends.
    accepts(&changed("cfs-cwc-flat", &[("min_vruntime", "of")]));
    // `schedule` changes a set under an invariant.
    let schedule = "on schedule (core c) { reserve.remove(c); super; }";
    accepts(&changed("nest", &[("global {\n", &format!("{schedule}\n    global {{\n"))]));
}

/// Each way through a function is a part of its term; there are 65,536 of them.
#[test]
fn a_function_with_too_many_ways_has_an_unknown_value() {
    let ways: String = (1..=16).map(|n| format!("if (src.nr_ready > {n}) x = x + {n}; ")).collect();
    let doubled = "x = x + x; ".repeat(40);
    for body in [ways, doubled] {
        let body = format!("int x = src.nr_ready; {body} return x > 0 && src.nr_running >= 2;");
        let policy = changed("cfs-cwc", &[("return src.nr_ready > 0 && src.nr_running >= 2;", &*body)]);
        let whyml = emitted(&policy).whyml;
        assert!(whyml.len() < 1 << 20, "{} bytes", whyml.len());
    }
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
        let whyml = emitted(&changed("cfs", changes)).alone("Waiting_block'_vruntime");
        whyml.contains(&format!("    set_thread'_{name} own_thread"))
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
