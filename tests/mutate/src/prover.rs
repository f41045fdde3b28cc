//! The judge that runs the prover: rejects mutants that lose an obligation that the original meets.

use crate::judge::{Judge, Verdict};
use hearth_modelcheck::Faults;
use hearth_policy::Policy;
use hearth_prove::{Error, Obligation, Options, Session, Theorems, invariants, prove, theorems};

/// Proves the obligations of mutants that differ from those of the original, with Why3 and its provers.
pub struct Prover {
    original: Theorems,
    /// The proved obligations of the original.
    met: Vec<Obligation>,
    session: Session,
}

impl Prover {
    /// Proves the original.
    ///
    /// # Errors
    /// If Why3 or its provers cannot be run.
    pub fn new(original: &Policy) -> Result<Prover, Error> {
        let all = theorems(original.ir(), &invariants(original.ir()));
        let options = Options::default();
        let report = prove(original.ir(), &all, &options)?;
        let met = report.obligations.into_iter().filter(|one| one.verdict.holds());
        let met = met.map(|one| one.obligation).collect();
        Ok(Prover { original: all, met, session: Session::new(&options)? })
    }

    /// Whether the obligation has the same text as that of the original.
    fn is_unchanged(&self, of: &Theorems, obligation: &Obligation) -> bool {
        let text = |theorems: &Theorems, wanted: &Obligation| {
            let found = theorems.obligations.iter().find(|one| one.id == wanted.id)?;
            found.claim.module().map(|module| theorems.alone(module))
        };
        text(of, obligation).is_some_and(|made| Some(made) == text(&self.original, obligation))
    }

    fn meets(&self, all: &Theorems, obligation: &Obligation) -> bool {
        // If Why3 fails, nothing is proved.
        let verdicts = self.session.prove_all(&[(all, obligation)]);
        verdicts.is_ok_and(|verdicts| verdicts.first().is_some_and(|(verdict, _)| verdict.holds()))
    }
}

impl Judge for Prover {
    fn judge(&self, mutant: &Policy, faults: Faults) -> Option<Verdict> {
        // Proofs do not cover the steal algorithm.
        if faults != Faults::default() {
            return None;
        }
        let all = theorems(mutant.ir(), &invariants(mutant.ir()));
        let lost = self.met.iter().find(|due| match all.obligations.iter().find(|one| one.id == due.id) {
            Some(one) => !self.is_unchanged(&all, one) && !self.meets(&all, one),
            None => true,
        })?;
        Some(Verdict::Unproved { obligation: lost.id.to_string() })
    }
}
