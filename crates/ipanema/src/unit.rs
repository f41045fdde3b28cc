//! Units of a policy's parameters, with parsing and formatting.

use crate::ir::{BaseType, Type};
use hearth_base::constants::TICK_NS;
use serde::Serialize;

/// Unit of a parameter's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Bool,
    Int,
    /// Nanoseconds.
    Time,
    /// Kilohertz.
    Frequency,
    Load,
}

impl Unit {
    /// Unit of a parameter of this type.
    pub fn of(ty: Type) -> Unit {
        match ty.base {
            BaseType::Bool => Unit::Bool,
            BaseType::Time => Unit::Time,
            BaseType::Frequency => Unit::Frequency,
            BaseType::Load => Unit::Load,
            _ => Unit::Int,
        }
    }

    /// Unit suffixes and their factors.
    fn suffixes(self) -> &'static [(&'static str, i64)] {
        match self {
            // A suffix that ends with another one must come first.
            Unit::Time => &[
                ("ticks", TICK_NS as i64),
                ("tick", TICK_NS as i64),
                ("ns", 1),
                ("us", 1_000),
                ("ms", 1_000_000),
                ("s", 1_000_000_000),
            ],
            Unit::Frequency => &[("GHz", 1_000_000), ("MHz", 1_000), ("kHz", 1)],
            Unit::Bool | Unit::Int | Unit::Load => &[],
        }
    }

    /// Description of valid values, for errors and help texts.
    pub fn expected(self) -> &'static str {
        match self {
            Unit::Bool => "true or false",
            Unit::Int => "a whole number",
            Unit::Time => "a time, such as 50us, 8ms or 2ticks (a tick is 4 ms)",
            Unit::Frequency => "a frequency, such as 2.1GHz or 800MHz",
            Unit::Load => "a load: a whole number, where 1024 is one busy core",
        }
    }

    /// Parses a value such as `2ticks`, `8ms`, `true` or `5`. Returns `None` if the text is
    /// invalid.
    pub fn parse(self, text: &str) -> Option<i64> {
        let text = text.trim();
        match (self, text) {
            (Unit::Bool, "true" | "on" | "1") => return Some(1),
            (Unit::Bool, "false" | "off" | "0") => return Some(0),
            (Unit::Bool, _) => return None,
            (Unit::Time | Unit::Frequency, "0") => return Some(0),
            _ => {}
        }
        let suffixes = self.suffixes();
        if suffixes.is_empty() {
            return text.parse().ok();
        }
        let (number, factor) = suffixes
            .iter()
            .find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?.trim(), *factor)))?;
        if let Ok(whole) = number.parse::<i64>() {
            return whole.checked_mul(factor);
        }
        let scaled = number.parse::<f64>().ok()? * factor as f64;
        (scaled.is_finite() && scaled.abs() < 9e15).then_some(scaled.round() as i64)
    }

    /// Formats a value in the largest unit that gives a whole number.
    pub fn show(self, value: i64) -> String {
        match self {
            Unit::Bool => (value != 0).to_string(),
            Unit::Int | Unit::Load => value.to_string(),
            Unit::Time | Unit::Frequency => {
                let best = self
                    .suffixes()
                    .iter()
                    .filter(|(suffix, factor)| !suffix.starts_with("tick") && value % factor == 0)
                    .max_by_key(|(_, factor)| *factor);
                best.map_or_else(
                    || value.to_string(),
                    |(suffix, factor)| format!("{}{suffix}", value / factor),
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_units() {
        assert_eq!(Unit::Time.parse("2ticks"), Some(8_000_000));
        assert_eq!(Unit::Time.parse("50 us"), Some(50_000));
        assert_eq!(Unit::Time.parse("0.5ms"), Some(500_000));
        assert_eq!(Unit::Time.parse("1s"), Some(1_000_000_000));
        assert_eq!(Unit::Time.parse("5"), None);
        assert_eq!(Unit::Time.parse("0"), Some(0));
        assert_eq!(Unit::Time.parse("99999999999999999s"), None);
        assert_eq!(Unit::Frequency.parse("2.1GHz"), Some(2_100_000));
        assert_eq!(Unit::Bool.parse("off"), Some(0));
        assert_eq!(Unit::Int.parse("x"), None);
        assert_eq!(Unit::Time.show(8_000_000), "8ms");
        assert_eq!(Unit::Time.show(1_500_000), "1500us");
        assert_eq!(Unit::Frequency.show(2_100_000), "2100MHz");
    }
}
