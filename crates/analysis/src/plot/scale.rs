//! Frequencies in a few ranges, each with a colour: those of the report page, from cold blue to
//! warm amber, lighter all the way, so that the order survives colour blindness and grey print.

use hearth_trace::Summary;
use plotters::style::RGBColor;

const ANCHORS: [(u8, u8, u8); 6] =
    [(54, 72, 172), (124, 74, 184), (186, 77, 158), (226, 98, 108), (243, 142, 70), (250, 199, 58)];
pub const UNKNOWN: RGBColor = RGBColor(138, 143, 152);
const MOST_BINS: usize = 9;

/// Ranges of equal width. Range i holds (low + i·step, low + (i+1)·step].
pub struct Scale {
    low: f64,
    step: f64,
    pub bins: usize,
}

impl Scale {
    pub fn new(ghz: impl Iterator<Item = f64>) -> Scale {
        // In tenths, as frequencies are told: sums of tenths are exact.
        let tenths = |ghz: f64| (ghz * 10.0).round().clamp(0.0, 127.0) as u32;
        let (low, high) = ghz.map(tenths).fold((u32::MAX, 0), |(low, high), at| (low.min(at), high.max(at)));
        if low > high {
            return Scale { low: 0.0, step: 1.0, bins: 0 };
        }
        // The lowest frequency lies in the first range, not at its lower end.
        let low = low.saturating_sub(1);
        let fit = |step: u32| (low / step * step, step, (high - low / step * step).div_ceil(step) as usize);
        let steps = [1, 2, 5, 10, 20, 50].map(fit);
        let (low, step, bins) = steps.into_iter().find(|fit| fit.2 <= MOST_BINS).unwrap_or((0, 50, 3));
        Scale { low: f64::from(low) / 10.0, step: f64::from(step) / 10.0, bins: bins.max(1) }
    }

    pub fn range(&self, bin: usize) -> String {
        let edge = |bin: usize| self.low + bin as f64 * self.step;
        format!("{:.1}–{:.1} GHz", edge(bin), edge(bin + 1))
    }

    pub fn colour(&self, bin: usize) -> RGBColor {
        let place = bin as f64 / (self.bins.max(2) - 1) as f64 * (ANCHORS.len() - 1) as f64;
        let at = (place as usize).min(ANCHORS.len() - 2);
        let mix = |a: u8, b: u8| {
            (f64::from(a) + (f64::from(b) - f64::from(a)) * (place - at as f64).min(1.0)) as u8
        };
        let (a, b) = (ANCHORS[at], ANCHORS[at + 1]);
        RGBColor(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
    }

    /// Of the busy time, the share of each range, and that of unknown frequency.
    pub fn shares(&self, summary: &Summary) -> (Vec<f64>, f64) {
        let mut shares = vec![0.0; self.bins];
        for residency in &summary.frequency_residency {
            let bin = ((residency.ghz - self.low) / self.step - 0.01).floor().max(0.0) as usize;
            if let Some(last) = self.bins.checked_sub(1) {
                shares[bin.min(last)] += residency.ms;
            }
        }
        let whole = shares.iter().sum::<f64>() + summary.frequency_unknown_ms;
        let share = |ms: f64| if whole > 0.0 { ms / whole } else { 0.0 };
        (shares.iter().map(|ms| share(*ms)).collect(), share(summary.frequency_unknown_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_trace::Residency;

    #[test]
    fn ranges_cover_what_is_there() {
        let scale = Scale::new([1.8, 3.9].into_iter());
        assert_eq!(
            (scale.bins, scale.range(0), scale.range(4)),
            (5, "1.5–2.0 GHz".into(), "3.5–4.0 GHz".into())
        );
        let scale = Scale::new([2.1, 2.1].into_iter());
        assert_eq!((scale.bins, scale.range(0)), (1, "2.0–2.1 GHz".into()));
        assert_eq!(Scale::new([0.1, 12.7].into_iter()).bins, 7);
        assert_eq!(Scale::new([].into_iter()).bins, 0);
    }

    #[test]
    fn shares_are_of_the_busy_time() {
        let residency = |ghz, ms| Residency { ghz, ms };
        let summary = Summary {
            frequency_residency: vec![residency(2.0, 1.0), residency(2.1, 2.0), residency(3.9, 4.0)],
            frequency_unknown_ms: 1.0,
            ..Summary::default()
        };
        let scale = Scale::new([2.0, 3.9].into_iter());
        assert_eq!((scale.bins, scale.range(0)), (5, "1.5–2.0 GHz".into()));
        assert_eq!(scale.shares(&summary), (vec![0.125, 0.25, 0.0, 0.0, 0.5], 0.125));
    }

    #[test]
    fn colours_end_at_the_ends() {
        let scale = Scale::new([1.0, 4.0].into_iter());
        let rgb = |colour: RGBColor| (colour.0, colour.1, colour.2);
        assert_eq!((rgb(scale.colour(0)), rgb(scale.colour(scale.bins - 1))), (ANCHORS[0], ANCHORS[5]));
    }
}
