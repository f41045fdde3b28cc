//! The rule by which the prover is judged: what the model checker refutes, the prover must not call proved.
//!
//! `HEARTH_DIFFERENTIAL=FIRST..LAST` selects the seeds of the random policies. Each policy that the model checker
//! refutes goes to the prover, until an obligation of the refuted property is not proved.

mod generate;

use generate::Material;
use hearth_modelcheck::{Options as Explore, Property as Refuted, Violation, check, standard_scenarios};
use hearth_policy::Policy;
use hearth_prove::{Claim, Obligation, Options, Property, Theorems, invariants, prove, theorems};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// States per scenario. Most violations are found within the first few hundred.
const STATES: usize = 1_500;

#[derive(Debug, Default)]
struct Outcome {
    policies: usize,
    rejected: usize,
    refuted: BTreeMap<String, usize>,
    /// Refuted policies of which all obligations of the property hold: defects of the prover.
    unsound: Vec<String>,
}

#[test]
fn what_is_refuted_is_not_proved() {
    let why3 = std::process::Command::new("why3").arg("--version").output();
    assert!(why3.is_ok(), "there is no why3 (on Debian: apt-get install why3 z3)");
    let seeds = seeds();
    let (material, next) = (Material::new(), AtomicU64::new(seeds.start));
    let outcome = Mutex::new(Outcome::default());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    judge(&material, seed, &outcome);
                }
            });
        }
    });
    let outcome = outcome.into_inner().expect("no thread panicked");
    println!(
        "{} policies, {} rejected by the compiler, refuted: {:?}",
        outcome.policies, outcome.rejected, outcome.refuted
    );
    assert!(outcome.unsound.is_empty(), "{}", outcome.unsound.join("\n\n"));
    if outcome.policies >= 300 {
        for property in [Refuted::Safety, Refuted::Invariant, Refuted::Cwc] {
            assert!(outcome.refuted.contains_key(&property.to_string()), "nothing refutes {property}");
        }
    }
}

fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var("HEARTH_DIFFERENTIAL") else { return 0..300 };
    let (first, last) = text.split_once("..").expect("HEARTH_DIFFERENTIAL is FIRST..LAST");
    first.parse().expect("a number")..last.parse().expect("a number")
}

fn judge(material: &Material, seed: u64, outcome: &Mutex<Outcome>) {
    let (text, policy) = material.policy(seed);
    let Some(policy) = policy else {
        let mut outcome = outcome.lock().expect("no thread panicked");
        outcome.policies += 1;
        outcome.rejected += 1;
        return;
    };
    let refuted = refutations(&policy);
    let proved: Vec<&Violation> = refuted.values().filter(|violation| all_hold(&policy, violation)).collect();
    let mut outcome = outcome.lock().expect("no thread panicked");
    outcome.policies += 1;
    for property in refuted.keys() {
        *outcome.refuted.entry(property.clone()).or_default() += 1;
    }
    for violation in proved {
        let exception = format!("seed {seed}: {violation}, and the prover calls it proved:\n{text}");
        eprintln!("{exception}");
        outcome.unsound.push(exception);
    }
}

/// The first violation of each property.
fn refutations(policy: &Policy) -> BTreeMap<String, Violation> {
    let options = Explore { max_states: STATES, cwc: true, ..Explore::default() };
    let mut found = BTreeMap::new();
    for scenario in standard_scenarios() {
        let outcome = check(policy, &scenario, &options);
        if let Some(counterexample) = outcome.ok().and_then(|outcome| outcome.violation) {
            let violation = counterexample.violation;
            found.entry(violation.property.to_string()).or_insert(violation);
        }
    }
    found
}

/// True if every obligation that excludes the violation is proved. Without such an obligation the prover claims
/// nothing wrong, except about an invariant: it holds if no event has an obligation to keep it.
fn all_hold(policy: &Policy, violation: &Violation) -> bool {
    let theorems = theorems(policy.ir(), &invariants(policy.ir()));
    let excludes = |o: &&Obligation| match violation.property {
        Refuted::Cwc | Refuted::Collision => o.property == Property::Conservation,
        Refuted::Invariant => o.id.what.starts_with("keeps "),
        Refuted::Claims => o.id.what.contains("claims"),
        Refuted::Safety if violation.what.contains("may not run") => o.id.what.contains("affinity"),
        Refuted::Safety => true,
        // Not among the options of `refutations`.
        Refuted::Livelock | Refuted::Waiting | Refuted::Conservation => false,
    };
    let mut obligations: Vec<&Obligation> = theorems.obligations.iter().filter(excludes).collect();
    // What needs no prover comes first.
    obligations.sort_by_key(|o| matches!(o.claim, Claim::Goal { .. }));
    let claimed = violation.property == Refuted::Invariant || !obligations.is_empty();
    claimed && obligations.into_iter().all(|obligation| holds(policy, &theorems, obligation))
}

fn holds(policy: &Policy, theorems: &Theorems, obligation: &Obligation) -> bool {
    let alone = Obligation { rests_on: Vec::new(), ..obligation.clone() };
    let theorems = Theorems { obligations: vec![alone], ..theorems.clone() };
    let options = Options { at_once: 1, steps: 900_000, ..Options::default() };
    prove(policy.ir(), &theorems, &options).is_ok_and(|report| report.holds())
}
