//! Governor `schedutil`.
//!
//! Source: Linux 5.4, kernel/sched/cpufreq_schedutil.c, `sugov_should_update_freq`,
//! `sugov_update_single` and `get_next_freq`. Calls from other cores are dropped
//! (`cpufreq_this_cpu_can_update`).
//!
//! Left out: the boost for threads that waited for I/O, deadline threads, utilisation clamps.

use super::spec::FrequencySpec;
use crate::pelt::FULL;

/// Parameters of the governor.
#[derive(Debug, Clone)]
pub(super) struct Schedutil {
    rate_limit_ns: u64,
    /// If false, the request is relative to the last one.
    invariant: bool,
    min_khz: u32,
}

/// State of one hardware thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    /// Last request, before it is rounded to a P-state (`next_freq`).
    next_khz: u32,
    /// Last request as the driver rounded it (`policy->cur`).
    cur_khz: u32,
    /// Highest frequency that the driver can request for the thread.
    max_khz: u32,
    /// Time from which requests may change again.
    open_at: u64,
    /// The thread was idle with its tick stopped since the last update (`idle_calls`).
    idled: bool,
}

impl State {
    pub fn new(khz: u32, max_khz: u32) -> State {
        State { next_khz: khz, cur_khz: khz, max_khz, open_at: 0, idled: true }
    }

    /// The thread is idle, and its tick stops.
    pub fn idle(&mut self) {
        self.idled = true;
    }

    /// The driver rounded the request to `khz`.
    pub fn rounded(&mut self, khz: u32) {
        self.cur_khz = khz;
    }
}

impl Schedutil {
    pub fn new(spec: &FrequencySpec) -> Schedutil {
        Schedutil {
            rate_limit_ns: u64::from(spec.schedutil.rate_limit_us) * 1000,
            invariant: spec.schedutil.invariant_khz > 0,
            min_khz: spec.min_khz,
        }
    }

    /// Whether a call at `now` may change the request.
    pub fn is_due(&self, state: &State, now: u64) -> bool {
        now >= state.open_at
    }

    /// Updates the utilisation (0..=1024). Returns a changed request in kHz, not yet rounded to a
    /// P-state.
    pub fn update(&self, state: &mut State, now: u64, util: u32) -> Option<u32> {
        let busy = !std::mem::take(&mut state.idled);
        let base = u64::from(if self.invariant { state.max_khz } else { state.cur_khz });
        let khz = (base + base / 4) * u64::from(util.min(FULL)) / u64::from(FULL);
        let khz = (khz as u32).clamp(self.min_khz, state.max_khz);
        // "Do not reduce the frequency if the CPU has not been idle recently."
        if khz == state.next_khz || (busy && khz < state.next_khz) {
            return None;
        }
        state.next_khz = khz;
        state.open_at = now + self.rate_limit_ns;
        Some(khz)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn e7(invariant: bool) -> Schedutil {
        Schedutil { rate_limit_ns: MS / 2, invariant, min_khz: 1_200_000 }
    }

    #[test]
    fn a_changed_request_starts_the_rate_limit() {
        let (governor, mut state) = (e7(true), State::new(1_200_000, 3_000_000));
        assert_eq!(governor.update(&mut state, MS, 512), Some(1_875_000));
        assert!(!governor.is_due(&state, MS + MS / 2 - 1) && governor.is_due(&state, MS + MS / 2));
        assert_eq!(governor.update(&mut state, 2 * MS, 512), None, "unchanged");
        assert!(governor.is_due(&state, 2 * MS));
    }

    #[test]
    fn a_busy_core_is_not_slowed() {
        let (governor, mut state) = (e7(true), State::new(1_200_000, 3_000_000));
        governor.update(&mut state, 0, 1024);
        assert_eq!(governor.update(&mut state, MS, 600), None);
        assert_eq!(governor.update(&mut state, MS, 1024), None);
        state.idle();
        assert_eq!(governor.update(&mut state, 2 * MS, 600), Some(2_197_265));
    }

    #[test]
    fn without_invariance_requests_climb_from_the_last_one() {
        let (governor, mut state) = (e7(false), State::new(1_200_000, 3_000_000));
        let mut seen = Vec::new();
        for step in 0..6 {
            if let Some(khz) = governor.update(&mut state, step * MS, 1024) {
                state.rounded(khz.div_ceil(100_000) * 100_000);
                seen.push(khz);
            }
        }
        assert_eq!(seen, [1_500_000, 1_875_000, 2_375_000, 3_000_000]);
        state.idle();
        // 80% busy keeps the frequency.
        assert_eq!(governor.update(&mut state, 10 * MS, 820), None);
    }
}
