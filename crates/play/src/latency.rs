//! Latencies from when a thread becomes runnable to when it executes.

use hearth_trace::Latency;
use std::sync::Mutex;

/// A histogram of times with three significant digits up to one hour, and the exact maximum.
#[derive(Clone, Debug)]
pub struct Histogram {
    classes: hdrhistogram::Histogram<u64>,
    max: u64,
}

const LONGEST: u64 = 3_600_000_000_000;

impl Default for Histogram {
    fn default() -> Self {
        let classes = hdrhistogram::Histogram::new_with_max(LONGEST, 3).expect("these bounds are valid");
        Histogram { classes, max: 0 }
    }
}

impl Histogram {
    pub(crate) fn record(&mut self, ns: u64) {
        self.classes.saturating_record(ns);
        self.max = self.max.max(ns);
    }

    /// Adds the times of `other`.
    pub fn add(&mut self, other: &Histogram) {
        self.classes.add(&other.classes).expect("all have the same bounds");
        self.max = self.max.max(other.max);
    }

    /// The percentiles, in microseconds.
    pub fn summary(&self) -> Latency {
        let us = |ns: u64| ns as f64 / 1e3;
        // The histogram gives the upper end of a class, which may lie above the largest value.
        let at = |quantile| us(self.classes.value_at_quantile(quantile).min(self.max));
        Latency {
            count: self.classes.len(),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p99_9: at(0.999),
            max: us(self.max),
        }
    }
}

/// The latencies of all threads of a play.
#[derive(Clone, Default, Debug)]
pub struct Latencies {
    /// From just before a thread wakes a sleeping thread to when the woken thread executes. Wakers are `post`,
    /// the exit that a `join` waits for, and the last arrival at a barrier.
    pub wakeup: Histogram,
    /// From the expiry of a `sleep` or `io` to when the thread executes.
    pub timer: Histogram,
    /// From just before the `clone` to when the new thread executes.
    pub fork: Histogram,
    /// From just before a request to just after its answer. A request is a `post` with a `wait`, the answer,
    /// directly after it. Both semaphores start at 0; the thread begins with the `post` and makes at least two
    /// requests.
    pub request: Histogram,
}

impl Latencies {
    pub fn add(&mut self, other: &Latencies) {
        self.wakeup.add(&other.wakeup);
        self.timer.add(&other.timer);
        self.fork.add(&other.fork);
        self.request.add(&other.request);
    }
}

/// A thread's buffer of times. A full buffer is flushed to the shared histogram unless that is locked.
#[derive(Default)]
pub struct Samples(Vec<u64>);

/// Initial capacity of the buffer, in samples.
const KEPT: u64 = 512;

impl Samples {
    /// A buffer for a thread that records at most `count` times.
    pub fn with_room(count: u64) -> Self {
        Samples(Vec::with_capacity(count.min(KEPT) as usize))
    }

    pub fn record(&mut self, ns: u64, all: &Mutex<Histogram>) {
        if self.0.len() == self.0.capacity()
            && let Ok(mut all) = all.try_lock()
        {
            self.hand_over(&mut all);
        }
        self.0.push(ns);
    }

    pub fn hand_over(&mut self, all: &mut Histogram) {
        self.0.drain(..).for_each(|ns| all.record(ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_everything_recorded() {
        let all = Mutex::new(Histogram::default());
        let mut samples = Samples::with_room(10_000);
        for us in 1..=10_000 {
            samples.record(us * 1000, &all);
        }
        let mut all = all.into_inner().unwrap();
        samples.hand_over(&mut all);
        let summary = all.summary();
        assert_eq!((summary.count, summary.max), (10_000, 10_000.0));
        for (value, exact) in [(summary.p50, 5_000.0), (summary.p99, 9_900.0), (summary.p99_9, 9_990.0)] {
            assert!((value - exact).abs() < exact / 500.0, "{value} {exact}");
        }
        let mut twice = all.clone();
        twice.add(&all);
        assert_eq!((twice.summary().count, twice.summary().max), (20_000, 10_000.0));
    }

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
