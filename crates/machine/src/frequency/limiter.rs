//! Limits of a socket's average power: Intel's PL1 and PL2, AMD's PPT.
//!
//! A limit has watts and a time constant. The power control unit keeps an exponential average of the socket's power
//! for each (Intel SDM, volume 3, section 15.10.3, "Package RAPL Domain"). How it finds the frequency is unpublished.
//! The model: each [`PERIOD_NS`], the budget is the limit, plus what the average is below it; the cap is the highest
//! P-state at which the cores that are busy now draw at most the budget.

use super::power::Meter;
use super::pstate::{PState, PStates};
use super::spec::PowerSpec;
/// assumption: time between two decisions. Firmware loops of 1 ms are usual.
pub(super) const PERIOD_NS: u64 = 1_000_000;
/// Largest step of an average, as a part of its time constant; longer times take several.
const STEPS: u64 = 16;
/// Fractional bits during the steps.
const SHIFT: u32 = 16;
/// After this many time constants, an average is taken to have reached the value.
const FORGOTTEN: u64 = 16;

/// Limits and averages of all sockets. Averages are in nanowatts, so that a long time constant loses nothing.
#[derive(Debug, Clone)]
pub(super) struct Limiter {
    /// Microwatts and time constant in nanoseconds of each limit.
    limits: Vec<(u64, u64)>,
    /// Highest P-state of each kind.
    tops: Vec<PState>,
    sockets: Vec<Socket>,
}

#[derive(Debug, Clone)]
struct Socket {
    /// Average power for each limit, in nanowatts.
    averages: Vec<u64>,
    cap: PState,
    as_of: u64,
    energy_fj: u128,
}

impl Limiter {
    /// `None` if the machine has no limits.
    pub fn new(power: &PowerSpec, sockets: usize, tops: Vec<PState>, pstates: &PStates) -> Option<Limiter> {
        let limit = |limit: &super::spec::PowerLimit| {
            ((limit.watts * 1e6).round() as u64, u64::from(limit.tau_us.max(1)) * 1000)
        };
        let limits: Vec<_> = power.limits.iter().map(limit).collect();
        let idle = (power.package_idle_w * 1e6).round() as u64;
        let socket =
            Socket { averages: vec![1000 * idle; limits.len()], cap: pstates.top(), as_of: 0, energy_fj: 0 };
        (!limits.is_empty()).then(|| Limiter { limits, tops, sockets: vec![socket; sockets] })
    }

    /// Highest P-state of the socket's cores.
    pub fn cap(&self, socket: u16) -> PState {
        self.sockets[usize::from(socket)].cap
    }

    /// Decides on the socket's cap at `now`. Returns true if it changes.
    pub fn decide(&mut self, now: u64, socket: u16, meter: &mut Meter, pstates: &PStates) -> bool {
        let index = usize::from(socket);
        let energy_fj = meter.socket_fj(now, index);
        let state = &mut self.sockets[index];
        let dt = now - state.as_of;
        if let Some(mean) = (1000 * (energy_fj - state.energy_fj)).checked_div(u128::from(dt)) {
            for (average, &(_, tau)) in state.averages.iter_mut().zip(&self.limits) {
                *average = approach(*average, mean as u64, dt, tau);
            }
        }
        (state.as_of, state.energy_fj) = (now, energy_fj);
        let budget =
            |(&average, &(limit, _)): (&u64, &(u64, u64))| (2 * limit).saturating_sub(average / 1000);
        let budget = state.averages.iter().zip(&self.limits).map(budget).min().unwrap_or(u64::MAX);
        let cap = meter.cap(index, budget, state.cap, &self.tops, pstates);
        std::mem::replace(&mut state.cap, cap) != cap
    }
}

/// An exponential average with time constant `tau`, after `dt` at `value`: second-order steps on integers.
fn approach(average: u64, value: u64, dt: u64, tau: u64) -> u64 {
    if dt >= tau.saturating_mul(FORGOTTEN) {
        return value;
    }
    let steps = (dt * STEPS).div_ceil(tau).max(1);
    let step = u128::from(dt / steps);
    let tau = u128::from(tau);
    let mut left = u128::from(average.abs_diff(value)) << SHIFT;
    for _ in 0..steps {
        left = left * (2 * tau - step) / (2 * tau + step);
    }
    let left = (left >> SHIFT) as u64;
    if average > value { value + left } else { value - left }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_is_exponential() {
        let after = |average, value, dt| approach(average, value, dt, 1_000_000) as f64;
        let rest = (-1.0f64).exp();
        assert!((after(0, 100_000_000, 1_000_000) - 1e8 * (1.0 - rest)).abs() < 1e5);
        assert!((after(100_000_000, 0, 1_000_000) - 1e8 * rest).abs() < 1e5);
        assert_eq!(approach(7, 7, 5, 1), 7);
    }
}
