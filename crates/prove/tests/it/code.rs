//! The emitted C is proved against its contracts, and faults in it are noticed. Needs Frama-C.

use crate::common::policy;
use hearth_ipanema::emit::{Contracts, contracts};
use hearth_prove::{COVERED, CodeOptions, CodeReport, prove_c, prove_runtime};

fn run(name: &str, emitted: &Contracts, only: &[&str], named: Option<&str>) -> CodeReport {
    let named = named.map(str::to_owned);
    let only = only.iter().map(|function| (*function).to_owned()).collect();
    let options = CodeOptions { only, named, ..CodeOptions::default() };
    prove_c(name, &emitted.c, &emitted.functions, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// The table of what is covered names functions that exist.
#[test]
fn open_functions_are_in_the_emitted_c() {
    for (name, open) in COVERED {
        let functions = contracts(&policy(name)).functions;
        let without_contract = functions.iter().filter(|function| !function.contract);
        assert!(without_contract.into_iter().all(|function| open.contains(&function.name.as_str())));
        for function in open {
            assert!(functions.iter().any(|known| known.name == *function), "{function}");
        }
    }
}

/// The searches, and the phases of the steal.
const FLAT: [&str; 8] = [
    "cfs_cwc_flat_load_of",
    "cfs_cwc_flat_fallback",
    "cfs_cwc_flat_choose_fork",
    "cfs_cwc_flat_choose_wakeup",
    "cfs_cwc_flat_pull_can_steal_core",
    "cfs_cwc_flat_pull_select_core",
    "cfs_cwc_flat_pull_steal_thread",
    "cfs_cwc_flat_pull_move",
];

#[test]
#[ignore = "minutes: make test-all"]
fn searches_of_cfs_cwc_flat_do_what_the_policy_says() {
    let report = run("cfs-cwc-flat", &contracts(&policy("cfs-cwc-flat")), &FLAT, None);
    assert_eq!(report.functions.len(), FLAT.len());
    assert!(report.holds(), "{report:#?}");
}

#[test]
#[ignore = "not yet seen to end on a busy machine: 191 goals"]
fn the_steal_of_cfs_cwc_flat_does_what_the_policy_says() {
    let report = run("cfs-cwc-flat", &contracts(&policy("cfs-cwc-flat")), &["cfs_cwc_flat_pull"], None);
    assert!(report.holds(), "{report:#?}");
}

/// After the change of its C, the function is not proved. `named`: the annotation to prove, if not all.
fn noticed(function: &str, named: Option<&str>, from: &str, to: &str) {
    let mut emitted = contracts(&policy("cfs-cwc-flat"));
    assert!(emitted.c.contains(from), "the C has no `{from}`");
    emitted.c = emitted.c.replacen(from, to, 1);
    let report = run("cfs-cwc-flat", &emitted, &[function], named);
    assert_eq!(report.functions.len(), 1);
    assert!(!report.functions[0].open.is_empty(), "{report:#?}");
}

#[test]
#[ignore = "minutes: make test-all"]
fn a_filter_with_another_comparison_is_noticed() {
    noticed(
        "cfs_cwc_flat_pull_can_steal_core",
        None,
        "saakm_nr_ready(s, src) > 0",
        "saakm_nr_ready(s, src) >= 0",
    );
}

#[test]
#[ignore = "minutes: make test-all"]
fn a_third_phase_without_the_second_look_at_the_filter_is_noticed() {
    let second = "if (!cfs_cwc_flat_pull_can_steal_core(s, dst, src))\n\t\t\t\tbreak;\n";
    noticed("cfs_cwc_flat_pull", Some("third_phase"), second, "");
}

#[test]
#[ignore = "minutes: make test-all"]
fn a_search_that_prefers_the_last_of_equals_is_noticed() {
    noticed("cfs_cwc_flat_choose_fork", None, "key >= least_c", "key > least_c");
}

#[test]
#[ignore = "minutes: make test-all"]
fn a_sum_without_its_first_thread_is_noticed() {
    let sum = "sum = SAAKM_FORGET(sum + cfs_cwc_flat_thread(t2)->share);";
    noticed("cfs_cwc_flat_load_of", None, sum, &format!("if (t2_at)\n{sum}"));
}

#[test]
#[ignore = "minutes: make test-all"]
fn sets_of_the_runtime_keep_their_contracts() {
    let report = prove_runtime(&[], &CodeOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(report.holds(), "{report:#?}");
}

#[test]
#[ignore = "minutes: make test-all"]
fn a_set_that_loses_another_core_is_noticed() {
    let change = ("&= ~(1ULL << (c % 64))", "&= ~(2ULL << (c % 64))");
    let report = prove_runtime(&[change], &CodeOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let exclude = report.functions.iter().find(|f| f.name == "saakm_exclude").unwrap();
    assert!(!exclude.open.is_empty(), "{report:#?}");
}
