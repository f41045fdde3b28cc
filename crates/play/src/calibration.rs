//! Speed of the work loop on this machine.

use crate::clock::now;
use std::hint::black_box;

/// The speed of an undisturbed core, in rounds of the work loop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Calibration {
    /// Rounds of the loop per second, in the fastest sample.
    pub loops_per_s: f64,
    /// Relative excess of the median sample's time over the fastest: 0 on a quiet machine with a constant
    /// frequency. Also 0 if the speed is [known](Self::known) rather than measured.
    pub noise: f64,
    /// False if the speed was given.
    pub measured: bool,
}

/// Shortest sample. The cost of reading the clock is negligible in it, and some samples fall between
/// disturbances.
const SAMPLE_NS: u64 = 1_000_000;
const SAMPLES: std::ops::RangeInclusive<usize> = 20..=100;
/// Number of samples within `CLOSE` of the fastest one that confirm it.
const CONFIRMED: usize = 5;
const CLOSE: f64 = 1.005;

impl Calibration {
    /// Measures on the calling thread's core. Takes 30 ms on a quiet machine, a few tenths of a second on others.
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

    /// Uses a speed measured earlier, so that several plays get exactly the same work.
    pub fn known(loops_per_s: f64) -> Self {
        Calibration { loops_per_s, noise: 0.0, measured: false }
    }
}

/// Executes `loops` rounds of a shift, an exclusive or and a multiplication. Each operation depends on the result
/// of the one before, so the processor cannot overlap rounds. The compiler cannot merge two rounds into one, as it
/// can for multiplications and additions alone. The loop does not access memory. A round takes five cycles on
/// most processors.
pub fn rounds(mut x: u64, loops: u64) -> u64 {
    for _ in 0..loops {
        x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    x
}

/// Measures the time of `loops` rounds, in nanoseconds.
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
