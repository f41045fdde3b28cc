//! Turbo limits by number of active cores.
//!
//! The frequency limit of a socket depends on how many of its cores are active (Nest paper, table
//! 3). Intel's data sheets call the cores in C0 active. A core counts while one of its hardware
//! threads executes or is in an idle state that counts (C1, C1E), and for `release_us` afterwards:
//! "the processor does not react quickly enough to the change of core activity" (Nest paper,
//! section 5.2).

use super::grant::Windows;
use super::pstate::{PState, PStates};
use super::spec::FrequencySpec;

/// Turbo table of a machine.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    /// Limit by number of counted cores, starting at 0.
    by_count: Vec<PState>,
    release_ns: u64,
    windows: Windows,
}

impl Limits {
    pub fn new(spec: &FrequencySpec, cores: u16, pstates: &PStates, windows: Windows) -> Limits {
        let limits = &spec.turbo.limits;
        let limit = |count| {
            let row = limits.iter().find(|l| l.cores >= count).or(limits.last());
            row.map_or(pstates.top(), |l| pstates.at_most(l.khz))
        };
        Limits {
            by_count: (0..=cores).map(limit).collect(),
            release_ns: u64::from(spec.turbo.release_us) * 1000,
            windows,
        }
    }

    /// When a core stops counting that entered an idle state that does not count at `now`.
    pub fn released_at(&self, now: u64) -> u64 {
        self.windows.from(now.saturating_add(self.release_ns)).max(now + 1)
    }
}

/// Turbo accounting of the cores of one kind in a socket.
#[derive(Debug, Clone)]
pub(super) struct Socket {
    /// Number of counted physical cores.
    pub counted: u16,
    /// Limit for that number.
    pub limit: PState,
}

impl Socket {
    pub fn new(limits: &Limits) -> Socket {
        Socket { counted: 0, limit: limits.by_count[0] }
    }

    /// Adds `by` (1 or -1) to the counted cores. Returns true if the limit changes.
    pub fn count(&mut self, limits: &Limits, by: i16) -> bool {
        self.counted = self.counted.saturating_add_signed(by);
        let limit = limits.by_count[usize::from(self.counted)];
        std::mem::replace(&mut self.limit, limit) != limit
    }
}
