//! Plot of the measured curve.

use crate::error::Error;
use crate::report::{Phase, Point, Quantiles, Report, Unit, Verdict};
use hearth_base::colour::{Rgb, Theme, table};
use plotters::coord::Shift;
use plotters::prelude::*;

const SIZE: (u32, u32) = (960, 460);

type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws the curve as an SVG: the busy loop on the left, the idle time after it on the right. Shows the median over
/// the rounds and the band from the 10th to the 90th percentile.
pub fn svg(report: &Report) -> Result<String, Error> {
    let mut svg = String::new();
    draw(report, &mut svg).map_err(|error| Error::Plot(error.to_string()))?;
    Ok(svg)
}

fn draw(report: &Report, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let canvas = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    canvas.fill(&rgb(theme().paper))?;
    let of = match report.source.kind {
        "rate" => "rate of a calibrated loop",
        _ => "APERF/MPERF",
    };
    let title = format!("{}, core {}: {of}, {} rounds", report.model, report.core, report.up.rounds);
    canvas.draw(&Text::new(title, (16, 14), ("sans-serif", 17).into_font().color(&rgb(theme().ink))))?;
    let (top, unit) = scale(report);
    let (left, right) = canvas.margin(44, 8, 8, 14).split_horizontally(SIZE.0 / 2);
    half(&left, &report.up, &format!("busy loop: {}", said(&report.up)), (top, unit), true)?;
    half(&right, &report.down, &format!("idle after it: {}", said(&report.down)), (top, unit), false)?;
    canvas.present()?;
    Ok(())
}

/// Plots are on white paper.
fn theme() -> &'static Theme {
    &table().light
}

fn rgb(Rgb(r, g, b): Rgb) -> RGBColor {
    RGBColor(r, g, b)
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

fn half(
    area: &Canvas<'_>,
    phase: &Phase,
    title: &str,
    (top, unit): (f64, &str),
    first: bool,
) -> Result<(), Box<dyn std::error::Error>> {
    let end = phase.curve.last().map_or(1.0, |point| point.at_ms).max(1.0);
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 15).into_font().color(&rgb(theme().ink)))
        .margin_right(14)
        .x_label_area_size(44)
        .y_label_area_size(if first { 54 } else { 40 })
        .build_cartesian_2d(0.0..end, 0.0..top)?;
    chart
        .configure_mesh()
        .bold_line_style(rgb(theme().line))
        .light_line_style(TRANSPARENT)
        .axis_style(rgb(theme().ink))
        .x_desc(if first { "ms since the loop began" } else { "ms since the loop ended" })
        .y_desc(if first { unit } else { "" })
        .label_style(("sans-serif", 13).into_font().color(&rgb(theme().ink)))
        .x_label_formatter(&|ms| format!("{ms:.0}"))
        .y_label_formatter(&|speed| format!("{speed:.1}"))
        .draw()?;
    let shown = |speed: f64| if unit == "GHz" { speed / 1e6 } else { speed };
    for known in stretches(&phase.curve) {
        let upper = known.iter().map(|(at, speed)| (*at, shown(speed.q90).min(top)));
        let lower = known.iter().rev().map(|(at, speed)| (*at, shown(speed.q10)));
        chart.draw_series([Polygon::new(
            upper.chain(lower).collect::<Vec<_>>(),
            rgb(theme().accent_soft).filled(),
        )])?;
        let median = known.iter().map(|(at, speed)| (*at, shown(speed.median)));
        chart.draw_series(LineSeries::new(median, rgb(theme().accent).stroke_width(2)))?;
    }
    if let Some(settled) = phase.settled_ms {
        let mark = [(settled.median, 0.0), (settled.median, top)];
        chart.draw_series(DashedLineSeries::new(mark, 5, 4, rgb(theme().quiet).stroke_width(1)))?;
    }
    Ok(())
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
