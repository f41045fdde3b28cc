//! Mutation testing of policies: breaks a policy in the small ways in which real schedulers broke,
//! one at a time, and looks whether anything notices.
//!
//! A mutant is a change of one place of a policy's source text ([`mutants`] finds all), or a fault of
//! the machinery below the policy that the language cannot express. Whoever can tell that a mutant is
//! wrong is a [`Judge`]: here the compiler ([`Verdict::Rejected`]), then the model checker
//! ([`ModelChecker`]). What is left [survives](Verdict::Survives): either no judge looked where it is
//! wrong, or it does what the original does.
//!
//! ```
//! use hearth_mutate::{Operator, Subject, mutants};
//!
//! let subject = Subject::new(hearth_policy::load("ule-cwc").expect("it is sound"));
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
pub use judge::{Judge, Judged, Kill, Verdict, judge_all};
pub use mutant::{Change, Mutant};
pub use operator::Operator;
pub use prover::Prover;
pub use score::Score;
pub use subject::Subject;
