//! Latencies from when a thread becomes runnable to when it executes.

use hearth_trace::Histogram;
use std::sync::Mutex;

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
        assert_eq!((summary.count, summary.mean, summary.max), (10_000, 5_000.5, 10_000.0));
        for (value, exact) in [(summary.p50, 5_000.0), (summary.p99, 9_900.0), (summary.p99_9, 9_990.0)] {
            assert!((value - exact).abs() < exact / 500.0, "{value} {exact}");
        }
        let mut twice = all.clone();
        twice.add(&all);
        let twice = twice.summary();
        assert_eq!((twice.count, twice.mean, twice.max), (20_000, 5_000.5, 10_000.0));
    }
}
