//! Compares the diagnostics of each `diagnostics/*.ipa` with the golden file `.txt` of the same name.

use hearth_ipanema::diagnostic::render_all;
use hearth_ipanema::syntax::{Source, codes, parse};
use hearth_ipanema::{Compiled, SourceId, Sources, compile};

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

/// A policy with this many unused parameters, on one line or each on its own.
fn unused_params(count: usize, separator: &str) -> Compiled {
    let params = (0..count).map(|i| format!("param a{i} : int in 0..9 = 3;{separator}"));
    let text = format!("policy p extends cfs {{ {} }}", params.collect::<String>());
    compile(&|name: &str| (name == "p").then(|| Source { name: "p.ipa".into(), text: text.clone() }), "p")
        .unwrap_or_else(|failed| panic!("{failed}"))
}

#[test]
fn of_many_diagnostics_the_first_are_rendered_with_a_part_of_their_line() {
    let compiled = unused_params(1000, " ");
    assert_eq!(compiled.warnings.len(), 1000);
    let text = render_all(&compiled.warnings, &compiled.sources, false);
    assert!(text.ends_with("\n980 more warnings W0601 (unused parameter)\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() < 200), "{text}");
    // The column is that of the whole line.
    let source = &compiled.sources.get(SourceId(0)).unwrap().text;
    let column = source.find("a19 ").unwrap() + 1;
    assert!(text.contains(&format!("─[ p.ipa:1:{column} ]")), "{text}");
    assert!(
        text.contains("│ …m a16 : int in 0..9 = 3; param a17 :") && text.contains("; param a20 :…\n"),
        "{text}"
    );
}

#[test]
fn diagnostics_take_work_in_proportion_to_their_number() {
    for separator in [" ", "\n"] {
        let allocated = |count| {
            let work = allocation_counter::measure(|| {
                let compiled = unused_params(count, separator);
                render_all(&compiled.warnings, &compiled.sources, false);
                compiled.warnings.iter().for_each(|warning| drop(warning.to_json(&compiled.sources)));
            });
            work.bytes_total
        };
        let (few, many) = (allocated(500), allocated(4000));
        assert!(many < 12 * few, "500: {few} bytes, 4,000: {many} bytes");
    }
}
