//! What the prover claims: the obligations that exclude a refutation.

use crate::refute::Refutation;
use hearth_modelcheck::Property as Refuted;
use hearth_policy::Policy;
use hearth_prove::{
    Claim, Error, Id, Obligation, Options, ProofCache, Property, Theorems, invariants, prove, theorems,
};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

#[derive(Default)]
pub struct Prover {
    /// Whether a goal is proved, by the hash of its WhyML: many random policies share goals.
    known: Mutex<HashMap<u64, bool>>,
    /// How often an obligation was not proved. Those that fail often are tried first.
    failures: Mutex<HashMap<Id, usize>>,
    /// Parts of goals that are proved.
    parts: ProofCache,
}

impl Prover {
    /// True if every obligation that excludes the refutation is proved. Without such an obligation the prover claims
    /// nothing wrong, except about an invariant: it holds if no event has an obligation to keep it.
    pub fn excludes(&self, policy: &Policy, refutation: &Refutation) -> Result<bool, Error> {
        let theorems = theorems(policy.ir(), &invariants(policy.ir()));
        let mut due = obligations(&theorems, refutation);
        if due.is_empty() && refutation.property != Refuted::Invariant {
            return Ok(false);
        }
        due.sort_by_cached_key(|obligation| self.cost(&theorems, obligation));
        for obligation in due {
            if !self.holds(policy, &theorems, obligation)? {
                *self.failures.lock().expect("no panic").entry(obligation.id.clone()).or_default() += 1;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What needs no prover comes first, then what failed most often, then what is short.
    fn cost(&self, theorems: &Theorems, obligation: &Obligation) -> (u8, Reverse<usize>, usize) {
        let text = goal(theorems, obligation);
        let known = self.known.lock().expect("no panic").contains_key(&hash(&text));
        let prover = if text.is_empty() {
            0
        } else if known {
            1
        } else {
            2
        };
        let failures = self.failures.lock().expect("no panic").get(&obligation.id).copied().unwrap_or(0);
        (prover, Reverse(failures), text.len())
    }

    fn holds(&self, policy: &Policy, theorems: &Theorems, obligation: &Obligation) -> Result<bool, Error> {
        let text = goal(theorems, obligation);
        let key = hash(&text);
        let known = self.known.lock().expect("no panic").get(&key).copied();
        if let Some(known) = known.filter(|_| !text.is_empty()) {
            return Ok(known);
        }
        let alone = Obligation { rests_on: Vec::new(), ..obligation.clone() };
        let only = theorems.only(vec![alone]);
        let options = Options { at_once: 1, steps: STEPS, known: self.parts.clone(), ..Options::default() };
        let holds = prove(policy.ir(), &only, &options)?.holds();
        self.known.lock().expect("no panic").insert(key, holds);
        Ok(holds)
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

/// The WhyML of an obligation; empty if it needs no prover.
fn goal(theorems: &Theorems, obligation: &Obligation) -> String {
    match &obligation.claim {
        Claim::Goal { module, goal } => theorems.alone(module) + goal,
        _ => String::new(),
    }
}

/// The obligations that exclude a refutation: if all hold, it cannot be.
fn obligations<'t>(theorems: &'t Theorems, refutation: &Refutation) -> Vec<&'t Obligation> {
    let what = &refutation.what;
    let named = || what.split('`').nth(1).unwrap_or_default();
    let all = &theorems.obligations;
    let those = |is: &dyn Fn(&Obligation) -> bool| all.iter().filter(|o| is(o)).collect::<Vec<_>>();
    let due = match refutation.property {
        Refuted::Cwc | Refuted::Collision => {
            let events = refutation.events();
            let about = |o: &Obligation| events.is_empty() || events.contains(&o.id.about.as_str());
            those(&|o| o.property == Property::Conservation && about(o))
        }
        Refuted::Invariant => those(&|o| o.id.what == format!("keeps `{}`", named())),
        Refuted::Claims => those(&|o| o.id.what.contains("claims")),
        Refuted::Safety if what.contains("may not run") || what.contains("affinity") => {
            those(&|o| o.id.what.contains("affinity"))
        }
        Refuted::Safety if what.contains("`schedule` leaves core") => those(&|o| o.id.about == "schedule"),
        Refuted::Safety => those(&|_| true),
        Refuted::Livelock => those(&|o| o.property == Property::Waiting && o.id.about == "events"),
        Refuted::Conservation => those(&|o| o.property == Property::Waiting && o.id.about == "balances"),
        // The prover claims no number of ticks.
        Refuted::Waiting => Vec::new(),
    };
    with_rests(all, due)
}

/// These, and all that they rest on.
fn with_rests<'t>(all: &'t [Obligation], first: Vec<&'t Obligation>) -> Vec<&'t Obligation> {
    let mut ids: BTreeSet<&Id> = first.iter().map(|o| &o.id).collect();
    loop {
        let before = ids.len();
        let rests: Vec<&Id> = all.iter().filter(|o| ids.contains(&o.id)).flat_map(|o| &o.rests_on).collect();
        ids.extend(rests);
        if ids.len() == before {
            return all.iter().filter(|o| ids.contains(&o.id)).collect();
        }
    }
}
