//! The colours of the viewer, the report and the plots.
//!
//! `colours.json` is the only table of colours. The Rust crates read it here; the web pages read the
//! same file when they are built.

use serde::Deserialize;
use std::fmt;
use std::sync::LazyLock;

/// A colour in sRGB. [`fmt::Display`] writes it as `#rrggbb`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Rgb(pub u8, pub u8, pub u8);

impl TryFrom<String> for Rgb {
    type Error = String;

    fn try_from(text: String) -> Result<Rgb, String> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6);
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let [_, r, g, b] = number.ok_or_else(|| format!("'{text}' is not #rrggbb"))?.to_be_bytes();
        Ok(Rgb(r, g, b))
    }
}

impl fmt::Display for Rgb {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// The part of the table that Rust code uses.
#[derive(Debug, Deserialize)]
pub struct Table {
    /// Evenly spaced, lowest frequency first.
    frequency: Vec<Rgb>,
    /// Busy at an unknown frequency.
    pub unknown: Rgb,
    /// The policy that the others are compared with.
    pub baseline: Rgb,
    /// Categories without an order.
    kinds: Vec<Rgb>,
    /// Hues of threads and programs.
    hues: Vec<f32>,
    /// On white paper.
    pub light: Theme,
}

#[derive(Debug, Deserialize)]
pub struct Theme {
    pub paper: Rgb,
    pub ink: Rgb,
    pub quiet: Rgb,
    pub line: Rgb,
    pub row: Rgb,
    pub accent: Rgb,
    /// The accent's weaker companion: peaks behind means, bands around medians.
    pub accent_soft: Rgb,
    pub underload: Rgb,
    pub underload_soft: Rgb,
    /// Lightness and chroma (OKLCH) of the colours of threads and programs.
    names: Vec<(f32, f32)>,
}

impl Table {
    /// The colour of a frequency at `share` of the machine's range, 0 to 1.
    pub fn frequency(&self, share: f64) -> Rgb {
        let last = self.frequency.len() - 1;
        let at = share.clamp(0.0, 1.0) * last as f64;
        let i = (at as usize).min(last - 1);
        let part = at - i as f64;
        let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8;
        let (a, b) = (self.frequency[i], self.frequency[i + 1]);
        Rgb(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
    }

    /// Number of hues of programs. Colours whose numbers differ by a multiple of it have one hue.
    pub fn hues(&self) -> usize {
        self.hues.len()
    }

    /// Number of colours of programs.
    pub fn programs(&self) -> usize {
        self.hues.len() * self.light.names.len()
    }

    /// The colour of a category; colours repeat when there are more categories than colours.
    pub fn kind(&self, index: usize) -> Rgb {
        self.kinds[index % self.kinds.len()]
    }
}

/// The text of the table.
pub const JSON: &str = include_str!("../colours.json");

pub fn table() -> &'static Table {
    static TABLE: LazyLock<Table> =
        LazyLock::new(|| serde_json::from_str(JSON).expect("a test parses the table"));
    &TABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_parses_and_has_ramps() {
        let table = table();
        assert!(table.frequency.len() >= 2 && table.kinds.len() >= 6);
        assert_eq!(table.frequency(-1.0), table.frequency[0]);
        assert_eq!(table.frequency(2.0), *table.frequency.last().unwrap());
        assert_eq!(table.kind(table.kinds.len()), table.kinds[0]);
    }

    #[test]
    fn a_colour_is_six_hex_digits() {
        assert_eq!(Rgb::try_from("#0a10ff".to_owned()).unwrap().to_string(), "#0a10ff");
        for wrong in ["", "#fff", "0a10ff", "#0a10fg", "#0a10ff00"] {
            assert!(Rgb::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
