//! Threads: the steps of the workload, and wake-ups between threads.
//!
//! A step is one [`Op`] of a thread. `Run` takes processor time. All others happen at once, and may block the thread. A
//! thread executes steps only while it is the current thread of a core. Its [`Task`](crate::thread::Task) has its
//! position in the steps and the work left of the current one. The engine has what threads share: semaphores,
//! barriers, and the number of threads that wait for another one.

use super::Engine;
use crate::agenda::Due;
use crate::error::SimError;
use crate::runtime::State;
use crate::saakm::Call;
use crate::thread::{Cause, noise_millionths};
use hearth_trace::{Kind, Stop, Waker};
use hearth_workload::Op;

/// What a thread does after a step.
enum After {
    /// Goes on with the work of the step, or with the next step.
    Continue,
    /// Blocks until a time.
    Sleep,
    /// Blocks until another thread wakes it.
    Wait,
    /// Has left the core.
    Leave,
}

impl<'a> Engine<'a> {
    /// Executes the current thread's steps up to the next one that takes time. Returns false if the thread left
    /// the core.
    pub(super) fn step(&mut self, core: u32) -> Result<bool, SimError> {
        let Some(thread) = self.rt.memory.current(core) else { return Ok(false) };
        loop {
            if self.task(thread).left > 0 || self.in_kernel(core) {
                self.schedule_run_end(core);
                return Ok(true);
            }
            match self.next_step(core, thread)? {
                After::Continue => continue,
                After::Sleep => self.block(core, thread)?,
                After::Wait => {
                    self.waiting += 1;
                    self.block(core, thread)?;
                }
                After::Leave => {}
            }
            return Ok(false);
        }
    }

    /// The current thread has no work left.
    fn next_step(&mut self, core: u32, thread: u32) -> Result<After, SimError> {
        let task = self.task(thread);
        if task.exited {
            self.terminate(core, thread)?;
            return Ok(After::Leave);
        }
        if std::mem::take(&mut task.spins) {
            return Ok(After::Wait);
        }
        let op = task.deferred.take().or_else(|| task.cursor.next());
        if task.owed > 0 && op.is_none_or(|op| self.would_block(thread, op)) {
            self.hand_over(thread, op);
            return Ok(After::Continue);
        }
        match op {
            Some(op) => self.execute(core, thread, op),
            None => self.exit(core, thread),
        }
    }

    fn execute(&mut self, core: u32, thread: u32, op: &Op) -> Result<After, SimError> {
        match op {
            Op::Run(cycles) => self.begin_run(thread, *cycles),
            Op::Fork(child) => {
                self.fork(core, Some(thread), *child)?;
                self.task(thread).owed = self.handover;
            }
            Op::Join(child) => return Ok(self.join(core, thread, *child)),
            Op::Sleep(ns) | Op::Io(ns) => {
                self.agenda.at(self.now + ns, Due::Wake { thread });
                return Ok(After::Sleep);
            }
            Op::Timer(timer, period) => {
                let (expiry, next) = self.timer(thread, *timer, *period);
                self.timers[*timer as usize] = Some(next);
                if let Some(expiry) = expiry {
                    self.agenda.at(expiry, Due::Wake { thread });
                    return Ok(After::Sleep);
                }
            }
            Op::Post(semaphore) => {
                let semaphore = &mut self.semaphores[*semaphore as usize];
                let sync = semaphore.sync;
                match semaphore.waiters.pop_front() {
                    Some(waiter) => self.release(core, thread, waiter, sync)?,
                    None => semaphore.count += 1,
                }
            }
            Op::Wait(semaphore) => return Ok(self.wait(thread, *semaphore)),
            Op::Barrier(barrier) => return self.barrier(core, thread, *barrier),
            Op::Yield => {
                self.stop_current(core, Stop::Yielded);
                self.call(core, Call::Yield { thread })?;
                self.expect_state(thread, State::Ready, "yield")?;
                return Ok(After::Leave);
            }
            Op::Exec(program) => {
                let name = self.programs.get(&**program).copied().unwrap_or_default();
                self.emit(core, Kind::Exec { thread: thread + 1, name });
            }
            Op::Repeat(..) => unreachable!("the cursor unrolls repeats"),
        }
        Ok(After::Continue)
    }

    fn begin_run(&mut self, thread: u32, cycles: u64) {
        let (handover, job) = (self.handover, self.job);
        let (seed, noise) = (job.seed, job.noise);
        let task = self.task(thread);
        task.runs += 1;
        let factor = noise_millionths(seed, thread, task.runs, noise);
        let work = cycles.saturating_mul(factor).min(u64::MAX / 2);
        task.owed = task.owed.saturating_sub(work);
        let left = work.saturating_sub(task.ahead);
        task.ahead -= work - left;
        if handover > 0 && task.cursor.at_end() {
            task.after_exit = handover.min(left);
        }
        task.left = left - task.after_exit;
        if self.of_workload(thread) {
            self.result.demanded += u128::from(left);
        }
    }

    /// The expiry until which a step of this thread blocks now, and the beginning of the timer's next period.
    fn timer(&self, thread: u32, timer: u32, period: u64) -> (Option<u64>, u64) {
        let last = self.timers[timer as usize].unwrap_or(self.tasks[thread as usize].began);
        self.job.workload.timers[timer as usize].advance(last, period, self.now)
    }

    /// Whether the step would block a thread now.
    fn would_block(&self, thread: u32, op: &Op) -> bool {
        match *op {
            Op::Join(child) => !self.tasks[child as usize].exited,
            Op::Wait(sem) => self.job.workload.wait_spin == 0 && self.semaphores[sem as usize].count == 0,
            Op::Barrier(barrier) => {
                let (arrived, workload) = (self.barriers[barrier as usize].len() as u32, self.job.workload);
                workload.barrier_spin == 0 && arrived + 1 < workload.barriers[barrier as usize]
            }
            Op::Timer(timer, period) => self.timer(thread, timer, period).0.is_some(),
            Op::Sleep(_) | Op::Io(_) => true,
            _ => false,
        }
    }

    /// The thread has woken another and would now block in `deferred`, or exit. What it does in the kernel before is work
    /// of its next `Run`.
    fn hand_over(&mut self, thread: u32, deferred: Option<&'a Op>) {
        let task = self.task(thread);
        task.deferred = deferred;
        let work = std::mem::take(&mut task.owed);
        task.left = work;
        task.ahead += work;
        if self.of_workload(thread) {
            self.result.demanded += u128::from(work);
        }
    }

    fn join(&mut self, core: u32, thread: u32, child: u32) -> After {
        self.emit(core, Kind::Wait { thread: thread + 1 });
        if self.task(child).exited {
            return After::Continue;
        }
        self.task(child).joiners.push(thread);
        After::Wait
    }

    fn wait(&mut self, thread: u32, semaphore: u32) -> After {
        let semaphore = &mut self.semaphores[semaphore as usize];
        if semaphore.count > 0 {
            semaphore.count -= 1;
            return After::Continue;
        }
        semaphore.waiters.push_back(thread);
        self.spin(thread, self.job.workload.wait_spin)
    }

    /// The thread arrives at a barrier. The last one releases all others.
    fn barrier(&mut self, core: u32, thread: u32, barrier: u32) -> Result<After, SimError> {
        let workload = self.job.workload;
        let waiting = &mut self.barriers[barrier as usize];
        if (waiting.len() as u32) + 1 < workload.barriers[barrier as usize] {
            waiting.push(thread);
            return Ok(self.spin(thread, workload.barrier_spin));
        }
        for waiter in std::mem::take(waiting) {
            self.release(core, thread, waiter, false)?;
        }
        Ok(After::Continue)
    }

    /// The current thread spins for `ns` of CPU time at the nominal frequency before it blocks.
    fn spin(&mut self, thread: u32, ns: u64) -> After {
        if ns == 0 {
            return After::Wait;
        }
        let machine = self.job.machine;
        let nominal = machine.frequency.nominal_khz;
        let task = self.task(thread);
        task.spins = true;
        task.left = ns.saturating_mul(machine.costs.work_khz(nominal, nominal));
        After::Continue
    }

    fn exit(&mut self, core: u32, thread: u32) -> Result<After, SimError> {
        let task = self.task(thread);
        task.exited = true;
        task.left = task.after_exit;
        self.emit(core, Kind::Exit { thread: thread + 1 });
        for joiner in std::mem::take(&mut self.task(thread).joiners) {
            self.wake(core, Waker::Thread(thread + 1).into(), joiner)?;
        }
        Ok(After::Continue)
    }

    fn block(&mut self, core: u32, thread: u32) -> Result<(), SimError> {
        self.stop_current(core, Stop::Blocked);
        self.call(core, Call::Block { thread })?;
        self.expect_state(thread, State::Blocked, "block")?;
        self.load.blocked(self.now, thread, core);
        self.update_util(core, core);
        Ok(())
    }

    /// The thread has exited and leaves the core.
    fn terminate(&mut self, core: u32, thread: u32) -> Result<(), SimError> {
        self.stop_current(core, Stop::Exited);
        self.call(core, Call::Terminate { thread })?;
        self.expect_state(thread, State::Terminated, "terminate")?;
        self.load.exited(self.now, thread, core);
        self.update_util(core, core);
        self.alive -= usize::from(self.of_workload(thread));
        Ok(())
    }

    /// `thread` on `core` lets `waiter` continue, which is blocked or spins.
    fn release(&mut self, core: u32, thread: u32, waiter: u32, sync: bool) -> Result<(), SimError> {
        if !self.task(waiter).spins {
            self.wake(core, Cause { waker: Waker::Thread(thread + 1), sync }, waiter)?;
            self.task(thread).owed = self.handover;
            return Ok(());
        }
        // The waiter spins, or will when it runs: it observes the release without a wake-up.
        let on = self.rt.memory.thread(waiter).core;
        let runs = self.rt.memory.current(on) == Some(waiter);
        if runs {
            self.settle(on);
        }
        self.task(waiter).spins = false;
        self.task(waiter).left = 0;
        if runs {
            self.schedule_run_end(on);
        }
        Ok(())
    }

    pub(super) fn fork(&mut self, core: u32, parent: Option<u32>, child: u32) -> Result<(), SimError> {
        let begun = self.rt.state(child) != State::NotQueued || !self.task(child).placement.is_empty();
        if begun || self.task(child).exited {
            return Err(SimError::Workload {
                workload: self.job.workload.name.clone(),
                what: format!("thread {child} is forked twice"),
            });
        }
        self.alive += usize::from(self.of_workload(child));
        self.task(child).began = self.now;
        self.rt.memory.thread_mut(child).core = core;
        self.place_or_queue(core, parent.map_or(Waker::Interrupt, |p| Waker::Thread(p + 1)).into(), child)
    }

    /// The waker on `core` wakes `thread`, after the threads that it wakes already.
    pub(super) fn wake(&mut self, core: u32, cause: Cause, thread: u32) -> Result<(), SimError> {
        if let Waker::Thread(_) = cause.waker {
            self.waiting -= 1;
        }
        self.place_or_queue(core, cause, thread)
    }

    fn place_or_queue(&mut self, core: u32, cause: Cause, thread: u32) -> Result<(), SimError> {
        if self.in_kernel(core) {
            self.core(core).to_place.push_back((cause, thread));
            return Ok(());
        }
        self.place(core, cause, thread)
    }
}
