//! The pages that `examples/scores.rs` writes fit the policies: each surviving mutant is at its line, has a reason, and is
//! counted. If this fails after a change of a policy, run `cargo run --release -p hearth-mutate --example scores`.

use std::collections::BTreeMap;

fn file(path: &str) -> String {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The cells of a row of a table. `\|` is no border.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim_matches('|').replace("\\|", "\u{1}");
    row.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

fn rows(text: &str) -> impl Iterator<Item = Vec<String>> {
    text.lines().filter(|line| line.starts_with("| ")).map(cells)
}

/// `2 condition, negation` is 3.
fn count(operators: &str) -> usize {
    operators
        .split(", ")
        .map(|one| one.split_once(' ').map_or(1, |(n, _)| n.parse().expect("a number")))
        .sum()
}

/// The number of survivors on the page, by policy.
fn survivors() -> BTreeMap<String, usize> {
    let page = file("docs/src/data/mutation-survivors.md");
    let mut found = BTreeMap::new();
    for section in page.split("\n## ").skip(1) {
        let policy = section.lines().next().expect("a heading").to_owned();
        let mut survive = 0;
        for row in rows(section).filter(|row| row[0] != "line") {
            let [place, _, text, operators, reason] = row.as_slice() else { panic!("{row:?}") };
            let (name, line) = place.split_once(':').expect("a place");
            let line: usize = line.parse().expect("a line");
            let source = file(&format!("policies/{name}.ipa"));
            assert_eq!(source.lines().nth(line - 1).map(str::trim), Some(text.trim_matches('`')), "{place}");
            assert!(!reason.is_empty() && reason != "?", "{place}: no reason");
            survive += count(operators);
        }
        found.insert(policy, survive);
    }
    found
}

#[test]
fn each_survivor_is_at_its_line_and_counted() {
    let page = file("docs/src/mutation.md");
    let table = page.split_once("--example scores -->").expect("the table of scores").1;
    let (table, _) = table.split_once("<!-- end -->").expect("its end");
    let survive = |row: Vec<String>| (row[0].clone(), row[6].parse().expect("a number"));
    let scores: BTreeMap<String, usize> = rows(table).filter(|row| row[0] != "policy").map(survive).collect();
    assert_eq!(scores, survivors());
    let mut all = hearth_policy::names().to_vec();
    all.sort_unstable();
    assert_eq!(scores.keys().collect::<Vec<_>>(), all, "every built-in policy has a score");
}
