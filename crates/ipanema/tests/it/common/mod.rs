//! Helpers shared by the tests; each test uses some of them.
#![allow(dead_code)]

pub mod generate;

use hearth_ipanema::diagnostic::{Diagnostic, render_all};
use hearth_ipanema::syntax::ast::Policy;
use hearth_ipanema::syntax::parse;
use hearth_ipanema::{SourceId, Sources};
use std::path::Path;

/// Name and text of the built-in policies and features.
pub fn policies() -> Vec<(String, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
    let folders = [dir.join("features"), dir];
    let mut found: Vec<_> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ipa"))
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read_to_string(&path).unwrap(),
            )
        })
        .collect();
    found.sort();
    assert!(found.len() >= 4);
    found
}

/// Diagnostics of a text, rendered as for users.
pub fn rendered(name: &str, text: &str, diagnostics: &[Diagnostic]) -> String {
    let mut sources = Sources::new();
    sources.add(name, text);
    render_all(diagnostics, &sources, false)
}

/// Parses a text that must have no errors or warnings.
pub fn parse_clean(name: &str, text: &str) -> Policy {
    let parsed = parse(SourceId::default(), text);
    assert!(parsed.diagnostics.is_empty(), "{}\n{text}", rendered(name, text, &parsed.diagnostics));
    parsed.policy.unwrap()
}

/// Serialised tree without spans.
pub fn without_spans(policy: &Policy) -> serde_json::Value {
    let mut tree = serde_json::to_value(policy).unwrap();
    strip(&mut tree);
    tree
}

fn strip(tree: &mut serde_json::Value) {
    match tree {
        serde_json::Value::Object(fields) => {
            if fields.len() == 3 && ["source", "start", "end"].iter().all(|key| fields.contains_key(*key)) {
                *tree = serde_json::Value::Null;
            } else {
                fields.values_mut().for_each(strip);
            }
        }
        serde_json::Value::Array(elements) => elements.iter_mut().for_each(strip),
        _ => {}
    }
}
