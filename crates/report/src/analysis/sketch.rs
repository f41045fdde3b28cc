//! Sparse logarithmic histograms, for percentiles of many small groups: threads, pairs of processes, intervals.
//! ([`hearth_trace::Metrics`] uses a dense one of 400 KiB.)

use hearth_trace::{Latency, Time};

/// Classes per power of two: the width of a class is at most 1/128 (0.8%) of its values.
const CLASSES: u64 = 128;
const CLASSES_LOG: u32 = 7;

/// A histogram of durations. Each value below 128 ns has its own class.
#[derive(Clone, Default, Debug)]
pub struct Sketch {
    /// Non-zero counts in order of class, at most 7424.
    classes: Vec<(u16, u32)>,
    count: u64,
    sum: u128,
    max: Time,
}

impl Sketch {
    pub fn record(&mut self, ns: Time) {
        self.count += 1;
        self.sum += u128::from(ns);
        self.max = self.max.max(ns);
        self.add(class(ns), 1);
    }

    pub fn merge(&mut self, other: &Sketch) {
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        other.classes.iter().for_each(|(class, count)| self.add(*class, *count));
    }

    pub fn summary(&self) -> Latency {
        let us = |ns: Time| ns as f64 / 1e3;
        let at = |quantile| us(self.quantile(quantile));
        Latency {
            count: self.count,
            mean: self.sum as f64 / self.count.max(1) as f64 / 1e3,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p99_9: at(0.999),
            max: us(self.max),
        }
    }

    fn add(&mut self, class: u16, count: u32) {
        match self.classes.binary_search_by_key(&class, |(class, _)| *class) {
            Ok(at) => self.classes[at].1 = self.classes[at].1.saturating_add(count),
            Err(at) => self.classes.insert(at, (class, count)),
        }
    }

    /// The upper end of the class of the quantile, at most the largest value.
    fn quantile(&self, quantile: f64) -> Time {
        let wanted = ((self.count as f64 * quantile).ceil() as u64).max(1);
        let mut seen = 0;
        for (class, count) in &self.classes {
            seen += u64::from(*count);
            if seen >= wanted {
                return upper_end(*class).min(self.max);
            }
        }
        self.max
    }
}

fn class(ns: Time) -> u16 {
    if ns < CLASSES {
        return ns as u16;
    }
    let shift = 63 - ns.leading_zeros() - CLASSES_LOG;
    ((u64::from(shift) + 1) * CLASSES + ((ns >> shift) & (CLASSES - 1))) as u16
}

fn upper_end(class: u16) -> Time {
    let class = u64::from(class);
    if class < CLASSES {
        return class;
    }
    let shift = class / CLASSES - 1;
    let lowest = (CLASSES + class % CLASSES) << shift;
    lowest + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn empty_sketch_has_no_percentiles() {
        assert_eq!(Sketch::default().summary(), Latency::default());
    }

    #[test]
    fn small_values_are_exact() {
        let mut sketch = Sketch::default();
        (1..=100).for_each(|ns| sketch.record(ns));
        let Latency { count, mean, p50, p90, p99, p99_9, max } = sketch.summary();
        assert_eq!((count, mean, max), (100, 0.0505, 0.1));
        assert_eq!((p50, p90, p99, p99_9), (0.05, 0.09, 0.099, 0.1));
    }

    proptest! {
        #[test]
        fn classes_are_narrow(ns in prop_oneof![any::<u64>(), 0..100_000u64]) {
            let end = upper_end(class(ns));
            prop_assert!(end >= ns && end - ns <= ns / 128, "{} ends at {}", ns, end);
            prop_assert!(end == u64::MAX || class(end + 1) == class(ns) + 1);
        }

        #[test]
        fn percentiles_are_accurate_to_a_class(mut values in vec(0..1_000_000_000u64, 1..200), cut in 0..200usize) {
            let (mut sketch, mut rest) = (Sketch::default(), Sketch::default());
            for (at, ns) in values.iter().enumerate() {
                if at < cut { sketch.record(*ns) } else { rest.record(*ns) }
            }
            sketch.merge(&rest);
            values.sort();
            let exact = |q: f64| values[((values.len() as f64 * q).ceil() as usize).max(1) - 1] as f64 / 1e3;
            let summary = sketch.summary();
            for (ours, exact) in [(summary.p50, exact(0.5)), (summary.p90, exact(0.9)), (summary.p99, exact(0.99))] {
                prop_assert!(ours >= exact && ours <= exact * (1.0 + 1.0 / 128.0) + 1e-9, "{} {}", ours, exact);
            }
            prop_assert_eq!((summary.count, summary.max), (values.len() as u64, exact(1.0)));
            let mean = values.iter().sum::<u64>() as f64 / values.len() as f64 / 1e3;
            prop_assert_eq!(summary.mean, mean);
        }
    }
}
