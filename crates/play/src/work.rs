//! Work loop of a `run` step.

use crate::calibration::{Calibration, rounds};
use crate::clock::{now, thread_cpu};
use crate::options::{Burn, Options};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Conversion from cycles of the graph to work on this machine.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    burn: Burn,
    loops_per_ns: f64,
    ns_per_cycle: f64,
}

/// Rounds between two checks of the stop flag: tens of microseconds.
const CHUNK: u64 = 16_384;
/// Rounds between two readings of the clock: a fraction of a microsecond.
const TURN: u64 = 64;

impl Work {
    pub fn new(options: &Options, calibration: &Calibration) -> Self {
        Work {
            burn: options.burn,
            loops_per_ns: calibration.loops_per_s / 1e9,
            ns_per_cycle: options.scale / options.ghz,
        }
    }

    /// Nanoseconds that `cycles` take on an undisturbed core.
    pub fn nanoseconds(&self, cycles: u64) -> f64 {
        cycles as f64 * self.ns_per_cycle
    }

    /// Rounds of the loop that correspond to `cycles`.
    fn loops(&self, cycles: u64) -> u64 {
        (self.nanoseconds(cycles) * self.loops_per_ns).round() as u64
    }
}

/// A thread's state of the work loop.
pub struct Burner {
    state: u64,
    /// CPU time in nanoseconds that the steps so far require.
    due: u64,
}

impl Default for Burner {
    fn default() -> Self {
        // From 0 the loop would stay at 0, and some processors multiply by 0 faster.
        Burner { state: 1, due: 0 }
    }
}

impl Burner {
    /// Does the work of `cycles`; returns early if `stop` is set.
    pub fn burn(&mut self, work: &Work, cycles: u64, stop: &AtomicBool) {
        match work.burn {
            Burn::Work => self.execute(work.loops(cycles), stop),
            Burn::Time => self.spend(work.nanoseconds(cycles).round() as u64, stop),
        }
    }

    fn execute(&mut self, mut loops: u64, stop: &AtomicBool) {
        while loops > 0 && !stop.load(Relaxed) {
            let now = loops.min(CHUNK);
            self.state = black_box(rounds(black_box(self.state), now));
            loops -= now;
        }
    }

    /// Spends CPU time until the thread's total since its start reaches the total that its steps require. Time in
    /// the kernel thus counts as part of the graph's work, as in a workload extracted from a recording.
    ///
    /// CPU time never advances faster than wall-clock time, so the CPU clock (a system call) is read only after the
    /// missing amount of wall-clock time has passed. An emulator treats PAUSE as a hint to execute another CPU; all
    /// CPUs thus take turns of a microsecond or less.
    fn spend(&mut self, ns: u64, stop: &AtomicBool) {
        self.due = self.due.saturating_add(ns);
        let mut spent = thread_cpu();
        while spent < self.due && !stop.load(Relaxed) {
            let until = now().saturating_add(self.due - spent);
            while now() < until && !stop.load(Relaxed) {
                std::hint::spin_loop();
                self.state = black_box(rounds(black_box(self.state), TURN));
            }
            spent = thread_cpu();
        }
    }

    /// Accounts `ns` of spinning, which is CPU time that belongs to no `run` step.
    pub fn spun(&mut self, ns: u64) {
        self.due = self.due.saturating_add(ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(burn: Burn, ghz: f64, scale: f64) -> Work {
        let options = Options { ghz, scale, burn, ..Options::default() };
        Work::new(&options, &Calibration::known(5e8))
    }

    #[test]
    fn cycles_become_rounds() {
        // 2100 cycles at 2.1 GHz are 1000 ns, and at half a round per ns 500 rounds.
        assert_eq!(work(Burn::Work, 2.1, 1.0).loops(2_100), 500);
        assert_eq!(work(Burn::Work, 1.0, 1.0).loops(2_000), 1_000);
        assert_eq!(work(Burn::Work, 1.0, 3.0).loops(2_000), 3_000);
        assert_eq!(work(Burn::Work, 1.0, 1.0).loops(0), 0);
    }

    #[test]
    fn rounds_depend_on_each_other() {
        assert_eq!(rounds(7, 1000), rounds(rounds(7, 400), 600));
        assert_ne!(rounds(7, 1000), rounds(7, 1001));
    }

    /// CPU time of a new thread that burns 200 times 10 us, and has `before` done first.
    fn spent(before: impl FnOnce(&mut Burner) + Send) -> u64 {
        let burn = || {
            let (go_on, work) = (AtomicBool::new(false), work(Burn::Time, 1.0, 1.0));
            let mut burner = Burner::default();
            before(&mut burner);
            for _ in 0..200 {
                burner.burn(&work, 10_000, &go_on);
            }
            thread_cpu()
        };
        std::thread::scope(|scope| scope.spawn(burn).join().unwrap())
    }

    #[test]
    fn cpu_time_adds_up_exactly() {
        let spent = spent(|_| ());
        assert!(spent >= 200 * 10_000, "{spent}");
    }

    #[test]
    fn spinning_is_no_work() {
        let spent = spent(|burner| burner.spun(3_000_000));
        assert!(spent >= 5_000_000, "{spent}");
    }

    #[test]
    fn it_stops_when_told() {
        let stop = AtomicBool::new(true);
        for burn in [Burn::Work, Burn::Time] {
            Burner::default().burn(&work(burn, 1.0, 1.0), u64::MAX / 2, &stop);
        }
    }
}
