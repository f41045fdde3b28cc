//! Exact values of one core in one bin, before rounding.

use crate::event::{IDLE, Tid, Time};

/// A period in which a core ran one thread without interruption.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Run {
    pub thread: Tid,
    pub from: Time,
    pub to: Time,
}

impl Run {
    fn length(&self) -> Time {
        self.to - self.from
    }
}

/// Sums, maxima and counts over a period. [`Cell::append`] combines two consecutive periods
/// exactly, which is how coarser levels are derived from finer ones.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cell {
    /// Nanoseconds in which the core ran any thread, a traced thread, and any thread at a known
    /// frequency.
    pub busy: Time,
    pub traced: Time,
    pub known: Time,
    /// Integral of the frequency over `known`, in kHz·ns.
    pub khz: u128,
    pub overload: Time,
    pub inverted: Time,
    pub spin: Time,
    pub queue: u32,
    /// True if a traced thread ran here, even for zero time.
    pub used: bool,
    pub sets: u8,
    /// Reason of the last placement at the end of the period, plus 1.
    pub reason: u8,
    pub wakeups: u32,
    pub migrations: u32,
    pub forks: u32,
    pub(super) first: Run,
    pub(super) last: Run,
    pub(super) longest: Run,
}

impl Cell {
    /// Adds a run. Runs must be added in order of time.
    pub fn run(&mut self, run: Run) {
        if run.thread == IDLE || run.length() == 0 {
            return;
        }
        let first = self.last.thread == IDLE;
        let continues = self.last.thread == run.thread && self.last.to == run.from;
        let only = self.first == self.last;
        self.last = if continues { Run { to: run.to, ..self.last } } else { run };
        if first || (continues && only) {
            self.first = self.last;
        }
        // Of equally long runs, the first one stays.
        if self.last.length() > self.longest.length() {
            self.longest = self.last;
        }
    }

    /// Thread of the longest run.
    pub fn thread(&self) -> Tid {
        self.longest.thread
    }

    /// Extends the cell by the period that follows it.
    pub fn append(&mut self, next: &Cell) {
        self.busy += next.busy;
        self.traced += next.traced;
        self.known += next.known;
        self.khz += next.khz;
        self.overload += next.overload;
        self.inverted += next.inverted;
        self.spin += next.spin;
        self.queue = self.queue.max(next.queue);
        self.used |= next.used;
        self.sets |= next.sets;
        self.reason = next.reason;
        self.wakeups = self.wakeups.saturating_add(next.wakeups);
        self.migrations = self.migrations.saturating_add(next.migrations);
        self.forks = self.forks.saturating_add(next.forks);
        self.run(next.first);
        if next.longest.length() > self.longest.length() {
            self.longest = next.longest;
        }
        if next.last != next.first {
            self.last = next.last;
        }
    }

    /// Mean frequency in MHz over the time with known frequency; 0 if there is none.
    pub fn mhz(&self) -> u16 {
        match self.known {
            0 => 0,
            ns => ((self.khz / u128::from(ns) + 500) / 1000).clamp(1, u128::from(u16::MAX)) as u16,
        }
    }
}

/// `ns` as a fraction of `width`, scaled to 0..=255. Only 0 maps to 0.
pub fn part(ns: Time, width: Time) -> u8 {
    match ns {
        0 => 0,
        _ => ((u128::from(ns) * 255 + u128::from(width / 2)) / u128::from(width)).clamp(1, 255) as u8,
    }
}
