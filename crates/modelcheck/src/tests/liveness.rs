//! What must happen at some time: each property is refuted for a policy that breaks it, and holds for one that does not.

use super::{load, path};
use crate::counterexample::Counterexample;
use crate::progress::Rounds;
use crate::property::Property;
use crate::scenario::Scenario;
use crate::search::{CheckError, Options, Outcome, check};
use crate::step::Step;
use crate::trace::trace;
use hearth_ipanema::syntax::Source;
use hearth_policy::Policy;

fn explore(policy: &Policy, scenario: &str, options: &Options) -> Outcome {
    check(policy, &Scenario::named(scenario).expect("a standard scenario"), options).expect("it fits")
}

/// The counterexample of a property, which must be replayable.
fn refuted(policy: &Policy, scenario: &str, options: &Options, property: Property) -> Counterexample {
    let found = explore(policy, scenario, options).violation.expect("a violation");
    assert_eq!(found.violation.property, property, "{found}");
    let read = Counterexample::from_json(&found.to_json()).expect("it was just written");
    let trace = trace(policy, &read).unwrap_or_else(|error| panic!("{error}\n{found}"));
    assert_eq!(trace.check(), [], "{found}");
    found
}

/// A built-in policy with some handlers replaced.
pub fn changed(base: &str, text: &str) -> Policy {
    let text = format!("policy changed extends {base} {{ {text} }}");
    let provider = |name: &str| {
        let text = if name == "changed" { text.clone() } else { std::fs::read_to_string(path(name)).ok()? };
        Some(Source { name: name.to_owned(), text })
    };
    hearth_ipanema::compile(&provider, "changed").unwrap_or_else(|failed| panic!("{failed}")).into()
}

fn livelock() -> Options {
    Options { livelock: true, ..Options::default() }
}

/// Each core that looks for a thread has all others look, too.
const STORM: &str = "on schedule (core c) { for (core o in online) if (o != c) preempt(o); super; }";

#[test]
fn preemptions_without_end_are_refuted() {
    for scenario in ["wake-2", "ticks-2", "wakers-4"] {
        let found = refuted(&changed("cfs-cwc-flat", STORM), scenario, &livelock(), Property::Livelock);
        let cycle = &found.steps[found.repeats_from.expect("a cycle")..];
        assert!(cycle.len() > 1 && cycle.iter().all(|step| step.actor().is_some()), "{found}");
    }
}

#[test]
fn preemptions_that_end_are_none() {
    // The other cores look once, when a thread wakes.
    let once = "on unblock (thread t, core waker) { for (core o in online) preempt(o); super; }";
    let outcome = explore(&changed("cfs-cwc-flat", once), "wakers-3", &livelock());
    assert!(outcome.complete && outcome.violation.is_none());
    // A preempted thread preempts no other.
    let again = "on enqueue (thread t, core c) { super; for (core o in online) if (o != c) preempt(o); }";
    let outcome = explore(&changed("cfs-cwc-flat", again), "wake-2", &livelock());
    assert!(outcome.complete && outcome.violation.is_none());
    for policy in ["cfs-cwc-flat", "ule", "nest"] {
        let outcome = explore(&load(policy), "exit-2", &livelock());
        assert!(outcome.complete && outcome.violation.is_none(), "{policy}");
    }
}

/// The storm changes a counter, so that no state occurs twice.
#[test]
fn a_storm_without_a_cycle_is_undecided() {
    let counts = format!("global {{ int storms; }} {}", STORM.replace("super;", "storms += 1; super;"));
    let options = Options { max_event_steps: 500, max_states: 1_000, ..livelock() };
    let outcome = explore(&changed("cfs-cwc-flat", &counts), "wake-2", &options);
    assert!(outcome.violation.is_none() && !outcome.complete);
    assert_eq!(outcome.undecided.as_deref(), Some("more than 500 steps follow one event"));
}

#[test]
fn a_cycle_that_does_not_repeat_is_rejected() {
    let policy = changed("cfs-cwc-flat", STORM);
    let found = refuted(&policy, "wake-2", &livelock(), Property::Livelock);
    let from = found.repeats_from.expect("a cycle");
    let mut short = found.clone();
    short.steps.pop();
    let mut late = found.clone();
    late.repeats_from = Some(from + 1);
    let mut other = found.clone();
    other.violation.property = Property::Waiting;
    for changed in [short, late, other, Counterexample { repeats_from: None, ..found }] {
        assert!(matches!(changed.check(&policy), Err(CheckError::Harmless { .. })), "{changed}");
    }
}

fn waiting() -> Options {
    Options { within: Some(24), ..Options::default() }
}

/// Who became ready last runs first.
const LIFO: &str = "on enqueue (thread t, core c) { t.vruntime = 0ms - now; t.home = c; }";
/// Whoever runs goes on until it stops by itself.
const NO_TURNS: &str = "on tick (thread t) { charge(t); }";

#[test]
fn threads_that_wait_for_ever_are_found() {
    for (policy, scenario) in
        [(LIFO, "turns-1"), (LIFO, "yields-1"), (NO_TURNS, "turns-1"), (NO_TURNS, "turns-2")]
    {
        let found = refuted(&changed("cfs-cwc-flat", policy), scenario, &waiting(), Property::Waiting);
        assert!(found.violation.what.ends_with("for 24 ticks"), "{found}");
        // Each tick was handled.
        let ticks = found.steps.iter().filter(|step| **step == Step::Clock).count();
        assert!(ticks >= 24, "{found}");
    }
}

#[test]
fn fair_policies_let_all_threads_run() {
    for policy in ["cfs-cwc", "cfs-cwc-flat", "ule-cwc", "cfs"] {
        for scenario in ["turns-1", "turns-2"] {
            let outcome = explore(&load(policy), scenario, &waiting());
            assert!(outcome.complete, "{policy} on {scenario}: {:?}", outcome.violation);
        }
    }
    // The bound is tight enough to tell: a turn takes three ticks, and two others come first.
    let tight = |ticks| Options { within: Some(ticks), ..Options::default() };
    refuted(&load("cfs-cwc-flat"), "turns-1", &tight(5), Property::Waiting);
    assert!(explore(&load("cfs-cwc-flat"), "turns-1", &tight(6)).complete);
}

#[test]
fn a_scenario_with_few_ticks_says_nothing_about_waiting() {
    let outcome = explore(&changed("cfs-cwc-flat", NO_TURNS), "held-2", &waiting());
    assert!(outcome.complete && outcome.vacuous == [Property::Waiting]);
}

fn conservation(overlap: bool) -> Options {
    Options { rounds: Some(Rounds { count: 1, overlap }), ..Options::default() }
}

/// Idle cores have no tick, and nobody balances for them.
const SELFISH: &str =
    "on balance (core c) { if (now < c.next) return; c.next = now + interval; pull(c, waiting); }";

#[test]
fn imbalance_that_stays_is_found() {
    for overlap in [false, true] {
        let selfish = changed("cfs-cwc-flat", SELFISH);
        let found = refuted(&selfish, "sleepers-3", &conservation(overlap), Property::Conservation);
        assert!(found.steps.contains(&Step::Quiet), "{found}");
        assert!(found.schedule.iter().any(|line| line.contains("[balance(")), "{found}");
    }
}

#[test]
fn balancing_repairs_what_races_left() {
    for policy in ["cfs-cwc", "cfs-cwc-flat", "ule-cwc"] {
        for scenario in ["wake-2", "exit-2", "fork-2", "forks-3", "thieves-3", "mixed-3"] {
            let outcome = explore(&load(policy), scenario, &conservation(false));
            assert!(outcome.complete, "{policy} on {scenario}: {:?}", outcome.violation);
        }
    }
}

/// One core balances for all, and finds one thread where another one is being preempted.
#[test]
fn a_balance_that_overlaps_a_preemption_may_miss_its_thread() {
    let ule = load("ule-cwc");
    let overlapping = |count| Options { rounds: Some(Rounds { count, overlap: true }), ..Options::default() };
    refuted(&ule, "forks-3", &overlapping(1), Property::Conservation);
    refuted(&ule, "forks-3", &overlapping(3), Property::Conservation);
    assert!(explore(&load("cfs-cwc-flat"), "forks-3", &overlapping(1)).complete);
}
