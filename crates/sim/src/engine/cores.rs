//! Cores: scheduling, execution rates, ticks and idling.

use super::{CoreState, Engine, Mode, TICK_NS};
use crate::agenda::Due;
use crate::error::SimError;
use crate::saakm::Call;
use hearth_machine::pelt::FULL;
use hearth_trace::{IDLE, Kind, Stop};

impl Engine<'_> {
    /// Schedules until a thread executes a step that takes time, or the core goes idle.
    pub(super) fn reschedule(&mut self, core: u32) -> Result<(), SimError> {
        loop {
            self.picked = None;
            self.call(core, Call::Schedule { core })?;
            if self.picked.is_none() && self.rt.memory.core(core).nr_ready == 0 {
                self.call(core, Call::NewlyIdle { core })?;
                if self.rt.memory.core(core).nr_ready > 0 {
                    self.call(core, Call::Schedule { core })?;
                }
            }
            let Some(thread) = self.picked.take() else {
                let ready = self.rt.memory.core(core).nr_ready;
                if ready > 0 {
                    return Err(self.illegal(format!(
                        "`schedule` leaves core {core} idle with {ready} ready {}; \
                         does the handler read every queue that the policy fills?",
                        if ready == 1 { "thread" } else { "threads" }
                    )));
                }
                return self.go_idle(core);
            };
            self.start(core, thread);
            if self.step(core)? {
                return Ok(());
            }
        }
    }

    /// Continues the current thread after its step.
    pub(super) fn continue_thread(&mut self, core: u32) -> Result<(), SimError> {
        if self.step(core)? { Ok(()) } else { self.reschedule(core) }
    }

    pub(super) fn start(&mut self, core: u32, thread: u32) {
        self.rt.start(thread, core);
        let (prev, stop) =
            self.core(core).leaving.take().map_or((IDLE, Stop::Preempted), |(t, s)| (t + 1, s));
        let mut stall = 0;
        if prev != thread + 1 {
            self.emit(core, Kind::Switch { prev, stop, next: thread + 1 });
            stall = u64::from(self.job.machine.costs.context_switch_ns);
        }
        if let Some(last) = self.task(thread).last_core.replace(core) {
            stall += u64::from(self.job.machine.migration_ns(last as u16, core as u16));
        }
        self.task(thread).timer += 1;
        if self.of_workload(thread) {
            self.last_used = core;
        }
        self.load.started(self.now, thread, core);
        let was = std::mem::replace(&mut self.core(core).mode, Mode::Run);
        self.core(core).warm_ns = 0;
        self.core(core).settled = self.now + stall;
        match was {
            Mode::Sleep => self.model.set_active(self.now, core as u16, true),
            Mode::Spin => self.emit(core, Kind::Spin { on: false }),
            Mode::Run => {}
        }
        if was != Mode::Run {
            for i in 0..self.core(core).siblings.len() {
                let sibling = self.core(core).siblings[i];
                match self.core(sibling).mode {
                    Mode::Spin => self.stop_spinning(sibling),
                    // The sibling now shares the physical core.
                    Mode::Run => self.update_rate(sibling),
                    Mode::Sleep => {}
                }
            }
        }
        self.show_frequency(core);
        self.update_rate(core);
        self.apply_frequencies();
        if !self.core(core).ticking {
            let phase = self.core(core).tick_phase;
            let periods = (self.now + TICK_NS - phase) / TICK_NS;
            self.core(core).ticking = true;
            self.agenda.at(phase + periods * TICK_NS, Due::Tick { core });
        }
    }

    /// Deschedules the current thread. The caller calls the policy's handler.
    pub(super) fn stop_current(&mut self, core: u32, stop: Stop) -> u32 {
        self.settle(core);
        let thread = self.rt.memory.current(core).unwrap_or_default();
        self.rt.stop(core);
        self.core(core).generation += 1;
        self.core(core).timed = false;
        self.core(core).leaving = Some((thread, stop));
        self.load.stopped(self.now, thread, core);
        thread
    }

    pub(super) fn go_idle(&mut self, core: u32) -> Result<(), SimError> {
        if let Some((prev, stop)) = self.core(core).leaving.take() {
            self.emit(core, Kind::Switch { prev: prev + 1, stop, next: IDLE });
        }
        self.rt.set_idle(core);
        self.call(core, Call::EnterIdle { core })?;
        let was = self.core(core).mode;
        if was == Mode::Run {
            self.core(core).mode = Mode::Spin;
            for i in 0..self.core(core).siblings.len() {
                let sibling = self.core(core).siblings[i];
                if self.core(sibling).mode == Mode::Run {
                    // The sibling now has the physical core for itself.
                    self.update_rate(sibling);
                }
            }
            let spin = std::mem::take(&mut self.core(core).warm_ns);
            if spin > 0 && !self.sibling_runs(core) {
                self.emit(core, Kind::Spin { on: true });
                self.core(core).generation += 1;
                let generation = self.core(core).generation;
                self.agenda.at(self.now + spin, Due::SpinEnd { core, generation });
            } else {
                self.core(core).mode = Mode::Sleep;
                self.model.set_active(self.now, core as u16, false);
            }
        }
        self.load.idle(self.now, core);
        self.apply_frequencies();
        // A thread may have become ready during `enter_idle`.
        if self.rt.memory.core(core).nr_ready > 0 && !self.core(core).woken {
            self.core(core).woken = true;
            self.agenda.at(self.now, Due::Dispatch { core });
        }
        Ok(())
    }

    pub(super) fn stop_spinning(&mut self, core: u32) {
        if self.core(core).mode == Mode::Spin {
            self.core(core).mode = Mode::Sleep;
            self.core(core).generation += 1;
            self.emit(core, Kind::Spin { on: false });
            self.model.set_active(self.now, core as u16, false);
            self.apply_frequencies();
        }
    }

    pub(super) fn sibling_runs(&mut self, core: u32) -> bool {
        let siblings = &self.cores[core as usize].siblings;
        siblings.iter().any(|s| self.cores[*s as usize].mode == Mode::Run)
    }

    /// Accounts the current thread's work up to now, at the rate since the last call.
    pub(super) fn settle(&mut self, core: u32) {
        let now = self.now;
        let Some(thread) = self.rt.memory.current(core) else { return };
        let CoreState { settled, rate, .. } = self.core(core);
        if now > *settled {
            let possible = (now - *settled).saturating_mul(*rate);
            *settled = now;
            let done = possible.min(self.task(thread).left);
            let task = self.task(thread);
            task.left -= done;
            if !task.spins && self.of_workload(thread) {
                self.result.executed += u128::from(done);
            }
        }
    }

    /// Recomputes the rate after a change of the frequency or of a sibling. Accounts the work so far at the old
    /// rate and reschedules the end of the rest.
    pub(super) fn update_rate(&mut self, core: u32) {
        let by = (self.core(core).khz, self.sibling_runs(core));
        if by == self.core(core).rated {
            return;
        }
        self.core(core).rated = by;
        let (machine, (khz, shared)) = (self.job.machine, by);
        let mut rate = machine.work_khz(core as u16, khz);
        if shared {
            rate = rate * u64::from(machine.costs.smt_share_permille) / 1000;
        }
        if rate == self.core(core).rate {
            return;
        }
        self.settle(core);
        self.core(core).rate = rate;
        if self.core(core).timed {
            self.schedule_run_end(core);
        }
    }

    /// Schedules the end of the current thread's `Run`.
    pub(super) fn schedule_run_end(&mut self, core: u32) {
        let Some(thread) = self.rt.memory.current(core) else { return };
        let left = self.task(thread).left;
        let now = self.now;
        let state = self.core(core);
        let due = state.settled.max(now) + left.div_ceil(state.rate.max(1));
        state.timed = true;
        state.generation += 1;
        let generation = state.generation;
        self.agenda.at(due, Due::RunEnd { core, generation });
    }

    /// Applies the frequency changes of the machine model.
    pub(super) fn apply_frequencies(&mut self) {
        let mut changed = std::mem::take(&mut self.changed);
        self.model.drain_changed(|physical| changed.push(physical));
        for physical in changed.drain(..) {
            for i in 0..self.job.machine.topology.cores_of_physical(physical).len() {
                let core = u32::from(self.job.machine.topology.cores_of_physical(physical)[i]);
                let latency = self.model.exit_latency_ns(self.now, core as u16);
                self.rt.memory.core_mut(core).exit_latency_ns = latency as u32;
                if self.show_frequency(core) {
                    self.update_rate(core);
                }
            }
        }
        self.changed = changed;
    }

    /// Takes over a core's frequency from the machine model. Returns whether it changed.
    fn show_frequency(&mut self, core: u32) -> bool {
        let khz = self.model.khz(core as u16);
        let changed = std::mem::replace(&mut self.core(core).khz, khz) != khz;
        if changed {
            self.emit(core, Kind::Frequency { khz });
        }
        changed
    }

    pub(super) fn tick(&mut self, core: u32) -> Result<(), SimError> {
        let Some(thread) = self.rt.memory.current(core) else {
            self.core(core).ticking = false;
            return Ok(());
        };
        let khz = self.model.tick(self.now, core as u16);
        self.rt.memory.core_mut(core).seen_khz = khz;
        self.emit(core, Kind::Tick { khz });
        self.agenda.at(self.now + TICK_NS, Due::Tick { core });
        self.load.tick(self.now, thread, core, self.model.scale(core as u16));
        self.update_util(core, core);
        self.apply_frequencies();
        self.call(core, Call::Tick { thread })?;
        self.call(core, Call::Balance { core })
    }

    /// The scheduler on core `from` calls the governor of `core`.
    pub(super) fn update_util(&mut self, core: u32, from: u32) {
        let (now, load, highest) = (self.now, &self.load, self.job.world.sched_ext);
        self.model
            .update_util(now, core as u16, from as u16, || if highest { FULL } else { load.util(now, core) });
    }
}
