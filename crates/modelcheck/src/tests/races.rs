//! Small policies with known races: the checker finds a shortest schedule for each, and none once the race is fixed.

use super::{load, path, tiny};
use crate::counterexample::Counterexample;
use crate::model::Invariant;
use crate::property::Property;
use crate::scenario::{Op, Scenario, Start, Stealing, ThreadSpec};
use crate::search::{Options, Outcome, check};
use crate::step::Step;
use crate::topology::Topology;
use crate::trace::trace;
use hearth_ipanema::ir::StmtKind;
use hearth_ipanema::syntax::Source;
use hearth_policy::{Policy, Settings};
use hearth_trace::{IDLE, Kind, Stop, Waker};

use Op::{Forever, Wake};
use Start::{Awake, Blocked};

pub fn scenario(llcs: &[u8], threads: &[(Start, &[Op])]) -> Scenario {
    Scenario {
        name: "test".into(),
        doc: "a test".into(),
        topology: Topology::llcs(llcs),
        threads: threads.iter().map(|(start, program)| ThreadSpec::new(*start, program)).collect(),
        ticks: 0,
        fast: Default::default(),
        offline: Default::default(),
        values: Vec::new(),
        stealing: Stealing::Locked,
    }
}

/// Two threads wake one each; cores 2 and 3 are idle.
pub fn two_wakers() -> Scenario {
    let wakers: &[(Start, &[Op])] = &[
        (Blocked(2), &[Forever]),
        (Blocked(2), &[Forever]),
        (Awake(0), &[Wake(0), Forever]),
        (Awake(1), &[Wake(1), Forever]),
    ];
    scenario(&[4], wakers)
}

/// The threads of two cores exit while two threads wait on the third.
pub fn two_thieves() -> Scenario {
    let threads: &[(Start, &[Op])] = &[
        (Awake(0), &[Forever]),
        (Awake(1), &[]),
        (Awake(2), &[]),
        (Awake(0), &[Forever]),
        (Awake(0), &[Forever]),
    ];
    scenario(&[3], threads)
}

pub fn run(policy: &Policy, scenario: &Scenario, options: &Options) -> Outcome {
    let outcome = check(policy, scenario, options).expect("a valid scenario");
    assert!(outcome.complete || outcome.violation.is_some(), "small enough");
    outcome
}

/// The violated property, its steps, and the text of the counterexample.
fn violated(outcome: Outcome) -> (Property, Vec<Step>, String) {
    let violation = outcome.violation.expect("a violation");
    let text = violation.to_string();
    (violation.violation.property, violation.steps, text)
}

const PLACE_ON_IDLE: &str = "
    on new (thread t, core parent) { t => near(t, parent).ready; }
    on unblock (thread t, core waker) {
        if (core c = first(core c in idle & t.affinity)) t => c.ready;
        t => near(t, waker).ready;
    }";

pub const PLACE_WITH_CLAIM: &str = "
    on new (thread t, core parent) { t => near(t, parent).ready; }
    on unblock (thread t, core waker) {
        if (core c = first(core c in idle & t.affinity where claim(c))) t => c.ready because claimed;
        t => near(t, waker).ready;
    }";

fn collisions() -> Options {
    Options { collisions: true, ..Options::default() }
}

#[test]
fn placements_without_claims_collide() {
    let outcome = run(&tiny(PLACE_ON_IDLE), &two_wakers(), &collisions());
    let (property, steps, text) = violated(outcome);
    assert_eq!(property, Property::Collision);
    // Each core wakes, reads `idle` and places.
    assert_eq!(steps.len(), 6, "{text}");
    assert_eq!(steps.iter().filter(|step| matches!(step, Step::Op(_))).count(), 2);
    assert!(text.contains("idle = {2 3}"), "{text}");
    assert!(text.contains("core 0: thread 2; [unblock(0, 0)]"), "{text}");
}

#[test]
fn claims_prevent_collisions() {
    let outcome = run(&tiny(PLACE_WITH_CLAIM), &two_wakers(), &collisions());
    assert!(outcome.violation.is_none(), "{}", outcome.violation.expect("a violation"));
}

#[test]
fn cwc_excuses_collisions() {
    let options = Options { cwc: true, ..Options::default() };
    let outcome = run(&tiny(PLACE_ON_IDLE), &two_wakers(), &options);
    assert!(outcome.violation.is_none(), "{}", outcome.violation.expect("a violation"));
}

/// `busy` has at most one member, unless a core comes between the check and the change.
const CHECK_THEN_ACT: &str = "
    set busy;
    set within;
    bool one() { return count(busy) <= 1; }
    on new (thread t, core parent) { t => near(t, parent).ready; }
    on unblock (thread t, core waker) {
        if (one() && empty(busy & within)) busy.add(waker);
        t => near(t, waker).ready;
    }";

/// The result of a function without parameters, as a closed expression.
pub fn returned(policy: &Policy, function: &str) -> Invariant {
    let function = policy.ir().functions.iter().find(|f| f.name == function).expect("it exists");
    let Some(StmtKind::Return(Some(expr))) = function.body.first().map(|stmt| &stmt.kind) else {
        panic!("it returns at once");
    };
    Invariant { name: function.name.clone(), expr: expr.clone() }
}

#[test]
fn finds_the_shortest_race_that_breaks_an_invariant() {
    let text = CHECK_THEN_ACT.replace("if (one() &&", "if (one() && empty(busy) &&");
    let policy = tiny(&text);
    let options = Options { invariants: vec![returned(&policy, "one")], ..Options::default() };
    let (property, steps, text) = violated(run(&policy, &two_wakers(), &options));
    assert_eq!(property, Property::Invariant);
    // Each core wakes, reads `busy` three times, and adds itself. Reads of `within` are no steps, because no
    // handler writes it.
    assert_eq!(steps.len(), 10, "{text}");
    assert!(text.contains("`one` does not hold"), "{text}");
}

/// Nest with an invariant and a reserve of one core.
fn watched(invariant: &str) -> (Policy, Options) {
    let text = format!("policy watched extends nest {{ invariant {invariant}; }}");
    let provider = |name: &str| {
        let text = if name == "watched" { text.clone() } else { std::fs::read_to_string(path(name)).ok()? };
        Some(Source { name: name.to_owned(), text })
    };
    let policy = Policy::from(hearth_ipanema::compile(&provider, "watched").expect("it compiles"));
    let params = Settings::from_pairs(&policy, [("r_max", 1)]).expect("a valid value");
    (policy, Options { params, ..Options::default() })
}

#[test]
fn nests_are_disjoint() {
    let (policy, options) = watched("disjoint : empty(primary & reserve)");
    for scenario in ["wake-2", "fork-2"] {
        let scenario = Scenario::named(scenario).expect("it exists");
        let outcome = run(&policy, &scenario, &options);
        assert!(outcome.violation.is_none(), "{}", outcome.violation.expect("a violation"));
    }
}

#[test]
fn declared_invariants_are_checked() {
    let (policy, options) = watched("never : empty(primary)");
    let (property, ..) = violated(run(&policy, &Scenario::named("wake-2").expect("it exists"), &options));
    assert_eq!(property, Property::Invariant);
}

#[test]
fn reserve_of_nest_is_bounded() {
    let (policy, options) = watched("small : count(reserve) <= r_max");
    let scenario = Scenario::named("wake-2").expect("it exists");
    let outcome = run(&policy, &scenario, &options);
    assert!(outcome.violation.is_none(), "{}", outcome.violation.expect("a violation"));
}

pub const STEAL: &str = "
    on new (thread t, core parent) { t => near(t, parent).ready; }
    on unblock (thread t, core waker) { t => near(t, waker).ready; }
    steal pull (core dst, set from) {
        can_steal_core (core src) { return src.nr_ready > 0 && src.nr_running >= 2; }
        select_core (core src) max by src.nr_running nearest dst;
        steal_thread (thread t) { return dst in t.affinity; }
        stop_core { return stolen > 0; }
        stop { return stolen > 0; }
        move (thread t) { t => dst.ready because balance; }
    }
    on newly_idle (core c) { GIVEN }";

/// A thread waits on each of two cores, and the threads of two others exit.
fn two_victims() -> Scenario {
    let threads: &[(Start, &[Op])] = &[
        (Awake(0), &[Forever]),
        (Awake(0), &[Forever]),
        (Awake(1), &[Forever]),
        (Awake(1), &[Forever]),
        (Awake(2), &[]),
        (Awake(3), &[]),
    ];
    scenario(&[4], threads)
}

#[test]
fn thief_with_one_victim_violates_cwc() {
    let options = Options { cwc: true, ..Options::default() };
    let one = tiny(&STEAL.replace("GIVEN", "if (core v = first(core v in waiting)) pull(c, smt(v));"));
    let (property, steps, text) = violated(run(&one, &two_victims(), &options));
    assert_eq!(property, Property::Cwc);
    assert!(text.contains("is idle while core 1 has 2 threads"), "{text}");
    assert!(steps.len() <= 14, "{text}");

    let all = tiny(&STEAL.replace("GIVEN", "pull(c, waiting);"));
    let outcome = run(&all, &two_victims(), &options);
    assert!(outcome.violation.is_none(), "{}", outcome.violation.expect("a violation"));
}

/// A steal moves a thread from the queue that it examined, or not at all. Otherwise it could take a thread from
/// another thief, which would go idle while a thread waits elsewhere.
#[test]
fn lock_free_steals_do_not_take_stolen_threads() {
    let options = Options { cwc: true, ..Options::default() };
    let policy = tiny(&STEAL.replace("GIVEN", "pull(c, waiting);"));
    let scenario = Scenario { stealing: Stealing::CompareAndSwap, ..two_victims() };
    let outcome = run(&policy, &scenario, &options);
    assert!(outcome.violation.is_none(), "{}", outcome.violation.expect("a violation"));
}

#[test]
fn work_conserving_policies_hold_with_lock_free_steals() {
    let options = Options { cwc: true, ..Options::default() };
    for (policy, name) in ["cfs-cwc", "cfs-cwc-flat", "ule-cwc"]
        .into_iter()
        .flat_map(|policy| ["exit-2", "wakers-3", "thieves-3", "victims-4"].map(|name| (policy, name)))
    {
        let standard = Scenario::named(name).expect("a standard scenario");
        let scenario = Scenario { stealing: Stealing::CompareAndSwap, ..standard };
        let outcome = run(&load(policy), &scenario, &options);
        assert!(outcome.complete, "{policy}, {name}: {} states", outcome.states);
        assert!(outcome.violation.is_none(), "{policy}: {}", outcome.violation.expect("a violation"));
    }
}

#[test]
fn core_that_does_not_steal_violates_cwc() {
    let options = Options { cwc: true, ..Options::default() };
    let none = tiny(&STEAL.replace("GIVEN", "if (c.nr_ready > 0) pull(c, waiting);"));
    let (property, steps, _) = violated(run(&none, &two_thieves(), &options));
    // The thread begins to exit and exits; the core schedules, reads its own queue, and goes idle.
    assert_eq!((property, steps.len()), (Property::Cwc, 5));
}

#[test]
fn safety_violations_are_found() {
    // Ignores affinity.
    let careless = tiny(
        "on new (thread t, core parent) { t => near(t, parent).ready; }
         on unblock (thread t, core waker) { t => waker.ready; }",
    );
    let mut scenario = scenario(&[2], &[(Awake(0), &[Wake(1)]), (Blocked(1), &[])]);
    scenario.threads[1].affinity = [1].into_iter().collect();
    let (property, steps, text) = violated(run(&careless, &scenario, &Options::default()));
    assert_eq!((property, steps.len()), (Property::Safety, 2), "{text}");
    assert!(text.contains("placed on core 0, where it may not run"), "{text}");

    // Has a queue that `schedule` ignores.
    let forgetful = tiny(
        "queue other : fifo;
         on new (thread t, core parent) { t => near(t, parent).ready; }
         on unblock (thread t, core waker) { t => near(t, waker).other; }",
    );
    scenario.threads[1].affinity = Default::default();
    let (property, _, text) = violated(run(&forgetful, &scenario, &Options::default()));
    assert_eq!(property, Property::Safety, "{text}");
    assert!(text.contains("without a thread, although one is ready"), "{text}");
}

/// The waker goes on, or exits: what it says about its sleep is one of two steps, and no fact if it exits.
#[test]
fn a_waker_may_say_that_it_sleeps() {
    let keen = tiny(
        "set sleepy;
         invariant awake : empty(sleepy);
         on new (thread t, core parent) { t => near(t, parent).ready; }
         on unblock (thread t, core waker) {
             if (waker_sleeps) sleepy.add(waker);
             t => near(t, waker).ready;
         }",
    );
    let wakes = |program| scenario(&[2], &[(Blocked(1), &[Forever]), (Awake(0), program)]);
    let (property, steps, text) = violated(run(&keen, &wakes(&[Wake(0), Forever]), &Options::default()));
    assert_eq!((property, steps[0]), (Property::Invariant, Step::Sync(0)));
    assert!(text.contains("core 0: thread 1, about to sleep; [unblock(0, 0)]"), "{text}");
    assert!(run(&keen, &wakes(&[Wake(0)]), &Options::default()).violation.is_none());
}

/// The events of a counterexample's trace after the initial ones.
fn scheduled(policy: &Policy, found: &Counterexample) -> Vec<Kind> {
    let trace = trace(policy, found).expect("it is of this policy");
    assert_eq!(trace.check(), []);
    trace.events.iter().filter(|event| event.time > 0).map(|event| event.kind).collect()
}

#[test]
fn stored_counterexamples_can_be_replayed() {
    let policy = tiny(PLACE_ON_IDLE);
    let outcome = run(&policy, &two_wakers(), &collisions());
    let found = outcome.violation.expect("a violation");
    let read = Counterexample::from_json(&found.to_json()).expect("it was just written");
    assert_eq!(read, found);
    let wakeup = |thread, waker| Kind::Wakeup { thread, waker: Waker::Thread(waker), target: 2, sync: false };
    assert_eq!(scheduled(&policy, &read), [wakeup(1, 3), wakeup(2, 4)]);

    let threads: &[(Start, &[Op])] = &[(Awake(0), &[Forever]), (Awake(1), &[]), (Awake(0), &[Forever])];
    let steal = tiny(&STEAL.replace("GIVEN", "if (c.nr_ready > 0) pull(c, waiting);"));
    let options = Options { cwc: true, ..Options::default() };
    let found = run(&steal, &scenario(&[2], threads), &options).violation.expect("a violation");
    let switch = Kind::Switch { prev: 2, stop: Stop::Exited, next: IDLE };
    assert_eq!(scheduled(&steal, &found), [Kind::Exit { thread: 2 }, switch]);
    let other = trace(&policy, &found);
    assert!(other.is_err(), "another policy with the same name and the same attributes: {other:?}");
}

#[test]
fn placements_without_a_claim_do_not_end_claims() {
    // Pinned threads are placed without a claim.
    let mixed = tiny(
        "on new (thread t, core parent) { t => near(t, parent).ready; }
         on unblock (thread t, core waker) {
             if (count(t.affinity) == 1) t => near(t, waker).ready;
             if (core c = first(core c in idle & t.affinity where claim(c))) t => c.ready;
             t => near(t, waker).ready;
         }",
    );
    let threads: &[(Start, &[Op])] = &[
        (Blocked(2), &[]),
        (Blocked(2), &[Forever]),
        (Blocked(2), &[Forever]),
        (Awake(0), &[Wake(1), Forever]),
        (Awake(1), &[Wake(0), Wake(2), Forever]),
    ];
    let mut scenario = scenario(&[3], threads);
    scenario.threads[0].affinity = [2].into_iter().collect();
    let outcome = run(&mixed, &scenario, &Options::default());
    assert!(outcome.violation.is_none(), "{}", outcome.violation.expect("a violation"));
}
