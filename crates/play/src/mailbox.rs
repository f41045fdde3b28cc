//! How one thread lets another go on: a futex for each thread.
//!
//! A thread waits for one thing at a time, so one mailbox each is enough for semaphores, joins, barriers and
//! delays. Whoever lets it go on has first taken it out of some queue; it is let go on once, and by one.

use crate::clock::{now, thread_cpu, timespec};
use rustix::thread::futex;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// The owner is awake, and nothing has come yet.
const EMPTY: u32 = 0;
/// The owner is in the kernel, or about to be: it must be woken.
const ASLEEP: u32 = 1;
/// The owner may go on.
const FULL: u32 = 2;

const ANY: NonZeroU32 = NonZeroU32::MAX;

#[derive(Default)]
pub struct Mailbox {
    word: AtomicU32,
    /// When the owner was let go on.
    stamp: AtomicU64,
}

impl Mailbox {
    /// Lets the owner go on; if it sleeps, the calling thread wakes it.
    pub fn wake(&self) {
        self.stamp.store(now(), Relaxed);
        if self.word.swap(FULL, AcqRel) == ASLEEP {
            // There is no error that could be helped: the address is valid, and private to this process.
            let _ = futex::wake(&self.word, futex::Flags::PRIVATE, 1);
        }
    }

    /// Waits until the owner, which calls, is let go on. If it had to sleep: since when it might go on.
    pub fn wait(&self) -> Option<u64> {
        let slept = self.sleep_until(u64::MAX)?;
        self.empty();
        slept.then(|| self.stamp.load(Relaxed))
    }

    /// Waits until the owner, which calls, is let go on, or that time comes. True: it was let go on.
    pub fn wait_until(&self, deadline: u64) -> bool {
        let come = self.sleep_until(deadline).is_some();
        if come {
            self.empty();
        }
        come
    }

    /// As [`wait`](Self::wait), but executes for up to `ns` of CPU time before it sleeps.
    pub fn spin_then_wait(&self, ns: u64) -> Option<u64> {
        let start = thread_cpu();
        while self.word.load(Acquire) != FULL && thread_cpu() - start < ns {
            for _ in 0..POLLS {
                std::hint::spin_loop();
                if self.word.load(Acquire) == FULL {
                    break;
                }
            }
        }
        self.wait()
    }

    /// Whether it slept, if it was let go on before the deadline.
    fn sleep_until(&self, deadline: u64) -> Option<bool> {
        let deadline = (deadline != u64::MAX).then(|| timespec(deadline));
        let mut slept = false;
        if self.word.compare_exchange(EMPTY, ASLEEP, AcqRel, Acquire).is_err() {
            return Some(slept);
        }
        loop {
            // Returns early for signals, and for a wake-up that was meant for an earlier wait.
            let result =
                futex::wait_bitset(&self.word, futex::Flags::PRIVATE, ASLEEP, deadline.as_ref(), ANY);
            if self.word.load(Acquire) == FULL {
                return Some(slept || result.is_ok());
            }
            if result == Err(rustix::io::Errno::TIMEDOUT) {
                match self.word.compare_exchange(ASLEEP, EMPTY, AcqRel, Acquire) {
                    Ok(_) => return None,
                    Err(_) => return Some(slept),
                }
            }
            slept |= result.is_ok();
        }
    }

    /// By the owner. Whoever fills it after this is seen by the next wait; whoever did before is seen now,
    /// with all that he wrote.
    fn empty(&self) {
        self.word.swap(EMPTY, AcqRel);
    }
}

/// Looks at the mailbox between two at the clock, which is a system call.
const POLLS: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_before_needs_no_sleep() {
        let mailbox = Mailbox::default();
        mailbox.wake();
        assert_eq!(mailbox.wait(), None);
        mailbox.wake();
        assert!(mailbox.wait_until(0));
        mailbox.wake();
        assert_eq!(mailbox.spin_then_wait(u64::MAX), None);
        // And it is empty again.
        assert!(!mailbox.wait_until(now() + 1_000_000));
        assert!(!mailbox.wait_until(0));
    }

    #[test]
    fn nobody_is_missed() {
        let (ping, pong) = (Mailbox::default(), Mailbox::default());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..5_000u64 {
                    let stamp = if round % 2 == 0 { ping.wait() } else { ping.spin_then_wait(2_000) };
                    assert!(stamp.is_none_or(|stamp| stamp <= now()));
                    pong.wake();
                }
            });
            for _ in 0..5_000 {
                ping.wake();
                pong.wait();
            }
        });
    }
}
