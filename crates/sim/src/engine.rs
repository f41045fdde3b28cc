//! The simulator: mechanism only. It never asks which policy it runs.
//!
//! One loop takes the next thing that is due (from the agenda, or a frequency change of the
//! machine) and lets it happen. Between two of them nothing changes: cores execute at constant
//! frequency. Handlers of the policy are called as `runtime/saakm.h` says; what they did comes
//! back as [`Effect`]s, which get their time and their cost here.
//!
//! Work is counted in millionths of a cycle, which is kHz x ns: all integers, so that a run is
//! exact and repeatable.

use crate::agenda::{Agenda, Due};
use crate::error::SimError;
use crate::kernel_load::KernelLoad;
use crate::policy::Policy;
use crate::runtime::{Effect, Handle, Runtime, State, ThreadSpec};
use crate::saakm::{Instance, NO_REASON, OnCore, OnThread, PolicyTable, Set};
use crate::thread::{Task, noise_millionths};
use hearth_machine::Machine;
use hearth_machine::frequency::{Governor, Model};
use hearth_trace::{Event, IDLE, Kind, Sink, Stop, Waker};
use hearth_workload::{Op, Workload};
use std::collections::{HashMap, VecDeque};

const TICK_NS: u64 = 4_000_000;

/// What to simulate.
pub struct Config<'a> {
    pub workload: &'a Workload,
    pub machine: &'a Machine,
    pub governor: Governor,
    pub policy: &'a Policy,
    /// Offset into the policy's state, and value; see [`Policy::parameter`].
    pub params: &'a [(u32, i64)],
    pub seed: u64,
    /// Each `Run` takes `1 - noise` to `1 + noise` of its cycles, by the seed.
    pub noise: f64,
    /// Simulated seconds after which the run is given up.
    pub limit_s: u64,
}

/// What came out, beside the events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Raw {
    pub duration_ns: u64,
    pub energy_uj: u64,
    pub events: u64,
    /// Millionths of cycles that the workload asked for, noise included, and that were executed.
    pub demanded: u128,
    pub executed: u128,
}

/// Why a core executes, or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Does {
    /// Sleeps in an idle state.
    Sleep,
    /// The idle loop spins.
    Spin,
    Run,
}

struct CoreState {
    does: Does,
    /// A `Dispatch` is on its way.
    woken: bool,
    /// A `Tick` is on the agenda.
    ticking: bool,
    tick_phase: u64,
    /// Of `Done` and `SpinEnd`: an older one is void.
    generation: u32,
    /// Time up to which the current thread's work is accounted.
    settled: u64,
    khz: u32,
    /// Millionths of a cycle per nanosecond that it executes: from `khz` and its hyperthreads.
    rate: u64,
    /// A `Done` is on the agenda.
    timed: bool,
    /// Thread that ran last and has left, and why: for the next `Switch` event.
    leaving: Option<(u32, Stop)>,
    /// How long the policy wants the idle loop to spin when the core next goes idle.
    warm_ns: u64,
    /// Hyperthreads of the same physical core.
    siblings: Vec<u32>,
}

#[derive(Default)]
struct Semaphore {
    count: u32,
    waiters: VecDeque<u32>,
}

pub struct Engine<'a> {
    config: Config<'a>,
    table: &'a PolicyTable,
    rt: Handle,
    model: Model,
    load: KernelLoad,
    tasks: Vec<Task<'a>>,
    cores: Vec<CoreState>,
    semaphores: Vec<Semaphore>,
    barriers: Vec<Vec<u32>>,
    agenda: Agenda,
    now: u64,
    alive: usize,
    /// Picked by the last call of `schedule`.
    picked: Option<u32>,
    /// The core whose thread acts at the moment.
    here: Option<u32>,
    waker: Waker,
    effects: Vec<Effect>,
    changed: Vec<u16>,
    programs: HashMap<String, u32>,
    sink: &'a mut dyn Sink,
    result: Raw,
}

/// Linux's `sched_prio_to_weight`: 1024 at nice 0, a factor of 1.25 for each step.
fn weight(nice: i8) -> u32 {
    const WEIGHTS: [u32; 40] = [
        88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906,
        3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45,
        36, 29, 23, 18, 15,
    ];
    WEIGHTS[(i32::from(nice) + 20).clamp(0, 39) as usize]
}

impl<'a> Engine<'a> {
    pub fn new(config: Config<'a>, sink: &'a mut dyn Sink) -> Result<Self, SimError> {
        let Config { workload, machine, policy, .. } = config;
        let nr_cores = machine.topology.core_count();
        let specs = workload
            .threads
            .iter()
            .map(|thread| {
                let allowed: Set =
                    thread.affinity.iter().map(|c| u32::from(*c)).filter(|c| (*c as usize) < nr_cores).collect();
                let affinity = (!thread.affinity.is_empty()).then_some(allowed);
                if affinity.is_some_and(|set| set.word.iter().all(|w| *w == 0)) {
                    return Err(SimError::Affinity {
                        thread: thread.name.clone(),
                        machine: machine.name.clone(),
                        named: format!("{:?}", thread.affinity),
                        last: nr_cores - 1,
                    });
                }
                Ok(ThreadSpec { weight: weight(thread.nice), affinity })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let phase = |core: u64| noise_millionths(config.seed, u32::MAX, core, 1.0) * TICK_NS / 2 / 1_000_000;
        let model = Model::new(machine, config.governor);
        let cores = (0..nr_cores as u16)
            .map(|id| CoreState {
                does: Does::Sleep,
                woken: false,
                ticking: false,
                tick_phase: phase(u64::from(id)) % TICK_NS,
                generation: 0,
                settled: 0,
                khz: model.khz(id),
                rate: 0,
                timed: false,
                leaving: None,
                warm_ns: 0,
                siblings: machine.topology.siblings(id).iter().filter(|s| **s != id).map(|s| u32::from(*s)).collect(),
            })
            .collect();
        Ok(Engine {
            table: policy.table(),
            rt: Runtime::new(machine, policy, config.params, &specs),
            load: KernelLoad::new(nr_cores, workload.threads.len()),
            model,
            tasks: workload.threads.iter().map(|t| Task::new(&t.ops)).collect(),
            cores,
            semaphores: workload.semaphores.iter().map(|n| Semaphore { count: *n, ..Default::default() }).collect(),
            barriers: vec![Vec::new(); workload.barriers.len()],
            agenda: Agenda::default(),
            now: 0,
            alive: 0,
            picked: None,
            here: None,
            waker: Waker::Interrupt,
            effects: Vec::new(),
            changed: Vec::new(),
            programs: crate::batch::program_names(workload).into_iter().zip(0..).collect(),
            sink,
            result: Raw { duration_ns: 0, energy_uj: 0, events: 0, demanded: 0, executed: 0 },
            config,
        })
    }

    pub fn run(mut self) -> Result<Raw, SimError> {
        self.start_roots()?;
        let mut steps = 0u64;
        while self.alive > 0 {
            let due = self.agenda.next_time();
            let change = self.model.next_change();
            match due {
                None => return Err(self.nothing_due()),
                Some(due) if change < due => {
                    self.to(change);
                    self.model.advance(change);
                    self.retime();
                }
                Some(due) => {
                    if due > self.config.limit_s * 1_000_000_000 {
                        return Err(SimError::TimeLimit { limit_s: self.config.limit_s });
                    }
                    self.to(due);
                    if let Some((_, what)) = self.agenda.pop() {
                        self.happen(what)?;
                    }
                }
            }
            steps += 1;
            if cfg!(debug_assertions) && steps.is_multiple_of(256) {
                self.rt.get().check().map_err(|what| self.illegal(what))?;
            }
        }
        self.result.duration_ns = self.now;
        self.result.energy_uj = self.model.energy_uj(self.now);
        Ok(self.result)
    }

    /// Threads that nobody forks start at time 0, on a core that the seed chooses.
    fn start_roots(&mut self) -> Result<(), SimError> {
        let workload = self.config.workload;
        let mut forked = vec![false; self.tasks.len()];
        for thread in &workload.threads {
            mark_forked(&thread.ops, &mut forked);
        }
        let core = noise_millionths(self.config.seed, u32::MAX, u64::MAX, 1.0) % self.cores.len() as u64;
        for root in (0..self.tasks.len()).filter(|t| !forked[*t]) {
            self.fork(core as u32, None, root as u32)?;
        }
        Ok(())
    }

    fn to(&mut self, time: u64) {
        debug_assert!(time >= self.now, "time runs backwards");
        self.now = time;
        self.rt.get().set_now(time);
    }

    fn happen(&mut self, what: Due) -> Result<(), SimError> {
        match what {
            Due::Dispatch { core } => {
                self.core(core).woken = false;
                self.reschedule(core)
            }
            Due::Done { core, generation } => {
                if self.core(core).generation != generation || self.core(core).does != Does::Run {
                    return Ok(());
                }
                self.settle(core);
                self.core(core).timed = false;
                self.continue_on(core)
            }
            Due::Tick { core } => self.tick(core),
            Due::Resched { core } => {
                if self.rt.get().current(core).is_none() {
                    return Ok(());
                }
                let thread = self.stop_current(core, Stop::Preempted);
                self.on_thread(core, self.table.preempt, thread, "preempt", State::Ready)?;
                self.reschedule(core)
            }
            Due::Wake { thread } => {
                let core = self.rt.get().thread(thread).core;
                self.wake(core, Waker::Interrupt, thread)
            }
            Due::Timer { thread, generation } => {
                if self.task(thread).timer != generation || self.rt.get().state(thread) != State::Ready {
                    return Ok(());
                }
                let t = self.rt.thread(thread);
                let core = self.rt.get().thread(thread).core;
                self.call(core, |table, s| {
                    if let Some(handler) = table.timer {
                        // SAFETY: the handler of this policy, with its instance and one of its threads.
                        unsafe { handler(s, t) }
                    }
                })
            }
            Due::SpinEnd { core, generation } => {
                if self.core(core).generation == generation {
                    self.stop_spinning(core);
                }
                Ok(())
            }
        }
    }

    // ---- execution ----------------------------------------------------------------------

    /// The core looks for something to run, and runs until a thread executes or nothing is left.
    fn reschedule(&mut self, core: u32) -> Result<(), SimError> {
        loop {
            self.picked = None;
            self.on_core(core, self.table.schedule)?;
            if self.picked.is_none() && self.rt.get().core(core).nr_ready == 0 && self.rt.get().current(core).is_none() {
                self.on_core(core, self.table.newly_idle)?;
                if self.rt.get().core(core).nr_ready > 0 {
                    self.on_core(core, self.table.schedule)?;
                }
            }
            let Some(thread) = self.picked.take() else {
                return self.go_idle(core);
            };
            self.start(core, thread);
            if self.step(core)? {
                return Ok(());
            }
        }
    }

    /// The current thread goes on after what it executed.
    fn continue_on(&mut self, core: u32) -> Result<(), SimError> {
        if self.step(core)? { Ok(()) } else { self.reschedule(core) }
    }

    fn start(&mut self, core: u32, thread: u32) {
        self.rt.get().start(thread, core);
        let (prev, stop) = self.core(core).leaving.take().map_or((IDLE, Stop::Preempted), |(t, s)| (t + 1, s));
        let mut stall = 0;
        if prev != thread + 1 {
            self.emit(core, Kind::Switch { prev, stop, next: thread + 1 });
            stall = u64::from(self.config.machine.costs.context_switch_ns);
        }
        if let Some(last) = self.task(thread).last_core.replace(core) {
            stall += u64::from(self.config.machine.migration_ns(last as u16, core as u16));
        }
        self.task(thread).timer += 1;
        self.load.started(self.now, thread, core);
        let was = std::mem::replace(&mut self.core(core).does, Does::Run);
        self.core(core).warm_ns = 0;
        self.core(core).settled = self.now + stall;
        match was {
            Does::Sleep => self.model.set_active(self.now, core as u16, true),
            Does::Spin => self.emit(core, Kind::Spin { on: false }),
            Does::Run => {}
        }
        if was != Does::Run {
            for i in 0..self.core(core).siblings.len() {
                let sibling = self.core(core).siblings[i];
                match self.core(sibling).does {
                    Does::Spin => self.stop_spinning(sibling),
                    // It has lost half of the physical core.
                    Does::Run => self.change_rate(sibling),
                    Does::Sleep => {}
                }
            }
        }
        self.change_rate(core);
        self.set_util(core);
        self.retime();
        if !self.core(core).ticking {
            let phase = self.core(core).tick_phase;
            let periods = (self.now + TICK_NS - phase) / TICK_NS;
            self.core(core).ticking = true;
            self.agenda.at(phase + periods * TICK_NS, Due::Tick { core });
        }
    }

    /// Does the current thread's steps up to the next that takes time; false if the thread left
    /// the core.
    fn step(&mut self, core: u32) -> Result<bool, SimError> {
        let Some(thread) = self.rt.get().current(core) else { return Ok(false) };
        loop {
            if self.task(thread).left > 0 {
                self.time(core);
                return Ok(true);
            }
            if self.task(thread).spins_at.take().is_some() {
                self.block(core, thread)?;
                return Ok(false);
            }
            let Some(op) = self.task(thread).cursor.next() else {
                self.exit(core, thread)?;
                return Ok(false);
            };
            let blocks = match op {
                Op::Run(cycles) => {
                    let task = self.task(thread);
                    task.runs += 1;
                    let factor = noise_millionths(self.config.seed, thread, self.task(thread).runs, self.config.noise);
                    let work = cycles.saturating_mul(factor).min(u64::MAX / 2);
                    self.task(thread).left = work;
                    self.result.demanded += u128::from(work);
                    false
                }
                Op::Fork(child) => {
                    self.fork(core, Some(thread), *child)?;
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
                        Some(waiter) => self.wake(core, Waker::Thread(thread + 1), waiter)?,
                        None => self.semaphores[*sem as usize].count += 1,
                    }
                    false
                }
                Op::Wait(sem) => {
                    let sem = &mut self.semaphores[*sem as usize];
                    let wait = sem.count == 0;
                    if wait {
                        sem.waiters.push_back(thread);
                    } else {
                        sem.count -= 1;
                    }
                    wait
                }
                Op::Barrier(b) => self.barrier(core, thread, *b)?,
                Op::Yield => {
                    self.stop_current(core, Stop::Yielded);
                    self.on_thread(core, self.table.yield_, thread, "yield", State::Ready)?;
                    return Ok(false);
                }
                Op::Exec(program) => {
                    let name = self.programs.get(program.as_str()).copied().unwrap_or_default();
                    self.emit(core, Kind::Exec { thread: thread + 1, name });
                    false
                }
                Op::Repeat(..) => unreachable!("the cursor unrolls repeats"),
            };
            if blocks {
                self.block(core, thread)?;
                return Ok(false);
            }
        }
    }

    fn block(&mut self, core: u32, thread: u32) -> Result<(), SimError> {
        self.stop_current(core, Stop::Blocked);
        self.on_thread(core, self.table.block, thread, "block", State::Blocked)?;
        self.load.blocked(self.now, thread, core);
        Ok(())
    }

    /// The thread arrives at a barrier. The last one lets all go on; the others spin for a while,
    /// then block. True: it blocks now.
    fn barrier(&mut self, core: u32, thread: u32, barrier: u32) -> Result<bool, SimError> {
        let waiting = self.barriers[barrier as usize].len() as u32;
        if waiting + 1 < self.config.workload.barriers[barrier as usize] {
            self.barriers[barrier as usize].push(thread);
            let spin = self.config.workload.barrier_spin;
            if spin > 0 {
                let machine = self.config.machine;
                let nominal = machine.frequency.nominal_khz;
                let task = self.task(thread);
                task.spins_at = Some(barrier);
                task.left = spin.saturating_mul(machine.costs.work_khz(nominal, nominal));
            }
            return Ok(spin == 0);
        }
        for waiter in std::mem::take(&mut self.barriers[barrier as usize]) {
            if self.task(waiter).spins_at.is_none() {
                self.wake(core, Waker::Thread(thread + 1), waiter)?;
                continue;
            }
            // It spins, or would if it had a core: it sees the barrier open.
            let on = self.rt.get().thread(waiter).core;
            let runs = self.rt.get().current(on) == Some(waiter);
            if runs {
                self.settle(on);
            }
            self.task(waiter).spins_at = None;
            self.task(waiter).left = 0;
            if runs {
                self.time(on);
            }
        }
        Ok(false)
    }

    fn exit(&mut self, core: u32, thread: u32) -> Result<(), SimError> {
        self.task(thread).exited = true;
        self.emit(core, Kind::Exit { thread: thread + 1 });
        for joiner in std::mem::take(&mut self.task(thread).joiners) {
            self.wake(core, Waker::Thread(thread + 1), joiner)?;
        }
        self.stop_current(core, Stop::Exited);
        self.on_thread(core, self.table.terminate, thread, "terminate", State::Terminated)?;
        self.load.exited(self.now, thread, core);
        self.alive -= 1;
        Ok(())
    }

    /// Takes the current thread off the core; who calls tells the policy why.
    fn stop_current(&mut self, core: u32, stop: Stop) -> u32 {
        self.settle(core);
        let thread = self.rt.get().current(core).unwrap_or_default();
        self.rt.get().stop(core);
        self.core(core).generation += 1;
        self.core(core).timed = false;
        self.core(core).leaving = Some((thread, stop));
        self.load.stopped(self.now, thread, core);
        thread
    }

    fn go_idle(&mut self, core: u32) -> Result<(), SimError> {
        if let Some((prev, stop)) = self.core(core).leaving.take() {
            self.emit(core, Kind::Switch { prev: prev + 1, stop, next: IDLE });
        }
        self.rt.get().set_idle(core);
        self.on_core(core, self.table.enter_idle)?;
        let was = self.core(core).does;
        if was == Does::Run {
            self.core(core).does = Does::Spin;
            for i in 0..self.core(core).siblings.len() {
                let sibling = self.core(core).siblings[i];
                if self.core(sibling).does == Does::Run {
                    // It has the physical core for itself again.
                    self.change_rate(sibling);
                }
            }
            let spin = std::mem::take(&mut self.core(core).warm_ns);
            if spin > 0 && !self.sibling_runs(core) {
                self.emit(core, Kind::Spin { on: true });
                self.core(core).generation += 1;
                let generation = self.core(core).generation;
                self.agenda.at(self.now + spin, Due::SpinEnd { core, generation });
            } else {
                self.core(core).does = Does::Sleep;
                self.model.set_active(self.now, core as u16, false);
            }
        }
        self.set_util(core);
        self.retime();
        // Something may have come while the policy was told.
        if self.rt.get().core(core).nr_ready > 0 && !self.core(core).woken {
            self.core(core).woken = true;
            self.agenda.at(self.now, Due::Dispatch { core });
        }
        Ok(())
    }

    fn stop_spinning(&mut self, core: u32) {
        if self.core(core).does == Does::Spin {
            self.core(core).does = Does::Sleep;
            self.core(core).generation += 1;
            self.emit(core, Kind::Spin { on: false });
            self.model.set_active(self.now, core as u16, false);
            self.retime();
        }
    }

    fn sibling_runs(&mut self, core: u32) -> bool {
        let siblings = &self.cores[core as usize].siblings;
        siblings.iter().any(|s| self.cores[*s as usize].does == Does::Run)
    }

    /// Accounts the current thread's work up to now, at the rate that held since the last time.
    fn settle(&mut self, core: u32) {
        let now = self.now;
        let Some(thread) = self.rt.get().current(core) else { return };
        let CoreState { settled, rate, .. } = self.core(core);
        if now > *settled {
            let possible = (now - *settled).saturating_mul(*rate);
            *settled = now;
            let done = possible.min(self.task(thread).left);
            let task = self.task(thread);
            task.left -= done;
            if task.spins_at.is_none() {
                self.result.executed += u128::from(done);
            }
        }
    }

    /// The frequency or a hyperthread changed: what was done so far is accounted at the old rate,
    /// and the rest is timed anew.
    fn change_rate(&mut self, core: u32) {
        let machine = self.config.machine;
        let mut rate = machine.costs.work_khz(self.core(core).khz, machine.frequency.nominal_khz);
        if self.sibling_runs(core) {
            rate = rate * u64::from(self.config.machine.costs.smt_share_permille) / 1000;
        }
        if rate == self.core(core).rate {
            return;
        }
        self.settle(core);
        self.core(core).rate = rate;
        if self.core(core).timed {
            self.time(core);
        }
    }

    /// Puts the end of the current thread's `Run` on the agenda.
    fn time(&mut self, core: u32) {
        let Some(thread) = self.rt.get().current(core) else { return };
        let left = self.task(thread).left;
        let now = self.now;
        let state = self.core(core);
        let due = state.settled.max(now) + left.div_ceil(state.rate.max(1));
        state.timed = true;
        state.generation += 1;
        let generation = state.generation;
        self.agenda.at(due, Due::Done { core, generation });
    }

    /// Follows the frequency changes that the machine made.
    fn retime(&mut self) {
        let mut changed = std::mem::take(&mut self.changed);
        self.model.drain_changed(|physical| changed.push(physical));
        for physical in changed.drain(..) {
            for i in 0..self.config.machine.topology.cores_of_physical(physical).len() {
                let core = self.config.machine.topology.cores_of_physical(physical)[i];
                let khz = self.model.khz(core);
                if khz != self.core(u32::from(core)).khz {
                    self.core(u32::from(core)).khz = khz;
                    self.change_rate(u32::from(core));
                    self.emit(u32::from(core), Kind::Frequency { khz });
                }
            }
        }
        self.changed = changed;
    }

    fn tick(&mut self, core: u32) -> Result<(), SimError> {
        let Some(thread) = self.rt.get().current(core) else {
            self.core(core).ticking = false;
            return Ok(());
        };
        let khz = self.model.tick(self.now, core as u16);
        self.rt.get().core(core).seen_khz = khz;
        self.emit(core, Kind::Tick { khz });
        self.agenda.at(self.now + TICK_NS, Due::Tick { core });
        self.load.tick(self.now, thread, core);
        self.set_util(core);
        self.retime();
        let t = self.rt.thread(thread);
        self.call(core, |table, s| {
            if let Some(handler) = table.tick {
                // SAFETY: as in `happen`.
                unsafe { handler(s, t) }
            }
        })?;
        self.on_core(core, self.table.balance)
    }

    fn set_util(&mut self, core: u32) {
        if self.config.governor == Governor::Schedutil {
            let util = self.load.util(self.now, core);
            self.model.set_util(self.now, core as u16, util);
        }
    }

    // ---- wake-ups and forks ----------------------------------------------------------------

    fn fork(&mut self, core: u32, parent: Option<u32>, child: u32) -> Result<(), SimError> {
        if self.rt.get().state(child) != State::NotQueued || self.task(child).exited {
            return Err(SimError::Workload {
                workload: self.config.workload.name.clone(),
                what: format!("thread {child} is forked twice"),
            });
        }
        self.alive += 1;
        self.rt.get().thread(child).core = core;
        let t = self.rt.thread(child);
        self.waker = parent.map_or(Waker::Interrupt, |p| Waker::Thread(p + 1));
        self.call(core, |table, s| {
            if let Some(handler) = table.new_thread {
                // SAFETY: as in `happen`.
                unsafe { handler(s, t, core) }
            }
        })?;
        self.must_be(child, State::Ready, "new")
    }

    /// `thread` may go on: `waker` on `core` says so.
    fn wake(&mut self, core: u32, waker: Waker, thread: u32) -> Result<(), SimError> {
        self.waker = waker;
        let t = self.rt.thread(thread);
        self.call(core, |table, s| {
            if let Some(handler) = table.unblock {
                // SAFETY: as in `happen`.
                unsafe { handler(s, t, core) }
            }
        })?;
        self.must_be(thread, State::Ready, "unblock")
    }

    // ---- the policy ------------------------------------------------------------------------

    /// Calls a handler on behalf of `core`, then lets its effects happen.
    fn call(
        &mut self,
        core: u32,
        handler: impl FnOnce(&PolicyTable, *mut Instance),
    ) -> Result<(), SimError> {
        let table = self.table;
        let outer = self.here.replace(core);
        self.rt.call(|s| handler(table, s));
        let outcome = self.settle_effects(core);
        self.here = outer;
        outcome
    }

    fn on_core(&mut self, core: u32, handler: OnCore) -> Result<(), SimError> {
        match handler {
            // SAFETY: as in `happen`.
            Some(handler) => self.call(core, |_, s| unsafe { handler(s, core) }),
            None => Ok(()),
        }
    }

    fn on_thread(
        &mut self,
        core: u32,
        handler: OnThread,
        thread: u32,
        event: &str,
        after: State,
    ) -> Result<(), SimError> {
        let t = self.rt.thread(thread);
        if let Some(handler) = handler {
            // SAFETY: as in `happen`.
            self.call(core, |_, s| unsafe { handler(s, t) })?;
        }
        self.must_be(thread, after, event)
    }

    fn must_be(&mut self, thread: u32, state: State, event: &str) -> Result<(), SimError> {
        let is = self.rt.get().state(thread);
        if is == state {
            return Ok(());
        }
        Err(self.illegal(format!("after `{event}`, thread {} is {is:?} instead of {state:?}", thread + 1)))
    }

    fn settle_effects(&mut self, core: u32) -> Result<(), SimError> {
        loop {
            if let Some(what) = self.rt.get().broken() {
                return Err(self.illegal(what));
            }
            let mut effects = std::mem::take(&mut self.effects);
            self.rt.get().take_effects(&mut effects);
            if effects.is_empty() {
                self.effects = effects;
                return Ok(());
            }
            for effect in effects.drain(..) {
                self.effect(core, effect)?;
            }
            self.effects = effects;
        }
    }

    fn effect(&mut self, here: u32, effect: Effect) -> Result<(), SimError> {
        match effect {
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
                if self.rt.get().current(core).is_some() {
                    let delay = if core == here { 0 } else { u64::from(self.config.machine.costs.remote_wakeup_ns) };
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
                let parent = if let Waker::Thread(parent) = self.waker { parent } else { IDLE };
                self.emit(here, Kind::Fork { parent, child: tid, target });
                self.load.forked(self.now, thread, to);
            }
            State::Blocked => {
                self.emit(here, Kind::Wakeup { thread: tid, waker: self.waker, target });
                self.load.woken(self.now, thread, from, to);
            }
            State::Ready if from != to => {
                self.emit(here, Kind::Migrate { thread: tid, from: from as u16, to: target });
                self.load.moved(self.now, thread, from, to);
            }
            _ => {}
        }
        if reason != NO_REASON {
            let seen_khz = self.rt.get().core(to).seen_khz;
            self.emit(here, Kind::Place { thread: tid, target, reason: reason as u16, seen_khz });
        }
        self.set_util(to);
        self.retime();
    }

    /// An idle core has got a thread: it leaves its idle state, and schedules.
    fn wake_core(&mut self, here: u32, core: u32) -> Result<(), SimError> {
        let idle_since = self.rt.get().core(core).idle_since as u64;
        self.on_core(core, self.table.exit_idle)?;
        if self.core(core).woken {
            return Ok(());
        }
        let mut latency = match self.core(core).does {
            // The idle loop sees the thread without an interrupt.
            Does::Spin => 0,
            _ => self.config.machine.exit_latency_after(self.now - idle_since),
        };
        if core != here && self.core(core).does != Does::Spin {
            latency += u64::from(self.config.machine.costs.remote_wakeup_ns);
        }
        self.core(core).woken = true;
        self.agenda.at(self.now + latency, Due::Dispatch { core });
        Ok(())
    }

    fn keep_warm(&mut self, core: u32, ns: u64) {
        match self.core(core).does {
            Does::Run => self.core(core).warm_ns = ns,
            Does::Spin => {
                self.core(core).generation += 1;
                let generation = self.core(core).generation;
                self.agenda.at(self.now + ns, Due::SpinEnd { core, generation });
            }
            Does::Sleep => {
                if ns > 0 && !self.sibling_runs(core) && self.rt.get().is_idle(core) {
                    self.core(core).does = Does::Spin;
                    self.emit(core, Kind::Spin { on: true });
                    self.model.set_active(self.now, core as u16, true);
                    self.keep_warm(core, ns);
                    self.retime();
                }
            }
        }
    }

    // ---- small things ------------------------------------------------------------------------

    fn core(&mut self, core: u32) -> &mut CoreState {
        &mut self.cores[core as usize]
    }

    fn task(&mut self, thread: u32) -> &mut Task<'a> {
        &mut self.tasks[thread as usize]
    }

    fn emit(&mut self, core: u32, kind: Kind) {
        self.result.events += 1;
        self.sink.event(&Event { time: self.now, core: core as u16, kind });
    }

    fn illegal(&self, what: String) -> SimError {
        SimError::Illegal { policy: self.config.policy.name().to_owned(), time_ns: self.now, what }
    }

    /// Nothing is due, yet threads live: either they wait for each other, or the policy forgot some.
    fn nothing_due(&mut self) -> SimError {
        let name = |t: u32| format!("`{}` ({})", self.config.workload.threads[t as usize].name, t + 1);
        let list = |threads: &[u32]| {
            let mut text: Vec<String> = threads.iter().take(5).map(|t| name(*t)).collect();
            if threads.len() > 5 {
                text.push(format!("and {} more", threads.len() - 5));
            }
            text.join(", ")
        };
        let ready: Vec<u32> = self.rt.get().ready_threads().map(|(t, _)| t).collect();
        if !ready.is_empty() {
            return SimError::Lost {
                policy: self.config.policy.name().to_owned(),
                time_ns: self.now,
                count: ready.len(),
                threads: list(&ready),
            };
        }
        let blocked: Vec<u32> =
            (0..self.tasks.len() as u32).filter(|t| self.rt.get().state(*t) == State::Blocked).collect();
        SimError::Stuck { workload: self.config.workload.name.clone(), time_ns: self.now, threads: list(&blocked) }
    }
}

fn mark_forked(ops: &[Op], forked: &mut [bool]) {
    for op in ops {
        match op {
            Op::Fork(child) => forked[*child as usize] = true,
            Op::Repeat(_, ops) => mark_forked(ops, forked),
            _ => {}
        }
    }
}
