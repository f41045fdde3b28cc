//! Proofs of policies.
//!
//! A line of passes: the IR of a policy -> [`theorems`]: WhyML that stands on the theory in
//! `proofs/`, and a list of [`Obligation`]s -> [`prove`]: Why3 and its provers, one obligation after
//! the other -> [`Report`]. What is proved is concurrent work conservation, after Lepers et al.,
//! "Provable Multicore Schedulers with Ipanema" (EuroSys 2020), the progress of steals, and
//! invariants; `docs/src/proofs.md` says what the model leaves out.

mod emit;
mod error;
mod obligation;
mod options;
mod proof_cache;
mod report;
mod run;
pub mod theory;
mod why3;

pub use emit::{Theorems, theorems};
pub use error::Error;
use hearth_ipanema::ir::{Expr, Place, Policy, Stmt, StmtKind};
pub use obligation::{Claim, Obligation, Property};
pub use options::Options;
pub use proof_cache::ProofCache;
pub use report::{Proved, Report, Verdict};
pub use run::{Lemmas, prove, prove_theory, vacuous};

/// An invariant of a policy: a closed boolean expression over its sets and parameters.
#[derive(Clone, Debug)]
pub struct Invariant {
    pub name: String,
    pub expr: Expr,
    pub at: Place,
}

/// The invariants that a policy declares.
pub fn invariants(policy: &Policy) -> Vec<Invariant> {
    let functions = policy.invariants.iter().map(|id| policy.function(*id));
    let stated = functions.filter_map(|function| match &function.body.as_slice() {
        [Stmt { kind: StmtKind::Return(Some(expr)), .. }] => {
            Some(Invariant { name: function.name.clone(), expr: expr.clone(), at: function.at.clone() })
        }
        _ => None,
    });
    stated.collect()
}
