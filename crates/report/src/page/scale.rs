//! Axes: positions of values, and ticks.

/// Larger values are ignored: they would hide all others.
const MOST: f64 = 1e9;

/// A linear axis with its ticks.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    low: f64,
    high: f64,
    pub ticks: Vec<f64>,
}

impl Axis {
    /// An axis that covers `values` and 0, with about `count` ticks.
    pub fn around(values: impl IntoIterator<Item = f64>, count: usize) -> Axis {
        Axis::between(values.into_iter().chain([0.0]), count)
    }

    /// An axis that covers `values`, with about `count` ticks.
    pub fn between(values: impl IntoIterator<Item = f64>, count: usize) -> Axis {
        let finite = values.into_iter().filter(|x| x.abs() < MOST);
        let ends = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
        let (mut low, mut high) = ends;
        if !high.is_finite() || high <= low {
            (low, high) = (-1.0, 1.0);
        }
        let margin = (high - low) * 0.04;
        (low, high) = (low - margin, high + margin);
        Axis { low, high, ticks: ticks(low, high, count) }
    }

    /// The position of `x` in percent of the axis' length, clamped to the axis.
    pub fn at(&self, x: f64) -> f64 {
        let x = if x.is_finite() { x.clamp(self.low, self.high) } else { 0.0 };
        (x - self.low) / (self.high - self.low) * 100.0
    }
}

/// Round numbers in `low..=high`, about `count` of them.
fn ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    let step = round_step((high - low) / count.max(1) as f64);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(|i| i as f64 * step).collect()
}

/// The smallest of 1, 2, 5 × 10ⁿ that is at least `x`.
fn round_step(x: f64) -> f64 {
    let power = 10f64.powf(x.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| f * power >= x * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9)
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert!(close(&ticks(-0.07, 0.38, 5), &[0.0, 0.1, 0.2, 0.3]));
        assert!(close(&ticks(0.0, 10.0, 5), &[0.0, 2.0, 4.0, 6.0, 8.0, 10.0]));
        assert!(close(&ticks(-3.0, 3.0, 3), &[-2.0, 0.0, 2.0]));
    }

    #[test]
    fn steps() {
        for (x, step) in [(0.09, 0.1), (0.1, 0.1), (0.11, 0.2), (3.0, 5.0), (6.0, 10.0)] {
            assert!((round_step(x) - step).abs() < 1e-12, "{x}");
        }
    }

    #[test]
    fn an_axis_always_has_zero_and_room() {
        let axis = Axis::around([0.2, 0.3, f64::NAN, f64::INFINITY], 5);
        assert!(axis.at(0.0) > 0.0 && axis.at(0.3) < 100.0);
        assert_eq!(axis.at(9.0), 100.0);
        assert_eq!(axis.at(f64::NAN), axis.at(0.0));
        let empty = Axis::around([], 5);
        assert_eq!(empty.at(0.0), 50.0);
        let huge = Axis::around([f64::MAX, f64::MIN], 5);
        assert_eq!(huge, empty);
    }
}
