//! Blocking and waking: one futex per thread.
//!
//! A thread waits for one thing at a time, so one mailbox per thread serves semaphores, joins, barriers and
//! delays. The waker first takes the thread out of a queue, so each wait gets exactly one wake-up.

use crate::clock::{now, thread_cpu, timespec};
use rustix::thread::futex;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// The owner is awake and no wake-up is pending.
const EMPTY: u32 = 0;
/// The owner sleeps in the kernel, or is about to: the waker must call `futex_wake`.
const ASLEEP: u32 = 1;
/// A wake-up is pending: the owner may proceed.
const FULL: u32 = 2;

const ANY: NonZeroU32 = NonZeroU32::MAX;

#[derive(Default)]
pub struct Mailbox {
    word: AtomicU32,
    /// Time of the last wake-up, in nanoseconds.
    stamp: AtomicU64,
}

impl Mailbox {
    /// Makes a wake-up pending and wakes the owner if it sleeps.
    pub fn wake(&self) {
        self.stamp.store(now(), Relaxed);
        if self.word.swap(FULL, AcqRel) == ASLEEP {
            // Cannot fail: the address is valid and private to this process.
            let _ = futex::wake(&self.word, futex::Flags::PRIVATE, 1);
        }
    }

    /// Waits for a wake-up. Only the owner calls this. Returns the time of the wake-up if the owner slept.
    pub fn wait(&self) -> Option<u64> {
        let slept = self.sleep_until(u64::MAX)?;
        self.empty();
        slept.then(|| self.stamp.load(Relaxed))
    }

    /// Waits for a wake-up until `deadline`. Only the owner calls this. Returns false on timeout.
    pub fn wait_until(&self, deadline: u64) -> bool {
        let come = self.sleep_until(deadline).is_some();
        if come {
            self.empty();
        }
        come
    }

    /// Like [`wait`](Self::wait), but spins for up to `ns` of CPU time before it sleeps.
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

    /// Waits for a wake-up until `deadline`. `None` on timeout; otherwise whether the owner slept.
    fn sleep_until(&self, deadline: u64) -> Option<bool> {
        let deadline = (deadline != u64::MAX).then(|| timespec(deadline));
        let mut slept = false;
        if self.word.compare_exchange(EMPTY, ASLEEP, AcqRel, Acquire).is_err() {
            return Some(slept);
        }
        loop {
            // Returns early on a signal and on a wake-up meant for an earlier wait.
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

    /// Consumes the wake-up. Only the owner calls this. Acquires the writes of a waker that came before; the
    /// next wait sees a waker that comes later.
    fn empty(&self) {
        self.word.swap(EMPTY, AcqRel);
    }
}

/// Polls of the mailbox per reading of the CPU clock, which is a system call.
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
