//! The report page: one HTML file that needs neither network nor server.
//!
//! [`render`] is a pure function from a [`Report`], which is plain data, to the text of the page.
//! Tables and charts are static HTML and SVG and need no script. The execution traces are drawn
//! on canvas from compact embedded data, whose size is bounded by [`TRACE_BUDGET`].
//!
//! All text in a [`Report`] is taken as coming from outside and is escaped here. A number that is
//! not finite means "unknown" and is shown as a dash.

mod bars;
mod colour;
mod encode;
mod facts;
mod frequency;
mod from_trace;
mod headline;
mod html;
mod input;
mod number;
mod scale;
mod table;
mod traces;

pub use encode::TRACE_BUDGET;
pub use input::{CoreRow, Distribution, Estimate, Report, Row, Segment, Setting, TimelinePanel};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The whole page.
pub fn render(report: &Report) -> String {
    let scales = colour::scales(report);
    html::fill(PAGE, |slot| match slot {
        "title" => html::escape(&report.title),
        "subtitle" => html::escape(&report.subtitle),
        "style" => STYLE.to_string(),
        "script" => SCRIPT.to_string(),
        "facts" => facts::workload(&report.workload),
        "headline" => headline::section(&report.rows),
        "table" => table::section(&report.rows),
        "bars" => bars::section(&report.rows),
        "frequencies" => frequency::section(&report.distributions, &scales),
        "traces" => traces::section(&report.timelines, &scales),
        "notes" => facts::notes(&report.notes),
        _ => unreachable!("the page has a slot without content: {slot}"),
    })
}
