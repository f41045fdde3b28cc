//! The agenda: future events in order of time, ties in order of entry.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is due. Entries are never removed: one that no longer holds carries an old generation
/// number and is skipped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Due {
    /// An idle core has been woken and schedules.
    Dispatch {
        core: u32,
    },
    /// The current thread of the core has executed its cycles.
    Done {
        core: u32,
        generation: u32,
    },
    Tick {
        core: u32,
    },
    /// The core was told to preempt its current thread.
    Resched {
        core: u32,
    },
    /// A sleep or an I/O of the thread is over.
    Wake {
        thread: u32,
    },
    /// The policy's one-shot timer of the thread.
    Timer {
        thread: u32,
        generation: u32,
    },
    /// The idle loop has spun long enough.
    SpinEnd {
        core: u32,
        generation: u32,
    },
}

#[derive(Default)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<(u64, u64, Due)>>,
    entered: u64,
}

impl Agenda {
    pub fn at(&mut self, time: u64, due: Due) {
        self.entered += 1;
        self.heap.push(Reverse((time, self.entered, due)));
    }

    pub fn next_time(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((time, ..))| *time)
    }

    pub fn pop(&mut self) -> Option<(u64, Due)> {
        self.heap.pop().map(|Reverse((time, _, due))| (time, due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_keep_the_order_of_entry() {
        let mut agenda = Agenda::default();
        agenda.at(5, Due::Tick { core: 9 });
        agenda.at(3, Due::Wake { thread: 2 });
        agenda.at(5, Due::Dispatch { core: 1 });
        let order: Vec<_> = std::iter::from_fn(|| agenda.pop()).collect();
        assert_eq!(
            order,
            [(3, Due::Wake { thread: 2 }), (5, Due::Tick { core: 9 }), (5, Due::Dispatch { core: 1 })]
        );
    }
}
