//! Priority queue of the next frequency change of each core.

/// Heap position of a slot that is not queued.
const ABSENT: u32 = u32::MAX;

/// Indexed binary heap over a fixed set of slots, each queued at most once.
///
/// Rescheduling moves the existing entry instead of adding one (no lazy deletion), so `earliest` is
/// exact and memory stays constant. Entries due at the same time are popped in order of slot
/// number, which keeps the model deterministic.
#[derive(Debug, Clone)]
pub(super) struct Due {
    /// (time, slot), heap-ordered.
    heap: Vec<(u64, u32)>,
    /// Position of each slot in `heap`, or `ABSENT`.
    place: Vec<u32>,
}

impl Due {
    pub fn new(slots: usize) -> Due {
        Due { heap: Vec::with_capacity(slots), place: vec![ABSENT; slots] }
    }

    /// Time of the earliest entry; `u64::MAX` if there is none.
    pub fn earliest(&self) -> u64 {
        self.heap.first().map_or(u64::MAX, |&(at, _)| at)
    }

    /// Time of a slot's entry.
    #[cfg(test)]
    pub fn at(&self, slot: usize) -> Option<u64> {
        let place = self.place[slot];
        (place != ABSENT).then(|| self.heap[place as usize].0)
    }

    /// Queues `slot` at time `at`, replacing its previous entry.
    pub fn set(&mut self, slot: usize, at: u64) {
        let entry = (at, slot as u32);
        match self.place[slot] {
            ABSENT => {
                self.heap.push(entry);
                self.rise(self.heap.len() - 1);
            }
            place => {
                let place = place as usize;
                let later = entry > self.heap[place];
                self.heap[place] = entry;
                if later {
                    self.sink(place);
                } else {
                    self.rise(place);
                }
            }
        }
    }

    /// Removes `slot` from the queue if it is queued.
    pub fn cancel(&mut self, slot: usize) {
        let place = self.place[slot];
        if place == ABSENT {
            return;
        }
        self.place[slot] = ABSENT;
        let place = place as usize;
        // The last entry fills the hole; it may have to move up or down.
        let Some(last) = self.heap.pop() else { return };
        if place < self.heap.len() {
            self.heap[place] = last;
            self.place[last.1 as usize] = place as u32;
            self.rise(place);
            self.sink(self.place[last.1 as usize] as usize);
        }
    }

    /// Removes and returns the earliest entry if it is due at or before `now`.
    pub fn pop(&mut self, now: u64) -> Option<(u64, usize)> {
        let &(at, slot) = self.heap.first()?;
        if at > now {
            return None;
        }
        self.cancel(slot as usize);
        Some((at, slot as usize))
    }

    fn rise(&mut self, mut place: usize) {
        let entry = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.heap[parent] <= entry {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    fn sink(&mut self, mut place: usize) {
        let entry = self.heap[place];
        loop {
            let left = 2 * place + 1;
            let Some(&first) = self.heap.get(left) else { break };
            let (child, least) = match self.heap.get(left + 1) {
                Some(&second) if second < first => (left + 1, second),
                _ => (left, first),
            };
            if entry <= least {
                break;
            }
            self.put(place, least);
            place = child;
        }
        self.put(place, entry);
    }

    fn put(&mut self, place: usize, entry: (u64, u32)) {
        self.heap[place] = entry;
        self.place[entry.1 as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Compares the heap with a `BTreeMap` from slot to time.
        #[test]
        fn behaves_like_a_map(steps in prop::collection::vec((0usize..16, 0u64..40, 0u8..4), 1..200)) {
            let mut due = Due::new(16);
            let mut map: BTreeMap<usize, u64> = BTreeMap::new();
            for (slot, at, what) in steps {
                match what {
                    0 => {
                        due.cancel(slot);
                        map.remove(&slot);
                    }
                    1 => {
                        let first = map.iter().map(|(&s, &t)| (t, s)).min().filter(|&(t, _)| t <= at);
                        prop_assert_eq!(due.pop(at), first);
                        if let Some((_, s)) = first {
                            map.remove(&s);
                        }
                    }
                    _ => {
                        due.set(slot, at);
                        map.insert(slot, at);
                    }
                }
                prop_assert_eq!(due.earliest(), map.values().copied().min().unwrap_or(u64::MAX));
                prop_assert_eq!(due.at(slot), map.get(&slot).copied());
            }
        }
    }
}
