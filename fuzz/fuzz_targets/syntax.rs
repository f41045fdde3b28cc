//! Parses and formats any text: nothing panics, spans lie within the text, and formatting is idempotent.

#![cfg_attr(fuzzing, no_main)]

use hearth_fuzz::fuzz_target;
use hearth_ipanema::diagnostic::render_all;
use hearth_ipanema::syntax::{format, parse};
use hearth_ipanema::{SourceId, Sources};

fuzz_target!(|text: &str| {
    let mut sources = Sources::new();
    let id = sources.add("fuzz.ipa", text);
    let parsed = parse(id, text);
    for diagnostic in &parsed.diagnostics {
        assert!(diagnostic.span.start <= diagnostic.span.end && diagnostic.span.end as usize <= text.len());
    }
    render_all(&parsed.diagnostics, &sources, false);
    match format(id, text) {
        Ok(once) => {
            let twice = format(SourceId::default(), &once).expect("formatted text is correct");
            assert_eq!(once, twice, "formatting is not idempotent");
        }
        Err(errors) => assert!(errors.iter().any(|diagnostic| diagnostic.is_error())),
    }
});
