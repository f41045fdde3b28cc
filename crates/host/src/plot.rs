//! Plot of the measured curve.

use crate::report::{Phase, Point, Quantiles, Report, Unit, Verdict};
use hearth_base::colour::{Theme, table};
use hearth_base::svg::{Anchor, Axis, Font, Plane, Svg};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 460.0;

/// Draws the curve as an SVG: the busy loop on the left, the idle time after it on the right. Shows the median over
/// the rounds and the band from the 10th to the 90th percentile.
pub fn svg(report: &Report) -> String {
    let mut svg = Svg::new(WIDTH, HEIGHT, theme().paper);
    let of = match report.source.kind {
        "rate" => "rate of a calibrated loop",
        _ => "APERF/MPERF",
    };
    let title = format!("{}, core {}: {of}, {} rounds", report.model, report.core, report.up.rounds);
    svg.text([16.0, 20.0], &title, Font { size: 14.0, anchor: Anchor::Start, colour: theme().ink });
    let y = scale(report);
    let up = Half { left: 62.0, phase: &report.up, title: "busy loop", x: "ms since the loop began", y };
    let down =
        Half { left: 528.0, phase: &report.down, title: "idle after it", x: "ms since the loop ended", y };
    up.draw(&mut svg);
    down.draw(&mut svg);
    svg.finish()
}

/// Plots are on white paper.
fn theme() -> &'static Theme {
    &table().light
}

/// Upper end and label of the speed axis.
fn scale(report: &Report) -> (f64, &'static str) {
    let known = [&report.up, &report.down].into_iter().flat_map(|phase| phase.curve.iter());
    let most = known.filter_map(|point| Some(point.speed?.q90)).fold(0.0, f64::max);
    match report.source.unit {
        Unit::Khz => ((most / 1e6 * 1.12).max(0.5), "GHz"),
        Unit::Relative => ((most * 1.12).max(0.5), "relative speed"),
    }
}

/// Summarises the result of a phase.
fn said(phase: &Phase) -> String {
    match (phase.verdict, phase.settled_ms) {
        (Verdict::Seen, Some(settled)) => format!("settled after {:.1} ms (median)", settled.median),
        (Verdict::Seen | Verdict::Unsettled, _) => "not settled in this time".into(),
        (Verdict::NotSeen, _) => "no transition seen".into(),
        (Verdict::Unclear, _) => "unclear".into(),
        (Verdict::TooLittle, _) => "too little is known".into(),
    }
}

/// The plot of a phase.
struct Half<'r> {
    left: f64,
    phase: &'r Phase,
    title: &'r str,
    x: &'r str,
    /// Upper end and label of the speed axis.
    y: (f64, &'r str),
}

impl Half<'_> {
    fn draw(&self, svg: &mut Svg) {
        let (phase, (top, unit)) = (self.phase, self.y);
        let end = phase.curve.last().map_or(1.0, |point| point.at_ms).max(1.0);
        let corners = [[self.left, 66.0], [self.left + 410.0, HEIGHT - 54.0]];
        let plane = Plane { corners, ends: [end, top] };
        let title = format!("{}: {}", self.title, said(phase));
        let font = Font { size: 12.0, anchor: Anchor::Middle, colour: theme().ink };
        svg.text([self.left + 205.0, 54.0], &title, font);
        let x = Axis { name: self.x, labels: 10, format: &|ms| format!("{ms:.0}"), lines: true };
        let y = Axis { name: unit, labels: 8, format: &|speed| format!("{speed:.1}"), lines: true };
        plane.axes(svg, theme(), &x, &y);
        let at = |(ms, speed): (f64, f64)| {
            let shown = if unit == "GHz" { speed / 1e6 } else { speed };
            plane.at(ms, shown.min(top))
        };
        for known in stretches(&phase.curve) {
            let upper = known.iter().map(|(ms, speed)| (*ms, speed.q90));
            let lower = known.iter().rev().map(|(ms, speed)| (*ms, speed.q10));
            svg.polygon(upper.chain(lower).map(at), theme().accent_soft);
            svg.line(known.iter().map(|(ms, speed)| at((*ms, speed.median))), theme().accent, 2.0);
        }
        if let Some(settled) = phase.settled_ms {
            let mark = [0.0, top].map(|speed| plane.at(settled.median, speed));
            svg.dashes(mark, theme().quiet, 1.0);
        }
    }
}

/// The parts of the curve without unknown points.
fn stretches(curve: &[Point]) -> Vec<Vec<(f64, Quantiles)>> {
    curve
        .split(|point| point.speed.is_none())
        .filter(|known| !known.is_empty())
        .map(|known| known.iter().filter_map(|point| Some((point.at_ms, point.speed?))).collect())
        .collect()
}

#[cfg(test)]
mod tests;
