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
fn cfs_cwc_flat_conserves_work() {
    holds("cfs-cwc-flat", &WORK);
}

#[test]
fn ule_cwc_conserves_work() {
    holds("ule-cwc", &WORK);
}

#[test]
fn smove_keeps_its_invariants() {
    holds("smove", &[Property::Invariants]);
}
