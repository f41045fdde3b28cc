//! Calls of the policy's handlers, and the delays and costs of their effects.

use super::{Engine, Mode};
use crate::agenda::Due;
use crate::error::SimError;
use crate::runtime::{Effect, State};
use crate::saakm::{Call, NO_REASON, WAKER_EXITS, WAKER_SLEEPS};
use crate::thread::Cause;
use crate::world::World;
use hearth_trace::{IDLE, Kind, Waker};

impl Engine<'_> {
    /// Calls a handler on `core`, then applies its effects.
    #[inline(always)]
    pub(super) fn call(&mut self, core: u32, call: Call) -> Result<(), SimError> {
        if !self.rt.call(call) {
            return Ok(());
        }
        self.rt.end_claims();
        self.apply_effects(core)
    }

    /// Places a new or blocked thread. Calls `new` or `unblock`, which must make the thread ready: at once, or if
    /// placements race, at the end of the search.
    pub(super) fn place(&mut self, core: u32, cause: Cause, thread: u32) -> Result<(), SimError> {
        let (event, call, facts) = match self.rt.state(thread) {
            State::NotQueued => ("new", Call::New { thread, parent: core }, 0),
            _ => ("unblock", Call::Unblock { thread, waker: core }, self.facts(cause)),
        };
        let World { search, races, .. } = self.job.world;
        self.cause = cause;
        if search {
            self.rt.begin_search(thread, races);
        }
        self.rt.memory.instance.facts = facts;
        self.rt.call(call);
        self.rt.memory.instance.facts = 0;
        let (near, far) = if search { self.rt.end_search(core) } else { (0, 0) };
        self.rt.end_claims();
        let ns = self.job.machine.costs.search.ns(near, far);
        if ns == 0 || !races {
            self.apply_effects(core)?;
            self.expect_state(thread, State::Ready, event)?;
        } else {
            self.postpone(core, thread, event)?;
        }
        if ns > 0 {
            self.kernel_works(core, ns);
            self.agenda.at(self.now + ns, Due::Placed { core, thread });
        }
        Ok(())
    }

    /// What the kernel knows of a wake-up.
    fn facts(&self, cause: Cause) -> u32 {
        let Waker::Thread(waker) = cause.waker else { return 0 };
        match self.tasks[waker as usize - 1].exited {
            true => 1 << WAKER_EXITS,
            false => u32::from(cause.sync) << WAKER_SLEEPS,
        }
    }

    /// Applies the effects of a placement, except those that take effect at the end of the search.
    fn postpone(&mut self, core: u32, thread: u32, event: &str) -> Result<(), SimError> {
        if let Some(what) = self.rt.take_violation() {
            return Err(self.illegal(what));
        }
        let mut effects = std::mem::take(&mut self.effects);
        self.rt.take_effects(&mut effects);
        let mut later = std::mem::take(&mut self.task(thread).placement);
        let mut chosen = false;
        for effect in effects.drain(..) {
            match effect {
                Effect::Choose { .. } | Effect::Preempt { .. } | Effect::Arm { .. } => later.push(effect),
                now => self.apply(core, now)?,
            }
            chosen |= matches!(effect, Effect::Choose { .. });
        }
        self.effects = effects;
        let cause = self.cause;
        let task = self.task(thread);
        (task.placement, task.cause) = (later, cause);
        if chosen { Ok(()) } else { self.expect_state(thread, State::Ready, event) }
    }

    /// The search of `core` for the thread ends: its placement takes effect, and the next thread is placed.
    pub(super) fn placed(&mut self, core: u32, thread: u32) -> Result<(), SimError> {
        let mut effects = std::mem::take(&mut self.task(thread).placement);
        self.cause = self.task(thread).cause;
        for effect in effects.drain(..) {
            self.apply(core, effect)?;
        }
        self.task(thread).placement = effects;
        while self.core(core).kernel_until <= self.now {
            let Some((cause, next)) = self.core(core).to_place.pop_front() else { break };
            self.place(core, cause, next)?;
        }
        Ok(())
    }

    /// The kernel works on the core for `ns` from now on. The core's thread goes on afterwards.
    fn kernel_works(&mut self, core: u32, ns: u64) {
        self.settle(core);
        let now = self.now;
        let state = self.core(core);
        state.kernel_until = now + ns;
        state.settled = state.settled.max(now) + ns;
        if state.timed {
            self.schedule_run_end(core);
        }
    }

    /// Whether the kernel places threads on the core.
    pub(super) fn in_kernel(&self, core: u32) -> bool {
        let state = &self.cores[core as usize];
        state.kernel_until > self.now || !state.to_place.is_empty()
    }

    pub(super) fn expect_state(&mut self, thread: u32, state: State, event: &str) -> Result<(), SimError> {
        let is = self.rt.state(thread);
        if is == state {
            return Ok(());
        }
        Err(self.illegal(format!("after `{event}`, thread {} is {is:?}, not {state:?}", thread + 1)))
    }

    fn apply_effects(&mut self, core: u32) -> Result<(), SimError> {
        loop {
            if let Some(what) = self.rt.take_violation() {
                return Err(self.illegal(what));
            }
            if !self.rt.has_effects() {
                return Ok(());
            }
            let mut effects = std::mem::take(&mut self.effects);
            self.rt.take_effects(&mut effects);
            for effect in effects.drain(..) {
                self.apply(core, effect)?;
            }
            self.effects = effects;
        }
    }

    fn apply(&mut self, here: u32, effect: Effect) -> Result<(), SimError> {
        match effect {
            Effect::Choose { thread, core, queue, key, reason } => {
                self.rt.choose(thread, core, queue, key, reason);
                self.apply_effects(here)?;
            }
            Effect::Ready { thread, before, from, to, reason, was_idle } => {
                self.became_ready(here, thread, before, from, to, reason);
                if was_idle {
                    self.wake_core(here, to)?;
                }
            }
            Effect::Run { thread } => self.picked = Some(thread),
            Effect::Arm { thread, ns } => {
                self.task(thread).timer += 1;
                let generation = self.task(thread).timer;
                self.agenda.at(self.now + ns, Due::Timer { thread, generation });
            }
            Effect::Cancel { thread } => self.task(thread).timer += 1,
            Effect::KeepWarm { core, ns } => self.keep_warm(core, ns),
            Effect::Preempt { core } => {
                if self.rt.memory.current(core).is_some() && !self.preempting {
                    let delay =
                        if core == here { 0 } else { u64::from(self.job.machine.costs.remote_wakeup_ns) };
                    self.agenda.at(self.now + delay, Due::Resched { core });
                }
            }
            Effect::Set { set, core, member } => self.emit(core, Kind::Set { set: set as u8, member }),
        }
        Ok(())
    }

    fn became_ready(&mut self, here: u32, thread: u32, before: State, from: u32, to: u32, reason: u32) {
        let (tid, target) = (thread + 1, to as u16);
        match before {
            State::NotQueued => {
                let parent = if let Waker::Thread(parent) = self.cause.waker { parent } else { IDLE };
                self.emit(here, Kind::Fork { parent, child: tid, target });
                let updated = self.model.load_updated(self.now, target);
                self.load.forked(self.now, updated, thread, to);
            }
            State::Blocked => {
                let Cause { waker, sync } = self.cause;
                self.emit(here, Kind::Wakeup { thread: tid, waker, target, sync });
                let updated = self.model.load_updated(self.now, from as u16);
                self.load.woken(self.now, updated, thread, from, to);
            }
            State::Ready | State::Running if from != to => {
                // A thread that leaves its core when it is preempted first stops there.
                if let Some((prev, stop)) = self.core(from).leaving.take() {
                    self.emit(from, Kind::Switch { prev: prev + 1, stop, next: IDLE });
                }
                self.emit(here, Kind::Migrate { thread: tid, from: from as u16, to: target });
                self.load.moved(self.now, thread, from, to);
            }
            _ => {}
        }
        if reason != NO_REASON {
            let seen_khz = self.rt.memory.core(to).seen_khz;
            self.emit(here, Kind::Place { thread: tid, target, reason: reason as u16, seen_khz });
        }
        match before {
            State::Blocked => self.governor_of_target(to, here),
            _ => self.update_util(to, here),
        }
        self.apply_frequencies();
    }

    /// Wakes an idle core that has received a thread. It calls `schedule` after its exit latency.
    fn wake_core(&mut self, here: u32, core: u32) -> Result<(), SimError> {
        self.call(core, Call::ExitIdle { core })?;
        if self.core(core).woken {
            return Ok(());
        }
        let mut latency = match self.core(core).mode {
            // The idle loop polls, so it needs no interrupt.
            Mode::Spin => 0,
            _ => self.model.exit_latency_ns(self.now, core as u16),
        };
        if core != here && self.core(core).mode != Mode::Spin {
            latency += u64::from(self.job.machine.costs.remote_wakeup_ns);
        }
        self.core(core).woken = true;
        self.agenda.at(self.now + latency, Due::Dispatch { core });
        Ok(())
    }

    fn keep_warm(&mut self, core: u32, ns: u64) {
        match self.core(core).mode {
            Mode::Run => self.core(core).warm_ns = ns,
            Mode::Spin => {
                self.core(core).generation += 1;
                let generation = self.core(core).generation;
                self.agenda.at(self.now + ns, Due::SpinEnd { core, generation });
            }
            Mode::Sleep => {
                if ns > 0 && !self.sibling_runs(core) && self.rt.is_idle(core) {
                    self.core(core).mode = Mode::Spin;
                    self.emit(core, Kind::Spin { on: true });
                    self.model.set_active(self.now, core as u16, true);
                    self.keep_warm(core, ns);
                    self.apply_frequencies();
                }
            }
        }
    }
}
