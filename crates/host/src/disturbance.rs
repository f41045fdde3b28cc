//! Detection of other users of the measured core.

use crate::os;
use crate::sysfs::Files;
use serde::Serialize;

/// Times of one core from /proc/stat, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CoreTimes {
    /// Idle time.
    pub idle: u64,
    /// Steal time: the hypervisor ran something else.
    pub steal: u64,
    /// Total of all times.
    pub total: u64,
}

impl CoreTimes {
    pub fn read(files: &Files, core: u32) -> Option<CoreTimes> {
        CoreTimes::parse(&files.text("proc/stat")?, core)
    }

    /// Parses the line `cpuN user nice system idle iowait irq softirq steal …`.
    fn parse(stat: &str, core: u32) -> Option<CoreTimes> {
        let name = format!("cpu{core}");
        let line = stat.lines().find(|line| line.split_whitespace().next() == Some(&name))?;
        let times: Option<Vec<u64>> = line.split_whitespace().skip(1).map(|n| n.parse().ok()).collect();
        let times = times?;
        let at = |i: usize| times.get(i).copied().unwrap_or(0);
        let total = times.iter().take(8).fold(0, |sum: u64, n| sum.saturating_add(*n));
        times.get(3)?;
        Some(CoreTimes { idle: at(3).saturating_add(at(4)), steal: at(7), total })
    }

    fn since(self, before: CoreTimes) -> CoreTimes {
        CoreTimes {
            idle: self.idle.saturating_sub(before.idle),
            steal: self.steal.saturating_sub(before.steal),
            total: self.total.saturating_sub(before.total),
        }
    }
}

/// Disturbances of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Disturbance {
    /// Number of preemptions of the busy loop.
    pub involuntary_switches: u64,
    /// Share of the busy loops' time lost to interrupts, other threads or the hypervisor, in per cent.
    pub lost_percent: f64,
    /// Steal time of this core during the whole measurement, from /proc/stat.
    pub steal_ms: Option<f64>,
    /// Share of the intended idle time in which the core was busy, in per cent.
    pub not_idle_percent: Option<f64>,
}

/// Thresholds of the warnings.
const MUCH_LOST_PERCENT: f64 = 2.0;
const MUCH_STOLEN: f64 = 0.01;
const MUCH_BUSY_PERCENT: f64 = 10.0;

impl Disturbance {
    /// `busy_ms`: time of all busy loops; `lost_ms`: the part of it lost to other work; `samples_ms`: time of all samples
    /// of the idle core; `times`: /proc/stat before and after.
    pub fn new(
        switches: u64,
        busy_ms: f64,
        lost_ms: f64,
        samples_ms: f64,
        times: Option<(CoreTimes, CoreTimes)>,
    ) -> Disturbance {
        let tick_ms = os::clock_tick().as_secs_f64() * 1e3;
        let times = times.map(|(before, after)| after.since(before));
        // Only our own loops and samples should have kept the core busy.
        let not_idle = times.and_then(|times| {
            let rest = times.total as f64 * tick_ms - busy_ms - samples_ms;
            let others = rest - times.idle as f64 * tick_ms;
            (rest > 10.0 * tick_ms).then(|| 100.0 * (others / rest).clamp(0.0, 1.0))
        });
        Disturbance {
            involuntary_switches: switches,
            lost_percent: if busy_ms > 0.0 { 100.0 * lost_ms / busy_ms } else { 0.0 },
            steal_ms: times.map(|times| times.steal as f64 * tick_ms),
            not_idle_percent: not_idle,
        }
    }

    /// Warnings for the user.
    pub fn warnings(&self, core: u32, busy_ms: f64) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.involuntary_switches > 0 || self.lost_percent > MUCH_LOST_PERCENT {
            warnings.push(format!(
                "the busy loop lost {:.1} % of its time on core {core} to interrupts, other threads or the hypervisor \
                 (involuntary switches: {})",
                self.lost_percent, self.involuntary_switches
            ));
        }
        if let Some(steal) = self.steal_ms.filter(|&steal| steal > MUCH_STOLEN * busy_ms) {
            warnings.push(format!("the hypervisor took {steal:.0} ms of core {core} (steal time)"));
        }
        if let Some(percent) = self.not_idle_percent.filter(|&percent| percent > MUCH_BUSY_PERCENT) {
            warnings.push(format!(
                "core {core} was in use for {percent:.0} % of the time in which it should have been idle: what is \
                 measured begins on a core that is already warm"
            ));
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_cores_own_line_is_read() {
        let stat = "cpu  9 9 9 9 9\ncpu1 10 20 30 400 50 6 7 8 0 0\ncpu11 1 1 1 1 1\nintr 1 2\n";
        assert_eq!(CoreTimes::parse(stat, 1), Some(CoreTimes { idle: 450, steal: 8, total: 531 }));
        assert_eq!(CoreTimes::parse(stat, 2), None);
        assert_eq!(CoreTimes::parse("cpu1 1 2 x 4", 1), None);
        assert_eq!(CoreTimes::parse("cpu1 1 2", 1), None);
    }

    #[test]
    fn what_others_used_is_what_is_left() {
        let tick_ms = os::clock_tick().as_secs_f64() * 1e3;
        let after = CoreTimes { idle: 30, steal: 2, total: 100 };
        // 100 ticks, of which 50 were the loop's own: of the others 30 were idle, so 40 % were not.
        let found =
            Disturbance::new(1, 50.0 * tick_ms, 5.0 * tick_ms, 0.0, Some((CoreTimes::default(), after)));
        assert_eq!(found.not_idle_percent.map(f64::round), Some(40.0));
        assert_eq!((found.lost_percent, found.steal_ms), (10.0, Some(2.0 * tick_ms)));
        assert_eq!(found.warnings(0, 50.0 * tick_ms).len(), 3);
        assert_eq!(Disturbance::default().warnings(0, 100.0), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(cpu0 )?[0-9a-z \n]{0,200}") {
            CoreTimes::parse(&text, 0);
        }
    }
}
