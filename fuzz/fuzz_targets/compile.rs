//! Compiles any text: no pass panics, and a rejected policy has an error.

#![cfg_attr(fuzzing, no_main)]

use hearth_fuzz::fuzz_target;
use hearth_ipanema::syntax::{Source, parse};
use hearth_ipanema::{SourceId, compile, emit};

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
