//! Means over seeds, and 95% confidence intervals of their ratios.

use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};

/// Size, mean and standard deviation of a sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    pub n: usize,
    pub mean: f64,
    /// Sample standard deviation (divisor n − 1); 0 for fewer than two values.
    pub deviation: f64,
}

impl Sample {
    /// `None` if there are no values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Sample> {
        let values: Vec<f64> = values.into_iter().collect();
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        let deviation = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
        Some(Sample { n, mean, deviation })
    }

    /// Squared relative error of the mean.
    fn relative_variance(&self) -> f64 {
        (self.deviation / self.mean).powi(2) / self.n as f64
    }
}

/// The relative improvement of a sample over a baseline: 0 is equal, 0.1 is 10% better.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change {
    pub value: f64,
    /// The 95% confidence interval; `None` with fewer than two runs of either.
    pub ci95: Option<[f64; 2]>,
}

/// Speed-up in the papers' sense: mean(baseline) / mean(new) − 1, for times.
pub fn speedup(baseline: &Sample, new: &Sample) -> Change {
    let (ratio, ci) = ratio_of_means(baseline, new);
    Change { value: ratio - 1.0, ci95: ci.map(|[low, high]| [low - 1.0, high - 1.0]) }
}

/// Saving: 1 − mean(new) / mean(baseline), for energies.
pub fn saving(baseline: &Sample, new: &Sample) -> Change {
    let (ratio, ci) = ratio_of_means(new, baseline);
    Change { value: 1.0 - ratio, ci95: ci.map(|[low, high]| [1.0 - high, 1.0 - low]) }
}

/// Ratio of the means of two non-negative metrics. 0 / 0 is 0.
pub fn ratio(above: &Sample, below: &Sample) -> Change {
    if above.mean == 0.0 {
        return Change { value: 0.0, ci95: (above.n > 1 && below.n > 1).then_some([0.0; 2]) };
    }
    let (value, ci95) = ratio_of_means(above, below);
    Change { value, ci95: ci95.filter(|ends| ends.iter().all(|end| end.is_finite())) }
}

/// The mean of a non-negative metric, with Student's interval.
pub fn mean(sample: &Sample) -> Change {
    let Change { value, ci95 } = student(sample);
    Change { value, ci95: ci95.map(|[low, high]| [low.max(0.0), high]) }
}

/// The mean of a sample, with Student's interval.
fn student(sample: &Sample) -> Change {
    let student = (sample.n > 1).then(|| StudentsT::new(0.0, 1.0, (sample.n - 1) as f64).ok()).flatten();
    let ci95 = student.map(|t| {
        let reach = t.inverse_cdf(0.975) * sample.deviation / (sample.n as f64).sqrt();
        [sample.mean - reach, sample.mean + reach]
    });
    Change { value: sample.mean, ci95 }
}

/// The standard deviation divided by the mean, with the chi-squared interval of the deviation. Unknown (NaN) with
/// fewer than two values.
pub fn deviation(sample: &Sample) -> Change {
    let freedom = sample.n.saturating_sub(1) as f64;
    let Ok(squares) = ChiSquared::new(freedom) else { return Change { value: f64::NAN, ci95: None } };
    let value = sample.deviation / sample.mean;
    let end = |quantile: f64| value * (freedom / squares.inverse_cdf(quantile)).sqrt();
    let ends = [end(0.975), end(0.025)];
    Change { value, ci95: ends.iter().all(|end| end.is_finite()).then_some(ends) }
}

/// The difference of two independent changes. The interval combines theirs (method of variance estimates recovery:
/// Zou and Donner, Statistics in Medicine 27, 2008). Independence is an approximation if both have the same baseline.
pub fn difference(a: &Change, b: &Change) -> Change {
    let ends = |[a_low, a_high]: [f64; 2], [b_low, b_high]: [f64; 2]| {
        let value = a.value - b.value;
        [value - (a.value - a_low).hypot(b_high - b.value), value + (a_high - a.value).hypot(b.value - b_low)]
    };
    Change { value: a.value - b.value, ci95: a.ci95.zip(b.ci95).map(|(a, b)| ends(a, b)) }
}

/// The mean of independent changes, one at least. The interval combines theirs as that of a [`difference`].
pub fn mean_of(changes: &[Change]) -> Change {
    let n = changes.len() as f64;
    let value = changes.iter().map(|change| change.value).sum::<f64>() / n;
    let reach = |end: usize| {
        let reaches = changes.iter().map(|change| Some(change.value - change.ci95?[end]));
        let squares = reaches.map(|reach| Some(reach?.powi(2))).sum::<Option<f64>>()?;
        Some(squares.sqrt() / n)
    };
    Change { value, ci95: reach(0).zip(reach(1)).map(|(low, high)| [value - low, value + high]) }
}

/// The mean of a change over recordings of one command, one at least, with Student's interval of their scatter. One
/// recording keeps the interval of its seeds.
pub fn across(recordings: &[Change]) -> Change {
    match (recordings, Sample::of(recordings.iter().map(|change| change.value))) {
        ([only], _) => *only,
        (_, Some(sample)) => student(&sample),
        (_, None) => Change { value: f64::NAN, ci95: None },
    }
}

/// Ratio of two means of positive values, and its 95% confidence interval by the delta method on the
/// logarithm, with Student's t at the Welch–Satterthwaite degrees of freedom. Assumes independent samples and
/// unequal variances.
fn ratio_of_means(above: &Sample, below: &Sample) -> (f64, Option<[f64; 2]>) {
    let ratio = above.mean / below.mean;
    if above.n < 2 || below.n < 2 {
        return (ratio, None);
    }
    let (va, vb) = (above.relative_variance(), below.relative_variance());
    let variance = va + vb;
    if variance == 0.0 {
        return (ratio, Some([ratio, ratio]));
    }
    let freedom = variance * variance / (va * va / (above.n - 1) as f64 + vb * vb / (below.n - 1) as f64);
    // An error means that a mean is NaN: the other arguments are valid.
    let Ok(t) = StudentsT::new(0.0, 1.0, freedom) else { return (ratio, None) };
    let reach = t.inverse_cdf(0.975) * variance.sqrt();
    (ratio, Some([ratio * (-reach).exp(), ratio * reach.exp()]))
}

/// Formats with three significant digits, or all digits before the point.
pub fn number(value: f64) -> String {
    let digits = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    format!("{value:.*}", (2 - digits).clamp(0, 6) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (value, text) in [
            (0.0, "0.00"),
            (0.012345, "0.0123"),
            (1.2345, "1.23"),
            (12.345, "12.3"),
            (123.45, "123"),
            (1234567.0, "1234567"),
            (-0.5, "-0.500"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    fn sample(values: &[f64]) -> Sample {
        Sample::of(values.iter().copied()).unwrap()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-4
    }

    #[test]
    fn sample_statistics() {
        let s = sample(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!((s.n, s.mean), (8, 5.0));
        // Squares: 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32; 32 / 7 = 4.5714; its root is 2.1381.
        assert!(close(s.deviation, 2.1381));
        assert_eq!(sample(&[3.0]), Sample { n: 1, mean: 3.0, deviation: 0.0 });
        assert_eq!(Sample::of([]), None);
    }

    #[test]
    fn speedup_and_saving_are_those_of_the_papers() {
        // 10 s become 8 s: 10 / 8 − 1. 100 J become 80 J: a fifth is saved.
        assert!(close(speedup(&sample(&[10.0]), &sample(&[8.0])).value, 0.25));
        assert!(close(saving(&sample(&[100.0]), &sample(&[80.0])).value, 0.2));
        // Half as fast.
        assert!(close(speedup(&sample(&[1.0]), &sample(&[2.0])).value, -0.5));
    }

    #[test]
    fn one_run_has_no_interval() {
        assert_eq!(speedup(&sample(&[10.0]), &sample(&[8.0, 8.0])).ci95, None);
        assert_eq!(saving(&sample(&[10.0, 10.0]), &sample(&[8.0])).ci95, None);
    }

    #[test]
    fn the_mean_of_changes_combines_their_intervals() {
        let of = |value: f64, reach: f64| Change { value, ci95: Some([value - reach, value + reach]) };
        // √(0.03² + 0.04²) / 2 = 0.025.
        let mean = mean_of(&[of(0.1, 0.03), of(0.3, 0.04)]);
        let [low, high] = mean.ci95.unwrap();
        assert!(close(mean.value, 0.2) && close(low, 0.175) && close(high, 0.225));
        assert_eq!(mean_of(&[of(0.1, 0.03), Change { value: 0.3, ci95: None }]).ci95, None);
    }

    #[test]
    fn recordings_that_differ_widen_the_interval() {
        let of = |value: f64| Change { value, ci95: Some([value - 0.001, value + 0.001]) };
        // t of one degree of freedom is 12.706; the standard error of 0.1 and 0.3 is 0.1.
        let [low, high] = across(&[of(0.1), of(0.3)]).ci95.unwrap();
        assert!(close(low, 0.2 - 1.2706) && close(high, 0.2 + 1.2706), "{low} {high}");
        assert_eq!(across(&[of(0.1)]), of(0.1));
    }

    #[test]
    fn equal_runs_have_an_empty_interval() {
        let change = speedup(&sample(&[10.0, 10.0]), &sample(&[8.0, 8.0]));
        assert!(change.ci95.unwrap().iter().all(|end| close(*end, 0.25)));
    }

    #[test]
    fn interval_agrees_with_manual_calculation() {
        // Baseline 9, 10, 11: mean 10, deviation 1, relative variance (1/10)² / 3 = 0.0033333.
        // New 4, 5, 6: mean 5, deviation 1, relative variance (1/5)² / 3 = 0.0133333.
        // Sum 0.0166667, root 0.1290994. Freedom: 0.0166667² / (0.0033333² / 2 + 0.0133333² / 2) = 2.941176.
        // t(0.975; 2.941176) = 3.22013 (between t(2) = 4.30265 and t(3) = 3.18245). Reach 0.415717.
        // Ratio 2, so 2·e^-0.415717 = 1.31974 to 2·e^0.415717 = 3.03091.
        let change = speedup(&sample(&[9.0, 10.0, 11.0]), &sample(&[4.0, 5.0, 6.0]));
        assert!(close(change.value, 1.0));
        let [low, high] = change.ci95.unwrap();
        assert!((low - 0.3197).abs() < 2e-3, "{low}");
        assert!((high - 2.0309).abs() < 4e-3, "{high}");
        // Symmetric on the logarithm.
        assert!(close((low + 1.0) * (high + 1.0), 4.0));
    }

    #[test]
    fn interval_of_equal_samples_has_students_width() {
        // Both 9, 11: deviation √2, relative variance 2/100/2 = 0.01 each; freedom 2; t = 4.30265;
        // reach 4.30265 · √0.02 = 0.608487.
        let change = speedup(&sample(&[9.0, 11.0]), &sample(&[9.0, 11.0]));
        let [low, high] = change.ci95.unwrap();
        assert!(close(low, (-0.608487f64).exp() - 1.0), "{low}");
        assert!(close(high, 0.608487f64.exp() - 1.0), "{high}");
        let [low, high] = saving(&sample(&[9.0, 11.0]), &sample(&[9.0, 11.0])).ci95.unwrap();
        assert!(close(low, 1.0 - 0.608487f64.exp()), "{low}");
        assert!(close(high, 1.0 - (-0.608487f64).exp()), "{high}");
    }

    #[test]
    fn deviation_agrees_with_manual_calculation() {
        // 1, 2, 3: deviation 1, mean 2. Chi-squared with two degrees of freedom: quantiles 7.37776 and 0.0506356.
        let change = deviation(&sample(&[1.0, 2.0, 3.0]));
        let [low, high] = change.ci95.unwrap();
        assert!(close(change.value, 0.5));
        assert!((low - 0.26033).abs() < 1e-4 && (high - 3.1424).abs() < 1e-3, "{low} {high}");
    }

    #[test]
    fn differences_combine_intervals() {
        // Half widths of 0.3 and 0.4 give 0.5.
        let a = Change { value: 2.0, ci95: Some([1.7, 2.3]) };
        let b = Change { value: 0.5, ci95: Some([0.1, 0.9]) };
        let change = difference(&a, &b);
        assert!(close(change.value, 1.5));
        assert!(change.ci95.unwrap().iter().zip([1.0, 2.0]).all(|(end, expected)| close(*end, expected)));
        assert_eq!(difference(&a, &Change { ci95: None, ..b }).ci95, None);
    }
}
