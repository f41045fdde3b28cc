//! The theory in `proofs/`: it holds, and it has no contradictions. Needs Why3, Z3 and CVC4.

use crate::common::{emitted, policy};
use hearth_prove::theory::FILES;
use hearth_prove::{
    Claim, Options, Property, Prover, Search, Theorems, contradictions, contradictions_of_theory, prove_file,
    prove_theory,
};
use std::process::Command;

#[test]
fn the_theory_holds() {
    for lemmas in prove_theory(&Options::default()).unwrap() {
        assert!(lemmas.parts > 0 && lemmas.open.is_empty(), "{lemmas:?}");
    }
}

#[test]
fn why3_has_no_warnings() {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in FILES {
        std::fs::write(folder.path().join(file), text).unwrap();
    }
    for (file, _) in FILES {
        let path = folder.path().join(file);
        let output =
            Command::new("why3").args(["prove", "-L"]).arg(folder.path()).arg(path).output().unwrap();
        assert!(output.status.success(), "{file}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{file}");
    }
}

/// The modules of the theory: name and text.
fn modules() -> impl Iterator<Item = (&'static str, &'static str)> {
    let modules = FILES.into_iter().flat_map(|(_, text)| text.split("\nmodule ").skip(1));
    modules.map(|text| text.split_once('\n').unwrap())
}

#[test]
fn theorems_that_obligations_name_exist() {
    let mut named = std::collections::BTreeSet::new();
    for policy_name in ["nest", "cfs-cwc", "ule-cwc"] {
        for obligation in emitted(&policy(policy_name)).obligations {
            if let Claim::Follows { theorem } = obligation.claim {
                named.insert(theorem);
            }
        }
    }
    assert!(!named.is_empty());
    for theorem in named {
        let (module, name) = theorem.split_once('.').unwrap_or((&theorem, "none"));
        let (_, text) = modules().find(|(known, _)| *known == module).unwrap_or_else(|| panic!("{theorem}"));
        let states =
            |kind: &str| [' ', ':'].iter().any(|end| text.contains(&format!("\n  {kind} {name}{end}")));
        assert!(["lemma", "let", "let rec", "let lemma"].into_iter().any(states), "{theorem}");
    }
}

/// A clone with `goal .` asks for a proof of each axiom.
#[test]
fn all_axioms_are_proved_of_a_model() {
    let clones = modules().flat_map(|(_, text)| text.split("clone ").skip(1));
    let proved: Vec<_> = clones
        .filter(|clone| clone.split("\n\n").next().unwrap().contains("goal ."))
        .map(|clone| clone.split_whitespace().next().unwrap().rsplit('.').next().unwrap())
        .collect();
    for (module, _) in modules().filter(|(_, text)| text.contains("\n  axiom ")) {
        assert!(proved.contains(&module), "{module} has axioms without a model: {proved:?}");
    }
}

/// Variables, contracts that the modules Steal and Steal_alone implement, and what theorems assume: the parts of an
/// event, and the events that an event causes.
#[test]
fn all_other_programs_have_bodies() {
    let lines = modules().flat_map(|(_, text)| text.lines()).filter_map(|line| line.strip_prefix("  val "));
    let names: Vec<_> = lines.map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(names, ["now_state", "steal", "schedule", "newly_idle", "moved", "steal_alone", "caused"]);
}

/// Each prover searched all contexts but those that are too large, and found nothing.
fn consistent(searches: &[Search], contexts: usize) {
    assert_eq!(searches.iter().map(|s| s.prover).collect::<Vec<_>>(), [Prover::Z3, Prover::Cvc4]);
    for search in searches {
        assert_eq!(search.contexts + search.too_large.len(), contexts);
        println!("{:?}: too large: {:?}", search.prover, search.too_large);
        assert_eq!(search.contradictory, Vec::<String>::new(), "{:?}", search.prover);
    }
}

#[test]
fn no_module_contradicts_another() {
    consistent(&contradictions_of_theory(&Options::default()).unwrap(), modules().count());
}

/// Both provers look for contradictions in what the obligations of these policies assume.
fn search(policies: &[&str]) {
    for name in policies {
        let mut theorems = emitted(&policy(name));
        // Nest does not claim the first two, nor CFS and what extends it the last one, and Why3 takes long to split them.
        let ule_or_cwc = name.starts_with("ule") || name.contains("cwc");
        theorems.obligations.retain(|o| match (o.property, &*o.id.about) {
            (Property::Conservation, "new" | "unblock") => *name != "nest",
            (Property::Waiting, "balance") => ule_or_cwc,
            _ => true,
        });
        let goals = theorems.obligations.iter().filter(|o| o.claim.module().is_some()).count();
        let start = std::time::Instant::now();
        consistent(&contradictions(&theorems, &Options::default()).unwrap(), 1 + goals);
        println!("{name}: {} contexts, {:.1} s", 1 + goals, start.elapsed().as_secs_f64());
    }
}

#[test]
#[ignore = "minutes: make test-all"]
fn no_obligation_holds_whatever_it_says() {
    search(&["ule-cwc", "cfs-cwc-flat"]);
}

#[test]
#[ignore = "minutes: make test-all"]
fn no_obligation_of_another_policy_holds_whatever_it_says() {
    search(&["ule", "cfs-cwc", "cfs", "nest", "eevdf", "ember", "cfs-5-4", "slocal", "smove"]);
}

/// What both provers find in a changed policy.
fn found(theorems: &Theorems) -> Vec<String> {
    let [z3, cvc4] = <[Search; 2]>::try_from(contradictions(theorems, &Options::default()).unwrap()).unwrap();
    assert_eq!(z3.contradictory, cvc4.contradictory);
    z3.contradictory
}

#[test]
fn a_planted_contradiction_is_found() {
    let mut theorems = emitted(&policy("cfs-cwc-flat"));
    theorems.obligations.retain(|o| o.id.about == "new");
    assert_eq!(found(&theorems), Vec::<String>::new());

    let in_new = theorems.changed("is_core origin", "is_core origin /\\ origin < 0");
    assert_ne!(in_new.whyml, theorems.whyml);
    assert_eq!(found(&in_new), ["new: no core stays idle while the thread makes another overloaded"]);

    let in_all = theorems.changed("exception Gone", "exception Gone\n  axiom none: nr_queues = 0");
    let goals = in_all.obligations.iter().filter(|o| o.claim.module().is_some());
    let all: Vec<_> = ["Policy".into()].into_iter().chain(goals.map(|o| o.id.to_string())).collect();
    assert_eq!(found(&in_all), all);
}

/// The open parts of a file of the theory after a change of one file.
fn open(file: &'static str, changed: &str, from: &str, to: &str) -> Vec<String> {
    let (_, text) = FILES.into_iter().find(|(name, _)| *name == changed).unwrap();
    assert!(text.contains(from), "{changed}: no `{from}`");
    let text = text.replacen(from, to, 1);
    prove_file(file, &[(changed, &text)], &Options::default()).unwrap().open
}

#[test]
fn a_program_needs_its_precondition() {
    let absent = "requires { consistent !now_state /\\ absent !now_state t }";
    assert_ne!(
        open("events.mlw", "events.mlw", absent, "requires { consistent !now_state }"),
        Vec::<String>::new()
    );
}

#[test]
fn an_outcome_that_cannot_be_is_not_proved() {
    let rely = "ensures  { rely (old !now_state) !now_state }\n  = now_state := (any view ensures { consistent result /\\";
    let none = "ensures  { rely (old !now_state) !now_state }\n  = now_state := (any view ensures { not sound result /\\";
    assert_ne!(open("events.mlw", "events.mlw", rely, none), Vec::<String>::new());
}

#[test]
fn an_axiom_that_the_machine_lacks_is_not_proved() {
    let own = "axiom inside_own: forall l c. is_core c -> inside c (domain_of l c)";
    let other = "axiom inside_own: forall l c. is_core c -> not inside c (domain_of l c)";
    assert_ne!(open("machine.mlw", "events.mlw", own, other), Vec::<String>::new());
}

/// Why3 cannot replace a program that writes a global variable by another, so these contracts are written twice.
#[test]
fn the_contract_of_a_steal_is_that_of_its_implementation() {
    for (file, name, lines) in [("steal.mlw", "steal", 3), ("alone.mlw", "steal_alone", 4)] {
        let (_, text) = FILES.into_iter().find(|(other, _)| *other == file).unwrap();
        let contract = |start: &str| {
            let head = format!("{start} {name} (dst: int) (from: cset) : unit\n");
            let (_, text) = text.split_once(&head).unwrap();
            text.lines().take_while(|line| line.starts_with("    ")).collect::<Vec<_>>()
        };
        assert_eq!(contract("val").len(), lines);
        assert_eq!(contract("val"), contract("let"));
    }
}
