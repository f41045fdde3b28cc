//! Proofs: as `hearth prove` and the language server do them.

use crate::playground::verdict::{Verdict as Explored, Violation};
use hearth_policy::Policy;
use hearth_prove::{
    Error, Options, ProofCache, Property, Report, Session, goals, invariants, prove_watched, theorems,
};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Whether policies can be proved here.
#[derive(Serialize)]
pub struct Prover {
    ready: bool,
    why: Option<String>,
    help: Option<&'static str>,
}

impl Prover {
    pub fn find() -> Prover {
        match Session::new(&Options::default()) {
            Ok(_) => Prover { ready: true, why: None, help: None },
            Err(error) => Prover { ready: false, why: Some(error.to_string()), help: error.help() },
        }
    }
}

#[derive(Default)]
pub struct Progress {
    pub done: AtomicUsize,
    pub of: AtomicUsize,
}

/// What the provers say of all obligations.
#[derive(Serialize)]
pub struct Proved {
    /// All obligations hold, and the model checker found no violation.
    proved: bool,
    /// A violation in the model checker's bound. Nothing that is refuted is called proved.
    refuted: Option<Violation>,
    properties: Vec<Counted>,
    open: Vec<Open>,
}

#[derive(Serialize)]
struct Counted {
    property: &'static str,
    hold: usize,
    all: usize,
}

#[derive(Serialize)]
struct Open {
    property: &'static str,
    obligation: String,
    /// In the text of the editor; 0: elsewhere.
    line: u32,
    verdict: String,
}

/// Proves all obligations of a policy of which the model checker has `explored` small machines.
pub fn prove(
    policy: &Policy,
    explored: &Explored,
    progress: &Progress,
    stop: Arc<AtomicBool>,
) -> Result<Proved, Error> {
    let theorems = theorems(policy.ir(), &invariants(policy.ir()));
    let cache = hearth_base::paths::cache("proofs");
    let options = Options { known: ProofCache::load(&cache), stop, ..Options::default() };
    progress.of.store(goals(&theorems, &options), Ordering::Relaxed);
    let step = || {
        progress.done.fetch_add(1, Ordering::Relaxed);
    };
    let report = prove_watched(policy.ir(), &theorems, &options, &step)?;
    // Failure to write the cache only makes the next proof slower.
    let _ = options.known.save(&cache);
    Ok(Proved::new(&report, explored.refutation()))
}

impl Proved {
    fn new(report: &Report, refuted: Option<&Violation>) -> Proved {
        let counted = Property::ALL.into_iter().map(|property| Counted {
            property: property.name(),
            hold: report.of(property).filter(|one| one.verdict.holds()).count(),
            all: report.of(property).count(),
        });
        let open = report.obligations.iter().filter(|one| !one.verdict.holds()).map(|one| Open {
            property: one.obligation.property.name(),
            obligation: one.obligation.id.to_string(),
            line: if one.obligation.policy == report.policy { one.obligation.line } else { 0 },
            verdict: one.in_words(),
        });
        Proved {
            proved: report.holds() && refuted.is_none(),
            refuted: refuted.cloned(),
            properties: counted.filter(|counted| counted.all > 0).collect(),
            open: open.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_policy::Settings;
    use hearth_prove::Verdict;

    #[test]
    fn what_is_refuted_is_not_called_proved() {
        let policy = hearth_policy::load("ule").unwrap();
        let explored =
            crate::playground::verdict::verdict(&policy, &Settings::default(), &AtomicBool::new(false));
        let explored = explored.unwrap().unwrap();
        // A report of which everything holds.
        let obligations = theorems(policy.ir(), &[]).obligations.into_iter().map(|obligation| {
            let verdict = Verdict::Holds { prover: "z3".into() };
            hearth_prove::Proved { obligation, verdict, seconds: 0.0 }
        });
        let report = Report { policy: "ule".into(), obligations: obligations.collect() };
        assert!(Proved::new(&report, None).proved);
        assert!(!Proved::new(&report, explored.refutation()).proved);
        let nothing = Report { policy: "ule".into(), obligations: Vec::new() };
        assert!(!Proved::new(&nothing, None).proved);
    }
}
