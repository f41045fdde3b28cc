//! Tests of `hearth mutate`.

use crate::{fails, folder};
use serde_json::Value;
use std::process::Command;

fn printed(args: &[&str]) -> String {
    crate::printed(folder().path(), args)
}

#[test]
fn the_mutants_of_a_policy() {
    let mutants = printed(&["mutate", "smove", "--own", "--list"]);
    hearth_tests::golden("crates/hearth/tests/golden/smove.mutants", &mutants);
}

const ULE: [&str; 5] = ["mutate", "ule-cwc", "--own", "--max-states", "2000"];

#[test]
fn a_steal_that_sees_its_die_only_is_refuted() {
    let text = printed(&ULE);
    let expected = "\
ule-cwc.ipa:5: narrow
  - pull(c, waiting);
  + pull(c, waiting & llc(c));
  refuted by ";
    assert!(text.starts_with(expected) && text.contains(": concurrent work conservation after "), "{text}");
    assert!(text.contains("2 mutants: 0 do not compile, 2 refuted, 0 survive; 100% noticed"), "{text}");
}

#[test]
fn as_json_and_by_operator() {
    let args = [&ULE[..], &["statement", "--json", "-j", "2"]].concat();
    let json: Value = serde_json::from_str(&printed(&args)).expect("one JSON document");
    assert_eq!(json["schema"], "hearth.mutate/1");
    assert_eq!(json["score"]["mutants"], 1);
    let mutant = &json["mutants"][0];
    assert_eq!(mutant["operator"], "statement");
    assert_eq!((&mutant["line"], &mutant["verdict"]), (&5.into(), &"refuted".into()));
    assert_eq!(mutant["property"], "cwc");
    let kept = json["scenarios"].as_array().expect("a list");
    assert!(kept.iter().any(|one| one["scenario"] == "wake-2" && one["cwc"] == true));
}

/// Mutants of a policy that does not conserve work need not conserve it.
#[test]
fn only_what_the_original_keeps_counts() {
    let args = ["mutate", "slocal", "--own", "--max-states", "500", "--json"];
    let json: Value = serde_json::from_str(&printed(&args)).expect("one JSON document");
    let kept = json["scenarios"].as_array().expect("a list");
    assert!(kept.iter().any(|one| one["scenario"] == "wake-2" && one["cwc"] == false));
}

#[test]
fn wrong_arguments() {
    fails(&["mutate", "nset"], 1, &["did you mean `nest`"]);
    fails(&["mutate", "nest", "off-by-two"], 2, &["off-by-one"]);
    fails(&["mutate", "nest", "--max-states", "0"], 2, &["--max-states"]);
    fails(&["mutate"], 2, &["<POLICY>"]);
}

/// No small scenario needs the second search of a fork: it matters only between two reads of another core's event. The
/// second half of the test needs Why3 and Z3.
#[test]
fn the_provers_detect_what_the_model_checker_misses() {
    let asked = ["mutate", "cfs-cwc", "narrow", "--own", "--max-states", "300"];
    let survives =
        |text: &str| text.split("cfs-cwc.ipa:17").nth(1).is_some_and(|rest| rest.contains("  survives"));
    assert!(survives(&printed(&asked)));
    if Command::new("why3").arg("--version").output().is_ok()
        && Command::new("z3").arg("--version").output().is_ok()
    {
        let proved = printed(&[&asked[..], &["--prove"]].concat());
        assert!(proved.contains("loses a proof: new: no core stays idle"), "{proved}");
    }
}
