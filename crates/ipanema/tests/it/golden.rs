//! The emitted C: of three policies as text, of all policies that it compiles without warnings.

use crate::harness::{compile_files, compiles, emitted};
use hearth_ipanema::{builtin, compile, emit};

#[test]
fn emitted_c_is_as_expected() {
    let files = [("fixture", include_str!("../golden/fixture.ipa"))];
    let fixture = compile_files(&files, "fixture").unwrap_or_else(|failed| panic!("{failed}"));
    assert!(fixture.warnings.is_empty(), "{:?}", fixture.warnings);
    let fixture = emit::c(&fixture.ir);
    for (name, c) in [("ule-cwc", emitted("ule-cwc")), ("cfs-cwc", emitted("cfs-cwc")), ("fixture", fixture)]
    {
        hearth_tests::golden(format!("crates/ipanema/tests/golden/{name}.c"), &c);
    }
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
