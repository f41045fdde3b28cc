//! The page of a study: for each application, the schedulers as points, the features of the best, and what explains the
//! times. One HTML file of tables and SVG, without scripts.
//!
//! [`render`] is a pure function from a [`Page`]. All text is untrusted and is escaped here.

use crate::claims::colours;
use crate::page::html::{escape, fill};
use crate::page::scale::Axis;
use std::fmt::Write;

const PAGE: &str = include_str!("page.html");

/// What the page shows.
pub struct Page {
    pub title: String,
    pub subtitle: String,
    /// Version and command that made it.
    pub provenance: String,
    /// The limits of the method, as shares: slower than the best one, good, bad.
    pub best: f64,
    pub good: f64,
    pub bad: f64,
    pub applications: Vec<Application>,
}

/// A workload on a machine under a governor.
pub struct Application {
    pub name: String,
    /// What was found, in sentences.
    pub summary: String,
    /// The name of the policy that times are divided by.
    pub baseline: String,
    /// From the fastest to the slowest.
    pub schedulers: Vec<Scheduler>,
    pub features: Vec<Feature>,
    pub effects: Vec<Effect>,
    /// Policies that are no products: their names and mean times, divided by the baseline's.
    pub policies: Vec<(String, f64)>,
}

/// The times of a scheduler, divided by the baseline's mean.
pub struct Scheduler {
    pub name: String,
    pub mean: f64,
    pub deviation: f64,
    pub stable: bool,
}

/// The share of the best schedulers that have a feature.
pub struct Feature {
    pub slot: String,
    pub name: String,
    pub share: f64,
}

/// What a slot explains of the times, as shares.
pub struct Effect {
    pub slot: String,
    /// By analysis of variance: alone, and together with one other slot.
    pub alone: f64,
    pub with_another: f64,
    /// Importance in a forest.
    pub forest: f64,
}

/// The width of a picture, and of its left margin.
const WIDTH: f64 = 1120.0;
const LEFT: f64 = 64.0;
/// The height of the points.
const HEIGHT: f64 = 220.0;
/// Schedulers slower than so many times the baseline are at the upper edge.
const SLOWEST: f64 = 3.0;

/// The whole page.
pub fn render(page: &Page) -> String {
    fill(&PAGE.replace("/* colours */", &colours()), |slot| match slot {
        "title" => escape(&page.title),
        "subtitle" => escape(&page.subtitle),
        "best" => format!("{:.0}%", page.best * 100.0),
        "good" => format!("{:.0}%", page.good * 100.0),
        "bad" => format!("{:.0}%", page.bad * 100.0),
        "provenance" => escape(&page.provenance),
        "contents" => page.applications.iter().map(contents).collect(),
        "applications" => page.applications.iter().map(|one| application(page, one)).collect(),
        _ => unreachable!("unknown slot in the template: {slot}"),
    })
}

fn contents(one: &Application) -> String {
    let name = escape(&one.name);
    format!("<a href=\"#{name}\">{name}</a> ")
}

fn application(page: &Page, one: &Application) -> String {
    let (name, summary) = (escape(&one.name), escape(&one.summary));
    let mut text = format!("<h2 id=\"{name}\">{name}</h2>\n<p>{summary}</p>\n");
    let caption = format!(
        "Schedulers from the fastest to the slowest. Time divided by {}'s; a line is one standard deviation up and down. Pale: unstable. Shaded: at most {:.0}% slower than the best stable one.",
        one.baseline,
        page.best * 100.0
    );
    text += &figure(&caption, &points(page, one));
    let caption = format!(
        "Share of the best schedulers that have a feature. Good above {:.0}%, bad below {:.0}%.",
        page.good * 100.0,
        page.bad * 100.0
    );
    text += "<div class=\"pair\">\n";
    text += &figure(&caption, &bars(page, &one.features));
    text += &figure(
        "Share of the variance of log(time) that a slot explains alone and with another one; and its importance in a forest of regression trees (not a share of the same whole).",
        &effects(&one.effects),
    );
    text + "</div>\n"
}

fn figure(caption: &str, drawing: &str) -> String {
    format!("<figure><figcaption>{}</figcaption>\n{drawing}</figure>\n", escape(caption))
}

fn points(page: &Page, one: &Application) -> String {
    let bounded = |value: f64| value.min(SLOWEST);
    let ends =
        one.schedulers.iter().flat_map(|s| [bounded(s.mean + s.deviation), bounded(s.mean - s.deviation)]);
    let ends = ends.chain(one.policies.iter().map(|(_, mean)| bounded(*mean)));
    let axis = Axis::between(ends.chain([1.0]), 5);
    let up = |value: f64| HEIGHT - axis.at(bounded(value)) * HEIGHT / 100.0;
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {}\" width=\"100%\" role=\"img\">", HEIGHT + 12.0);
    if let Some(best) = one.schedulers.iter().find(|one| one.stable) {
        let (top, bottom) = (up(best.mean * (1.0 + page.best)), up(best.mean));
        let _ = write!(
            svg,
            "<rect class=\"range\" x=\"{LEFT}\" y=\"{top:.1}\" width=\"{}\" height=\"{:.1}\"/>",
            WIDTH - LEFT,
            bottom - top
        );
    }
    for &tick in &axis.ticks {
        let y = up(tick);
        let class = if (tick - 1.0).abs() < 1e-9 { "zero" } else { "axis" };
        let _ =
            write!(svg, "<line class=\"{class}\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{tick:.2}</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }
    for (number, (name, mean)) in one.policies.iter().enumerate() {
        // Side by side, because their times may be the same.
        let right = WIDTH - 90.0 * number as f64;
        let y = up(*mean);
        let _ = write!(
            svg,
            "<g class=\"policy\"><title>{0}: {mean:.3}</title><line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text x=\"{right}\" y=\"{1:.1}\" text-anchor=\"end\">{0}</text></g>",
            escape(name),
            y - 4.0
        );
    }
    let step = (WIDTH - LEFT) / one.schedulers.len().max(1) as f64;
    for (index, scheduler) in one.schedulers.iter().enumerate() {
        let x = LEFT + step * (index as f64 + 0.5);
        let (low, high) =
            (up(scheduler.mean - scheduler.deviation), up(scheduler.mean + scheduler.deviation));
        let class = if scheduler.stable { "stable" } else { "unstable" };
        let _ = write!(
            svg,
            "<g class=\"{class}\"><title>{}: {:.3} ± {:.3}</title><line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{low:.1}\" y2=\"{high:.1}\"/><circle cx=\"{x:.1}\" cy=\"{:.1}\" r=\"1.6\"/></g>",
            escape(&scheduler.name),
            scheduler.mean,
            scheduler.deviation,
            up(scheduler.mean)
        );
    }
    svg + "</svg>\n"
}

/// The width of the pictures below the points, of their labels, and the height of a row.
const HALF: f64 = 540.0;
const LABELS: f64 = 170.0;
const ROW: f64 = 17.0;

/// A frame with lines at these shares.
fn rows(count: usize, marks: &[f64]) -> String {
    let height = ROW * count as f64 + 22.0;
    let mut svg = format!("<svg viewBox=\"0 0 {HALF} {height}\" width=\"100%\" role=\"img\">");
    for mark in marks {
        let x = across(*mark);
        let _ = write!(
            svg,
            "<line class=\"axis\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{:.1}\"/>",
            height - 20.0
        );
        let _ = write!(
            svg,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{:.0}%</text>",
            height - 6.0,
            mark * 100.0
        );
    }
    svg
}

fn across(share: f64) -> f64 {
    LABELS + (HALF - LABELS - 20.0) * share.clamp(0.0, 1.0)
}

/// A bar in row `row` from one share to another.
fn bar(svg: &mut String, class: &str, row: f64, [from, to]: [f64; 2], height: f64) {
    let (left, right) = (across(from), across(to));
    let _ = write!(
        svg,
        "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height}\"/>",
        row * ROW + 3.0,
        (right - left).max(0.5)
    );
}

fn label(svg: &mut String, row: usize, text: &str) {
    let _ = write!(
        svg,
        "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
        LABELS - 8.0,
        row as f64 * ROW + 13.0,
        escape(text)
    );
}

fn bars(page: &Page, features: &[Feature]) -> String {
    let mut svg = rows(features.len(), &[0.0, page.bad, page.good, 1.0]);
    for (row, feature) in features.iter().enumerate() {
        let class = match feature.share {
            share if share > page.good => "good",
            share if share < page.bad => "bad",
            _ => "neutral",
        };
        bar(&mut svg, class, row as f64, [0.0, feature.share], 11.0);
        let first = row == 0 || features[row - 1].slot != feature.slot;
        let name = if first { format!("{}: {}", feature.slot, feature.name) } else { feature.name.clone() };
        label(&mut svg, row, &name);
    }
    svg + "</svg>\n"
}

fn effects(effects: &[Effect]) -> String {
    let mut svg = rows(2 * effects.len(), &[0.0, 0.25, 0.5, 0.75, 1.0]);
    for (number, effect) in effects.iter().enumerate() {
        let row = 2.0 * number as f64;
        bar(&mut svg, "alone", row, [0.0, effect.alone], 11.0);
        bar(&mut svg, "paired", row, [effect.alone, effect.alone + effect.with_another], 11.0);
        bar(&mut svg, "forest", row + 0.75, [0.0, effect.forest], 8.0);
        label(&mut svg, 2 * number, &effect.slot);
    }
    svg + "</svg>\n<p class=\"keys\"><span class=\"key alone\"></span>alone <span class=\"key paired\"></span>with another slot <span class=\"key forest\"></span>forest</p>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        let scheduler = |name: &str, mean: f64, stable: bool| Scheduler {
            name: name.into(),
            mean,
            deviation: 0.01,
            stable,
        };
        let feature = |name: &str, share: f64| Feature { slot: "Order".into(), name: name.into(), share };
        Page {
            title: "a study".into(),
            subtitle: "<of> two".into(),
            provenance: "made by hearth".into(),
            best: 0.1,
            good: 0.8,
            bad: 0.2,
            applications: vec![Application {
                name: "zstd".into(),
                summary: "found".into(),
                baseline: "cfs".into(),
                schedulers: vec![scheduler("fifo", 0.9, true), scheduler("list", 50.0, false)],
                features: vec![feature("fifo", 0.9), feature("list", 0.1), feature("rbtree", 0.5)],
                effects: vec![Effect { slot: "Order".into(), alone: 0.5, with_another: 0.2, forest: 1.3 }],
                policies: vec![("cfs".into(), 1.0), ("<eevdf>".into(), 9.0)],
            }],
        }
    }

    #[test]
    fn the_page_has_all_and_is_escaped() {
        let text = render(&page());
        assert!(text.contains("&lt;of&gt; two") && text.contains("fifo: 0.900 ± 0.010"), "{text}");
        for class in ["good", "bad", "neutral", "stable", "unstable", "alone", "paired", "forest"] {
            assert_eq!(text.matches(&format!("class=\"{class}\"")).count(), 1, "{class}");
        }
        assert!(text.contains("cfs: 1.000") && text.contains("&lt;eevdf&gt;: 9.000"), "{text}");
        assert!(text.contains("at most 10% slower"), "{text}");
        assert!(!text.contains("NaN") && !text.contains("{{"));
    }

    #[test]
    fn what_is_far_away_stays_inside() {
        let text = points(&page(), &page().applications[0]);
        for (_, number) in text.match_indices("y1=\"").map(|(at, _)| (at, text[at + 4..].split('"').next())) {
            let y: f64 = number.unwrap().parse().unwrap();
            assert!((0.0..=HEIGHT).contains(&y), "{y}");
        }
    }
}
