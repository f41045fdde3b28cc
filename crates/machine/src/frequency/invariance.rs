//! Frequency invariance: the scale by which the kernel weighs running time.
//!
//! Source: Linux 5.9, arch/x86/kernel/smpboot.c, `arch_scale_freq_tick` and
//! `intel_set_max_freq_ratio`. At each tick of a core, the scale becomes its average frequency since
//! its last tick, relative to the turbo frequency of four cores. Idle cores have no ticks.

use crate::pelt::FULL;

/// Scales of all hardware threads.
#[derive(Debug, Clone)]
pub(super) struct Invariance {
    /// Frequency of each thread that has the scale [`FULL`].
    reference_khz: Vec<u32>,
    scales: Vec<u32>,
}

impl Invariance {
    /// A thread that cannot reach `reference_khz` has its highest frequency as reference.
    pub fn new(reference_khz: u32, maxima: &[u32]) -> Invariance {
        let reference = maxima.iter().map(|&max| max.min(reference_khz)).collect();
        Invariance { reference_khz: reference, scales: vec![FULL; maxima.len()] }
    }

    /// Scheduler tick of a thread, with its average frequency since its last tick.
    pub fn tick(&mut self, thread: usize, khz: u32) {
        let scale = u64::from(khz) * u64::from(FULL) / u64::from(self.reference_khz[thread]).max(1);
        self.scales[thread] = scale.clamp(1, u64::from(FULL)) as u32;
    }

    /// Scale of a thread, 1..=[`FULL`].
    pub fn scale(&self, thread: usize) -> u32 {
        self.scales[thread]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_relative_to_the_reference() {
        let mut e7 = Invariance::new(2_700_000, &[3_000_000, 3_000_000]);
        let mut at = |khz| {
            e7.tick(0, khz);
            e7.scale(0)
        };
        assert_eq!([at(1_350_000), at(2_700_000), at(3_000_000), at(0)], [512, 1024, 1024, 1]);
        assert_eq!(e7.scale(1), 1024, "before the first tick");
    }
}
