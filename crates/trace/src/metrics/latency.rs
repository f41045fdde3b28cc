//! Wake-up latency: from the wake-up or the fork of a thread to the moment it first runs.

use super::summary::Latency;
use crate::event::Time;
use hdrhistogram::Histogram;

/// Three significant digits, up to an hour: 400 KiB whatever the number of wake-ups.
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
        // The histogram gives the upper end of a class, which may lie above the largest value.
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
