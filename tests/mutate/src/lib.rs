//! Mutation testing of policies: makes one small change at a time, modelled on bugs of real schedulers, and checks
//! whether a tool detects it.
//!
//! A mutant changes one place of a policy's source text ([`mutants`] generates all), or injects a fault into
//! the steal algorithm that the language cannot express. The compiler rejects some mutants
//! ([`Verdict::Rejected`]). The others go to each [`Judge`]: the [`ModelChecker`] and the [`Prover`]. A mutant that
//! no judge refutes [survives](Verdict::Survives): it is equivalent to the original, or no judge covers the change.
//!
//! ```
//! use hearth_mutate::{Operator, Subject, mutants};
//!
//! let subject = Subject::new(hearth_policy::load("ule-cwc").expect("ule-cwc is a valid policy"));
//! let min_max: Vec<_> =
//!     mutants(&subject).into_iter().filter(|m| m.operator == Operator::MinMax).collect();
//! assert!(min_max.iter().any(|m| m.before.contains("max by src.nr_running")));
//! ```

mod checker;
mod find;
mod judge;
mod mutant;
mod operator;
mod prover;
mod score;
mod subject;
#[cfg(test)]
mod tests;
mod visit;

pub use checker::{ModelChecker, Promise};
pub use find::mutants;
pub use judge::{Judge, Kill, MutantVerdict, Verdict, judge_all};
pub use mutant::{Change, Mutant};
pub use operator::Operator;
pub use prover::Prover;
pub use score::Score;
pub use subject::Subject;
