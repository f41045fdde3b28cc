//! A claim's range and our value on an axis.

use super::{Claim, MachineResult};
use crate::page::scale::Axis;
use std::fmt::Write;

const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 18.0;

/// An axis for all results of a claim.
pub(super) fn axis(claim: &Claim) -> Axis {
    let results = claim.results.iter().flat_map(|found| found.ci95.unwrap_or([found.value; 2]));
    let values = claim.results.iter().map(|found| found.value);
    Axis::around(claim.range.into_iter().chain(results).chain(values), 4)
}

/// The range as a band, our value as a dot, its interval as a line.
pub(super) fn strip(axis: &Axis, range: [f64; 2], found: &MachineResult) -> String {
    // An infinite end reaches the end of the axis.
    let x = |value: f64| match value {
        f64::INFINITY => WIDTH,
        f64::NEG_INFINITY => 0.0,
        value => axis.at(value) * WIDTH / 100.0,
    };
    let (left, right) = (x(range[0]), x(range[1]));
    let middle = HEIGHT / 2.0;
    let mut svg =
        format!("<svg width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\" aria-label=\"range and value\">");
    // A point is a range too.
    let wide = (right - left).max(2.0);
    let _ = write!(
        svg,
        "<rect class=\"range\" x=\"{left:.1}\" y=\"3\" width=\"{wide:.1}\" height=\"{}\"/>",
        HEIGHT - 6.0
    );
    let zero = x(0.0);
    let _ = write!(svg, "<line class=\"zero\" x1=\"{zero:.1}\" x2=\"{zero:.1}\" y1=\"0\" y2=\"{HEIGHT}\"/>");
    if let Some([low, high]) = found.ci95 {
        let (low, high) = (x(low), x(high));
        let _ = write!(
            svg,
            "<line class=\"ci\" x1=\"{low:.1}\" x2=\"{high:.1}\" y1=\"{middle}\" y2=\"{middle}\"/>"
        );
    }
    if !found.value.is_nan() {
        let _ = write!(svg, "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{middle}\" r=\"3.5\"/>", x(found.value));
    }
    svg + "</svg>"
}
