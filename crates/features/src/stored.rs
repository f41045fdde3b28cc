//! The stored verdicts on the built-in models: `policies/features/verdicts.json`. A test computes them anew.

use crate::model::{Model, Product};
use crate::rules::Rules;
use crate::verdict::{Claim, Judgement, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const STORED: &str = include_str!("../../../policies/features/verdicts.json");

/// The verdicts on all products of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdicts {
    pub products: usize,
    /// Obligations that went to the prover, and how many of their goals differ.
    pub obligations: usize,
    pub goals: usize,
    pub claims: Vec<Rules>,
}

impl Verdicts {
    /// All products of the model must be judged.
    pub fn of(model: &Model, judgement: &Judgement) -> Verdicts {
        Verdicts {
            products: judgement.judged.len(),
            obligations: judgement.obligations,
            goals: judgement.goals,
            claims: Claim::ALL.into_iter().map(|claim| Rules::of(model, &judgement.judged, claim)).collect(),
        }
    }

    /// The stored verdicts on a model.
    pub fn stored(model: &Model) -> Option<Verdicts> {
        let mut all: BTreeMap<String, Verdicts> = serde_json::from_str(STORED).expect("a test parses it");
        all.remove(model.name())
    }

    /// The verdict on a product. A schedule is that of another product with the same verdict.
    pub fn on(&self, model: &Model, product: &Product, claim: Claim) -> Verdict {
        let rules = self.claims.iter().filter(|rules| rules.claim == claim).flat_map(|rules| &rules.rules);
        let mut own = rules.filter(|rule| rule.matches(model, product));
        own.next().map_or(Verdict::Open, |rule| rule.verdict.clone())
    }
}
