//! Judges of mutants, and their verdicts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use hearth_modelcheck::{Faults, Property};
use hearth_policy::Policy;
use serde::Serialize;

use crate::mutant::Mutant;
use crate::subject::Subject;

/// A tool that may reject a mutant of a policy that it accepts: the model checker or a prover.
pub trait Judge: Sync {
    /// Its objection to the mutant; `None` if it accepts the mutant.
    fn judge(&self, mutant: &Policy, faults: Faults) -> Option<Verdict>;
}

/// A counterexample of the model checker to a mutant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kill {
    /// The scenario.
    pub by: String,
    pub property: Property,
    /// The violation in a sentence.
    pub what: String,
    /// Length of the schedule.
    pub steps: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum Verdict {
    /// It does not compile.
    Rejected {
        code: &'static str,
        message: String,
    },
    Refuted(Kill),
    /// A property proved of the original is not proved of the mutant.
    Unproved {
        /// The handler or steal, and its obligation.
        obligation: String,
    },
    Survives,
}

impl Verdict {
    pub fn survives(&self) -> bool {
        matches!(self, Verdict::Survives)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MutantVerdict {
    #[serde(flatten)]
    pub mutant: Mutant,
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// Judges mutants in `jobs` threads (0: one per CPU). Omits mutants whose change has no effect; the others stay
/// in order. Calls `done` after each.
pub fn judge_all(
    subject: &Subject,
    mutants: Vec<Mutant>,
    judges: &[&dyn Judge],
    jobs: usize,
    done: &(dyn Fn() + Sync),
) -> Vec<MutantVerdict> {
    let verdicts: Mutex<Vec<Option<Verdict>>> = Mutex::new(vec![None; mutants.len()]);
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(mutant) = mutants.get(at) else { break };
            let verdict = verdict(subject, mutant, judges);
            verdicts.lock().unwrap_or_else(PoisonError::into_inner)[at] = verdict;
            done();
        }
    };
    std::thread::scope(|scope| {
        let all_cpus = || std::thread::available_parallelism().map_or(1, usize::from);
        (0..if jobs == 0 { all_cpus() } else { jobs }).for_each(|_| {
            scope.spawn(work);
        });
    });
    let verdicts = verdicts.into_inner().unwrap_or_else(PoisonError::into_inner);
    let judged = mutants.into_iter().zip(verdicts);
    judged.filter_map(|(mutant, verdict)| Some(MutantVerdict { mutant, verdict: verdict? })).collect()
}

fn verdict(subject: &Subject, mutant: &Mutant, judges: &[&dyn Judge]) -> Option<Verdict> {
    let policy = match subject.compile(mutant)? {
        Ok(policy) => policy,
        Err(failed) => {
            let error = failed.diagnostics.iter().find(|diagnostic| diagnostic.is_error())?;
            return Some(Verdict::Rejected { code: error.code.id, message: error.message.clone() });
        }
    };
    let faults = Subject::faults(mutant);
    Some(judges.iter().find_map(|judge| judge.judge(&policy, faults)).unwrap_or(Verdict::Survives))
}
