//! The reduction is sound: with and without it, the same properties hold.

use hearth_ipanema::builtin::NAMES;
use proptest::prelude::*;

use super::races::{PLACE_WITH_CLAIM, STEAL, returned, run, scenario, two_thieves, two_wakers};
use super::{load, tiny};
use crate::model::Invariant;
use crate::scenario::{Op, Scenario, Start, Stealing};
use crate::search::{Options, Outcome};
use hearth_policy::Policy;

/// A policy whose handlers read attributes that handlers of other cores write.
const CLOCKS: &str = "
    global { int most; bool torn; }
    thread { int turns; int seen; }
    core { int turns; int copy; }
    bool fine() { return most <= 2 && !torn; }
    on new (thread t, core parent) { t => near(t, parent).ready; }
    on unblock (thread t, core waker) {
        core other = t.core;
        t.turns += 1;
        waker.turns += 1;
        waker.copy = waker.turns;
        if (other.turns != other.copy) torn = true;
        if (thread r = other.current) t.seen = r.turns;
        if (t.seen + t.turns > most) most = t.seen + t.turns;
        if (!fine()) t => near(t, waker).ready;
        if (core c = first(core c in idle & t.affinity where claim(c))) t => c.ready;
        t => near(t, waker).ready;
    }";

fn fine(policy: &Policy) -> Invariant {
    returned(policy, "fine")
}

/// Explores with and without the reduction, and compares the verdicts.
fn both(policy: &Policy, scenario: &Scenario, options: &Options) -> (Outcome, Outcome) {
    let reduced = run(policy, scenario, &Options { reduce: true, ..options.clone() });
    let full = run(policy, scenario, &Options { reduce: false, ..options.clone() });
    let verdict = |outcome: &Outcome| outcome.violation.as_ref().map(|found| found.violation.property);
    let shown =
        |outcome: &Outcome| outcome.violation.as_ref().map_or(String::new(), |found| found.to_string());
    assert_eq!(
        verdict(&reduced),
        verdict(&full),
        "{} on {}:\n{}\n{}",
        policy.name(),
        scenario.name,
        shown(&reduced),
        shown(&full)
    );
    if full.violation.is_none() {
        assert!(reduced.states <= full.states);
    }
    (reduced, full)
}

fn checks() -> [Options; 3] {
    [
        Options::default(),
        Options { cwc: true, ..Options::default() },
        Options { collisions: true, ..Options::default() },
    ]
}

#[test]
fn verdicts_agree_for_small_policies() {
    let policies = [
        tiny(PLACE_WITH_CLAIM),
        tiny(&STEAL.replace("GIVEN", "pull(c, waiting);")),
        tiny(&STEAL.replace("GIVEN", "if (core v = first(core v in waiting)) pull(c, smt(v));")),
    ];
    for policy in &policies {
        for options in checks() {
            for stealing in [Stealing::Locked, Stealing::CompareAndSwap] {
                both(policy, &Scenario { stealing, ..two_wakers() }, &options);
                both(policy, &Scenario { stealing, ..two_thieves() }, &options);
            }
        }
    }
}

#[test]
fn accesses_that_other_cores_observe_are_not_merged() {
    let policy = tiny(CLOCKS);
    let options = Options { invariants: vec![fine(&policy)], ..Options::default() };
    let (reduced, full) = both(&policy, &two_wakers(), &options);
    assert!(reduced.violation.is_none() && full.violation.is_none());
    assert!(reduced.states < full.states, "{} of {}", reduced.states, full.states);
    // Core 1 wakes a thread that last ran on core 0, while core 0 is between its two writes.
    let wakers: &[(Start, &[Op])] = &[
        (Start::Blocked(2), &[Op::Forever]),
        (Start::Blocked(0), &[Op::Forever]),
        (Start::Awake(0), &[Op::Wake(0), Op::Forever]),
        (Start::Awake(1), &[Op::Wake(1), Op::Forever]),
    ];
    let (reduced, _) = both(&policy, &scenario(&[3], wakers), &options);
    assert!(reduced.violation.is_some(), "core 1 observes the torn pair");
}

#[test]
fn verdicts_agree_for_built_in_policies() {
    for name in NAMES.into_iter().filter(|name| !["nest", "smove"].contains(name)) {
        for scenario in ["wake-2", "exit-2"] {
            for options in checks() {
                both(&load(name), &Scenario::named(scenario).expect("it exists"), &options);
            }
        }
    }
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        (0u8..3).prop_map(Op::Wake),
        Just(Op::Fork(2)),
        Just(Op::Block),
        Just(Op::Sleep),
        Just(Op::Yield),
    ]
}

fn any_scenario() -> impl Strategy<Value = Scenario> {
    let programs = proptest::collection::vec(proptest::collection::vec(op(), 0..3), 3);
    (programs, any::<bool>(), any::<bool>()).prop_map(|(programs, blocked, swap)| {
        let second = if blocked { Start::Blocked(1) } else { Start::Awake(1) };
        let starts = [Start::Awake(0), second, Start::Forked];
        let threads: Vec<(Start, &[Op])> =
            starts.into_iter().zip(&programs).map(|(start, program)| (start, program.as_slice())).collect();
        let stealing = if swap { Stealing::CompareAndSwap } else { Stealing::Locked };
        Scenario { stealing, ..scenario(&[2], &threads) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: hearth_tests::cases(10, 160), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn verdicts_agree_for_random_scenarios(scenario in any_scenario()) {
        let clocks = tiny(CLOCKS);
        both(&clocks, &scenario, &Options { invariants: vec![fine(&clocks)], ..Options::default() });
        let steal = tiny(&STEAL.replace("GIVEN", "pull(c, waiting);"));
        both(&steal, &scenario, &Options { cwc: true, ..Options::default() });
    }
}

/// A policy that sets and clears a flag of a core and of a thread, while other cores read each once.
const FLAGS: &str = "
    global { bool core_seen; bool thread_seen; }
    thread { bool up; }
    core { bool up; }
    bool unseen_core() { return !core_seen; }
    bool unseen_thread() { return !thread_seen; }
    on new (thread t, core parent) { t => near(t, parent).ready; }
    on tick (thread t) {
        core c = t.core;
        t.up = true;
        t.up = false;
        c.up = true;
        c.up = false;
        if (unseen_core() && unseen_thread()) return;
    }
    on unblock (thread t, core waker) {
        core other = t.core;
        if (other.up) core_seen = true;
        if (thread r = other.current) if (r.up) thread_seen = true;
        t => near(t, waker).ready;
    }";

#[test]
fn transient_values_are_observed() {
    let policy = tiny(FLAGS);
    let threads: &[(Start, &[Op])] = &[
        (Start::Blocked(0), &[Op::Forever]),
        (Start::Awake(0), &[Op::Forever]),
        (Start::Awake(1), &[Op::Wake(0), Op::Forever]),
    ];
    let scenario = Scenario { ticks: 1, ..scenario(&[2], threads) };
    for name in ["unseen_core", "unseen_thread"] {
        let options = Options { invariants: vec![returned(&policy, name)], ..Options::default() };
        let (reduced, _) = both(&policy, &scenario, &options);
        assert!(reduced.violation.is_some(), "{name}");
    }
}

#[test]
fn reads_of_globals_interleave() {
    // Each sets its flag and then reads the other's: both may find the other set.
    let policy = tiny(
        "global { bool heavy; bool light; bool heavy_sees; bool light_sees; }
         bool apart() { return !(heavy_sees && light_sees); }
         on new (thread t, core parent) { t => near(t, parent).ready; }
         on unblock (thread t, core waker) {
             if (t.weight > 1024) {
                 heavy = true;
                 if (light) heavy_sees = true;
             } else {
                 light = true;
                 if (heavy) light_sees = true;
             }
             if (apart()) t => near(t, waker).ready;
             t => near(t, waker).ready;
         }",
    );
    let mut scenario = two_wakers();
    scenario.threads[0].weight = 3121;
    let options = Options { invariants: vec![returned(&policy, "apart")], ..Options::default() };
    let (reduced, _) = both(&policy, &scenario, &options);
    assert!(reduced.violation.is_some());
}
