//! The stored verdicts: `policies/features/verdicts.json`. The example `verdicts` computes them, and tests compare.

use crate::model::{Model, ModelError, NAMES, Product};
use crate::rules::Rules;
use crate::verdict::{Claim, JudgeError, Judgement, Verdict, judge};
use hearth_prove::Options;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const STORED: &str = include_str!("../../../policies/features/verdicts.json");

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// By model.
    pub models: BTreeMap<String, Verdicts>,
    /// By the name of a product, in the order of [`Claim::ALL`].
    pub named: BTreeMap<String, Vec<Verdict>>,
}

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
    /// Judges all products of the model. Needs Why3.
    ///
    /// # Errors
    /// As [`judge`].
    pub fn compute(model: &Model, options: &Options) -> Result<Verdicts, JudgeError> {
        Ok(Verdicts::of(model, &judge(&model.products(), options)?))
    }

    /// All products of the model must be judged.
    pub fn of(model: &Model, judgement: &Judgement) -> Verdicts {
        Verdicts {
            products: judgement.judged.len(),
            obligations: judgement.obligations,
            goals: judgement.goals,
            claims: Claim::ALL.into_iter().map(|claim| Rules::of(model, &judgement.judged, claim)).collect(),
        }
    }

    fn on(&self, model: &Model, product: &Product, claim: Claim) -> Option<Verdict> {
        let rules = self.claims.iter().filter(|rules| rules.claim == claim).flat_map(|rules| &rules.rules);
        rules.into_iter().find(|rule| rule.matches(model, product)).map(|rule| rule.verdict.clone())
    }
}

impl Stored {
    /// # Panics
    /// If the file is not valid, which a test checks.
    pub fn load() -> Stored {
        serde_json::from_str(STORED).expect("a test parses it")
    }

    /// Computes them, in some ten minutes. Needs Why3.
    ///
    /// # Errors
    /// As [`judge`].
    pub fn compute(options: &Options) -> Result<Stored, JudgeError> {
        let mut stored = Stored { models: BTreeMap::new(), named: Stored::compute_named(options)? };
        for name in NAMES {
            stored.models.insert(name.to_owned(), Verdicts::compute(&Model::named(name)?, options)?);
        }
        Ok(stored)
    }

    /// Computes the verdicts on the named products of all models.
    ///
    /// # Errors
    /// As [`judge`].
    pub fn compute_named(options: &Options) -> Result<BTreeMap<String, Vec<Verdict>>, JudgeError> {
        let mut named = BTreeMap::new();
        for model in NAMES {
            let points = Model::named(model)?.points();
            let products = points.iter().map(|(_, product)| product.clone()).collect::<Vec<_>>();
            for ((name, _), judged) in points.iter().zip(judge(&products, options)?.judged) {
                named.insert((*name).to_owned(), judged.verdicts);
            }
        }
        Ok(named)
    }

    /// The verdict on a product; `None` if it was not judged. A schedule may be that of another product with the same
    /// verdict.
    pub fn verdict(&self, model: &Model, product: &Product, claim: Claim) -> Option<Verdict> {
        let named = model.points().into_iter().find(|(_, point)| point == product);
        let named =
            named.and_then(|(name, _)| self.named.get(name)).map(|verdicts| verdicts[claim as usize].clone());
        named.or_else(|| self.models.get(model.name())?.on(model, product, claim))
    }
}

impl From<ModelError> for JudgeError {
    fn from(error: ModelError) -> Self {
        JudgeError::Model(Box::new(error))
    }
}
