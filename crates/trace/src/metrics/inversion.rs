//! Frequency inversion: a thread runs on a slow core while a faster core is idle.

use super::state::CoreState;
use crate::event::Time;

/// Width of a frequency bin. Processors change frequencies in steps of 100 MHz.
pub const BIN_KHZ: u32 = 100_000;
/// Number of bins. Bin 0 is the unknown frequency; the last bin is 12.7 GHz and above.
pub const BINS: usize = 128;

/// Bin of a frequency, rounded to the nearest multiple of 100 MHz; at least 1 if known.
#[inline]
pub fn bin(khz: u32) -> usize {
    let steps = (u64::from(khz) + u64::from(BIN_KHZ / 2)) / u64::from(BIN_KHZ);
    if khz == 0 { 0 } else { (steps as usize).clamp(1, BINS - 1) }
}

/// Meter of inverted cores: busy cores slower than the fastest idle core by more than a threshold.
///
/// A busy core in bin `b` is inverted while `b < (1 - threshold) × max`, where `max` is the bin of
/// the fastest idle core. Cores are counted per bin, so an event costs O(1) additions. Only when
/// `max` moves are the bins in between scanned.
pub struct Inversion {
    threshold_percent: usize,
    /// Number of cores by [`place`]. Entries of unknown frequencies and of cores that are neither
    /// busy nor idle are meaningless.
    cores: [u32; 3 * BINS],
    /// Bit `b` is set while an idle core is in bin `b`.
    idle_bins: u128,
    /// Busy cores in bins 1 to `limit` (exclusive) are inverted.
    limit: usize,
    /// Number of inverted cores.
    now: u64,
    core_ns: u128,
    /// Number of times a core became inverted.
    pub count: u64,
}

impl Inversion {
    pub fn new(threshold_percent: u32) -> Self {
        Inversion {
            threshold_percent: threshold_percent.min(100) as usize,
            cores: [0; 3 * BINS],
            idle_bins: 0,
            limit: 0,
            now: 0,
            core_ns: 0,
            count: 0,
        }
    }

    #[inline]
    pub fn advance(&mut self, ns: Time) {
        self.core_ns += u128::from(self.now) * u128::from(ns);
    }

    #[inline(always)]
    pub fn core(&mut self, before: CoreState, after: CoreState) {
        let old_bin = bin(before.khz);
        let new_bin = if after.khz == before.khz { old_bin } else { bin(after.khz) };
        let (old, new) = (place(before, old_bin), place(after, new_bin));
        if old == new {
            return;
        }
        let (was, is) = (self.inverted(old), self.inverted(new));
        self.now = self.now + u64::from(is) - u64::from(was);
        self.cores[old] = self.cores[old].wrapping_sub(1);
        self.cores[new] = self.cores[new].wrapping_add(1);
        let emptied = old >= IDLE && self.cores[old] == 0;
        let filled = new >= IDLE && self.cores[new] == 1;
        if emptied || filled {
            // Updates the limit once, after both changes. Otherwise an idle core that only changes
            // frequency would move the limit down and up again.
            if emptied {
                self.idle_bins &= !(1 << (old - IDLE));
            }
            if filled {
                self.idle_bins |= 1 << (new - IDLE);
            }
            self.move_limit();
        }
        // The limit rises only when an idle core appears; `move_limit` then counts the busy cores.
        // So no core is counted twice.
        self.count += u64::from(self.inverted(new) && !was);
    }

    pub fn core_ms(&self) -> f64 {
        self.core_ns() as f64 / 1e6
    }

    /// Busy cores in bins 1 to this bin (exclusive) are inverted.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Time integral of the number of inverted cores so far, in core-nanoseconds.
    pub fn core_ns(&self) -> u64 {
        u64::try_from(self.core_ns).unwrap_or(u64::MAX)
    }

    /// True if busy cores at this place (bins 1 to the limit) are inverted.
    #[inline]
    fn inverted(&self, place: usize) -> bool {
        place.wrapping_sub(BUSY + 1) < self.limit.saturating_sub(1)
    }

    /// Adjusts the limit to the fastest idle core.
    #[inline(never)] // cold path
    fn move_limit(&mut self) {
        let max = 127 - (self.idle_bins | 1).leading_zeros() as usize;
        let limit = (max * (100 - self.threshold_percent)).div_ceil(100);
        let cores = |bins: &[u32]| bins.iter().map(|n| u64::from(*n)).sum::<u64>();
        if limit > self.limit {
            let more = cores(&self.cores[BUSY + self.limit.max(1)..BUSY + limit.max(1)]);
            self.now += more;
            self.count += more;
        } else if limit < self.limit {
            self.now -= cores(&self.cores[BUSY + limit.max(1)..BUSY + self.limit]);
        }
        self.limit = limit;
    }
}

/// Index into [`Inversion::cores`]: class of the core plus frequency bin.
#[inline]
fn place(core: CoreState, bin: usize) -> usize {
    let part = match (core.busy(), core.idle()) {
        (true, _) => BUSY,
        (false, true) => IDLE,
        _ => 0,
    };
    part + bin
}

const BUSY: usize = BINS;
const IDLE: usize = 2 * BINS;

/// A core's class for inversion, with its bin. A core with unknown frequency is `Neither`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Busy(usize),
    Idle(usize),
    Neither,
}

impl Class {
    #[inline]
    pub fn of(core: CoreState) -> Self {
        match bin(core.khz) {
            0 => Class::Neither,
            bin if core.busy() => Class::Busy(bin),
            bin if core.idle() => Class::Idle(bin),
            _ => Class::Neither,
        }
    }
}
