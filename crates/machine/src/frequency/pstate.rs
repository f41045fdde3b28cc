//! P-states: the discrete frequencies that a core can run at.

use super::spec::FrequencySpec;

/// Index into [`PStates`], lowest frequency first: comparing indices compares
/// frequencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PState(u8);

impl PState {
    pub const LOWEST: PState = PState(0);

    /// The P-state of that index; the caller knows that there is one.
    pub fn from_index(index: usize) -> PState {
        PState(index as u8)
    }

    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    pub fn next(self) -> PState {
        PState(self.0 + 1)
    }

    /// One lower; the lowest stays.
    pub fn prev(self) -> PState {
        PState(self.0.saturating_sub(1))
    }
}

/// Most P-states that a machine may have, so that a set of them is a `u128`.
pub(crate) const MAX_PSTATES: usize = 128;

/// How many P-states a machine has.
pub(crate) fn pstate_count(spec: &FrequencySpec) -> usize {
    PStates::new(spec).len()
}

/// The frequencies of a machine, ascending.
#[derive(Debug, Clone)]
pub(super) struct PStates {
    khz: Vec<u32>,
}

impl PStates {
    /// The minimum, the nominal and all turbo frequencies, and every step from the
    /// minimum up that is not within half a step of one of these. (On most
    /// machines all of them are multiples of the step anyway; Westmere's 133 MHz
    /// clock makes for rounded figures in its data sheet.)
    pub fn new(spec: &FrequencySpec) -> PStates {
        let named: Vec<u32> = [spec.min_khz, spec.nominal_khz]
            .into_iter()
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

    pub fn len(&self) -> usize {
        self.khz.len()
    }

    pub fn khz(&self, p: PState) -> u32 {
        self.khz[p.index()]
    }

    pub fn top(&self) -> PState {
        PState((self.khz.len() - 1) as u8)
    }

    /// The highest P-state not above `khz`, or the lowest of all.
    pub fn at_most(&self, khz: u32) -> PState {
        PState(self.khz.partition_point(|&f| f <= khz).saturating_sub(1) as u8)
    }

    /// The lowest P-state not below `khz`, or the highest of all.
    pub fn at_least(&self, khz: u32) -> PState {
        PState(self.khz.partition_point(|&f| f < khz).min(self.khz.len() - 1) as u8)
    }

    pub fn iter(&self) -> impl Iterator<Item = (PState, u32)> + '_ {
        self.khz.iter().enumerate().map(|(i, &f)| (PState(i as u8), f))
    }
}

/// How many cores are in each P-state, and which is the highest occupied one.
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

    /// The highest P-state that any core is in; the lowest of all if none.
    pub fn highest(&self) -> PState {
        PState((127 - (self.occupied | 1).leading_zeros()) as u8)
    }
}
