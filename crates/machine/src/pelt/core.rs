//! Utilisation of one core.

use super::decay::visible;
use super::thread::{FULL, SHIFT, Util, approach, fixed};

/// Utilisation of a core: the sum over its attached threads, whether running, ready or blocked.
///
/// The core keeps only sums; the caller passes the thread. A thread is attached to one core at a
/// time, and at most one thread runs.
#[derive(Debug, Clone)]
pub struct CoreUtil {
    /// Sum of the attached threads' utilisations, fixed point.
    avg: u64,
    as_of: u64,
    /// Part of the sum that threads left, which is subtracted at the next update (Linux `removed`).
    gone: u64,
    clock: Clock,
    running: bool,
    /// Sum of the enqueued threads' estimates.
    estimate: u32,
}

/// Clock of a core's utilisation (Linux `rq->clock_pelt`): it runs slower on a slow core, and
/// catches up when the core goes idle.
#[derive(Debug, Clone)]
struct Clock {
    idle: bool,
    /// Speed, 0..=[`FULL`].
    scale: u32,
    /// Real time of the last change of `idle` or `scale`, and the clock's time then.
    from: (u64, u64),
}

impl Clock {
    fn at(&self, now: u64) -> u64 {
        let (real, clock) = self.from;
        let dt = now.saturating_sub(real);
        match (self.idle, self.scale) {
            (true, _) => now,
            (false, FULL) => clock + dt,
            (false, scale) => clock + ((u128::from(dt) * u128::from(scale)) / u128::from(FULL)) as u64,
        }
    }

    fn set(&mut self, now: u64, idle: bool, scale: u32) {
        *self = Clock { idle, scale, from: (now, self.at(now)) };
    }
}

impl Default for CoreUtil {
    fn default() -> CoreUtil {
        CoreUtil::new()
    }
}

impl CoreUtil {
    /// Idle core without threads at time 0.
    pub fn new() -> CoreUtil {
        let clock = Clock { idle: true, scale: FULL, from: (0, 0) };
        CoreUtil { avg: 0, as_of: 0, gone: 0, clock, running: false, estimate: 0 }
    }

    /// Frequency invariance: from now on, running time counts `scale` / [`FULL`]
    /// ([`crate::Model::scale`]).
    pub fn set_scale(&mut self, now: u64, scale: u32) {
        if scale != self.clock.scale {
            self.clock.set(now, self.clock.idle, scale.min(FULL));
        }
    }

    /// The core goes idle: time that did not count while it ran slowly counts as idle.
    pub fn idle(&mut self, now: u64) {
        self.clock.set(now, true, self.clock.scale);
    }

    /// The kernel updated the core at `at`, if it was idle (Linux `update_blocked_averages`).
    pub fn refresh(&mut self, at: u64) {
        if self.clock.idle && self.as_of < at {
            self.pass(at);
        }
    }

    /// Attaches a new thread. Its utilisation is half of the core's spare capacity. Linux 5.9 looks at the core before it
    /// updates it, so that threads that have exited there since its last update count
    /// (`post_init_entity_util_avg`. The other bound there does not matter: a weight is 1024 times too large, until 6.13).
    pub fn fork(&mut self, now: u64) -> Util {
        let start = fixed(FULL).saturating_sub(self.avg) / 2;
        let thread = Util::with(self.pass(now), start);
        self.avg += thread.avg();
        thread
    }

    /// Attaches a thread that [`Self::detach`] took from another core. It is not running.
    pub fn attach(&mut self, now: u64, thread: &mut Util) {
        let clock = self.pass(now);
        thread.move_to(clock);
        self.avg += thread.avg();
    }

    /// Detaches a ready thread that moves to another core.
    pub fn detach(&mut self, now: u64, thread: &mut Util) {
        let clock = self.pass(now);
        thread.update(clock, false);
        self.avg = self.avg.saturating_sub(thread.avg());
    }

    /// Detaches a thread that wakes on another core or has exited. It counts until the core's next update (Linux
    /// `remove_entity_load_avg`).
    pub fn leave(&mut self, thread: &mut Util) {
        thread.update(self.as_of, false);
        self.gone += thread.avg();
    }

    /// An attached thread becomes ready on this core.
    pub fn enqueue(&mut self, now: u64, thread: &mut Util) {
        let clock = self.pass(now);
        thread.update(clock, false);
        self.estimate += thread.estimate();
    }

    /// Removes an attached thread that is not running from the ready threads. If it `sleeps` it
    /// stays attached; otherwise it moves or exits.
    pub fn dequeue(&mut self, now: u64, thread: &mut Util, sleeps: bool) {
        let clock = self.pass(now);
        thread.update(clock, false);
        self.estimate = self.estimate.saturating_sub(thread.estimate());
        if sleeps {
            thread.learn();
        }
    }

    /// An attached thread starts to run.
    pub fn start(&mut self, now: u64, thread: &mut Util) {
        let clock = self.pass(now);
        thread.update(clock, false);
        self.running = true;
        if self.clock.idle {
            self.clock.set(now, false, self.clock.scale);
        }
    }

    /// Updates the running thread to `now`.
    pub fn tick(&mut self, now: u64, thread: &mut Util) {
        let clock = self.pass(now);
        thread.update(clock, self.running);
    }

    /// The running thread stops running.
    pub fn stop(&mut self, now: u64, thread: &mut Util) {
        self.tick(now, thread);
        self.running = false;
    }

    /// Utilisation of the core at `now`, 0..=[`FULL`].
    pub fn value(&self, now: u64) -> u32 {
        // Threads that left count here: at their exit, the governor is called before they do.
        let avg = approach(self.avg, self.target(), self.clock.at(now).saturating_sub(self.as_of));
        ((avg >> SHIFT) as u32).min(FULL)
    }

    /// Utilisation that `schedutil` uses: the maximum of [`Self::value`] and the sum of the
    /// estimates of the threads that are ready or running here.
    pub fn requested(&self, now: u64) -> u32 {
        self.value(now).max(self.estimate.min(FULL))
    }

    fn target(&self) -> u64 {
        fixed(if self.running { FULL } else { 0 })
    }

    /// Updates the core to `now`. Returns the time of its clock.
    fn pass(&mut self, now: u64) -> u64 {
        let clock = self.clock.at(now);
        let seen = visible(self.as_of, clock);
        let left = self.avg.saturating_sub(std::mem::take(&mut self.gone));
        self.avg = approach(left, self.target(), seen - self.as_of);
        self.as_of = seen;
        clock
    }
}
