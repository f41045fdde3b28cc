//! Recomputes the cells of `lab/results/modelcheck.md` that have few states.

use std::fs;

use hearth_modelcheck::{Options, Outcome, Scenario, check};

use crate::{PAGE, Table, cell, tables};

/// Limit of an exploration. Cells with more states are skipped.
const STATES: usize = 6_000;

/// Number of checked cells, and the cells that differ.
pub fn differences() -> (usize, Vec<String>) {
    let page = fs::read_to_string(PAGE).expect("the page");
    let (mut checked, mut different) = (0, Vec::new());
    for table in tables().iter().filter(|table| !table.refuted_only) {
        for (scenario, policy, stored) in cells(&page, table) {
            let place = format!("{}: {policy}, {scenario}", table.name);
            match recompute(table, &scenario, &policy, &stored) {
                None => {}
                Some(found) if found == stored => checked += 1,
                Some(found) => different.push(format!("{place}: the page has {stored}, now {found}")),
            }
        }
    }
    (checked, different)
}

/// Scenario, policy and text of each cell of a table.
fn cells(page: &str, table: &Table) -> Vec<(String, String, String)> {
    let (_, text) = page.split_once(&format!("## {}\n", table.heading)).expect("the table's heading");
    let lines =
        text.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let split = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    };
    let mut rows = lines.map(split);
    let policies = rows.next().expect("a heading");
    let each = |row: Vec<String>| {
        let cells = row.iter().zip(&policies).skip(1);
        cells.map(|(cell, policy)| (row[0].clone(), policy.clone(), cell.clone())).collect::<Vec<_>>()
    };
    rows.skip(1).flat_map(each).collect()
}

/// The cell as it is now; `None` if it has too many states.
fn recompute(table: &Table, scenario: &str, policy: &str, stored: &str) -> Option<String> {
    let number = stored.trim_matches('*').trim_end_matches(" steps").rsplit(", ").next()?.replace(',', "");
    if number.parse::<usize>().ok()? > STATES {
        return None;
    }
    let policy = hearth_policy::load(policy).expect("a built-in policy");
    let scenario = Scenario::named(scenario).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { max_states: STATES, ..table.options.clone() };
    let outcome = check(&policy, &Scenario { stealing: table.stealing, ..scenario }, &options)
        .expect("a valid scenario");
    match &outcome {
        // Many states come before the violation, although its schedule is short.
        Outcome { violation: None, complete: false, .. } if stored.ends_with("steps**") => None,
        _ => Some(cell(&outcome, STATES)),
    }
}
