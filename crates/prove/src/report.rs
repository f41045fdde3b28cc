//! What came out.

use crate::obligation::{Obligation, Property};
use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// By a prover of Why3, or by the compiler's checks.
    Holds {
        prover: String,
    },
    /// Proved itself, but on what did not hold.
    RestsOn {
        missing: String,
    },
    /// No prover could show it. `parts`: which parts of it, as Why3 calls them.
    NotProved {
        parts: Vec<String>,
    },
    NotModelled {
        construct: String,
    },
}

impl Verdict {
    pub fn holds(&self) -> bool {
        matches!(self, Verdict::Holds { .. })
    }
}

/// An obligation and its verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Proved {
    #[serde(flatten)]
    pub obligation: Obligation,
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Of the provers' time.
    pub seconds: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub policy: String,
    pub obligations: Vec<Proved>,
}

impl Report {
    pub fn holds(&self) -> bool {
        self.obligations.iter().all(|o| o.verdict.holds())
    }

    pub fn of(&self, property: Property) -> impl Iterator<Item = &Proved> {
        self.obligations.iter().filter(move |o| o.obligation.property == property)
    }

    /// What rests on something that does not hold does not hold either.
    pub(crate) fn settle(&mut self) {
        let failed: Vec<(String, String)> = self
            .obligations
            .iter()
            .filter(|o| !o.verdict.holds())
            .map(|o| (o.obligation.about.clone(), o.obligation.what.clone()))
            .collect();
        for proved in &mut self.obligations {
            let missing = proved.obligation.rests_on.iter().find(|needed| failed.contains(needed));
            if let (true, Some((about, what))) = (proved.verdict.holds(), missing) {
                proved.verdict = Verdict::RestsOn { missing: format!("{about}: {what}") };
            }
        }
    }
}
