//! Frequency of the cores while they run traced threads.

use super::inversion::{BINS, bin};
use super::state::{CoreState, Occupant};
use super::summary::Residency;
use crate::event::Time;

/// Time that cores ran traced threads, by frequency.
pub struct Frequency {
    /// Time of each core's last change of occupant or frequency.
    since: Vec<Time>,
    /// Nanoseconds by frequency bin; bin 0 is the unknown frequency.
    ns: [u64; BINS],
    /// Sum of kHz × ns at known frequencies.
    cycles: u128,
    /// True for each core that ran a traced thread.
    pub used: Vec<bool>,
}

impl Frequency {
    pub fn new(cores: usize) -> Self {
        Frequency { since: vec![0; cores], ns: [0; BINS], cycles: 0, used: vec![false; cores] }
    }

    #[inline]
    pub fn core(&mut self, now: Time, core: usize, before: CoreState, after: CoreState) {
        if (before.occupant, before.khz) == (after.occupant, after.khz) {
            return;
        }
        self.settle(now, core, before);
        self.since[core] = now;
        self.used[core] |= after.occupant == Occupant::Traced;
    }

    /// Accounts for the time of a core since its last change.
    #[inline]
    pub fn settle(&mut self, now: Time, core: usize, state: CoreState) {
        if state.occupant == Occupant::Traced {
            let ns = now.saturating_sub(self.since[core]);
            let total = &mut self.ns[bin(state.khz)];
            *total = total.saturating_add(ns);
            self.cycles += u128::from(state.khz) * u128::from(ns);
        }
    }

    pub fn busy_core_s(&self) -> f64 {
        self.ns.iter().map(|ns| *ns as f64).sum::<f64>() / 1e9
    }

    pub fn mean_ghz(&self) -> Option<f64> {
        let known: u128 = self.ns[1..].iter().map(|ns| u128::from(*ns)).sum();
        (known > 0).then(|| self.cycles as f64 / known as f64 / 1e6)
    }

    pub fn unknown_ms(&self) -> f64 {
        self.ns[0] as f64 / 1e6
    }

    pub fn residency(&self) -> Vec<Residency> {
        let bins = self.ns.iter().enumerate().skip(1).filter(|(_, ns)| **ns > 0);
        bins.map(|(bin, ns)| Residency { ghz: bin as f64 / 10.0, ms: *ns as f64 / 1e6 }).collect()
    }
}
