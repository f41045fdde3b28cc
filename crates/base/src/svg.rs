//! A writer of SVG drawings, and the axes of a plot.

use crate::colour::{Rgb, Theme};
use crate::escape::html as escape;
use std::fmt::Write;

/// A drawing. Lengths are in pixels; y grows downwards.
pub struct Svg {
    text: String,
}

/// Where a text has its given point. The point is halfway up the letters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anchor {
    Start,
    Middle,
    End,
    /// At the middle, and turned by 90 degrees to the left.
    Upright,
}

/// How a text looks.
#[derive(Clone, Copy, Debug)]
pub struct Font {
    pub size: f64,
    pub anchor: Anchor,
    pub colour: Rgb,
}

impl Svg {
    /// A drawing of this size on paper of one colour.
    pub fn new(width: f64, height: f64, paper: Rgb) -> Svg {
        let (w, h) = (pixel(width), pixel(height));
        let text = format!(
            "<svg width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" xmlns=\"http://www.w3.org/2000/svg\" \
             font-family=\"sans-serif\">\n<style>rect {{ shape-rendering: crispEdges }}</style>\n"
        );
        let mut svg = Svg { text };
        svg.rect([0.0, 0.0], [width, height], paper);
        svg
    }

    /// A filled rectangle between two corners.
    pub fn rect(&mut self, [left, top]: [f64; 2], [right, bottom]: [f64; 2], fill: Rgb) {
        let (x, y, w, h) = (left.min(right), top.min(bottom), (right - left).abs(), (bottom - top).abs());
        self.add(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"/>",
            pixel(x),
            pixel(y),
            pixel(w),
            pixel(h)
        ));
    }

    /// A filled polygon.
    pub fn polygon(&mut self, points: impl IntoIterator<Item = [f64; 2]>, fill: Rgb) {
        self.add(format_args!("<polygon points=\"{}\" fill=\"{fill}\"/>", list(points)));
    }

    /// A line through these points.
    pub fn line(&mut self, points: impl IntoIterator<Item = [f64; 2]>, stroke: Rgb, width: f64) {
        self.stroke(points, stroke, width, "");
    }

    /// A dashed line through these points.
    pub fn dashes(&mut self, points: impl IntoIterator<Item = [f64; 2]>, stroke: Rgb, width: f64) {
        self.stroke(points, stroke, width, " stroke-dasharray=\"5 4\"");
    }

    fn stroke(&mut self, points: impl IntoIterator<Item = [f64; 2]>, stroke: Rgb, width: f64, more: &str) {
        let (points, width) = (list(points), pixel(width));
        self.add(format_args!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"{width}\"{more}/>"
        ));
    }

    pub fn text(&mut self, [x, y]: [f64; 2], text: &str, font: Font) {
        let (x, y) = (pixel(x), pixel(y));
        let (anchor, turn) = match font.anchor {
            Anchor::Start => ("start", String::new()),
            Anchor::Middle => ("middle", String::new()),
            Anchor::End => ("end", String::new()),
            Anchor::Upright => ("middle", format!(" transform=\"rotate(-90 {x} {y})\"")),
        };
        let (size, colour) = (pixel(font.size), font.colour);
        self.add(format_args!(
            "<text x=\"{x}\" y=\"{y}\" dy=\"0.35em\" text-anchor=\"{anchor}\" font-size=\"{size}\" fill=\"{colour}\"{turn}>{}</text>",
            escape(text)
        ));
    }

    fn add(&mut self, element: std::fmt::Arguments) {
        let _ = writeln!(self.text, "{element}");
    }

    /// The file.
    pub fn finish(self) -> String {
        self.text + "</svg>\n"
    }
}

/// A coordinate with at most one digit after the point. Values outside of every drawing are cut, and what is no number is 0.
fn pixel(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { (value.clamp(-1e5, 1e5) * 10.0).round() / 10.0 + 0.0 }
}

fn list(points: impl IntoIterator<Item = [f64; 2]>) -> String {
    let mut list = String::new();
    for [x, y] in points {
        let space = if list.is_empty() { "" } else { " " };
        let _ = write!(list, "{space}{},{}", pixel(x), pixel(y));
    }
    list
}

/// The plane of a plot: values from 0 to an end on both axes.
pub struct Plane {
    /// Left upper and right lower corner in pixels.
    pub corners: [[f64; 2]; 2],
    /// The values at the right and at the upper end.
    pub ends: [f64; 2],
}

/// An axis: what it is called, about how many labels it has, and how a label is written.
pub struct Axis<'a> {
    pub name: &'a str,
    pub labels: usize,
    pub format: &'a dyn Fn(f64) -> String,
    /// Whether a line crosses the plane at each label.
    pub lines: bool,
}

/// Size of names and labels.
const SMALL: f64 = 10.5;

impl Plane {
    /// The pixel of two values.
    pub fn at(&self, x: f64, y: f64) -> [f64; 2] {
        let [[left, top], [right, bottom]] = self.corners;
        [left + (right - left) * (x / self.ends[0]), bottom - (bottom - top) * (y / self.ends[1])]
    }

    /// Draws the axes with their labels.
    pub fn axes(&self, svg: &mut Svg, theme: &Theme, x: &Axis, y: &Axis) {
        let [[left, top], [right, bottom]] = self.corners;
        let font = |anchor| Font { size: SMALL, anchor, colour: theme.ink };
        let (xs, ys) = (ticks(self.ends[0], x.labels), ticks(self.ends[1], y.labels));
        if x.lines {
            for &tick in &xs {
                let [at, _] = self.at(tick, 0.0);
                svg.line([[at, top], [at, bottom]], theme.line, 1.0);
            }
        }
        if y.lines {
            for &tick in &ys {
                let [_, at] = self.at(0.0, tick);
                svg.line([[left, at], [right, at]], theme.line, 1.0);
            }
        }
        svg.line([[left, top], [left, bottom], [right, bottom]], theme.ink, 1.0);
        for tick in xs {
            let [at, _] = self.at(tick, 0.0);
            svg.line([[at, bottom], [at, bottom + 5.0]], theme.ink, 1.0);
            svg.text([at, bottom + 14.0], &(x.format)(tick), font(Anchor::Middle));
        }
        for tick in ys {
            let [_, at] = self.at(0.0, tick);
            svg.line([[left - 5.0, at], [left, at]], theme.ink, 1.0);
            svg.text([left - 9.0, at], &(y.format)(tick), font(Anchor::End));
        }
        svg.text([(left + right) / 2.0, bottom + 34.0], x.name, font(Anchor::Middle));
        svg.text([left - 46.0, (top + bottom) / 2.0], y.name, font(Anchor::Upright));
    }
}

/// At most `most` round numbers between 0 and `end`, evenly spaced; 0 is one of them.
fn ticks(end: f64, most: usize) -> Vec<f64> {
    if !(end > 0.0 && end.is_finite()) {
        return vec![0.0];
    }
    let least = end / most.max(1) as f64;
    let power = 10_f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= least);
    let step = step.filter(|step| step.is_finite()).unwrap_or(end);
    (0..=most).map(|i| i as f64 * step).take_while(|tick| *tick <= end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colour::table;

    const INK: Rgb = Rgb(1, 2, 3);

    #[test]
    fn elements_are_written() {
        let mut svg = Svg::new(100.0, 50.0, Rgb(255, 255, 255));
        svg.rect([10.0, 30.0], [5.04, 20.0], INK);
        svg.line([[0.0, 0.26], [1.0, 2.0]], INK, 2.0);
        svg.dashes([[0.0, 0.0]], INK, 1.0);
        svg.polygon([[0.0, 0.0], [1.0, 0.0], [1.0, -1.0]], INK);
        svg.text([3.0, 4.0], "<a & b>", Font { size: 12.0, anchor: Anchor::Upright, colour: INK });
        let text = svg.finish();
        for part in [
            "<rect x=\"0\" y=\"0\" width=\"100\" height=\"50\" fill=\"#ffffff\"/>",
            "<rect x=\"5\" y=\"20\" width=\"5\" height=\"10\" fill=\"#010203\"/>",
            "<polyline points=\"0,0.3 1,2\" fill=\"none\" stroke=\"#010203\" stroke-width=\"2\"/>",
            "stroke-dasharray",
            "<polygon points=\"0,0 1,0 1,-1\"",
            "text-anchor=\"middle\" font-size=\"12\" fill=\"#010203\" transform=\"rotate(-90 3 4)\">&lt;a &amp; b&gt;</text>",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(6.3, 5), [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(ticks(1.0, 10).len(), 11, "both ends");
        assert_eq!(ticks(150.0, 8), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0, 120.0, 140.0]);
        for end in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(ticks(end, 5), [0.0]);
        }
        for end in [f64::MAX, f64::MIN_POSITIVE, 3.3e-7, 12_345.0] {
            for most in 1..12 {
                assert!((1..=most + 1).contains(&ticks(end, most).len()), "{end} {most}");
            }
        }
    }

    #[test]
    fn extreme_values_stay_numbers() {
        assert_eq!([f64::NAN, f64::INFINITY, -0.01, 1.26].map(pixel), [0.0, 1e5, 0.0, 1.3]);
        let plane = Plane { corners: [[10.0, 20.0], [110.0, 70.0]], ends: [2.0, 5.0] };
        assert_eq!(plane.at(0.0, 0.0), [10.0, 70.0]);
        assert_eq!(plane.at(2.0, 5.0), [110.0, 20.0]);
        let mut svg = Svg::new(120.0, 80.0, INK);
        let axis = Axis { name: "a", labels: 4, format: &|value| format!("{value:.0}"), lines: true };
        let plane = Plane { ends: [f64::MAX, f64::INFINITY], ..plane };
        plane.axes(&mut svg, &table().light, &axis, &axis);
        let text = svg.finish();
        assert!(!text.contains("NaN") && !text.contains("\"inf"), "{text}");
    }
}
