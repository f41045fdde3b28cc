//! The thesis's method: which features of a scheduler matter for an application.
//!
//! Slides of "Thread Scheduling in Multi-core Operating Systems" (2020), "Feature Evaluation": schedulers whose times vary
//! much are left out, the others are reduced to their mean. *Best* are those at most 10% slower than the best one. A
//! feature that more than 80% of *Best* have is good, one that less than 20% have is bad. *FitBest* are the schedulers of *Best* with
//! all good features and no bad one, *Fit* the others with these. Representativeness is |FitBest| / |Best|, precision
//! is |FitBest| / |Fit ∪ FitBest|.
//!
//! The slides do not say when a scheduler is unstable, or on par with CFS: [`Method`] has our choices.

use crate::statistics::{Change, Sample, speedup};
use crate::sweep::Row;
use serde::Serialize;
use std::collections::BTreeMap;

/// The feature model: a product's name is its features, joined with `+`; the name of the base may come first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Space {
    pub base: String,
    pub slots: Vec<Slot>,
}

/// A slot of the feature model, and the features that may fill it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slot {
    pub name: String,
    pub features: Vec<String>,
    /// A product may have none of them.
    pub optional: bool,
}

impl Slot {
    /// Number of features, and one for none of them.
    fn values(&self) -> usize {
        self.features.len() + usize::from(self.optional)
    }

    fn value(&self, position: usize) -> String {
        let none = || if let [only] = &self.features[..] { format!("no {only}") } else { "none".into() };
        self.features.get(position).cloned().unwrap_or_else(none)
    }
}

/// The limits of the method.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Method {
    /// A scheduler is unstable if the standard deviation of its times is a larger share of their mean. Our choice.
    pub unstable: f64,
    /// *Best*: so much slower than the best one at most.
    pub best: f64,
    pub good: f64,
    pub bad: f64,
    /// Speeds that differ by at most this share are on par. Our choice.
    pub par: f64,
}

impl Default for Method {
    fn default() -> Self {
        Method { unstable: 0.05, best: 0.10, good: 0.8, bad: 0.2, par: 0.05 }
    }
}

/// What the method finds for an application: a workload on a machine under a governor.
#[derive(Serialize)]
pub struct Finding {
    pub workload: String,
    pub machine: String,
    pub governor: String,
    /// Products of the feature model with at least one completed run.
    pub products: usize,
    /// Products with a run that did not complete. They count as unstable.
    pub failed: usize,
    pub unstable: usize,
    /// Number of schedulers in *Best*.
    pub best: usize,
    /// The fastest stable product.
    pub fastest: String,
    pub features: Vec<Feature>,
    pub representativeness: f64,
    pub precision: f64,
    /// All products, from the fastest one.
    #[serde(skip)]
    pub schedulers: Vec<Scheduler>,
    /// The first policy of the table that is no product, and the fastest product against it.
    pub baseline: Option<Baseline>,
    /// All policies of the table that are no products, as the baseline is.
    pub policies: Vec<Baseline>,
    /// Share of the variance of log(time) over the stable products that each slot explains, the largest first.
    pub effects: Vec<Effect>,
}

impl Finding {
    /// Whether some stable product is slower than the best ones. If not, any scheduler will do.
    pub fn distinguishes(&self) -> bool {
        self.best < self.products - self.unstable
    }
}

/// The times of a product. Those of failed runs are missing.
pub struct Scheduler {
    pub policy: String,
    pub times: Sample,
    pub stable: bool,
}

/// How many of *Best* have a feature, or lack an optional one.
#[derive(Serialize)]
pub struct Feature {
    pub slot: String,
    /// The name; `no NAME` if it is the absence of an optional feature.
    pub feature: String,
    pub count: usize,
    pub share: f64,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Good,
    Bad,
    Neutral,
}

#[derive(Clone, Serialize)]
pub struct Baseline {
    pub policy: String,
    /// Mean time, in seconds.
    pub time_s: f64,
    /// Standard deviation of the times, divided by their mean.
    pub deviation: f64,
    /// Share of the products whose times vary less.
    pub steadier: f64,
    /// Speed-up of the fastest product over the baseline.
    pub speedup: f64,
    pub speedup_ci95: Option<[f64; 2]>,
    pub standing: Standing,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Better,
    OnPar,
    Worse,
}

/// The main effect of a slot, or the interaction of two.
#[derive(Serialize)]
pub struct Effect {
    pub slots: Vec<String>,
    /// Sum of squares between the groups, divided by the total one (η²).
    pub explained: f64,
}

/// A stable or unstable product of one application.
struct Product<'a> {
    policy: &'a str,
    /// The position of its feature in each slot.
    features: Vec<usize>,
    times: Sample,
    failed: bool,
}

/// The findings for each application of a table, in its order.
pub fn findings(rows: &[Row], space: &Space, method: &Method) -> Vec<Finding> {
    let mut applications: Vec<(&Row, Vec<&Row>)> = Vec::new();
    for row in rows {
        let same = |one: &Row| {
            (&one.workload, &one.machine, &one.governor) == (&row.workload, &row.machine, &row.governor)
        };
        match applications.iter_mut().find(|(first, _)| same(first)) {
            Some((_, rows)) => rows.push(row),
            None => applications.push((row, vec![row])),
        }
    }
    applications.iter().filter_map(|(first, rows)| finding(first, rows, space, method)).collect()
}

/// `None` if no product is stable.
fn finding(first: &Row, rows: &[&Row], space: &Space, method: &Method) -> Option<Finding> {
    let slots = &space.slots;
    let mut policies: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in rows {
        let name =
            if row.params.is_empty() { row.policy.clone() } else { format!("{}:{}", row.policy, row.params) };
        match policies.last_mut().filter(|(last, _)| *last == name) {
            Some((_, rows)) => rows.push(row),
            None => policies.push((name, vec![row])),
        }
    }
    let times = |rows: &[&Row]| Sample::of(rows.iter().filter_map(|row| row.time_s));
    let product = |(policy, rows): &'_ (String, Vec<&Row>)| {
        let features = space.features_of(policy)?;
        let failed = rows.iter().any(|row| row.time_s.is_none());
        Some((features, times(rows)?, failed))
    };
    let products: Vec<Product> = policies
        .iter()
        .filter_map(|entry| {
            let (features, times, failed) = product(entry)?;
            Some(Product { policy: &entry.0, features, times, failed })
        })
        .collect();
    let is_stable = |one: &&Product| !one.failed && spread(&one.times) <= method.unstable;
    let stable: Vec<&Product> = products.iter().filter(is_stable).collect();
    let fastest = stable.iter().min_by(|a, b| a.times.mean.total_cmp(&b.times.mean))?;
    let is_best = |one: &&&Product| one.times.mean <= fastest.times.mean * (1.0 + method.best);
    let best: Vec<&Product> = stable.iter().filter(is_best).copied().collect();
    let verdicts = verdicts(&best, slots, method);
    let fits = |one: &&&Product| {
        one.features.iter().enumerate().all(|(slot, feature)| {
            let of_slot = &verdicts[slot];
            let good = of_slot.iter().position(|(_, verdict)| *verdict == Verdict::Good);
            of_slot[*feature].1 != Verdict::Bad && good.is_none_or(|good| good == *feature)
        })
    };
    let fit_best = best.iter().filter(fits).count() as f64;
    let fit = stable.iter().filter(fits).count() as f64;
    let policies: Vec<Baseline> = policies
        .iter()
        .filter(|(policy, _)| space.features_of(policy).is_none())
        .filter_map(|(policy, rows)| Some(compare(policy, &times(rows)?, &products, &fastest.times, method)))
        .collect();
    Some(Finding {
        workload: first.workload.clone(),
        machine: first.machine.clone(),
        governor: first.governor.clone(),
        products: products.len(),
        failed: products.iter().filter(|one| one.failed).count(),
        unstable: products.len() - stable.len(),
        best: best.len(),
        fastest: fastest.policy.to_owned(),
        schedulers: schedulers(&products, is_stable),
        features: features(slots, &verdicts, best.len()),
        representativeness: fit_best / best.len() as f64,
        precision: if fit == 0.0 { 0.0 } else { fit_best / fit },
        baseline: policies.first().cloned(),
        policies,
        effects: effects(&stable, slots),
    })
}

fn schedulers(products: &[Product], is_stable: impl Fn(&&Product) -> bool) -> Vec<Scheduler> {
    let scheduler = |one: &Product| Scheduler {
        policy: one.policy.to_owned(),
        times: one.times,
        stable: is_stable(&one),
    };
    let mut all: Vec<Scheduler> = products.iter().map(scheduler).collect();
    all.sort_by(|a, b| a.times.mean.total_cmp(&b.times.mean));
    all
}

/// Standard deviation divided by the mean.
fn spread(times: &Sample) -> f64 {
    times.deviation / times.mean
}

impl Space {
    /// The position of the product's feature in each slot; none comes last. `None` if the policy is no product.
    pub fn features_of(&self, policy: &str) -> Option<Vec<usize>> {
        let mut named: Vec<&str> = policy.split('+').collect();
        if named[0] == self.base {
            named.remove(0);
        }
        let mut used = 0;
        let of_slot = |slot: &Slot| {
            let position = slot.features.iter().position(|feature| named.contains(&feature.as_str()));
            used += usize::from(position.is_some());
            position.or(slot.optional.then_some(slot.features.len()))
        };
        let features = self.slots.iter().map(of_slot).collect::<Option<Vec<usize>>>()?;
        (used == named.len()).then_some(features)
    }
}

/// For each slot and feature, how many of *Best* have it, and what that means.
fn verdicts(best: &[&Product], slots: &[Slot], method: &Method) -> Vec<Vec<(usize, Verdict)>> {
    let of = |(number, slot): (usize, &Slot)| {
        let verdict = |feature| {
            let count = best.iter().filter(|one| one.features[number] == feature).count();
            let share = count as f64 / best.len() as f64;
            let verdict = match share {
                _ if share > method.good => Verdict::Good,
                _ if share < method.bad => Verdict::Bad,
                _ => Verdict::Neutral,
            };
            (count, verdict)
        };
        (0..slot.values()).map(verdict).collect()
    };
    slots.iter().enumerate().map(of).collect()
}

fn features(slots: &[Slot], verdicts: &[Vec<(usize, Verdict)>], best: usize) -> Vec<Feature> {
    let mut all = Vec::new();
    for (slot, of_slot) in slots.iter().zip(verdicts) {
        for (number, (count, verdict)) in of_slot.iter().enumerate() {
            all.push(Feature {
                slot: slot.name.clone(),
                feature: slot.value(number),
                count: *count,
                share: *count as f64 / best as f64,
                verdict: *verdict,
            });
        }
    }
    all
}

fn compare(
    policy: &str,
    times: &Sample,
    products: &[Product],
    fastest: &Sample,
    method: &Method,
) -> Baseline {
    let Change { value, ci95 } = speedup(times, fastest);
    let steadier = products.iter().filter(|one| !one.failed && spread(&one.times) < spread(times)).count();
    Baseline {
        policy: policy.to_owned(),
        time_s: times.mean,
        deviation: spread(times),
        steadier: steadier as f64 / products.len() as f64,
        speedup: value,
        speedup_ci95: ci95,
        standing: match value {
            _ if value > method.par => Standing::Better,
            _ if value < -method.par => Standing::Worse,
            _ => Standing::OnPar,
        },
    }
}

/// An analysis of variance of log(time): main effects of the slots, and interactions of two. Exact if the stable products are
/// all products; with some missing, shares may overlap.
fn effects(stable: &[&Product], slots: &[Slot]) -> Vec<Effect> {
    let logs: Vec<f64> = stable.iter().map(|one| one.times.mean.ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let total: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    // Between the groups of products that agree in these slots.
    let between = |of: &[usize]| {
        let mut groups: BTreeMap<Vec<usize>, (f64, f64)> = BTreeMap::new();
        for (one, log) in stable.iter().zip(&logs) {
            let (sum, count) = groups.entry(of.iter().map(|slot| one.features[*slot]).collect()).or_default();
            (*sum, *count) = (*sum + log, *count + 1.0);
        }
        groups.values().map(|(sum, count)| count * (sum / count - mean).powi(2)).sum::<f64>()
    };
    let alone: Vec<f64> = (0..slots.len()).map(|slot| between(&[slot])).collect();
    let mut effects = Vec::new();
    let mut add = |of: &[usize], squares: f64| {
        // Rounding alone makes a difference of some 1e-16.
        let explained = if total > 1e-20 * logs.len() as f64 { (squares / total).max(0.0) } else { 0.0 };
        effects.push(Effect { slots: of.iter().map(|slot| slots[*slot].name.clone()).collect(), explained });
    };
    for a in 0..slots.len() {
        add(&[a], alone[a]);
        for b in a + 1..slots.len() {
            add(&[a, b], between(&[a, b]) - alone[a] - alone[b]);
        }
    }
    effects.sort_by(|a, b| b.explained.total_cmp(&a.explained));
    effects
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setting;
    use crate::sweep::End;

    fn space() -> Space {
        let slot = |name: &str, features: &[&str]| Slot {
            name: name.into(),
            features: features.iter().map(|one| (*one).into()).collect(),
            optional: features.len() == 1,
        };
        let slots = vec![slot("order", &["rbtree", "list", "fifo"]), slot("idle", &["idle"])];
        Space { base: "family".into(), slots }
    }

    /// Two runs of each policy.
    fn rows(policies: &[(&str, [Option<f64>; 2])]) -> Vec<Row> {
        let rows = policies.iter().flat_map(|(policy, times)| {
            let setting = Setting {
                machine: "m".into(),
                governor: "g".into(),
                policy: (*policy).into(),
                params: Default::default(),
            };
            (1..).zip(*times).map(move |(seed, time_s)| Row {
                time_s,
                ..Row::without_metrics("w", &setting, seed, End::Completed)
            })
        });
        rows.collect()
    }

    fn at(time: f64) -> [Option<f64>; 2] {
        [Some(time), Some(time)]
    }

    #[test]
    fn the_best_share_their_good_features() {
        let table = rows(&[
            ("cfs", at(1.04)),
            ("rbtree", at(2.0)),
            ("rbtree+idle", at(1.0)),
            ("list", at(2.0)),
            ("list+idle", at(1.08)),
            ("fifo", at(2.0)),
            ("fifo+idle", at(1.3)),
        ]);
        let found = findings(&table, &space(), &Method::default());
        let [found] = &found[..] else { panic!("one application") };
        assert_eq!((found.products, found.unstable, found.best), (6, 0, 2));
        assert_eq!(found.fastest, "rbtree+idle");
        let of = |name: &str| {
            found.features.iter().find(|one| one.feature == name).map(|one| (one.count, one.verdict))
        };
        assert_eq!(of("rbtree"), Some((1, Verdict::Neutral)));
        assert_eq!(of("fifo"), Some((0, Verdict::Bad)));
        assert_eq!(of("idle"), Some((2, Verdict::Good)));
        assert_eq!(of("no idle"), Some((0, Verdict::Bad)));
        assert_eq!((found.representativeness, found.precision), (1.0, 1.0));
        let baseline = found.baseline.as_ref().unwrap();
        assert_eq!((baseline.policy.as_str(), baseline.standing), ("cfs", Standing::OnPar));
        assert!((baseline.speedup - 0.04).abs() < 1e-9);
        // Sums of squares by hand: idle alone explains most.
        assert_eq!(found.effects[0].slots, ["idle"]);
        assert!(found.effects[0].explained > 0.9);
        let all: f64 = found.effects.iter().map(|effect| effect.explained).sum();
        assert!((all - 1.0).abs() < 1e-9, "two slots and their interaction explain all of a complete table");
    }

    #[test]
    fn a_frame_may_be_imprecise_or_not_representative() {
        // Best: rbtree+idle, list+idle, fifo+idle, rbtree, 4 of which 3 have idle: 75% is neither good nor bad.
        let table = rows(&[
            ("rbtree", at(1.0)),
            ("rbtree+idle", at(1.0)),
            ("list", at(2.0)),
            ("list+idle", at(1.0)),
            ("fifo", at(2.0)),
            ("fifo+idle", at(1.0)),
        ]);
        let method = Method { bad: 0.26, ..Method::default() };
        let found = &findings(&table, &space(), &method)[0];
        // Without idle is 25%: bad with this limit. list and fifo are 25%, too. So the frame is rbtree+idle alone.
        assert_eq!((found.best, found.representativeness, found.precision), (4, 0.25, 1.0));
        let found = &findings(&table, &space(), &Method::default())[0];
        assert_eq!((found.representativeness, found.precision), (1.0, 4.0 / 6.0));
    }

    #[test]
    fn unstable_and_failed_schedulers_are_left_out() {
        let table = rows(&[
            ("cfs", [Some(1.0), Some(1.2)]),
            ("rbtree", [Some(0.5), Some(0.9)]),
            ("rbtree+idle", at(1.0)),
            ("list", [Some(0.5), None]),
        ]);
        let found = &findings(&table, &space(), &Method::default())[0];
        assert_eq!((found.products, found.failed, found.unstable), (3, 1, 2));
        assert_eq!(found.fastest, "rbtree+idle");
        assert_eq!(found.baseline.as_ref().unwrap().steadier, 1.0 / 3.0);
        let none = rows(&[("cfs", at(1.0))]);
        assert_eq!(findings(&none, &space(), &Method::default()).len(), 0);
    }

    #[test]
    fn a_policy_is_a_product_if_all_its_features_are_known() {
        assert_eq!(space().features_of("list+idle"), Some(vec![1, 0]));
        assert_eq!(space().features_of("idle+list"), Some(vec![1, 0]));
        assert_eq!(space().features_of("fifo"), Some(vec![2, 1]));
        assert_eq!(space().features_of("family+list"), Some(vec![1, 1]));
        for other in ["cfs", "idle", "list+other", "list+fifo"] {
            assert_eq!(space().features_of(other), None, "{other}");
        }
    }

    #[test]
    fn policies_outside_the_model_are_compared_and_equal_products_are_not() {
        let table = rows(&[("cfs", at(1.04)), ("eevdf", at(1.3)), ("rbtree", at(1.0)), ("list", at(1.05))]);
        let [found] = &findings(&table, &space(), &Method::default())[..] else { panic!("one application") };
        let policies: Vec<&str> = found.policies.iter().map(|one| one.policy.as_str()).collect();
        assert_eq!((policies, found.policies[1].standing), (vec!["cfs", "eevdf"], Standing::Better));
        assert!(!found.distinguishes(), "both products are best");
        let table = rows(&[("rbtree", at(1.0)), ("list", at(1.2))]);
        assert!(findings(&table, &space(), &Method::default())[0].distinguishes());
    }
}
