//! State shared by the threads of one play.

use crate::barrier::Barrier;
use crate::clock::now;
use crate::error::{Error, Place};
use crate::host::thread_limits;
use crate::ledger::Ledger;
use crate::mailbox::Mailbox;
use crate::program::{Program, Step};
use crate::semaphore::{Exit, Semaphore};
use crate::stacks::Stacks;
use crate::thread::{Attributes, play};
use crate::work::Work;
use hearth_trace::Histogram;
use hearth_workload::{ThreadIdx, Timer, Workload};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex, PoisonError};

/// Aligns a value to its own two cache lines, because processors prefetch lines in pairs.
#[derive(Default)]
#[repr(align(128))]
pub struct Apart<T>(pub T);

/// The constant input of a play, shared by all its repetitions.
pub struct Script {
    pub workload: Workload,
    pub programs: Vec<Program>,
    pub attributes: Vec<Attributes>,
    pub work: Work,
}

/// State of one thread of the graph, from before its fork until after its exit.
#[repr(align(128))]
pub struct Slot {
    pub mailbox: Mailbox,
    /// Index of the current step; the number of steps after the end.
    pub position: AtomicU32,
    pub forked: AtomicBool,
    /// Time of the fork, in nanoseconds.
    pub forked_at: AtomicU64,
    pub exit: Exit,
    pub ledger: Mutex<Ledger>,
    start: Start,
}

/// Argument of a new thread.
pub struct Start {
    pub shared: *const Shared,
    pub thread: ThreadIdx,
    /// Number of its stack.
    pub stack: AtomicU32,
}

// SAFETY: `shared` points to the `Shared` that contains this `Start`, and is only read.
unsafe impl Send for Start {}
// SAFETY: as above.
unsafe impl Sync for Start {}

/// Latencies flushed from full thread buffers.
#[derive(Default)]
pub struct Recorders {
    pub wakeup: Mutex<Histogram>,
    pub timer: Mutex<Histogram>,
    pub request: Mutex<Histogram>,
}

/// A timer of the workload, and the beginning of its period in nanoseconds; 0 before its first use.
pub struct PeriodTimer(Timer, AtomicU64);

impl PeriodTimer {
    /// The next expiry, for a thread that began at `began`; `None` if it is past.
    pub fn expiry(&self, began: u64, period: u64) -> Option<u64> {
        let mut expiry = None;
        let _ = self.1.fetch_update(Relaxed, Relaxed, |last| {
            let last = if last == 0 { began } else { last };
            let (until, next) = self.0.advance(last, period, now());
            expiry = until;
            Some(next)
        });
        expiry
    }
}

pub struct Shared {
    pub script: Arc<Script>,
    pub slots: Vec<Slot>,
    pub semaphores: Vec<Apart<Semaphore>>,
    pub barriers: Vec<Apart<Barrier>>,
    pub timers: Vec<PeriodTimer>,
    pub recorders: Recorders,
    /// The cores on which threads were observed.
    pub cores: Cores,
    pub stacks: Stacks,
    /// Time at which the last thread ended, in nanoseconds.
    pub ended: AtomicU64,
    /// Number of threads started but not ended, plus 1 for the player until it has started all roots.
    alive: AtomicU32,
    /// The player's mailbox, woken when `alive` reaches 0.
    pub done: Mailbox,
    /// The first error of the play.
    fault: Mutex<Option<Error>>,
    pub stop: Apart<AtomicBool>,
}

impl Shared {
    pub fn new(script: &Arc<Script>) -> Result<Arc<Self>, Error> {
        let workload = &script.workload;
        let threads = workload.threads.len();
        let stacks = Stacks::new(u32::try_from(threads).unwrap_or(u32::MAX))
            .map_err(|source| Error::Stacks { threads, source })?;
        let queues = Queues::of(&script.programs, workload.semaphores.len());
        Ok(Arc::new_cyclic(|shared| Shared {
            slots: (0..)
                .zip(&script.programs)
                .map(|(thread, program)| Slot {
                    mailbox: Mailbox::default(),
                    position: AtomicU32::new(0),
                    forked: AtomicBool::new(false),
                    forked_at: AtomicU64::new(0),
                    exit: Exit::new(queues.joiners[thread as usize]),
                    ledger: Mutex::new(Ledger::for_program(program)),
                    start: Start { shared: shared.as_ptr(), thread, stack: AtomicU32::new(0) },
                })
                .collect(),
            semaphores: (workload.semaphores.iter().zip(&queues.waiters))
                .map(|(&count, &waiters)| Apart(Semaphore::new(count, waiters)))
                .collect(),
            barriers: workload.barriers.iter().map(|&width| Apart(Barrier::new(width))).collect(),
            timers: workload.timers.iter().map(|&timer| PeriodTimer(timer, AtomicU64::new(0))).collect(),
            recorders: Recorders::default(),
            cores: Cores::default(),
            stacks,
            ended: AtomicU64::new(0),
            alive: AtomicU32::new(1),
            done: Mailbox::default(),
            fault: Mutex::new(None),
            stop: Apart::default(),
            script: Arc::clone(script),
        }))
    }

    /// Starts `thread` as a kernel thread; stops the play on failure. The caller must count as alive.
    pub fn fork(&self, thread: ThreadIdx) {
        let slot = &self.slots[thread as usize];
        self.alive.fetch_add(1, Relaxed);
        slot.forked.store(true, Relaxed);
        slot.forked_at.store(now(), Relaxed);
        let arg = ptr::from_ref(&slot.start).cast_mut().cast();
        // SAFETY: `play` expects a `Start`, which lives as long as `self`. `self` outlives all threads: they are
        // joined, or `Player::play` leaks it.
        if let Err(source) = unsafe { self.stacks.spawn(&slot.start.stack, play, arg) } {
            slot.forked.store(false, Relaxed);
            self.alive.fetch_sub(1, Relaxed);
            self.fail(Error::TooManyThreads {
                place: self.place(thread),
                alive: self.under_way().count(),
                threads: self.slots.len(),
                limits: thread_limits(),
                source,
            });
        }
    }

    /// Counts the calling thread as ended; the last one wakes the player.
    pub fn leave(&self) {
        if self.alive.fetch_sub(1, AcqRel) == 1 {
            self.done.wake();
        }
    }

    /// Number of threads that were started and have not left.
    pub fn alive(&self) -> u32 {
        self.alive.load(Acquire)
    }

    /// The started threads that have steps left, each with the index of its current step.
    pub fn under_way(&self) -> impl Iterator<Item = (ThreadIdx, usize)> {
        (0..).zip(&self.slots).filter_map(|(thread, slot)| {
            let step = slot.position.load(Relaxed) as usize;
            let started = slot.forked.load(Relaxed);
            (started && step < self.script.programs[thread as usize].steps.len()).then_some((thread, step))
        })
    }

    pub fn wake(&self, thread: ThreadIdx) {
        self.slots[thread as usize].mailbox.wake();
    }

    pub fn stopped(&self) -> bool {
        self.stop.0.load(Relaxed)
    }

    /// Makes all threads end as soon as they get a core, by waking each of them.
    pub fn stop(&self) {
        self.stop.0.store(true, Release);
        self.slots.iter().for_each(|slot| slot.mailbox.wake());
    }

    /// Stops the play with an error; keeps only the first error.
    pub fn fail(&self, error: Error) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop();
    }

    pub fn take_fault(&self) -> Option<Error> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub fn place(&self, thread: ThreadIdx) -> Place {
        let name = self.script.workload.threads[thread as usize].name.clone();
        Place { thread, name, step: Vec::new() }
    }
}

/// Upper bounds on queue lengths, so that no queue grows during a play.
struct Queues {
    waiters: Vec<usize>,
    joiners: Vec<usize>,
}

impl Queues {
    fn of(programs: &[Program], semaphores: usize) -> Self {
        let mut queues = Queues { waiters: vec![0; semaphores], joiners: vec![0; programs.len()] };
        let mut last_waiter = vec![usize::MAX; semaphores];
        for (thread, program) in programs.iter().enumerate() {
            for step in &program.steps {
                match *step {
                    Step::Wait { sem, .. } if last_waiter[sem as usize] != thread => {
                        last_waiter[sem as usize] = thread;
                        queues.waiters[sem as usize] += 1;
                    }
                    Step::Join(child) => queues.joiners[child as usize] += 1,
                    _ => {}
                }
            }
        }
        queues
    }
}

/// A set of cores. Core numbers are taken modulo 1024.
#[derive(Default)]
pub struct Cores([AtomicU64; 16]);

impl Cores {
    pub fn insert(&self, core: usize) {
        let word = &self.0[core / 64 % 16];
        let bit = 1 << (core % 64);
        if word.load(Relaxed) & bit == 0 {
            word.fetch_or(bit, Relaxed);
        }
    }

    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.load(Relaxed).count_ones()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_counted_once() {
        let cores = Cores::default();
        [0, 63, 64, 0, 1023, 64].into_iter().for_each(|core| cores.insert(core));
        assert_eq!(cores.count(), 4);
    }
}
