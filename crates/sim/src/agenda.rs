//! The event queue: future events by time, and among equal times by insertion.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// A future event. A cancelled one has an old generation number and is skipped, or dropped when there are many
/// ([`Agenda::retain`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Due {
    /// A woken idle core calls `schedule`.
    Dispatch {
        core: u32,
    },
    /// The current thread of the core completes its `Run` step.
    RunEnd {
        core: u32,
        generation: u32,
    },
    Tick {
        core: u32,
    },
    /// The core preempts its current thread, as the policy requested.
    Resched {
        core: u32,
    },
    /// A sleep or an I/O of the thread ends.
    Wake {
        thread: u32,
    },
    /// The core has searched a core for the thread.
    Placed {
        core: u32,
        thread: u32,
    },
    /// The policy's one-shot timer for the thread fires.
    Timer {
        thread: u32,
        generation: u32,
    },
    /// The idle loop stops spinning.
    SpinEnd {
        core: u32,
        generation: u32,
    },
}

/// An event with its time and the number of its insertion in one key, because one comparison of 128 bits is faster
/// than a comparison of two numbers in turn.
struct Entry {
    key: u128,
    due: Due,
}

impl Entry {
    fn time(&self) -> u64 {
        (self.key >> 64) as u64
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}

/// The entry with the smallest key is the greatest, because [`BinaryHeap`] has its greatest element on top.
impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Default)]
pub struct Agenda {
    /// All but the ticks.
    heap: BinaryHeap<Entry>,
    /// The ticks in order. Most are a period later than all others, so that a heap would only cost time.
    ticks: VecDeque<Entry>,
    insertions: u64,
}

impl Agenda {
    pub fn at(&mut self, time: u64, due: Due) {
        self.insertions += 1;
        let key = u128::from(time) << 64 | u128::from(self.insertions);
        let entry = Entry { key, due };
        match due {
            Due::Tick { .. } if self.ticks.back().is_none_or(|last| last.key < key) => {
                self.ticks.push_back(entry)
            }
            Due::Tick { .. } => {
                let place = self.ticks.partition_point(|other| other.key < key);
                self.ticks.insert(place, entry);
            }
            _ => self.heap.push(entry),
        }
    }

    /// Whether the next event is a tick.
    fn ticks_first(&self) -> bool {
        match (self.ticks.front(), self.heap.peek()) {
            (Some(tick), Some(other)) => tick.key < other.key,
            (tick, _) => tick.is_some(),
        }
    }

    pub fn next_time(&self) -> Option<u64> {
        let next = if self.ticks_first() { self.ticks.front() } else { self.heap.peek() };
        next.map(Entry::time)
    }

    /// Number of events but the ticks.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Keeps these events, and all ticks.
    pub fn retain(&mut self, keep: impl Fn(Due) -> bool) {
        self.heap.retain(|entry| keep(entry.due));
    }

    pub fn pop(&mut self) -> Option<(u64, Due)> {
        let next = if self.ticks_first() { self.ticks.pop_front() } else { self.heap.pop() };
        next.map(|entry| (entry.time(), entry.due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_keep_the_order_of_insertion() {
        let mut agenda = Agenda::default();
        agenda.at(5, Due::Tick { core: 9 });
        agenda.at(3, Due::Wake { thread: 2 });
        agenda.at(5, Due::Dispatch { core: 1 });
        agenda.at(4, Due::Tick { core: 8 });
        agenda.at(5, Due::Tick { core: 7 });
        let order: Vec<_> = std::iter::from_fn(|| agenda.pop()).collect();
        assert_eq!(
            order,
            [
                (3, Due::Wake { thread: 2 }),
                (4, Due::Tick { core: 8 }),
                (5, Due::Tick { core: 9 }),
                (5, Due::Dispatch { core: 1 }),
                (5, Due::Tick { core: 7 }),
            ]
        );
    }
}
