//! Searches in a table of all runs: how far from the best product a method ends.

use crate::statistics::Sample;
use crate::sweep::Row;
use crate::tune::pool::{Pool, space};
use crate::tune::{Error, Experience, Method, Search};
use hearth_features::Model;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;

/// As in the study's method: a larger deviation, as a share of the mean, is unstable.
const UNSTABLE: f64 = 0.05;

/// What to replay.
pub struct Replay<'a> {
    pub model: &'a Model,
    pub methods: Vec<Method>,
    /// Numbers of runs after which to look. 0 is before the first run, which only methods that learn can do.
    pub after: Vec<usize>,
    /// Number of searches for each application and method, with successive seeds.
    pub searches: u64,
}

/// What a method recommends after so many runs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ReplayResult {
    pub method: Method,
    pub runs: usize,
    /// For each application, in the order of [`Experience::applications`]: by how much the recommended product is slower
    /// than the best stable one, the mean over the searches.
    pub regrets: Vec<f64>,
    pub median: f64,
    pub worst: f64,
    /// Share of the applications with a regret of at most 1%.
    pub within_1_percent: f64,
    /// Share of the applications where the best of the first three recommended products is within 1% of the best one.
    pub top_three: f64,
}

/// Each product's time with each seed; infinite where a run did not complete.
struct Times {
    by_seed: Vec<Vec<f64>>,
    mean: Vec<f64>,
    best: f64,
}

/// Regrets of one search after each of `Replay::after`: of the best, and of the best of three.
type Regrets = Vec<(f64, f64)>;

/// Replays searches on the applications of a table. What is learned comes from `experience`, without the application's
/// own [program](crate::tune::Application::program).
///
/// # Errors
/// If the table has no product of the model, or too few applications.
pub fn replay(rows: &[Row], experience: &Experience, replay: &Replay) -> Result<Vec<ReplayResult>, Error> {
    let own = Experience::of(rows, replay.model)?;
    if own.applications.len() < 3 {
        return Err(Error::FewApplications { found: own.applications.len() });
    }
    let pool = Pool::from_names(&space(replay.model), own.products.iter().cloned());
    let times = times(rows, &own);
    let jobs: Vec<(Method, usize)> =
        replay.methods.iter().flat_map(|method| (0..times.len()).map(move |one| (*method, one))).collect();
    let regrets: Vec<Regrets> = jobs
        .par_iter()
        .map(|&(method, number)| {
            let application = &own.applications[number];
            let others = |other: &crate::tune::Application| other.program() != application.program();
            let learned = method
                .learns()
                .then(|| experience.learned(&pool, application.profile.as_ref(), others))
                .flatten();
            let mut sum = vec![(0.0, 0.0); replay.after.len()];
            for seed in 0..replay.searches {
                let search = Search::new(&pool, method, learned.as_ref(), seed);
                for (sum, one) in sum.iter_mut().zip(one(search, &times[number], seed, &replay.after)) {
                    *sum = (sum.0 + one.0, sum.1 + one.1);
                }
            }
            let n = replay.searches as f64;
            sum.into_iter().map(|(best, three)| (best / n, three / n)).collect()
        })
        .collect();
    let mut found = Vec::new();
    for (method, of_method) in replay.methods.iter().zip(regrets.chunks(times.len())) {
        for (at, runs) in replay.after.iter().enumerate() {
            let column =
                |which: fn(&(f64, f64)) -> f64| of_method.iter().map(|all| which(&all[at])).collect();
            found.extend(summary(*method, *runs, column(|one| one.0), column(|one| one.1)));
        }
    }
    Ok(found)
}

/// `None` if the method recommends nothing yet.
fn summary(method: Method, runs: usize, regrets: Vec<f64>, three: Vec<f64>) -> Option<ReplayResult> {
    let mut sorted = regrets.clone();
    sorted.sort_by(f64::total_cmp);
    if sorted.iter().any(|one| one.is_nan()) {
        return None;
    }
    let within = |all: &[f64]| all.iter().filter(|one| **one <= 0.01).count() as f64 / all.len() as f64;
    let middle = sorted.len() / 2;
    let median =
        if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
    Some(ReplayResult {
        method,
        runs,
        median,
        worst: *sorted.last()?,
        within_1_percent: within(&regrets),
        top_three: within(&three),
        regrets,
    })
}

/// One search: a run is one simulation of a product. All products have the same seeds in the same order.
fn one(mut search: Search, times: &Times, seed: u64, after: &[usize]) -> Regrets {
    // A run that did not complete is as bad as one of 20 times the best.
    let value = |product: usize, before: usize| {
        let of_seed = &times.by_seed[(seed as usize + before) % times.by_seed.len()];
        of_seed[product].min(times.best * 20.0).ln()
    };
    let most = after.iter().copied().max().unwrap_or(0);
    let mut found = vec![(f64::NAN, f64::NAN); after.len()];
    for runs in 0..=most {
        for (found, _) in found.iter_mut().zip(after).filter(|(_, at)| **at == runs) {
            *found = regret(&search, times);
        }
        if runs == most {
            break;
        }
        for (product, before) in search.propose(1) {
            search.tell(product, value(product, before));
        }
    }
    found
}

/// By how much the recommended product is slower than the best one, and the best of the first three.
fn regret(search: &Search, times: &Times) -> (f64, f64) {
    let ranked = search.ranked();
    let of = |product: &usize| times.mean[*product].min(times.best * 20.0) / times.best - 1.0;
    let first = ranked.first().map_or(f64::NAN, of);
    (first, ranked.iter().take(3).map(of).fold(first, f64::min))
}

fn times(rows: &[Row], own: &Experience) -> Vec<Times> {
    let seeds: Vec<i64> = {
        let mut all: Vec<i64> = rows.iter().map(|row| row.seed).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let number = |name: &str| own.products.iter().position(|product| product == name);
    let products: BTreeMap<&str, usize> =
        own.products.iter().filter_map(|name| Some((name.as_str(), number(name)?))).collect();
    let of_application = |application: &crate::tune::Application| {
        let mut by_seed = vec![vec![f64::INFINITY; own.products.len()]; seeds.len()];
        let its = |row: &&Row| {
            (&row.workload, &row.machine, &row.governor)
                == (&application.workload, &application.machine, &application.governor)
        };
        for row in rows.iter().filter(its) {
            if let (Some(product), Ok(seed)) =
                (products.get(row.policy.as_str()), seeds.binary_search(&row.seed))
            {
                by_seed[seed][*product] = row.time_s.unwrap_or(f64::INFINITY);
            }
        }
        let mean: Vec<f64> = application.times.iter().map(|time| time.unwrap_or(f64::INFINITY)).collect();
        let best = best(&by_seed, &mean);
        Times { by_seed, mean, best }
    };
    own.applications.iter().map(of_application).collect()
}

/// The least mean time of a stable product, or of any if none is stable. The mean of one that varies much may be the least
/// by luck.
fn best(by_seed: &[Vec<f64>], mean: &[f64]) -> f64 {
    let is_stable = |product: &usize| {
        let times = Sample::of(by_seed.iter().map(|all| all[*product]));
        times.is_some_and(|times| times.deviation <= times.mean * UNSTABLE)
    };
    let least = |all: &mut dyn Iterator<Item = usize>| all.map(|one| mean[one]).fold(f64::INFINITY, f64::min);
    let stable = least(&mut (0..mean.len()).filter(is_stable));
    if stable.is_finite() { stable } else { least(&mut (0..mean.len())) }
}
