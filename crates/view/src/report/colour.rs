//! Colours of frequencies, one scale for each machine.
//!
//! From cold blue to warm amber. Lightness grows all the way, so that the order survives colour
//! blindness and grey print; both ends stand out from a white and from a dark page.

use super::html::escape;
use super::{Report, Setting};
use std::fmt::Write;

/// The scale in sRGB, evenly spaced; between them it is interpolated linearly.
const ANCHORS: [[u8; 3]; 6] =
    [[54, 72, 172], [124, 74, 184], [186, 77, 158], [226, 98, 108], [243, 142, 70], [250, 199, 58]];
/// Where the frequency is not known.
pub const UNKNOWN: &str = "#8a8f98";
const MOST_BINS: usize = 10;
/// Rounding noise in a frequency, in GHz.
const NOISE: f64 = 1e-4;

/// Frequencies in bins of equal width. Bin i holds (low + i·step, low + (i+1)·step].
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

    pub fn colour(&self, bin: usize) -> String {
        let at = if self.bins > 1 { bin as f64 / (self.bins - 1) as f64 } else { 1.0 };
        let [r, g, b] = mix(at);
        format!("#{r:02x}{g:02x}{b:02x}")
    }

    pub fn colours(&self) -> Vec<String> {
        (0..self.bins).map(|bin| self.colour(bin)).collect()
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

    /// The colours with the edges of their bins in GHz.
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

/// The colour of unknown frequencies, if there are any to explain.
pub fn unknown_key(any: bool) -> String {
    if !any {
        return String::new();
    }
    format!("<span class=\"unit\"><i class=\"key\" style=\"--c:{UNKNOWN}\"></i>unknown</span>")
}

/// The scales of all machines of a report.
pub struct Scales(Vec<(String, GhzScale)>);

impl Scales {
    pub fn of(&self, setting: &Setting) -> &GhzScale {
        let found = self.0.iter().find(|(machine, _)| *machine == setting.machine);
        &found.expect("every machine has a scale").1
    }
}

/// One scale per machine, over all that the report shows of it.
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

fn mix(at: f64) -> [u8; 3] {
    let at = at.clamp(0.0, 1.0) * (ANCHORS.len() - 1) as f64;
    let i = (at as usize).min(ANCHORS.len() - 2);
    let part = at - i as f64;
    std::array::from_fn(|c| {
        let (a, b) = (f64::from(ANCHORS[i][c]), f64::from(ANCHORS[i + 1][c]));
        (a + (b - a) * part).round() as u8
    })
}

/// Colours for policies (Okabe and Ito's, which colour-blind people tell apart). The first is for
/// what the others are compared with.
pub fn policy(index: usize) -> &'static str {
    const COLOURS: [&str; 6] = ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
    match index {
        0 => "#8a8f98",
        i => COLOURS[(i - 1) % COLOURS.len()],
    }
}

/// A little square of a policy's colour, before its name.
pub fn named_policy(index: usize, name: &str) -> String {
    format!("<i class=\"key\" style=\"--c:{}\"></i>{}", policy(index), escape(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CIE L* of an sRGB colour.
    fn lightness(rgb: [u8; 3]) -> f64 {
        let linear = rgb.map(|c| {
            let c = f64::from(c) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        });
        let y = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
        if y > 0.008856 { 116.0 * y.cbrt() - 16.0 } else { 903.3 * y }
    }

    #[test]
    fn warmer_is_lighter() {
        let all: Vec<f64> = (0..=50).map(|i| lightness(mix(f64::from(i) / 50.0))).collect();
        assert!(all.windows(2).all(|w| w[0] < w[1]), "{all:?}");
        assert!(all[0] > 30.0 && all[50] < 85.0, "both ends stand out from black and white");
    }

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
        assert!(GhzScale::new([2.1]).colour(0).starts_with('#'));
    }
}
