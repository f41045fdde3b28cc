//! Verdicts on products.
//!
//! The model checker searches a few small machines for a schedule that violates a claim. What it does not refute goes to
//! the prover, for all products at once: each goal is proved once. What is not proved either is searched in all standard
//! scenarios, and stays open if nothing is found.

use crate::model::Product;
use hearth_modelcheck::{Rounds, Scenario, ScenarioError, check, standard_scenarios};
use hearth_policy::Policy;
use hearth_prove::{
    Conclusion, Obligation, Options, Property, Report, Theorems, closure, invariants, prove_family, theorems,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// What is claimed of each product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// Concurrent work conservation.
    Conserves,
    /// Eventual conservation.
    Recovers,
    /// Bounded waiting.
    Waits,
    /// No livelock.
    Progresses,
    /// Affinity, and one placement of each thread.
    Safe,
}

impl Claim {
    pub const ALL: [Claim; 5] =
        [Claim::Conserves, Claim::Recovers, Claim::Waits, Claim::Progresses, Claim::Safe];

    pub fn name(self) -> &'static str {
        match self {
            Claim::Conserves => "conserves work",
            Claim::Recovers => "recovers",
            Claim::Waits => "waits boundedly",
            Claim::Progresses => "progresses",
            Claim::Safe => "places safely",
        }
    }

    pub fn doc(self) -> &'static str {
        match self {
            Claim::Conserves => {
                "When an event ends, no core is idle while another is overloaded, unless a concurrent event caused it."
            }
            Claim::Recovers => {
                "When all events but balancing stop, balancing leaves no core idle beside an overloaded one."
            }
            Claim::Waits => "A ready thread runs after a bounded number of turns of the others on its core.",
            Claim::Progresses => "Steals, preemptions and timers end.",
            Claim::Safe => "Each thread is placed once, on a core of its affinity.",
        }
    }

    /// True for the obligations of which the claim consists; those on which they rest come in addition.
    fn is_about(self, obligation: &Obligation) -> bool {
        match self {
            Claim::Conserves => obligation.property == Property::Conservation,
            Claim::Recovers => obligation.concludes() == Some(Conclusion::Recovery),
            Claim::Waits => obligation.concludes() == Some(Conclusion::Turns),
            Claim::Progresses => obligation.concludes() == Some(Conclusion::NoLivelock),
            Claim::Safe => obligation.property == Property::Invariants,
        }
    }

    fn of_violation(property: hearth_modelcheck::Property) -> Claim {
        use hearth_modelcheck::Property as Violated;
        match property {
            Violated::Cwc | Violated::Collision => Claim::Conserves,
            Violated::Conservation => Claim::Recovers,
            Violated::Waiting => Claim::Waits,
            Violated::Livelock => Claim::Progresses,
            Violated::Safety | Violated::Claims | Violated::Invariant => Claim::Safe,
        }
    }

    /// Standard scenarios that refute it of most products that do not satisfy it.
    fn refuters(self) -> &'static [&'static str] {
        match self {
            Claim::Conserves => &["exit-2", "allowed-4", "yield-2"],
            Claim::Recovers => &["balance-4", "yield-2"],
            Claim::Waits => &["turns-1"],
            Claim::Progresses | Claim::Safe => &[],
        }
    }

    fn options(self, states: usize) -> hearth_modelcheck::Options {
        hearth_modelcheck::Options {
            max_states: states,
            cwc: self == Claim::Conserves,
            rounds: (self == Claim::Recovers).then_some(Rounds { count: 1, overlap: false }),
            within: (self == Claim::Waits).then_some(WITHIN),
            livelock: self == Claim::Progresses,
            ..Default::default()
        }
    }
}

/// Ticks that a ready thread may wait in the model checker: the default of `hearth modelcheck`.
const WITHIN: u8 = 24;

/// Limits of states of a scenario: before the proof, and for what is not proved.
const FEW_STATES: usize = 1_000;
const MANY_STATES: usize = 20_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    Proved,
    /// The model checker found a schedule with so many steps that violates it.
    Refuted {
        scenario: String,
        steps: usize,
    },
    /// Neither a proof nor a schedule was found.
    Open,
}

impl Verdict {
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Proved => "proved",
            Verdict::Refuted { .. } => "refuted",
            Verdict::Open => "open",
        }
    }
}

/// The verdicts on a product, in the order of [`Claim::ALL`].
#[derive(Clone, Debug)]
pub struct ProductVerdicts {
    pub product: Product,
    pub verdicts: Vec<Verdict>,
}

impl ProductVerdicts {
    pub fn verdict(&self, claim: Claim) -> &Verdict {
        &self.verdicts[claim as usize]
    }
}

/// The verdicts on several products, and what they took.
#[derive(Clone, Debug)]
pub struct Judgement {
    pub judged: Vec<ProductVerdicts>,
    /// Obligations of all products that went to the prover.
    pub obligations: usize,
    /// Goals among them that differ: each was proved once.
    pub goals: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    #[error(transparent)]
    Model(Box<crate::model::ModelError>),
    #[error(transparent)]
    Policy(#[from] hearth_policy::Error),
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error("the model checker cannot check {product}: {error}")]
    Check { product: String, error: Box<hearth_modelcheck::CheckError> },
    #[error(transparent)]
    Proof(#[from] hearth_prove::Error),
    #[error("cannot start threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// A product with what has been found so far.
struct Case {
    product: Product,
    policy: Policy,
    verdicts: [Option<Verdict>; Claim::ALL.len()],
}

impl Case {
    fn open(&self) -> impl Iterator<Item = Claim> {
        Claim::ALL.into_iter().filter(|claim| self.verdicts[*claim as usize].is_none())
    }

    fn set(&mut self, claim: Claim, verdict: Verdict) {
        self.verdicts[claim as usize].get_or_insert(verdict);
    }

    /// Searches scenarios for a violation of a claim.
    fn search(&mut self, claim: Claim, scenarios: &[Scenario], states: usize) -> Result<(), JudgeError> {
        for scenario in scenarios {
            let outcome = check(&self.policy, scenario, &claim.options(states)).map_err(|error| {
                JudgeError::Check { product: self.policy.name().to_owned(), error: error.into() }
            })?;
            if let Some(found) = outcome.violation {
                let verdict = Verdict::Refuted { scenario: scenario.name.clone(), steps: found.steps.len() };
                self.set(Claim::of_violation(found.violation.property), verdict);
            }
            if self.verdicts[claim as usize].is_some() {
                break;
            }
        }
        Ok(())
    }

    /// The obligations of the claims without a verdict.
    fn theorems(&self) -> Theorems {
        let ir = self.policy.ir();
        let all = theorems(ir, &invariants(ir));
        let open: Vec<Claim> = self.open().collect();
        let wanted = closure(&all.obligations, |o| open.iter().any(|claim| claim.is_about(o)));
        all.only(wanted.into_iter().cloned().collect())
    }

    fn take_proofs(&mut self, report: &Report) {
        let open: Vec<Claim> = self.open().collect();
        for claim in open {
            let mut about = report.obligations.iter().filter(|p| claim.is_about(&p.obligation)).peekable();
            if about.peek().is_some() && about.all(|proved| proved.verdict.holds()) {
                self.set(claim, Verdict::Proved);
            }
        }
    }
}

/// Judges all claims of some products, with as many threads as `options` has for provers.
///
/// # Errors
/// If a product does not compile, or Why3 and its provers cannot be run.
pub fn judge(products: &[Product], options: &Options) -> Result<Judgement, JudgeError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.at_once.max(1)).build()?;
    let few: Vec<(Claim, Vec<Scenario>)> = Claim::ALL
        .into_iter()
        .map(|claim| {
            Ok((claim, claim.refuters().iter().map(|name| Scenario::named(name)).collect::<Result<_, _>>()?))
        })
        .collect::<Result<_, ScenarioError>>()?;
    let begin = |product: &Product| -> Result<(Case, (String, Theorems)), JudgeError> {
        let name = product.name();
        let policy = hearth_policy::load(&name)?;
        let mut case = Case { product: product.clone(), policy, verdicts: Default::default() };
        for (claim, scenarios) in &few {
            case.search(*claim, scenarios, FEW_STATES)?;
        }
        let theorems = case.theorems();
        Ok((case, (name, theorems)))
    };
    let begun: Vec<_> =
        pool.install(|| products.par_iter().map(begin).collect::<Result<Vec<_>, JudgeError>>())?;
    let (mut cases, policies): (Vec<Case>, Vec<(String, Theorems)>) = begun.into_iter().unzip();
    let family = prove_family(&policies, options)?;
    let all = standard_scenarios();
    let end = |(case, report): (&mut Case, &Report)| {
        case.take_proofs(report);
        let open: Vec<Claim> = case.open().collect();
        open.into_iter().try_for_each(|claim| case.search(claim, &all, MANY_STATES))
    };
    pool.install(|| cases.par_iter_mut().zip(&family.reports).try_for_each(end))?;
    let judged = |case: Case| ProductVerdicts {
        product: case.product,
        verdicts: case.verdicts.into_iter().map(|verdict| verdict.unwrap_or(Verdict::Open)).collect(),
    };
    Ok(Judgement {
        judged: cases.into_iter().map(judged).collect(),
        obligations: family.reports.iter().map(|report| report.obligations.len()).sum(),
        goals: family.goals,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A claim without obligations would never be called proved.
    #[test]
    fn every_claim_has_obligations() {
        for name in ["cfs-cwc-flat", "ule-cwc"] {
            let policy = hearth_policy::load(name).unwrap();
            let all = theorems(policy.ir(), &invariants(policy.ir())).obligations;
            for claim in Claim::ALL {
                assert!(all.iter().any(|one| claim.is_about(one)), "{name}: {}", claim.name());
            }
        }
    }
}
