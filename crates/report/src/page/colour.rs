//! Colours of frequencies and policies. Each machine has its own scale of frequency.

use super::html::escape;
use super::{Report, Setting};
use hearth_base::colour::{Rgb, table};
use std::fmt::Write;

const MOST_BINS: usize = 10;
/// Tolerance for rounding, in GHz.
const NOISE: f64 = 1e-4;

/// Bins of equal width in GHz. Bin i holds (low + i·step, low + (i+1)·step].
#[derive(Clone, PartialEq, Debug)]
pub struct GhzScale {
    pub low: f64,
    pub step: f64,
    pub bins: usize,
}

impl GhzScale {
    pub fn new(frequencies: impl IntoIterator<Item = f64>) -> GhzScale {
        let known = frequencies.into_iter().filter(|ghz| known(*ghz));
        let (low, high) = known.fold((f64::INFINITY, 0.0f64), |(a, b), ghz| (a.min(ghz), b.max(ghz)));
        if !low.is_finite() {
            return GhzScale { low: 1.0, step: 0.5, bins: 6 };
        }
        let steps = [0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 1.0, 2.0, 5.0, 10.0];
        let fit = |step: f64| {
            let first = (low / step + NOISE).floor();
            let last = (high / step - NOISE).ceil().max(first + 1.0);
            GhzScale { low: first * step, step, bins: (last - first) as usize }
        };
        steps.map(fit).into_iter().find(|scale| scale.bins <= MOST_BINS).unwrap_or(GhzScale {
            low: 0.0,
            step: high / MOST_BINS as f64,
            bins: MOST_BINS,
        })
    }

    /// The bin of a frequency; `None` when it is unknown.
    pub fn bin(&self, ghz: f64) -> Option<usize> {
        let bin = ((ghz - self.low - NOISE) / self.step).floor();
        known(ghz).then(|| (bin.max(0.0) as usize).min(self.bins - 1))
    }

    pub fn colour(&self, bin: usize) -> Rgb {
        table().frequency(if self.bins > 1 { bin as f64 / (self.bins - 1) as f64 } else { 1.0 })
    }

    fn edge(&self, i: usize) -> f64 {
        self.low + i as f64 * self.step
    }

    fn decimals(&self) -> usize {
        if (self.step * 10.0 - (self.step * 10.0).round()).abs() < 1e-9 { 1 } else { 2 }
    }

    /// `3.6–3.9 GHz`
    pub fn range(&self, bin: usize) -> String {
        let decimals = self.decimals();
        format!("{:.decimals$}–{:.decimals$} GHz", self.edge(bin), self.edge(bin + 1))
    }

    /// The colours as a list, with the edges of the bins in GHz.
    pub fn legend(&self) -> String {
        let mut legend = String::from("<ol class=\"legend\">");
        let decimals = self.decimals();
        for bin in 0..self.bins {
            let (colour, low) = (self.colour(bin), self.edge(bin));
            let _ = write!(legend, "<li style=\"--c:{colour}\"><span>{low:.decimals$}</span></li>");
        }
        let high = self.edge(self.bins);
        let _ = write!(legend, "<li class=\"end\"><span>{high:.decimals$}</span></li></ol>");
        legend
    }
}

/// The legend's entry for an unknown frequency, if the chart has any.
pub fn unknown_key(any: bool) -> String {
    if !any {
        return String::new();
    }
    format!("<span class=\"unit\"><i class=\"key\" style=\"--c:{}\"></i>unknown</span>", table().unknown)
}

/// The scale of each machine in a report.
pub struct Scales(Vec<(String, GhzScale)>);

impl Scales {
    pub fn of(&self, setting: &Setting) -> &GhzScale {
        let found = self.0.iter().find(|(machine, _)| *machine == setting.machine);
        &found.expect("every machine has a scale").1
    }
}

/// The scales cover every frequency that the report shows.
pub fn scales(report: &Report) -> Scales {
    let mut seen: Vec<(String, Vec<f64>)> = Vec::new();
    let mut add = |setting: &Setting, frequencies: &mut dyn Iterator<Item = f64>| {
        let at = seen.iter().position(|(machine, _)| *machine == setting.machine);
        let at = at.unwrap_or_else(|| {
            seen.push((setting.machine.clone(), Vec::new()));
            seen.len() - 1
        });
        let known = frequencies.filter(|ghz| known(*ghz));
        let (low, high) = known.fold((f64::MAX, 0.0f64), |(a, b), x| (a.min(x), b.max(x)));
        seen[at].1.extend([low, high].into_iter().filter(|x| known_bound(*x)));
    };
    for it in &report.distributions {
        add(&it.setting, &mut it.residency.iter().filter(|(_, ms)| *ms > 0.0).map(|(ghz, _)| *ghz));
    }
    for it in &report.timelines {
        let range = [it.ghz_range.0, it.ghz_range.1].into_iter();
        add(&it.setting, &mut range.chain(it.segments.iter().map(|s| s.ghz)).map(f64::from));
    }
    Scales(seen.into_iter().map(|(machine, ghz)| (machine, GhzScale::new(ghz))).collect())
}

pub fn known(ghz: f64) -> bool {
    ghz.is_finite() && ghz > 0.0
}

fn known_bound(ghz: f64) -> bool {
    known(ghz) && ghz < f64::MAX
}

/// The colour of a policy. The first policy is the one that the others are compared with.
pub fn policy(index: usize) -> Rgb {
    index.checked_sub(1).map_or(table().baseline, |kind| table().kind(kind))
}

/// A policy's name after a square of its colour.
pub fn named_policy(index: usize, name: &str) -> String {
    format!("<i class=\"key\" style=\"--c:{}\"></i>{}", policy(index), escape(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_have_round_edges_and_hold_their_upper_edge() {
        let e7 = GhzScale::new([1.2, 3.0]);
        assert_eq!((e7.step, e7.bins), (0.2, 9));
        assert_eq!(e7.bin(1.2), Some(0));
        assert_eq!(e7.bin(3.0), Some(8));
        assert_eq!(e7.bin(f64::from(2.8f32)), Some(7));
        assert_eq!(e7.bin(2.81), Some(8));
        assert_eq!(e7.range(8), "2.8–3.0 GHz");
        let gold = GhzScale::new([1.0, 3.9, f64::NAN, 0.0]);
        assert_eq!((gold.step, gold.bins), (0.3, 10));
        assert_eq!(gold.bin(99.0), Some(9));
        assert_eq!(gold.bin(0.0), None);
        assert_eq!(gold.bin(f64::NAN), None);
    }

    #[test]
    fn odd_ranges() {
        assert!(GhzScale::new([]).bins > 0);
        assert_eq!(GhzScale::new([2.1]).bins, 1);
        assert_eq!(GhzScale::new([1e-9, 1e9]).bins, MOST_BINS);
        assert_eq!(GhzScale::new([2.1]).colour(0), table().frequency(1.0));
    }
}
