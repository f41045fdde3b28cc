//! What several tests need. Each test uses a part of it.
#![allow(dead_code)]

use hearth_ipanema::ir::Policy;
use hearth_ipanema::syntax::Source;
use hearth_ipanema::{Compiled, compile};
use hearth_prove::{Options, Property, Report, Theorems, invariants, prove, theorems};

/// The text of a policy in `policies/`.
pub fn text(name: &str) -> String {
    let path = format!("{}/../../policies/{name}.ipa", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A policy of `policies/`, with `changes` made in its text and in that of its bases: each is what
/// stands there, and what stands there instead.
pub fn changed(name: &str, changes: &[(&str, &str)]) -> Policy {
    let made = std::cell::RefCell::new(vec![false; changes.len()]);
    let provider = |wanted: &str| {
        let path = format!("{}/../../policies/{wanted}.ipa", env!("CARGO_MANIFEST_DIR"));
        let mut text = std::fs::read_to_string(path).ok()?;
        for (made, (from, to)) in made.borrow_mut().iter_mut().zip(changes) {
            *made |= text.contains(from);
            text = text.replace(from, to);
        }
        Some(Source { name: format!("{wanted}.ipa"), text })
    };
    let Compiled { ir, .. } = compile(&provider, name).unwrap_or_else(|failed| panic!("{failed}"));
    for (made, (from, _)) in made.borrow().iter().zip(changes) {
        assert!(made, "{name} has no `{from}` any more");
    }
    ir
}

/// The policy of a file; its bases are in `policies/`.
pub fn policy_of(file: &str) -> Policy {
    let provider = |wanted: &str| {
        let path = match wanted == file {
            true => file.to_owned(),
            false => format!("{}/../../policies/{wanted}.ipa", env!("CARGO_MANIFEST_DIR")),
        };
        Some(Source { text: std::fs::read_to_string(&path).ok()?, name: path })
    };
    compile(&provider, file).unwrap_or_else(|failed| panic!("{failed}")).ir
}

pub fn policy(name: &str) -> Policy {
    changed(name, &[])
}

pub fn emitted(policy: &Policy) -> Theorems {
    theorems(policy, &invariants(policy))
}

pub fn proved(policy: &Policy, properties: &[Property]) -> Report {
    let options = Options { properties: properties.to_vec(), ..Options::default() };
    prove(policy, &emitted(policy), &options).unwrap_or_else(|error| panic!("{error}"))
}

/// What does not hold, as lines of text.
pub fn failed(report: &Report) -> Vec<String> {
    let open = report.obligations.iter().filter(|o| !o.verdict.holds());
    open.map(|o| format!("{}: {}: {:?}", o.obligation.id.about, o.obligation.id.what, o.verdict)).collect()
}
