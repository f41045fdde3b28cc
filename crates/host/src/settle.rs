//! Detection of when a curve has settled. `docs/src/machines.md` has the definitions.

/// Half width of the band around the settled speed, relative to that speed.
pub const BAND: f64 = 0.02;
/// Minimum half width of the band, in standard deviations of the noise.
const NOISE: f64 = 3.0;
/// Ratio of standard deviation to median absolute deviation for normal noise.
const MAD_TO_SIGMA: f64 = 1.4826;
/// Final part of a curve, in which it is assumed to have settled.
const TAIL: usize = 4;
/// Minimum number of known values in the tail; twice as many are required in total.
const FEWEST: usize = 4;

/// How one curve moved. Times are numbers of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settling {
    /// Speed at the start.
    pub from: f64,
    /// Speed at the end: the median of the last quarter.
    pub to: f64,
    /// Half of the band around `to`.
    pub band: f64,
    /// Number of the first value in the band.
    pub reached: usize,
    /// Number of the first value from which on all lie in the band.
    pub settled: usize,
    /// Whether that was before the last quarter, from which `to` is computed.
    pub in_time: bool,
}

impl Settling {
    /// Whether the curve began outside the band by more than the band's width, that is, whether it moved.
    pub fn moved(&self) -> bool {
        (self.from - self.to).abs() > 2.0 * self.band
    }
}

/// Computes how a curve moved; `None` if too few values are known. The curve starts at `from` (default: its own first
/// values). A median over `span` values (odd) smooths it.
pub fn settling(values: &[Option<f64>], from: Option<f64>, span: usize) -> Option<Settling> {
    let tail: Vec<f64> = known(&values[values.len() - values.len() / TAIL..]);
    if tail.len() < FEWEST || values.iter().flatten().count() < 2 * FEWEST {
        return None;
    }
    let to = median(&tail)?;
    // Use differences of neighbours, so that a curve that still rises does not count as noisy.
    let steps: Vec<f64> = tail.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let noise = median(&steps)? * MAD_TO_SIGMA / std::f64::consts::SQRT_2;
    let band = (BAND * to.abs()).max(NOISE * noise);
    let smooth = smoothed(values, span);
    let inside = |value: f64| (value - to).abs() <= band;
    let last_outside = smooth.iter().rposition(|value| value.is_some_and(|value| !inside(value)));
    let first_known = |from: usize| (from..smooth.len()).find(|&i| smooth[i].is_some());
    Some(Settling {
        from: from.or_else(|| smooth.iter().flatten().next().copied())?,
        to,
        band,
        reached: smooth.iter().position(|value| value.is_some_and(inside))?,
        settled: first_known(last_outside.map_or(0, |last| last + 1)).unwrap_or(values.len()),
        in_time: last_outside.is_none_or(|last| last < values.len() - values.len() / TAIL),
    })
}

/// Smooths with a moving median. A value stays or becomes unknown if it is unknown itself or if fewer than half of
/// its neighbours are known, because one outlier could then decide.
pub fn smoothed(values: &[Option<f64>], span: usize) -> Vec<Option<f64>> {
    let reach = span / 2;
    (0..values.len())
        .map(|i| {
            values[i]?;
            let near = known(&values[i.saturating_sub(reach)..(i + reach + 1).min(values.len())]);
            median(&near).filter(|_| near.len() > reach)
        })
        .collect()
}

fn known(values: &[Option<f64>]) -> Vec<f64> {
    values.iter().flatten().copied().collect()
}

pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Quantile by linear interpolation between the two nearest values (type 7).
pub fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let at = part.clamp(0.0, 1.0) * last as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    Some(low + (high - low) * at.fract())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A straight line from `from` to `to` in `ramp` values, `count` in all.
    fn line(from: f64, to: f64, ramp: usize, count: usize) -> Vec<Option<f64>> {
        let part = |i: usize| (i as f64 / ramp as f64).min(1.0);
        (0..count).map(|i| Some(from + (to - from) * part(i))).collect()
    }

    /// The first value of such a line within `band` of its end.
    fn answer(from: f64, to: f64, ramp: usize, band: f64) -> usize {
        (0..=ramp).find(|&i| (to - from).abs() * (1.0 - i as f64 / ramp as f64) <= band).unwrap()
    }

    #[test]
    fn a_line_settles_where_it_meets_the_band() {
        // The E7: 1.2 to 3.0 GHz in 29 ms, in windows of 100 us. The band of 60 MHz begins 29 * 0.06 / 1.8
        // = 0.97 ms before the end.
        let settling = settling(&line(1.2e6, 3.0e6, 290, 2000), None, 5).unwrap();
        assert_eq!((settling.reached, settling.settled), (281, 281));
        assert!(settling.moved() && settling.in_time);
        assert_eq!(settling.to, 3.0e6);
    }

    #[test]
    fn a_step_settles_at_the_step() {
        let step: Vec<_> = (0..400).map(|i| Some(if i < 37 { 1e6 } else { 3e6 })).collect();
        assert_eq!(settling(&step, None, 5).unwrap().settled, 37);
    }

    #[test]
    fn a_curve_that_bounces_is_reached_before_it_settles() {
        let mut down = line(3.0e6, 1.2e6, 10, 150);
        down[40..45].fill(Some(2.0e6));
        down[95..98].fill(Some(1.6e6));
        let settling = settling(&down, Some(3.0e6), 3).unwrap();
        assert_eq!((settling.reached, settling.settled), (10, 98));
    }

    #[test]
    fn a_single_spike_is_no_bounce() {
        let mut curve = line(1e6, 3e6, 50, 400);
        curve[200] = Some(1e6);
        curve[201] = Some(1e6);
        assert_eq!(settling(&curve, None, 5).unwrap().settled, 49);
    }

    #[test]
    fn an_outlier_whose_neighbours_are_unknown_does_not_count() {
        let mut curve = line(1e6, 3e6, 50, 400);
        curve[350..355].fill(None);
        curve[352] = Some(1e6);
        let found = settling(&curve, None, 5).unwrap();
        assert!(found.in_time);
        assert_eq!(found.settled, 49);
    }

    #[test]
    fn a_flat_curve_did_not_move() {
        let flat = settling(&vec![Some(2e6); 100], None, 5).unwrap();
        assert!(!flat.moved());
        assert_eq!((flat.reached, flat.settled), (0, 0));
    }

    #[test]
    fn a_curve_that_still_climbs_has_not_settled() {
        let climbing = settling(&line(1e6, 3e6, 400, 400), None, 5).unwrap();
        assert!(climbing.moved() && !climbing.in_time);
    }

    #[test]
    fn too_little_is_no_answer() {
        assert_eq!(settling(&[], None, 5), None);
        assert_eq!(settling(&[Some(1.0); 7], None, 5), None);
        let mut gone = line(1e6, 2e6, 10, 100);
        gone[70..].fill(None);
        assert_eq!(settling(&gone, None, 5), None);
    }

    #[test]
    fn quantiles_by_hand() {
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), Some(2.5));
        assert_eq!(quantile(&[10.0, 20.0], 0.1), Some(11.0));
        assert_eq!(quantile(&[f64::NAN, 5.0], 0.9), Some(5.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Noise of 0.5 %, one window in ten missing, one in thirty an outlier: the answer stays within
        /// what the noise can hide of the ramp.
        #[test]
        fn noisy_lines_settle_where_clean_ones_do(
            ramp in 20usize..400,
            from in 0.8e6..1.6e6f64,
            rise in 1.0e6..2.0e6f64,
            noise in proptest::collection::vec(-1.0..1.0f64, 2000),
            dice in proptest::collection::vec(0u32..30, 2000),
        ) {
            let to = from + rise;
            let mut curve = line(from, to, ramp, 2000);
            for (i, value) in curve.iter_mut().enumerate() {
                *value = match dice[i] {
                    0..3 => None,
                    3 if i % 9 == 0 => Some(0.3 * to),
                    _ => value.map(|v| v * (1.0 + 0.005 * noise[i])),
                };
            }
            let found = settling(&curve, None, 5).unwrap();
            let expected = answer(from, to, ramp, found.band) as f64;
            let hidden = 0.01 * to / rise * ramp as f64 + 6.0;
            prop_assert!(found.moved() && found.in_time);
            prop_assert!((found.to - to).abs() < 0.005 * to);
            prop_assert!((found.settled as f64 - expected).abs() <= hidden, "{found:?}, expected {expected}");
        }

        #[test]
        fn noise_is_no_transition(noise in proptest::collection::vec(-1.0..1.0f64, 100..1000), level in 1e6..4e6f64) {
            let curve: Vec<_> = noise.iter().map(|n| Some(level * (1.0 + 0.01 * n))).collect();
            prop_assert!(!settling(&curve, None, 5).unwrap().moved());
        }

        #[test]
        fn no_curve_is_too_strange(
            values in proptest::collection::vec(proptest::option::of(proptest::num::f64::ANY), 0..100),
            span in 0usize..9,
        ) {
            if let Some(found) = settling(&values, None, span) {
                prop_assert!(found.settled <= values.len() && found.reached < values.len());
            }
        }
    }
}
