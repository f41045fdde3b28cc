//! The search with simulations: the best product for a workload on a machine.

use crate::NOTICEABLE;
use crate::matrix::world_of;
use crate::statistics::{Change, Sample, saving, speedup};
use crate::tune::pool::Pool;
use crate::tune::{Error, Experience, Method, Search};
use hearth_features::{Claim, Model, Product};
use hearth_machine::{Governor, Machine};
use hearth_policy::{load, names};
use hearth_sim::{Job, Native, Outcome, SimError, World, run};
use hearth_workload::{Profile, Workload};
use rayon::prelude::*;
use serde::Serialize;
use std::time::Duration;

/// The scheduler of today's Linux.
pub const BASELINE: &str = "eevdf";

/// The policies that compete besides the products: the built-in ones. None if the products must have proofs.
pub fn others(proved: &[Claim]) -> Vec<&'static str> {
    let all = names().iter().copied().filter(|name| *name != BASELINE);
    if proved.is_empty() { all.collect() } else { Vec::new() }
}

/// What is to become less.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    #[default]
    Time,
    Energy,
    /// The mean wake-up latency.
    Latency,
}

/// What to search, and how long.
pub struct Plan<'a> {
    pub workload: &'a Workload,
    pub machine: &'a Machine,
    pub governor: Governor,
    pub world: World,
    pub goal: Goal,
    pub model: &'a Model,
    /// Products that may be chosen.
    pub allowed: &'a (dyn Fn(&Product) -> bool + Sync),
    pub experience: Option<&'a Experience>,
    pub method: Method,
    /// The scheduler that the winner is compared with: a policy's name.
    pub baseline: &'a str,
    /// Policies that compete besides the products.
    pub others: &'a [&'a str],
    /// Number of runs of the search.
    pub budget: usize,
    /// Number of runs of each finalist and of the baseline.
    pub runs: u64,
    pub seed: u64,
}

/// What a search found.
pub struct Recommendation {
    pub profile: Option<Profile>,
    /// Applications whose experience counted most: workload, machine, share.
    pub nearest: Vec<(String, String, f64)>,
    /// Number of products that were allowed.
    pub allowed: usize,
    /// Number of runs of the search.
    pub tried: usize,
    /// Number of simulations.
    pub simulations: usize,
    pub baseline: Rival,
    /// From the best one. Products that failed in the final are left out.
    pub finalists: Vec<Rival>,
}

/// A policy in the final.
#[derive(Clone, Debug)]
pub struct Rival {
    pub policy: String,
    /// Whether it is a product of the feature model.
    pub is_product: bool,
    pub time: Sample,
    pub energy: Sample,
    /// Of the mean wake-up latency, in microseconds.
    pub latency: Sample,
    /// Against the baseline: time, energy and latency.
    pub faster: Change,
    pub saves: Change,
    pub sooner: Change,
}

impl Rival {
    /// The change of what is to become less.
    pub fn change(&self, goal: Goal) -> Change {
        match goal {
            Goal::Time => self.faster,
            Goal::Energy => self.saves,
            Goal::Latency => self.sooner,
        }
    }
}

impl Plan<'_> {
    /// Number of simulations, at most.
    pub fn simulations(&self) -> usize {
        let finalists = FINALISTS[0].min(self.budget) + FINALISTS[1].min(self.others.len());
        1 + self.budget + self.others.len() + (finalists + 1) * self.runs as usize
    }
}

impl Recommendation {
    /// The best finalist that is surely (95%) and noticeably better than the baseline.
    pub fn winner(&self, goal: Goal) -> Option<&Rival> {
        self.finalists.iter().find(|one| is_better(one.change(goal)))
    }
}

fn is_better(change: Change) -> bool {
    let [low, high] = change.ci95.unwrap_or([change.value; 2]);
    low > 0.0 && high >= NOTICEABLE
}

/// Products that are simulated at the same time. More would know less of each other; the number of processors does
/// not matter, so that the result is the same everywhere.
const AT_ONCE: usize = 4;
/// Products in the final, and other policies.
const FINALISTS: [usize; 2] = [3, 2];
/// The first seed of the final, after the plan's. A search uses fewer.
const FINAL: u64 = 1_000;
/// A run ends when it takes so many times as long as the baseline.
const PATIENCE: f64 = 20.0;

/// Searches, and compares the best with the baseline. Calls `done` after each simulation, from several threads.
///
/// # Errors
/// If a policy cannot be compiled, or the baseline does not complete the workload.
pub fn tune(plan: &Plan, done: &(dyn Fn() + Sync)) -> Result<Recommendation, Error> {
    let products = plan.model.products().into_iter().filter(|product| (plan.allowed)(product));
    let pool =
        Pool::from_names(&crate::tune::pool::space(plan.model), products.map(|product| product.name()));
    let profile = plan.workload.profile();
    let learned = plan
        .experience
        .and_then(|all| all.learned(&pool, profile.as_ref().filter(|_| plan.method.learns()), |_| true));
    let runner = Runner { plan, done };
    let baseline = native(plan.baseline)?;
    let first = runner.run(&baseline, plan.seed, hearth_sim::LIMIT).map_err(failed)?;
    let limit = Duration::from_secs_f64(first.time_s * PATIENCE);
    let value = |outcome: Option<&Outcome>| runner.value(outcome, &first);

    let mut search = Search::new(&pool, plan.method, learned.as_ref(), plan.seed);
    let mut tried = 0;
    while tried < plan.budget {
        let next = search.propose(AT_ONCE.min(plan.budget - tried));
        if next.is_empty() {
            break;
        }
        let values = next.par_iter().map(|&(product, before)| {
            let (policy, seed) = (native(&pool.names[product])?, plan.seed.wrapping_add(before as u64));
            Ok((product, value(runner.attempt(&policy, seed, limit)?.as_ref())))
        });
        for (product, value) in values.collect::<Result<Vec<_>, Error>>()? {
            search.tell(product, value);
        }
        tried += next.len();
    }
    let mut others = plan
        .others
        .par_iter()
        .map(|name| Ok((value(runner.attempt(&native(name)?, plan.seed, limit)?.as_ref()), *name)))
        .collect::<Result<Vec<_>, Error>>()?;
    others.sort_by(|a, b| a.0.total_cmp(&b.0));

    let products = search.ranked().into_iter().take(FINALISTS[0]).map(|one| (pool.names[one].as_str(), true));
    let others = others.iter().take(FINALISTS[1]).map(|(_, name)| (*name, false));
    let finalists: Vec<(&str, bool)> = products.take(tried).chain(others).collect();
    let base = runner.sample(&baseline, limit)?.ok_or_else(|| failed(SimError::TimeLimit { limit }))?;
    let compared = finalists.par_iter().map(|&(name, is_product)| {
        let found = runner.sample(&native(name)?, limit)?;
        Ok(found.map(|found| found.rival(name, is_product, &base)))
    });
    let mut finalists: Vec<Rival> =
        compared.collect::<Result<Vec<_>, Error>>()?.into_iter().flatten().collect();
    finalists.sort_by(|a, b| b.change(plan.goal).value.total_cmp(&a.change(plan.goal).value));
    Ok(Recommendation {
        profile,
        nearest: learned
            .iter()
            .flat_map(|all| all.nearest(3))
            .map(|(w, m, share)| (w.into(), m.into(), share))
            .collect(),
        allowed: pool.len(),
        tried,
        simulations: 1 + tried + plan.others.len() + (finalists.len() + 1) * plan.runs as usize,
        baseline: base.rival(plan.baseline, false, &base),
        finalists,
    })
}

fn native(name: &str) -> Result<Native, Error> {
    let policy = load(name).map_err(crate::Error::from)?;
    Ok(Native::build(policy).map_err(crate::Error::from)?)
}

fn failed(error: SimError) -> Error {
    crate::Error::from(error).into()
}

/// Samples of a policy's runs.
struct Samples {
    time: Sample,
    energy: Sample,
    latency: Sample,
}

impl Samples {
    fn rival(&self, name: &str, is_product: bool, base: &Samples) -> Rival {
        Rival {
            policy: name.to_owned(),
            is_product,
            time: self.time,
            energy: self.energy,
            latency: self.latency,
            faster: speedup(&base.time, &self.time),
            saves: saving(&base.energy, &self.energy),
            sooner: saving(&base.latency, &self.latency),
        }
    }
}

struct Runner<'a> {
    plan: &'a Plan<'a>,
    done: &'a (dyn Fn() + Sync),
}

impl Runner<'_> {
    fn run(&self, policy: &Native, seed: u64, limit: Duration) -> Result<Outcome, SimError> {
        let plan = self.plan;
        let job = Job {
            governor: plan.governor,
            seed,
            world: world_of(plan.world, policy.policy().name()),
            limit,
            ..Job::new(plan.workload, plan.machine, policy)
        };
        let outcome = run(&job, &mut ());
        (self.done)();
        outcome
    }

    /// `None` if the policy does not complete the workload.
    fn attempt(&self, policy: &Native, seed: u64, limit: Duration) -> Result<Option<Outcome>, Error> {
        match self.run(policy, seed, limit) {
            Ok(outcome) => Ok(Some(outcome)),
            Err(SimError::TimeLimit { .. } | SimError::Stuck { .. } | SimError::Illegal { .. }) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// The runs of the final have other seeds than the search. `None` if one does not complete.
    fn sample(&self, policy: &Native, limit: Duration) -> Result<Option<Samples>, Error> {
        let seeds = (0..self.plan.runs).map(|run| self.plan.seed.wrapping_add(FINAL + run));
        let outcomes =
            seeds.map(|seed| self.attempt(policy, seed, limit)).collect::<Result<Option<Vec<_>>, _>>()?;
        Ok(outcomes.and_then(|all| {
            Some(Samples {
                time: Sample::of(all.iter().map(|one| one.time_s))?,
                energy: Sample::of(all.iter().map(|one| one.energy_j))?,
                latency: Sample::of(all.iter().map(latency))?,
            })
        }))
    }

    /// The logarithm of what is to become less.
    fn value(&self, outcome: Option<&Outcome>, first: &Outcome) -> f64 {
        let of = |outcome: &Outcome| match self.plan.goal {
            Goal::Time => outcome.time_s,
            Goal::Energy => outcome.energy_j,
            // Never zero: a latency of nothing has no logarithm.
            Goal::Latency => latency(outcome).max(1.0),
        };
        outcome.map_or(of(first) * PATIENCE, of).ln()
    }
}

fn latency(outcome: &Outcome) -> f64 {
    outcome.summary.wakeup_latency_us.mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_winner_is_surely_and_noticeably_better() {
        let better = |value, ci95| is_better(Change { value, ci95 });
        assert!(better(0.02, Some([0.001, 0.05])) && better(0.02, None));
        assert!(!better(0.02, Some([-0.001, 0.05])), "it may be worse");
        assert!(!better(0.0004, Some([0.0001, 0.0008])) && !better(0.005, None), "nobody would notice");
    }
}
