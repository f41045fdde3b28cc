//! Tests of `hearth reproduce`.

use crate::{failed, hearth, printed};
use serde_json::Value;
use std::fs;
use std::path::Path;

const CLAIMS: &str = r#"
[[claim]]
id = "nest-small"
paper = "P, 1"
says = "Nest is faster"
workload = "fork-wait:iterations=5"
machines = ["xeon-5218", "ryzen-3400g"]
subject = { policy = "nest", governor = "schedutil" }
baseline = { policy = "cfs", governor = "schedutil" }
metric = "speedup"
range = [-0.9, 9]

[[claim]]
id = "never"
paper = "P, 2"
says = "what cannot be"
workload = "fork-wait:iterations=5"
machines = ["xeon-5218"]
subject = { policy = "nest", governor = "schedutil", params = { r_max = "0" } }
baseline = { policy = "cfs", governor = "schedutil" }
metric = "energy_saving"
range = [0.99, 1]

[[claim]]
id = "overload"
paper = "P, 3"
says = "one at a time"
workload = "fork-wait:iterations=5"
machines = ["xeon-5218"]
subject = { policy = "cfs", governor = "performance" }
metric = "overload"
range = [0, 1000]
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
        ["nest-small  xeon-5218 ", "            ryzen-3400g ", "never       xeon-5218 ", "overload    xeon"]
    {
        assert!(table.lines().any(|l| l.starts_with(line)), "{line}\n{table}");
    }
    assert!(table.contains("3 of 4 lie in the range that the paper gives. Means of 2 runs"), "{table}");
    assert!(table.ends_with("Outside the range:\n  never: what cannot be (P, 2)\n"), "{table}");
    let table = prints(folder.path(), &["--claims", "claims.toml", "--runs", "1", "--markdown"]);
    assert!(table.starts_with("| claim | ") && table.contains("| **no, below** |"), "{table}");
}

#[test]
fn only_some_claims() {
    let folder = folder();
    let args = ["--claims", "claims.toml", "--runs", "1", "--only", "ne", "overload"];
    assert!(prints(folder.path(), &args).contains("3 of 4 lie"));
    let args = ["--claims", "claims.toml", "--runs", "1", "--only", "nest"];
    assert!(prints(folder.path(), &args).contains("2 of 2 lie"));
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
    assert_eq!((&document["schema"], &document["runs"]), (&"hearth.reproduce/1".into(), &2.into()));
    assert_eq!((&document["results"], &document["in_range"]), (&4.into(), &3.into()));
    let [claim, never, overload] = [0, 1, 2].map(|i| &document["claims"][i]);
    assert_eq!(claim["results"].as_array().map(Vec::len), Some(2));
    assert_eq!(never["subject"]["params"], serde_json::json!({ "r_max": "0" }));
    assert_eq!((&overload["baseline"], &overload["results"][0]["baseline"]), (&Value::Null, &Value::Null));
    let result = &claim["results"][0];
    // The definition in docs/src/json.md.
    let time = |side: &str| result[side]["time_s"].as_f64().expect("a time");
    let speedup = result["value"].as_f64().expect("a value");
    assert!((speedup - (time("baseline") / time("subject") - 1.0)).abs() < 1e-9);
    let book =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/json.md")).expect("the book");
    let (_, section) = book.split_once("## hearth.reproduce/1").expect("a section");
    for object in [&document, claim, &claim["subject"], result, &result["subject"]] {
        for key in object.as_object().expect("an object").keys().filter(|key| *key != "schema") {
            assert!(section.contains(&format!("`{key}`")), "{key} is not in docs/src/json.md");
        }
    }
}

#[test]
fn wrong_claims_are_errors() {
    let folder = folder();
    let path = folder.path();
    fails(path, &["--claims", "none.toml"], 1, &["none.toml", "No such file"]);
    fails(path, &["--claims", "claims.toml", "--only", "nevr"], 2, &["nevr", "did you mean `never`"]);
    fails(path, &["--only", "nonsense"], 2, &["nonsense", "nest-configure"]);
    fails(path, &["--json", "--markdown"], 2, &["cannot be used with"]);
    fs::write(path.join("wrong.toml"), CLAIMS.replace("ryzen-3400g", "ryzen-3500g")).expect("a file");
    fails(path, &["--claims", "wrong.toml"], 1, &["wrong.toml:7: claim `nest-small`", "`ryzen-3400g`"]);
}
