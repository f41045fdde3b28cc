//! Idle governor `menu`: predicts the idle time of a hardware thread and chooses its idle state.
//!
//! Source: Linux 5.4, drivers/cpuidle/governors/menu.c, `get_typical_interval`, `menu_select` and
//! `menu_update`. The governor expects an idle time up to the next timer, corrected by how long
//! earlier ones were relative to it; with the same timer each time, that is a moving average of the
//! idle times. If the last eight idle times are alike and shorter, it expects another such one. The
//! tick of a thread that expects less than a tick goes on. It wakes the governor, which then counts
//! a long idle time and chooses again.
//!
//! A core whose tick goes on does not count as idle for `schedutil`, which then keeps its request (`idle_calls`,
//! kernel/time/tick-sched.c and kernel/sched/cpufreq_schedutil.c).
//!
//! Left out: the workload's own timers, and the limit on exit latency for threads that wait for I/O.

use super::IdleState;
use hearth_base::constants::TICK_NS;

/// Number of idle times that the governor remembers.
const INTERVALS: usize = 8;
/// `MAX_INTERESTING`: after a longer idle time, the next timer counts as a perfect prediction.
const INTERESTING_US: u32 = 50_000;
/// Idle time that the governor learns from a tick.
const WOKEN_BY_TICK_US: u32 = 9 * INTERESTING_US / 10;
/// assumption: time to the next timer of an idle core with its tick stopped.
const NEXT_TIMER_US: u32 = 100_000;
/// Weight of the past in the moving average (`DECAY`).
const DECAY: u32 = 8;
/// Resolution of the moving average.
const RESOLUTION: u32 = 1024;
/// Period of the tick.
const TICK_US: u32 = (TICK_NS / 1_000) as u32;
/// Longest idle time to learn, about 17 minutes; it keeps the squares in range.
const LONGEST_US: u64 = 1_000_000_000;

/// What the governor chooses for an idle hardware thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    /// Index of the idle state.
    pub state: usize,
    /// The tick stops: the thread is expected to be idle for a tick at least.
    pub stops_tick: bool,
}

/// The last idle times of one hardware thread.
#[derive(Debug, Clone)]
pub(crate) struct Menu {
    intervals_us: [u32; INTERVALS],
    next: u8,
    /// Moving average of the idle times relative to the next timer, times `RESOLUTION * DECAY`.
    correction: u32,
}

impl Menu {
    /// A thread with long and different idle times.
    pub fn new() -> Menu {
        Menu {
            intervals_us: std::array::from_fn(|i| 100_000 * (i as u32 + 1)),
            next: 0,
            correction: RESOLUTION * DECAY,
        }
    }

    /// Learns an idle time.
    pub fn learn(&mut self, idle_ns: u64) {
        self.push((idle_ns / 1000).min(LONGEST_US) as u32);
    }

    /// The tick ended the idle time.
    pub fn learn_tick(&mut self) {
        self.push(WOKEN_BY_TICK_US);
    }

    fn push(&mut self, us: u32) {
        let relative = if us < INTERESTING_US { RESOLUTION * us / NEXT_TIMER_US } else { RESOLUTION };
        self.correction = self.correction - self.correction / DECAY + relative;
        self.intervals_us[usize::from(self.next)] = us;
        self.next = (self.next + 1) % INTERVALS as u8;
    }

    /// Chooses one of `states`, which must not be empty.
    pub fn choose(&self, states: &[IdleState]) -> Choice {
        let average = u64::from(NEXT_TIMER_US) * u64::from(self.correction);
        let average = (average / u64::from(RESOLUTION * DECAY)) as u32;
        let predicted = self.typical_us().map_or(average, |typical| typical.min(average));
        let fitting = states.partition_point(|state| state.target_residency_us <= predicted);
        // Polling is only for timers that are about to expire.
        Choice { state: fitting.saturating_sub(1), stops_tick: predicted >= TICK_US }
    }

    /// The average of the last idle times, if they are alike: without outliers above, its standard
    /// deviation is at most a sixth of it, or at most 20 us.
    fn typical_us(&self) -> Option<u32> {
        let mut most = u32::MAX;
        loop {
            let kept = || self.intervals_us.iter().copied().filter(|&us| us <= most).map(u64::from);
            let count = kept().count() as u64;
            let average = kept().sum::<u64>().checked_div(count)?;
            let variance = kept().map(|us| us.abs_diff(average).pow(2)).sum::<u64>() / count;
            let enough = count * 4 >= INTERVALS as u64 * 3;
            if (enough && average * average > 36 * variance) || variance <= 400 {
                return Some(average as u32);
            }
            if count * 4 <= INTERVALS as u64 * 3 {
                return None;
            }
            most = kept().max()? as u32 - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skylake() -> Vec<IdleState> {
        let state = |name: &str, exit_latency_us, target_residency_us| IdleState {
            name: name.into(),
            exit_latency_us,
            target_residency_us,
            counts: name != "C6",
            power_w: None,
        };
        vec![state("C1", 2, 2), state("C1E", 10, 20), state("C6", 133, 600)]
    }

    fn choice(idle_us: &[u64]) -> usize {
        let mut menu = Menu::new();
        idle_us.iter().for_each(|us| menu.learn(us * 1000));
        menu.choose(&skylake()).state
    }

    #[test]
    fn the_tick_stops_when_a_tick_passes_idle() {
        let stops = |idle_us: u64| {
            let mut menu = Menu::new();
            (0..8).for_each(|_| menu.learn(idle_us * 1000));
            menu.choose(&skylake())
        };
        assert_eq!(stops(3_999), Choice { state: 2, stops_tick: false });
        assert_eq!(stops(4_000), Choice { state: 2, stops_tick: true });
    }

    #[test]
    fn like_idle_times_are_expected_again() {
        assert_eq!(choice(&[]), 2, "idle for long");
        assert_eq!(choice(&[5; 8]), 0);
        assert_eq!(choice(&[1; 8]), 0, "C1 instead of polling");
        assert_eq!(choice(&[100, 110, 90, 105, 95, 100, 100, 100]), 1);
        assert_eq!(choice(&[700; 8]), 2);
    }

    #[test]
    fn two_outliers_are_ignored_and_three_are_not() {
        assert_eq!(choice(&[100, 100, 100, 9_000, 100, 100, 8_000, 100]), 1);
        assert_eq!(choice(&[100, 100, 100, 9_000, 100, 7_000, 8_000, 100]), 2);
    }

    #[test]
    fn short_idle_times_are_expected_again_after_a_while() {
        // 100 to 500 us, too different to be alike.
        let idle: Vec<u64> = (0..60).map(|n| 100 + 400 * (n * 7 % 5) / 4).collect();
        assert_eq!(choice(&idle[..20]), 2, "the average is still long");
        assert_eq!(choice(&idle), 1);
        assert_eq!(choice(&[&idle[..], &[60_000]].concat()), 2, "one long idle time");
    }

    #[test]
    fn ticks_make_the_choice_deeper() {
        let mut menu = Menu::new();
        [160, 180, 200, 220, 240, 170, 230, 200].iter().for_each(|us| menu.learn(us * 1000));
        assert_eq!(menu.choose(&skylake()).state, 1);
        menu.learn_tick();
        menu.learn_tick();
        assert_eq!(menu.choose(&skylake()).state, 1, "two outliers");
        menu.learn_tick();
        assert_eq!(menu.choose(&skylake()).state, 2);
    }

    #[test]
    fn a_thread_with_equal_idle_times_stays_shallow_for_eight_ticks() {
        let mut menu = Menu::new();
        (0..8).for_each(|_| menu.learn(100_000));
        for _ in 0..7 {
            menu.learn_tick();
            assert_eq!(menu.choose(&skylake()).state, 1);
        }
        menu.learn_tick();
        assert_eq!(menu.choose(&skylake()), Choice { state: 2, stops_tick: true });
    }
}
