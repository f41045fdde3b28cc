//! What the prover claims: the obligations that exclude a refutation.

use super::refute::Refutation;
use hearth_modelcheck::Property as Refuted;
use hearth_policy::Policy;
use hearth_prove::{
    Claim, Error, Id, Obligation, Options, Session, Theorems, excluding, invariants, theorems,
};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

pub struct Prover {
    session: Session,
    /// Whether a goal is proved, by the hash of its WhyML: many random policies share goals.
    known: HashMap<u64, bool>,
    /// How often an obligation was not proved. Those that fail often are tried first.
    failures: HashMap<Id, usize>,
}

/// A refuted policy.
pub struct Case {
    policy: Policy,
    theorems: Theorems,
    refutation: Refutation,
}

impl Case {
    pub fn new(policy: &Policy, refutation: Refutation) -> Case {
        let theorems = theorems(policy.ir(), &invariants(policy.ir()));
        Case { policy: policy.clone(), theorems, refutation }
    }
}

/// An obligation that is due, and what it costs to try it.
#[derive(Clone)]
struct Due<'c> {
    theorems: &'c Theorems,
    obligation: &'c Obligation,
    /// The hash of its WhyML, and the length of that.
    goal: u64,
    length: usize,
    /// The refutation names what it is about.
    named: bool,
}

impl Prover {
    /// # Errors
    /// There is no Why3, or no prover.
    pub fn new() -> Result<Prover, Error> {
        let at_once = std::thread::available_parallelism().map_or(1, usize::from);
        let session = Session::new(&Options { steps: STEPS, at_once, ..Options::default() })?;
        Ok(Prover { session, known: HashMap::new(), failures: HashMap::new() })
    }

    /// For each case, whether every obligation that excludes the refutation is proved. Without such an obligation the
    /// prover claims nothing wrong, except about an invariant: it holds if no event has an obligation to keep it.
    pub fn exclude(&mut self, cases: &[Case]) -> Vec<Result<bool, Error>> {
        let mut open: Vec<Option<Vec<Due<'_>>>> = cases.iter().map(|case| Some(Due::all(case))).collect();
        let empty = |case: &Case| Ok(case.refutation.violation.property == Refuted::Invariant);
        let mut excluded: Vec<Result<bool, Error>> = cases.iter().map(empty).collect();
        loop {
            // The next obligation of each case: one that is not proved settles it, so the most likely one comes first.
            let mut next: Vec<Due<'_>> = Vec::new();
            for (open, excluded) in open.iter_mut().zip(&mut excluded) {
                let Some(due) = open else { continue };
                if let Some(failed) = due.iter().find(|due| self.known.get(&due.goal) == Some(&false)) {
                    *self.failures.entry(failed.obligation.id.clone()).or_default() += 1;
                    (*open, *excluded) = (None, Ok(false));
                    continue;
                }
                let before = due.len();
                due.retain(|due| !self.known.contains_key(&due.goal));
                if before > 0 {
                    *excluded = Ok(true);
                }
                match due.iter().min_by_key(|due| due.cost(&self.failures)) {
                    Some(due) => next.push(due.clone()),
                    None => *open = None,
                }
            }
            next.sort_by_key(|due| due.goal);
            next.dedup_by_key(|due| due.goal);
            if next.is_empty() {
                return excluded;
            }
            for (due, verdict) in next.iter().zip(self.prove(&next)) {
                match verdict {
                    Ok(holds) => _ = self.known.insert(due.goal, holds),
                    Err(error) => {
                        let concerned = open.iter_mut().zip(&mut excluded).filter(|(open, _)| {
                            open.as_ref().is_some_and(|all| all.iter().any(|one| one.goal == due.goal))
                        });
                        let what = error.to_string();
                        concerned.for_each(|(open, excluded)| {
                            (*open, *excluded) = (None, Err(Error::Rejected(what.clone())));
                        });
                    }
                }
            }
        }
    }

    /// Proves all at once, or one by one if that fails.
    fn prove(&self, wanted: &[Due<'_>]) -> Vec<Result<bool, Error>> {
        let asked: Vec<(&Theorems, &Obligation)> =
            wanted.iter().map(|due| (due.theorems, due.obligation)).collect();
        if let Ok(verdicts) = self.session.prove_all(&asked) {
            return verdicts.iter().map(|(verdict, _)| Ok(verdict.holds())).collect();
        }
        let one = |asked| Ok(self.session.prove_all(&[asked])?[0].0.holds());
        asked.into_iter().map(one).collect()
    }
}

impl<'c> Due<'c> {
    fn all(case: &'c Case) -> Vec<Due<'c>> {
        let Case { policy, theorems, refutation } = case;
        let due = |obligation: &'c Obligation| {
            let text = goal(theorems, obligation);
            let named = refutation.names(&obligation.id.about);
            Due { theorems, obligation, goal: hash(&text), length: text.len(), named }
        };
        let excluding = excluding(policy.ir(), &theorems.obligations, &refutation.violation);
        excluding.all.into_iter().map(due).collect()
    }

    /// What the compiler decides comes first and what is long comes last; then what the refutation names, and what was
    /// not proved of other policies.
    fn cost(&self, failures: &HashMap<Id, usize>) -> (bool, bool, bool, Reverse<usize>, usize) {
        let needs_prover = matches!(self.obligation.claim, Claim::Goal { .. });
        let failures = failures.get(&self.obligation.id).copied().unwrap_or(0);
        (needs_prover, self.length > 16_000, !self.named, Reverse(failures), self.length)
    }
}

/// Fewer steps than by default: a goal that holds by mistake holds soon.
const STEPS: u64 = 900_000;

/// A hash that stands for a long text: a run sees too many to keep them.
pub fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// What decides an obligation: its WhyML, or what the compiler found.
fn goal(theorems: &Theorems, obligation: &Obligation) -> String {
    match &obligation.claim {
        Claim::Goal { module, goal } => theorems.alone(module) + goal,
        decided => format!("{decided:?}"),
    }
}
