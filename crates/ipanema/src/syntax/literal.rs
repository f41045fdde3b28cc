//! Parsing of number literals.

use super::ast::{ExprKind, FrequencyUnit, TimeUnit};
use hearth_base::suggest::closest;

/// Error for an invalid number literal.
#[derive(Debug)]
pub struct BadNumber {
    pub message: String,
    pub help: Option<String>,
}

/// Parses a number token: an integer, a time or a frequency.
pub fn number(text: &str) -> Result<ExprKind, BadNumber> {
    let unit_at = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (digits, unit) = text.split_at(unit_at);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));

    if let Some(unit) = time_unit(unit) {
        let ns = scaled(whole, fraction, unit.ns(), "1 ns")?;
        Ok(ExprKind::Time { ns, unit })
    } else if let Some(unit) = FrequencyUnit::ALL.into_iter().find(|u| u.name() == unit) {
        let khz = scaled(whole, fraction, unit.khz(), "1 kHz")?;
        Ok(ExprKind::Frequency { khz, unit })
    } else if !unit.is_empty() {
        let units = TimeUnit::ALL.iter().map(|u| u.name());
        let units = units.chain(FrequencyUnit::ALL.iter().map(|u| u.name()));
        let help = match closest(unit, units) {
            Some(near) => format!("did you mean `{digits}{near}`?"),
            None => "units are ns, us, ms, s, ticks (of 4 ms), kHz, MHz and GHz".to_owned(),
        };
        Err(BadNumber { message: format!("`{unit}` is not a unit"), help: Some(help) })
    } else if !fraction.is_empty() {
        Err(BadNumber {
            message: format!("`{text}` is not an integer"),
            help: Some("only times and frequencies may have a fraction: `1.5ms`, `2.1GHz`".to_owned()),
        })
    } else {
        Ok(ExprKind::Int(whole.parse().map_err(|_| too_large())?))
    }
}

fn time_unit(name: &str) -> Option<TimeUnit> {
    match name {
        "tick" => Some(TimeUnit::Ticks),
        _ => TimeUnit::ALL.into_iter().find(|unit| unit.name() == name),
    }
}

fn too_large() -> BadNumber {
    BadNumber { message: "the number is too large for 64 bits".to_owned(), help: None }
}

/// Computes whole.fraction × scale, which must be an integer.
fn scaled(whole: &str, fraction: &str, scale: i64, finest: &str) -> Result<i64, BadNumber> {
    let too_fine = || BadNumber { message: format!("the number is not a multiple of {finest}"), help: None };
    let fraction = fraction.trim_end_matches('0');
    // No unit is larger than 10^9 of the smallest one, so nine digits cannot overflow.
    let parts = match fraction.len() {
        0 => 0,
        1..=9 => fraction.parse::<i64>().map_err(|_| too_fine())? * scale,
        _ => return Err(too_fine()),
    };
    let divisor = 10_i64.pow(fraction.len() as u32);
    if parts % divisor != 0 {
        return Err(too_fine());
    }
    let whole = whole.parse::<i64>().ok().and_then(|whole| whole.checked_mul(scale));
    whole.and_then(|whole| whole.checked_add(parts / divisor)).ok_or_else(too_large)
}
