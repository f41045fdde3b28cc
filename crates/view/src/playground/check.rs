//! The compiler's diagnostics, for the editor.

use crate::playground::document::Document;
use hearth_ipanema::{Diagnostic, SourceId, Sources, Span};
use hearth_policy::{Param, Unit};
use serde::Serialize;

#[derive(Serialize)]
pub struct Checked {
    /// The policy's name; `None`: it has errors.
    policy: Option<String>,
    diagnostics: Vec<Marker>,
    params: Vec<Bounds>,
}

#[derive(Serialize)]
struct Marker {
    /// Offsets in UTF-16 code units, as browsers count.
    from: usize,
    to: usize,
    /// Both from 1.
    line: usize,
    column: usize,
    severity: hearth_ipanema::diagnostic::Severity,
    code: &'static str,
    message: String,
    help: Option<String>,
}

/// A parameter and its bounds.
#[derive(Serialize)]
struct Bounds {
    name: String,
    doc: String,
    unit: Unit,
    min: i64,
    max: i64,
    initial: i64,
}

/// What `hearth check` says.
pub fn check(document: &Document, text: &str) -> Checked {
    match document.compile(text) {
        Ok(policy) => Checked {
            policy: Some(policy.name().to_owned()),
            diagnostics: markers(document, text, policy.warnings(), policy.sources()),
            params: policy.params().iter().map(Bounds::new).collect(),
        },
        Err(failed) => Checked {
            policy: None,
            diagnostics: markers(document, text, &failed.diagnostics, &failed.sources),
            params: Vec::new(),
        },
    }
}

fn markers(document: &Document, text: &str, found: &[Diagnostic], sources: &Sources) -> Vec<Marker> {
    // What is wrong in a base is shown at its name.
    let base = std::cell::LazyCell::new(|| extends(document, text));
    let is_own = |found: &Diagnostic| found.span.source == SourceId(0);
    let span = |found: &Diagnostic| if is_own(found) { found.span } else { *base };
    found.iter().map(|found| Marker::new(found, span(found), sources)).collect()
}

impl Marker {
    fn new(found: &Diagnostic, span: Span, sources: &Sources) -> Marker {
        let mut message = found.message.clone();
        for label in found.labels.iter().filter(|label| label.span == found.span) {
            message += &format!("\n{}", label.message);
        }
        if found.span.source != SourceId(0) {
            message = format!("in a policy that this one extends: {message}");
        }
        let (line, column) = sources.line_and_column(span.source, span.start);
        Marker {
            from: sources.utf16(span.source, span.start),
            to: sources.utf16(span.source, span.end),
            line,
            column,
            severity: found.severity,
            code: found.code.id,
            message,
            help: found.help.clone(),
        }
    }
}

/// The name of the policy's base, or its own.
fn extends(document: &Document, text: &str) -> Span {
    let analysis = document.analyse(text);
    let named =
        |policy: &hearth_ipanema::syntax::ast::Policy| policy.base.as_ref().unwrap_or(&policy.name).span;
    analysis.chain.first().map_or_else(Span::default, named)
}

/// The offset in UTF-16 code units of a byte.
pub fn utf16(text: &str, offset: u32) -> usize {
    let mut offset = (offset as usize).min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    text[..offset].encode_utf16().count()
}

impl Bounds {
    fn new(param: &Param) -> Bounds {
        let Param { name, doc, unit, min, max, initial } = param.clone();
        Bounds { name, doc, unit, min, max, initial }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn checked(text: &str) -> Checked {
        check(&Document::copy("cfs", Path::new(".")).unwrap(), text)
    }

    #[test]
    fn errors_have_the_place_that_the_compiler_says() {
        // 🔥 has four bytes and two UTF-16 code units.
        let text = "policy mine extends cfs {\n    /* 🔥 */ param x : int in 0..9 = 12;\n}\n";
        let found = checked(text);
        assert_eq!(found.policy, None);
        let [error] = &found.diagnostics[..] else { panic!("{} diagnostics", found.diagnostics.len()) };
        let at = text.find("12").unwrap();
        assert_eq!((error.from, error.to), (at - 2, at));
        assert_eq!((error.line, error.column), (2, 37));
    }

    #[test]
    fn a_sound_policy_has_parameters() {
        let found = checked("policy mine extends cfs { param linger : time in 0ms..100ms = 1ms; }");
        assert_eq!(found.policy.as_deref(), Some("mine"));
        let linger = found.params.iter().find(|param| param.name == "linger").unwrap();
        assert_eq!((linger.min, linger.max, linger.initial), (0, 100_000_000, 1_000_000));
        assert!(matches!(linger.unit, Unit::Time));
    }

    #[test]
    fn errors_of_a_base_are_at_its_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("base.ipa"), "policy base extends cfs { nonsense }").unwrap();
        let path = folder.path().join("mine.ipa");
        std::fs::write(&path, "policy mine extends base { }").unwrap();
        let document = Document::open(&path).unwrap();
        let found = check(&document, document.opened());
        let error = &found.diagnostics[0];
        assert_eq!((error.from, error.to), (20, 24));
        assert!(error.message.starts_with("in a policy that this one extends"), "{}", error.message);
    }
}
