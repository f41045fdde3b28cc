//! The hardware's own choice of a frequency (Intel Speed Shift, HWP).
//!
//! Intel publishes no algorithm. The SDM (volume 3, section 14.4) says that the hardware looks at
//! the activity in a moving window, and that the energy preference steers how fast it reacts. The
//! model is a moving average of a physical core's activity (C0 residency) with the time constant
//! `tau_us`. The chosen frequency rises linearly with it, from the lowest to the highest at an
//! activity of `full_permille`. Form and both numbers are assumptions.

use super::pstate::{PState, PStates};
use super::spec;
use crate::pelt::{HALF_LIFE, PERIOD_NS, decay};

/// Fractional bits of an activity.
const SHIFT: u32 = 32;
/// Activity of a core that is always busy.
const FULL: u64 = 1 << SHIFT;
/// Time in which [`decay`] halves a value.
const HALF_LIFE_NS: u128 = (HALF_LIFE * PERIOD_NS) as u128;
/// ln 2, in millionths.
const LN2: u128 = 693_147;

/// Average activity of one physical core at time `as_of`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Activity {
    level: u64,
    as_of: u64,
}

/// Parameters of the hardware's choice.
#[derive(Debug, Clone)]
pub(super) struct Hwp {
    /// Activity from which each P-state is chosen.
    from: Vec<u64>,
    tau_ns: u64,
}

impl Hwp {
    pub fn new(spec: &spec::Hwp, pstates: &PStates) -> Hwp {
        let min = pstates.khz(PState::LOWEST);
        let range = u128::from(pstates.khz(pstates.top()) - min).max(1);
        let full = u128::from(FULL) * u128::from(spec.full_permille) / 1000;
        let from = pstates.iter().map(|(_, khz)| (full * u128::from(khz - min)).div_ceil(range) as u64);
        Hwp { from: from.collect(), tau_ns: u64::from(spec.tau_us.max(1)) * 1000 }
    }

    /// Advances `activity` to `now`; the core was busy or idle since its last update.
    pub fn pass(&self, activity: &mut Activity, now: u64, busy: bool) {
        let dt = u128::from(now - activity.as_of);
        let scaled = dt * HALF_LIFE_NS * 1_000_000 / (u128::from(self.tau_ns) * LN2);
        let scaled = u64::try_from(scaled).unwrap_or(u64::MAX);
        activity.level =
            if busy { FULL - decay(FULL - activity.level, scaled) } else { decay(activity.level, scaled) };
        activity.as_of = now;
    }

    /// The chosen P-state.
    pub fn choice(&self, activity: Activity) -> PState {
        // `from` rises, from 0.
        let above = self.from.partition_point(|&level| level <= activity.level);
        PState::from_index(above.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const US: u64 = 1_000;

    fn hwp(tau_us: u32, full_permille: u32) -> Hwp {
        let (spec, pstates) = (spec::Hwp { tau_us, full_permille }, PStates::even(10, 39));
        Hwp::new(&spec, &pstates)
    }

    #[test]
    fn the_average_is_exponential() {
        let hwp = hwp(1_000, 300);
        let mut activity = Activity::default();
        hwp.pass(&mut activity, 1_000 * US, true);
        let level = activity.level as f64 / FULL as f64;
        assert!((level - (1.0 - (-1.0f64).exp())).abs() < 1e-3, "{level}");
        hwp.pass(&mut activity, 3_000 * US, false);
        let level = activity.level as f64 / FULL as f64;
        assert!((level - (1.0 - (-1.0f64).exp()) * (-2.0f64).exp()).abs() < 1e-3, "{level}");
    }

    #[test]
    fn the_highest_frequency_needs_the_full_activity() {
        let hwp = hwp(1_000, 300);
        let choice = |permille: u64| hwp.choice(Activity { level: FULL * permille / 1000, as_of: 0 }).index();
        assert_eq!((choice(0), choice(150), choice(299), choice(300), choice(1000)), (0, 14, 28, 29, 29));
    }

    proptest! {
        #[test]
        fn more_activity_never_means_less(tau in 1u32..100_000, full in 1u32..1001, steps in prop::collection::vec((0u64..10_000_000, any::<bool>()), 1..40)) {
            let hwp = hwp(tau, full);
            let mut activity = Activity::default();
            let mut now = 0;
            for (dt, busy) in steps {
                let (before, chosen) = (activity.level, hwp.choice(activity));
                now += dt;
                hwp.pass(&mut activity, now, busy);
                prop_assert!(activity.level <= FULL);
                let after = activity.level;
                prop_assert!((busy && after >= before) || (!busy && after <= before));
                let after = hwp.choice(activity);
                prop_assert!((busy && after >= chosen) || (!busy && after <= chosen));
            }
        }
    }
}
