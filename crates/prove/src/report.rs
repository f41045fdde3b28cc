//! Verdicts.

use crate::obligation::{Claim, Id, Obligation, Property};
use serde::Serialize;
use std::collections::BTreeSet;

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Proved by a prover of Why3, by a theorem of the theory, or decided by the compiler.
    Holds {
        prover: String,
    },
    /// Proved, but under the assumption of an obligation that does not hold.
    RestsOn {
        missing: String,
    },
    /// No prover found a proof. `parts`: the open parts of the goal, as Why3 names them.
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
    /// Time that the provers took.
    pub seconds: f64,
}

impl Proved {
    /// The verdict as people read it, with what it rests on or why it does not hold.
    pub fn in_words(&self) -> String {
        match (&self.verdict, &self.obligation.claim) {
            (Verdict::Holds { prover }, _) => format!("holds ({prover})"),
            (Verdict::RestsOn { missing }, _) => format!("rests on {missing}"),
            (Verdict::NotProved { .. }, Claim::Decided { by, .. }) => format!("NOT PROVED (compiler: {by})"),
            (Verdict::NotProved { .. }, _) => "NOT PROVED".into(),
            (Verdict::NotModelled { construct }, _) => format!("NOT PROVABLE: not modelled: {construct}"),
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub policy: String,
    pub obligations: Vec<Proved>,
}

impl Report {
    /// True if there are obligations, and all of them hold.
    pub fn holds(&self) -> bool {
        !self.obligations.is_empty() && self.obligations.iter().all(|o| o.verdict.holds())
    }

    pub fn of(&self, property: Property) -> impl Iterator<Item = &Proved> {
        self.obligations.iter().filter(move |o| o.obligation.property == property)
    }

    /// An obligation holds only if every obligation that it rests on is present and holds.
    pub(crate) fn settle(&mut self) {
        loop {
            let held: BTreeSet<Id> = self
                .obligations
                .iter()
                .filter(|o| o.verdict.holds())
                .map(|o| o.obligation.id.clone())
                .collect();
            let mut changed = false;
            for proved in self.obligations.iter_mut().filter(|o| o.verdict.holds()) {
                let missing = proved.obligation.rests_on.iter().find(|needed| !held.contains(needed));
                if let Some(missing) = missing {
                    proved.verdict = Verdict::RestsOn { missing: missing.to_string() };
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proved(about: &str, holds: bool, rests_on: &[&str]) -> Proved {
        let rests_on = rests_on.iter().map(|about| Id::new(about, "x")).collect();
        let obligation = Obligation {
            property: Property::Progress,
            id: Id::new(about, "x"),
            policy: String::new(),
            line: 0,
            claim: Claim::Decided { by: "test".into(), holds },
            rests_on,
        };
        let verdict = match holds {
            true => Verdict::Holds { prover: String::new() },
            false => Verdict::NotProved { parts: Vec::new() },
        };
        Proved { obligation, verdict, seconds: 0.0 }
    }

    #[test]
    fn what_the_compiler_decides_says_why() {
        let words = |holds| proved("a", holds, &[]).in_words();
        assert_eq!([words(true), words(false)], ["holds ()", "NOT PROVED (compiler: test)"]);
    }

    fn held(obligations: Vec<Proved>) -> Vec<String> {
        let mut report = Report { policy: String::new(), obligations };
        report.settle();
        let held = report.obligations.into_iter().filter(|o| o.verdict.holds());
        held.map(|o| o.obligation.id.about).collect()
    }

    #[test]
    fn a_chain_falls_with_its_last_link() {
        let chain = vec![proved("a", true, &["b"]), proved("b", true, &["c"]), proved("c", false, &[])];
        assert_eq!(held(chain), Vec::<String>::new());
    }

    #[test]
    fn an_absent_obligation_does_not_hold() {
        assert_eq!(held(vec![proved("a", true, &["b"]), proved("c", true, &[])]), ["c"]);
    }

    #[test]
    fn nothing_to_prove_is_not_a_proof() {
        assert!(!Report { policy: String::new(), obligations: Vec::new() }.holds());
    }
}
