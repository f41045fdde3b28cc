//! Numbers as text: significant digits only, a real minus sign, a dash for unknown.

pub const UNKNOWN: &str = "–";

/// A number with `decimals` places after the point and separated thousands.
pub fn fixed(x: f64, decimals: usize) -> String {
    if !x.is_finite() {
        return UNKNOWN.into();
    }
    if x.abs() >= 1e15 {
        return format!("{x:.2e}").replace('-', "−");
    }
    let text = format!("{:.decimals$}", x.abs());
    let negative = x < 0.0 && text.bytes().any(|b| matches!(b, b'1'..=b'9'));
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{}{grouped}{fraction}", if negative { "−" } else { "" })
}

/// Three significant digits; the integer part is never cut.
pub fn three(x: f64) -> String {
    fixed(x, decimals_for(x, 3))
}

/// A count, or a mean of counts with one decimal.
pub fn count(x: f64) -> String {
    let whole = (x - x.round()).abs() < 0.05 || x.abs() >= 100.0;
    fixed(x, if whole { 0 } else { 1 })
}

/// As many decimals as `like` has with four significant digits, so that numbers line up.
pub fn four(x: f64, like: f64) -> String {
    fixed(x, decimals_for(like, 4))
}

/// The spread of a number that `four` writes; `None` if it is 0 or unknown.
pub fn spread(x: f64, like: f64) -> Option<String> {
    (x.is_finite() && x > 0.0).then(|| four(x, like))
}

/// A ratio as a percentage without sign: `0.231` is `23.1%`.
pub fn percent(ratio: f64) -> String {
    match bare_percent(ratio) {
        text if text == UNKNOWN => text,
        text => text + "%",
    }
}

/// A ratio as a percentage with its sign: `+23.1%`, `−3.0%`, `0.0%`.
pub fn signed_percent(ratio: f64) -> String {
    let text = percent(ratio);
    let plus = ratio.is_finite() && text.bytes().any(|b| matches!(b, b'1'..=b'9'));
    if plus && ratio > 0.0 { format!("+{text}") } else { text }
}

/// A ratio as a percentage without `%`, for the ends of intervals.
pub fn bare_percent(ratio: f64) -> String {
    let x = ratio * 100.0;
    fixed(x, if x.abs() < 99.95 { 1 } else { 0 })
}

fn decimals_for(x: f64, significant: i32) -> usize {
    if !x.is_finite() || x == 0.0 {
        return 0;
    }
    let magnitude = x.abs().log10().floor() as i32;
    (significant - 1 - magnitude).clamp(0, 6) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_signs() {
        assert_eq!(fixed(1234567.891, 1), "1,234,567.9");
        assert_eq!(fixed(-123.0, 0), "−123");
        assert_eq!(fixed(-0.001, 1), "0.0");
        assert_eq!(fixed(f64::NAN, 3), UNKNOWN);
        assert_eq!(fixed(f64::NEG_INFINITY, 3), UNKNOWN);
        assert_eq!(fixed(-1e300, 0), "−1.00e300");
    }

    #[test]
    fn three_digits() {
        for (x, text) in [(0.0, "0"), (0.01234, "0.0123"), (1.0, "1.00"), (12.34, "12.3"), (1234.5, "1,234")]
        {
            assert_eq!(three(x), text);
        }
    }

    #[test]
    fn counts() {
        assert_eq!(count(8.0), "8");
        assert_eq!(count(8.4), "8.4");
        assert_eq!(count(1234.4), "1,234");
        assert_eq!(count(f64::NAN), UNKNOWN);
    }

    #[test]
    fn a_kind_of_number_has_the_same_decimals() {
        assert_eq!(four(9.0021, 12.43), "9.00");
        assert_eq!(four(12.4312, 12.43), "12.43");
        assert_eq!(four(f64::NAN, f64::NAN), UNKNOWN);
        assert_eq!(spread(0.089, 12.43).as_deref(), Some("0.09"));
        assert_eq!(spread(0.0, 12.43), None);
        assert_eq!(spread(f64::NAN, 12.43), None);
    }

    #[test]
    fn percentages() {
        assert_eq!(signed_percent(0.2314), "+23.1%");
        assert_eq!(signed_percent(-0.03), "−3.0%");
        assert_eq!(signed_percent(0.0), "0.0%");
        assert_eq!(signed_percent(-0.0001), "0.0%");
        assert_eq!(signed_percent(1.2), "+120%");
        assert_eq!(signed_percent(f64::INFINITY), UNKNOWN);
        assert_eq!(percent(-0.1), "−10.0%");
    }
}
