//! FIFO counting semaphores; each post releases exactly one waiter.

use hearth_workload::ThreadIdx;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// A FIFO semaphore that queues thread numbers; [`Mailbox`](crate::mailbox::Mailbox) blocks and wakes the threads.
///
/// The lock is held for tens of nanoseconds, never across a system call.
pub struct Semaphore(Mutex<State>);

struct State {
    count: u64,
    waiters: VecDeque<ThreadIdx>,
}

impl Semaphore {
    /// A semaphore with capacity for `waiters` waiters, so that waiting does not allocate.
    pub fn new(count: u32, waiters: usize) -> Self {
        Semaphore(Mutex::new(State { count: count.into(), waiters: VecDeque::with_capacity(waiters) }))
    }

    /// Increments the count, or dequeues the longest waiter, which the caller must then wake.
    pub fn post(&self) -> Option<ThreadIdx> {
        let mut state = self.lock();
        let waiter = state.waiters.pop_front();
        if waiter.is_none() {
            state.count += 1;
        }
        waiter
    }

    /// Decrements the count. If it is 0, enqueues `thread` and returns false: the thread must wait for its wake-up.
    pub fn take(&self, thread: ThreadIdx) -> bool {
        let mut state = self.lock();
        let there = state.count > 0;
        match there {
            true => state.count -= 1,
            false => state.waiters.push_back(thread),
        }
        there
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The exit of a thread and the queue of threads that join it.
pub struct Exit(Mutex<(bool, VecDeque<ThreadIdx>)>);

impl Exit {
    pub fn new(joiners: usize) -> Self {
        Exit(Mutex::new((false, VecDeque::with_capacity(joiners))))
    }

    /// Returns whether the thread has ended. If not, enqueues `thread`, which must wait for its wake-up.
    pub fn has_come(&self, thread: ThreadIdx) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.0 {
            state.1.push_back(thread);
        }
        state.0
    }

    /// Marks the thread as ended and dequeues the next joiner, which the caller must wake.
    pub fn come(&self) -> Option<ThreadIdx> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 = true;
        state.1.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::Mailbox;
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

    #[test]
    fn served_in_order() {
        let semaphore = Semaphore::new(1, 3);
        assert!(semaphore.take(0));
        assert!(!semaphore.take(1) && !semaphore.take(2) && !semaphore.take(3));
        assert_eq!(semaphore.post(), Some(1));
        assert!(!semaphore.take(1), "a thread that waits again is last in the queue");
        assert_eq!([semaphore.post(), semaphore.post(), semaphore.post()], [Some(2), Some(3), Some(1)]);
        assert_eq!(semaphore.post(), None);
        assert!(semaphore.take(5));
    }

    #[test]
    fn all_that_join_are_told() {
        let exit = Exit::new(1);
        assert!(!exit.has_come(3) && !exit.has_come(4));
        assert_eq!([exit.come(), exit.come(), exit.come()], [Some(3), Some(4), None]);
        assert!(exit.has_come(5));
    }

    /// As a lock between more threads than cores: mutual exclusion, and no lost wake-ups.
    #[test]
    fn mutual_exclusion() {
        const THREADS: u32 = 16;
        const ROUNDS: u64 = 500;
        let mailboxes: Vec<Mailbox> = (0..THREADS).map(|_| Mailbox::default()).collect();
        let semaphore = Semaphore::new(1, THREADS as usize);
        let (inside, total) = (AtomicU32::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for me in 0..THREADS {
                let (mailboxes, semaphore, inside, total) = (&mailboxes, &semaphore, &inside, &total);
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        if !semaphore.take(me) {
                            mailboxes[me as usize].wait();
                        }
                        assert_eq!(inside.fetch_add(1, Relaxed), 0);
                        if round % 16 == 0 {
                            std::thread::yield_now();
                        }
                        // Deliberately not atomic: only the semaphore protects it.
                        total.store(total.load(Relaxed) + 1, Relaxed);
                        inside.fetch_sub(1, Relaxed);
                        if let Some(next) = semaphore.post() {
                            mailboxes[next as usize].wake();
                        }
                    }
                });
            }
        });
        assert_eq!(total.into_inner(), u64::from(THREADS) * ROUNDS);
        assert!(semaphore.take(0), "the last post is still counted");
    }
}
