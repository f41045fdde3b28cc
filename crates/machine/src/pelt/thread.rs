//! Utilisation of one thread.

use super::decay::{decay, visible};

/// Utilisation of a core that is always busy at its highest frequency: Linux's
/// `SCHED_CAPACITY_SCALE`.
pub const FULL: u32 = 1024;

/// Fixed-point places of a utilisation.
pub(super) const SHIFT: u32 = 20;

/// Weight of the newest sample in the estimate: a quarter (Linux
/// `UTIL_EST_WEIGHT_SHIFT`).
const ESTIMATE_SHIFT: u32 = 2;

/// Lets time pass for a utilisation `avg` (fixed point) that is drawn towards
/// `target` (fixed point).
pub(super) fn approach(avg: u64, target: u64, dt: u64) -> u64 {
    if avg <= target { target - decay(target - avg, dt) } else { target + decay(avg - target, dt) }
}

/// `capacity` (0..=[`FULL`]) as a fixed-point utilisation.
pub(super) fn fixed(capacity: u32) -> u64 {
    u64::from(capacity.min(FULL)) << SHIFT
}

/// How much a thread has run of late, and how much it is expected to run when it
/// next wakes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Util {
    avg: u64,
    as_of: u64,
    /// Utilisation when it last went to sleep.
    last: u32,
    /// Moving average of that.
    ewma: u32,
}

impl Util {
    /// A thread that has not run, at time `now`.
    pub fn new(now: u64) -> Util {
        Util { as_of: now, ..Util::default() }
    }

    /// A new thread that is assumed to use `capacity` (0..=[`FULL`]).
    pub(super) fn with(now: u64, avg: u64) -> Util {
        Util { avg, as_of: now, ..Util::default() }
    }

    /// Lets the time since the last update pass, during which the thread has been
    /// `running`, or not.
    pub fn update(&mut self, now: u64, running: bool) {
        self.update_at(now, if running { FULL } else { 0 });
    }

    /// Like [`Self::update`], with the thread running on a core of `capacity`: on
    /// machines with frequency invariance, [`FULL`] · frequency / maximum. 0 if it
    /// has not been running.
    pub fn update_at(&mut self, now: u64, capacity: u32) {
        let now = visible(self.as_of, now);
        self.avg = approach(self.avg, fixed(capacity), now - self.as_of);
        self.as_of = now;
    }

    /// Utilisation at the last update, 0..=[`FULL`].
    pub fn value(&self) -> u32 {
        (self.avg >> SHIFT) as u32
    }

    /// What the kernel expects of it when it wakes (Linux `util_est`): its
    /// utilisation when it last slept, or the moving average of these if higher.
    pub fn estimate(&self) -> u32 {
        self.last.max(self.ewma)
    }

    /// It goes to sleep: the estimate learns (Linux `util_est_update`). Rises are
    /// believed at once, falls a quarter at a time, and what is within 1 % of the
    /// average is ignored.
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
