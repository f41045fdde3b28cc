//! Tests of `hearth extract`.

use crate::{failed, folder, hearth, text};
use serde_json::Value;
use std::fs;

#[test]
fn the_workload_of_a_trace_can_be_simulated() {
    let folder = folder();
    let folder = folder.path();
    let sim = ["sim", "-w", "fork-wait:iterations=5", "-m", "xeon-5218", "-p", "cfs"];
    assert!(hearth(folder, &[&sim[..], &["-o", "a.trace"]].concat()).status.success());
    let extracted = hearth(folder, &["extract", "a.trace", "-o", "a.json", "--json"]);
    assert!(extracted.status.success(), "{}", text(&extracted.stderr));
    let document: Value = serde_json::from_slice(&extracted.stdout).expect("JSON");
    assert_eq!((&document["schema"], &document["threads"]), (&"hearth.extract/1".into(), &6.into()));
    let book =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/json.md")).expect("the book");
    let (_, section) = book.split_once("## hearth.extract/1").expect("a section");
    for key in document.as_object().expect("an object").keys().filter(|key| *key != "schema") {
        assert!(section.contains(&format!("`{key}`")), "{key} is not in docs/src/json.md");
    }
    let packed = hearth(folder, &["extract", "a.trace", "-o", "a.json.zst"]);
    assert!(text(&packed.stdout).contains("explained     100.0 %"), "{}", text(&packed.stdout));
    let sizes = ["a.json", "a.json.zst"].map(|name| fs::metadata(folder.join(name)).expect("a file").len());
    assert!(sizes[1] < sizes[0], "{sizes:?}");
    let short = hearth(folder, &["extract", "a.trace", "-o", "short.json", "--until", "5ms"]);
    assert!(text(&short.stdout).contains("unfinished)") && !text(&short.stdout).contains(" 0 unfinished)"));
    let time = |workload: &str| {
        let sim = hearth(folder, &["sim", "-w", workload, "-m", "xeon-5218", "-p", "cfs", "--json"]);
        let document: Value = serde_json::from_slice(&sim.stdout).expect("JSON");
        document["runs"][0]["time_s"].clone()
    };
    assert!(time("a.json").is_f64());
    assert_eq!(time("a.json"), time("a.json.zst"));
    assert!(time("short.json").as_f64() < time("a.json").as_f64());
}

#[test]
fn wrong_files_are_errors() {
    let folder = folder();
    let folder = folder.path();
    let extract = |trace, output| hearth(folder, &["extract", trace, "-o", output]);
    failed(&extract("none.trace", "a.json"), 1, &["none.trace", "No such file"]);
    failed(&extract("none.trace", "a.txt"), 2, &["a.txt: a workload is a JSON file", ".json.zst"]);
    failed(&extract("none.trace", "none/a.json"), 1, &["create the folder first"]);
    fs::write(folder.join("bad.json.zst"), "no Zstandard").expect("a file");
    let sim = hearth(folder, &["sim", "-w", "bad.json.zst", "-m", "xeon-5218", "-p", "cfs"]);
    failed(&sim, 1, &["cannot read bad.json.zst"]);
}
