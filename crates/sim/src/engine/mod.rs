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
mod queued;
mod steps;

use crate::agenda::{Agenda, Due};
use crate::batch::Job;
use crate::error::SimError;
use crate::kernel_load::KernelLoad;
use crate::runtime::{Effect, Remembered, Simulated, State, ThreadSpec};
use crate::saakm::{Call, Host, Set};
use crate::thread::{Cause, Task, for_each_child, noise_millionths};
use hearth_machine::Scaling;
use hearth_machine::frequency::Model;
use hearth_policy::QueuedWakeups;
use hearth_trace::{EnergySampler, Event, Kind, Sink, Stop, Waker};
use hearth_workload::{Thread, Workload};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::Ordering;

pub use hearth_base::constants::TICK_NS;

/// Interval of the first samples of energy. It doubles when a run is long.
pub const ENERGY_INTERVAL: u64 = 100_000;
/// Number of events that the sink receives at once: its code and data then stay in the cache.
const EMITTED: usize = 256;
/// Events in a row at one time after which a policy is to blame.
const STANDSTILL: u32 = 1_000_000;
/// Pending events from which on cancelled ones are dropped, at least. Simulations of long runs stay below.
const MANY_PENDING: usize = 1 << 16;
/// Pending events that are not cancelled, at most, for each thread and each core.
const PENDING_OF_ONE: usize = 8;

/// What a run leaves to the next one on the same machine.
pub struct Memory {
    now: u64,
    model: Model,
    remembered: Remembered,
    /// Members of the policy's sets, for the next trace.
    sets: BTreeSet<(u8, u16)>,
    /// The core that the workload used last.
    last_used: u32,
}

/// Keeps the members of the policy's sets.
#[derive(Default)]
struct Members(BTreeSet<(u8, u16)>);

impl Sink for Members {
    fn event(&mut self, event: &Event) {
        if let Kind::Set { set, member } = event.kind {
            let entry = (set, event.core);
            if member {
                self.0.insert(entry)
            } else {
                self.0.remove(&entry)
            };
        }
    }
}

/// The result of a simulation, besides the events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Raw {
    pub duration_ns: u64,
    /// `None`: the machine's power is unknown.
    pub energy_uj: Option<u64>,
    pub energy_by_time: Vec<(u64, u64)>,
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
    /// It calls the governor at its `Dispatch`.
    governor_due: bool,
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
    /// Execution rate in millionths of a cycle per nanosecond.
    rate: u64,
    /// The frequency, and whether a sibling runs, of which `rate` was computed.
    rated: (u32, bool),
    /// A `RunEnd` is scheduled.
    timed: bool,
    /// The thread that has left the core and why, until the next `Switch` event.
    leaving: Option<(u32, Stop)>,
    /// How long the idle loop spins when the core next goes idle, in nanoseconds.
    warm_ns: u64,
    /// The kernel searches a core for a thread until then.
    kernel_until: u64,
    /// Threads that it places afterwards, and who forks or wakes them.
    to_place: VecDeque<(Cause, u32)>,
    /// The other hyperthreads of the physical core.
    siblings: Vec<u32>,
}

#[derive(Default)]
struct Semaphore {
    count: u32,
    /// Its posts are synchronous wake-ups.
    sync: bool,
    waiters: VecDeque<u32>,
}

fn semaphores(workload: &Workload) -> Vec<Semaphore> {
    let new = |count: &u32| Semaphore { count: *count, ..Semaphore::default() };
    let mut all: Vec<Semaphore> = workload.semaphores.iter().map(new).collect();
    workload.sync.iter().for_each(|semaphore| all[*semaphore as usize].sync = true);
    all
}

pub struct Engine<'a> {
    job: &'a Job<'a>,
    rt: Host<'a, Simulated>,
    model: Model,
    /// Work of a hand-over, in millionths of a cycle. 0 if the world has none.
    handover: u64,
    queued: QueuedWakeups,
    load: KernelLoad,
    tasks: Vec<Task<'a>>,
    cores: Vec<CoreState>,
    semaphores: Vec<Semaphore>,
    barriers: Vec<Vec<u32>>,
    /// Beginning of the period of each timer; `None` before its first use.
    timers: Vec<Option<u64>>,
    agenda: Agenda,
    now: u64,
    /// Time 0 of the trace.
    origin: u64,
    /// Threads of the workload that have begun and not exited, and those that wait for another thread.
    alive: usize,
    waiting: usize,
    last_used: u32,
    /// The thread that the last `schedule` selected.
    picked: Option<u32>,
    /// The event is `preempt`, which preempts no core.
    preempting: bool,
    cause: Cause,
    effects: Vec<Effect>,
    changed: Vec<u16>,
    programs: HashMap<String, u32>,
    /// Events that `sink` has not received yet.
    emitted: Vec<Event>,
    sink: &'a mut dyn Sink,
    /// Energy of the machine at time 0 of the trace, in microjoules.
    before_uj: u64,
    energy: EnergySampler,
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
    /// `params` has the values of all parameters, in the policy's order. `background` are threads that are no part of the
    /// workload: they follow its threads in number.
    pub fn new(
        job: &'a Job<'a>,
        params: &[i64],
        background: &'a [Thread],
        sink: &'a mut dyn Sink,
    ) -> Result<Self, SimError> {
        let Job { workload, machine, policy, .. } = *job;
        let nr_cores = machine.topology.core_count();
        let threads = || workload.threads.iter().chain(background);
        let specs = threads()
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
        let phase = |core: u64| noise_millionths(job.seed, u32::MAX, core, 1.0) * TICK_NS / 2 / 1_000_000;
        let model = machine.frequency_model(Scaling { driver: job.driver, governor: job.governor });
        let cores = (0..nr_cores as u16)
            .map(|id| CoreState {
                mode: Mode::Sleep,
                woken: false,
                governor_due: false,
                ticking: false,
                tick_phase: phase(u64::from(id)) % TICK_NS,
                generation: 0,
                settled: 0,
                khz: 0,
                rate: 0,
                rated: (0, false),
                timed: false,
                leaving: None,
                warm_ns: 0,
                kernel_until: 0,
                to_place: VecDeque::new(),
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
            rt: Host::new(machine, policy, params, &specs),
            // Schedulers of sched_ext do not set SCX_OPS_ALLOW_QUEUED_WAKEUP.
            queued: match job.world.sched_ext {
                true => QueuedWakeups::None,
                false => policy.policy().queued_wakeups(),
            },
            load: KernelLoad::new(nr_cores, specs.len()),
            model,
            handover: match job.world.handovers {
                true => u64::from(machine.costs.handover_ns) * u64::from(machine.frequency.nominal_khz),
                false => 0,
            },
            tasks: threads().map(|t| Task::new(&t.ops)).collect(),
            cores,
            semaphores: semaphores(workload),
            barriers: vec![Vec::new(); workload.barriers.len()],
            timers: vec![None; workload.timers.len()],
            agenda: Agenda::default(),
            now: 0,
            origin: 0,
            alive: 0,
            waiting: 0,
            last_used: 0,
            picked: None,
            preempting: false,
            cause: Waker::Interrupt.into(),
            effects: Vec::new(),
            changed: Vec::new(),
            programs: workload.program_names().into_iter().zip(0..).collect(),
            emitted: Vec::with_capacity(EMITTED),
            sink,
            before_uj: 0,
            result: Raw::default(),
            energy: EnergySampler::new(ENERGY_INTERVAL),
            job,
        })
    }

    /// Runs the workload to its last exit, on the machine that an earlier run left, or on a cold one. The sink
    /// receives all events, also those before an error.
    pub fn run(mut self, after: Option<Memory>) -> Result<Raw, SimError> {
        let first = after.as_ref().map_or_else(|| self.cold_core(), |memory| memory.last_used);
        if let Some(memory) = after {
            self.recall(memory);
        }
        self.before_uj = self.model.energy_uj(self.now).unwrap_or(0);
        let ended = self.begin(first).and_then(|()| self.advance(u64::MAX));
        self.deliver();
        ended?;
        self.result.duration_ns = self.now - self.origin;
        let (duration, energy) = (self.result.duration_ns, self.energy_uj());
        self.result.energy_uj = energy;
        if let Some(uj) = energy {
            self.result.energy_by_time = self.energy.finish(duration, uj);
        }
        Ok(self.result)
    }

    /// Energy since the beginning of the run; `None` if the machine's power is unknown.
    fn energy_uj(&mut self) -> Option<u64> {
        self.model.energy_uj(self.now).map(|uj| uj - self.before_uj)
    }

    /// Takes a sample of the energy, if it is time. The machine must not change at this moment: it would have changed
    /// before what is due now.
    fn sample_energy(&mut self) {
        let at = self.now - self.origin;
        if self.energy.is_due(at)
            && self.model.next_change() > self.now
            && let Some(uj) = self.energy_uj()
        {
            self.energy.take(at, uj);
        }
    }

    /// Runs the first `ns` of the workload, on a cold machine, and stops it there.
    pub fn warm_up(
        job: &'a Job<'a>,
        params: &[i64],
        background: &'a [Thread],
        ns: u64,
    ) -> Result<Memory, SimError> {
        let mut members = Members::default();
        let mut engine = Engine::new(job, params, background, &mut members)?;
        let first = engine.cold_core();
        engine.begin(first)?;
        engine.advance(ns)?;
        engine.stop_all()?;
        engine.deliver();
        let (now, last_used, remembered) = (engine.now, engine.last_used, engine.rt.remember());
        let model = engine.model;
        Ok(Memory { now, model, remembered, last_used, sets: members.0 })
    }

    /// The core on which a run without an earlier one starts.
    fn cold_core(&self) -> u32 {
        let random = noise_millionths(self.job.seed, u32::MAX, u64::MAX, 1.0);
        (random % self.cores.len() as u64) as u32
    }

    /// Stops all threads, wherever they are, so that all cores are idle.
    fn stop_all(&mut self) -> Result<(), SimError> {
        for core in 0..self.cores.len() as u32 {
            if self.rt.memory.current(core).is_some() {
                let thread = self.stop_current(core, Stop::Exited);
                self.call(core, Call::Terminate { thread })?;
            }
            if !self.rt.is_idle(core) {
                self.rt.set_idle(core);
                self.call(core, Call::EnterIdle { core })?;
            }
            self.model.set_active(self.now, core as u16, false);
            self.model.update_util(self.now, core as u16, core as u16, || 0);
        }
        Ok(())
    }

    fn recall(&mut self, memory: Memory) {
        self.origin = memory.now;
        self.advance_to(memory.now);
        self.model = memory.model;
        self.model.drain_changed(|_| ());
        self.rt.recall(&memory.remembered);
        for core in 0..self.cores.len() as u32 {
            let khz = self.model.khz(core as u16);
            self.core(core).khz = khz;
            self.emit(core, Kind::Frequency { khz });
        }
        for (set, core) in memory.sets {
            self.emit(core.into(), Kind::Set { set, member: true });
        }
    }

    /// Processes events until all threads of the workload have exited, or up to the time `end`.
    fn advance(&mut self, end: u64) -> Result<(), SimError> {
        let (mut steps, mut still) = (0u64, 0u32);
        while self.alive > 0 {
            if self.waiting == self.alive {
                return Err(self.deadlock());
            }
            let due = self.agenda.next_time();
            let change = self.model.next_change();
            match due {
                None => return Err(self.deadlock()),
                Some(due) if due.min(change) > end => {
                    self.advance_to(end);
                    break;
                }
                Some(due) if change < due => {
                    self.advance_to(change);
                    self.model.advance(change);
                    self.apply_frequencies();
                }
                Some(due) => {
                    if u128::from(due - self.origin) > self.job.limit.as_nanos() {
                        return Err(SimError::TimeLimit { limit: self.job.limit });
                    }
                    still = if due == self.now { still + 1 } else { 0 };
                    if still == STANDSTILL {
                        let what =
                            "a million events, and no time passes; does it arm a timer that is due at once?";
                        return Err(self.illegal(what.into()));
                    }
                    self.advance_to(due);
                    self.sample_energy();
                    if let Some((_, event)) = self.agenda.pop() {
                        self.process(event)?;
                    }
                }
            }
            steps += 1;
            if steps.is_multiple_of(256) {
                self.check_limits()?;
            }
            if cfg!(debug_assertions) && steps.is_multiple_of(256) {
                self.rt.check().map_err(|what| self.illegal(what))?;
            }
        }
        Ok(())
    }

    fn check_limits(&mut self) -> Result<(), SimError> {
        if self.is_stopped() {
            return Err(SimError::Stopped);
        }
        if self.result.events > self.job.most_events {
            let time_ns = self.now - self.origin;
            return Err(SimError::Events { most: self.job.most_events, time_ns });
        }
        let Engine { agenda, tasks, cores, .. } = self;
        let most = PENDING_OF_ONE * (tasks.len() + cores.len());
        if agenda.len() < MANY_PENDING.max(2 * most) {
            return Ok(());
        }
        agenda.retain(|due| match due {
            Due::RunEnd { core, generation } | Due::SpinEnd { core, generation } => {
                cores[core as usize].generation == generation
            }
            Due::Timer { thread, generation } => tasks[thread as usize].timer == generation,
            _ => true,
        });
        match agenda.len() <= most {
            true => Ok(()),
            false => Err(self.illegal(format!("more than {most} timers and requests are pending"))),
        }
    }

    fn is_stopped(&self) -> bool {
        self.job.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Starts the threads of the workload that no thread forks, on core `first`. Then starts the background
    /// threads, evenly distributed over the machine.
    fn begin(&mut self, first: u32) -> Result<(), SimError> {
        self.show_idle_cores();
        let workload = self.job.workload;
        let mut forked = vec![false; workload.threads.len()];
        for thread in &workload.threads {
            for_each_child(&thread.ops, &mut |child| forked[child as usize] = true);
        }
        for root in (0..forked.len()).filter(|t| !forked[*t]) {
            self.fork(first, None, root as u32)?;
        }
        let background = self.tasks.len() - forked.len();
        for number in 0..background {
            let core = number * self.cores.len() / background;
            self.fork(core as u32, None, (forked.len() + number) as u32)?;
        }
        Ok(())
    }

    /// Shows the policy what the kernel knows of cores that have been idle since before the run.
    fn show_idle_cores(&mut self) {
        for core in 0..self.cores.len() as u16 {
            let latency = self.model.exit_latency_ns(self.now, core);
            let seen = self.rt.memory.core_mut(core.into());
            (seen.seen_khz, seen.exit_latency_ns) = (self.model.seen_khz(core), latency as u32);
        }
    }

    fn advance_to(&mut self, time: u64) {
        debug_assert!(time >= self.now, "time does not go back");
        self.now = time;
        self.rt.set_now(time);
    }

    fn process(&mut self, event: Due) -> Result<(), SimError> {
        match event {
            Due::Dispatch { core } | Due::Resched { core } if self.in_kernel(core) => {
                let later = self.core(core).kernel_until.max(self.now + 1);
                self.agenda.at(later, event);
                Ok(())
            }
            Due::Dispatch { core } => {
                self.core(core).woken = false;
                self.governor_if_due(core);
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
            Due::Placed { core, thread } => self.placed(core, thread),
            Due::Resched { core } => {
                let Some(thread) = self.rt.memory.current(core) else { return Ok(()) };
                // A thread that has exited is about to leave.
                if self.task(thread).exited {
                    return Ok(());
                }
                let thread = self.stop_current(core, Stop::Preempted);
                self.preempting = true;
                self.call(core, Call::Preempt { thread })?;
                self.preempting = false;
                self.expect_state(thread, State::Ready, "preempt")?;
                self.reschedule(core)
            }
            Due::Wake { thread } => {
                let core = self.rt.memory.thread(thread).core;
                self.wake(core, Waker::Interrupt.into(), thread)
            }
            Due::Timer { thread, generation } => {
                if self.task(thread).timer != generation || self.rt.state(thread) != State::Ready {
                    return Ok(());
                }
                let core = self.rt.memory.thread(thread).core;
                self.call(core, Call::Timer { thread })
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
        self.emitted.push(Event { time: self.now - self.origin, core: core as u16, kind });
        if self.emitted.len() == EMITTED {
            self.deliver();
        }
    }

    /// Passes the emitted events on to the sink.
    #[cold]
    fn deliver(&mut self) {
        self.result.events += self.emitted.len() as u64;
        self.sink.events(&self.emitted);
        self.emitted.clear();
    }

    /// Whether the thread belongs to the workload, not to the background.
    fn of_workload(&self, thread: u32) -> bool {
        (thread as usize) < self.job.workload.threads.len()
    }

    fn illegal(&self, what: String) -> SimError {
        let time_ns = self.now - self.origin;
        SimError::Illegal { policy: self.job.policy.name().to_owned(), time_ns, what }
    }

    /// The error when no event is left but threads have not exited.
    fn deadlock(&mut self) -> SimError {
        let blocked: Vec<u32> = (0..self.job.workload.threads.len() as u32)
            .filter(|t| self.rt.state(*t) == State::Blocked)
            .collect();
        let name = |t: &u32| format!("`{}` ({})", self.job.workload.threads[*t as usize].name, t + 1);
        let mut threads: Vec<String> = blocked.iter().take(5).map(name).collect();
        if blocked.len() > 5 {
            threads.push(format!("and {} more", blocked.len() - 5));
        }
        SimError::Stuck {
            workload: self.job.workload.name.clone(),
            time_ns: self.now - self.origin,
            threads: threads.join(", "),
        }
    }
}
