//! Turbo limits by number of active cores, and the delayed accounting of idle cores.
//!
//! The frequency limit of a socket depends on how many of its cores are active (Nest paper, table
//! 3). The hardware notices late that a core went idle: in figure 2 of the paper, one task at a
//! time, spread over eight cores, runs in the eight-core range. A core therefore counts while it is
//! busy and for `release` afterwards.

use super::pstate::{PState, PStates};
use super::ramp::{Curve, Offer};
use super::spec::FrequencySpec;

/// Row of the turbo table: a limit and the ramp up to it.
#[derive(Debug, Clone)]
struct Bin {
    limit: PState,
    offer: Offer,
}

/// Turbo table of a machine.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    bins: Vec<Bin>,
    /// Index into `bins` by number of counted cores, starting at 0.
    by_count: Vec<u8>,
    release_ns: u64,
}

impl Limits {
    pub fn new(spec: &FrequencySpec, cores: u16, pstates: &PStates, curve: &Curve) -> Limits {
        let limits = &spec.turbo.limits;
        let bins = limits
            .iter()
            .map(|l| {
                let limit = pstates.at_most(l.khz);
                Bin { limit, offer: Offer::new(curve, pstates, limit) }
            })
            .collect();
        let by_count = (0..=cores).map(|count| limits.partition_point(|l| l.cores < count) as u8).collect();
        Limits { bins, by_count, release_ns: u64::from(spec.turbo.release_us) * 1000 }
    }

    pub fn release_ns(&self) -> u64 {
        self.release_ns
    }

    /// Turbo limit of a bin.
    pub fn pstate(&self, bin: u8) -> PState {
        self.bins[usize::from(bin)].limit
    }

    /// P-states that the hardware offers in a bin.
    pub fn offer(&self, bin: u8) -> &Offer {
        &self.bins[usize::from(bin)].offer
    }
}

/// Turbo accounting of one socket.
#[derive(Debug, Clone)]
pub(super) struct Socket {
    /// Number of counted physical cores.
    pub counted: u16,
    /// Row of the turbo table for that number.
    pub bin: u8,
}

impl Socket {
    pub fn new(limits: &Limits) -> Socket {
        Socket { counted: 0, bin: limits.by_count[0] }
    }

    /// Adds `by` (1 or -1) to the counted cores. Returns true if the limit changes.
    pub fn count(&mut self, limits: &Limits, by: i16) -> bool {
        self.counted = self.counted.saturating_add_signed(by);
        let bin = limits.by_count[usize::from(self.counted)];
        let other = bin != self.bin;
        self.bin = bin;
        other
    }
}
