//! Speed-up and energy saving as bars, as in figures 5 and 7 of the Nest paper.
//!
//! The bars are horizontal, which leaves room for the policies' names. Each machine has one chart of
//! each kind; all charts of a kind have the same scale.

use super::colour::{self, named_policy};
use super::headline::bounded;
use super::html::escape;
use super::number::{UNKNOWN, fixed, four, signed_percent, spread, three};
use super::scale::Axis;
use super::table::{MARK, Machine, known, machines, name_width, policies, tone};
use super::{Estimate, Row};
use hearth_base::colour::Rgb;
use std::fmt::Write;

/// The quantity that a chart shows.
struct Kind {
    title: &'static str,
    improvement: fn(&Row) -> Option<Estimate>,
    /// The baseline's value, which the caption shows.
    absolute: fn(&Row) -> String,
}

const KINDS: [Kind; 2] = [
    Kind { title: "Speed-up", improvement: |row| known(row.speedup), absolute: time },
    Kind { title: "Energy saving", improvement: |row| known(row.energy_saving), absolute: energy },
];

pub fn section(rows: &[Row]) -> String {
    let any = |kind: &&Kind| rows.iter().any(|row| (kind.improvement)(row).is_some());
    let kinds: Vec<&Kind> = KINDS.iter().filter(any).collect();
    if kinds.is_empty() {
        return String::new();
    }
    let policies = policies(rows.iter().map(|row| row.setting.policy.as_str()));
    let width = name_width(rows.iter().flat_map(|row| [&*row.setting.policy, &row.setting.governor]));
    let mut html = format!(
        "<section id=\"bars\"><h2>Speed-up and energy</h2>\
         <p class=\"lead\">Longer to the right is better. Whiskers are 95% confidence intervals. \
         Dotted lines are at ±5%.</p><div class=\"charts\" style=\"{width}\">"
    );
    let axes: Vec<Axis> = kinds.iter().map(|kind| axis(rows, kind)).collect();
    for machine in machines(rows) {
        let of_machine = || machine.governors.iter().flat_map(|(_, rows)| rows.iter().copied());
        for (kind, axis) in kinds.iter().zip(&axes) {
            if of_machine().filter_map(kind.improvement).next().is_none() {
                continue;
            }
            html.push_str(&chart(&machine, kind, axis, &policies));
        }
    }
    html + "</div></section>"
}

fn axis(rows: &[Row], kind: &Kind) -> Axis {
    let values = rows.iter().filter_map(kind.improvement).flat_map(|e| [e.mean, e.low, e.high]);
    Axis::around(values.chain([-MARK, MARK]), 5)
}

fn chart(machine: &Machine, kind: &Kind, axis: &Axis, policies: &[&str]) -> String {
    let mut html = format!("<table class=\"chart\"><caption><b>{}</b> {}", kind.title, escape(machine.name));
    if let Some(row) = baseline(machine) {
        let (policy, governor) = (escape(&row.setting.policy), escape(&row.setting.governor));
        let _ = write!(html, "<small>{policy}, {governor}: {}</small>", (kind.absolute)(row));
    }
    let _ = write!(
        html,
        "</caption><colgroup><col class=\"name\"><col><col class=\"value\"></colgroup><thead class=\"hidden\"><tr><th scope=\"col\">Policy</th><th scope=\"col\">Chart</th>\
         <th scope=\"col\">{}</th></tr></thead>",
        kind.title
    );
    for (i, (governor, rows)) in machine.governors.iter().enumerate() {
        html.push_str("<tbody>");
        if !governor.is_empty() {
            let _ = write!(
                html,
                "<tr><th class=\"governor\" scope=\"rowgroup\">{}</th><td class=\"plot\">{}</td><td></td></tr>",
                escape(governor),
                svg(if i == 0 { 20 } else { 28 }, &grid(axis))
            );
        }
        for row in rows {
            let policy = policies.iter().position(|name| *name == row.setting.policy).unwrap_or(0);
            let estimate = (kind.improvement)(row);
            let _ = write!(
                html,
                "<tr><th scope=\"row\" title=\"{}\">{}</th><td class=\"plot\">{}</td><td>{}</td></tr>",
                escape(&row.setting.policy),
                named_policy(policy, &row.setting.policy),
                svg(20, &(grid(axis) + &bar(estimate, axis, colour::policy(policy)))),
                value(estimate, row)
            );
        }
        html.push_str("</tbody>");
    }
    let _ = write!(
        html,
        "<tfoot aria-hidden=\"true\"><tr><td></td><td class=\"plot\">{}</td><td></td></tr></tfoot>",
        ticks(axis)
    );
    html + "</table>"
}

/// The baseline of a machine, if all its rows have the same one.
fn baseline<'a>(machine: &Machine<'a>) -> Option<&'a Row> {
    let rows = || machine.governors.iter().flat_map(|(_, rows)| rows.iter().copied());
    let mut against = rows().filter_map(|row| row.against.as_ref());
    let first = against.next()?;
    against.all(|other| other == first).then(|| rows().find(|row| row.setting == *first))?
}

fn value(estimate: Option<Estimate>, row: &Row) -> String {
    match estimate {
        Some(e) => format!("<b class=\"{}\">{}</b>", tone(&e), signed_percent(e.mean)),
        None if row.against.is_none() => "<span class=\"quiet\">baseline</span>".into(),
        None => UNKNOWN.into(),
    }
}

fn bar(estimate: Option<Estimate>, axis: &Axis, colour: Rgb) -> String {
    let Some(e) = estimate else { return String::new() };
    let (zero, end) = (axis.at(0.0), axis.at(e.mean));
    let mut svg = format!(
        "<rect x=\"{:.2}%\" y=\"4\" width=\"{:.2}%\" height=\"12\" fill=\"{colour}\"/>",
        zero.min(end),
        (end - zero).abs()
    );
    if bounded(&e) {
        let (low, high) = (axis.at(e.low), axis.at(e.high));
        for (x1, y1, x2, y2) in [(low, 10, high, 10), (low, 7, low, 13), (high, 7, high, 13)] {
            let _ =
                write!(svg, "<line class=\"ci\" x1=\"{x1:.2}%\" y1=\"{y1}\" x2=\"{x2:.2}%\" y2=\"{y2}\"/>");
        }
    }
    svg
}

/// The vertical lines: ticks, zero and ±5%.
fn grid(axis: &Axis) -> String {
    let line = |class: &str, x: f64| {
        format!("<line class=\"{class}\" x1=\"{0:.2}%\" y1=\"0\" x2=\"{0:.2}%\" y2=\"100%\"/>", axis.at(x))
    };
    let ticks: String = axis.ticks.iter().map(|x| line("grid", *x)).collect();
    ticks + &line("mark", -MARK) + &line("mark", MARK) + &line("zero", 0.0)
}

fn ticks(axis: &Axis) -> String {
    let decimals =
        if axis.ticks.iter().all(|x| (x * 100.0 - (x * 100.0).round()).abs() < 1e-6) { 0 } else { 1 };
    let tick =
        |x: &f64| format!("<text x=\"{:.2}%\" y=\"13\">{}%</text>", axis.at(*x), fixed(x * 100.0, decimals));
    svg(18, &axis.ticks.iter().map(tick).collect::<String>())
}

fn svg(height: u32, content: &str) -> String {
    format!("<svg width=\"100%\" height=\"{height}\" aria-hidden=\"true\">{content}</svg>")
}

fn time(row: &Row) -> String {
    let spread = spread(row.time_sd, row.time_s).map_or(String::new(), |x| format!(" ± {x}"));
    format!("{}{spread} s", four(row.time_s, row.time_s))
}

fn energy(row: &Row) -> String {
    format!("{} J", three(row.energy_j))
}
