//! What something takes, by the clock and of CPU time.

use std::fs;
use std::time::Instant;

/// Since when, and how much CPU time all threads had used by then: on a machine that has other
/// things to do, that is the number to look at.
pub struct Since(Instant, f64);

impl Since {
    pub fn now() -> Self {
        Since(Instant::now(), cpu_seconds())
    }

    pub fn told(self, what: &str, events: u64) {
        let (wall, cpu) = (self.0.elapsed().as_secs_f64(), cpu_seconds() - self.1);
        let rate = |seconds: f64| events as f64 / seconds / 1e6;
        println!(
            "{what}: {events} events in {wall:.2} s, {:.1} M/s; {cpu:.2} s of CPU time, {:.1} M/s a core",
            rate(wall),
            rate(cpu)
        );
    }
}

/// User and system time of this process, from `/proc`, in which a second has a hundred ticks.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    after_name.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
