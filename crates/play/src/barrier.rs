//! Barriers.

use hearth_workload::ThreadIdx;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub struct Barrier {
    /// Number of arrivals that opens the barrier.
    width: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: Vec<ThreadIdx>,
    /// Empty lists for reuse, so that `arrive` does not allocate.
    spare: Vec<Vec<ThreadIdx>>,
}

impl Barrier {
    pub fn new(width: u32) -> Self {
        let width = width as usize;
        let list = || Vec::with_capacity(width);
        Barrier { width, state: Mutex::new(State { waiting: list(), spare: vec![list()] }) }
    }

    /// Registers the arrival of `thread`. `None`: the thread must wait for its wake-up. `Some`: it is the last
    /// arrival and must wake the listed threads, then [return the list](Self::give_back).
    pub fn arrive(&self, thread: ThreadIdx) -> Option<Vec<ThreadIdx>> {
        let mut state = self.lock();
        if state.waiting.len() + 1 < self.width {
            state.waiting.push(thread);
            return None;
        }
        let empty = state.spare.pop().unwrap_or_default();
        Some(std::mem::replace(&mut state.waiting, empty))
    }

    pub fn give_back(&self, mut list: Vec<ThreadIdx>) {
        list.clear();
        self.lock().spare.push(list);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_opens() {
        let barrier = Barrier::new(3);
        for round in 0..3 {
            assert_eq!(barrier.arrive(1), None);
            assert_eq!(barrier.arrive(2), None);
            let list = barrier.arrive(round).expect("the third opens");
            assert_eq!(list, [1, 2]);
            // The next round may begin before the list comes back.
            if round < 2 {
                barrier.give_back(list);
            }
        }
    }

    #[test]
    fn a_barrier_for_one_is_always_open() {
        let barrier = Barrier::new(1);
        assert_eq!(barrier.arrive(0), Some(vec![]));
    }
}
