//! Frequency ramp: how the hardware follows the load of one physical core.
//!
//! A core has a **warmth** *w* from 0 (cold) to 1. It rises linearly over `up` of busy time and
//! falls linearly over `settle` of idle time. The hardware offers a busy core *min + w · (limit −
//! min)*. The *displayed* frequency of an idle core falls faster, over `down`. A core that becomes
//! busy again before `settle` has passed bounces back to the frequency for its remaining warmth.
//! The model reproduces figure 3 of the ATC'20 paper: 29 ms up, 10 ms down, bouncing for 98 ms.
//!
//! All arithmetic is on integers. The unit of warmth is chosen so that warmth rises and falls by
//! whole numbers per nanosecond.

use super::pstate::{PState, PStates};
use super::spec::Ramp;

/// Constants of a machine's ramp.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    /// Warmth gained per busy nanosecond.
    rise: u64,
    /// Warmth lost per idle nanosecond.
    fall: u64,
    /// Warmth of a fully warm core.
    full: u64,
    up_ns: u64,
    settle_ns: u64,
    down_ns: u64,
    window_ns: u64,
}

/// Warmth of one physical core at time `as_of`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Warmth {
    level: u64,
    as_of: u64,
}

impl Curve {
    pub fn new(ramp: &Ramp) -> Curve {
        let ns = |us: u32| u64::from(us) * 1000;
        let (up, settle) = (ns(ramp.up_us), ns(ramp.settle_us));
        let common = gcd(up, settle);
        // Times are whole microseconds and at most one second (validated), hence `full` ≤ 10⁹ · 10⁹
        // / 1000, which fits.
        Curve {
            rise: settle / common,
            fall: up / common,
            full: up * (settle / common),
            up_ns: up,
            settle_ns: settle,
            down_ns: ns(ramp.down_us),
            window_ns: ns(ramp.window_us),
        }
    }

    /// First update window at or after `at`.
    pub fn window_from(&self, at: u64) -> u64 {
        at.div_ceil(self.window_ns).saturating_mul(self.window_ns)
    }

    /// Advances `warmth` to `now`; the core was busy or idle since its last update.
    pub fn pass(&self, warmth: &mut Warmth, now: u64, busy: bool) {
        let dt = now - warmth.as_of;
        warmth.level = if busy {
            (warmth.level + dt.min(self.up_ns) * self.rise).min(self.full)
        } else {
            warmth.level.saturating_sub(dt.min(self.settle_ns) * self.fall)
        };
        warmth.as_of = now;
    }

    /// Busy time until a core of this warmth reaches `level`.
    fn time_to(&self, warmth: Warmth, level: u64) -> u64 {
        level.saturating_sub(warmth.level).div_ceil(self.rise)
    }
}

/// P-states that the hardware offers under one turbo limit.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    /// Warmth from which each P-state up to the limit is offered.
    from: Vec<u64>,
}

impl Offer {
    pub fn new(curve: &Curve, pstates: &PStates, limit: PState) -> Offer {
        let min = pstates.khz(PState::LOWEST);
        let range = u128::from(pstates.khz(limit) - min).max(1);
        let from = pstates
            .iter()
            .take_while(|&(p, _)| p <= limit)
            .map(|(_, khz)| (u128::from(curve.full) * u128::from(khz - min)).div_ceil(range) as u64)
            .collect();
        Offer { from }
    }

    /// P-state offered to a busy core of this warmth.
    pub fn at(&self, warmth: Warmth) -> PState {
        // `from` rises strictly, from 0.
        let above = self.from.partition_point(|&level| level <= warmth.level);
        PState::from_index(above.saturating_sub(1))
    }

    /// Time at which a core that stays busy is offered more than `current`.
    pub fn next(&self, curve: &Curve, warmth: Warmth, current: PState) -> Option<u64> {
        let &level = self.from.get(current.next().index())?;
        let crossing = warmth.as_of + curve.time_to(warmth, level).max(1);
        Some(curve.window_from(crossing))
    }
}

/// Linear decay of the displayed frequency of an idle core.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fall {
    /// Time at which the core went idle.
    pub since: u64,
    /// Frequency at that time.
    pub from_khz: u32,
    /// Frequency at the end of the decay.
    pub to_khz: u32,
}

impl Fall {
    /// Displayed frequency at `now`, before rounding up to a P-state.
    pub fn khz(&self, curve: &Curve, now: u64) -> u32 {
        let dt = (now - self.since).min(curve.down_ns);
        let height = u64::from(self.from_khz - self.to_khz);
        self.from_khz - (height * dt / curve.down_ns.max(1)) as u32
    }

    /// Time at which the frequency has fallen to `khz`.
    pub fn reaches(&self, curve: &Curve, khz: u32) -> u64 {
        let height = u64::from(self.from_khz - self.to_khz).max(1);
        let part = u64::from(self.from_khz.saturating_sub(khz));
        self.since + (curve.down_ns * part).div_ceil(height).max(1)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}
