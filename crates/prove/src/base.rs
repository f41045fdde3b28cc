//! What a policy's change of its base broke.

use crate::emit::{Theorems, theorems};
use crate::error::Error;
use crate::invariants;
use crate::obligation::{Id, Obligation};
use crate::options::Options;
use crate::report::{Proved, Report, Verdict};
use crate::run::{Session, closure, decided, goal};
use hearth_ipanema::ir::Policy;
use std::collections::BTreeSet;

/// The obligations of a report that hold neither of the policy nor of its base. The provers get only the goals whose
/// text differs: an equal text has the same verdict.
///
/// # Errors
/// Why3 or its provers cannot be run, or reject what was emitted.
pub fn fails_too(
    report: &Report,
    of: &Theorems,
    base: &Policy,
    options: &Options,
) -> Result<BTreeSet<Id>, Error> {
    let base_theorems = theorems(base, &invariants(base));
    let failed = report.obligations.iter().filter(|one| !one.verdict.holds());
    let failed: BTreeSet<&Id> = failed.map(|one| &one.obligation.id).collect();
    let wanted = closure(&base_theorems.obligations, |o| failed.contains(&o.id));
    let known: Vec<Option<Verdict>> =
        wanted.iter().map(|one| known(report, of, &base_theorems, one)).collect();
    let asked: Vec<(&Theorems, &Obligation)> = wanted
        .iter()
        .zip(&known)
        .filter(|(_, known)| known.is_none())
        .map(|(one, _)| (&base_theorems, *one))
        .collect();
    let asked = match asked.is_empty() {
        true => Vec::new(),
        false => Session::new(&Options { keep: None, ..options.clone() })?.prove_all(&asked)?,
    };
    let mut asked = asked.into_iter();
    let obligations = wanted.into_iter().zip(known).map(|(obligation, known)| {
        let verdict = known.or_else(|| Some(asked.next()?.0));
        let verdict = verdict.unwrap_or(Verdict::NotProved { parts: Vec::new() });
        Proved { obligation: obligation.clone(), verdict, seconds: 0.0 }
    });
    let mut base = Report { policy: base.name.clone(), obligations: obligations.collect() };
    base.settle();
    let fails = base.obligations.into_iter().filter(|one| !one.verdict.holds());
    Ok(fails.map(|one| one.obligation.id).filter(|id| failed.contains(id)).collect())
}

/// The verdict on an obligation of the base without a prover, before what it rests on is considered.
fn known(report: &Report, of: &Theorems, base: &Theorems, one: &Obligation) -> Option<Verdict> {
    if let Some(verdict) = decided(&one.claim) {
        return Some(verdict);
    }
    let same = report.obligations.iter().find(|ours| ours.obligation.id == one.id)?;
    let is_same = goal(of, &same.obligation.claim) == goal(base, &one.claim);
    let verdict = match &same.verdict {
        Verdict::RestsOn { .. } => Verdict::Holds { prover: String::new() },
        verdict => verdict.clone(),
    };
    is_same.then_some(verdict)
}
