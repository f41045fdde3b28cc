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
//!    Limits of a socket's average power lower it (`limiter.rs`).
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
mod driver;
mod due;
mod governor;
mod grant;
mod hwp;
mod invariance;
mod limiter;
mod power;
mod pstate;
mod request;
mod sampler;
mod schedutil;
mod spec;
mod turbo;

pub use driver::{Driver, NoScaling, Scaling};
pub use governor::{Governor, UnknownGovernor};
pub use spec::{
    Control, FrequencySpec, Hwp, Performance, PowerLimit, PowerSpec, Powersave, Schedutil, Turbo, TurboLimit,
    VoltagePoint,
};

pub(crate) use pstate::{MAX_PSTATES, pstate_count};

use crate::idle::{Choice, IdleState, Menu, Nohz};
use crate::machine::Machine;
use crate::pelt::FULL;
use counters::{Counters, Reading};
use due::Due;
use grant::{Windows, grant};
use hearth_base::constants::TICK_NS;
use hwp::Activity;
use invariance::Invariance;
use limiter::Limiter;
use power::{IdlePower, Load, Meter};
use pstate::{PState, PStates};
use request::{Bounds, Requests};
use turbo::{Limits, Socket};

/// One physical core.
#[derive(Debug, Clone)]
struct Physical {
    socket: u16,
    /// Socket and kind: the cores that turbo limits count together.
    group: u16,
    /// Lowest and highest P-state of its kind and its own.
    range: (PState, PState),
    /// Power while idle, in microwatts.
    idle_uw: u64,
    /// Active hardware threads.
    active: u16,
    /// Hardware threads that are active or in an idle state that counts.
    shallow: u16,
    /// True if the core counts against the socket's turbo limit.
    counted: bool,
    /// True if the core is in [`Model::changed`].
    changed: bool,
    /// Bounds of the requests.
    requested: Bounds,
    /// Window in which the hardware grants them.
    grant_at: u64,
    /// Bounds in force.
    bounds: Bounds,
    activity: Activity,
    /// The P-state that this core would have on a clock of its own.
    own: PState,
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
        match self.busy() {
            true => Load { busy: true, pstate: self.pstate, idle_uw: self.idle_uw },
            false => Load::idle(self.idle_uw),
        }
    }

    /// Bounds of requests within what the core can run.
    fn within(&self, bounds: Bounds) -> Bounds {
        let (lowest, highest) = self.range;
        let clamp = |pstate: PState| pstate.clamp(lowest.min(highest), highest);
        Bounds { floor: clamp(bounds.floor), ceiling: clamp(bounds.ceiling) }
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
    nohz: Nohz,
    /// `None`: the machine's power is unknown.
    meter: Option<Meter>,
    limiter: Option<Limiter>,
    /// `None`: all idle states draw the same.
    idle_power: Option<IdlePower>,
    threads: Vec<Thread>,
    cores: Vec<Physical>,
    /// Turbo accounting of each kind in each socket.
    groups: Vec<Socket>,
    /// Physical cores with the same clock as each; empty if each has its own.
    clocks: Vec<std::ops::Range<usize>>,
    sockets: usize,
    /// The hardware threads of each physical core.
    threads_of: Vec<Vec<u16>>,
    /// With *n* physical cores, slot `p`: next P-state change of physical core `p`. Slot `n + p`:
    /// the time at which it stops counting. Slot `2n + t`: next tick of the idle hardware thread `t`. After these, for
    /// each socket: the next decision of the limiter.
    due: Due,
    /// Physical cores whose frequency or idle state changed since the last drain, in order of change.
    changed: Vec<u16>,
    now: u64,
}

impl Model {
    /// Model of a machine at time 0, with all cores idle for long.
    pub fn new(machine: &Machine, scaling: Scaling) -> Model {
        let governor = scaling.governor;
        let (topology, spec) = (&machine.topology, &*machine.frequency.under(scaling));
        let shape = topology.shape();
        let pstates = PStates::new(spec, shape);
        let windows = Windows::new(spec.window_us);
        let cores_per_socket = shape.cores_per_socket;
        let limits = Limits::new(spec, cores_per_socket, &pstates, windows);
        let (count, threads) = (topology.physical_count(), topology.core_count());
        let maxima = spec.core_maxima(shape);
        let index_of = |p: u16| usize::from(p % cores_per_socket);
        let thread_maxima: Vec<u32> = topology.cores.iter().map(|c| maxima[index_of(c.physical)]).collect();
        let requests = Requests::new(spec, &pstates, governor, &thread_maxima);
        let invariant = governor == Governor::Schedutil && spec.schedutil.invariant_khz > 0;
        let threads_of: Vec<Vec<u16>> =
            (0..count as u16).map(|p| topology.cores_of_physical(p).to_vec()).collect();
        let kinds = shape.kinds.len().max(1);
        let idle_power = machine.power.as_ref().map(|power| IdlePower::new(machine, power));
        let core = |p: usize| {
            let (socket, index) = (p as u16 / cores_per_socket, p as u16 % cores_per_socket);
            let kind = shape.kinds.get(shape.kind_of(index));
            let mut core = Physical {
                socket,
                group: socket * kinds as u16 + shape.kind_of(index) as u16,
                range: (
                    kind.map_or(PState::LOWEST, |kind| pstates.at_most(kind.min_khz)),
                    pstates.at_most(maxima[usize::from(index)]),
                ),
                idle_uw: idle_power.as_ref().map_or(0, IdlePower::deepest),
                active: 0,
                shallow: 0,
                counted: false,
                changed: false,
                requested: requests.bounds(&threads_of[p]),
                grant_at: 0,
                bounds: requests.bounds(&threads_of[p]),
                activity: Activity::default(),
                own: PState::LOWEST,
                pstate: PState::LOWEST,
            };
            core.requested = core.within(core.requested);
            core.bounds = core.requested;
            core.pstate = core.range.0;
            core
        };
        let cores: Vec<Physical> = (0..count).map(core).collect();
        let tops = match shape.kinds.as_slice() {
            [] => vec![pstates.top()],
            kinds => kinds.iter().map(|kind| pstates.at_most(kind.max_khz)).collect(),
        };
        let sockets = topology.socket_count();
        Model {
            meter: machine.power.as_ref().map(|power| Meter::new(machine, power, &pstates)),
            limiter: machine.power.as_ref().and_then(|power| Limiter::new(power, sockets, tops, &pstates)),
            idle_power: idle_power.filter(IdlePower::differs),
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
                    seen_khz: pstates.khz(cores[usize::from(c.physical)].requested.floor),
                })
                .collect(),
            cores,
            groups: vec![Socket::new(&limits); sockets * kinds],
            clocks: topology.clocks(),
            sockets,
            threads_of,
            due: Due::new(2 * count + threads + sockets),
            changed: Vec::with_capacity(count),
            now: 0,
            invariance: invariant.then(|| Invariance::new(spec.schedutil.invariant_khz, &thread_maxima)),
            hwp: spec.hwp.as_ref().map(|hwp| hwp::Hwp::new(hwp, &pstates)),
            idle: machine.idle.clone(),
            nohz: Nohz::new(topology.cores.iter().map(|core| core.llc)),
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
            self.nohz.newly_idle(now, |other| other != index && !self.threads[other].active);
            self.choose_idle_state(now, index);
            self.sleep(now, physical);
        }
        self.mark_changed(physical);
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
        let core = &mut self.cores[physical];
        let bounds = core.within(self.requests.bounds(&self.threads_of[physical]));
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

    /// Current limit of `core`, in kHz: turbo, power, and its own maximum.
    pub fn limit_khz(&self, core: u16) -> u32 {
        let physical = self.threads[usize::from(core)].physical;
        self.pstates.khz(self.limit(&self.cores[usize::from(physical)]))
    }

    fn limit(&self, core: &Physical) -> PState {
        let limit = self.groups[usize::from(core.group)].limit.min(core.range.1);
        self.limiter.as_ref().map_or(limit, |limiter| limit.min(limiter.cap(core.socket)))
    }

    /// Number of physical cores of `socket` that count against its turbo limit.
    pub fn counted(&self, socket: u16) -> u16 {
        let kinds = self.groups.len() / self.sockets;
        self.groups[usize::from(socket) * kinds..][..kinds].iter().map(|group| group.counted).sum()
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

    /// Calls `f` once for each physical core whose frequency, or the idle state of one of its threads, changed since the
    /// last drain.
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
        self.nohz.busy_tick(now, index, |other| !self.threads[other].active);
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

    /// Time at which the kernel last updated the load of `core` while that was idle, in nanoseconds
    /// ([`crate::pelt::CoreUtil::refresh`]).
    pub fn load_updated(&mut self, now: u64, core: u16) -> u64 {
        self.catch_up(now);
        self.nohz.updated(usize::from(core))
    }

    /// Frequency of `core` that the kernel knows, in kHz: APERF over MPERF between its last two
    /// ticks (ATC'20 paper, section 4.5); before the first tick, what its governor requests. Idle cores
    /// have no ticks, so the value becomes stale.
    pub fn seen_khz(&self, core: u16) -> u32 {
        self.threads[usize::from(core)].seen_khz
    }

    /// Energy of the whole machine from time 0 to `now`, in microjoules; `None` if its power is unknown.
    pub fn energy_uj(&mut self, now: u64) -> Option<u64> {
        let now = self.catch_up(now);
        self.meter.as_mut().map(|meter| meter.energy_uj(now))
    }

    /// Power of the whole machine at the last `now`, in microwatts; `None` if it is unknown.
    pub fn power_uw(&self) -> Option<u64> {
        self.meter.as_ref().map(Meter::power_uw)
    }

    /// Processes all changes due until `now`; returns the current time.
    fn catch_up(&mut self, now: u64) -> u64 {
        let cores = self.cores.len();
        while let Some((at, slot)) = self.due.pop(now) {
            if slot < cores {
                self.refresh(at, slot);
            } else if slot < 2 * cores {
                self.release(at, slot - cores);
            } else if slot >= 2 * cores + self.threads.len() {
                self.decide(at, slot - 2 * cores - self.threads.len());
            } else {
                let index = slot - 2 * cores;
                self.threads[index].menu.learn_tick();
                self.nohz.idle_tick(at, index);
                self.choose_idle_state(at, index);
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
        let (group, newly_counted) = (core.group, !std::mem::replace(&mut core.counted, true));
        let (socket, load) = (usize::from(core.socket), core.load());
        if let Some(meter) = &mut self.meter {
            let was_idle = self.limiter.is_some() && !meter.is_busy(socket);
            meter.change(now, group, Load::idle(core.idle_uw), load, &self.pstates);
            if was_idle {
                self.decide(now, socket);
            }
        }
        let other_limit = newly_counted && self.groups[usize::from(group)].count(&self.limits, 1);
        if other_limit {
            self.refresh_group(now, group);
        } else {
            self.refresh(now, physical);
        }
    }

    /// Decides on the power cap of a socket, and when to do so next.
    fn decide(&mut self, now: u64, socket: usize) {
        let (Some(limiter), Some(meter)) = (&mut self.limiter, &mut self.meter) else { return };
        if !meter.is_busy(socket) {
            return;
        }
        let slot = 2 * self.cores.len() + self.threads.len() + socket;
        self.due.set(slot, self.windows.from(now + limiter::PERIOD_NS));
        if limiter.decide(now, socket as u16, meter, &self.pstates) {
            let kinds = self.groups.len() / self.sockets;
            (socket * kinds..(socket + 1) * kinds).for_each(|group| self.refresh_group(now, group as u16));
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
        let (group, load) = (core.group, core.load());
        if let Some(meter) = &mut self.meter {
            meter.change(now, group, old, load, &self.pstates);
        }
        self.due.cancel(physical);
        if !self.clocks.is_empty() {
            self.share_clock(now, physical);
        }
    }

    /// The idle governor chooses a state for an idle hardware thread, when it goes idle and at its
    /// ticks until these stop.
    fn choose_idle_state(&mut self, now: u64, index: usize) {
        let thread = &mut self.threads[index];
        let counts = if self.idle.is_empty() {
            self.requests.idle(index);
            self.nohz.stop_tick(index);
            false
        } else {
            let Choice { state, stops_tick } = thread.menu.choose(&self.idle);
            thread.idle_state = state as u8;
            if stops_tick {
                self.requests.idle(index);
                self.nohz.stop_tick(index);
            } else {
                // Ticks of idle cores are at multiples of the period.
                let tick = (now / TICK_NS + 1) * TICK_NS;
                self.due.set(2 * self.cores.len() + index, tick);
            }
            self.idle[state].counts
        };
        let was = std::mem::replace(&mut thread.shallow, counts);
        let physical = usize::from(thread.physical);
        self.mark_changed(physical);
        self.price_idle(now, physical);
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

    /// The idle state of a hardware thread changed. The shallowest one of the core's threads sets its power.
    fn price_idle(&mut self, now: u64, physical: usize) {
        let Some(power) = &self.idle_power else { return };
        let states = self.threads_of[physical].iter().map(|&t| self.threads[usize::from(t)].idle_state);
        let uw = power.uw(usize::from(states.min().unwrap_or(0)));
        let core = &mut self.cores[physical];
        let old = core.load();
        core.idle_uw = uw;
        let (group, new) = (core.group, core.load());
        if old != new
            && !new.busy
            && let Some(meter) = &mut self.meter
        {
            meter.change(now, group, old, new, &self.pstates);
        }
    }

    /// An idle core stops counting against the turbo limit.
    fn release(&mut self, now: u64, physical: usize) {
        let core = &mut self.cores[physical];
        core.counted = false;
        let group = core.group;
        if self.groups[usize::from(group)].count(&self.limits, -1) {
            self.refresh_group(now, group);
        }
    }

    fn refresh_group(&mut self, now: u64, group: u16) {
        let per_socket = self.cores.len() / self.sockets;
        let kinds = self.groups.len() / self.sockets;
        let first = usize::from(group) / kinds * per_socket;
        for physical in first..first + per_socket {
            if self.cores[physical].busy() && self.cores[physical].group == group {
                self.refresh(now, physical);
            }
        }
    }

    /// Updates the P-state of a busy physical core and schedules its next change.
    fn refresh(&mut self, now: u64, physical: usize) {
        self.cores[physical].grant(now);
        let limit = self.limit(&self.cores[physical]);
        let core = &mut self.cores[physical];
        let bounds = core.bounds;
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
        if self.clocks.is_empty() {
            return self.run_at(now, physical, pstate);
        }
        core.own = pstate;
        self.share_clock(now, physical);
    }

    /// The cores with the same clock as `physical` run at the highest P-state that one of them would have alone.
    fn share_clock(&mut self, now: u64, physical: usize) {
        let clock = self.clocks[physical].clone();
        let busy = self.cores[clock.clone()].iter().filter(|core| core.busy());
        let Some(fastest) = busy.map(|core| core.own).max() else { return };
        for core in clock {
            if self.cores[core].busy() {
                let limit = self.limit(&self.cores[core]);
                self.run_at(now, core, fastest.min(limit));
            }
        }
    }

    /// A busy physical core changes to `pstate`.
    fn run_at(&mut self, now: u64, physical: usize, pstate: PState) {
        if pstate == self.cores[physical].pstate {
            return;
        }
        for i in 0..self.threads_of[physical].len() {
            self.count_cycles(now, usize::from(self.threads_of[physical][i]));
        }
        let core = &mut self.cores[physical];
        let old = core.load();
        core.pstate = pstate;
        if let Some(meter) = &mut self.meter {
            meter.change(now, core.group, old, core.load(), &self.pstates);
        }
        self.mark_changed(physical);
    }

    fn mark_changed(&mut self, physical: usize) {
        if !std::mem::replace(&mut self.cores[physical].changed, true) {
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
