//! Compares the C of the built-in policies with `golden/*.c`. To accept changes:
//! `BLESS=1 cargo test -p hearth-ipanema --test golden`.

use crate::harness::{compiles, emitted};
use hearth_ipanema::{builtin, compile};
use std::path::Path;

#[test]
fn emitted_c_is_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut stale = Vec::new();
    for name in builtin::NAMES.into_iter().chain(["cfs-like", "ule-like"]) {
        let path = folder.join(format!("{name}.c"));
        let c = emitted(name);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &c).unwrap();
        } else if std::fs::read_to_string(&path).ok().as_deref() != Some(&c) {
            stale.push(name);
        }
    }
    assert!(
        stale.is_empty(),
        "the C of {stale:?} changed; check the difference, then accept it with BLESS=1"
    );
}

/// Contracts are comments, so what is proved is the C that runs.
#[test]
fn contracts_leave_the_c_as_it_is() {
    for name in builtin::NAMES {
        let policy = compile(&|_: &str| None, name).unwrap().ir;
        let contracts = hearth_ipanema::emit::contracts(&policy);
        assert!(contracts.c.contains("/*@"));
        assert_eq!(tokens(&without_contracts(&contracts.c)), tokens(&emitted(name)), "{name}");
    }
}

/// Removes `/*@ ... */`, and the comma before it among the arguments of a macro.
fn without_contracts(c: &str) -> String {
    let mut parts = c.split("/*@");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, rest) = part.split_once("*/").unwrap();
        let before = text.trim_end();
        text.truncate(before.strip_suffix(',').unwrap_or(before).len());
        text += rest;
    }
    text
}

/// The text without blanks.
fn tokens(c: &str) -> String {
    c.split_whitespace().collect()
}

#[test]
fn emitted_c_has_no_warnings() {
    for name in builtin::NAMES {
        compiles(&emitted(name));
    }
}

#[test]
fn built_in_policies_have_no_warnings() {
    for name in builtin::NAMES {
        let compiled = compile(&|_: &str| None, name).unwrap();
        assert!(compiled.warnings.is_empty(), "{name}: {:?}", compiled.warnings);
    }
}

#[test]
fn the_ir_is_json() {
    for name in builtin::NAMES {
        let compiled = compile(&|_: &str| None, name).unwrap();
        let json: serde_json::Value = serde_json::from_str(&compiled.ir.to_json()).unwrap();
        assert_eq!(json["name"], name);
        assert!(json["handlers"].as_array().is_some_and(|handlers| handlers.len() >= 7));
    }
}
