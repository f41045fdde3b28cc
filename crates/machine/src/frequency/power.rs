//! Power and energy model.
//!
//! The power of a socket is
//!
//! *uncore + Σ busy cores (C·V²·f + L·V) + Σ idle cores (idle power)*
//!
//! *V* is the voltage required by the highest frequency of the socket's busy cores (Nest paper,
//! section 5.2: "the CPU energy consumption is determined by the consumption of the highest
//! frequency core on the socket"). *f* is each core's own frequency. The uncore of all sockets is
//! powered while any core of the machine is active (same section). *C* and *L* follow from the TDP:
//! with all cores busy at the all-core turbo frequency, a socket draws its TDP. The fraction
//! `leakage` of the TDP without the uncore is leakage.
//!
//! The model keeps, per socket, the sum of the busy cores' frequencies and the number of cores in
//! each P-state, so each change costs O(1), even when the voltage changes.

use super::pstate::{Census, PState, PStates};
use super::spec::{FrequencySpec, PowerSpec};

/// State of one physical core that determines its power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Load {
    pub busy: bool,
    pub pstate: PState,
}

impl Load {
    /// An idle core: it does not determine the voltage.
    pub const IDLE: Load = Load { busy: false, pstate: PState::LOWEST };
}

/// Fractional bits of [`Coefficients::dynamic`].
const DYNAMIC_SHIFT: u32 = 24;

/// Power of a core at each socket voltage, indexed by the P-state that determines the voltage.
#[derive(Debug, Clone)]
struct Coefficients {
    /// C·V², in µW per kHz, shifted left by [`DYNAMIC_SHIFT`].
    dynamic: Vec<u64>,
    /// L·V, in µW.
    leakage: Vec<u64>,
    core_idle_uw: u64,
    uncore_uw: u64,
    package_idle_uw: u64,
}

impl Coefficients {
    fn new(freq: &FrequencySpec, power: &PowerSpec, cores: u16, pstates: &PStates) -> Coefficients {
        let microwatts = |w: f64| (w * 1e6).round() as u64;
        let all_khz = freq.turbo.limits.last().map_or(freq.nominal_khz, |l| l.khz);
        let all_mv = power.millivolts(all_khz);
        let core_uw = (power.tdp_w - power.uncore_w) * 1e6 / f64::from(cores);
        let per_khz_mv2 = (1.0 - power.leakage) * core_uw / (f64::from(all_khz) * all_mv * all_mv);
        let per_mv = power.leakage * core_uw / all_mv;
        let scale = f64::from(1u32 << DYNAMIC_SHIFT);
        let mv = |(_, khz)| power.millivolts(khz);
        Coefficients {
            dynamic: pstates
                .iter()
                .map(mv)
                .map(|mv| (per_khz_mv2 * mv * mv * scale).round() as u64)
                .collect(),
            leakage: pstates.iter().map(mv).map(|mv| (per_mv * mv).round() as u64).collect(),
            core_idle_uw: microwatts(power.core_idle_w),
            uncore_uw: microwatts(power.uncore_w),
            package_idle_uw: microwatts(power.package_idle_w),
        }
    }
}

/// Power state of one socket.
#[derive(Debug, Clone)]
struct Socket {
    census: Census,
    busy: u64,
    idle: u64,
    /// Sum of the busy cores' frequencies, in kHz.
    busy_khz: u64,
    /// Power of the socket's cores, without the uncore.
    cores_uw: u64,
}

impl Socket {
    fn add(&mut self, load: Load, pstates: &PStates) {
        self.census.enter(load.pstate);
        if load.busy {
            self.busy += 1;
            self.busy_khz += u64::from(pstates.khz(load.pstate));
        } else {
            self.idle += 1;
        }
    }

    fn remove(&mut self, load: Load, pstates: &PStates) {
        self.census.leave(load.pstate);
        if load.busy {
            self.busy -= 1;
            self.busy_khz -= u64::from(pstates.khz(load.pstate));
        } else {
            self.idle -= 1;
        }
    }

    fn price(&mut self, by: &Coefficients) {
        let v = self.census.highest().index();
        let dynamic = u128::from(by.dynamic[v]) * u128::from(self.busy_khz);
        self.cores_uw =
            (dynamic >> DYNAMIC_SHIFT) as u64 + by.leakage[v] * self.busy + by.core_idle_uw * self.idle;
    }
}

/// Energy meter of the machine.
#[derive(Debug, Clone)]
pub(super) struct Meter {
    by: Coefficients,
    sockets: Vec<Socket>,
    busy: u64,
    /// Power of the cores of all sockets.
    cores_uw: u64,
    as_of: u64,
    /// Energy in femtojoules (microwatts times nanoseconds).
    energy_fj: u128,
}

impl Meter {
    /// Meter at time 0 for a machine with all cores idle.
    pub fn new(
        freq: &FrequencySpec,
        power: &PowerSpec,
        sockets: usize,
        cores_per_socket: u16,
        pstates: &PStates,
    ) -> Meter {
        let by = Coefficients::new(freq, power, cores_per_socket, pstates);
        let mut socket = Socket { census: Census::new(pstates), busy: 0, idle: 0, busy_khz: 0, cores_uw: 0 };
        for _ in 0..cores_per_socket {
            socket.add(Load::IDLE, pstates);
        }
        socket.price(&by);
        Meter {
            cores_uw: socket.cores_uw * sockets as u64,
            sockets: vec![socket; sockets],
            by,
            busy: 0,
            as_of: 0,
            energy_fj: 0,
        }
    }

    /// A core of `socket` changes from `old` to `new` at time `now`.
    pub fn change(&mut self, now: u64, socket: u16, old: Load, new: Load, pstates: &PStates) {
        self.pass(now);
        self.busy = self.busy + u64::from(new.busy) - u64::from(old.busy);
        let socket = &mut self.sockets[usize::from(socket)];
        self.cores_uw -= socket.cores_uw;
        socket.remove(old, pstates);
        socket.add(new, pstates);
        socket.price(&self.by);
        self.cores_uw += socket.cores_uw;
    }

    /// Power of the whole machine, in microwatts.
    pub fn power_uw(&self) -> u64 {
        let each = if self.busy > 0 { self.by.uncore_uw } else { self.by.package_idle_uw };
        self.cores_uw + each * self.sockets.len() as u64
    }

    /// Energy of the whole machine from time 0 to `now`, in microjoules.
    pub fn energy_uj(&mut self, now: u64) -> u64 {
        self.pass(now);
        (self.energy_fj / 1_000_000_000) as u64
    }

    fn pass(&mut self, now: u64) {
        self.energy_fj += u128::from(self.power_uw()) * u128::from(now - self.as_of);
        self.as_of = now;
    }
}
