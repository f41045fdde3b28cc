//! Latencies, as from a thread's wake-up or fork to its first run.

use super::summary::Latency;
use crate::event::Time;

/// Histogram of latencies with three significant digits, up to one hour; mean and maximum are exact. Takes 400 KiB for any
/// number of them.
#[derive(Clone, Debug)]
pub struct Histogram {
    classes: hdrhistogram::Histogram<u64>,
    sum: u128,
    max: Time,
}

const LONGEST: Time = 3_600_000_000_000;

impl Default for Histogram {
    fn default() -> Self {
        let classes = hdrhistogram::Histogram::new_with_max(LONGEST, 3).expect("these bounds are valid");
        Histogram { classes, sum: 0, max: 0 }
    }
}

impl Histogram {
    #[inline]
    pub fn record(&mut self, ns: Time) {
        self.classes.saturating_record(ns);
        self.sum += u128::from(ns);
        self.max = self.max.max(ns);
    }

    /// Adds the latencies of `other`.
    pub fn add(&mut self, other: &Histogram) {
        self.classes.add(&other.classes).expect("all have the same bounds");
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// The statistics, in microseconds.
    pub fn summary(&self) -> Latency {
        let us = |ns: u64| ns as f64 / 1e3;
        // The histogram returns the upper bound of a bucket, which may exceed the largest value.
        let at = |quantile| us(self.classes.value_at_quantile(quantile).min(self.max));
        Latency {
            count: self.classes.len(),
            mean: self.sum as f64 / self.classes.len().max(1) as f64 / 1e3,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p99_9: at(0.999),
            max: us(self.max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_latency() {
        assert_eq!(Histogram::default().summary(), Latency::default());
    }

    #[test]
    fn what_is_too_long_is_still_the_maximum() {
        let mut histogram = Histogram::default();
        histogram.record(2 * LONGEST);
        assert_eq!(histogram.summary().max, 7_200_000_000.0);
    }
}
