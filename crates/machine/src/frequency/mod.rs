//! Frequency model: core frequencies, the kernel's view of them, and energy.
//!
//! [`Model`] is a deterministic state machine. All machines share its rules and differ only in
//! parameters. For one physical core:
//!
//! 1. It is **busy** while any of its hardware threads is active.
//! 2. Its **limit** is the socket's turbo limit for the number of *counted* cores. A core counts
//!    while it is busy and for `turbo.release_us` afterwards (`turbo.rs`).
//! 3. The **hardware offers** *min + w · (limit − min)*. The warmth *w* follows the load along the
//!    machine's ramp (`ramp.rs`).
//! 4. The **governor** sets a floor and a ceiling (`governor.rs`).
//! 5. A busy core runs at the offer, clamped to the ceiling, the floor and, last, the limit. The
//!    displayed frequency of an idle core falls from its last one to the governor's floor (under
//!    `schedutil`, to the minimum).
//!
//! Frequencies are P-states. The P-state of a core that stays busy or idle changes only in the
//! update windows of the power control unit. A core that wakes gets the P-state for its warmth at
//! once, because the hardware granted it before the core slept. The turbo limit protects the
//! package: it falls at once when another core counts, and rises in an update window.
//!
//! All arithmetic is on integers (power coefficients are rounded once, when the model is built), so
//! the same calls give the same results on every host.

mod due;
mod governor;
mod power;
mod pstate;
mod ramp;
mod spec;
mod turbo;

pub use governor::{Governor, UnknownGovernor};
pub use spec::{
    Control, FrequencySpec, PowerSpec, Powersave, Ramp, Schedutil, Turbo, TurboLimit, VoltagePoint,
};

pub(crate) use pstate::{MAX_PSTATES, pstate_count};

use crate::topology::Topology;
use due::Due;
use governor::{Bounds, Policy};
use power::{Load, Meter};
use pstate::{PState, PStates};
use ramp::{Curve, Fall, Warmth};
use turbo::{Limits, Socket};

/// One physical core.
#[derive(Debug, Clone)]
struct Physical {
    socket: u16,
    /// Active hardware threads.
    active: u16,
    /// True if the core counts against the socket's turbo limit.
    counted: bool,
    /// True if the frequency changed since the last drain.
    changed: bool,
    bounds: Bounds,
    warmth: Warmth,
    /// Decay of the displayed frequency while idle.
    fall: Fall,
    /// The frequency the core runs at, or displays while idle.
    pstate: PState,
}

impl Physical {
    fn busy(&self) -> bool {
        self.active > 0
    }

    fn load(&self) -> Load {
        Load { busy: self.busy(), pstate: self.pstate }
    }
}

/// One hardware thread.
#[derive(Debug, Clone, Copy)]
struct Thread {
    physical: u16,
    active: bool,
    /// Frequency at the last scheduler tick.
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
    curve: Curve,
    limits: Limits,
    policy: Policy,
    meter: Meter,
    threads: Vec<Thread>,
    cores: Vec<Physical>,
    sockets: Vec<Socket>,
    /// The hardware threads of each physical core.
    threads_of: Vec<Vec<u16>>,
    /// Slot `p`: next P-state change of physical core `p`. Slot `n + p`: the time at which it stops
    /// counting.
    due: Due,
    /// Physical cores with a changed frequency, in order of change.
    changed: Vec<u16>,
    now: u64,
}

impl Model {
    /// Model of a machine at time 0, with all cores idle and cold.
    pub fn new(topology: &Topology, spec: &FrequencySpec, power: &PowerSpec, governor: Governor) -> Model {
        let pstates = PStates::new(spec);
        let curve = Curve::new(&spec.ramp);
        let cores_per_socket = topology.shape().cores_per_socket;
        let limits = Limits::new(spec, cores_per_socket, &pstates, &curve);
        let policy = Policy::new(spec, &pstates, governor, topology.core_count());
        let idle = policy.idle_floor();
        let floor_khz = pstates.khz(idle);
        let count = topology.physical_count();
        let cores = (0..count as u16)
            .map(|p| Physical {
                socket: p / cores_per_socket,
                active: 0,
                counted: false,
                changed: false,
                bounds: policy.initial(),
                warmth: Warmth::default(),
                fall: Fall { since: 0, from_khz: floor_khz, to_khz: floor_khz },
                pstate: idle,
            })
            .collect();
        Model {
            meter: Meter::new(spec, power, topology.socket_count(), cores_per_socket, &pstates, idle),
            threads: topology
                .cores
                .iter()
                .map(|c| Thread { physical: c.physical, active: false, seen_khz: spec.min_khz })
                .collect(),
            cores,
            sockets: vec![Socket::new(&limits); topology.socket_count()],
            threads_of: (0..count as u16).map(|p| topology.cores_of_physical(p).to_vec()).collect(),
            due: Due::new(2 * count),
            changed: Vec::with_capacity(count),
            now: 0,
            pstates,
            curve,
            limits,
            policy,
        }
    }

    /// Sets whether hardware thread `core` executes. A polling idle loop counts as executing.
    pub fn set_active(&mut self, now: u64, core: u16, active: bool) {
        let now = self.catch_up(now);
        let thread = &mut self.threads[usize::from(core)];
        if thread.active == active {
            return;
        }
        thread.active = active;
        let physical = usize::from(thread.physical);
        let threads = self.cores[physical].active;
        match (active, threads) {
            (true, 0) => self.wake(now, physical),
            (false, 1) => self.sleep(now, physical),
            (true, _) => self.cores[physical].active = threads + 1,
            (false, _) => self.cores[physical].active = threads - 1,
        }
    }

    /// Passes the utilisation of hardware thread `core` (0..=1024) to the governor. Call it where
    /// the kernel does: when a thread is enqueued on or dequeued from `core`, and at each tick.
    ///
    /// Only `schedutil` uses it, at most once per rate limit. A new request takes effect in the
    /// next update window or when the core next wakes.
    pub fn set_util(&mut self, now: u64, core: u16, util: u32) {
        let now = self.catch_up(now);
        if !self.policy.hear(now, core, util, &self.pstates) {
            return;
        }
        let physical = usize::from(self.threads[usize::from(core)].physical);
        let bounds = self.policy.bounds_of(&self.threads_of[physical]);
        let state = &mut self.cores[physical];
        if state.bounds == bounds {
            return;
        }
        state.bounds = bounds;
        if state.busy() {
            let window = self.curve.window_from(now + 1);
            let earlier = self.due.at(physical).map_or(window, |at| at.min(window));
            self.due.set(physical, earlier);
        }
    }

    /// Frequency in kHz at which `core` executes, or which it displays while idle.
    pub fn khz(&self, core: u16) -> u32 {
        let physical = self.threads[usize::from(core)].physical;
        self.pstates.khz(self.cores[usize::from(physical)].pstate)
    }

    /// Current turbo limit of `core`, in kHz.
    pub fn limit_khz(&self, core: u16) -> u32 {
        let physical = self.threads[usize::from(core)].physical;
        let socket = self.cores[usize::from(physical)].socket;
        self.pstates.khz(self.limits.pstate(self.sockets[usize::from(socket)].bin))
    }

    /// Number of physical cores of `socket` that count against its turbo limit.
    pub fn counted(&self, socket: u16) -> u16 {
        self.sockets[usize::from(socket)].counted
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

    /// Scheduler tick on `core`: samples the frequency for [`Self::seen_khz`] and returns it, in
    /// kHz.
    pub fn tick(&mut self, now: u64, core: u16) -> u32 {
        self.catch_up(now);
        let khz = self.khz(core);
        self.threads[usize::from(core)].seen_khz = khz;
        khz
    }

    /// Frequency sampled at the last tick of `core`, in kHz; the minimum before the first tick.
    /// Idle cores have no ticks, so the value becomes stale.
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
        while let Some((at, slot)) = self.due.pop(now) {
            match slot.checked_sub(self.cores.len()) {
                None => self.refresh(at, slot),
                Some(physical) => self.release(at, physical),
            }
        }
        self.now = self.now.max(now);
        self.now
    }

    fn wake(&mut self, now: u64, physical: usize) {
        self.due.cancel(self.cores.len() + physical);
        let core = &mut self.cores[physical];
        self.curve.pass(&mut core.warmth, now, false);
        let old = core.load();
        core.active = 1;
        let new = core.load();
        let (socket, newly_counted) = (core.socket, !core.counted);
        core.counted = true;
        self.meter.change(now, socket, old, new, &self.pstates);
        let other_limit = newly_counted && self.sockets[usize::from(socket)].count(&self.limits, 1);
        if other_limit {
            self.refresh_socket(now, socket);
        } else {
            self.refresh(now, physical);
        }
    }

    fn sleep(&mut self, now: u64, physical: usize) {
        let floor = self.policy.idle_floor();
        let core = &mut self.cores[physical];
        self.curve.pass(&mut core.warmth, now, true);
        let old = core.load();
        core.active = 0;
        let new = core.load();
        core.fall = Fall {
            since: now,
            from_khz: self.pstates.khz(core.pstate),
            to_khz: self.pstates.khz(floor.min(core.pstate)),
        };
        let socket = core.socket;
        self.meter.change(now, socket, old, new, &self.pstates);
        let released = self.curve.window_from(now + self.limits.release_ns());
        self.due.set(self.cores.len() + physical, released);
        self.refresh(now, physical);
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
            self.refresh(now, physical);
        }
    }

    /// Updates the P-state of a physical core and schedules its next change.
    fn refresh(&mut self, now: u64, physical: usize) {
        let core = &mut self.cores[physical];
        let bin = self.sockets[usize::from(core.socket)].bin;
        let limit = self.limits.pstate(bin);
        let old = core.load();
        let next = if core.busy() {
            self.curve.pass(&mut core.warmth, now, true);
            let offer = self.limits.offer(bin);
            let offered = offer.at(core.warmth);
            core.pstate = offered.min(core.bounds.ceiling).max(core.bounds.floor).min(limit);
            offer.next(&self.curve, core.warmth, offered)
        } else {
            let shown = self.pstates.at_least(core.fall.khz(&self.curve, now));
            core.pstate = core.pstate.min(shown).min(limit);
            let below = self.pstates.khz(core.pstate.prev());
            (self.pstates.khz(core.pstate) > core.fall.to_khz)
                .then(|| self.curve.window_from(core.fall.reaches(&self.curve, below)))
        };
        match next {
            Some(at) => self.due.set(physical, at),
            None => self.due.cancel(physical),
        }
        let new = core.load();
        if new != old {
            self.meter.change(now, core.socket, old, new, &self.pstates);
            if !core.changed {
                core.changed = true;
                self.changed.push(physical as u16);
            }
        }
    }
}
