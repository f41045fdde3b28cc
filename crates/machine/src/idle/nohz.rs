//! When the kernel updates the load of idle hardware threads, so that threads that have exited there no longer count.
//!
//! Source: Linux 5.9, kernel/sched/fair.c. A hardware thread whose tick goes on while it is idle updates itself
//! (`run_rebalance_domains`). Those with their tick stopped wait for another one: for its tick (`nohz_balancer_kick`), or
//! until it goes idle itself (`nohz_newidle_balance`). It has all of them updated (`_nohz_idle_balance`).
//!
//! Left out: the calls of the governor by an update, ticks of idle loops that spin (the core was updated when its thread
//! blocked), the limit on `avg_idle`, updates because of waiting threads, and that the idle core which does the updates of a
//! busy core's tick wakes up for them. One time stands for `nohz.next_balance` and `nohz.next_blocked`.

use hearth_base::constants::TICK_NS;

/// Ticks in `LOAD_AVG_PERIOD`, 32 ms: one that goes idle has the others updated this long after the last update.
const PERIOD: u64 = 8 * TICK_NS;

/// State of one hardware thread.
#[derive(Debug, Clone)]
struct State {
    llc: u16,
    /// No tick has found it busy since its tick stopped (`nohz_tick_stopped`).
    tickless: bool,
    /// Time of the last update while it was idle.
    updated: u64,
}

/// The hardware threads of a machine.
#[derive(Debug, Clone)]
pub(crate) struct Nohz {
    threads: Vec<State>,
    /// Hardware threads of each last-level cache that are not tickless (`nr_busy_cpus`).
    busy: Vec<u16>,
    /// Time of the last update of all tickless ones.
    swept: u64,
}

impl Nohz {
    /// All are idle for long. `llcs`: the last-level cache of each hardware thread.
    pub fn new(llcs: impl Iterator<Item = u16>) -> Nohz {
        let threads: Vec<State> = llcs.map(|llc| State { llc, tickless: true, updated: 0 }).collect();
        let caches = threads.iter().map(|thread| thread.llc + 1).max().unwrap_or(0);
        Nohz { threads, busy: vec![0; usize::from(caches)], swept: 0 }
    }

    /// Time at which the load of the hardware thread was last updated while it was idle.
    pub fn updated(&self, thread: usize) -> u64 {
        self.threads[thread].updated
    }

    /// The idle thread's tick stops.
    pub fn stop_tick(&mut self, thread: usize) {
        let state = &mut self.threads[thread];
        if !std::mem::replace(&mut state.tickless, true) {
            self.busy[usize::from(state.llc)] -= 1;
        }
    }

    /// A tick finds the thread idle.
    pub fn idle_tick(&mut self, now: u64, thread: usize) {
        self.threads[thread].updated = now;
    }

    /// A tick finds the thread busy: it has the others updated, at every tick if another one of its cache is busy.
    pub fn busy_tick(&mut self, now: u64, thread: usize, is_idle: impl Fn(usize) -> bool) {
        let state = &mut self.threads[thread];
        let busy = &mut self.busy[usize::from(state.llc)];
        *busy += u16::from(std::mem::replace(&mut state.tickless, false));
        // Linux asks whether it is *after* the period.
        let wait = if *busy > 1 { TICK_NS } else { PERIOD + TICK_NS };
        self.sweep(now, wait, is_idle);
    }

    /// The thread goes idle.
    pub fn newly_idle(&mut self, now: u64, is_idle: impl Fn(usize) -> bool) {
        self.sweep(now, PERIOD, is_idle);
    }

    /// Updates all idle tickless threads, if `wait` has passed since that was last done.
    fn sweep(&mut self, now: u64, wait: u64, is_idle: impl Fn(usize) -> bool) {
        if now < self.swept + wait {
            return;
        }
        self.swept = now;
        for (index, state) in self.threads.iter_mut().enumerate() {
            if state.tickless && is_idle(index) {
                state.updated = now;
            }
        }
    }
}
