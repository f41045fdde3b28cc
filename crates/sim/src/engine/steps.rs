//! Threads: the steps of the workload, and wake-ups between threads.

use super::Engine;
use crate::agenda::Due;
use crate::error::SimError;
use crate::runtime::State;
use crate::saakm::Call;
use crate::thread::noise_millionths;
use hearth_trace::{Kind, Stop, Waker};
use hearth_workload::Op;

impl Engine<'_> {
    /// Executes the current thread's steps up to the next one that takes time. Returns false if the thread left
    /// the core.
    pub(super) fn step(&mut self, core: u32) -> Result<bool, SimError> {
        let Some(thread) = self.rt.memory.current(core) else { return Ok(false) };
        loop {
            if self.task(thread).left > 0 {
                self.schedule_run_end(core);
                return Ok(true);
            }
            if self.in_kernel(core) {
                self.schedule_run_end(core);
                return Ok(true);
            }
            if self.task(thread).exited {
                self.terminate(core, thread)?;
                return Ok(false);
            }
            if std::mem::take(&mut self.task(thread).spins) {
                self.waiting += 1;
                self.block(core, thread)?;
                return Ok(false);
            }
            let task = self.task(thread);
            let op = task.deferred.take().or_else(|| task.cursor.next());
            if self.task(thread).owed > 0 && op.is_none_or(|op| self.would_block(op)) {
                self.task(thread).deferred = op;
                self.hand_over(thread);
                continue;
            }
            let Some(op) = op else {
                self.exit(core, thread)?;
                continue;
            };
            let waits = matches!(op, Op::Join(_) | Op::Wait(_) | Op::Barrier(_));
            let blocks = match op {
                Op::Run(cycles) => {
                    let task = self.task(thread);
                    task.runs += 1;
                    let factor =
                        noise_millionths(self.config.seed, thread, self.task(thread).runs, self.config.noise);
                    let work = cycles.saturating_mul(factor).min(u64::MAX / 2);
                    self.begin_run(thread, work);
                    false
                }
                Op::Fork(child) => {
                    self.fork(core, Some(thread), *child)?;
                    self.task(thread).owed = self.handover;
                    false
                }
                Op::Join(child) => {
                    self.emit(core, Kind::Wait { thread: thread + 1 });
                    let wait = !self.task(*child).exited;
                    if wait {
                        self.task(*child).joiners.push(thread);
                    }
                    wait
                }
                Op::Sleep(ns) | Op::Io(ns) => {
                    self.agenda.at(self.now + ns, Due::Wake { thread });
                    true
                }
                Op::Post(sem) => {
                    match self.semaphores[*sem as usize].waiters.pop_front() {
                        Some(waiter) => self.release(core, thread, waiter)?,
                        None => self.semaphores[*sem as usize].count += 1,
                    }
                    false
                }
                Op::Wait(sem) => {
                    let sem = &mut self.semaphores[*sem as usize];
                    if sem.count == 0 {
                        sem.waiters.push_back(thread);
                        self.spin(thread, self.config.workload.wait_spin)
                    } else {
                        sem.count -= 1;
                        false
                    }
                }
                Op::Barrier(b) => self.barrier(core, thread, *b)?,
                Op::Yield => {
                    self.stop_current(core, Stop::Yielded);
                    self.call(core, Call::Yield { thread })?;
                    self.expect_state(thread, State::Ready, "yield")?;
                    return Ok(false);
                }
                Op::Exec(program) => {
                    let name = self.programs.get(&**program).copied().unwrap_or_default();
                    self.emit(core, Kind::Exec { thread: thread + 1, name });
                    false
                }
                Op::Repeat(..) => unreachable!("the cursor unrolls repeats"),
            };
            if blocks {
                self.waiting += usize::from(waits);
                self.block(core, thread)?;
                return Ok(false);
            }
        }
    }

    /// The thread begins a `Run` of this work.
    fn begin_run(&mut self, thread: u32, work: u64) {
        let handover = self.handover;
        let task = self.task(thread);
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

    /// Whether the step would block a thread now.
    fn would_block(&self, op: &Op) -> bool {
        match *op {
            Op::Join(child) => !self.tasks[child as usize].exited,
            Op::Wait(sem) => self.config.workload.wait_spin == 0 && self.semaphores[sem as usize].count == 0,
            Op::Barrier(barrier) => {
                let (arrived, workload) =
                    (self.barriers[barrier as usize].len() as u32, self.config.workload);
                workload.barrier_spin == 0 && arrived + 1 < workload.barriers[barrier as usize]
            }
            Op::Sleep(_) | Op::Io(_) => true,
            _ => false,
        }
    }

    /// The thread has woken another and would block or exit now. What it does in the kernel before is work of its next `Run`.
    fn hand_over(&mut self, thread: u32) {
        let task = self.task(thread);
        let work = std::mem::take(&mut task.owed);
        task.left = work;
        task.ahead += work;
        if self.of_workload(thread) {
            self.result.demanded += u128::from(work);
        }
    }

    pub(super) fn block(&mut self, core: u32, thread: u32) -> Result<(), SimError> {
        self.stop_current(core, Stop::Blocked);
        self.call(core, Call::Block { thread })?;
        self.expect_state(thread, State::Blocked, "block")?;
        self.load.blocked(self.now, thread, core);
        self.update_util(core, core);
        Ok(())
    }

    /// Handles the arrival of a thread at a barrier. The last one releases all. The others spin for a while
    /// and then block. Returns whether the thread blocks now.
    pub(super) fn barrier(&mut self, core: u32, thread: u32, barrier: u32) -> Result<bool, SimError> {
        let waiting = self.barriers[barrier as usize].len() as u32;
        if waiting + 1 < self.config.workload.barriers[barrier as usize] {
            self.barriers[barrier as usize].push(thread);
            return Ok(self.spin(thread, self.config.workload.barrier_spin));
        }
        for waiter in std::mem::take(&mut self.barriers[barrier as usize]) {
            self.release(core, thread, waiter)?;
        }
        Ok(false)
    }

    /// The current thread spins for `ns` of CPU time at the nominal frequency before it blocks. Returns whether it
    /// blocks now.
    fn spin(&mut self, thread: u32, ns: u64) -> bool {
        if ns > 0 {
            let machine = self.config.machine;
            let nominal = machine.frequency.nominal_khz;
            let task = self.task(thread);
            task.spins = true;
            task.left = ns.saturating_mul(machine.costs.work_khz(nominal, nominal));
        }
        ns == 0
    }

    /// `thread` on `core` lets `waiter` continue, which is blocked or spins.
    fn release(&mut self, core: u32, thread: u32, waiter: u32) -> Result<(), SimError> {
        if !self.task(waiter).spins {
            self.wake(core, Waker::Thread(thread + 1), waiter)?;
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

    pub(super) fn exit(&mut self, core: u32, thread: u32) -> Result<(), SimError> {
        let task = self.task(thread);
        task.exited = true;
        task.left = task.after_exit;
        self.emit(core, Kind::Exit { thread: thread + 1 });
        for joiner in std::mem::take(&mut self.task(thread).joiners) {
            self.wake(core, Waker::Thread(thread + 1), joiner)?;
        }
        Ok(())
    }

    /// The thread has exited and leaves the core.
    pub(super) fn terminate(&mut self, core: u32, thread: u32) -> Result<(), SimError> {
        self.stop_current(core, Stop::Exited);
        self.call(core, Call::Terminate { thread })?;
        self.expect_state(thread, State::Terminated, "terminate")?;
        self.load.exited(self.now, thread, core);
        self.update_util(core, core);
        self.alive -= usize::from(self.of_workload(thread));
        Ok(())
    }

    pub(super) fn fork(&mut self, core: u32, parent: Option<u32>, child: u32) -> Result<(), SimError> {
        let begun = self.rt.state(child) != State::NotQueued || !self.task(child).placement.is_empty();
        if begun || self.task(child).exited {
            return Err(SimError::Workload {
                workload: self.config.workload.name.clone(),
                what: format!("thread {child} is forked twice"),
            });
        }
        self.alive += usize::from(self.of_workload(child));
        self.rt.memory.thread_mut(child).core = core;
        self.place_or_queue(core, parent.map_or(Waker::Interrupt, |p| Waker::Thread(p + 1)), child)
    }

    /// `waker` on `core` wakes `thread`, after the threads that it wakes already.
    pub(super) fn wake(&mut self, core: u32, waker: Waker, thread: u32) -> Result<(), SimError> {
        if let Waker::Thread(_) = waker {
            self.waiting -= 1;
        }
        self.place_or_queue(core, waker, thread)
    }

    fn place_or_queue(&mut self, core: u32, waker: Waker, thread: u32) -> Result<(), SimError> {
        if self.in_kernel(core) {
            self.core(core).to_place.push_back((waker, thread));
            return Ok(());
        }
        self.place(core, waker, thread)
    }
}
