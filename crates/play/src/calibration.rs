//! How fast this machine does the work of a `run` step.

use crate::clock::now;
use crate::work::rounds;
use std::hint::black_box;

/// The speed of an undisturbed core, in rounds of the work loop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Calibration {
    /// Rounds of the loop per second: those of the fastest sample, which nothing disturbed.
    pub loops_per_s: f64,
    /// By how much the median sample took longer than the fastest, as a share: 0 on a quiet machine of
    /// constant frequency. 0 also if nothing was measured.
    pub noise: f64,
    /// False if the speed was given.
    pub measured: bool,
}

/// Shortest sample: long enough that reading the clock does not count, short enough that some fall between
/// disturbances.
const SAMPLE_NS: u64 = 1_000_000;
const SAMPLES: std::ops::RangeInclusive<usize> = 20..=100;
/// So many samples close to the fastest one confirm it.
const CONFIRMED: usize = 5;
const CLOSE: f64 = 1.005;

impl Calibration {
    /// Measures on the calling thread's core: 30 ms on a quiet machine, a few tenths of a second on others.
    pub fn measure() -> Self {
        let mut loops = 1_000;
        while sample(loops) < SAMPLE_NS {
            loops *= 2;
        }
        let mut times = Vec::new();
        loop {
            times.push(sample(loops).max(1) as f64);
            let fastest = times.iter().copied().fold(f64::INFINITY, f64::min);
            let close = times.iter().filter(|&&time| time <= fastest * CLOSE).count();
            if times.len() >= *SAMPLES.start() && close >= CONFIRMED || times.len() >= *SAMPLES.end() {
                times.sort_by(f64::total_cmp);
                return Calibration {
                    loops_per_s: loops as f64 / fastest * 1e9,
                    noise: times[times.len() / 2] / fastest - 1.0,
                    measured: true,
                };
            }
        }
    }

    /// A speed measured earlier, so that several plays get exactly the same work.
    pub fn known(loops_per_s: f64) -> Self {
        Calibration { loops_per_s, noise: 0.0, measured: false }
    }
}

/// Nanoseconds that so many rounds take now.
fn sample(loops: u64) -> u64 {
    let start = now();
    black_box(rounds(black_box(1), loops));
    now() - start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_speed_is_one_that_a_processor_can_have() {
        let calibration = Calibration::measure();
        // A debug build takes tens of cycles for a round, an optimised one five.
        assert!((1e6..1e10).contains(&calibration.loops_per_s), "{calibration:?}");
        assert!(calibration.noise >= 0.0, "{calibration:?}");
    }
}
