//! The prover as a judge of mutants: does one lose an obligation that the original meets?

use crate::judge::{Judge, Verdict};
use hearth_modelcheck::Faults;
use hearth_policy::Policy;
use hearth_prove::{Error, Obligation, Options, Theorems, invariants, prove, theorems};

/// Proves again what a mutant owes anew, with Why3 and its provers.
pub struct Prover {
    original: Theorems,
    /// What is proved of the original.
    met: Vec<Obligation>,
    options: Options,
}

impl Prover {
    /// Proves the original.
    ///
    /// # Errors
    /// Why3 or its provers cannot be run.
    pub fn new(original: &Policy) -> Result<Prover, Error> {
        let all = theorems(original.ir(), &invariants(original.ir()));
        let options = Options::default();
        let report = prove(original.ir(), &all, &options)?;
        let met = report.obligations.into_iter().filter(|one| one.verdict.holds());
        // Mutants are judged side by side already, and most of what they owe is what the original owed.
        let options = Options { at_once: 1, ..options };
        Ok(Prover { original: all, met: met.map(|one| one.obligation).collect(), options })
    }

    /// Is that what the original has proved, word by word?
    fn is_as_before(&self, of: &Theorems, obligation: &Obligation) -> bool {
        let text = |theorems: &Theorems, wanted: &Obligation| {
            let found = theorems.obligations.iter().find(|one| one.id == wanted.id)?;
            found.claim.module().map(|module| theorems.alone(module))
        };
        text(of, obligation).is_some_and(|made| Some(made) == text(&self.original, obligation))
    }

    fn meets(&self, mutant: &Policy, all: &Theorems, obligation: &Obligation) -> bool {
        let alone = Obligation { rests_on: Vec::new(), ..obligation.clone() };
        let only = Theorems { obligations: vec![alone], ..all.clone() };
        // Where Why3 itself gives up, nothing is proved.
        prove(mutant.ir(), &only, &self.options).is_ok_and(|report| report.holds())
    }
}

impl Judge for Prover {
    fn judge(&self, mutant: &Policy, faults: Faults) -> Option<Verdict> {
        // Those are below the policy.
        if faults != Faults::default() {
            return None;
        }
        let all = theorems(mutant.ir(), &invariants(mutant.ir()));
        let lost = self.met.iter().find(|due| match all.obligations.iter().find(|one| one.id == due.id) {
            Some(one) => !self.is_as_before(&all, one) && !self.meets(mutant, &all, one),
            None => true,
        })?;
        Some(Verdict::Unproved { obligation: lost.id.to_string() })
    }
}
