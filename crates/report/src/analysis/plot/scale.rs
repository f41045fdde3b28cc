//! Frequency bins and their colours.

use hearth_base::colour::{self, Rgb};
use hearth_trace::Summary;

const MOST_BINS: usize = 9;

/// Bins of equal width in GHz. Bin i holds (low + i·step, low + (i+1)·step].
pub struct Scale {
    low: f64,
    step: f64,
    pub bins: usize,
}

impl Scale {
    pub fn new(ghz: impl Iterator<Item = f64>) -> Scale {
        // In integer tenths of a GHz, to avoid rounding errors.
        let tenths = |ghz: f64| (ghz * 10.0).round().clamp(0.0, 127.0) as u32;
        let (low, high) = ghz.map(tenths).fold((u32::MAX, 0), |(low, high), at| (low.min(at), high.max(at)));
        if low > high {
            return Scale { low: 0.0, step: 1.0, bins: 0 };
        }
        // A bin excludes its lower edge, so the first one starts below the lowest frequency.
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

    pub fn colour(&self, bin: usize) -> Rgb {
        colour::table().frequency(bin as f64 / (self.bins.max(2) - 1) as f64)
    }

    /// The share of busy time in each bin, and the share at unknown frequency.
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
    fn bins_cover_all_frequencies() {
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
    fn shares_add_up_to_the_busy_time() {
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
    fn colours_span_the_table() {
        let scale = Scale::new([1.0, 4.0].into_iter());
        let of = |share| colour::table().frequency(share);
        assert_eq!((scale.colour(0), scale.colour(scale.bins - 1)), (of(0.0), of(1.0)));
    }
}
