//! Stored counterexamples and their traces.

use hearth_policy::ParamError;
use hearth_trace::Kind;
use serde_json::{Value, json};

use super::load;
use crate::counterexample::Counterexample;
use crate::property::Property;
use crate::scenario::Scenario;
use crate::schedule_file::SCHEMA;
use crate::search::{CheckError, Options, check};
use crate::step::Step;
use crate::trace::{HELD, trace};

fn found(policy: &str, scenario: &str) -> Counterexample {
    let scenario = Scenario::named(scenario).expect("a standard scenario");
    let options = Options { cwc: true, ..Options::default() };
    check(&load(policy), &scenario, &options).expect("it fits").violation.expect("a violation")
}

#[test]
fn traces_are_consistent_and_show_the_violation() {
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
        // The final state has an idle core beside one with two threads or more.
        let held = HELD as f64 / 1e6;
        assert!(summary.overload_core_ms >= held, "{policy} on {scenario}: {}", summary.overload_core_ms);
    }
}

#[test]
fn interrupts_are_wakers() {
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
fn stored_counterexamples_are_read_back() {
    let found = found("ule", "exit-2");
    assert!(found.to_json().contains(SCHEMA));
    assert_eq!(Counterexample::from_json(&found.to_json()).expect("it was just written"), found);
}

#[test]
fn counterexamples_of_other_policies_are_rejected() {
    let found = found("ule", "exit-2");
    let cfs = found.check(&load("cfs"));
    assert!(matches!(cfs, Err(CheckError::OtherPolicy { .. })), "{cfs:?}");

    // ule-cwc has the attributes of ule but balances differently, so the schedule does not end in the violation.
    let renamed = Counterexample { policy: "ule-cwc".into(), ..found.clone() };
    let fixed = renamed.check(&load("ule-cwc"));
    assert!(matches!(fixed, Err(CheckError::Harmless { .. })), "{fixed:?}");
    let other = Counterexample { policy: "cfs".into(), ..found.clone() }.check(&load("cfs"));
    assert!(matches!(other, Err(CheckError::OtherShape { .. })), "{other:?}");

    let mut impossible = found.clone();
    impossible.steps[0] = Step::Go(7);
    let rejected = impossible.check(&load("ule"));
    assert!(matches!(rejected, Err(CheckError::Impossible { step: 1, .. })), "{rejected:?}");
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
fn schedules_that_end_in_another_violation_are_rejected() {
    let mut found = found("slocal", "wake-2");
    found.violation.property = Property::Safety;
    assert!(matches!(found.check(&load("slocal")), Err(CheckError::Harmless { .. })));
}

/// The JSON pointers of all values in a document.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, inner)| pointers(inner, &format!("{at}/{name}"), all))
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, inner)| pointers(inner, &format!("{at}/{n}"), all))
        }
        _ => {}
    }
    all.push(at.to_owned());
}

/// Any file gives an error or a trace, never a panic.
#[test]
fn modified_files_never_panic() {
    let policy = load("slocal");
    let text = found("slocal", "wake-2").to_json();
    let whole: Value = serde_json::from_str(&text).expect("valid JSON");
    let mut all = Vec::new();
    pointers(&whole, "", &mut all);
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
    let (mut rejected, mut accepted) = (0, 0);
    for (pointer, value) in all.iter().flat_map(|pointer| values.iter().map(move |value| (pointer, value))) {
        let mut changed = whole.clone();
        *changed.pointer_mut(pointer).expect("it exists") = value.clone();
        match Counterexample::from_json(&changed.to_string()) {
            Ok(found) if trace(&policy, &found).is_ok() => accepted += 1,
            _ => rejected += 1,
        }
    }
    // Changes of names and sentences are accepted.
    assert!(rejected > 10 * accepted && accepted > 0, "{rejected} rejected, {accepted} accepted");
    for end in (0..text.len() - 2).step_by(7) {
        assert!(Counterexample::from_json(&text[..end]).is_err());
    }
}
