//! Geometric decay in integer arithmetic.

/// Nanoseconds per period: Linux counts 1024 units of 1024 ns.
pub const PERIOD_NS: u64 = 1 << 20;

/// Periods in which a value halves (Linux `LOAD_AVG_PERIOD`).
pub const HALF_LIFE: u64 = 32;

/// Fractional bits of the factors.
const SHIFT: u32 = 32;

/// Fractional bits while the tables are computed.
const PRECISE: u32 = 62;

/// Decay factors for 0 … 31 periods, for 0 … 31 parts of 1/32 period, and for 0 … 31 parts of
/// 1/1024 period (1024 ns, Linux's resolution).
const BY_PERIOD: [u64; 32] = powers(root_of_half(5));
const BY_32ND: [u64; 32] = powers(root_of_half(10));
const BY_1024TH: [u64; 32] = powers(root_of_half(15));

/// Decays `value` over `dt_ns`: `value · 2^(−dt / 32 periods)`, rounded down. The resolution is
/// 1024 ns; a remainder is ignored.
pub fn decay(value: u64, dt_ns: u64) -> u64 {
    let units = dt_ns >> 10;
    let (periods, parts) = (units >> 10, units & 1023);
    let halvings = periods / HALF_LIFE;
    if halvings >= 64 {
        return 0;
    }
    let mut value = value >> halvings;
    for (table, index) in
        [(&BY_PERIOD, periods % HALF_LIFE), (&BY_32ND, parts >> 5), (&BY_1024TH, parts & 31)]
    {
        if index != 0 {
            value = ((u128::from(value) * u128::from(table[index as usize])) >> SHIFT) as u64;
        }
    }
    value
}

/// Last time not after `to` that is a multiple of 1024 ns after `from`, the resolution of
/// [`decay`]. The next update accounts for the remainder, as in Linux `___update_load_sum`.
pub(super) fn visible(from: u64, to: u64) -> u64 {
    from + (to.saturating_sub(from) & !1023)
}

/// The `2^n`-th root of one half, with [`PRECISE`] fractional bits.
const fn root_of_half(n: u32) -> u64 {
    let mut root = 1u64 << (PRECISE - 1);
    let mut i = 0;
    while i < n {
        root = ((root as u128) << PRECISE).isqrt() as u64;
        i += 1;
    }
    root
}

/// The powers 0 … 31 of `base`, with [`SHIFT`] fractional bits.
const fn powers(base: u64) -> [u64; 32] {
    let mut table = [0; 32];
    let mut power = 1u64 << PRECISE;
    let mut i = 0;
    while i < 32 {
        table[i] = power >> (PRECISE - SHIFT);
        power = ((power as u128 * base as u128) >> PRECISE) as u64;
        i += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn halves_in_32_periods() {
        assert_eq!(decay(1 << 40, 32 * PERIOD_NS), 1 << 39);
        assert_eq!(decay(1 << 40, 64 * PERIOD_NS), 1 << 38);
        assert_eq!(decay(u64::MAX, u64::MAX), 0);
        assert_eq!(decay(12345, 1023), 12345);
    }

    proptest! {
        #[test]
        fn is_the_exponential(value in 0u64..1 << 44, dt in 0u64..1_000_000_000) {
            let seen = (dt & !1023) as f64;
            let exact = value as f64 * (-seen / (32.0 * PERIOD_NS as f64)).exp2();
            let error = (decay(value, dt) as f64 - exact).abs();
            prop_assert!(error <= 4.0 + exact * 1e-8, "{error}");
        }

        #[test]
        fn never_grows(value: u64, dt: u64, more in 0u64..1 << 40) {
            let after = decay(value, dt);
            prop_assert!(after <= value);
            // Rounding three factors may slightly violate monotonicity.
            prop_assert!(decay(value, dt.saturating_add(more)) <= after + after / (1 << 30) + 3);
        }
    }
}
