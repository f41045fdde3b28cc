//! Comparison of measured runs by ranks: no outlier matters, and no distribution is assumed.

use crate::statistics::Change;

/// Speed-up of the second sample over the first: the median of all ratios of a time of the first to a time of the
/// second, minus one (Hodges and Lehmann). The 95% interval is the exact one of Mann and Whitney's test: it assumes that
/// the samples have distributions of the same shape, and no more. `None` as interval: the samples are too small.
/// NaN if one is empty.
pub fn speedup(baseline: &[f64], new: &[f64]) -> Change {
    let Change { value, ci95 } = ratio(baseline, new);
    Change { value: value - 1.0, ci95: ci95.map(|[low, high]| [low - 1.0, high - 1.0]) }
}

/// Saving: one minus the median of all ratios of a value of the second sample to one of the first. See [`speedup`].
pub fn saving(baseline: &[f64], new: &[f64]) -> Change {
    let Change { value, ci95 } = ratio(new, baseline);
    Change { value: 1.0 - value, ci95: ci95.map(|[low, high]| [1.0 - high, 1.0 - low]) }
}

/// The median of a sample; NaN if it is empty.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n => f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]),
    }
}

fn ratio(above: &[f64], below: &[f64]) -> Change {
    let mut ratios: Vec<f64> = above.iter().flat_map(|a| below.iter().map(move |b| a / b)).collect();
    ratios.sort_by(f64::total_cmp);
    let left_out = critical(above.len(), below.len());
    let ci95 = left_out.map(|count| [ratios[count - 1], ratios[ratios.len() - count]]);
    Change { value: median(&ratios), ci95 }
}

/// The largest k with P(U < k) ≤ 2.5% under equal distributions, U being Mann and Whitney's statistic. The interval is from
/// the k-th smallest to the k-th largest ratio. `None` if there is no such k above 0.
fn critical(n: usize, m: usize) -> Option<usize> {
    let ways = ways(n, m);
    let all: f64 = ways.iter().sum();
    let mut sum = 0.0;
    let k = ways.iter().take_while(|ways| {
        sum += **ways / all;
        sum <= 0.025
    });
    Some(k.count()).filter(|k| *k > 0)
}

/// For each value of U, the number of orders of n and m values that give it.
fn ways(n: usize, m: usize) -> Vec<f64> {
    // ways[j][u] for the present number of first values and j second ones. The largest value is a first one, which is
    // above j second ones, or a second one.
    let mut ways: Vec<Vec<f64>> = vec![vec![1.0]; m + 1];
    for i in 1..=n {
        for j in 1..=m {
            let mut next = vec![0.0; i * j + 1];
            for (u, count) in ways[j].iter().enumerate() {
                next[u + j] += count;
            }
            for (u, count) in ways[j - 1].iter().enumerate() {
                next[u] += count;
            }
            ways[j] = next;
        }
    }
    ways.pop().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_mann_and_whitney() {
        // Two-sided critical values at 5%, from published tables: U ≤ 0, 2, 8, 23, 127. k is one more.
        for (n, critical_u) in [(4, 0), (5, 2), (7, 8), (10, 23), (20, 127)] {
            assert_eq!(critical(n, n), Some(critical_u + 1), "{n}");
        }
        assert_eq!(critical(3, 3), None);
        assert_eq!(critical(0, 5), None);
        assert_eq!(ways(2, 2), [1.0, 1.0, 2.0, 1.0, 1.0]);
    }

    #[test]
    fn a_clear_speed_up_and_none() {
        let slow = [10.0, 10.1, 10.2, 9.9, 10.0];
        let fast = [8.0, 8.1, 7.9, 8.05, 99.0];
        let found = speedup(&slow, &fast);
        assert!((found.value - 0.247).abs() < 0.01, "{found:?}");
        let [low, _] = found.ci95.unwrap();
        assert!(low < 0.0, "one run in five that takes ten times as long leaves it open: {low}");
        let clear = speedup(&slow, &[8.0, 8.1, 7.9, 8.05, 8.0]);
        assert!(clear.ci95.unwrap()[0] > 0.2, "{clear:?}");
        let same = speedup(&slow, &slow);
        let [low, high] = same.ci95.unwrap();
        assert!(same.value.abs() < 1e-12 && low < 0.0 && high > 0.0);
        assert_eq!(speedup(&[1.0; 3], &[1.0; 3]).ci95, None);
        assert!(speedup(&[], &[]).value.is_nan());
    }

    #[test]
    fn a_saving_mirrors_the_ratio() {
        let found = saving(&[100.0; 5], &[80.0; 5]);
        assert!((found.value - 0.2).abs() < 1e-12);
        assert!(found.ci95.unwrap().iter().all(|end| (end - 0.2).abs() < 1e-12));
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0]), 2.5);
    }

    /// The interval of samples of one distribution contains no difference in at least 95% of all cases.
    #[test]
    fn the_interval_covers() {
        let mut state = 1u64;
        let mut dice = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            1.0 + ((state >> 33) as f64 / (1u64 << 31) as f64).powi(4)
        };
        let mut covered = 0;
        for _ in 0..2000 {
            let [a, b]: [Vec<f64>; 2] = std::array::from_fn(|_| (0..8).map(|_| dice()).collect());
            let [low, high] = speedup(&a, &b).ci95.unwrap();
            covered += u32::from(low <= 0.0 && high >= 0.0);
        }
        assert!((1880..1990).contains(&covered), "{covered} of 2000");
    }
}
