//! Which product to try next.

use crate::tune::gaussian::{Gaussian, Kernel};
use crate::tune::pool::Pool;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::Serialize;
use statrs::distribution::{Continuous, ContinuousCDF, Normal};
use std::fmt;
use std::str::FromStr;

/// How a search proposes products.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// In random order.
    Random,
    /// What was best for other applications, weighted by the likeness of their profiles; then the largest expected
    /// improvement under a Gaussian process that knows how products went together there. Without experience, it begins
    /// with products that are far apart.
    TransferProfile,
}

impl Method {
    pub const ALL: [Method; 2] = [Method::Random, Method::TransferProfile];

    /// Whether it uses results of other applications.
    pub fn learns(self) -> bool {
        self == Method::TransferProfile
    }

    fn name(self) -> &'static str {
        match self {
            Method::Random => "random",
            Method::TransferProfile => "transfer-profile",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Method, String> {
        let found = Method::ALL.into_iter().find(|method| method.name() == text);
        found.ok_or_else(|| format!("expected one of: {}", Method::ALL.map(Method::name).join(", ")))
    }
}

/// What is known of a pool's products from other applications.
#[derive(Clone, Debug)]
pub struct Prior {
    /// Workload and machine of each application.
    labels: Vec<(String, String)>,
    /// By application, then by product: 0.1 is 10% slower than the best one.
    regrets: Vec<Vec<f64>>,
    /// Sum 1.
    weights: Vec<f64>,
    /// The same as logarithms of times, with mean 0 and about the same spread for each application.
    scores: Vec<Vec<f64>>,
}

/// Spread (in log time) below which an application says little about products.
const FLAT: f64 = 0.02;

impl Prior {
    pub(crate) fn new(labels: Vec<(String, String)>, regrets: Vec<Vec<f64>>, weights: Vec<f64>) -> Prior {
        let sum: f64 = weights.iter().sum();
        let even = 1.0 / weights.len() as f64;
        let weights = weights.into_iter().map(|weight| if sum > 0.0 { weight / sum } else { even }).collect();
        let scores = regrets.iter().map(|all| score(all)).collect();
        Prior { labels, regrets, weights, scores }
    }

    /// The applications that count most, with their weights.
    pub fn nearest(&self, most: usize) -> Vec<(&str, &str, f64)> {
        let mut all: Vec<_> = self
            .labels
            .iter()
            .zip(&self.weights)
            .map(|((workload, machine), weight)| (workload.as_str(), machine.as_str(), *weight))
            .collect();
        all.sort_by(|a, b| b.2.total_cmp(&a.2));
        all.truncate(most);
        all
    }

    fn covariance(&self, a: usize, b: usize) -> f64 {
        self.scores.iter().zip(&self.weights).map(|(all, weight)| weight * all[a] * all[b]).sum()
    }

    /// `size` products, of which one is probably good: each is the one that improves the expected best of all before it
    /// most. A product that is far from the best one counts as 50% slower: whether it is two or ten times as slow does not
    /// matter.
    fn portfolio(&self, size: usize) -> Vec<usize> {
        let products = self.regrets.first().map_or(0, Vec::len);
        let (mut chosen, mut best) = (Vec::new(), vec![0.5; self.regrets.len()]);
        while chosen.len() < size.min(products) {
            let expected = |product: usize| -> f64 {
                let of = |(all, (weight, best)): (&Vec<f64>, (&f64, &f64))| weight * all[product].min(*best);
                self.regrets.iter().zip(self.weights.iter().zip(&best)).map(of).sum()
            };
            let untried = (0..products).filter(|product| !chosen.contains(product));
            let Some(next) = untried.min_by(|a, b| expected(*a).total_cmp(&expected(*b))) else { break };
            for (best, all) in best.iter_mut().zip(&self.regrets) {
                *best = best.min(all[next]);
            }
            chosen.push(next);
        }
        chosen
    }
}

/// Logarithms with mean 0. Their spread is 1, or less if the application is flat.
fn score(regrets: &[f64]) -> Vec<f64> {
    let logs: Vec<f64> = regrets.iter().map(|regret| regret.ln_1p()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / logs.len() as f64;
    let spread = variance.sqrt().max(FLAT);
    logs.iter().map(|log| (log - mean) / spread).collect()
}

/// A search for the product with the least value, for example the logarithm of a time.
pub struct Search<'a> {
    pool: &'a Pool,
    method: Method,
    learned: Option<&'a Prior>,
    random: StdRng,
    /// Products in the order in which they were first tried; the mean of the values of each, and their number.
    tried: Vec<usize>,
    values: Vec<f64>,
    counts: Vec<usize>,
    /// What to try first.
    plan: Vec<usize>,
}

/// Products that a search without experience tries first.
const FIRST: usize = 5;
/// The same with experience.
const PORTFOLIO: usize = 4;
/// A logarithm of a time that is larger than the best one by this: twice as slow.
const FAR: f64 = std::f64::consts::LN_2;
/// Runs of the product that seems to be the best.
const CONFIRMATIONS: usize = 5;

impl<'a> Search<'a> {
    /// `learned` is ignored by methods that do not [learn](Method::learns).
    pub fn new(pool: &'a Pool, method: Method, learned: Option<&'a Prior>, seed: u64) -> Search<'a> {
        let mut search = Search {
            pool,
            method,
            learned: learned.filter(|_| method.learns()),
            random: StdRng::seed_from_u64(seed),
            tried: Vec::new(),
            values: Vec::new(),
            counts: Vec::new(),
            plan: Vec::new(),
        };
        search.plan = match (method, search.learned) {
            (Method::Random, _) => Vec::new(),
            (Method::TransferProfile, Some(learned)) => learned.portfolio(PORTFOLIO),
            (Method::TransferProfile, None) => search.spread(FIRST),
        };
        search
    }

    /// The next runs, at most `most`: a product, and how often it was run before. A search runs what seems to be the best
    /// again, so that it does not recommend one that was lucky once. Empty if nothing is left to try.
    pub fn propose(&mut self, most: usize) -> Vec<(usize, usize)> {
        let known = (self.tried.len(), self.values.clone(), self.counts.clone());
        let mut proposed = Vec::new();
        while proposed.len() < most
            && let Some(next) = self.next()
        {
            proposed.push((next, self.count(next)));
            // As if it had been run, with the value that is expected.
            let expected = self.expected(next);
            self.tell(next, expected);
        }
        self.tried.truncate(known.0);
        (self.values, self.counts) = (known.1, known.2);
        proposed
    }

    /// The value of one run of a product.
    pub fn tell(&mut self, product: usize, value: f64) {
        match self.tried.iter().position(|tried| *tried == product) {
            Some(at) => {
                self.counts[at] += 1;
                self.values[at] += (value - self.values[at]) / self.counts[at] as f64;
            }
            None => {
                self.tried.push(product);
                self.values.push(value);
                self.counts.push(1);
            }
        }
    }

    fn count(&self, product: usize) -> usize {
        let at = self.tried.iter().position(|tried| *tried == product);
        at.map_or(0, |at| self.counts[at])
    }

    /// What seems to be the best, if it should be run again: one of five runs is spent on this.
    fn unconfirmed(&self) -> Option<usize> {
        let runs: usize = self.counts.iter().sum();
        let best = self.best().filter(|_| runs > 0)?;
        (self.count(best) < CONFIRMATIONS.min(1 + runs / 5)).then_some(best)
    }

    /// The product to recommend: the best expected one among those that were tried. Without a run, the first of the plan.
    pub fn best(&self) -> Option<usize> {
        self.ranked().first().copied()
    }

    /// The products that were tried, from the best expected one.
    pub fn ranked(&self) -> Vec<usize> {
        if self.tried.is_empty() {
            return self.plan.clone();
        }
        let mut all: Vec<(f64, usize)> = match self.gaussian(self.learned) {
            Some(fitted) => self.tried.iter().map(|&product| (fitted(product).0, product)).collect(),
            None => self.values.iter().copied().zip(self.tried.iter().copied()).collect(),
        };
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all.into_iter().map(|(_, product)| product).collect()
    }

    fn next(&mut self) -> Option<usize> {
        if let Some(best) = self.unconfirmed() {
            return Some(best);
        }
        if let Some(next) = self.plan.iter().find(|product| !self.tried.contains(product)) {
            return Some(*next);
        }
        let untried: Vec<usize> = (0..self.pool.len()).filter(|one| !self.tried.contains(one)).collect();
        if untried.is_empty() {
            return None;
        }
        // Experience may mislead: every second product is proposed without it.
        let learned = self.learned.filter(|_| self.tried.len().is_multiple_of(2));
        let chosen = self.gaussian(learned).and_then(|fitted| {
            self.most_promising(untried.iter().map(|&product| (product, fitted(product))))
        });
        chosen.or_else(|| Some(untried[self.random.random_range(0..untried.len())]))
    }

    /// The value that a product is expected to have.
    fn expected(&self, product: usize) -> f64 {
        let mean = self.values.iter().sum::<f64>() / self.values.len().max(1) as f64;
        self.gaussian(self.learned).map_or(mean, |fitted| fitted(product).0)
    }

    /// The values for a model. Of a product that is far from the best one, or failed, it need not know how bad it is.
    fn capped(&self) -> Vec<f64> {
        let best = self.values.iter().copied().fold(f64::INFINITY, f64::min);
        self.values.iter().map(|value| value.min(best + FAR)).collect()
    }

    /// The process of what was tried so far: mean and deviation of a product. `None` if the method has no model, or nothing
    /// was tried.
    fn gaussian(&self, learned: Option<&Prior>) -> Option<impl Fn(usize) -> (f64, f64) + use<>> {
        if self.method == Method::Random {
            return None;
        }
        let distance = |a: usize, b: usize| self.pool.distance(a, b);
        let together = |a: usize, b: usize| learned.map_or(0.0, |learned| learned.covariance(a, b));
        let kernel = Kernel {
            distance: &distance,
            slots: self.pool.slots(),
            experience: learned.is_some().then_some(&together),
        };
        let fitted = Gaussian::fit(&kernel, &self.tried, &self.capped(), &self.counts)?;
        let all: Vec<(f64, f64)> = (0..self.pool.len()).map(|product| fitted.predict(product)).collect();
        Some(move |product: usize| all[product])
    }

    /// The product with the largest expected improvement over the best value so far.
    fn most_promising(&self, products: impl Iterator<Item = (usize, (f64, f64))>) -> Option<usize> {
        let best = self.values.iter().copied().fold(f64::INFINITY, f64::min);
        let improvement = |(product, (mean, deviation)): (usize, (f64, f64))| {
            (product, expected_improvement(best - mean, deviation))
        };
        let improvements = products.map(improvement);
        // The first one of equals.
        let best = improvements.fold(None, |most: Option<(usize, f64)>, one| match most {
            Some(most) if most.1 >= one.1 => Some(most),
            _ => Some(one),
        });
        best.map(|(product, _)| product)
    }

    /// `size` products that are far apart: each has the largest distance to those before.
    fn spread(&mut self, size: usize) -> Vec<usize> {
        if self.pool.is_empty() {
            return Vec::new();
        }
        let mut chosen = vec![self.random.random_range(0..self.pool.len())];
        while chosen.len() < size.min(self.pool.len()) {
            let gap = |product: usize| chosen.iter().map(|other| self.pool.distance(product, *other)).min();
            let most = (0..self.pool.len()).map(gap).max().flatten();
            let far: Vec<usize> = (0..self.pool.len()).filter(|product| gap(*product) == most).collect();
            chosen.push(far[self.random.random_range(0..far.len())]);
        }
        chosen
    }
}

/// By how much a normal value with this deviation is expected to be below the best one, if its mean is `better` below.
fn expected_improvement(better: f64, deviation: f64) -> f64 {
    if deviation <= 0.0 {
        return better.max(0.0);
    }
    let normal = Normal::standard();
    let z = better / deviation;
    better * normal.cdf(z) + deviation * normal.pdf(z)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All products of four slots with three features.
    fn pool() -> Pool {
        let features: Vec<Vec<usize>> =
            (0..81).map(|n| (0..4).map(|slot| n / 3_usize.pow(slot) % 3).collect()).collect();
        Pool { names: features.iter().map(|all| format!("{all:?}")).collect(), features }
    }

    /// Each slot adds to the value, and two of them depend on each other. The best product is number 27 + 3.
    fn value(pool: &Pool, product: usize) -> f64 {
        let all = &pool.features[product];
        let alone: f64 = [0.0, 0.2, 0.1][all[0]] + [0.3, 0.0, 0.3][all[1]] + [0.0, 0.1, 0.2][all[2]];
        alone + if all[1] == 1 && all[3] == 1 { 0.0 } else { 0.2 }
    }

    fn runs_until_best(method: Method, learned: Option<&Prior>, seed: u64) -> usize {
        let pool = pool();
        let mut search = Search::new(&pool, method, learned, seed);
        for run in 1..=2 * pool.len() {
            let (next, _) = search.propose(1)[0];
            search.tell(next, value(&pool, next));
            if value(&pool, next) == 0.0 {
                assert_eq!(search.best(), Some(next), "{method}");
                return run;
            }
        }
        panic!("{method} does not try all products")
    }

    #[test]
    fn the_process_finds_the_best_product_sooner_than_chance() {
        let mean =
            |method| (0..10).map(|seed| runs_until_best(method, None, seed) as f64).sum::<f64>() / 10.0;
        let (random, process) = (mean(Method::Random), mean(Method::TransferProfile));
        assert!((25.0..60.0).contains(&random), "{random}");
        assert!(process < random * 0.7, "{process} of {random}");
    }

    #[test]
    fn experience_comes_first() {
        let pool = pool();
        let regrets: Vec<f64> = (0..pool.len()).map(|product| value(&pool, product)).collect();
        let other: Vec<f64> = (0..pool.len()).map(|product| product as f64 / 100.0).collect();
        let labels = vec![("a".into(), "m".into()), ("b".into(), "m".into())];
        let learned = Prior::new(labels, vec![regrets, other], vec![3.0, 1.0]);
        assert_eq!(learned.nearest(1), [("a", "m", 0.75)]);
        assert!(runs_until_best(Method::TransferProfile, Some(&learned), 1) <= 4);
    }

    #[test]
    fn a_search_tries_each_product_and_is_deterministic() {
        let mut pool = pool();
        pool.features.truncate(18);
        pool.names.truncate(18);
        for method in Method::ALL {
            let all = |most: usize| {
                let mut search = Search::new(&pool, method, None, 3);
                let mut order = Vec::new();
                loop {
                    let next = search.propose(most);
                    if next.is_empty() {
                        return order;
                    }
                    for (product, before) in next {
                        search.tell(product, value(&pool, product));
                        if before == 0 {
                            order.push(product);
                        }
                    }
                }
            };
            let order = all(6);
            assert_eq!(order, all(6), "{method}");
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..18).collect::<Vec<_>>(), "{method}");
        }
    }

    #[test]
    fn what_was_lucky_once_is_run_again() {
        let pool = pool();
        let mut search = Search::new(&pool, Method::TransferProfile, None, 1);
        for run in 0..5 {
            let (product, before) = search.propose(1)[0];
            assert_eq!(before, 0);
            search.tell(product, if run == 2 { 0.0 } else { 1.0 });
        }
        let lucky = search.best().unwrap();
        assert_eq!(search.propose(2)[0], (lucky, 1));
        search.tell(lucky, 3.0);
        assert_ne!(search.best(), Some(lucky));
    }

    #[test]
    fn improvement_is_expected_where_the_mean_is_low_or_unsure() {
        assert_eq!(expected_improvement(0.5, 0.0), 0.5);
        assert_eq!(expected_improvement(-0.5, 0.0), 0.0);
        assert!((expected_improvement(0.0, 1.0) - 0.398_94).abs() < 1e-4, "the density at zero");
        assert!(expected_improvement(-1.0, 2.0) > expected_improvement(-1.0, 1.0));
    }

    #[test]
    fn methods_are_parsed_by_name() {
        for method in Method::ALL {
            assert_eq!(method.to_string().parse(), Ok(method));
        }
        for unknown in ["magic", "gaussian"] {
            let said = unknown.parse::<Method>().unwrap_err();
            assert_eq!(said, "expected one of: random, transfer-profile");
        }
    }
}
