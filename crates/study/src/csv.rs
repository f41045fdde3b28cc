//! A table of a report as CSV, with the field names of the JSON.

use crate::Error;
use crate::measure::{Measured, NAMES};
use serde_json::{Map, Value};

/// The rows of the requested table, or the metrics of the whole trace as one row. With two traces, the
/// first column names the trace. Nested field names are joined by dots.
pub fn csv(traces: &[Measured]) -> Result<String, Error> {
    let mut rows: Vec<Vec<(String, String)>> = Vec::new();
    for (trace, name) in traces.iter().zip(NAMES) {
        for row in table(trace)? {
            let mut cells = Vec::new();
            if traces.len() > 1 {
                cells.push(("trace".to_owned(), name.to_owned()));
            }
            flatten("", &row, &mut cells);
            rows.push(cells);
        }
    }
    // Rows may have different columns, such as reasons for placements.
    let mut titles: Vec<String> = Vec::new();
    for (title, _) in rows.iter().flatten() {
        if !titles.contains(title) {
            titles.push(title.clone());
        }
    }
    let cell = |row: &[(String, String)], title: &String| {
        row.iter().find(|(name, _)| name == title).map_or(String::new(), |(_, value)| quoted(value))
    };
    let mut csv = titles.iter().map(|title| quoted(title)).collect::<Vec<_>>().join(",") + "\n";
    for row in &rows {
        csv += &(titles.iter().map(|title| cell(row, title)).collect::<Vec<_>>().join(",") + "\n");
    }
    Ok(csv)
}

fn table(trace: &Measured) -> serde_json::Result<Vec<Value>> {
    let unknown = trace.unknown();
    let value = match trace {
        Measured { by_interval: Some(by), .. } => unknown.known(&by.rows)?,
        Measured { by_process: Some(rows), .. } => unknown.known(rows)?,
        Measured { by_thread: Some(rows), .. } => unknown.known(rows)?,
        Measured { wakers: Some(rows), .. } => unknown.known(rows)?,
        Measured { inversions: Some(found), .. } => unknown.known(&found.longest)?,
        Measured { overloads: Some(found), .. } => unknown.known(&found.longest)?,
        _ => unknown.known(&[&trace.summary])?,
    };
    Ok(match value {
        Value::Array(rows) => rows,
        _ => Vec::new(),
    })
}

fn flatten(prefix: &str, value: &Value, cells: &mut Vec<(String, String)>) {
    let name = |part: &str| if prefix.is_empty() { part.to_owned() } else { format!("{prefix}.{part}") };
    match value {
        Value::Object(object) => object.iter().for_each(|(part, value)| flatten(&name(part), value, cells)),
        // Lists of pairs (the time at each frequency) become columns. Other lists are one cell.
        Value::Array(list) if list.iter().all(|item| pair(item).is_some()) && !list.is_empty() => {
            list.iter().filter_map(pair).for_each(|(key, value)| flatten(&name(&key), value, cells));
        }
        Value::Array(list) => {
            cells.push((prefix.into(), list.iter().map(plain).collect::<Vec<_>>().join(" ")))
        }
        value => cells.push((prefix.into(), plain(value))),
    }
}

/// The column name and value of `{ "ghz": 2.1, "ms": 3.0 }`.
fn pair(item: &Value) -> Option<(String, &Value)> {
    let object: &Map<String, Value> = item.as_object()?;
    (object.len() == 2).then_some(())?;
    Some((format!("{}ghz", object.get("ghz")?), object.get("ms")?))
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Object(object) => object.values().map(plain).collect::<Vec<_>>().join(":"),
        value => value.to_string(),
    }
}

/// A row of quoted cells.
pub(crate) fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    cells.map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

/// Quotes a cell as RFC 4180 requires.
fn quoted(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nested_values_are_flattened() {
        let mut cells = Vec::new();
        let row = json!({
            "name": "a", "n": null, "latency": { "p50": 1.5 },
            "residency": [{ "ghz": 2.1, "ms": 3.0 }], "idle": [1, 2], "waited": [{ "thread": 1, "name": "x" }],
        });
        flatten("", &row, &mut cells);
        let cells: Vec<_> = cells.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut expected =
            ["name=a", "n=", "latency.p50=1.5", "residency.2.1ghz=3.0", "idle=1 2", "waited=x:1"]
                .map(str::to_owned);
        expected.sort();
        let mut ours = cells.clone();
        ours.sort();
        assert_eq!(ours, expected);
    }

    #[test]
    fn special_characters_are_quoted() {
        assert_eq!(
            (quoted("a b"), quoted("a,b"), quoted("a\"b")),
            ("a b".into(), "\"a,b\"".into(), "\"a\"\"b\"".into())
        );
    }
}
