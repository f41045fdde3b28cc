//! The simulator: mechanism only. It never asks which policy it runs.
//!
//! One loop takes the next thing that is due (from the agenda, or a frequency change of the
//! machine) and lets it happen. Between two of them nothing changes: cores execute at constant
//! frequency. Handlers of the policy are called as `runtime/saakm.h` says; what they did comes
//! back as [`Effect`]s, which get their time and their cost here.
//!
//! Work is counted in millionths of a cycle, which is kHz x ns: all integers, so that a run is
//! exact and repeatable.

mod cores;
mod policy_events;
mod steps;

use crate::agenda::{Agenda, Due};
use crate::error::SimError;
use crate::kernel_load::KernelLoad;
use crate::native::Native;
use crate::runtime::{Effect, Handle, State, ThreadSpec};
use crate::saakm::{PolicyTable, Set};
use crate::thread::{Task, noise_millionths};
use hearth_machine::Machine;
use hearth_machine::frequency::{Governor, Model};
use hearth_trace::{Event, Kind, Sink, Stop, Waker};
use hearth_workload::{Op, Workload};
use std::collections::{HashMap, VecDeque};

const TICK_NS: u64 = 4_000_000;

/// What to simulate.
pub struct Config<'a> {
    pub workload: &'a Workload,
    pub machine: &'a Machine,
    pub governor: Governor,
    pub policy: &'a Native,
    /// Values of all parameters, in the policy's order.
    pub params: &'a [i64],
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
            here: None,
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

    /// Nothing is due, yet threads live: they wait for each other.
    fn nothing_due(&mut self) -> SimError {
        let name = |t: u32| format!("`{}` ({})", self.config.workload.threads[t as usize].name, t + 1);
        let list = |threads: &[u32]| {
            let mut text: Vec<String> = threads.iter().take(5).map(|t| name(*t)).collect();
            if threads.len() > 5 {
                text.push(format!("and {} more", threads.len() - 5));
            }
            text.join(", ")
        };
        let blocked: Vec<u32> =
            (0..self.tasks.len() as u32).filter(|t| self.rt.get().state(*t) == State::Blocked).collect();
        SimError::Stuck {
            workload: self.config.workload.name.clone(),
            time_ns: self.now,
            threads: list(&blocked),
        }
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
