//! Underload: cores that were used although a used one could have been used again.

use super::state::{CoreState, Occupant};
use crate::event::Time;

/// The paper's interval: one tick of a kernel with `HZ=250`.
pub const INTERVAL: Time = 4_000_000;

/// Underload of an interval `[k·4 ms, (k+1)·4 ms)` (Nest, EuroSys 2022, section 5.2): the number
/// of cores used at any point in it, minus the largest number of threads runnable at one time in
/// it. Only traced threads count. What holds when the interval begins counts as being in it.
pub struct Underload {
    index: u64,
    end: Time,
    /// Cores used in each of the intervals before, summed.
    used_before: u64,
    /// Cores used, and the most threads runnable, in the interval so far.
    used: u32,
    most: u32,
    /// Cores in use, and threads runnable, now.
    running: u32,
    runnable: u32,
    /// The interval (plus 1) in which each core was last counted in `used`.
    counted: Vec<u64>,
}

impl Underload {
    pub fn new(cores: usize) -> Self {
        Underload {
            index: 0,
            end: INTERVAL,
            used_before: 0,
            used: 0,
            most: 0,
            running: 0,
            runnable: 0,
            counted: vec![0; cores],
        }
    }

    /// Moves on to `now`. Returns the interval that ended, if it had underload: its index and how
    /// much. Intervals without events have none: who runs is runnable.
    #[inline]
    pub fn advance(&mut self, now: Time) -> Option<(u64, u32)> {
        if now < self.end { None } else { self.next_interval(now) }
    }

    fn next_interval(&mut self, now: Time) -> Option<(u64, u32)> {
        let ended = self.finish();
        let index = now / INTERVAL;
        // In the intervals without events, the cores that run now were used.
        self.used_before += u64::from(self.used) + u64::from(self.running) * (index - self.index - 1);
        self.index = index;
        self.end = (self.index + 1).saturating_mul(INTERVAL);
        self.used = self.running;
        self.most = self.runnable;
        ended
    }

    /// The interval at hand.
    pub fn finish(&self) -> Option<(u64, u32)> {
        let underload = self.used.saturating_sub(self.most);
        (underload > 0).then_some((self.index, underload))
    }

    /// Cores used in an interval: the mean of all intervals so far, the one at hand included.
    pub fn cores_used(&self) -> f64 {
        (self.used_before + u64::from(self.used)) as f64 / (self.index + 1) as f64
    }

    #[inline]
    pub fn core(&mut self, core: usize, before: CoreState, after: CoreState) {
        let (was, is) = (before.occupant == Occupant::Traced, after.occupant == Occupant::Traced);
        if was == is {
            return;
        }
        if is {
            self.running += 1;
            if self.counted[core] != self.index + 1 {
                self.used += 1;
            }
        } else {
            self.running -= 1;
        }
        // Either way it is in `used`: from now on, or since the interval began.
        self.counted[core] = self.index + 1;
    }

    pub fn runnable(&mut self, count: u32) {
        self.runnable = count;
        self.most = self.most.max(count);
    }
}
