//! A forest of regression trees over products: the other surrogate, and the importance of each slot.

use crate::Pool;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::tree::decision_tree_regressor::{DecisionTreeRegressor, DecisionTreeRegressorParameters};

type Tree = DecisionTreeRegressor<f64, f64, DenseMatrix<f64>, Vec<f64>>;

/// Trees, each of a sample with replacement of the products that were tried.
pub struct Forest {
    trees: Vec<Tree>,
}

const TREES: usize = 30;

impl Forest {
    /// `rows` are the [`indicators`](Pool::indicators) of the products that were tried. `None` for fewer than two.
    pub fn fit(rows: &[&[f64]], values: &[f64], seed: u64) -> Option<Forest> {
        if rows.len() < 2 {
            return None;
        }
        let mut random = StdRng::seed_from_u64(seed);
        let tree = |_| {
            let sample: Vec<usize> = (0..rows.len()).map(|_| random.random_range(0..rows.len())).collect();
            let matrix = matrix(sample.iter().map(|one| rows[*one]))?;
            let values: Vec<f64> = sample.iter().map(|one| values[*one]).collect();
            let params = DecisionTreeRegressorParameters { seed: Some(seed), ..Default::default() };
            Tree::fit(&matrix, &values, params).ok()
        };
        let trees = (0..TREES).map(tree).collect::<Option<Vec<_>>>()?;
        Some(Forest { trees })
    }

    /// Mean and standard deviation over the trees, of each product.
    pub fn predict(&self, rows: &[&[f64]]) -> Vec<(f64, f64)> {
        let Some(matrix) = matrix(rows.iter().copied()) else { return Vec::new() };
        let by_tree: Vec<Vec<f64>> =
            self.trees.iter().filter_map(|tree| tree.predict(&matrix).ok()).collect();
        let n = by_tree.len() as f64;
        let of_product = |product: usize| {
            let mean = by_tree.iter().map(|values| values[product]).sum::<f64>() / n;
            let squares = by_tree.iter().map(|values| (values[product] - mean).powi(2)).sum::<f64>();
            (mean, (squares / n).sqrt())
        };
        (0..rows.len()).map(of_product).collect()
    }
}

fn matrix<'r>(rows: impl Iterator<Item = &'r [f64]>) -> Option<DenseMatrix<f64>> {
    let rows: Vec<Vec<f64>> = rows.map(<[f64]>::to_vec).collect();
    DenseMatrix::from_2d_vec(&rows).ok()
}

/// The importance of each slot: half of what the mean square error of a forest grows by when the slot's features are
/// shuffled, as a share of the values' variance (Breiman, Random Forests, 2001, section 10). It is 1 for a slot that decides
/// alone, and counts what a slot does together with others.
pub fn importance(pool: &Pool, values: &[f64], seed: u64) -> Vec<f64> {
    let rows = pool.indicators();
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    let Some(forest) = Forest::fit(&rows, values, seed).filter(|_| variance > 1e-20) else {
        return vec![0.0; pool.slots()];
    };
    let error = |rows: &[&[f64]]| {
        let predicted = forest.predict(rows);
        let squares = predicted.iter().zip(values).map(|((mean, _), value)| (mean - value).powi(2));
        squares.sum::<f64>() / values.len() as f64
    };
    let before = error(&rows);
    let mut random = StdRng::seed_from_u64(seed);
    let of_slot = |slot: usize| {
        let mut shuffled = pool.clone();
        for one in (1..pool.len()).rev() {
            let other = random.random_range(0..=one);
            let feature = shuffled.features[one][slot];
            shuffled.features[one][slot] = shuffled.features[other][slot];
            shuffled.features[other][slot] = feature;
        }
        let rows = shuffled.indicators();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        ((error(&rows) - before) / (2.0 * variance)).max(0.0)
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
    }

    #[test]
    fn a_forest_predicts_what_it_saw() {
        let pool = pool();
        let rows = pool.indicators();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let values: Vec<f64> = pool.features.iter().map(|all| all[0] as f64).collect();
        let predicted = Forest::fit(&rows, &values, 7).unwrap().predict(&rows);
        assert!(predicted.iter().zip(&values).all(|((mean, _), value)| (mean - value).abs() < 0.4));
        assert!(Forest::fit(&rows[..1], &values[..1], 7).is_none());
    }
}
