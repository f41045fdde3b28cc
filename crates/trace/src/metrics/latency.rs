//! Wake-up latency: from a thread's wake-up or fork to its first run.

use super::summary::Latency;
use crate::event::Time;
use hdrhistogram::Histogram;

/// Histogram with three significant digits, up to one hour. Takes 400 KiB for any number of
/// wake-ups.
pub struct Latencies {
    histogram: Histogram<u64>,
    max: Time,
}

const LONGEST: Time = 3_600_000_000_000;

impl Latencies {
    pub fn new() -> Self {
        let histogram = Histogram::new_with_max(LONGEST, 3).expect("these bounds are valid");
        Latencies { histogram, max: 0 }
    }

    #[inline]
    pub fn record(&mut self, ns: Time) {
        self.histogram.saturating_record(ns);
        self.max = self.max.max(ns);
    }

    pub fn summary(&self) -> Latency {
        let us = |ns: u64| ns as f64 / 1e3;
        // The histogram returns the upper bound of a bucket, which may exceed the largest value.
        let at = |quantile| us(self.histogram.value_at_quantile(quantile).min(self.max));
        Latency {
            count: self.histogram.len(),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p99_9: at(0.999),
            max: us(self.max),
        }
    }
}
