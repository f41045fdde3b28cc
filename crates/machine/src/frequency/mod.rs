//! Frequency model: core frequencies, the kernel's view of them, and energy.
//!
//! [`Model`] is a deterministic state machine. All machines share its rules and differ only in
//! parameters:
//!
//! 1. **Request.** A governor (`request.rs`) asks for a frequency: a constant one, or what
//!    `intel_pstate`'s sampler (`sampler.rs`) or `schedutil` (`schedutil.rs`) computes when the
//!    scheduler calls them.
//! 2. **Choice.** Where the request is only a lower bound (Speed Shift), the hardware chooses by the
//!    core's average activity (`hwp.rs`).
//! 3. **Limit.** The turbo limit of a socket depends on the number of its counted cores
//!    (`turbo.rs`). The idle states that the kernel chooses decide which cores count (`crate::idle`).
//! 4. **Grant.** A busy core runs at the choice within the request's bounds, below the limit
//!    (`grant.rs`). Requests and P-states change only in the update windows of the power control
//!    unit. A core that wakes gets its P-state at once, because the hardware decided while the core
//!    slept. The limit protects the package: it falls at once when another core counts.
//!
//! An idle core has no frequency; [`Model::khz`] returns the last one.
//!
//! All arithmetic is on integers (power coefficients are rounded once, when the model is built), so
//! the same calls give the same results on every host.

mod counters;
mod due;
mod governor;
mod grant;
mod hwp;
mod invariance;
mod power;
mod pstate;
mod request;
mod sampler;
mod schedutil;
mod spec;
mod turbo;

pub use governor::{Governor, UnknownGovernor};
pub use spec::{
    Control, FrequencySpec, Hwp, Performance, PowerSpec, Powersave, Schedutil, Turbo, TurboLimit,
    VoltagePoint,
};

pub(crate) use pstate::{MAX_PSTATES, pstate_count};

use crate::idle::{Choice, IdleState, Menu};
use crate::machine::Machine;
use crate::pelt::FULL;
use counters::{Counters, Reading};
use due::Due;
use grant::{Windows, grant};
use hearth_base::constants::TICK_NS;
use hwp::Activity;
use invariance::Invariance;
use power::{Load, Meter};
use pstate::{PState, PStates};
use request::{Bounds, Requests};
use turbo::{Limits, Socket};

/// One physical core.
#[derive(Debug, Clone)]
struct Physical {
    socket: u16,
    /// Active hardware threads.
    active: u16,
    /// Hardware threads that are active or in an idle state that counts.
    shallow: u16,
    /// True if the core counts against the socket's turbo limit.
    counted: bool,
    /// True if the frequency changed since the last drain.
    changed: bool,
    /// Bounds of the requests.
    requested: Bounds,
    /// Window in which the hardware grants them.
    grant_at: u64,
    /// Bounds in force.
    bounds: Bounds,
    activity: Activity,
    /// The frequency the core runs at, or ran at last.
    pstate: PState,
}

impl Physical {
    fn busy(&self) -> bool {
        self.active > 0
    }

    /// Puts the requested bounds in force if their window has come.
    fn grant(&mut self, now: u64) {
        if now >= self.grant_at {
            self.bounds = self.requested;
        }
    }

    fn load(&self) -> Load {
        if self.busy() { Load { busy: true, pstate: self.pstate } } else { Load::IDLE }
    }
}

/// One hardware thread.
#[derive(Debug, Clone)]
struct Thread {
    physical: u16,
    active: bool,
    /// Whether it keeps its physical core counted.
    shallow: bool,
    /// Index of its idle state, if the machine has any.
    idle_state: u8,
    /// Time at which it went idle.
    idle_since: u64,
    menu: Menu,
    counters: Counters,
    /// Counters at the last scheduler tick.
    ticked: Reading,
    /// Average frequency between the last two scheduler ticks.
    seen_khz: u32,
}

/// Frequency and energy of a machine over time.
///
/// Time never goes back: a `now` before the latest one is treated as the latest one. Each method
/// that takes `now` first processes all changes due until then.
///
/// # Panics
///
/// Core numbers are those of the machine's [`crate::Topology`]; other numbers panic like an array
/// index.
pub struct Model {
    pstates: PStates,
    windows: Windows,
    limits: Limits,
    requests: Requests,
    hwp: Option<hwp::Hwp>,
    invariance: Option<Invariance>,
    idle: Vec<IdleState>,
    meter: Meter,
    threads: Vec<Thread>,
    cores: Vec<Physical>,
    sockets: Vec<Socket>,
    /// The hardware threads of each physical core.
    threads_of: Vec<Vec<u16>>,
    /// With *n* physical cores, slot `p`: next P-state change of physical core `p`. Slot `n + p`:
    /// the time at which it stops counting. Slot `2n + t`: next tick of the idle hardware thread `t`.
    due: Due,
    /// Physical cores with a changed frequency, in order of change.
    changed: Vec<u16>,
    now: u64,
}

impl Model {
    /// Model of a machine at time 0, with all cores idle for long.
    pub fn new(machine: &Machine, governor: Governor) -> Model {
        let (topology, spec) = (&machine.topology, &machine.frequency);
        let pstates = PStates::new(spec);
        let windows = Windows::new(spec.window_us);
        let cores_per_socket = topology.shape().cores_per_socket;
        let limits = Limits::new(spec, cores_per_socket, &pstates, windows);
        let (count, threads) = (topology.physical_count(), topology.core_count());
        let requests = Requests::new(spec, &pstates, governor, threads);
        let invariant = governor == Governor::Schedutil && spec.schedutil.invariant_khz > 0;
        let threads_of: Vec<Vec<u16>> =
            (0..count as u16).map(|p| topology.cores_of_physical(p).to_vec()).collect();
        let core = |p: usize| {
            let bounds = requests.bounds(&threads_of[p]);
            Physical {
                socket: p as u16 / cores_per_socket,
                active: 0,
                shallow: 0,
                counted: false,
                changed: false,
                requested: bounds,
                grant_at: 0,
                bounds,
                activity: Activity::default(),
                pstate: PState::LOWEST,
            }
        };
        let cores = (0..count).map(core).collect();
        Model {
            meter: Meter::new(spec, &machine.power, topology.socket_count(), cores_per_socket, &pstates),
            threads: topology
                .cores
                .iter()
                .map(|c| Thread {
                    physical: c.physical,
                    active: false,
                    shallow: false,
                    idle_state: machine.idle.len().saturating_sub(1) as u8,
                    idle_since: 0,
                    menu: Menu::new(),
                    counters: Counters::default(),
                    ticked: Reading::default(),
                    seen_khz: spec.min_khz,
                })
                .collect(),
            cores,
            sockets: vec![Socket::new(&limits); topology.socket_count()],
            threads_of,
            due: Due::new(2 * count + threads),
            changed: Vec::with_capacity(count),
            now: 0,
            invariance: invariant.then(|| Invariance::new(spec.schedutil.invariant_khz, threads)),
            hwp: spec.hwp.as_ref().map(|hwp| hwp::Hwp::new(hwp, &pstates)),
            idle: machine.idle.clone(),
            requests,
            pstates,
            windows,
            limits,
        }
    }

    /// Sets whether hardware thread `core` executes. A polling idle loop counts as executing.
    pub fn set_active(&mut self, now: u64, core: u16, active: bool) {
        let now = self.catch_up(now);
        let index = usize::from(core);
        if self.threads[index].active == active {
            return;
        }
        self.count_cycles(now, index);
        let thread = &mut self.threads[index];
        thread.active = active;
        let physical = usize::from(thread.physical);
        if active {
            self.due.cancel(2 * self.cores.len() + index);
            thread.menu.learn(now - thread.idle_since);
            let newly_shallow = !std::mem::replace(&mut thread.shallow, true);
            self.cores[physical].shallow += u16::from(newly_shallow);
            self.wake(now, physical);
        } else {
            thread.idle_since = now;
            self.sleep(now, physical);
            self.choose_idle_state(now, index);
        }
    }

    /// The scheduler on core `from` tells the governor that the utilisation of `core` may have
    /// changed (Linux `cpufreq_update_util`). Call it at enqueues, dequeues and ticks. `util`
    /// (0..=1024) is evaluated only if the governor uses it. Governors ignore calls from other cores.
    ///
    /// A new request takes effect in the next update window.
    pub fn update_util(&mut self, now: u64, core: u16, from: u16, util: impl FnOnce() -> u32) {
        let now = self.catch_up(now);
        if core != from {
            return;
        }
        let index = usize::from(core);
        if self.requests.reads_counters() {
            self.count_cycles(now, index);
        }
        let counters = self.threads[index].counters;
        if !self.requests.call(now, index, &self.pstates, || counters.read(), util) {
            return;
        }
        let physical = usize::from(self.threads[index].physical);
        let bounds = self.requests.bounds(&self.threads_of[physical]);
        let core = &mut self.cores[physical];
        if core.requested == bounds {
            return;
        }
        core.grant(now);
        core.requested = bounds;
        core.grant_at = self.windows.after(now);
        if core.busy() {
            // A change that is due already comes in this window at the earliest.
            self.due.set(physical, core.grant_at);
        }
    }

    /// Frequency in kHz at which `core` executes, or at which it executed last.
    pub fn khz(&self, core: u16) -> u32 {
        let physical = self.threads[usize::from(core)].physical;
        self.pstates.khz(self.cores[usize::from(physical)].pstate)
    }

    /// Current turbo limit of `core`, in kHz.
    pub fn limit_khz(&self, core: u16) -> u32 {
        let physical = self.threads[usize::from(core)].physical;
        let socket = self.cores[usize::from(physical)].socket;
        self.pstates.khz(self.sockets[usize::from(socket)].limit)
    }

    /// Number of physical cores of `socket` that count against its turbo limit.
    pub fn counted(&self, socket: u16) -> u16 {
        self.sockets[usize::from(socket)].counted
    }

    /// Weight of running time on `core` in its utilisation, 1..=1024: its frequency at the last
    /// tick relative to `invariant_khz`. 1024 without frequency invariance.
    pub fn scale(&self, core: u16) -> u32 {
        self.invariance.as_ref().map_or(FULL, |all| all.scale(usize::from(core)))
    }

    /// Exit latency of the idle state in which `core` is at `now`, in nanoseconds; 0 if it executes.
    pub fn exit_latency_ns(&mut self, now: u64, core: u16) -> u64 {
        self.catch_up(now);
        let thread = &self.threads[usize::from(core)];
        let state = self.idle.get(usize::from(thread.idle_state)).filter(|_| !thread.active);
        state.map_or(0, IdleState::exit_latency_ns)
    }

    /// Time of the next change that happens without a call, in nanoseconds; `u64::MAX` if there is
    /// none. Always later than the last `now`.
    pub fn next_change(&self) -> u64 {
        self.due.earliest()
    }

    /// Applies all changes due up to and including `now`.
    pub fn advance(&mut self, now: u64) {
        self.catch_up(now);
    }

    /// Calls `f` once for each physical core whose frequency changed since the last drain.
    pub fn drain_changed(&mut self, mut f: impl FnMut(u16)) {
        for physical in self.changed.drain(..) {
            self.cores[usize::from(physical)].changed = false;
            f(physical);
        }
    }

    /// Scheduler tick on `core`: reads the counters for [`Self::seen_khz`] and [`Self::scale`].
    /// Returns the former.
    pub fn tick(&mut self, now: u64, core: u16) -> u32 {
        let now = self.catch_up(now);
        let index = usize::from(core);
        self.count_cycles(now, index);
        let thread = &mut self.threads[index];
        let counters = thread.counters.read();
        let before = std::mem::replace(&mut thread.ticked, counters);
        if let Some(khz) = counters.since(before).khz() {
            thread.seen_khz = khz;
            if let Some(invariance) = &mut self.invariance {
                invariance.tick(index, khz);
            }
        }
        thread.seen_khz
    }

    /// Frequency of `core` that the kernel knows, in kHz: APERF over MPERF between its last two
    /// ticks (ATC'20 paper, section 4.5); the minimum before the first tick. Idle cores have no
    /// ticks, so the value becomes stale.
    pub fn seen_khz(&self, core: u16) -> u32 {
        self.threads[usize::from(core)].seen_khz
    }

    /// Energy of the whole machine from time 0 to `now`, in microjoules.
    pub fn energy_uj(&mut self, now: u64) -> u64 {
        let now = self.catch_up(now);
        self.meter.energy_uj(now)
    }

    /// Power of the whole machine at the last `now`, in microwatts.
    pub fn power_uw(&self) -> u64 {
        self.meter.power_uw()
    }

    /// Processes all changes due until `now`; returns the current time.
    fn catch_up(&mut self, now: u64) -> u64 {
        let cores = self.cores.len();
        while let Some((at, slot)) = self.due.pop(now) {
            if slot < cores {
                self.refresh(at, slot);
            } else if slot < 2 * cores {
                self.release(at, slot - cores);
            } else {
                self.threads[slot - 2 * cores].menu.learn_tick();
                self.choose_idle_state(at, slot - 2 * cores);
            }
        }
        self.now = self.now.max(now);
        self.now
    }

    /// A hardware thread of the physical core starts to execute.
    fn wake(&mut self, now: u64, physical: usize) {
        self.due.cancel(self.cores.len() + physical);
        let core = &mut self.cores[physical];
        core.active += 1;
        if core.active > 1 {
            return;
        }
        if let Some(hwp) = &self.hwp {
            hwp.pass(&mut core.activity, now, false);
        }
        let (socket, newly_counted) = (core.socket, !std::mem::replace(&mut core.counted, true));
        self.meter.change(now, socket, Load::IDLE, core.load(), &self.pstates);
        let other_limit = newly_counted && self.sockets[usize::from(socket)].count(&self.limits, 1);
        if other_limit {
            self.refresh_socket(now, socket);
        } else {
            self.refresh(now, physical);
        }
    }

    /// A hardware thread of the physical core goes idle.
    fn sleep(&mut self, now: u64, physical: usize) {
        let core = &mut self.cores[physical];
        let old = core.load();
        core.active -= 1;
        if core.busy() {
            return;
        }
        if let Some(hwp) = &self.hwp {
            hwp.pass(&mut core.activity, now, true);
        }
        self.meter.change(now, core.socket, old, Load::IDLE, &self.pstates);
        self.due.cancel(physical);
    }

    /// The idle governor chooses a state for an idle hardware thread, when it goes idle and at its
    /// ticks until these stop.
    fn choose_idle_state(&mut self, now: u64, index: usize) {
        let thread = &mut self.threads[index];
        let counts = if self.idle.is_empty() {
            self.requests.idle(index);
            false
        } else {
            let Choice { state, stops_tick } = thread.menu.choose(&self.idle);
            thread.idle_state = state as u8;
            if stops_tick {
                self.requests.idle(index);
            } else {
                // Ticks of idle cores are at multiples of the period.
                let tick = (now / TICK_NS + 1) * TICK_NS;
                self.due.set(2 * self.cores.len() + index, tick);
            }
            self.idle[state].counts
        };
        let was = std::mem::replace(&mut thread.shallow, counts);
        let physical = usize::from(thread.physical);
        let core = &mut self.cores[physical];
        match (was, counts) {
            (true, false) => core.shallow -= 1,
            (false, true) => core.shallow += 1,
            _ => {}
        }
        if was && core.shallow == 0 {
            self.due.set(self.cores.len() + physical, self.limits.released_at(now));
        } else if core.shallow > 0 {
            self.due.cancel(self.cores.len() + physical);
        }
    }

    /// An idle core stops counting against the turbo limit.
    fn release(&mut self, now: u64, physical: usize) {
        let core = &mut self.cores[physical];
        core.counted = false;
        let socket = core.socket;
        if self.sockets[usize::from(socket)].count(&self.limits, -1) {
            self.refresh_socket(now, socket);
        }
    }

    fn refresh_socket(&mut self, now: u64, socket: u16) {
        let per_socket = self.cores.len() / self.sockets.len();
        let first = usize::from(socket) * per_socket;
        for physical in first..first + per_socket {
            if self.cores[physical].busy() {
                self.refresh(now, physical);
            }
        }
    }

    /// Updates the P-state of a busy physical core and schedules its next change.
    fn refresh(&mut self, now: u64, physical: usize) {
        let core = &mut self.cores[physical];
        core.grant(now);
        let (bounds, limit) = (core.bounds, self.sockets[usize::from(core.socket)].limit);
        let choice = match &self.hwp {
            Some(hwp) if bounds.floor < bounds.ceiling => {
                hwp.pass(&mut core.activity, now, true);
                hwp.choice(core.activity)
            }
            _ => PState::LOWEST,
        };
        // The choice of a busy core rises.
        let rises = bounds.floor < bounds.ceiling && choice < bounds.ceiling;
        if rises || core.grant_at > now {
            self.due.set(physical, self.windows.after(now));
        } else {
            self.due.cancel(physical);
        }
        let pstate = grant(choice, bounds, limit);
        if pstate == core.pstate {
            return;
        }
        for i in 0..self.threads_of[physical].len() {
            self.count_cycles(now, usize::from(self.threads_of[physical][i]));
        }
        let core = &mut self.cores[physical];
        let old = core.load();
        core.pstate = pstate;
        self.meter.change(now, core.socket, old, core.load(), &self.pstates);
        if !core.changed {
            core.changed = true;
            self.changed.push(physical as u16);
        }
    }

    /// Advances the counters of a hardware thread, before its activity or frequency changes.
    fn count_cycles(&mut self, now: u64, index: usize) {
        let thread = &mut self.threads[index];
        let pstate = self.cores[usize::from(thread.physical)].pstate;
        thread.counters.pass(now, thread.active.then(|| self.pstates.khz(pstate)));
    }
}
