//! The simulation engine: mechanism only. It never depends on which policy it runs.
//!
//! The main loop processes the next event of the queue, or the next frequency change of the machine.
//! Between two of them cores execute at constant frequency. The engine calls the policy's handlers as
//! `runtime/saakm.h` prescribes. They return [`Effect`]s, and the engine applies their delays and costs.
//!
//! Work is counted in millionths of a cycle (kHz x ns), in integers, so that runs are exact and
//! reproducible.

mod cores;
mod policy_events;
mod steps;

use crate::agenda::{Agenda, Due};
use crate::error::SimError;
use crate::kernel_load::KernelLoad;
use crate::native::Native;
use crate::runtime::{Effect, Handle, State, ThreadSpec};
use crate::saakm::{PolicyTable, Set};
use crate::thread::{Task, for_each_child, noise_millionths};
use hearth_machine::Machine;
use hearth_machine::frequency::{Governor, Model};
use hearth_trace::{Event, Kind, Sink, Stop, Waker};
use hearth_workload::Workload;
use std::collections::{HashMap, VecDeque};

const TICK_NS: u64 = 4_000_000;

/// The inputs of a simulation.
pub struct Config<'a> {
    pub workload: &'a Workload,
    pub machine: &'a Machine,
    pub governor: Governor,
    pub policy: &'a Native,
    /// Values of all parameters, in the policy's order.
    pub params: &'a [i64],
    pub seed: u64,
    /// Each `Run` takes `1 - noise` to `1 + noise` of its cycles, depending on the seed.
    pub noise: f64,
    /// Simulated seconds after which the run fails.
    pub limit_s: u64,
}

/// The result of a simulation, besides the events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Raw {
    pub duration_ns: u64,
    pub energy_uj: u64,
    pub events: u64,
    /// Work of the workload's `Run` steps, noise included, in millionths of a cycle.
    pub demanded: u128,
    /// Work that cores executed, in millionths of a cycle.
    pub executed: u128,
}

/// What a core is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// In an idle state.
    Sleep,
    /// The idle loop spins.
    Spin,
    Run,
}

struct CoreState {
    mode: Mode,
    /// A `Dispatch` is scheduled.
    woken: bool,
    /// A `Tick` is scheduled.
    ticking: bool,
    /// Offset of its ticks, in nanoseconds.
    tick_phase: u64,
    /// Generation of `RunEnd` and `SpinEnd`: older ones are cancelled.
    generation: u32,
    /// The current thread's work is accounted up to this time.
    settled: u64,
    /// Its frequency in the trace; 0 before it first runs.
    khz: u32,
    /// Execution rate in millionths of a cycle per nanosecond. Depends on `khz` and the siblings.
    rate: u64,
    /// A `RunEnd` is scheduled.
    timed: bool,
    /// The thread that has left the core and why, until the next `Switch` event.
    leaving: Option<(u32, Stop)>,
    /// How long the idle loop spins when the core next goes idle, in nanoseconds.
    warm_ns: u64,
    /// The other hyperthreads of the physical core.
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
    /// The thread that the last `schedule` selected.
    picked: Option<u32>,
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
                let allowed: Set = thread
                    .affinity
                    .iter()
                    .map(|c| u32::from(*c))
                    .filter(|c| (*c as usize) < nr_cores)
                    .collect();
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
        let model = machine.frequency_model(config.governor);
        let cores = (0..nr_cores as u16)
            .map(|id| CoreState {
                mode: Mode::Sleep,
                woken: false,
                ticking: false,
                tick_phase: phase(u64::from(id)) % TICK_NS,
                generation: 0,
                settled: 0,
                khz: 0,
                rate: 0,
                timed: false,
                leaving: None,
                warm_ns: 0,
                siblings: machine
                    .topology
                    .siblings(id)
                    .iter()
                    .filter(|s| **s != id)
                    .map(|s| u32::from(*s))
                    .collect(),
            })
            .collect();
        Ok(Engine {
            table: policy.table(),
            rt: Handle::new(machine, policy, config.params, &specs),
            load: KernelLoad::new(nr_cores, workload.threads.len()),
            model,
            tasks: workload.threads.iter().map(|t| Task::new(&t.ops)).collect(),
            cores,
            semaphores: workload
                .semaphores
                .iter()
                .map(|n| Semaphore { count: *n, ..Default::default() })
                .collect(),
            barriers: vec![Vec::new(); workload.barriers.len()],
            agenda: Agenda::default(),
            now: 0,
            alive: 0,
            picked: None,
            waker: Waker::Interrupt,
            effects: Vec::new(),
            changed: Vec::new(),
            programs: workload.program_names().into_iter().zip(0..).collect(),
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
                None => return Err(self.deadlock()),
                Some(due) if change < due => {
                    self.advance_to(change);
                    self.model.advance(change);
                    self.apply_frequencies();
                }
                Some(due) => {
                    if due > self.config.limit_s * 1_000_000_000 {
                        return Err(SimError::TimeLimit { limit_s: self.config.limit_s });
                    }
                    self.advance_to(due);
                    if let Some((_, event)) = self.agenda.pop() {
                        self.process(event)?;
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

    /// Starts the threads that no thread forks, at time 0 on a core that the seed selects.
    fn start_roots(&mut self) -> Result<(), SimError> {
        let workload = self.config.workload;
        let mut forked = vec![false; self.tasks.len()];
        for thread in &workload.threads {
            for_each_child(&thread.ops, &mut |child| forked[child as usize] = true);
        }
        let core = noise_millionths(self.config.seed, u32::MAX, u64::MAX, 1.0) % self.cores.len() as u64;
        for root in (0..self.tasks.len()).filter(|t| !forked[*t]) {
            self.fork(core as u32, None, root as u32)?;
        }
        Ok(())
    }

    fn advance_to(&mut self, time: u64) {
        debug_assert!(time >= self.now, "time does not go back");
        self.now = time;
        self.rt.get().set_now(time);
    }

    fn process(&mut self, event: Due) -> Result<(), SimError> {
        match event {
            Due::Dispatch { core } => {
                self.core(core).woken = false;
                self.reschedule(core)
            }
            Due::RunEnd { core, generation } => {
                if self.core(core).generation != generation || self.core(core).mode != Mode::Run {
                    return Ok(());
                }
                self.settle(core);
                self.core(core).timed = false;
                self.continue_thread(core)
            }
            Due::Tick { core } => self.tick(core),
            Due::Resched { core } => {
                if self.rt.get().current(core).is_none() {
                    return Ok(());
                }
                let thread = self.stop_current(core, Stop::Preempted);
                self.on_thread(core, self.table.preempt, thread)?;
                self.expect_state(thread, State::Ready, "preempt")?;
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
                let core = self.rt.get().thread(thread).core;
                self.on_thread(core, self.table.timer, thread)
            }
            Due::SpinEnd { core, generation } => {
                if self.core(core).generation == generation {
                    self.stop_spinning(core);
                }
                Ok(())
            }
        }
    }

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

    /// The error when no event is left but threads have not exited.
    fn deadlock(&mut self) -> SimError {
        let blocked: Vec<u32> =
            (0..self.tasks.len() as u32).filter(|t| self.rt.get().state(*t) == State::Blocked).collect();
        let name = |t: &u32| format!("`{}` ({})", self.config.workload.threads[*t as usize].name, t + 1);
        let mut threads: Vec<String> = blocked.iter().take(5).map(name).collect();
        if blocked.len() > 5 {
            threads.push(format!("and {} more", blocked.len() - 5));
        }
        SimError::Stuck {
            workload: self.config.workload.name.clone(),
            time_ns: self.now,
            threads: threads.join(", "),
        }
    }
}
