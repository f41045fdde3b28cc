//! Plots of the Nest paper (EuroSys 2022): underload over time (figure 3), underload per
//! second (figure 4) and the time at each frequency (figure 6).

pub mod png;
mod scale;

use crate::analysis::UnderloadSeries;
use hearth_base::colour::{self, Rgb, Theme};
use hearth_base::svg::{Anchor, Axis, Font, Plane, Svg};
use hearth_trace::Summary;
use scale::Scale;

/// A run to draw.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The title, such as the policy.
    pub name: &'a str,
    pub summary: &'a Summary,
    pub underload: &'a UnderloadSeries,
}

const WIDTH: f64 = 960.0;
/// Height of a plot of underload.
const PANEL: f64 = 200.0;
/// Height of a bar in the lower plots, and of the name above it.
const BAR: f64 = 16.0;
const ROW: f64 = 42.0;
/// Height of the lower plots' titles, and of the legend.
const TITLE: f64 = 44.0;
const LEGEND: f64 = 92.0;

/// Draws the runs above each other as SVG. The output is a function of the runs.
pub fn svg(runs: &[Run]) -> String {
    let rows = runs.len().max(1) as f64;
    let lower = 24.0 + PANEL * rows;
    let mut svg = Svg::new(WIDTH, lower + TITLE + ROW * rows + LEGEND, theme().paper);
    let duration = runs.iter().map(|run| run.underload.duration_s).fold(0.0, f64::max);
    let columns = runs.iter().flat_map(|run| &run.underload.columns);
    let most = columns.map(|column| column.max).max().unwrap_or(0).max(4);
    for (row, run) in runs.iter().enumerate() {
        underload(&mut svg, 16.0 + PANEL * row as f64, run, duration, most);
    }
    per_second(&mut svg, lower, runs);
    frequencies(&mut svg, lower, runs);
    svg.finish()
}

/// Underload over time (figure 3).
fn underload(svg: &mut Svg, top: f64, run: &Run, duration: f64, most: u32) {
    let (unit, factor) = if duration < 2.0 { ("ms", 1e3) } else { ("s", 1.0) };
    let end = if duration > 0.0 { duration * factor } else { 1.0 };
    let high = f64::from(most) * 1.05;
    let plane = Plane { corners: [[74.0, top + 22.0], [943.0, top + PANEL - 42.0]], ends: [end, high] };
    svg.text([WIDTH / 2.0, top + 10.0], &format!("Underload: {}", run.name), font(13.0, Anchor::Middle));
    // A shorter run has no data after its end.
    let over = run.underload.duration_s * factor;
    if over < end {
        svg.rect(plane.at(over, 0.0), plane.at(end, high), theme().row);
    }
    let time = |at: f64| if end < 10.0 { format!("{at:.1}") } else { format!("{at:.0}") };
    let x = Axis { name: &format!("time ({unit})"), labels: 12, format: &time, lines: false };
    let cores = |value: f64| format!("{value:.0}");
    let y = Axis { name: "underload (cores)", labels: 4, format: &cores, lines: true };
    plane.axes(svg, theme(), &x, &y);
    let width = run.underload.column_s * factor;
    let mut bar = |at: usize, value: f64, colour: Rgb| {
        let begin = at as f64 * width;
        svg.rect(plane.at(begin, 0.0), plane.at((begin + width).min(end), value), colour);
    };
    for (at, column) in run.underload.columns.iter().enumerate() {
        if f64::from(column.max) > column.mean {
            bar(at, column.max.into(), theme().underload_soft);
        }
        if column.mean > 0.0 {
            bar(at, column.mean, theme().underload);
        }
    }
}

/// Underload per second (figure 4).
fn per_second(svg: &mut Svg, top: f64, runs: &[Run]) {
    let left = 24.0;
    svg.text([left, top + 20.0], "Underload per second", font(13.0, Anchor::Start));
    let most = runs.iter().map(|run| run.summary.underload_per_s).fold(0.0, f64::max);
    for (row, run) in runs.iter().enumerate() {
        let value = run.summary.underload_per_s;
        let top = top + TITLE + ROW * row as f64;
        let long = if most > 0.0 { (230.0 * (value / most)).max(1.0) } else { 1.0 };
        svg.text([left, top + 4.0], run.name, font(SMALL, Anchor::Start));
        svg.rect([left, top + 15.0], [left + long, top + 15.0 + BAR], theme().underload);
        svg.text([left + long + 6.0, top + 15.0 + BAR / 2.0], &amount(value), font(SMALL, Anchor::Start));
    }
}

/// Share of busy time at each frequency (figure 6).
fn frequencies(svg: &mut Svg, top: f64, runs: &[Run]) {
    let (left, width) = (364.0, 560.0);
    svg.text([left, top + 20.0], "Busy time by frequency", font(13.0, Anchor::Start));
    let residency = runs.iter().flat_map(|run| &run.summary.frequency_residency);
    let scale = Scale::new(residency.map(|residency| residency.ghz));
    for (row, run) in runs.iter().enumerate() {
        let top = top + TITLE + ROW * row as f64;
        svg.text([left, top + 4.0], run.name, font(SMALL, Anchor::Start));
        let (shares, unknown) = scale.shares(run.summary);
        let mut from = left;
        let bins = (0..).map(|bin| scale.colour(bin)).zip(shares).chain([(colour::table().unknown, unknown)]);
        for (colour, share) in bins.filter(|(_, share)| *share > 0.0) {
            let end = from + width * share;
            svg.rect([from, top + 15.0], [end, top + 15.0 + BAR], colour);
            from = end;
        }
        if from == left {
            svg.text([left, top + 15.0 + BAR / 2.0], "nothing ran", font(SMALL, Anchor::Start));
        }
    }
    let unknown = runs.iter().any(|run| run.summary.frequency_unknown_ms > 0.0);
    legend(svg, &scale, [left, top + TITLE + 12.0 + ROW * runs.len() as f64], unknown);
}

fn legend(svg: &mut Svg, scale: &Scale, [left, top]: [f64; 2], unknown: bool) {
    let bins = (0..scale.bins).map(|bin| (scale.colour(bin), scale.range(bin)));
    let unknown = unknown.then(|| (colour::table().unknown, "unknown".to_owned()));
    for (place, (colour, label)) in bins.chain(unknown).enumerate() {
        let [x, y] = [left + (place % 5) as f64 * 116.0, top + (place / 5) as f64 * 20.0];
        svg.rect([x, y], [x + 12.0, y + 12.0], colour);
        svg.text([x + 18.0, y + 6.0], &label, font(SMALL, Anchor::Start));
    }
}

/// Plots have a white background.
fn theme() -> &'static Theme {
    &colour::table().light
}

const SMALL: f64 = 10.5;

fn font(size: f64, anchor: Anchor) -> Font {
    Font { size, anchor, colour: theme().ink }
}

/// Formats with three significant digits, or all digits before the point.
fn amount(value: f64) -> String {
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::UnderloadColumn;
    use hearth_trace::Residency;

    fn summary(ghz: f64) -> Summary {
        Summary {
            underload_per_s: ghz * 10.0,
            frequency_residency: vec![Residency { ghz, ms: 30.0 }, Residency { ghz: ghz + 1.0, ms: 10.0 }],
            frequency_unknown_ms: 10.0,
            ..Summary::default()
        }
    }

    fn series() -> UnderloadSeries {
        let column = |mean, max| UnderloadColumn { mean, max };
        UnderloadSeries { duration_s: 0.02, column_s: 0.004, columns: vec![column(2.0, 2), column(0.5, 3)] }
    }

    #[test]
    fn draws_all_three_plots() {
        let (a, b, underload) = (summary(1.0), summary(2.5), series());
        let run = |name, summary| Run { name, summary, underload: &underload };
        let svg = svg(&[run("cfs", &a), run("nest & <co>", &b)]);
        for part in [
            "Underload: cfs",
            "nest &amp; &lt;co&gt;",
            "time (ms)",
            "Underload per second",
            "25.0",
            "GHz",
            "unknown",
        ] {
            assert!(svg.contains(part), "{part}\n{svg}");
        }
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    }

    #[test]
    fn draws_empty_runs() {
        let (summary, underload) = (Summary::default(), UnderloadSeries::default());
        let svg = svg(&[Run { name: "", summary: &summary, underload: &underload }]);
        assert!(svg.contains("nothing ran"));
    }

    #[test]
    fn draws_extreme_values() {
        let summary = Summary { underload_per_s: f64::MAX, ..summary(f64::MAX / 4.0) };
        let column = UnderloadColumn { mean: 1e300, max: u32::MAX };
        let underload = UnderloadSeries { duration_s: 1.8e10, column_s: 1e9, columns: vec![column; 20] };
        let svg = svg(&[Run { name: "", summary: &summary, underload: &underload }]);
        assert!(!svg.contains("NaN") && !svg.contains("\"inf"), "{svg}");
    }
}
