//! The result of a search as text and JSON show it.

use crate::statistics::Change;
use crate::tune::{Goal, Method, Plan, Recommendation, Rival};
use hearth_features::{Claim, Model, Stored};
use hearth_workload::Profile;
use serde::Serialize;

#[derive(Serialize)]
pub struct Report {
    pub workload: String,
    pub machine: String,
    pub governor: String,
    pub goal: Goal,
    pub model: String,
    pub method: Method,
    pub products: usize,
    pub search_runs: usize,
    pub simulations: usize,
    pub profile: Option<Profile>,
    pub similar: Vec<Similar>,
    pub baseline: Compared,
    /// From the best one.
    pub finalists: Vec<Compared>,
    /// The policy that is surely and noticeably better than the baseline, by simulation and, if asked for, live.
    pub recommended: Option<String>,
}

/// An application whose experience counted, and its share.
#[derive(Serialize)]
pub struct Similar {
    pub workload: String,
    pub machine: String,
    pub share: f64,
}

/// A policy compared with the baseline.
#[derive(Serialize)]
pub struct Compared {
    pub policy: String,
    pub is_product: bool,
    pub time_s: f64,
    pub energy_j: f64,
    pub wakeup_mean_us: f64,
    pub speedup: f64,
    pub speedup_ci95: Option<[f64; 2]>,
    pub energy_saving: f64,
    pub energy_saving_ci95: Option<[f64; 2]>,
    pub latency_saving: f64,
    pub latency_saving_ci95: Option<[f64; 2]>,
    /// In the order of the claims. Empty if nothing is known of it.
    pub verdicts: Vec<ClaimVerdict>,
}

#[derive(Serialize)]
pub struct ClaimVerdict {
    pub claim: &'static str,
    pub verdict: &'static str,
}

impl Report {
    pub fn new(plan: &Plan, found: &Recommendation, stored: &Stored) -> Report {
        let similar = |(workload, machine, share): &(String, String, f64)| Similar {
            workload: workload.clone(),
            machine: machine.clone(),
            share: *share,
        };
        let compared = |rival: &Rival| Compared::new(rival, plan.model, stored);
        Report {
            workload: plan.workload.name.clone(),
            machine: plan.machine.name.clone(),
            governor: hearth_sim::governor_name(plan.machine, plan.governor).to_owned(),
            goal: plan.goal,
            model: plan.model.name().to_owned(),
            method: plan.method,
            products: found.allowed,
            search_runs: found.tried,
            simulations: found.simulations,
            profile: found.profile,
            similar: found.nearest.iter().map(similar).collect(),
            baseline: compared(&found.baseline),
            finalists: found.finalists.iter().map(compared).collect(),
            recommended: found.winner(plan.goal).map(|winner| winner.policy.clone()),
        }
    }

    /// What is proved, refuted or open of a finalist: a line each.
    pub fn claims(&self, policy: &str) -> String {
        let finalist = self.finalists.iter().find(|one| one.policy == policy);
        let verdicts = finalist.map_or(&[][..], |one| &one.verdicts);
        let line = |(verdict, what): (&str, &str)| {
            let claims = verdicts.iter().filter(|one| one.verdict == verdict).map(|one| one.claim);
            let claims: Vec<&str> = claims.collect();
            (!claims.is_empty()).then(|| format!("{what}: {}.\n", claims.join(", ")))
        };
        [("proved", "Proved"), ("refuted", "Refuted"), ("open", "Neither")]
            .into_iter()
            .filter_map(line)
            .collect()
    }
}

impl Compared {
    fn new(rival: &Rival, model: &Model, stored: &Stored) -> Compared {
        let product = model.product(&rival.policy).ok().filter(|_| rival.is_product);
        let verdict = |claim: Claim| {
            let verdict = stored.verdict(model, product.as_ref()?, claim)?;
            Some(ClaimVerdict { claim: claim.name(), verdict: verdict.name() })
        };
        Compared {
            policy: rival.policy.clone(),
            is_product: rival.is_product,
            time_s: rival.time.mean,
            energy_j: rival.energy.mean,
            wakeup_mean_us: rival.latency.mean,
            speedup: rival.faster.value,
            speedup_ci95: rival.faster.ci95,
            energy_saving: rival.saves.value,
            energy_saving_ci95: rival.saves.ci95,
            latency_saving: rival.sooner.value,
            latency_saving_ci95: rival.sooner.ci95,
            verdicts: Claim::ALL.into_iter().filter_map(verdict).collect(),
        }
    }
}

impl Rival {
    /// How it differs from the baseline: "14.0% faster (11.0 to 17.0) than eevdf, and uses 3.0% less energy".
    pub fn difference(&self, goal: Goal, baseline: &str) -> String {
        format!("{} than {baseline}, and uses {}", improvement(self.change(goal), goal), energy(self.saves))
    }
}

fn improvement(change: Change, goal: Goal) -> String {
    let what = match goal {
        Goal::Time => "faster",
        Goal::Energy => "lower in energy",
        Goal::Latency => "lower in wake-up latency",
    };
    let range = change
        .ci95
        .map_or_else(String::new, |[low, high]| format!(" ({:.1} to {:.1})", low * 100.0, high * 100.0));
    format!("{:.1}% {what}{range}", change.value * 100.0)
}

fn energy(saving: Change) -> String {
    let percent = saving.value * 100.0;
    match percent {
        _ if percent.is_nan() => "an unknown amount of energy".into(),
        _ if percent.abs() < 0.05 => "as much energy".into(),
        _ if percent > 0.0 => format!("{percent:.1}% less energy"),
        _ => format!("{:.1}% more energy", -percent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_has_its_interval() {
        let change = |value, ci95| Change { value, ci95 };
        let faster = improvement(change(0.14, Some([0.11, 0.17])), Goal::Time);
        assert_eq!(faster, "14.0% faster (11.0 to 17.0)");
        assert_eq!(improvement(change(0.02, None), Goal::Energy), "2.0% lower in energy");
        assert_eq!(energy(change(0.0004, None)), "as much energy");
        assert_eq!(energy(change(-0.031, None)), "3.1% more energy");
    }
}
