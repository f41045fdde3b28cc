//! Replays a schedule: it is rejected, or gives a consistent trace.
//!
//! An input that begins with a brace is the schedule's text. Otherwise the first byte selects a schedule of the model
//! checker, and each three bytes after it select a place and a change. So many inputs are still JSON.

#![cfg_attr(fuzzing, no_main)]

use hearth_fuzz::fuzz_target;
use hearth_modelcheck::{Counterexample, Options, Scenario, check as model_check, trace};
use hearth_policy::{Policy, load, names};
use serde_json::{Value, json};
use std::sync::LazyLock;

const FOUND: [(&str, &str); 6] = [
    ("slocal", "wake-2"),
    ("slocal", "balance-4"),
    ("smove", "wake-2"),
    ("ule", "exit-2"),
    ("ule", "balance-4"),
    ("nest", "sleepers-3"),
];
/// Steps, operations and starts of a thread or core.
const OF: [&str; 11] =
    ["go", "op", "tick", "preempt", "dispatch", "interrupt", "timer", "fork", "wake", "awake", "blocked"];
/// Steps, operations and starts without a thread or core.
const WORDS: [&str; 8] =
    ["clock", "block", "sleep", "yield", "forever", "forked", "compare_and_swap", "safety"];

static POLICIES: LazyLock<Vec<Policy>> =
    LazyLock::new(|| names().iter().map(|name| load(name).unwrap()).collect());

static SCHEDULES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let schedule = |(name, scenario): &(&str, &str)| {
        let policy = POLICIES.iter().find(|policy| policy.name() == *name).unwrap();
        let options = Options { cwc: true, ..Options::default() };
        let found = model_check(policy, &Scenario::named(scenario).unwrap(), &options).unwrap();
        serde_json::from_str(&found.violation.unwrap().to_json()).unwrap()
    };
    FOUND.iter().map(schedule).collect()
});

fuzz_target!(|input: &[u8]| match input {
    [] => {}
    [b'{', ..] => std::str::from_utf8(input).into_iter().for_each(try_schedule),
    [which, edits @ ..] => {
        let mut schedule = SCHEDULES[usize::from(*which) % SCHEDULES.len()].clone();
        edits.as_chunks().0.iter().for_each(|edit| change(&mut schedule, *edit));
        try_schedule(&schedule.to_string());
    }
});

fn try_schedule(text: &str) {
    let Ok(found) = Counterexample::from_json(text) else { return };
    assert_eq!(Counterexample::from_json(&found.to_json()).unwrap(), found);
    let Some(policy) = POLICIES.iter().find(|policy| policy.name() == found.policy) else { return };
    if let Ok(trace) = trace(policy, &found) {
        assert_eq!(trace.check(), []);
    }
}

fn change(schedule: &mut Value, [high, low, how]: [u8; 3]) {
    let mut places = Vec::new();
    collect(schedule, "", &mut places);
    let place = &places[usize::from(u16::from_be_bytes([high, low])) % places.len()];
    let place = schedule.pointer_mut(place).unwrap();
    let (how, number) = (usize::from(how / 16), how % 16);
    *place = match (how, &mut *place) {
        (11, _) => json!(number),
        (12, _) => json!(WORDS[usize::from(number) % WORDS.len()]),
        (13, _) => [json!(null), json!(true), json!(false), json!(-1), json!(u64::MAX)]
            [usize::from(number) % 5]
            .clone(),
        (14, Value::Array(items)) => json!([&items[..], &items[items.len().saturating_sub(1)..]].concat()),
        (_, Value::Array(items)) => json!(items[..items.len().saturating_sub(1)]),
        (14 | 15, other) => other.take(),
        _ => json!({ OF[how]: number }),
    };
}

/// Collects the JSON pointers of all values, except those of the texts.
fn collect(value: &Value, at: &str, places: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(name, _)| *name != "schedule" && *name != "policy");
            fields.for_each(|(name, inner)| collect(inner, &format!("{at}/{name}"), places));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, inner)| collect(inner, &format!("{at}/{n}"), places));
        }
        _ => {}
    }
    places.push(at.to_owned());
}
