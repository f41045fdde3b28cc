//! Small policies with known races: each is found, by the shortest schedule; and what cures it does.

use super::{load, path, tiny};
use crate::counterexample::Counterexample;
use crate::model::Invariant;
use crate::property::Property;
use crate::replay::{Kind, Left, replay};
use crate::scenario::{Op, Scenario, Start, Stealing, ThreadSpec};
use crate::search::{Options, Outcome, check};
use crate::step::Step;
use crate::topology::Topology;
use hearth_ipanema::ir::StmtKind;
use hearth_ipanema::syntax::Source;
use hearth_policy::{Policy, Settings};

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

/// Two cores lose their threads; two threads wait on the third.
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
    let outcome = check(policy, scenario, options).expect("a sound scenario");
    assert!(outcome.complete || outcome.violation.is_some(), "small enough");
    outcome
}

/// The property that does not hold, and its schedule.
fn violated(outcome: Outcome) -> (Property, Vec<Step>, String) {
    let violation = outcome.violation.expect("it is found");
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
fn two_placements_on_one_idle_core_collide_without_a_claim() {
    let outcome = run(&tiny(PLACE_ON_IDLE), &two_wakers(), &collisions());
    let (property, steps, text) = violated(outcome);
    assert_eq!(property, Property::Collision);
    // Both wake, both look, both place: nothing else.
    assert_eq!(steps.len(), 6, "{text}");
    assert_eq!(steps.iter().filter(|step| matches!(step, Step::Op(_))).count(), 2);
    assert!(text.contains("idle = {2 3}"), "{text}");
    assert!(text.contains("core 0: thread 2; [unblock(0, 0)]"), "{text}");
}

#[test]
fn they_do_not_with_one() {
    let outcome = run(&tiny(PLACE_WITH_CLAIM), &two_wakers(), &collisions());
    assert!(outcome.violation.is_none(), "{}", outcome.violation.expect("one"));
}

#[test]
fn cwc_excuses_placements_that_collide() {
    let options = Options { cwc: true, ..Options::default() };
    let outcome = run(&tiny(PLACE_ON_IDLE), &two_wakers(), &options);
    assert!(outcome.violation.is_none(), "{}", outcome.violation.expect("one"));
}

/// `busy` never has more than one member, if nobody comes between the look and the change.
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
    let function = policy.ir().functions.iter().find(|f| f.name == function).expect("it is there");
    let Some(StmtKind::Return(Some(expr))) = function.body.first().map(|stmt| &stmt.kind) else {
        panic!("it returns at once");
    };
    Invariant { name: function.name.clone(), expr: expr.clone() }
}

#[test]
fn an_invariant_that_a_race_breaks_is_broken_by_the_shortest_one() {
    let text = CHECK_THEN_ACT.replace("if (one() &&", "if (one() && empty(busy) &&");
    let policy = tiny(&text);
    let options = Options { invariants: vec![returned(&policy, "one")], ..Options::default() };
    let (property, steps, text) = violated(run(&policy, &two_wakers(), &options));
    assert_eq!(property, Property::Invariant);
    // Each wakes, looks at `busy` three times, and adds itself; nobody looks at `within` in vain, as
    // nothing ever changes it.
    assert_eq!(steps.len(), 10, "{text}");
    assert!(text.contains("`one` does not hold"), "{text}");
}

/// Nest with an invariant, and a small reserve.
fn watched(invariant: &str) -> (Policy, Options) {
    let text = format!("policy watched extends nest {{ invariant {invariant}; }}");
    let provider = |name: &str| {
        let text = if name == "watched" { text.clone() } else { std::fs::read_to_string(path(name)).ok()? };
        Some(Source { name: name.to_owned(), text })
    };
    let policy = Policy::from(hearth_ipanema::compile(&provider, "watched").expect("it is sound"));
    let params = Settings::from_pairs(&policy, [("r_max", 1)]).expect("it fits");
    (policy, Options { params, ..Options::default() })
}

#[test]
fn a_core_of_nest_is_in_one_nest() {
    let (policy, options) = watched("disjoint : empty(primary & reserve)");
    for scenario in ["wake-2", "fork-2"] {
        let scenario = Scenario::named(scenario).expect("it is there");
        let outcome = run(&policy, &scenario, &options);
        assert!(outcome.violation.is_none(), "{}", outcome.violation.expect("one"));
    }
}

#[test]
fn what_a_policy_declares_is_looked_at() {
    let (policy, options) = watched("never : empty(primary)");
    let (property, ..) = violated(run(&policy, &Scenario::named("wake-2").expect("it is there"), &options));
    assert_eq!(property, Property::Invariant);
}

#[test]
fn the_reserve_of_nest_is_bounded_whatever_happens() {
    let (policy, options) = watched("small : count(reserve) <= r_max");
    let scenario = Scenario::named("wake-2").expect("it is there");
    let outcome = run(&policy, &scenario, &options);
    assert!(outcome.violation.is_none(), "{}", outcome.violation.expect("one"));
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

/// Two cores with a thread that waits, and two that lose theirs.
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
fn a_thief_that_gives_up_after_its_first_victim_stays_idle() {
    let options = Options { cwc: true, ..Options::default() };
    let one = tiny(&STEAL.replace("GIVEN", "if (core v = first(core v in waiting)) pull(c, smt(v));"));
    let (property, steps, text) = violated(run(&one, &two_victims(), &options));
    assert_eq!(property, Property::Cwc);
    assert!(text.contains("is idle while core 1 has 2 threads"), "{text}");
    assert!(steps.len() <= 14, "{text}");

    let all = tiny(&STEAL.replace("GIVEN", "pull(c, waiting);"));
    let outcome = run(&all, &two_victims(), &options);
    assert!(outcome.violation.is_none(), "{}", outcome.violation.expect("one"));
}

/// A thread is moved from where the steal asked about, or not at all. Else the thief that was faster would go idle
/// with nothing, while a thread waits elsewhere.
#[test]
fn without_locks_no_thread_is_taken_from_whoever_has_just_taken_it() {
    let options = Options { cwc: true, ..Options::default() };
    let policy = tiny(&STEAL.replace("GIVEN", "pull(c, waiting);"));
    let scenario = Scenario { stealing: Stealing::CompareAndSwap, ..two_victims() };
    let outcome = run(&policy, &scenario, &options);
    assert!(outcome.violation.is_none(), "{}", outcome.violation.expect("one"));
}

/// As the kernel's runtime steals.
#[test]
fn the_work_conserving_policies_are_so_without_locks() {
    let options = Options { cwc: true, ..Options::default() };
    for (policy, name) in ["cfs-cwc", "cfs-cwc-flat", "ule-cwc"]
        .into_iter()
        .flat_map(|policy| ["exit-2", "wakers-3", "thieves-3", "victims-4"].map(|name| (policy, name)))
    {
        let standard = Scenario::named(name).expect("a standard scenario");
        let scenario = Scenario { stealing: Stealing::CompareAndSwap, ..standard };
        let outcome = run(&load(policy), &scenario, &options);
        assert!(outcome.complete, "{policy}, {name}: {} states", outcome.states);
        assert!(outcome.violation.is_none(), "{policy}: {}", outcome.violation.expect("one"));
    }
}

#[test]
fn a_core_that_does_not_look_goes_idle_in_vain() {
    let options = Options { cwc: true, ..Options::default() };
    let none = tiny(&STEAL.replace("GIVEN", "if (c.nr_ready > 0) pull(c, waiting);"));
    let (property, steps, _) = violated(run(&none, &two_thieves(), &options));
    // The thread exits, and has; the core schedules, looks at its own queue, and goes idle.
    assert_eq!((property, steps.len()), (Property::Cwc, 5));
}

#[test]
fn what_may_not_be_is_not() {
    // It places threads where they may not run.
    let careless = tiny(
        "on new (thread t, core parent) { t => near(t, parent).ready; }
         on unblock (thread t, core waker) { t => waker.ready; }",
    );
    let mut scenario = scenario(&[2], &[(Awake(0), &[Wake(1)]), (Blocked(1), &[])]);
    scenario.threads[1].affinity = [1].into_iter().collect();
    let (property, steps, text) = violated(run(&careless, &scenario, &Options::default()));
    assert_eq!((property, steps.len()), (Property::Safety, 2), "{text}");
    assert!(text.contains("placed on core 0, where it may not run"), "{text}");

    // It has a queue that `schedule` does not look at.
    let forgetful = tiny(
        "queue other : fifo;
         on new (thread t, core parent) { t => near(t, parent).ready; }
         on unblock (thread t, core waker) { t => near(t, waker).other; }",
    );
    scenario.threads[1].affinity = Default::default();
    let (property, _, text) = violated(run(&forgetful, &scenario, &Options::default()));
    assert_eq!(property, Property::Safety, "{text}");
    assert!(text.contains("without a thread, though one is ready"), "{text}");
}

#[test]
fn a_counter_example_can_be_kept_and_repeated() {
    let policy = tiny(PLACE_ON_IDLE);
    let outcome = run(&policy, &two_wakers(), &collisions());
    let found = outcome.violation.expect("it is found");
    let kept = serde_json::to_string(&found).expect("it can be written");
    let read: Counterexample = serde_json::from_str(&kept).expect("and read");
    assert_eq!(read, found);
    let events = replay(&policy, &read).expect("it is of this policy");
    let wakeups: Vec<&Kind> = events.iter().map(|event| &event.kind).collect();
    assert_eq!(
        wakeups,
        [
            &Kind::Wakeup { thread: 0, waker: Some(2), target: 2 },
            &Kind::Wakeup { thread: 1, waker: Some(3), target: 2 }
        ]
    );
    assert!(events.windows(2).all(|pair| pair[0].time <= pair[1].time));

    let threads: &[(Start, &[Op])] = &[(Awake(0), &[Forever]), (Awake(1), &[]), (Awake(0), &[Forever])];
    let steal = tiny(&STEAL.replace("GIVEN", "if (c.nr_ready > 0) pull(c, waiting);"));
    let options = Options { cwc: true, ..Options::default() };
    let found = run(&steal, &scenario(&[2], threads), &options).violation.expect("it is found");
    let kinds: Vec<Kind> =
        replay(&steal, &found).expect("it fits").into_iter().map(|event| event.kind).collect();
    let switch = Kind::Switch { previous: Some(1), why: Left::Exited, next: None };
    assert_eq!(kinds, [Kind::Exit { thread: 1 }, switch]);
    let other = replay(&policy, &found);
    assert!(other.is_err(), "of the same name, and with the same attributes: {other:?}");
}

#[test]
fn a_claim_lasts_until_the_placement_that_has_it_ends_it() {
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
    assert!(outcome.violation.is_none(), "{}", outcome.violation.expect("one"));
}
