//! Plots of the Nest paper (EuroSys 2022): underload over time (figure 3), underload per
//! second (figure 4) and the time at each frequency (figure 6).

pub mod png;
mod scale;

use crate::UnderloadSeries;
use hearth_base::colour::{self, Rgb, Theme};
use hearth_trace::Summary;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use scale::Scale;

/// A run to draw.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The title, such as the policy.
    pub name: &'a str,
    pub summary: &'a Summary,
    pub underload: &'a UnderloadSeries,
}

const WIDTH: u32 = 960;
const PANEL: u32 = 200;
/// Height of a bar in the lower plots, with its margin.
const BAR: i32 = 34;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Draws the runs above each other as SVG. The output is a function of the runs.
///
/// # Errors
/// A message if the plotting library fails.
pub fn svg(runs: &[Run]) -> Result<String, String> {
    let mut svg = String::new();
    let rows = runs.len().max(1) as u32;
    let lower = 96 + BAR as u32 * rows + 40;
    let height = 24 + PANEL * rows + lower;
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        draw(&area, runs, lower).map_err(|error| format!("cannot draw the plots: {error}"))?;
    }
    Ok(svg)
}

fn draw(area: &Area, runs: &[Run], lower: u32) -> Drawn {
    area.fill(&rgb(theme().paper))?;
    let (_, height) = area.dim_in_pixel();
    let (upper, lower) = area.split_vertically(height - lower);
    let panels = upper.margin(16, 8, 16, 16).split_evenly((runs.len().max(1), 1));
    let duration = runs.iter().map(|run| run.underload.duration_s).fold(0.0, f64::max);
    let columns = runs.iter().flat_map(|run| &run.underload.columns);
    let most = columns.map(|column| column.max).max().unwrap_or(0).max(4);
    for (run, panel) in runs.iter().zip(&panels) {
        underload(panel, run, duration, most)?;
    }
    let (left, right) = lower.split_horizontally(WIDTH / 3 + 20);
    per_second(&left, runs)?;
    frequencies(&right, runs)?;
    area.present()?;
    Ok(())
}

/// Underload over time (figure 3).
fn underload(area: &Area, run: &Run, duration: f64, most: u32) -> Drawn {
    let (unit, factor) = if duration < 2.0 { ("ms", 1e3) } else { ("s", 1.0) };
    let end = if duration > 0.0 { duration * factor } else { 1.0 };
    let mut chart = ChartBuilder::on(area)
        .caption(format!("Underload: {}", run.name), text(16))
        .x_label_area_size(42)
        .y_label_area_size(58)
        .build_cartesian_2d(0.0..end, 0.0..f64::from(most) * 1.05)?;
    (chart.configure_mesh())
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(rgb(theme().line))
        .axis_style(rgb(theme().ink))
        .label_style(text(13))
        .axis_desc_style(text(13))
        .y_labels(5)
        .y_label_formatter(&|value| format!("{value:.0}"))
        .x_desc(format!("time ({unit})"))
        .x_label_formatter(&|at| if end < 10.0 { format!("{at:.1}") } else { format!("{at:.0}") })
        .y_desc("underload (cores)")
        .draw()?;
    // A shorter run has no data after its end.
    let over = run.underload.duration_s * factor;
    if over < end {
        let behind = [(over, 0.0), (end, f64::from(most) * 1.05)];
        chart.draw_series([Rectangle::new(behind, rgb(theme().row).filled())])?;
    }
    let width = run.underload.column_s * factor;
    let bar = |at: usize, value: f64, colour: Rgb| {
        let begin = at as f64 * width;
        Rectangle::new([(begin, 0.0), ((begin + width).min(end), value)], rgb(colour).filled())
    };
    let columns = || run.underload.columns.iter().enumerate();
    let higher = columns().filter(|(_, column)| f64::from(column.max) > column.mean);
    chart.draw_series(higher.map(|(at, column)| bar(at, column.max.into(), theme().accent_soft)))?;
    let some = columns().filter(|(_, column)| column.mean > 0.0);
    chart.draw_series(some.map(|(at, column)| bar(at, column.mean, theme().accent)))?;
    Ok(())
}

/// Underload per second (figure 4).
fn per_second(area: &Area, runs: &[Run]) -> Drawn {
    title(area, "Underload per second")?;
    let most = runs.iter().map(|run| run.summary.underload_per_s).fold(0.0, f64::max);
    let (left, width) = (24, WIDTH as i32 / 3 - 90);
    for (row, run) in runs.iter().enumerate() {
        let value = run.summary.underload_per_s;
        let top = 44 + row as i32 * (BAR + 8);
        let long = if most > 0.0 { (f64::from(width) * (value / most)) as i32 } else { 0 };
        area.draw(&Text::new(run.name.to_owned(), (left, top), text(13)))?;
        area.draw(&Rectangle::new(
            [(left, top + 16), (left + long.max(1), top + BAR - 2)],
            rgb(theme().accent).filled(),
        ))?;
        area.draw(&Text::new(amount(value), (left + long + 6, top + 19), text(13)))?;
    }
    Ok(())
}

/// Share of busy time at each frequency (figure 6).
fn frequencies(area: &Area, runs: &[Run]) -> Drawn {
    title(area, "Busy time by frequency")?;
    let residency = runs.iter().flat_map(|run| &run.summary.frequency_residency);
    let scale = Scale::new(residency.map(|residency| residency.ghz));
    let (left, width) = (24, WIDTH as i32 * 2 / 3 - 80);
    for (row, run) in runs.iter().enumerate() {
        let top = 44 + row as i32 * (BAR + 8);
        area.draw(&Text::new(run.name.to_owned(), (left, top), text(13)))?;
        let (shares, unknown) = scale.shares(run.summary);
        let mut from = 0.0;
        let bins = (0..).map(|bin| scale.colour(bin)).zip(shares).chain([(colour::table().unknown, unknown)]);
        for (colour, share) in bins {
            let x = |share: f64| left + (f64::from(width) * share).round() as i32;
            let (begin, end) = (x(from), x(from + share));
            from += share;
            if end > begin {
                let bar = [(begin, top + 16), (end, top + BAR - 2)];
                area.draw(&Rectangle::new(bar, rgb(colour).filled()))?;
            }
        }
        if from == 0.0 {
            area.draw(&Text::new("nothing ran", (left, top + 19), text(13)))?;
        }
    }
    let unknown = runs.iter().any(|run| run.summary.frequency_unknown_ms > 0.0);
    legend(area, &scale, left, 58 + runs.len() as i32 * (BAR + 8), unknown)
}

fn legend(area: &Area, scale: &Scale, left: i32, top: i32, unknown: bool) -> Drawn {
    let bins = (0..scale.bins).map(|bin| (scale.colour(bin), scale.range(bin)));
    let unknown = unknown.then(|| (colour::table().unknown, "unknown".to_owned()));
    for (place, (colour, label)) in bins.chain(unknown).enumerate() {
        let (x, y) = (left + (place as i32 % 5) * 116, top + (place as i32 / 5) * 20);
        area.draw(&Rectangle::new([(x, y), (x + 12, y + 12)], rgb(colour).filled()))?;
        area.draw(&Text::new(label, (x + 18, y), text(12)))?;
    }
    Ok(())
}

/// Plots have a white background.
fn theme() -> &'static Theme {
    &colour::table().light
}

fn rgb(Rgb(r, g, b): Rgb) -> RGBColor {
    RGBColor(r, g, b)
}

fn title(area: &Area, title: &str) -> Drawn {
    area.draw(&Text::new(title.to_owned(), (24, 14), text(16)))?;
    Ok(())
}

fn text(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&rgb(theme().ink)).pos(Pos::new(HPos::Left, VPos::Top))
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
    use crate::UnderloadColumn;
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
        let svg = svg(&[run("cfs", &a), run("nest & <co>", &b)]).unwrap();
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
        let svg = svg(&[Run { name: "", summary: &summary, underload: &underload }]).unwrap();
        assert!(svg.contains("nothing ran"));
    }

    #[test]
    fn draws_extreme_values() {
        let summary = Summary { underload_per_s: f64::MAX, ..summary(f64::MAX / 4.0) };
        let column = UnderloadColumn { mean: 1e300, max: u32::MAX };
        let underload = UnderloadSeries { duration_s: 1.8e10, column_s: 1e9, columns: vec![column; 20] };
        svg(&[Run { name: "", summary: &summary, underload: &underload }]).unwrap();
    }
}
