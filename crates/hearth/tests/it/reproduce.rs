//! Tests of `hearth reproduce`.

use crate::{failed, hearth, printed};
use serde_json::Value;
use std::fs;
use std::path::Path;

const CLAIMS: &str = r#"
[[claim]]
id = "X1-small"
paper = "P, 1"
says = "Nest is faster"
workload = "fork-wait:iterations=5"
machines = ["xeon-5218", "ryzen-3400g"]
subject = "nest schedutil"
baseline = "cfs schedutil"
metric = "speedup"
than = { machine = "xeon-5220" }
range = [-0.9, inf]

[[claim]]
id = "X2-never"
paper = "P, 2"
says = "what cannot be"
workload = "fork-wait:iterations=5"
machines = ["xeon-5218"]
subject = "nest:r_max=0 schedutil"
baseline = "cfs schedutil"
metric = "energy_saving"
range = [0.99, 1]

[[claim]]
id = "X3-part"
paper = "P, 3"
says = "one at a time"
workload = "fork-wait:iterations=5"
machines = ["xeon-5218"]
subject = "cfs performance"
metric = { placed = ["cfs"] }
until = { exec = "perl" }
range = [0, 1]

[[unasked]]
id = "X4"
paper = "P, 4"
says = "what an oracle says"
why = "Needs an oracle."
"#;

fn folder() -> tempfile::TempDir {
    let folder = crate::folder();
    fs::write(folder.path().join("claims.toml"), CLAIMS).expect("a file");
    folder
}

#[track_caller]
fn prints(folder: &Path, args: &[&str]) -> String {
    printed(folder, &[&["reproduce"], args].concat())
}

#[track_caller]
fn fails(folder: &Path, args: &[&str], status: i32, expected: &[&str]) {
    failed(&hearth(folder, &[&["reproduce"], args].concat()), status, expected);
}

#[test]
fn a_miss_is_a_result() {
    let folder = folder();
    let table = prints(folder.path(), &["--claims", "claims.toml", "--runs", "2"]);
    for line in
        ["X1-small  xeon-5218 ", "          ryzen-3400g ", "X2-never  xeon-5218 ", "X3-part   xeon-5218 "]
    {
        assert!(table.lines().any(|l| l.starts_with(line)), "{line}\n{table}");
    }
    assert!(table.contains("2 of 3 (67%)") && table.contains("3 of 4 (75%)"), "{table}");
    assert!(table.contains("Means of 2 runs"), "{table}");
    let end =
        "Outside the range:\n  X2-never: what cannot be (P, 2)\n\nNot asked:\n  X4: Needs an oracle.\n\nhalf";
    assert!(table.contains(end), "{table}");
    assert!(table.trim_end().ends_with("confidence interval."), "the score comes last: {table}");
    let table = prints(folder.path(), &["--claims", "claims.toml", "--runs", "1", "--markdown"]);
    assert!(table.starts_with("| half | ") && table.contains("| **no, below** |"), "{table}");
}

#[test]
fn only_some_claims() {
    let folder = folder();
    let args = ["--claims", "claims.toml", "--runs", "1", "--only", "X1", "X3"];
    assert!(prints(folder.path(), &args).contains("3 of 3 (100%)"));
    let args = ["--claims", "claims.toml", "--runs", "1", "--only", "X1-small"];
    assert!(prints(folder.path(), &args).contains("2 of 2 (100%)"));
}

#[test]
fn the_documented_fields_are_there() {
    let folder = folder();
    let json = |jobs: &str| -> Value {
        let args = ["--claims", "claims.toml", "--runs", "2", "--json", "--jobs", jobs];
        serde_json::from_str(&prints(folder.path(), &args)).expect("one JSON document")
    };
    let document = json("1");
    assert_eq!(document, json("3"), "on any number of threads");
    assert_eq!((&document["schema"], &document["runs"]), (&"hearth.reproduce/2".into(), &2.into()));
    let score = &document["score"]["all"];
    assert_eq!((&score["rows"], &score["rows_in_range"]), (&3.into(), &2.into()));
    assert_eq!((&score["results"], &score["in_range"]), (&4.into(), &3.into()));
    let [claim, never, part] = [0, 1, 2].map(|i| &document["claims"][i]);
    assert_eq!(claim["results"].as_array().map(Vec::len), Some(2));
    assert_eq!((&claim["row"], &claim["range"]), (&"X1".into(), &serde_json::json!([-0.9, null])));
    assert_eq!(claim["than"]["subject"]["machine"], "xeon-5220");
    assert_eq!(never["subject"]["params"], serde_json::json!({ "r_max": "0" }));
    assert_eq!(part["metric"], serde_json::json!({ "placed": ["cfs"] }));
    assert_eq!(part["until"], serde_json::json!({ "exec": "perl" }));
    assert_eq!((&part["baseline"], &part["results"][0]["baseline"]), (&Value::Null, &Value::Null));
    let result = &never["results"][0];
    // The definition in docs/src/json.md.
    let energy = |side: &str| result[side]["energy_j"].as_f64().expect("an energy");
    let saving = result["value"].as_f64().expect("a value");
    assert!((saving - (1.0 - energy("subject") / energy("baseline"))).abs() < 1e-9);
    let book =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/json.md")).expect("the book");
    let (score, unasked) = (&document["score"], &document["unasked"][0]);
    let (than, side) = (&claim["than"], &claim["subject"]);
    for object in [&document, score, &score["all"], claim, than, side, result, &result["subject"], unasked] {
        for key in object.as_object().expect("an object").keys().filter(|key| *key != "schema") {
            assert!(book.contains(&format!("`{key}`")), "{key} is not in docs/src/json.md");
        }
    }
}

#[test]
fn the_report_is_one_page() {
    let folder = folder();
    let args = ["--claims", "claims.toml", "--runs", "2", "--report", "claims.html"];
    assert!(prints(folder.path(), &args).contains("2 of 3 (67%)"));
    let page = fs::read_to_string(folder.path().join("claims.html")).expect("the page");
    for part in ["X1-small", "class=\"miss\"", "2 of 3 (67%)", "Needs an oracle."] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("http") && !page.contains("<script"), "the page needs nothing else");
    fails(folder.path(), &["--report", "none/claims.html"], 1, &["none", "create the folder first"]);
}

#[test]
fn wrong_claims_are_errors() {
    let folder = folder();
    let path = folder.path();
    fails(path, &["--claims", "none.toml"], 1, &["none.toml", "No such file"]);
    fails(path, &["--claims", "claims.toml", "--only", "X2-nevr"], 2, &["nevr", "did you mean `X2-never`"]);
    fails(path, &["--claims", "claims.toml", "--only", "X4"], 2, &["X4 is not asked", "Needs an oracle."]);
    fails(path, &["--only", "nonsense"], 2, &["nonsense", "rows with claims: N1, N2, "]);
    fails(path, &["--json", "--markdown"], 2, &["cannot be used with"]);
    fs::write(path.join("wrong.toml"), CLAIMS.replace("ryzen-3400g", "ryzen-3500g")).expect("a file");
    fails(path, &["--claims", "wrong.toml"], 1, &["wrong.toml:7: claim `X1-small`", "`ryzen-3400g`"]);
}
