//! What must happen at some time: each property is refuted for a policy that breaks it, and holds for one that does not.

use super::{load, path};
use crate::counterexample::Counterexample;
use crate::property::Property;
use crate::scenario::Scenario;
use crate::search::{CheckError, Options, Outcome, check};
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
    read.check(policy).unwrap_or_else(|error| panic!("{error}\n{found}"));
    found
}

/// A built-in policy with some handlers replaced.
fn changed(base: &str, text: &str) -> Policy {
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

/// Whoever becomes ready has all other cores look for the best thread, which makes others ready.
const STORM: &str = "on enqueue (thread t, core c) { super; for (core o in online) if (o != c) preempt(o); }";

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
    for policy in ["cfs-cwc-flat", "ule", "nest"] {
        let outcome = explore(&load(policy), "exit-2", &livelock());
        assert!(outcome.complete && outcome.violation.is_none(), "{policy}");
    }
}

/// The storm changes a counter, so that no state occurs twice.
#[test]
fn a_storm_without_a_cycle_is_undecided() {
    let counts = format!("global {{ int storms; }} {}", STORM.replace("super;", "super; storms += 1;"));
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
