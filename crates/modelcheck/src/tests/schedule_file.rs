//! Counter-examples that are kept, and come back as traces.

use hearth_policy::ParamError;
use hearth_trace::Kind;
use serde_json::{Value, json};

use super::load;
use crate::counterexample::Counterexample;
use crate::property::Property;
use crate::replay::replay;
use crate::scenario::Scenario;
use crate::schedule_file::SCHEMA;
use crate::search::{CheckError, Options, check};
use crate::step::Step;
use crate::trace::{HELD, trace};

fn found(policy: &str, scenario: &str) -> Counterexample {
    let scenario = Scenario::named(scenario).expect("a standard scenario");
    let options = Options { cwc: true, ..Options::default() };
    check(&load(policy), &scenario, &options).expect("it fits").violation.expect("it is refuted")
}

#[test]
fn the_trace_is_one_that_could_have_happened_and_shows_what_is_wrong() {
    for (policy, scenario) in [
        ("slocal", "wake-2"),
        ("slocal", "yield-2"),
        ("slocal", "balance-4"),
        ("smove", "wake-2"),
        ("smove", "victims-4"),
        ("ule", "exit-2"),
        ("ule", "fork-2"),
        ("ule", "balance-4"),
        ("cfs", "sleepers-3"),
        ("nest", "sleepers-3"),
    ] {
        let found = found(policy, scenario);
        let trace = trace(&load(policy), &found).expect("it fits");
        assert_eq!(trace.check(), [], "{policy} on {scenario}\n{found}");
        let summary = trace.summary();
        // An idle core beside one with two threads or more, for as long as the end is shown.
        let held = HELD as f64 / 1e6;
        assert!(summary.overload_core_ms >= held, "{policy} on {scenario}: {}", summary.overload_core_ms);
    }
}

#[test]
fn threads_that_an_interrupt_wakes_have_no_waker() {
    let found = found("slocal", "balance-4");
    let trace = trace(&load("slocal"), &found).expect("it fits");
    let wakers: Vec<_> = trace
        .events
        .iter()
        .filter_map(|event| match event.kind {
            Kind::Wakeup { waker, .. } => Some(waker),
            _ => None,
        })
        .collect();
    assert_eq!(wakers, [hearth_trace::Waker::Interrupt], "{found}");
}

#[test]
fn what_was_kept_comes_back() {
    let found = found("ule", "exit-2");
    assert!(found.to_json().contains(SCHEMA));
    assert_eq!(Counterexample::from_json(&found.to_json()).expect("it is whole"), found);
}

#[test]
fn what_does_not_fit_is_told() {
    let found = found("ule", "exit-2");
    let cfs = found.check(&load("cfs"));
    assert!(matches!(cfs, Err(CheckError::OtherPolicy { .. })), "{cfs:?}");

    // ule-cwc has all that ule has, and another balancing: the same schedule ends elsewhere.
    let renamed = Counterexample { policy: "ule-cwc".into(), ..found.clone() };
    let cured = renamed.check(&load("ule-cwc"));
    assert!(matches!(cured, Err(CheckError::Harmless { .. })), "{cured:?}");
    let other = Counterexample { policy: "cfs".into(), ..found.clone() }.check(&load("cfs"));
    assert!(matches!(other, Err(CheckError::OtherShape { .. })), "{other:?}");

    let mut impossible = found.clone();
    impossible.steps[0] = Step::Go(7);
    assert!(replay(&load("ule"), &impossible).is_err());
    let refused = impossible.check(&load("ule"));
    assert!(matches!(refused, Err(CheckError::Impossible { step: 1, .. })), "{refused:?}");
    let mut short = found.clone();
    short.steps.pop();
    assert!(matches!(short.check(&load("ule")), Err(CheckError::Harmless { .. })));
    let mut param = found.clone();
    param.params = vec![("slice".into(), -1)];
    assert!(matches!(param.check(&load("ule")), Err(CheckError::Param(ParamError::Range { .. }))));
    let mut machine = found;
    machine.scenario.topology.llc = vec![0, 7];
    assert!(matches!(machine.check(&load("ule")), Err(CheckError::Scenario(_))));
}

#[test]
fn a_schedule_that_ends_in_something_else_is_refused() {
    let mut found = found("slocal", "wake-2");
    found.violation.property = Property::Safety;
    assert!(matches!(found.check(&load("slocal")), Err(CheckError::Harmless { .. })));
}

/// All places in a document, by their pointers.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, inner)| places(inner, &format!("{at}/{name}"), all))
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, inner)| places(inner, &format!("{at}/{n}"), all))
        }
        _ => {}
    }
    all.push(at.to_owned());
}

/// Whatever a file says, it is an error or a trace, and never a panic.
#[test]
fn a_file_that_somebody_changed_is_told_or_harmless() {
    let policy = load("slocal");
    let text = found("slocal", "wake-2").to_json();
    let whole: Value = serde_json::from_str(&text).expect("it is JSON");
    let mut all = Vec::new();
    places(&whole, "", &mut all);
    let values = [
        json!(null),
        json!(0),
        json!(7),
        json!(-1),
        json!(255),
        json!(1_u64 << 40),
        json!("x"),
        json!([]),
        json!([255, 255, 255, 255, 255, 255, 255, 255, 255]),
        json!({}),
    ];
    let (mut refused, mut taken) = (0, 0);
    for (place, value) in all.iter().flat_map(|place| values.iter().map(move |value| (place, value))) {
        let mut changed = whole.clone();
        *changed.pointer_mut(place).expect("it is there") = value.clone();
        match Counterexample::from_json(&changed.to_string()) {
            Ok(found) if trace(&policy, &found).is_ok() => taken += 1,
            _ => refused += 1,
        }
    }
    // Names and sentences are for people.
    assert!(refused > 10 * taken && taken > 0, "{refused} refused, {taken} taken");
    for end in (0..text.len() - 2).step_by(7) {
        assert!(Counterexample::from_json(&text[..end]).is_err());
    }
}
