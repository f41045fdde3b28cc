//! Proofs of policies.
//!
//! Passes: the IR of a policy -> [`theorems`]: WhyML that uses the theory in `proofs/`, and a list of
//! [`Obligation`]s -> [`prove`]: Why3 and its provers -> [`Report`]. The properties are concurrent work conservation
//! (Lepers et al., "Provable Multicore Schedulers with Ipanema", EuroSys 2020), progress of steals, and
//! invariants. `docs/src/proofs.md` says what the model leaves out.
//!
//! What cannot be translated is never left out: it makes the obligation not provable ([`Claim::NotModelled`]) or its
//! value arbitrary. The test `differential` of `tests/` compares verdicts with the model checker.

mod assumptions;
mod base;
mod code;
mod emit;
mod error;
mod judge;
mod obligation;
mod options;
mod proof_cache;
mod report;
mod run;
pub mod theory;
mod why3;
mod whyml;
mod words;

pub use assumptions::assumptions;
pub use base::fails_too;
pub use code::{COVERED, CodeFunction, CodeOptions, CodeReport, prove_c, prove_code, prove_runtime};
pub use emit::{Theorems, theorems};
pub use error::Error;
use hearth_ipanema::ir::{Expr, Function, Place, Policy, Stmt, StmtKind};
pub use judge::{Excluding, Judged, excluding};
pub use obligation::{Claim, Conclusion, Id, Obligation, Property};
pub use options::Options;
pub use proof_cache::ProofCache;
pub use report::{Proved, Report, Verdict};
pub use run::{
    Family, Lemmas, Search, Session, closure, contradictions, contradictions_of_theory, goals, prove,
    prove_family, prove_file, prove_theory, prove_watched,
};
pub use why3::Prover;

/// An invariant of a policy: a closed boolean expression over its sets and parameters.
#[derive(Clone, Debug)]
pub struct Invariant {
    pub name: String,
    /// `None` if the body is not a single `return`; such an invariant is not provable.
    pub expr: Option<Expr>,
    pub at: Place,
}

/// The invariants that a policy declares.
pub fn invariants(policy: &Policy) -> Vec<Invariant> {
    let functions = policy.invariants.iter().map(|id| policy.function(*id));
    let invariant = |function: &Function| {
        let expr = match function.body.as_slice() {
            [Stmt { kind: StmtKind::Return(Some(expr)), .. }] => Some(expr.clone()),
            _ => None,
        };
        Invariant { name: function.name.clone(), expr, at: function.at.clone() }
    };
    functions.map(invariant).collect()
}
