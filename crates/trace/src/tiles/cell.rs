//! What a tile says of one core in one bin of time, exactly, before it is rounded.

use crate::event::{IDLE, Tid, Time};

/// A stretch of time in which a core ran one thread.
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

/// Sums, maxima and counts over a piece of time. Two pieces that follow each other make one cell
/// by [`Cell::append`]: this is how a coarser level comes from a finer one, without rounding.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cell {
    /// Nanoseconds in which any thread ran; a traced one; any, with a known frequency.
    pub busy: Time,
    pub traced: Time,
    pub known: Time,
    /// Integral of the frequency over `known`, in kHz·ns.
    pub khz: u128,
    pub overload: Time,
    pub inverted: Time,
    pub spin: Time,
    pub queue: u32,
    /// A traced thread ran here, be it for no time at all.
    pub used: bool,
    pub sets: u8,
    /// 1 + the last placement's reason, when the piece ends.
    pub reason: u8,
    pub wakeups: u32,
    pub migrations: u32,
    pub forks: u32,
    pub(super) first: Run,
    pub(super) last: Run,
    pub(super) longest: Run,
}

impl Cell {
    /// The core ran `thread` from `from` to `to`: after all that was said before.
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
        // The first of equally long stretches stays.
        if self.last.length() > self.longest.length() {
            self.longest = self.last;
        }
    }

    /// The thread of the longest stretch.
    pub fn thread(&self) -> Tid {
        self.longest.thread
    }

    /// Takes up `next`, the piece that follows.
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

    /// Mean frequency in MHz over the time for which it is known; 0: for none.
    pub fn mhz(&self) -> u16 {
        match self.known {
            0 => 0,
            ns => ((self.khz / u128::from(ns) + 500) / 1000).clamp(1, u128::from(u16::MAX)) as u16,
        }
    }
}

/// `ns` of `width` as a byte: 255 is all of it. What is not nothing is not shown as nothing.
pub fn part(ns: Time, width: Time) -> u8 {
    match ns {
        0 => 0,
        _ => ((u128::from(ns) * 255 + u128::from(width / 2)) / u128::from(width)).clamp(1, 255) as u8,
    }
}
