//! Measures one core that is busy and idle in turn.

use crate::counters::Counters;
use crate::os;
use crate::settle::median;
use crate::windows::{self, Counted, Timed};
use crate::work::Chunk;
use std::time::{Duration, Instant};

/// The times of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Undisturbed idle time before the busy loop.
    pub quiet: Duration,
    /// Length of the busy loop.
    pub busy: Duration,
    /// Time during which the idle core is sampled after the loop.
    pub idle: Duration,
    /// Length of a window of the busy loop.
    pub window: Duration,
    /// Sampling interval of the idle core.
    pub gap: Duration,
    /// Duration of one sample.
    pub probe: Duration,
}

/// The speeds measured in one round.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// In each window of the busy loop.
    pub up: Vec<Option<f64>>,
    /// Speed in each sample of the idle core; the first sample is one gap after the loop.
    pub down: Vec<Option<f64>>,
    /// Time of the busy loop lost to other work.
    pub lost: Duration,
    /// Number of preemptions of the busy loop.
    pub switches: u64,
}

/// The measuring instrument; bound to the core on which it was created.
pub struct Meter {
    pub chunk: Chunk,
    /// APERF and MPERF, and MPERF's rate in kHz.
    pub counters: Option<(Counters, f64)>,
    timed: Vec<Timed>,
    counted: Vec<Counted>,
}

impl Meter {
    pub fn new(chunk: Chunk, counters: Option<(Counters, f64)>, busy: Duration, window: Duration) -> Meter {
        // Capacity for a core several times as fast as now. Writing to the memory faults its pages in before the
        // measurement.
        let chunks = busy.as_micros() as usize;
        let windows = 2 * (busy.as_nanos() / window.as_nanos().max(1)) as usize + 2;
        let mut timed = vec![Timed { end_ns: 1, took_ns: 1 }; chunks];
        timed.clear();
        Meter { chunk, counters, timed, counted: Vec::with_capacity(windows) }
    }

    /// Executes one round: sleeps, runs the busy loop, then samples the idle core.
    pub fn round(&mut self, times: &Times) -> Round {
        os::sleep_until(Instant::now() + times.quiet);
        let switches = os::involuntary_switches();
        let up = self.busy(times.busy, times.window);
        let switches = os::involuntary_switches() - switches;
        let lost = Duration::from_nanos(windows::lost_ns(&self.timed));
        Round { up, down: self.idle(times), lost, switches }
    }

    /// Runs the busy loop and measures the speed in each window.
    pub fn busy(&mut self, length: Duration, window: Duration) -> Vec<Option<f64>> {
        let window_ns = window.as_nanos().max(1) as u64;
        let length_ns = length.as_nanos() as u64;
        self.timed.clear();
        self.counted.clear();
        let begin = Instant::now();
        let (mut now, mut next_reading) = (0, 0);
        while now < length_ns && self.timed.len() < self.timed.capacity() {
            if now >= next_reading {
                now = self.count(begin);
                next_reading = (now / window_ns + 1) * window_ns;
            }
            self.chunk.run();
            let end = begin.elapsed().as_nanos() as u64;
            let took_ns = u32::try_from(end - now).unwrap_or(u32::MAX);
            self.timed.push(Timed { end_ns: end, took_ns });
            now = end;
        }
        self.count(begin);
        self.speeds(window_ns, (length_ns / window_ns) as usize)
    }

    fn speeds(&self, window_ns: u64, windows: usize) -> Vec<Option<f64>> {
        match &self.counters {
            Some((_, khz)) => windows::from_counters(&self.counted, *khz, window_ns, windows),
            None => windows::from_chunks(&self.timed, &self.chunk, window_ns, windows),
        }
    }

    /// Reads the counters, if there are any; the time after that.
    fn count(&mut self, begin: Instant) -> u64 {
        if let Some((counters, _)) = &self.counters
            && let Ok(reading) = counters.read()
        {
            self.counted.push(Counted { at_ns: begin.elapsed().as_nanos() as u64, reading });
        }
        begin.elapsed().as_nanos() as u64
    }

    /// Samples the idle core once per gap.
    fn idle(&mut self, times: &Times) -> Vec<Option<f64>> {
        let begin = Instant::now();
        let samples = (times.idle.as_nanos() / times.gap.as_nanos().max(1)) as u32;
        let mut took = Vec::new();
        (1..=samples)
            .map(|sample| {
                os::sleep_until(begin + times.gap * sample);
                // A late sample would belong to another time.
                let late = begin.elapsed().saturating_sub(times.gap * sample) > times.gap / 2;
                let speed = self.sample(times.probe, &mut took);
                speed.filter(|_| !late)
            })
            .collect()
    }

    fn sample(&self, length: Duration, took: &mut Vec<f64>) -> Option<f64> {
        took.clear();
        let begin = Instant::now();
        let before = self.counters.as_ref().map(|(counters, _)| counters.read());
        let mut now = Duration::ZERO;
        while now < length {
            let started = begin.elapsed();
            self.chunk.run();
            now = begin.elapsed();
            took.push((now - started).as_nanos() as f64);
        }
        match (&self.counters, before) {
            (Some((counters, khz)), Some(Ok(before))) => {
                counters.read().ok()?.ratio_since(&before).map(|ratio| ratio * khz)
            }
            _ => median(took).filter(|&ns| ns > 0.0).map(|ns| self.chunk.speed(ns)),
        }
    }
}
