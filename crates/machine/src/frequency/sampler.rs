//! Governor `powersave` of `intel_pstate` in active mode without HWP (SpeedStep).
//!
//! Source: Linux 5.4, drivers/cpufreq/intel_pstate.c, `intel_pstate_update_util`,
//! `intel_pstate_sample` and `get_target_pstate`. The scheduler calls it at ticks, enqueues and
//! dequeues on the core itself; calls from other cores are ignored. The idle time before a wake-up
//! belongs to the first sample after it, so this sample requests a low frequency.
//!
//! Left out: the boost for threads that waited for I/O.

use super::counters::Reading;
use super::spec::FrequencySpec;

/// `INTEL_PSTATE_SAMPLING_INTERVAL`
const INTERVAL_NS: u64 = 10_000_000;

/// Parameters of the sampler, in units of the P-state step, as in the driver.
#[derive(Debug, Clone)]
pub(super) struct Sampler {
    step_khz: u32,
    lowest: u64,
    highest: u64,
}

/// The last sample of one hardware thread; `None` if it was long ago.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sample(Option<(u64, Reading)>);

impl Sampler {
    pub fn new(spec: &FrequencySpec) -> Sampler {
        let ratio = |khz: u32| u64::from(khz / spec.step_khz.max(1));
        Sampler { step_khz: spec.step_khz, lowest: ratio(spec.min_khz), highest: ratio(spec.max_khz()) }
    }

    /// Whether a call at `now` takes a sample.
    pub fn is_due(&self, sample: &Sample, now: u64) -> bool {
        sample.0.is_none_or(|(at, _)| now >= at + INTERVAL_NS)
    }

    /// Takes a sample. Returns the requested frequency in kHz, or `None` if the thread has not
    /// executed since the last sample.
    pub fn sample(&self, sample: &mut Sample, now: u64, counters: Reading) -> Option<u32> {
        let (at, before) = sample.0.unwrap_or_default();
        let counted = counters.since(before);
        let average = counted.khz()?;
        let first = sample.0.replace((now, counters)).is_none();
        let busy = if first { 0 } else { counted.mperf_ns };
        let elapsed = (now - at).max(1);
        let most = self.highest + self.highest / 4;
        let mut target = (u128::from(most) * u128::from(busy) / u128::from(elapsed)) as u64;
        target = target.max(self.lowest);
        // Half of what the average exceeds it, "to reduce performance oscillations".
        let average = u64::from(average / self.step_khz.max(1));
        target += average.saturating_sub(target) / 2;
        Some(target.min(self.highest) as u32 * self.step_khz)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The E7: 1.2 to 3.0 GHz.
    const E7: Sampler = Sampler { step_khz: 100_000, lowest: 12, highest: 30 };

    fn reading(busy_ms: u64, khz: u64) -> Reading {
        Reading { mperf_ns: busy_ms * MS, aperf: busy_ms * MS * khz }
    }

    #[test]
    fn requests_follow_the_drivers_formula() {
        for (busy_ms, khz, request) in [
            (0, 1_200_000, None),
            // 37 · 1/10 = 3, below the lowest: 12.
            (1, 1_200_000, Some(1_200_000)),
            // 37 · 6/10 = 22.
            (6, 1_200_000, Some(2_200_000)),
            // 37 · 3/10 = 11, so 12; the average is 30: 12 + 9.
            (3, 3_000_000, Some(2_100_000)),
            // 37 · 9/10 = 33, above the highest.
            (9, 1_200_000, Some(3_000_000)),
        ] {
            let mut sample = Sample(Some((50 * MS, Reading::default())));
            assert!(!E7.is_due(&sample, 60 * MS - 1) && E7.is_due(&sample, 60 * MS));
            let found = E7.sample(&mut sample, 60 * MS, reading(busy_ms, khz));
            assert_eq!(found, request, "{busy_ms} ms at {khz} kHz");
        }
    }

    #[test]
    fn the_first_sample_after_a_pause_reads_about_zero() {
        let mut sample = Sample::default();
        assert_eq!(E7.sample(&mut sample, 500 * MS, reading(4, 1_200_000)), Some(1_200_000));
        let busy = reading(16, 1_200_000);
        assert_eq!(E7.sample(&mut sample, 512 * MS, busy), Some(3_000_000));
    }
}
