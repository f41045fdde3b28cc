//! Integer random numbers and distributions.
//!
//! Floating-point logarithms differ between platforms, and the generators of a library between its
//! versions. The same seed must always give the same workload everywhere.

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform number below `n`; 0 if `n` is 0. (The bias of at most n / 2^64 does not matter
    /// here.)
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// True with a probability of `percent` / 100.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Uniform in `mean` ± `spread` percent.
    pub fn around(&mut self, mean: u64, spread: u64) -> u64 {
        let width = mean.saturating_mul(spread) / 100;
        (mean - width.min(mean)).saturating_add(self.below(width.saturating_mul(2).saturating_add(1)))
    }

    /// Weighted choice from `items`, which must not be empty.
    pub fn choose<T: Copy>(&mut self, items: &[(u64, T)]) -> T {
        let mut ticket = self.below(items.iter().map(|(weight, _)| weight).sum());
        for &(weight, item) in items {
            match ticket.checked_sub(weight) {
                Some(rest) => ticket = rest,
                None => return item,
            }
        }
        items[items.len() - 1].1
    }
}

/// Distribution given by five quantiles with linear interpolation between them, as a measurement
/// yields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantiles {
    pub min: u64,
    pub half: u64,
    pub p90: u64,
    pub p99: u64,
    pub max: u64,
}

impl Quantiles {
    pub fn draw(&self, random: &mut Random) -> u64 {
        const SCALE: u64 = 1_000_000;
        let at = random.below(SCALE);
        let (from, to, low, high) = match at {
            0..500_000 => (0, 500_000, self.min, self.half),
            500_000..900_000 => (500_000, 900_000, self.half, self.p90),
            900_000..990_000 => (900_000, 990_000, self.p90, self.p99),
            _ => (990_000, SCALE, self.p99, self.max),
        };
        low + (high - low) * (at - from) / (to - from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_fixed() {
        // Published reference output for seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn quantiles_are_met() {
        let q = Quantiles { min: 100, half: 200, p90: 400, p99: 1000, max: 3000 };
        let mut random = Random::new(7);
        let mut drawn: Vec<u64> = (0..100_000).map(|_| q.draw(&mut random)).collect();
        drawn.sort_unstable();
        assert!(drawn[0] >= 100 && drawn[99_999] <= 3000);
        assert!(drawn[50_000].abs_diff(200) < 5);
        assert!(drawn[90_000].abs_diff(400) < 10);
        assert!(drawn[99_000].abs_diff(1000) < 60);
    }

    #[test]
    fn around_stays_around() {
        let mut random = Random::new(3);
        for _ in 0..1000 {
            assert!((900..=1100).contains(&random.around(1000, 10)));
        }
        assert_eq!(random.around(0, 10), 0);
        assert_eq!(random.around(5, 0), 5);
    }
}
