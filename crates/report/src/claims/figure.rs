//! Figures of the papers, drawn from our runs.

use crate::page::html::escape;
use crate::page::scale::Axis;
use hearth_base::colour::table;
use std::fmt::Write;

/// A figure of a paper.
pub struct Figure {
    pub title: String,
    pub caption: String,
    pub drawing: Drawing,
}

/// What a figure consists of.
pub enum Drawing {
    Bars(Bars),
    Curve(Curve),
}

/// Groups of bars: changes in percent.
pub struct Bars {
    /// The names of the bars of each group.
    pub series: Vec<String>,
    /// The name of a group and its bars; `None`: not measured.
    pub groups: Vec<(String, Vec<Option<Bar>>)>,
}

/// A value as a fraction, with its interval.
#[derive(Clone, Copy)]
pub struct Bar {
    pub value: f64,
    pub ci95: Option<[f64; 2]>,
}

/// A curve of steps over time.
pub struct Curve {
    /// Times in seconds, values with their unit.
    pub steps: Vec<(f64, f64)>,
    pub unit: String,
    /// Vertical lines: times and names.
    pub marks: Vec<(f64, String)>,
    pub end: f64,
}

const WIDTH: f64 = 1100.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 50.0;

pub(super) fn section(figures: &[Figure]) -> String {
    if figures.is_empty() {
        return String::new();
    }
    "<h2>Figures of the papers, from these runs</h2>\n".to_owned()
        + &figures.iter().map(figure).collect::<String>()
}

fn figure(figure: &Figure) -> String {
    let (drawing, key) = match &figure.drawing {
        Drawing::Bars(bars) => (draw_bars(bars), key(&bars.series)),
        Drawing::Curve(curve) => (draw_curve(curve), String::new()),
    };
    let (title, caption) = (escape(&figure.title), escape(&figure.caption));
    format!("<figure><figcaption><strong>{title}</strong> {caption}{key}</figcaption>\n{drawing}</figure>\n")
}

fn key(series: &[String]) -> String {
    let entry = |(index, name): (usize, &String)| {
        let colour = table().kind(index);
        format!("<span class=\"key\" style=\"background:{colour}\"></span>{}", escape(name))
    };
    series.iter().enumerate().map(entry).collect()
}

/// The frame: an SVG with horizontal lines at the axis' ticks.
fn frame(axis: &Axis, label: impl Fn(f64) -> String) -> String {
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {}\" width=\"100%\" role=\"img\">", HEIGHT + 36.0);
    for &tick in &axis.ticks {
        let y = up(axis, tick);
        let _ =
            write!(svg, "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            y + 4.0,
            escape(&label(tick))
        );
    }
    svg
}

/// The height of a value in the SVG.
fn up(axis: &Axis, value: f64) -> f64 {
    HEIGHT - axis.at(value) * HEIGHT / 100.0
}

fn draw_bars(bars: &Bars) -> String {
    let all = bars.groups.iter().flat_map(|group| group.1.iter().flatten());
    let axis = Axis::around(
        all.flat_map(|bar| bar.ci95.unwrap_or([bar.value; 2]).into_iter().chain([bar.value])),
        5,
    );
    let mut svg = frame(&axis, |tick| format!("{:.0}%", tick * 100.0));
    let group = (WIDTH - LEFT) / bars.groups.len().max(1) as f64;
    let wide = (group * 0.8 / bars.series.len().max(1) as f64).min(40.0);
    for (index, (name, values)) in bars.groups.iter().enumerate() {
        let left = LEFT + group * index as f64 + (group - wide * bars.series.len() as f64) / 2.0;
        for (place, bar) in values.iter().enumerate() {
            let Some(bar) = bar else { continue };
            let colour = table().kind(place);
            let (x, zero, y) = (left + wide * place as f64, up(&axis, 0.0), up(&axis, bar.value));
            let (top, high) = (zero.min(y), (zero - y).abs().max(0.5));
            let _ = write!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{high:.1}\" fill=\"{colour}\"/>",
                wide - 2.0
            );
            if let Some([low, high]) = bar.ci95 {
                let (x, low, high) = (x + wide / 2.0 - 1.0, up(&axis, low), up(&axis, high));
                let _ = write!(
                    svg,
                    "<line class=\"whisker\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{low:.1}\" y2=\"{high:.1}\"/>"
                );
            }
        }
        label(&mut svg, LEFT + group * (index as f64 + 0.5), name);
    }
    svg + "</svg>\n"
}

/// The name of a group below its bars, a line for each part.
fn label(svg: &mut String, middle: f64, name: &str) {
    for (line, part) in name.split(", ").enumerate() {
        let y = HEIGHT + 18.0 + 13.0 * line as f64;
        let _ =
            write!(svg, "<text x=\"{middle:.1}\" y=\"{y}\" text-anchor=\"middle\">{}</text>", escape(part));
    }
}

fn draw_curve(curve: &Curve) -> String {
    let axis = Axis::around(curve.steps.iter().map(|step| step.1), 5);
    let mut svg = frame(&axis, |tick| format!("{tick:.1} {}", curve.unit));
    let x = |time: f64| LEFT + (WIDTH - LEFT) * (time / curve.end).clamp(0.0, 1.0);
    let mut path = String::new();
    for &(time, value) in &curve.steps {
        let (x, y) = (x(time), up(&axis, value));
        // The value of a step holds until the next.
        let _ = if path.is_empty() { write!(path, "M{x:.1} {y:.1}") } else { write!(path, "H{x:.1}V{y:.1}") };
    }
    let _ = write!(svg, "<path class=\"curve\" d=\"{path}H{WIDTH}\"/>");
    for (time, name) in &curve.marks {
        let x = x(*time);
        let _ = write!(svg, "<line class=\"mark\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{HEIGHT}\"/>");
        let _ = write!(
            svg,
            "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            HEIGHT + 18.0,
            escape(name)
        );
    }
    svg + "</svg>\n"
}
