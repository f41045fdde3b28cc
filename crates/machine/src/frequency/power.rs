//! Power and energy model.
//!
//! The power of a socket is
//!
//! *uncore + Σ busy cores (C·V²·f + L·V) + Σ idle cores (idle power of their state)*
//!
//! *V* is the voltage required by the highest frequency of the socket's busy cores (Nest paper,
//! section 5.2: "the CPU energy consumption is determined by the consumption of the highest
//! frequency core on the socket"). *f* is each core's own frequency. The uncore of all sockets is
//! powered while any core of the machine is active (same section). *C* and *L* follow from the TDP:
//! with all cores busy at the all-core turbo frequency (or `tdp_khz`), a socket draws its TDP. The fraction
//! `leakage` of the TDP without the uncore is leakage.
//!
//! With several kinds of core, *V* follows the busy cores of each kind, and *C* and *L* are in proportion to the
//! kind's power.
//!
//! The model keeps, for each kind of each socket, the sum of the busy cores' frequencies and the number of cores in
//! each P-state, so each change costs O(1), even when the voltage changes.

use super::pstate::{Census, PState, PStates};
use super::spec::PowerSpec;
use crate::machine::Machine;

/// State of one physical core that determines its power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Load {
    pub busy: bool,
    pub pstate: PState,
    /// Power while idle, in microwatts.
    pub idle_uw: u64,
}

impl Load {
    /// An idle core: it does not determine the voltage.
    pub fn idle(idle_uw: u64) -> Load {
        Load { busy: false, pstate: PState::LOWEST, idle_uw }
    }
}

/// Fractional bits of [`Coefficients::dynamic`].
const DYNAMIC_SHIFT: u32 = 24;

fn microwatts(w: f64) -> u64 {
    (w * 1e6).round() as u64
}

/// Power of an idle physical core in each idle state, or in none, in microwatts.
#[derive(Debug, Clone)]
pub(super) struct IdlePower(Vec<u64>);

impl IdlePower {
    pub fn new(machine: &Machine, power: &PowerSpec) -> IdlePower {
        let states = machine.idle.iter().map(|state| microwatts(state.power_w.unwrap_or(power.core_idle_w)));
        IdlePower(states.chain(machine.idle.is_empty().then(|| microwatts(power.core_idle_w))).collect())
    }

    /// Whether the states differ.
    pub fn differs(&self) -> bool {
        self.0.windows(2).any(|pair| pair[0] != pair[1])
    }

    pub fn uw(&self, state: usize) -> u64 {
        self.0[state]
    }

    /// Power in the deepest state.
    pub fn deepest(&self) -> u64 {
        self.0.last().copied().unwrap_or(0)
    }
}

/// Power of a core of one kind at each voltage, indexed by the P-state that determines the voltage.
#[derive(Debug, Clone)]
struct Coefficients {
    /// C·V², in µW per kHz, shifted left by [`DYNAMIC_SHIFT`].
    dynamic: Vec<u64>,
    /// L·V, in µW.
    leakage: Vec<u64>,
}

impl Coefficients {
    /// One for each kind.
    fn of(machine: &Machine, power: &PowerSpec, pstates: &PStates) -> Vec<Coefficients> {
        let (freq, shape) = (&machine.frequency, machine.topology.shape());
        let turbo_khz = freq.turbo.limits.last().map_or(freq.nominal_khz, |l| l.khz);
        let all_khz = power.tdp_khz.unwrap_or(turbo_khz);
        let all_mv = power.millivolts(all_khz);
        // Power of each kind's cores relative to a core at `all_khz`.
        let relative = |kind: &crate::topology::Kind| {
            let khz = all_khz.min(kind.max_khz);
            let mv = power.millivolts(khz) / all_mv;
            let busy =
                (1.0 - power.leakage) * f64::from(khz) / f64::from(all_khz) * mv * mv + power.leakage * mv;
            f64::from(kind.cores) * f64::from(kind.power_permille) / 1000.0 * busy
        };
        let (parts, cores) = match shape.kinds.as_slice() {
            [] => (vec![1.0], f64::from(shape.cores_per_socket)),
            kinds => (
                kinds.iter().map(|kind| f64::from(kind.power_permille) / 1000.0).collect(),
                kinds.iter().map(relative).sum(),
            ),
        };
        let core_uw = (power.tdp_w - power.uncore_w) * 1e6 / cores;
        let per_khz_mv2 = (1.0 - power.leakage) * core_uw / (f64::from(all_khz) * all_mv * all_mv);
        let per_mv = power.leakage * core_uw / all_mv;
        let scale = f64::from(1u32 << DYNAMIC_SHIFT);
        let mv = |(_, khz)| power.millivolts(khz);
        let kind = |part: &f64| Coefficients {
            dynamic: pstates
                .iter()
                .map(mv)
                .map(|mv| (part * per_khz_mv2 * mv * mv * scale).round() as u64)
                .collect(),
            leakage: pstates.iter().map(mv).map(|mv| (part * per_mv * mv).round() as u64).collect(),
        };
        parts.iter().map(kind).collect()
    }

    /// Power of `busy` cores with the voltage of P-state `voltage` and `khz` in all.
    fn busy_uw(&self, voltage: PState, busy: u64, khz: u64) -> u64 {
        let v = voltage.index();
        let dynamic = u128::from(self.dynamic[v]) * u128::from(khz);
        (dynamic >> DYNAMIC_SHIFT) as u64 + self.leakage[v] * busy
    }
}

/// Power state of the cores of one kind in a socket.
#[derive(Debug, Clone)]
struct Group {
    census: Census,
    busy: u64,
    idle: u64,
    /// Sum of the busy cores' frequencies, in kHz.
    busy_khz: u64,
    /// Sum of the idle cores' power.
    idle_uw: u64,
    /// Power of the group's cores, without the uncore.
    cores_uw: u64,
}

impl Group {
    fn add(&mut self, load: Load, pstates: &PStates) {
        self.census.enter(load.pstate);
        if load.busy {
            self.busy += 1;
            self.busy_khz += u64::from(pstates.khz(load.pstate));
        } else {
            self.idle += 1;
            self.idle_uw += load.idle_uw;
        }
    }

    fn remove(&mut self, load: Load, pstates: &PStates) {
        self.census.leave(load.pstate);
        if load.busy {
            self.busy -= 1;
            self.busy_khz -= u64::from(pstates.khz(load.pstate));
        } else {
            self.idle -= 1;
            self.idle_uw -= load.idle_uw;
        }
    }

    fn price(&mut self, by: &Coefficients) {
        self.cores_uw = by.busy_uw(self.census.highest(), self.busy, self.busy_khz) + self.idle_uw;
    }

    /// Power with the cap `to` instead of `cap`. Cores at the cap are taken to want more, up to `top`.
    fn under_cap(&self, by: &Coefficients, cap: PState, to: PState, top: PState, pstates: &PStates) -> u64 {
        let (mut khz, mut voltage) = (0, PState::LOWEST);
        for (pstate, count) in self.census.counts() {
            // Idle cores are in the lowest P-state.
            let count = u64::from(count) - if pstate == PState::LOWEST { self.idle } else { 0 };
            if count > 0 {
                let granted = if pstate >= cap.min(top) { to.min(top) } else { pstate.min(to) };
                khz += count * u64::from(pstates.khz(granted));
                voltage = voltage.max(granted);
            }
        }
        by.busy_uw(voltage, self.busy, khz) + self.idle_uw
    }
}

/// Energy meter of the machine. Groups are numbered by socket, then kind.
#[derive(Debug, Clone)]
pub(super) struct Meter {
    by: Vec<Coefficients>,
    uncore_uw: u64,
    package_idle_uw: u64,
    groups: Vec<Group>,
    sockets: u64,
    busy: u64,
    /// Power of the cores of all sockets.
    cores_uw: u64,
    as_of: u64,
    /// Energy in femtojoules (microwatts times nanoseconds).
    energy_fj: u128,
    /// The same for the cores of each socket, with its uncore; empty if nobody asks for it.
    by_socket_fj: Vec<u128>,
}

impl Meter {
    /// Meter at time 0 for a machine with all cores idle.
    pub fn new(machine: &Machine, power: &PowerSpec, pstates: &PStates) -> Meter {
        let by = Coefficients::of(machine, power, pstates);
        let shape = machine.topology.shape();
        let idle = Load::idle(IdlePower::new(machine, power).deepest());
        let group = |(kind, by): (usize, &Coefficients)| {
            let cores = shape.kinds.get(kind).map_or(shape.cores_per_socket, |kind| kind.cores);
            let mut group = Group {
                census: Census::new(pstates),
                busy: 0,
                idle: 0,
                busy_khz: 0,
                idle_uw: 0,
                cores_uw: 0,
            };
            (0..cores).for_each(|_| group.add(idle, pstates));
            group.price(by);
            group
        };
        let groups: Vec<Group> = (0..shape.sockets).flat_map(|_| by.iter().enumerate().map(group)).collect();
        Meter {
            cores_uw: groups.iter().map(|group| group.cores_uw).sum(),
            uncore_uw: microwatts(power.uncore_w),
            package_idle_uw: microwatts(power.package_idle_w),
            groups,
            sockets: u64::from(shape.sockets),
            by,
            busy: 0,
            as_of: 0,
            energy_fj: 0,
            by_socket_fj: vec![0; if power.limits.is_empty() { 0 } else { usize::from(shape.sockets) }],
        }
    }

    /// A core of `group` changes from `old` to `new` at time `now`.
    pub fn change(&mut self, now: u64, group: u16, old: Load, new: Load, pstates: &PStates) {
        self.pass(now);
        self.busy = self.busy + u64::from(new.busy) - u64::from(old.busy);
        let kind = usize::from(group) % self.by.len();
        let group = &mut self.groups[usize::from(group)];
        self.cores_uw -= group.cores_uw;
        group.remove(old, pstates);
        group.add(new, pstates);
        group.price(&self.by[kind]);
        self.cores_uw += group.cores_uw;
    }

    /// Power of the whole machine, in microwatts.
    pub fn power_uw(&self) -> u64 {
        self.cores_uw + self.each_uncore_uw() * self.sockets
    }

    fn each_uncore_uw(&self) -> u64 {
        if self.busy > 0 { self.uncore_uw } else { self.package_idle_uw }
    }

    /// Whether a core of the socket is busy.
    pub fn is_busy(&self, socket: usize) -> bool {
        self.of_socket(socket).any(|(group, _)| group.busy > 0)
    }

    fn of_socket(&self, socket: usize) -> impl Iterator<Item = (&Group, &Coefficients)> {
        let kinds = self.by.len();
        self.groups[socket * kinds..(socket + 1) * kinds].iter().zip(&self.by)
    }

    /// Energy of a socket until `now`, in femtojoules.
    pub fn socket_fj(&mut self, now: u64, socket: usize) -> u128 {
        self.pass(now);
        self.by_socket_fj[socket]
    }

    /// Highest cap under which the socket draws at most `budget_uw`, or the lowest P-state. `tops` has the highest
    /// P-state of each kind.
    pub fn cap(
        &self,
        socket: usize,
        budget_uw: u64,
        cap: PState,
        tops: &[PState],
        pstates: &PStates,
    ) -> PState {
        let cores_uw = |to: PState| -> u64 {
            let groups = self.of_socket(socket).zip(tops);
            groups.map(|((group, by), &top)| group.under_cap(by, cap, to, top, pstates)).sum()
        };
        let mut fits = (0, pstates.len());
        while fits.1 - fits.0 > 1 {
            let middle = fits.0.midpoint(fits.1);
            match self.uncore_uw + cores_uw(PState::from_index(middle)) <= budget_uw {
                true => fits.0 = middle,
                false => fits.1 = middle,
            }
        }
        PState::from_index(fits.0)
    }

    /// Energy of the whole machine from time 0 to `now`, in microjoules.
    pub fn energy_uj(&mut self, now: u64) -> u64 {
        self.pass(now);
        (self.energy_fj / 1_000_000_000) as u64
    }

    fn pass(&mut self, now: u64) {
        let dt = u128::from(now - self.as_of);
        self.energy_fj += u128::from(self.power_uw()) * dt;
        self.as_of = now;
        for socket in 0..self.by_socket_fj.len() {
            let cores_uw: u64 = self.of_socket(socket).map(|(group, _)| group.cores_uw).sum();
            self.by_socket_fj[socket] += u128::from(cores_uw + self.each_uncore_uw()) * dt;
        }
    }
}
