//! Any text: all passes survive it, and what is wrong with it is said.

#![no_main]

use hearth_ipanema::syntax::{Source, parse};
use hearth_ipanema::{SourceId, compile, emit};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Some(policy) = parse(SourceId::default(), text).policy else { return };
    let name = policy.name.name;
    let provider = |wanted: &str| {
        (wanted == name).then(|| Source { name: "fuzz.ipa".to_owned(), text: text.to_owned() })
    };
    match compile(&provider, &name) {
        Ok(compiled) => drop(emit::c(&compiled.ir)),
        Err(failed) => assert!(failed.diagnostics.iter().any(|diagnostic| diagnostic.is_error())),
    }
});
