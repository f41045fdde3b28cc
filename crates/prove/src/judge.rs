//! What the model checker refutes, the prover must not call proved.

use crate::obligation::{Obligation, Property};
use crate::report::{Proved, Report};
use crate::run::closure;
use hearth_ipanema::ir::Policy;
use hearth_modelcheck::{Property as Refuted, Violation};

/// The claims of a policy's obligations that a violation contradicts.
#[derive(Clone, Debug)]
pub struct Excluding<'o> {
    pub claims: Vec<&'o Obligation>,
    /// The claims, and all that they rest on: if all hold, the violation cannot be.
    pub all: Vec<&'o Obligation>,
}

/// The obligations that exclude a violation. None: nothing is claimed about it.
pub fn excluding<'o>(policy: &Policy, all: &'o [Obligation], found: &Violation) -> Excluding<'o> {
    let claimed = claimed(policy, found);
    let claims = all.iter().filter(|o| claimed(o)).collect();
    Excluding { claims, all: closure(all, claimed) }
}

/// Selects the obligations that claim the opposite of a violation.
fn claimed<'v>(policy: &'v Policy, found: &'v Violation) -> Box<dyn Fn(&Obligation) -> bool + 'v> {
    let what = found.what.as_str();
    let waiting = |o: &Obligation| o.property == Property::Waiting;
    match found.property {
        Refuted::Cwc | Refuted::Collision => {
            let events = events(what);
            Box::new(move |o| {
                let about = events.is_empty() || events.contains(&o.id.about.as_str());
                o.property == Property::Conservation && about
            })
        }
        Refuted::Invariant => {
            let keeps = format!("keeps `{}`", first_name(what));
            Box::new(move |o| o.id.what == keeps)
        }
        Refuted::Claims => Box::new(|o| o.id.what.contains("claims")),
        Refuted::Safety if what.contains("may not run") || what.contains("affinity") => {
            Box::new(|o| o.id.what.contains("affinity"))
        }
        Refuted::Safety if what.contains("`schedule` leaves core") => Box::new(|o| o.id.about == "schedule"),
        Refuted::Safety => Box::new(|_| true),
        Refuted::Livelock => Box::new(move |o| waiting(o) && o.id.about == "events"),
        Refuted::Conservation => Box::new(move |o| waiting(o) && o.id.about.starts_with("balance")),
        Refuted::Waiting => {
            Box::new(move |o| waiting(o) && policy.queues.iter().any(|queue| queue.name == o.id.about))
        }
    }
}

fn first_name(what: &str) -> &str {
    what.split('`').nth(1).unwrap_or_default()
}

/// The events of which the prover claims that they exclude a loss of work conservation. Empty: all.
fn events(what: &str) -> Vec<&str> {
    match first_name(what) {
        // On its core, `schedule` and `newly_idle` may follow. A tick balances.
        named if what.starts_with("at the end of") => vec![named, "schedule", "newly_idle", "balance"],
        "" => Vec::new(),
        named => vec![named],
    }
}

/// What a report says of a violation that the model checker found.
#[derive(Clone, Debug)]
pub enum Judged<'r> {
    /// These claims hold, with all that they rest on: the prover is wrong, or the model checker.
    Contradicted(Vec<&'r Proved>),
    /// An obligation that excludes it does not hold, or was not asked for.
    NotProved,
    /// No obligation excludes it.
    NotClaimed,
}

impl Report {
    /// Compares the report with a violation. `all`: all obligations of the policy.
    pub fn judge(&self, policy: &Policy, all: &[Obligation], found: &Violation) -> Judged<'_> {
        let excluding = excluding(policy, all, found);
        let proved = |o: &&Obligation| {
            self.obligations.iter().find(|one| one.obligation.id == o.id && one.verdict.holds())
        };
        if excluding.claims.is_empty() {
            return Judged::NotClaimed;
        }
        if excluding.all.iter().any(|o| proved(o).is_none()) {
            return Judged::NotProved;
        }
        Judged::Contradicted(excluding.claims.iter().filter_map(proved).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Verdict;
    use crate::{invariants, theorems};

    /// A report in which everything holds but the obligations about `open`.
    fn report(policy: &Policy, open: &str) -> (Vec<Obligation>, Report) {
        let all = theorems(policy, &invariants(policy)).obligations;
        let obligations = all.iter().map(|obligation| {
            let verdict = match obligation.id.about == open {
                true => Verdict::NotProved { parts: Vec::new() },
                false => Verdict::Holds { prover: "z3".into() },
            };
            Proved { obligation: obligation.clone(), verdict, seconds: 0.0 }
        });
        let obligations = obligations.collect();
        (all, Report { policy: policy.name.clone(), obligations })
    }

    #[test]
    fn each_property_over_time_has_its_claim() {
        let policy = hearth_policy::load("cfs-cwc-flat").unwrap();
        for (property, about, premise) in [
            (Refuted::Waiting, "ready", "tick"),
            (Refuted::Conservation, "balances", "balance"),
            (Refuted::Livelock, "events", "schedule"),
        ] {
            let violation = Violation { property, what: String::new() };
            let (all, held) = report(policy.ir(), "");
            let Judged::Contradicted(claims) = held.judge(policy.ir(), &all, &violation) else {
                panic!("{property} is not excluded")
            };
            assert!(claims.iter().any(|claim| claim.obligation.id.about == about), "{property}");
            // A premise that does not hold.
            let (all, open) = report(policy.ir(), premise);
            assert!(matches!(open.judge(policy.ir(), &all, &violation), Judged::NotProved), "{property}");
        }
    }

    #[test]
    fn work_conservation_is_claimed_of_the_event_that_ended() {
        let policy = hearth_policy::load("cfs-cwc-flat").unwrap();
        let what =
            "at the end of `terminate` on core 1, core 1 is idle while core 0 has 2 threads".to_owned();
        let violation = Violation { property: Refuted::Cwc, what };
        let (all, held) = report(policy.ir(), "unblock");
        assert!(matches!(held.judge(policy.ir(), &all, &violation), Judged::Contradicted(_)));
        let (all, open) = report(policy.ir(), "newly_idle");
        assert!(matches!(open.judge(policy.ir(), &all, &violation), Judged::NotProved));
    }
}
