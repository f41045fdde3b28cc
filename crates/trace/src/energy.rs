//! Energy of the whole machine over time.

use crate::Time;

/// Largest number of samples that are kept. A picture has fewer columns.
const MOST: usize = 2048;

/// Samples an energy counter. The samples of a run of unknown length stay few: when there are too many, every second one
/// is dropped, and the interval becomes that of the others.
#[derive(Clone, Debug)]
pub struct EnergySampler {
    interval: Time,
    next: Time,
    samples: Vec<(Time, u64)>,
}

impl EnergySampler {
    /// A sampler with this interval at first, for a counter that is 0 at time 0.
    pub fn new(interval: Time) -> Self {
        EnergySampler { interval, next: interval, samples: Vec::new() }
    }

    /// Whether a sample should be taken.
    #[inline]
    pub fn is_due(&self, now: Time) -> bool {
        now >= self.next
    }

    /// Takes a sample: the energy from the beginning to `now`, in microjoules.
    pub fn take(&mut self, now: Time, uj: u64) {
        if self.samples.len() == MOST {
            let mut number = 0;
            self.samples.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.interval = now / (MOST as Time / 2);
        }
        self.samples.push((now, uj));
        self.next = now.saturating_add(self.interval);
    }

    /// The samples, with one at the end.
    pub fn finish(mut self, end: Time, uj: u64) -> Vec<(Time, u64)> {
        if self.samples.last().is_none_or(|(time, _)| *time < end) {
            self.samples.push((end, uj));
        }
        self.samples
    }
}

/// Mean power in watts between each two samples: the time where it begins, where it ends, and the watts.
pub fn watts(samples: &[(Time, u64)]) -> impl Iterator<Item = (Time, Time, f64)> {
    let before = std::iter::once((0, 0)).chain(samples.iter().copied());
    before.zip(samples.iter().copied()).filter(|((from, _), (to, _))| from < to).map(
        |((from, already), (to, uj))| {
            (from, to, uj.saturating_sub(already) as f64 * 1e3 / (to - from) as f64)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sampled(interval: Time, times: impl Iterator<Item = Time>, end: Time, mw: u64) -> Vec<(Time, u64)> {
        let mut sampler = EnergySampler::new(interval);
        for now in times {
            if sampler.is_due(now) {
                sampler.take(now, now * mw / 1_000_000);
            }
        }
        sampler.finish(end, end * mw / 1_000_000)
    }

    #[test]
    fn a_constant_power_is_the_power_of_each_interval() {
        let samples = sampled(1_000_000, (0..10_000_000).step_by(300_000), 10_000_000, 5_000);
        assert_eq!(samples.last(), Some(&(10_000_000, 50_000)));
        assert_eq!(samples[0], (1_200_000, 6_000));
        let watts: Vec<f64> = watts(&samples).map(|(.., watts)| watts).collect();
        assert!(watts.iter().all(|watts| (watts - 5.0).abs() < 0.01), "{watts:?}");
        assert_eq!(super::watts(&[]).count(), 0);
    }

    proptest! {
        /// However long a run is: few samples, in order, no interval much longer than the mean, and nothing is lost.
        #[test]
        fn samples_of_any_run_are_few_and_in_order(gaps in proptest::collection::vec(0u64..5_000, 1..20_000)) {
            let times: Vec<Time> = gaps.iter().scan(0, |now, gap| { *now += gap; Some(*now) }).collect();
            let end = times.last().unwrap() + 1;
            let samples = sampled(100, times.iter().copied(), end, 1_000_000);
            prop_assert!(samples.len() <= MOST + 1);
            prop_assert!(samples.is_sorted_by(|a, b| a.0 < b.0));
            prop_assert_eq!(samples.last(), Some(&(end, end)));
            let longest = watts(&samples).map(|(from, to, _)| to - from).max().unwrap();
            prop_assert!(longest <= 8 * (end / MOST as u64) + 10_000, "{} of {}", longest, end);
        }
    }
}
