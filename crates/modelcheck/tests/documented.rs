//! The numbers of states in `docs/src/data/modelcheck.md` are those that come out. Cells that take long are not
//! tried again; a refuted one is, as far as its schedule is short.

use hearth_modelcheck::{Options, Scenario, Stealing, check};

/// Cells with more states than this are left alone, and exploration ends there.
const STATES: usize = 6_000;

struct Table {
    policies: Vec<String>,
    /// A scenario, and one cell for each policy.
    rows: Vec<(String, Vec<String>)>,
}

/// The first table behind `heading`.
fn table(heading: &str) -> Table {
    let page = include_str!("../../../docs/src/data/modelcheck.md");
    let (_, text) = page.split_once(heading).unwrap_or_else(|| panic!("no table \"{heading}\""));
    let mut lines =
        text.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().trim_matches(['`', '*']).to_owned())
            .collect()
    };
    let policies = cells(lines.next().expect("a heading")).split_off(1);
    let rows = lines.skip(1).map(|line| {
        let mut row = cells(line);
        (row.remove(0), row)
    });
    Table { policies, rows: rows.collect() }
}

/// Explores again what is cheap; returns how many cells that were.
fn try_again(heading: &str, stealing: Stealing, cwc: bool) -> usize {
    let table = table(heading);
    let mut tried = 0;
    for (column, name) in table.policies.iter().enumerate() {
        let policy = hearth_policy::load(name).expect("a built-in policy");
        for (scenario, row) in &table.rows {
            let cell = &row[column];
            let number = cell.trim_end_matches(" steps").replace(',', "").parse::<usize>();
            let Some(documented) = number.ok().filter(|number| *number <= STATES) else { continue };
            let scenario = Scenario::named(scenario).unwrap_or_else(|error| panic!("{error}"));
            let options = Options { max_states: STATES, cwc, ..Options::default() };
            let outcome =
                check(&policy, &Scenario { stealing, ..scenario.clone() }, &options).expect("it fits");
            let found = match (&outcome.violation, outcome.complete) {
                (Some(violation), _) => format!("{} steps", violation.steps.len()),
                (None, true) => outcome.states.to_string(),
                // The schedule is short, and yet there are many states before it.
                (None, false) if cell.ends_with("steps") => continue,
                (None, false) => format!("more than {STATES}"),
            };
            let documented = if cell.ends_with("steps") { cell.clone() } else { documented.to_string() };
            assert_eq!(
                found, documented,
                "{name}, {}: docs/src/data/modelcheck.md, \"{heading}\"",
                scenario.name
            );
            tried += 1;
        }
    }
    tried
}

#[test]
fn work_conservation() {
    assert!(try_again("Concurrent work conservation, with safety and claims", Stealing::Locked, true) > 100);
}

#[test]
fn lock_free() {
    assert!(try_again("Lock-free steals", Stealing::CompareAndSwap, true) > 40);
}

#[test]
fn safety_and_claims() {
    assert!(try_again("Safety and claims alone", Stealing::Locked, false) > 100);
}
