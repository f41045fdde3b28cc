//! Numbers of threads and processes in an export to Perfetto: those of the kernel, where they are unique.
//!
//! A thread whose number is unknown, or whose number another one had before it, gets [`ABOVE`] plus its number in the
//! trace. If no number is known, as in a simulated trace, threads keep those of the trace.

use hearth_trace::{Header, IDLE, Kind, Tid, Waker};
use std::collections::HashMap;

/// `PID_MAX_LIMIT` of Linux: it gives no thread this number or a higher one.
pub const ABOVE: u32 = 4 << 20;

#[derive(Default)]
pub struct Numbers {
    /// False if threads keep the numbers of the trace.
    known: bool,
    of: HashMap<Tid, u32>,
    threads: HashMap<u32, Tid>,
}

impl Numbers {
    pub fn new(header: &Header) -> Self {
        let mut numbers = Numbers::default();
        for thread in &header.threads {
            let Some(number) = thread.kernel_tid.filter(|number| (1..ABOVE).contains(number)) else {
                continue;
            };
            numbers.known = true;
            if !numbers.threads.contains_key(&number) && !numbers.of.contains_key(&thread.tid) {
                numbers.threads.insert(number, thread.tid);
                numbers.of.insert(thread.tid, number);
            }
        }
        numbers
    }

    /// The number of a thread in the export.
    pub fn of(&self, thread: Tid) -> u32 {
        match self.of.get(&thread) {
            Some(number) => *number,
            None if self.known && thread != IDLE => thread.wrapping_add(ABOVE),
            None => thread,
        }
    }

    /// Inverse of [`of`](Self::of).
    pub fn thread(&self, number: u32) -> Tid {
        match self.threads.get(&number) {
            Some(thread) => *thread,
            None if self.known && number != 0 => number.wrapping_sub(ABOVE),
            None => number,
        }
    }
}

/// The event with other numbers of its threads.
pub fn renumbered(kind: Kind, number: impl Fn(Tid) -> Tid) -> Kind {
    match kind {
        Kind::Switch { prev, stop, next } => Kind::Switch { prev: number(prev), stop, next: number(next) },
        Kind::Wakeup { thread, waker, target, sync } => {
            let waker = match waker {
                Waker::Thread(waker) => Waker::Thread(number(waker)),
                Waker::Interrupt => waker,
            };
            Kind::Wakeup { thread: number(thread), waker, target, sync }
        }
        Kind::Fork { parent, child, target } => {
            Kind::Fork { parent: number(parent), child: number(child), target }
        }
        Kind::Exec { thread, name } => Kind::Exec { thread: number(thread), name },
        Kind::Exit { thread } => Kind::Exit { thread: number(thread) },
        Kind::Wait { thread } => Kind::Wait { thread: number(thread) },
        Kind::Migrate { thread, from, to } => Kind::Migrate { thread: number(thread), from, to },
        Kind::Place { thread, target, reason, seen_khz } => {
            Kind::Place { thread: number(thread), target, reason, seen_khz }
        }
        Kind::Frequency { .. }
        | Kind::Tick { .. }
        | Kind::Idle { .. }
        | Kind::Spin { .. }
        | Kind::Queue { .. }
        | Kind::Set { .. } => kind,
    }
}
