//! Counts of verdicts.

use serde::Serialize;

use crate::judge::{MutantVerdict, Verdict};

/// The numbers of mutants by verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Score {
    pub mutants: usize,
    pub rejected: usize,
    pub refuted: usize,
    pub unproved: usize,
    pub survive: usize,
}

impl Score {
    pub fn of(judged: &[MutantVerdict]) -> Score {
        let count = |is: fn(&Verdict) -> bool| judged.iter().filter(|one| is(&one.verdict)).count();
        Score {
            mutants: judged.len(),
            rejected: count(|verdict| matches!(verdict, Verdict::Rejected { .. })),
            refuted: count(|verdict| matches!(verdict, Verdict::Refuted(_))),
            unproved: count(|verdict| matches!(verdict, Verdict::Unproved { .. })),
            survive: count(Verdict::survives),
        }
    }

    /// The fraction of mutants that are detected; 1 if there are no mutants.
    pub fn noticed(&self) -> f64 {
        match self.mutants {
            0 => 1.0,
            mutants => (mutants - self.survive) as f64 / mutants as f64,
        }
    }
}
