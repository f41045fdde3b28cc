//! The state counts in `docs/src/data/modelcheck.md` are reproduced. Cells with many states are skipped; refuted
//! cells are checked if the search reaches the violation early.

use hearth_modelcheck::{Options, Property, Rounds, Scenario, Stealing, WITHIN, check};

/// Limit of an exploration. Cells with more states are skipped.
const STATES: usize = 6_000;

struct Table {
    policies: Vec<String>,
    /// A scenario and one cell for each policy.
    rows: Vec<(String, Vec<String>)>,
}

/// The first table after `heading`.
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

/// Explores the cells with few states, and returns their number.
fn reproduce(heading: &str, stealing: Stealing, options: &Options) -> usize {
    let options = Options { max_states: STATES, ..options.clone() };
    let table = table(heading);
    let mut checked = 0;
    for (column, name) in table.policies.iter().enumerate() {
        let policy = hearth_policy::load(name).expect("a built-in policy");
        for (scenario, row) in &table.rows {
            let cell = &row[column];
            let number = cell.trim_end_matches(" steps").rsplit(", ").next().unwrap_or_default();
            let number = number.replace(',', "").parse::<usize>();
            let Some(documented) = number.ok().filter(|number| *number <= STATES) else { continue };
            let scenario = Scenario::named(scenario).unwrap_or_else(|error| panic!("{error}"));
            let outcome = check(&policy, &Scenario { stealing, ..scenario.clone() }, &options)
                .expect("a valid scenario");
            let found = match (&outcome.violation, outcome.complete) {
                (Some(found), _) => match found.violation.property {
                    Property::Livelock | Property::Waiting | Property::Conservation => {
                        format!("{}, {} steps", found.violation.property, found.steps.len())
                    }
                    _ => format!("{} steps", found.steps.len()),
                },
                (None, true) => outcome.states.to_string(),
                // Many states come before the violation, although its schedule is short.
                (None, false) if cell.ends_with("steps") => continue,
                (None, false) => format!("more than {STATES}"),
            };
            let documented = if cell.ends_with("steps") { cell.clone() } else { documented.to_string() };
            assert_eq!(
                found, documented,
                "{name}, {}: docs/src/data/modelcheck.md, \"{heading}\"",
                scenario.name
            );
            checked += 1;
        }
    }
    checked
}

fn cwc() -> Options {
    Options { cwc: true, ..Options::default() }
}

#[test]
fn work_conservation() {
    assert!(
        reproduce("Concurrent work conservation, with safety and claims", Stealing::Locked, &cwc()) > 100
    );
}

#[test]
fn lock_free() {
    assert!(reproduce("Lock-free steals", Stealing::CompareAndSwap, &cwc()) > 40);
}

#[test]
fn safety_and_claims() {
    assert!(reproduce("Safety and claims alone", Stealing::Locked, &Options::default()) > 100);
}

#[test]
fn properties_over_time() {
    let rounds = Some(Rounds { count: 1, overlap: false });
    let options = Options { livelock: true, within: Some(WITHIN), rounds, ..Options::default() };
    assert!(reproduce("Livelock, bounded waiting", Stealing::Locked, &options) > 100);
}
