//! How threads run, stop, are woken and move between cores.

use super::threads::Life;
use super::{Assembler, Attempt, LastWakeup, Scope, Waking};
use crate::{CoreId, Event, IDLE, Kind, Sink, Stop, Tid, Time, Waker};

impl<S: Sink> Assembler<S> {
    /// Takes note that the thread with this `pid` is running on the core. If the last switch was to another thread,
    /// inserts the missing one.
    pub(super) fn set_running(&mut self, time: Time, core: CoreId, pid: i32) {
        let slot = usize::from(core);
        let current = self.current[slot];
        // Not by `tid(pid)`: at the last switch of an exited thread, its pid may belong to another.
        match current {
            Some(IDLE) if pid == 0 => return,
            Some(current) if current != IDLE && self.thread(current).pid == pid => return,
            _ => {}
        }
        let running = self.tid(pid);
        let since_before = running == IDLE || self.thread(running).life == Life::Unknown;
        if current.is_none() && since_before {
            // It has been running since before the recording.
            self.current[slot] = Some(running);
            if running != IDLE {
                self.set_life(running, Life::Running);
                self.attempts.remove(&running);
                if self.start.is_some() {
                    let kind = Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: running };
                    self.window.insert(0, Event { time: 0, core, kind });
                }
            }
            return;
        }
        // If `prev` had not blocked, `begins_to_run` corrects this.
        let prev = current.unwrap_or(IDLE);
        let exited = prev != IDLE && self.thread(prev).exiting;
        let stop = if exited { Stop::Exited } else { Stop::Blocked };
        self.missing[slot] += u64::from(self.start.is_some() && !self.unrecorded.threads);
        self.switch(time, core, prev, stop, running);
    }

    pub(super) fn switch(&mut self, time: Time, core: CoreId, prev: Tid, stop: Stop, next: Tid) {
        self.current[usize::from(core)] = Some(next);
        if next != IDLE {
            self.begins_to_run(time, core, next);
        }
        let stop = if prev == IDLE { Stop::Preempted } else { stop };
        let number = self.emit(time, core, Kind::Switch { prev, stop, next });
        if prev != IDLE {
            self.stops_running(core, prev, stop, number);
        }
    }

    /// `tid` begins to run on a core: decides whether an attempted wake-up took effect, and whether its last stop was a
    /// block.
    fn begins_to_run(&mut self, time: Time, core: CoreId, tid: Tid) {
        let thread = self.thread(tid);
        let (life, left) = (thread.life, thread.left.take());
        self.set_life(tid, Life::Running);
        let attempt = self.attempts.remove(&tid);
        if life == Life::Running {
            self.leave_other_core(time, core, tid);
        }
        let infers_wakeups = self.unrecorded.is_empty();
        let left =
            left.filter(|(from, _)| *from == core).and_then(|(_, number)| self.recent_switch(number, tid));
        match (life, attempt, left) {
            (Life::Blocked | Life::Unknown, Some(attempt), _) => {
                let moved = attempt.waking.target != core;
                self.insert_wakeup(tid, attempt);
                if moved {
                    self.emit(
                        time,
                        core,
                        Kind::Migrate { thread: tid, from: attempt.waking.target, to: core },
                    );
                }
            }
            (Life::Blocked, None, _) if !infers_wakeups => {}
            // It was not woken, so it had not blocked: a signal was pending. Kernels before 6.14 report the state
            // that the thread was about to enter.
            (Life::Blocked, None, Some(stop)) => *stop = Stop::Preempted,
            (Life::Blocked, None, _) => {
                self.emit(
                    time,
                    core,
                    Kind::Wakeup { thread: tid, waker: Waker::Interrupt, target: core, sync: false },
                );
            }
            _ => {}
        }
    }

    /// A thread that ran elsewhere begins to run on `core`: inserts the missing switch on the other core.
    fn leave_other_core(&mut self, time: Time, core: CoreId, tid: Tid) {
        let elsewhere = |slot: &usize| *slot != usize::from(core) && self.current[*slot] == Some(tid);
        if let Some(slot) = (0..self.current.len()).find(elsewhere) {
            self.current[slot] = Some(IDLE);
            self.emit(time, slot as CoreId, Kind::Switch { prev: tid, stop: Stop::Preempted, next: IDLE });
            self.missing[slot] += u64::from(self.start.is_some());
        }
    }

    /// The stop of a switch away from `tid`, if it is still in the window.
    fn recent_switch(&mut self, number: u32, tid: Tid) -> Option<&mut Stop> {
        // Of the numbers with these lower 32 bits, take the newest.
        let next = self.window.next();
        let number = next.checked_sub(u64::from((next as u32).wrapping_sub(number)))?;
        match self.window.kind(number)? {
            Kind::Switch { prev, stop, .. } if *prev == tid => Some(stop),
            _ => None,
        }
    }

    fn stops_running(&mut self, core: CoreId, tid: Tid, stop: Stop, number: u64) {
        let (started, end) = (self.start.is_some(), self.window.next());
        let time = self.window.newest();
        let attempt = self.attempts.remove(&tid);
        // An attempt on a thread that was about to block takes effect after the block, if at all.
        let attempt = attempt.filter(|_| stop == Stop::Blocked && started).map(|attempt| {
            let still_there = match attempt.waking.waker {
                Waker::Thread(waker) => self.current[usize::from(attempt.core)] == Some(waker),
                Waker::Interrupt => true,
            };
            let waking = if still_there { attempt.waking } else { attempt.waking.by_interrupt() };
            Attempt { at: end, time, waking, ..attempt }
        });
        self.attempts.extend(attempt.map(|attempt| (tid, attempt)));
        self.thread(tid).left = started.then_some((core, number as u32));
        let life = match stop {
            Stop::Preempted | Stop::Yielded => Life::Ready,
            Stop::Blocked => Life::Blocked,
            Stop::Exited => Life::Ended,
        };
        self.set_life(tid, life);
        if stop == Stop::Exited && self.thread(tid).traced && self.scope != Scope::All {
            // The trace ends here, unless another traced thread is still alive.
            self.window.set_end(Some(end).filter(|_| self.alive == 0));
            self.missing_at_end.clone_from(&self.missing);
        }
    }

    pub(super) fn waking(&mut self, time: Time, core: CoreId, tid: Tid, waking: Waking) {
        let Waking { waker, target, sync } = waking;
        let started = self.start.is_some();
        let relative = time.saturating_sub(self.start.unwrap_or(time));
        let wakeup = match self.thread(tid).life {
            Life::Blocked => {
                self.set_life(tid, Life::Ready);
                self.attempts.remove(&tid);
                let number = self.emit(time, core, Kind::Wakeup { thread: tid, waker, target, sync });
                started.then_some(LastWakeup::Emitted { tid, number })
            }
            Life::Running | Life::Unknown => {
                let (at, time) = (self.window.next(), self.window.newest().max(relative));
                self.attempts.insert(tid, Attempt { at, time, core, waking });
                Some(LastWakeup::Attempted { tid })
            }
            Life::Ready | Life::Ended => None,
        };
        self.last_wakeups[usize::from(core)] = wakeup;
    }

    /// Inserts a wake-up whose attempt took effect.
    fn insert_wakeup(&mut self, tid: Tid, attempt: Attempt) {
        let Attempt { at, time, core, waking } = attempt;
        // Outside of the window the wake-up comes later than it was, when its waker may no longer be running.
        let waking = if at >= self.window.first() { waking } else { waking.by_interrupt() };
        let Waking { waker, target, sync } = waking;
        if self.start.is_some() {
            self.window
                .insert(at, Event { time, core, kind: Kind::Wakeup { thread: tid, waker, target, sync } });
        }
    }

    pub(super) fn migrate(
        &mut self,
        time: Time,
        core: CoreId,
        tid: Tid,
        from: CoreId,
        to: CoreId,
        wakeup: Option<LastWakeup>,
    ) {
        if tid == IDLE {
            return;
        }
        match wakeup {
            // Part of the wake-up: the core chosen for the thread.
            Some(LastWakeup::Emitted { tid: woken, number }) if woken == tid => {
                if let Some(Kind::Wakeup { target, .. }) = self.window.kind(number) {
                    *target = to;
                    return;
                }
            }
            Some(LastWakeup::Attempted { tid: woken }) if woken == tid => {
                if let Some(attempt) = self.attempts.get_mut(&tid) {
                    attempt.waking.target = to;
                }
                return;
            }
            _ => {}
        }
        match self.thread(tid).life {
            Life::Ready => {
                self.emit(time, core, Kind::Migrate { thread: tid, from, to });
            }
            // Moving a sleeping thread has no effect, unless an attempted wake-up turns out to have woken it.
            _ => {
                if let Some(attempt) = self.attempts.get_mut(&tid) {
                    attempt.waking.target = to;
                }
            }
        }
    }

    pub(super) fn first_wakeup(
        &mut self,
        time: Time,
        core: CoreId,
        pid: i32,
        parent: Tid,
        comm: &[u8],
        target: CoreId,
    ) {
        let known = self.pids.get(&pid).copied();
        // The fork event of a kernel thread may be missing; or it was lost, and the pid is that of a dead thread.
        let fresh = known.filter(|tid| {
            let thread = &self.threads[*tid as usize - 1];
            thread.life == Life::Unknown && thread.parent != IDLE
        });
        let child = fresh.unwrap_or_else(|| self.fork(pid, parent, comm));
        self.set_life(child, Life::Ready);
        let parent = self.thread(child).parent;
        self.emit(time, core, Kind::Fork { parent, child, target });
    }
}
