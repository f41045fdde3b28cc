//! A forest of regression trees over products: the importance of each slot.

use crate::tune::Pool;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Trees, each of a sample with replacement of the products.
struct Forest {
    trees: Vec<Tree>,
}

const TREES: usize = 30;

/// Improvement of the sum of squares, as a share of the values' own, below which a node is not split.
const NEGLIGIBLE: f64 = 1e-12;

/// A regression tree. Each node asks whether a product has a feature.
enum Tree {
    Leaf(f64),
    Node { slot: usize, feature: usize, with: Box<Tree>, without: Box<Tree> },
}

/// A product's feature in each slot, and its value.
type Example<'p> = (&'p [usize], f64);

impl Forest {
    fn fit(products: &[Vec<usize>], values: &[f64], seed: u64) -> Forest {
        let mut random = StdRng::seed_from_u64(seed);
        let mut tree = || {
            let draw = |_| {
                let one = random.random_range(0..products.len());
                (&*products[one], values[one])
            };
            Tree::grow(&(0..products.len()).map(draw).collect::<Vec<_>>())
        };
        Forest { trees: (0..TREES).map(|_| tree()).collect() }
    }

    /// Mean over the trees.
    fn predict(&self, product: &[usize]) -> f64 {
        self.trees.iter().map(|tree| tree.predict(product)).sum::<f64>() / self.trees.len() as f64
    }
}

impl Tree {
    /// Grows the tree until all values of a leaf are equal, or its products have the same features.
    fn grow(examples: &[Example]) -> Tree {
        let all = Sum::of(examples.iter());
        let least = NEGLIGIBLE * examples.iter().map(|(_, value)| value * value).sum::<f64>();
        let mut best: Option<(f64, usize, usize)> = None;
        for slot in 0..examples.first().map_or(0, |(features, _)| features.len()) {
            let most = examples.iter().map(|(features, _)| features[slot]).max().unwrap_or(0);
            let mut with = vec![Sum::default(); most + 1];
            for (features, value) in examples {
                with[features[slot]].add(*value);
            }
            for (feature, with) in
                with.iter().enumerate().filter(|(_, with)| 0 < with.count && with.count < all.count)
            {
                let without = Sum { count: all.count - with.count, sum: all.sum - with.sum };
                let gain = with.explained() + without.explained() - all.explained();
                if gain > best.map_or(least, |(gain, ..)| gain) {
                    best = Some((gain, slot, feature));
                }
            }
        }
        let Some((_, slot, feature)) = best else { return Tree::Leaf(all.mean()) };
        let (with, without): (Vec<Example>, Vec<Example>) =
            examples.iter().copied().partition(|(features, _)| features[slot] == feature);
        Tree::Node {
            slot,
            feature,
            with: Box::new(Tree::grow(&with)),
            without: Box::new(Tree::grow(&without)),
        }
    }

    fn predict(&self, product: &[usize]) -> f64 {
        match self {
            Tree::Leaf(value) => *value,
            Tree::Node { slot, feature, with, without } => {
                let next = if product[*slot] == *feature { with } else { without };
                next.predict(product)
            }
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Sum {
    count: usize,
    sum: f64,
}

impl Sum {
    fn of<'e>(examples: impl Iterator<Item = &'e Example<'e>>) -> Sum {
        let mut all = Sum::default();
        examples.for_each(|(_, value)| all.add(*value));
        all
    }

    fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
    }

    fn mean(self) -> f64 {
        self.sum / self.count as f64
    }

    /// The part of the sum of squares that the mean explains.
    fn explained(self) -> f64 {
        self.sum * self.mean()
    }
}

/// The importance of each slot: half of what the mean square error of a forest grows by when the slot's features are
/// shuffled, as a share of the values' variance (Breiman, Random Forests, 2001, section 10). It is 1 for a slot that decides
/// alone, and counts what a slot does together with others.
pub fn importance(pool: &Pool, values: &[f64], seed: u64) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    if values.len() < 2 || variance <= 1e-20 {
        return vec![0.0; pool.slots()];
    }
    let forest = Forest::fit(&pool.features, values, seed);
    let error = |products: &[Vec<usize>]| {
        let squares = products.iter().zip(values).map(|(one, value)| (forest.predict(one) - value).powi(2));
        squares.sum::<f64>() / values.len() as f64
    };
    let before = error(&pool.features);
    let mut random = StdRng::seed_from_u64(seed);
    let of_slot = |slot: usize| {
        let mut shuffled = pool.features.clone();
        for one in (1..shuffled.len()).rev() {
            let other = random.random_range(0..=one);
            let feature = shuffled[one][slot];
            shuffled[one][slot] = shuffled[other][slot];
            shuffled[other][slot] = feature;
        }
        ((error(&shuffled) - before) / (2.0 * variance)).max(0.0)
    };
    (0..pool.slots()).map(of_slot).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All products of three slots with two features.
    fn pool() -> Pool {
        let features: Vec<Vec<usize>> =
            (0..8).map(|bits| (0..3).map(|slot| bits >> slot & 1).collect()).collect();
        Pool { names: features.iter().map(|all| format!("{all:?}")).collect(), features }
    }

    #[test]
    fn a_forest_learns_the_slot_that_matters() {
        let pool = pool();
        let values: Vec<f64> = pool.features.iter().map(|all| all[1] as f64).collect();
        let found = importance(&pool, &values, 1);
        assert!(found[1] > 0.5 && found[0] < 0.1 && found[2] < 0.1, "{found:?}");
        assert_eq!(found, importance(&pool, &values, 1), "the same seed gives the same trees");
        assert_eq!(importance(&pool, &[1.0; 8], 1), [0.0; 3]);
        let one = Pool { names: vec!["a".into()], features: vec![vec![0, 0]] };
        assert_eq!(importance(&one, &[1.0], 1), [0.0; 2]);
    }

    #[test]
    fn a_forest_predicts_what_it_saw() {
        let pool = pool();
        let values: Vec<f64> = pool.features.iter().map(|all| all[0] as f64).collect();
        let forest = Forest::fit(&pool.features, &values, 7);
        assert!(
            pool.features.iter().zip(&values).all(|(one, value)| (forest.predict(one) - value).abs() < 0.4)
        );
    }

    #[test]
    fn a_tree_knows_what_features_do_together() {
        // The exclusive or of two slots: no single question explains it, but two do.
        let pool = pool();
        let value = |all: &[usize]| (all[0] ^ all[1]) as f64 + 0.01 * all[0] as f64;
        let examples: Vec<Example> = pool.features.iter().map(|all| (&**all, value(all))).collect();
        let tree = Tree::grow(&examples);
        assert!(examples.iter().all(|(all, value)| (tree.predict(all) - value).abs() < 1e-9));
        assert!(matches!(Tree::grow(&examples[..1]), Tree::Leaf(value) if value == examples[0].1));
    }

    #[test]
    fn products_with_the_same_features_share_a_leaf() {
        let examples: [Example; 3] = [(&[0, 2], 1.0), (&[0, 2], 3.0), (&[1, 2], 7.0)];
        let tree = Tree::grow(&examples);
        assert_eq!((tree.predict(&[0, 2]), tree.predict(&[1, 2])), (2.0, 7.0));
    }
}
