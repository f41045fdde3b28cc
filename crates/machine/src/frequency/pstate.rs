//! P-states: the discrete frequencies of a core.

use super::spec::FrequencySpec;
use crate::topology::Shape;

/// Index into [`PStates`], ordered by frequency, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PState(u8);

impl PState {
    pub const LOWEST: PState = PState(0);

    /// P-state with this index, which must exist.
    pub fn from_index(index: usize) -> PState {
        PState(index as u8)
    }

    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Maximum number of P-states of a machine: a set of them fits in a `u128`.
pub(crate) const MAX_PSTATES: usize = 128;

/// Number of P-states of a machine.
pub(crate) fn pstate_count(spec: &FrequencySpec, shape: &Shape) -> usize {
    PStates::new(spec, shape).len()
}

/// Frequencies of a machine, ascending.
#[derive(Debug, Clone)]
pub(super) struct PStates {
    khz: Vec<u32>,
}

impl PStates {
    /// The P-states are the minimum, nominal, requestable and turbo frequencies, those of kinds and single cores, plus each multiple of the step
    /// above the minimum that is not within half a step of one of these. (On most machines all of
    /// them are multiples of the step. The figures in Westmere's data sheet are rounded because its
    /// clock is 133 MHz.)
    pub fn new(spec: &FrequencySpec, shape: &Shape) -> PStates {
        let named: Vec<u32> = [spec.min_khz, spec.nominal_khz]
            .into_iter()
            .chain(shape.kinds.iter().flat_map(|kind| [kind.min_khz, kind.max_khz]))
            .chain(spec.core_max_khz.iter().copied())
            .filter(|&khz| khz <= spec.max_khz().max(spec.nominal_khz))
            .chain(spec.requests_khz.iter().copied())
            .chain(spec.turbo.limits.iter().map(|l| l.khz))
            .collect();
        let near = |khz: u32| named.iter().any(|n| n.abs_diff(khz) <= spec.step_khz / 2);
        let steps =
            (spec.min_khz..spec.max_khz()).step_by(spec.step_khz.max(1) as usize).filter(|&khz| !near(khz));
        let mut khz: Vec<u32> = steps.chain(named.iter().copied()).collect();
        khz.sort_unstable();
        khz.dedup();
        PStates { khz }
    }

    /// Every multiple of 100 MHz from `first` to `last`.
    #[cfg(test)]
    pub fn even(first: u32, last: u32) -> PStates {
        PStates { khz: (first..=last).map(|ratio| ratio * 100_000).collect() }
    }

    pub fn len(&self) -> usize {
        self.khz.len()
    }

    pub fn khz(&self, p: PState) -> u32 {
        self.khz[p.index()]
    }

    pub fn top(&self) -> PState {
        PState((self.khz.len() - 1) as u8)
    }

    /// Highest P-state not above `khz`, or the lowest of all.
    pub fn at_most(&self, khz: u32) -> PState {
        PState(self.khz.partition_point(|&f| f <= khz).saturating_sub(1) as u8)
    }

    /// Lowest P-state not below `khz`, or the highest of all.
    pub fn at_least(&self, khz: u32) -> PState {
        PState(self.khz.partition_point(|&f| f < khz).min(self.khz.len() - 1) as u8)
    }

    pub fn iter(&self) -> impl Iterator<Item = (PState, u32)> + '_ {
        self.khz.iter().enumerate().map(|(i, &f)| (PState(i as u8), f))
    }
}

/// Number of cores in each P-state, with the highest occupied one.
#[derive(Debug, Clone)]
pub(super) struct Census {
    count: Vec<u16>,
    occupied: u128,
}

impl Census {
    pub fn new(pstates: &PStates) -> Census {
        Census { count: vec![0; pstates.len()], occupied: 0 }
    }

    pub fn enter(&mut self, p: PState) {
        self.count[p.index()] += 1;
        self.occupied |= 1 << p.index();
    }

    pub fn leave(&mut self, p: PState) {
        self.count[p.index()] -= 1;
        if self.count[p.index()] == 0 {
            self.occupied &= !(1 << p.index());
        }
    }

    /// Number of cores in each P-state.
    pub fn counts(&self) -> impl Iterator<Item = (PState, u16)> + '_ {
        self.count.iter().enumerate().map(|(index, &count)| (PState(index as u8), count))
    }

    /// Highest occupied P-state; the lowest of all if there are no cores.
    pub fn highest(&self) -> PState {
        PState((127 - (self.occupied | 1).leading_zeros()) as u8)
    }
}
