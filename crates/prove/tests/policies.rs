//! What holds of the policies, and what does not. Each is proved by Why3, if that is there.

mod common;

use common::{can_prove, changed, failed, policy, proved};
use hearth_prove::{Property, Report};

const WORK: [Property; 2] = [Property::Conservation, Property::Progress];

fn holds(name: &str, properties: &[Property]) {
    if can_prove() {
        let report = proved(&policy(name), properties);
        assert!(!report.obligations.is_empty());
        assert_eq!(failed(&report), Vec::<String>::new(), "{name}");
    }
}

/// An obligation whose place and words begin so does not hold.
fn loses(report: &Report, about: &str, what: &str) {
    let lost = report
        .obligations
        .iter()
        .any(|o| o.obligation.about == about && o.obligation.what.starts_with(what) && !o.verdict.holds());
    assert!(lost, "{about}: `{what}` holds; lost: {:?}", failed(report));
}

#[test]
#[ignore = "the loop invariant of `balance` is not found yet"]
fn cfs_cwc_flat_conserves_work() {
    holds("cfs-cwc-flat", &WORK);
}

#[test]
#[ignore = "`schedule` with two queues is not proved yet"]
fn ule_cwc_conserves_work() {
    holds("ule-cwc", &WORK);
}

#[test]
fn smove_keeps_its_invariants() {
    holds("smove", &[Property::Invariants]);
}

/// A policy loses an obligation of conservation by a change.
fn broken(name: &str, changes: &[(&str, &str)], about: &str, what: &str) {
    if can_prove() {
        loses(&proved(&changed(name, changes), &[Property::Conservation]), about, what);
    }
}

#[test]
fn ule_leaves_cores_idle() {
    broken("ule", &[], "newly_idle", "the core is not left idle");
}

#[test]
fn a_wakeup_that_looks_at_one_die_leaves_cores_idle() {
    let one_die = (
        "first(core c in idle & t.affinity nearest prev)) return c",
        "first(core c in idle & llc(prev) & t.affinity nearest prev)) return c",
    );
    broken("cfs-cwc-flat", &[one_die], "unblock", "no core stays idle");
}

#[test]
fn a_filter_off_by_one_misses_overloaded_cores() {
    let off = ("src.nr_running >= 2;", "src.nr_running >= 3;");
    broken("cfs-cwc-flat", &[off], "pull", "an idle core sees");
}

#[test]
fn a_steal_that_stops_at_once_gives_up_too_early() {
    let at_once = ("stop { return stolen > 0; }", "stop { return stolen >= 0; }");
    broken("cfs-cwc-flat", &[at_once], "pull", "it does not stop before");
}

#[test]
fn an_inverted_thread_rule_takes_nothing() {
    let inverted = ("load_of(dst) > t.share", "load_of(dst) < t.share");
    broken("cfs-cwc-flat", &[inverted], "pull", "an idle core takes any thread");
}

#[test]
fn stealing_from_one_die_only_is_not_enough() {
    let one_die = ("pull(c, waiting);", "pull(c, waiting & llc(c));");
    broken("cfs-cwc-flat", &[one_die], "newly_idle", "the core is not left idle");
}
