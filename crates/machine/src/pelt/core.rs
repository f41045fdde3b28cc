//! Utilisation of one core.

use super::decay::visible;
use super::thread::{FULL, SHIFT, Util, approach, fixed};

/// Utilisation of a core: the sum over its attached threads, whether running, ready or blocked.
///
/// The core keeps only sums; the caller passes the thread. A thread is attached to one core at a
/// time, and at most one thread runs.
#[derive(Debug, Clone, Default)]
pub struct CoreUtil {
    /// Sum of the attached threads' utilisations, fixed point.
    avg: u64,
    as_of: u64,
    /// Capacity at which the running thread runs; 0 if none does.
    capacity: u32,
    /// Sum of the enqueued threads' estimates.
    estimate: u32,
}

impl CoreUtil {
    /// Core without threads at time 0.
    pub fn new() -> CoreUtil {
        CoreUtil::default()
    }

    /// Attaches a new thread. Its utilisation is half of the core's spare capacity (Linux
    /// `post_init_entity_util_avg`).
    pub fn fork(&mut self, now: u64) -> Util {
        self.pass(now);
        let thread = Util::with(now, fixed(FULL).saturating_sub(self.avg) / 2);
        self.avg += thread.avg();
        thread
    }

    /// Attaches a thread that comes from another core and is not running.
    pub fn attach(&mut self, now: u64, thread: &mut Util) {
        self.pass(now);
        thread.update(now, false);
        self.avg += thread.avg();
    }

    /// Detaches a thread that is not running: it moves to another core or has exited.
    pub fn detach(&mut self, now: u64, thread: &mut Util) {
        self.pass(now);
        thread.update(now, false);
        self.avg = self.avg.saturating_sub(thread.avg());
    }

    /// An attached thread becomes ready on this core.
    pub fn enqueue(&mut self, now: u64, thread: &mut Util) {
        self.pass(now);
        thread.update(now, false);
        self.estimate += thread.estimate();
    }

    /// Removes an attached thread that is not running from the ready threads. If it `sleeps` it
    /// stays attached; otherwise it moves or exits.
    pub fn dequeue(&mut self, now: u64, thread: &mut Util, sleeps: bool) {
        self.pass(now);
        thread.update(now, false);
        self.estimate = self.estimate.saturating_sub(thread.estimate());
        if sleeps {
            thread.learn();
        }
    }

    /// An attached thread starts to run.
    pub fn start(&mut self, now: u64, thread: &mut Util) {
        self.start_at(now, thread, FULL);
    }

    /// Like [`Self::start`], on a core with `capacity` out of [`FULL`] (frequency invariance).
    pub fn start_at(&mut self, now: u64, thread: &mut Util, capacity: u32) {
        self.pass(now);
        thread.update(now, false);
        self.capacity = capacity.min(FULL);
    }

    /// Updates the running thread to `now`.
    pub fn tick(&mut self, now: u64, thread: &mut Util) {
        self.pass(now);
        thread.update_at(now, self.capacity);
    }

    /// The running thread stops running.
    pub fn stop(&mut self, now: u64, thread: &mut Util) {
        self.tick(now, thread);
        self.capacity = 0;
    }

    /// Utilisation of the core at `now`, 0..=[`FULL`].
    pub fn value(&self, now: u64) -> u32 {
        let avg = approach(self.avg, fixed(self.capacity), now.saturating_sub(self.as_of));
        ((avg >> SHIFT) as u32).min(FULL)
    }

    /// Utilisation that `schedutil` uses: the maximum of [`Self::value`] and the sum of the
    /// estimates of the threads that are ready or running here.
    pub fn requested(&self, now: u64) -> u32 {
        self.value(now).max(self.estimate.min(FULL))
    }

    fn pass(&mut self, now: u64) {
        let now = visible(self.as_of, now);
        self.avg = approach(self.avg, fixed(self.capacity), now - self.as_of);
        self.as_of = now;
    }
}
