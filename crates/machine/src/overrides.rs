//! Replacements of values of a machine file: `KEY=VALUE,...` after the machine's name.

use std::path::Path;
use toml::{Table, Value};

/// Splits `MACHINE:KEY=VALUE,...`; `None` if there are no replacements.
pub(crate) fn split(source: &str) -> Option<(&str, &str)> {
    // The name of a file may contain a colon.
    let (plain, values) = source.split_once(':').filter(|_| !Path::new(source).exists())?;
    values.contains('=').then_some((plain, values))
}

/// Applies replacements to the text of a machine file. Returns the new text, or what is wrong.
pub(crate) fn apply(file: &str, values: &str) -> Result<String, String> {
    let mut table: Table = file.parse().map_err(|error| format!("{error}"))?;
    for assignment in values.split(',') {
        let (key, value) = assignment.split_once('=').ok_or_else(|| {
            format!("expected KEY=VALUE, such as frequency.turbo.release_us=40_000, not `{assignment}`")
        })?;
        let value = parse(value.trim()).ok_or_else(|| format!("`{value}` is not a value of TOML"))?;
        replace(&mut table, key.trim(), value)?;
    }
    Ok(table.to_string())
}

fn parse(value: &str) -> Option<Value> {
    format!("value = {value}").parse::<Table>().ok()?.remove("value")
}

/// Replaces the value of a dotted key. Elements of arrays are numbered from 0: `idle.2.counts`.
fn replace(table: &mut Table, key: &str, value: Value) -> Result<(), String> {
    let (path, last) = key.rsplit_once('.').map_or((None, key), |(path, last)| (Some(path), last));
    let mut place = table;
    let mut steps = path.into_iter().flat_map(|path| path.split('.'));
    while let Some(step) = steps.next() {
        let next = match place.get_mut(step) {
            Some(Value::Array(all)) => steps
                .next()
                .and_then(|index| index.parse::<usize>().ok())
                .and_then(|index| all.get_mut(index)),
            other => other,
        };
        place = match next {
            Some(Value::Table(table)) => table,
            _ => return Err(format!("there is no section for `{key}`; docs/src/machines.md lists the keys")),
        };
    }
    place.insert(last.to_owned(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "a = 1\n[b]\nc = 2\n[[d]]\ne = 3\n[[d]]\ne = 4\n";

    #[test]
    fn values_are_replaced() {
        let after = apply(FILE, "a=7_000, b.c = 2.5,d.1.e=true,b.f=\"x\"").expect("valid");
        let expected = "a = 7000\n[b]\nc = 2.5\nf = \"x\"\n[[d]]\ne = 3\n[[d]]\ne = true\n";
        assert_eq!(after.parse::<Table>(), expected.parse::<Table>());
    }

    #[test]
    fn wrong_ones_are_errors() {
        for (values, says) in [
            ("a=1,b", "KEY=VALUE"),
            ("x.y=1", "no section for `x.y`"),
            ("d.9.e=1", "no section for `d.9.e`"),
            ("a.b=1", "no section"),
            ("a=", "not a value"),
            ("a=fast", "not a value"),
        ] {
            let problem = apply(FILE, values).expect_err(values);
            assert!(problem.contains(says), "{values}: {problem}");
        }
    }

    #[test]
    fn names_without_values_are_left() {
        assert_eq!(split("xeon-5218"), None);
        assert_eq!(split("xeon-5218:performance"), None);
        assert_eq!(split("xeon-5218:a=1"), Some(("xeon-5218", "a=1")));
    }
}
