//! Compares the diagnostics of each `diagnostics/*.ipa` with the golden file `.txt` of the same name.

use hearth_ipanema::syntax::{codes, parse};
use hearth_ipanema::{SourceId, Sources};

#[test]
fn diagnostics_are_as_expected() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/diagnostics");
    let mut count = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "ipa") {
            continue;
        }
        count += 1;
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let parsed = parse(SourceId::default(), &text);
        assert!(!parsed.diagnostics.is_empty(), "{name} is correct");
        let actual = crate::common::rendered(&name, &text, &parsed.diagnostics);
        hearth_tests::golden(path.with_extension("txt"), &actual);
    }
    assert!(count > 0);
}

#[test]
fn every_code_is_unique_and_has_its_severity() {
    let mut ids: Vec<_> = codes::ALL.iter().map(|code| code.id).collect();
    assert!(ids.is_sorted());
    ids.dedup();
    assert_eq!(ids.len(), codes::ALL.len());
}

#[test]
fn json_names_lines_and_columns() {
    let mut sources = Sources::new();
    let text = "policy x {\n    /* ä */ param a : int = ;\n}\n";
    let id = sources.add("x.ipa", text);
    let parsed = parse(id, text);
    let json: Vec<_> = parsed.diagnostics.iter().map(|diagnostic| diagnostic.to_json(&sources)).collect();
    assert_eq!(
        serde_json::json!(json),
        serde_json::json!([{
            "code": "E0201",
            "severity": "error",
            "message": "expected an expression, found `;`",
            "place": {
                "file": "x.ipa", "start": 40, "end": 41,
                "line": 2, "column": 29, "end_line": 2, "end_column": 30,
            },
            "labels": [{
                "message": "expected an expression",
                "place": {
                    "file": "x.ipa", "start": 40, "end": 41,
                    "line": 2, "column": 29, "end_line": 2, "end_column": 30,
                },
            }],
            "help": null,
        }])
    );
}
