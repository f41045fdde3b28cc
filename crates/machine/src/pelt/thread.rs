//! Utilisation of one thread.

use super::decay::{decay, visible};

/// Utilisation of a core that is always busy at its highest frequency (Linux
/// `SCHED_CAPACITY_SCALE`).
pub const FULL: u32 = 1024;

/// Fractional bits of a utilisation.
pub(super) const SHIFT: u32 = 20;

/// Weight of the newest sample in the estimate: a quarter (Linux `UTIL_EST_WEIGHT_SHIFT`).
const ESTIMATE_SHIFT: u32 = 2;

/// Moves the utilisation `avg` towards `target` over `dt` nanoseconds. Both are fixed point.
pub(super) fn approach(avg: u64, target: u64, dt: u64) -> u64 {
    if avg <= target { target - decay(target - avg, dt) } else { target + decay(avg - target, dt) }
}

/// Converts `capacity` (0..=[`FULL`]) to a fixed-point utilisation.
pub(super) fn fixed(capacity: u32) -> u64 {
    u64::from(capacity.min(FULL)) << SHIFT
}

/// Recent utilisation of a thread, and its estimate for the next wake-up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Util {
    avg: u64,
    as_of: u64,
    /// Utilisation when the thread last went to sleep.
    last: u32,
    /// Exponentially weighted moving average of `last`.
    ewma: u32,
}

impl Util {
    /// A thread that has not run, at time `now`.
    pub fn new(now: u64) -> Util {
        Util { as_of: now, ..Util::default() }
    }

    /// A new thread with initial utilisation `avg` (fixed point).
    pub(super) fn with(now: u64, avg: u64) -> Util {
        Util { avg, as_of: now, ..Util::default() }
    }

    /// Updates the utilisation to `now`; the thread was `running`, or not, since the last update.
    pub fn update(&mut self, now: u64, running: bool) {
        let now = visible(self.as_of, now);
        self.avg = approach(self.avg, fixed(if running { FULL } else { 0 }), now - self.as_of);
        self.as_of = now;
    }

    /// The thread comes to a core whose clock is at `now`.
    pub(super) fn move_to(&mut self, now: u64) {
        self.as_of = now;
    }

    /// Utilisation at the last update, 0..=[`FULL`].
    pub fn value(&self) -> u32 {
        (self.avg >> SHIFT) as u32
    }

    /// Expected utilisation at the next wake-up (Linux `util_est`): the maximum of the utilisation
    /// when the thread last slept and its moving average.
    pub fn estimate(&self) -> u32 {
        self.last.max(self.ewma)
    }

    /// Updates the estimate when the thread goes to sleep (Linux `util_est_update`). Increases
    /// apply at once, decreases by a quarter; a difference within 1 % of [`FULL`] is ignored.
    pub(super) fn learn(&mut self) {
        self.last = self.value();
        if self.ewma < self.last {
            self.ewma = self.last;
        } else if self.ewma - self.last > FULL / 100 {
            self.ewma -= (self.ewma - self.last) >> ESTIMATE_SHIFT;
        }
    }

    pub(super) fn avg(&self) -> u64 {
        self.avg
    }
}
