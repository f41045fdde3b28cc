//! Stopwatch for wall-clock time and CPU time.

use std::fs;
use std::time::Instant;

/// Start time, and CPU time of all threads at that time. On a busy machine, compare CPU times.
pub struct Stopwatch(Instant, f64);

impl Stopwatch {
    pub fn start() -> Self {
        Stopwatch(Instant::now(), cpu_seconds())
    }

    pub fn report(self, what: &str, events: u64) {
        let (wall, cpu) = (self.0.elapsed().as_secs_f64(), cpu_seconds() - self.1);
        let rate = |seconds: f64| events as f64 / seconds / 1e6;
        println!(
            "{what}: {events} events in {wall:.2} s, {:.1} M/s; {cpu:.2} s of CPU time, {:.1} M/s a core",
            rate(wall),
            rate(cpu)
        );
    }
}

/// User and system time of this process in seconds, from `/proc`, whose tick is 10 ms.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    after_name.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
