//! Ratios of two reports.

use serde_json::{Map, Value};
use std::collections::HashMap;

/// Fields that identify a row of a list. Rows with equal keys are compared.
const KEYS: [&str; 9] =
    ["process", "pid", "waker", "waker_pid", "wakee", "wakee_pid", "thread", "begin_s", "ghz"];

/// b / a for each number that is in both, under the same name. `null` if one of them is null, or if only `a` is 0.
/// 1 if both are 0. Strings and truth values are left out.
pub fn ratios(a: &Value, b: &Value) -> Value {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let both = a.iter().filter_map(|(name, a)| Some((name, a, b.get(name)?)));
            let compared = both.filter(|(_, a, b)| comparable(a) && comparable(b));
            Value::Object(compared.map(|(name, a, b)| (name.clone(), ratios(a, b))).collect())
        }
        (Value::Array(a), Value::Array(b)) => Value::Array(rows(a, b)),
        (Value::Number(a), Value::Number(b)) => match (a.as_f64(), b.as_f64()) {
            (Some(0.0), Some(0.0)) => Value::from(1.0),
            (Some(a), Some(b)) if a != 0.0 => Value::from(b / a),
            _ => Value::Null,
        },
        _ => Value::Null,
    }
}

fn comparable(value: &Value) -> bool {
    matches!(value, Value::Number(_) | Value::Object(_) | Value::Array(_) | Value::Null)
}

/// The ratios of the rows that are in both lists, with their keys, in the order of the first list.
fn rows(a: &[Value], b: &[Value]) -> Vec<Value> {
    let named: HashMap<String, &Value> = b.iter().map(|row| (text(&key(row)), row)).collect();
    let compare = |row: &Value| {
        let key = key(row);
        let other = named.get(&text(&key)).filter(|_| !key.is_empty())?;
        let Value::Object(mut ratios) = ratios(&without_keys(row), &without_keys(other)) else { return None };
        ratios.extend(key);
        Some(Value::Object(ratios))
    };
    a.iter().filter_map(compare).collect()
}

fn text(key: &Map<String, Value>) -> String {
    serde_json::to_string(key).unwrap_or_default()
}

fn without_keys(row: &Value) -> Value {
    let mut row = row.clone();
    if let Value::Object(row) = &mut row {
        row.retain(|name, _| !KEYS.contains(&name.as_str()));
    }
    row
}

fn key(row: &Value) -> Map<String, Value> {
    let Value::Object(row) = row else { return Map::new() };
    row.iter()
        .filter(|(name, _)| KEYS.contains(&name.as_str()))
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_in_both_have_ratios() {
        let a = json!({ "time": 2.0, "none": 0, "both": 0, "unknown": null, "name": "x", "in": { "n": 4 }, "only": 1 });
        let b = json!({ "time": 3.0, "none": 5, "both": 0, "unknown": 1.0, "name": "y", "in": { "n": 1 } });
        let expected =
            json!({ "time": 1.5, "none": null, "both": 1.0, "unknown": null, "in": { "n": 0.25 } });
        assert_eq!(ratios(&a, &b), expected);
    }

    #[test]
    fn rows_are_matched_by_key() {
        let a = json!([{ "process": "cc1", "cpu_s": 4.0 }, { "process": "sh", "cpu_s": 1.0 }]);
        let b = json!([{ "process": "make", "cpu_s": 1.0 }, { "process": "cc1", "cpu_s": 2.0 }]);
        assert_eq!(ratios(&a, &b), json!([{ "process": "cc1", "cpu_s": 0.5 }]));
        let (a, b) = (json!([{ "ghz": 2.0, "ms": 1.0 }]), json!([{ "ghz": 2.0, "ms": 3.0 }]));
        assert_eq!(ratios(&a, &b), json!([{ "ghz": 2.0, "ms": 3.0 }]));
    }
}
