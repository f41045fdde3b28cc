//! Arithmetic as in `runtime/saakm_inline.h`: it wraps, and division by zero gives zero.

use hearth_ipanema::ir::Arithmetic;

pub fn apply(op: Arithmetic, a: i64, b: i64) -> i64 {
    match op {
        Arithmetic::Add => a.wrapping_add(b),
        Arithmetic::Sub => a.wrapping_sub(b),
        Arithmetic::Mul => a.wrapping_mul(b),
        Arithmetic::Div if b == 0 => 0,
        Arithmetic::Div => a.wrapping_div(b),
        Arithmetic::Rem if b == 0 => 0,
        Arithmetic::Rem => a.wrapping_rem(b),
    }
}

/// 65536 * 2^(-i / 32), rounded: the table that the runtimes interpolate.
const HALVING: [u32; 33] = [
    65536, 64132, 62757, 61413, 60097, 58809, 57549, 56316, 55109, 53928, 52773, 51642, 50535, 49452, 48393,
    47356, 46341, 45348, 44376, 43425, 42495, 41584, 40693, 39821, 38968, 38133, 37316, 36516, 35734, 34968,
    34219, 33486, 32768,
];

/// `value` halved once per `half_life` of `passed`, bit for bit as the runtimes compute it.
pub fn decay(value: i64, passed: i64, half_life: i64) -> i64 {
    if value == 0 || passed <= 0 {
        return value;
    }
    // Nothing is left after 63 half-lives.
    if half_life <= passed / 64 {
        return 0;
    }
    // Elapsed half-lives, and the rest in 1024ths of one.
    let (halvings, part) = if passed < i64::MAX >> 10 {
        let parts = passed as u64 * 1024 / half_life as u64;
        (parts >> 10, parts & 1023)
    } else {
        let rest = (passed % half_life) as u64;
        ((passed / half_life) as u64, rest / (half_life as u64 / 1024 + 1))
    };
    if halvings > 62 {
        return 0;
    }
    let at = (part >> 5) as usize & 31;
    let (high, low) = (HALVING[at], HALVING[at + 1]);
    let factor = u64::from(high - (((high - low) * (part as u32 & 31)) >> 5));
    let size = value.unsigned_abs();
    let size = if size < 1 << 46 { (size * factor) >> 16 } else { (size >> 16) * factor };
    let size = (size >> halvings) as i64;
    if value < 0 { size.wrapping_neg() } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflow_and_division_by_zero_are_defined() {
        assert_eq!(apply(Arithmetic::Div, i64::MIN, -1), i64::MIN);
        assert_eq!(apply(Arithmetic::Rem, i64::MIN, -1), 0);
        assert_eq!(apply(Arithmetic::Div, 7, 0), 0);
        assert_eq!(apply(Arithmetic::Add, i64::MAX, 1), i64::MIN);
    }

    #[test]
    fn decay_halves_and_reaches_zero() {
        assert_eq!(decay(1024, 0, 10), 1024);
        assert_eq!(decay(1024, 10, 10), 512);
        assert_eq!(decay(-1024, 20, 10), -256);
        assert_eq!(decay(i64::MAX, 10_000, 10), 0);
    }
}
