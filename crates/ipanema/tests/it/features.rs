//! Composition of policies from features.

use crate::harness::{compile_files, compile_text, compiles};
use hearth_ipanema::syntax::parse;
use hearth_ipanema::{Compiled, Diagnostic, SourceId, builtin, compile, emit};
use proptest::prelude::*;
use std::collections::BTreeSet;

const SLOTS: [&str; 5] = ["election", "slice", "metric", "distance", "executor"];
/// Those of the base `warm`, and `idleness`, may be empty.
const OPTIONAL: [&str; 6] = ["idleness", "nest", "choice", "search", "moves", "spinning"];

/// The features of all products of the feature model.
fn products() -> Vec<Vec<&'static str>> {
    let mut products = vec![Vec::new()];
    for slot in SLOTS {
        let with = |product: &Vec<&'static str>| {
            let features = builtin::features_for(slot).into_iter().filter(|feature| *feature != "deadline");
            features.map(|feature| [&product[..], &[feature]].concat()).collect::<Vec<_>>()
        };
        products = products.iter().flat_map(with).collect();
    }
    let idle = products.iter().map(|product| [&product[..], &["idle"]].concat()).collect();
    [products, idle].concat()
}

fn product(name: &str) -> Compiled {
    compile(&|_: &str| None, name).unwrap_or_else(|failed| panic!("{failed}"))
}

#[test]
fn every_product_compiles() {
    let products = products();
    assert_eq!(products.len(), 486);
    let mut texts = BTreeSet::new();
    for features in products {
        let compiled = product(&features.join("+"));
        assert!(compiled.warnings.is_empty(), "{features:?}: {:?}", compiled.warnings);
        assert_eq!(compiled.ir.bases, [&features[..], &["family"]].concat());
        let c = emit::c(&compiled.ir);
        texts.insert(c.split_once("#include").expect("C").1.replace(&compiled.ir.name.replace('+', "_"), ""));
    }
    assert_eq!(texts.len(), 486, "no two products are the same");
}

#[test]
fn the_c_of_a_product_has_no_warnings() {
    for name in [
        "list+infinite+usedTime+smt+node",
        "fifo+split+nrRunBlock+all+one+idle",
        "warm+deadline+fixed+nrRun+all+one+nests+fast+defer+spin",
        "warm+rbtree+split+usedTime+llc+each+idle+recent+beyond+local",
    ] {
        compiles(&emit::c(&product(name).ir));
    }
}

#[test]
fn empty_defaults_leave_no_trace() {
    let ir = product("fifo+fixed+nrRun+all+one").ir;
    let names: Vec<&str> = ir.functions.iter().map(|f| f.name.as_str()).collect();
    for empty in ["ran", "used", "sleeps", "wakes"] {
        assert!(!names.contains(&empty), "{names:?}");
    }
    let events: Vec<&str> = ir.handlers.iter().map(|handler| handler.event.name()).collect();
    assert!(!events.contains(&"enqueue") && !events.contains(&"newly_idle"), "{events:?}");
    assert!(events.contains(&"terminate"));
}

#[test]
fn built_in_features_are_for_the_slot_of_the_table() {
    for slot in SLOTS.into_iter().chain(OPTIONAL) {
        for name in builtin::features_for(slot) {
            let text = builtin::source(name).expect("a feature");
            let feature = parse(SourceId::default(), &text).policy.expect("it parses");
            assert_eq!(feature.name.name, name);
            assert_eq!(feature.slot.expect("a feature has a slot").name, slot);
        }
    }
    assert_eq!(builtin::features().count(), 25);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: hearth_tests::cases(10, 160), ..ProptestConfig::default() })]
    /// Products do not depend on the order of their features.
    #[test]
    fn the_order_of_features_does_not_matter(index in 0..486_usize, seed in any::<u64>()) {
        let mut features = products().swap_remove(index);
        let expected = product(&features.join("+"));
        features.sort_by_key(|feature| (seed ^ feature.len() as u64).rotate_left(u32::from(feature.as_bytes()[0])));
        let found = product(&features.join("+"));
        prop_assert_eq!(emit::c(&found.ir), emit::c(&expected.ir));
        prop_assert_eq!(found.ir.name, expected.ir.name);
    }
}

// ---- what does not fit --------------------------------------------------------------------------

fn diagnostics(files: &[(&str, &str)], name: &str) -> Vec<Diagnostic> {
    compile_files(files, name).map_or_else(|failed| failed.diagnostics, |compiled| compiled.warnings)
}

/// The only diagnostic of a policy.
#[track_caller]
fn refused(code: &str, message: &str, help: &str, files: &[(&str, &str)]) {
    let found = diagnostics(files, files[0].0);
    let [only] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!((only.code.id, only.message.as_str()), (code, message));
    assert!(only.help.as_deref().unwrap_or_default().contains(help), "{:?}", only.help);
}

fn with(features: &str) -> String {
    format!("policy test extends family with {features};")
}

#[test]
fn a_feature_must_exist() {
    let text = with("fifo, splitt, nrRun, all, one");
    refused("E0311", "no feature is called `splitt`", "did you mean `split`?", &[("test", &text)]);
}

#[test]
fn features_and_policies_are_not_confused() {
    let text = with("fifo, split, nrRun, all, cfs");
    refused("E0312", "`cfs` is a policy, not a feature", "`extends cfs`", &[("test", &text)]);
    let text = "policy test extends fifo { }";
    refused("E0312", "`fifo` is a feature, not a policy", "with fifo", &[("test", text)]);
    let found = compile(&|_: &str| None, "fifo").expect_err("it is a feature").diagnostics;
    assert_eq!(found[0].code.id, "E0312");
}

#[test]
fn a_slot_takes_one_feature() {
    let text = with("fifo, rbtree, split, nrRun, all, one");
    let message = "`fifo` and `rbtree` are both for slot `election`";
    refused("E0313", message, "remove `fifo` or `rbtree`", &[("test", &text)]);
    let text = with("fifo, fifo, split, nrRun, all, one");
    refused("E0313", "`fifo` and `fifo` are both for slot `election`", "remove", &[("test", &text)]);
}

#[test]
fn a_slot_needs_a_feature() {
    let text = with("fifo, split, nrRun, all");
    let message = "slot `executor` of `family` has no feature";
    refused("E0313", message, "add one after `with`: one, node, each", &[("test", &text)]);
    let found = diagnostics(&[("test", "policy test extends family { }")], "test");
    assert_eq!(found.len(), SLOTS.len(), "{found:#?}");
    // A policy may fill a slot itself.
    let own = "policy test extends family with fifo, split, nrRun, one { domain reach(core home) { return numa(home); } }";
    assert!(compile_text(own).is_ok());
}

#[test]
fn a_base_must_have_the_slot() {
    let text = "policy test extends cfs with fifo;";
    let message = "`fifo` is for slot `election`, and `cfs` has none";
    refused("E0313", message, "`family` has", &[("test", text)]);
    let mine = "feature mine : elections { }";
    let text = with("mine, split, nrRun, all, one");
    let found = diagnostics(&[("test", &text), ("mine", mine)], "test");
    assert_eq!(found[0].help.as_deref(), Some("did you mean slot `election`?"));
}

#[test]
fn a_feature_declares_what_its_slot_needs() {
    let text = with("mine, fixed, nrRun, all, one");
    let mine = "feature mine : election { queue ready : fifo; }";
    let message = "`mine` does not declare `on schedule`, as slot `election` needs";
    refused("E0314", message, "", &[("test", &text), ("mine", mine)]);
    let text = with("fifo, fixed, mine, all, one");
    let mine = "feature mine : metric { int load_of(core c) { return 1; } }";
    let message = "`mine` declares `load_of` with other types, as slot `metric` needs";
    refused("E0314", message, "", &[("test", &text), ("mine", mine)]);
}

#[test]
fn a_feature_stays_in_its_slot() {
    let text = with("fifo, mine, nrRun, all, one");
    let slice = |own: &str| format!("feature mine : slice {{ on tick (thread t) {{ charge(t); }} {own} }}");
    let files = |own: &str| diagnostics(&[("test", &text), ("mine", &slice(own))], "test");
    assert_eq!(files("int helper(thread t) { return t.weight; }"), []);
    let found = files("void ran(thread t, time turn) { }");
    assert_eq!(found[0].message, "`ran` of feature `mine` is declared by `family`");
    let found = files("on yield (thread t) { t => t.core.ready; }");
    assert_eq!(found[0].message, "`on yield` of feature `mine` is declared by `family`");
    let found = files("thread { time charged; }");
    assert_eq!(found[0].code.id, "E0314");
}

#[test]
fn features_do_not_share_names() {
    let text = with("fifo, mine, nrRun, all, one");
    let mine = "feature mine : slice { global { time next; } on tick (thread t) { next = now; } }";
    let message = "`next` of feature `one` is also declared by feature `mine`";
    let help = "give it another name";
    refused("E0314", message, help, &[("test", &text), ("mine", mine)]);
}

#[test]
fn a_policy_replaces_what_its_features_declare() {
    let text = "policy test extends family with fifo, split, nrRun, all, one {
        load load_of(core c) { return super.load_of(c) * 2; }
    }";
    let compiled = compile_text(text).unwrap_or_else(|failed| panic!("{failed}"));
    assert!(emit::c(&compiled.ir).contains("test__nrRun_load_of("));
}

#[test]
fn names_of_products_are_names_of_features() {
    assert_eq!(product("idle+one+all+nrRun+split+fifo").ir.name, "fifo+split+nrRun+all+one+idle");
    for no in ["fifo", "+fifo", "fifo+", "a++b", "a+b.ipa", "a/b+c", "a +b"] {
        assert!(no == "fifo" || builtin::source(no).is_none(), "{no}");
    }
    let found = compile(&|_: &str| None, "cfs+fifo").expect_err("cfs has no slots").diagnostics;
    assert_eq!(found[0].code.id, "E0313");
    let text = builtin::source("fifo+one").expect("a product").into_owned();
    assert_eq!(text, "policy fifo+one extends family with fifo, one;\n");
}
