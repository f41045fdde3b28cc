//! Execution of a thread's steps.

use crate::clock::{now, thread_cpu};
use crate::error::Error;
use crate::ledger::{Ledger, Usage};
use crate::program::{LEVELS, Name, Program, Step};
use crate::shared::{Shared, Slot, Start};
use crate::work::Burner;
use hearth_workload::ThreadIdx;
use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity, sched_yield, set_name};
use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

/// Attributes that a thread must set because they differ from its parent's.
#[derive(Default)]
pub struct Attributes {
    pub nice: Option<i32>,
    pub affinity: Option<Box<CpuSet>>,
}

/// Executes a thread of the graph; entry point of the kernel thread. `start` is its [`Start`].
pub extern "C" fn play(start: *mut c_void) -> *mut c_void {
    let began = now();
    // SAFETY: `Shared::fork` passes a `Start` inside the `Shared` that it points to. Both are valid until
    // this thread has been joined.
    let (start, shared) = unsafe {
        let start = &*start.cast::<Start>();
        (start, &*start.shared)
    };
    Played::new(shared, start.thread).run(began);
    shared.stacks.retire(start.stack.load(Relaxed));
    shared.leave();
    ptr::null_mut()
}

struct Played<'a> {
    shared: &'a Shared,
    me: ThreadIdx,
    slot: &'a Slot,
    program: &'a Program,
    ledger: Ledger,
    burner: Burner,
    /// The core last observed.
    core: usize,
    /// Time of the last request, in nanoseconds.
    asked: u64,
}

impl<'a> Played<'a> {
    fn new(shared: &'a Shared, me: ThreadIdx) -> Self {
        let slot = &shared.slots[me as usize];
        let ledger = std::mem::take(&mut *slot.ledger.lock().unwrap_or_else(PoisonError::into_inner));
        let program = &shared.script.programs[me as usize];
        Played { shared, me, slot, program, ledger, burner: Burner::default(), core: 0, asked: 0 }
    }

    fn run(mut self, began: u64) {
        self.ledger.fork = Some(began.saturating_sub(self.slot.forked_at.load(Relaxed)));
        self.ledger.counts.threads = 1;
        rename(&self.program.name);
        self.take_attributes();
        self.core = sched_getcpu();
        self.shared.cores.insert(self.core);
        self.steps();
        self.end();
    }

    fn take_attributes(&self) {
        let attributes = &self.shared.script.attributes[self.me as usize];
        let place = || self.shared.place(self.me);
        if let Some(affinity) = &attributes.affinity
            && let Err(error) = sched_setaffinity(None, affinity)
        {
            self.shared.fail(Error::SetAffinity { place: place(), source: error.into() });
        }
        // On Linux this affects the calling thread only, contrary to POSIX.
        if let Some(nice) = attributes.nice
            && let Err(error) = setpriority_process(None, nice)
        {
            self.shared.fail(Error::Nice { place: place(), nice, source: error.into() });
        }
    }

    /// Executes the steps until their end or until the play is stopped.
    fn steps(&mut self) {
        let mut next = 0;
        // Remaining rounds of each active repeat, by nesting level.
        let mut again = [0; LEVELS];
        let mut level = 0;
        while let Some(step) = self.program.steps.get(next) {
            self.slot.position.store(next as u32, Relaxed);
            next += 1;
            match *step {
                Step::Repeat(count) => {
                    again[level] = count - 1;
                    level += 1;
                }
                Step::Again(start) if again[level - 1] > 0 => {
                    again[level - 1] -= 1;
                    next = start as usize + 1;
                }
                Step::Again(_) => level -= 1,
                step => self.step(step),
            }
            if self.shared.stopped() {
                return;
            }
        }
        self.slot.position.store(next as u32, Relaxed);
    }

    fn step(&mut self, step: Step) {
        let shared = self.shared;
        match step {
            Step::Run { cycles } => {
                self.burner.burn(&shared.script.work, cycles, &shared.stop.0);
                self.look_around();
                self.ledger.counts.runs += 1;
                self.ledger.counts.cycles += cycles;
            }
            Step::Fork(child) => {
                shared.fork(child);
                self.ledger.counts.forks += 1;
            }
            Step::Join(child) => {
                if !shared.slots[child as usize].exit.has_come(self.me) {
                    self.wait(0);
                }
                self.ledger.counts.joins += 1;
            }
            Step::Sleep(ns) => {
                self.delay(ns);
                self.ledger.counts.sleeps += 1;
            }
            Step::Io(ns) => {
                self.delay(ns);
                self.ledger.counts.ios += 1;
            }
            Step::Timer(timer, period) => {
                if let Some(expiry) =
                    shared.timers[timer as usize].expiry(self.slot.forked_at.load(Relaxed), period)
                {
                    self.delay_until(expiry);
                }
                self.ledger.counts.sleeps += 1;
            }
            Step::Post { sem, asks } => {
                if asks {
                    self.asked = now();
                }
                if let Some(waiter) = shared.semaphores[sem as usize].0.post() {
                    shared.wake(waiter);
                }
                self.ledger.counts.posts += 1;
            }
            Step::Wait { sem, answers } => {
                if !shared.semaphores[sem as usize].0.take(self.me) {
                    self.wait(shared.script.workload.wait_spin);
                }
                if answers {
                    self.ledger.request.record(now() - self.asked, &shared.recorders.request);
                }
                self.ledger.counts.waits += 1;
            }
            Step::Barrier(barrier) => {
                self.barrier(barrier as usize);
                self.ledger.counts.barriers += 1;
            }
            Step::Yield => {
                sched_yield();
                self.look_around();
                self.ledger.counts.yields += 1;
            }
            Step::Exec(name) => {
                rename(&self.program.names[name as usize]);
                self.ledger.counts.execs += 1;
            }
            Step::Repeat(_) | Step::Again(_) => {}
        }
    }

    fn barrier(&mut self, barrier: usize) {
        let barrier = &self.shared.barriers[barrier].0;
        if let Some(others) = barrier.arrive(self.me) {
            others.iter().for_each(|&other| self.shared.wake(other));
            barrier.give_back(others);
            return;
        }
        self.wait(self.shared.script.workload.barrier_spin);
    }

    /// Spins for `spin` nanoseconds of CPU time, then sleeps, until another thread wakes it.
    fn wait(&mut self, spin: u64) {
        let stamp = match spin {
            0 => self.slot.mailbox.wait(),
            spin => {
                let before = thread_cpu();
                let stamp = self.slot.mailbox.spin_then_wait(spin);
                self.burner.spun(thread_cpu() - before);
                stamp
            }
        };
        self.woken(stamp);
    }

    /// Records the latency of a wake-up at time `stamp`; `None` if the thread did not sleep.
    fn woken(&mut self, stamp: Option<u64>) {
        if let Some(stamp) = stamp {
            self.ledger.wakeup.record(now().saturating_sub(stamp), &self.shared.recorders.wakeup);
            self.look_around();
        }
    }

    /// Sleeps for `ns` nanoseconds. Uses a timed futex wait instead of `clock_nanosleep`: the kernel does the same
    /// work (a timer wakes the thread), and `Shared::stop` can end the wait early.
    fn delay(&mut self, ns: u64) {
        self.delay_until(now().saturating_add(ns));
    }

    fn delay_until(&mut self, end: u64) {
        if !self.slot.mailbox.wait_until(end) {
            self.ledger.timer.record(now().saturating_sub(end), &self.shared.recorders.timer);
            self.look_around();
        }
    }

    /// Records the current core.
    fn look_around(&mut self) {
        let core = sched_getcpu();
        if core != self.core {
            self.core = core;
            self.ledger.migrations += 1;
            self.shared.cores.insert(core);
        }
    }

    /// Stores the ledger and wakes the joiners.
    fn end(mut self) {
        self.ledger.usage = Usage::of_this_thread();
        self.shared.ended.fetch_max(now(), Relaxed);
        *self.slot.ledger.lock().unwrap_or_else(PoisonError::into_inner) = self.ledger;
        while let Some(joiner) = self.slot.exit.come() {
            self.shared.wake(joiner);
        }
    }
}

fn rename(name: &Name) {
    // Names are informational, so an error does not affect the play.
    if let Ok(name) = CStr::from_bytes_until_nul(name) {
        let _ = set_name(name);
    }
}
