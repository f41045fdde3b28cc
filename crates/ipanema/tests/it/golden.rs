//! The emitted C: of three policies as text, of all policies that it compiles without warnings.

use crate::harness::{compile_files, compiles, emitted};
use hearth_ipanema::{builtin, compile, emit};
use proptest::prelude::*;

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

/// C as a compiler reads it after its comments: without them, and without what strings say.
fn without_comments(c: &str) -> String {
    let spliced = c.replace("??/", "\\").replace("\\\n", "");
    let (mut code, mut rest) = (String::new(), spliced.as_str());
    while let Some(at) = rest.find(['/', '"', '\'']) {
        code.push_str(&rest[..at]);
        rest = &rest[at..];
        rest = match rest.as_bytes() {
            [b'/', b'*', ..] => rest[2..].split_once("*/").expect("an open comment").1,
            [b'/', b'/', ..] => rest.split_once('\n').map_or("", |(_, rest)| rest),
            [b'/', ..] => {
                code.push('/');
                &rest[1..]
            }
            [quote, ..] => {
                let text = &rest.as_bytes()[1..];
                let mut end = 0;
                while text[end] != *quote {
                    end += if text[end] == b'\\' { 2 } else { 1 };
                }
                code.push_str("\"\"");
                &rest[end + 2..]
            }
            [] => unreachable!(),
        };
    }
    code + rest
}

/// The C of ule with another documentation for all that is documented.
fn documented(doc: &str) -> Option<String> {
    let ule = builtin::source("ule").expect("a policy");
    let lines = ule.lines().map(|line| match line.split_once("///") {
        Some((before, _)) => format!("{before}/// {}\n", doc.replace(['\n', '\r'], " ")),
        None => format!("{line}\n"),
    });
    let policy: String = lines.collect();
    Some(emit::c(&compile_files(&[("ule", &policy)], "ule").ok()?.ir))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hearth_tests::cases(64, 10_000)))]

    /// Documentation is data: whatever it says, the C without comments is the same.
    #[test]
    fn documentation_changes_no_code(doc in hearth_tests::hostile()) {
        let plain = documented("plain").expect("it compiles");
        if let Some(c) = documented(&doc) {
            prop_assert_eq!(tokens(&without_comments(&c)), tokens(&without_comments(&plain)));
        }
    }
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
