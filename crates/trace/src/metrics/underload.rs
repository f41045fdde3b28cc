//! Underload: cores that were used although fewer would have sufficed.

use super::state::{CoreState, Occupant};
use crate::event::Time;
use hearth_base::constants::TICK_NS;

/// Interval of the paper: one tick of a kernel with `HZ=250`, in nanoseconds.
pub const INTERVAL: Time = TICK_NS;

/// Underload of an interval `[k·4 ms, (k+1)·4 ms)` (Nest paper, EuroSys 2022, section 5.2): the
/// number of cores used at any time in it, minus the maximum number of threads runnable at one time
/// in it. Only traced threads count. The state at the start of the interval belongs to it.
pub struct Underload {
    index: u64,
    end: Time,
    /// Sum of the cores used in each of the earlier intervals.
    used_before: u64,
    /// Cores used, and maximum number of runnable threads, in the current interval so far.
    used: u32,
    most: u32,
    /// Cores in use and threads runnable now.
    running: u32,
    runnable: u32,
    /// Interval (plus 1) in which each core was last counted in `used`.
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

    /// Advances to `now`. If the interval that ended had underload, returns its index and
    /// underload. Intervals without events have none, because each running thread is runnable.
    #[inline]
    pub fn advance(&mut self, now: Time) -> Option<(u64, u32)> {
        if now < self.end { None } else { self.next_interval(now) }
    }

    fn next_interval(&mut self, now: Time) -> Option<(u64, u32)> {
        let ended = self.finish();
        let index = now / INTERVAL;
        // During intervals without events, the cores that run now were in use.
        self.used_before += u64::from(self.used) + u64::from(self.running) * (index - self.index - 1);
        self.index = index;
        self.end = (self.index + 1).saturating_mul(INTERVAL);
        self.used = self.running;
        self.most = self.runnable;
        ended
    }

    /// Index and underload of the current interval, if it has underload.
    pub fn finish(&self) -> Option<(u64, u32)> {
        let underload = self.used.saturating_sub(self.most);
        (underload > 0).then_some((self.index, underload))
    }

    /// Mean number of cores used per interval, including the current one.
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
        // Either way the core is counted in `used`: just now, or since the interval began.
        self.counted[core] = self.index + 1;
    }

    pub fn runnable(&mut self, count: u32) {
        self.runnable = count;
        self.most = self.most.max(count);
    }
}
