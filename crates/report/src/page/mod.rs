//! The report page: one HTML file that needs neither network nor server.
//!
//! [`render`] is a pure function from a [`Report`], which is plain data, to the text of the page.
//! Tables and charts are static HTML and SVG. The page's script (`web/src/report`) draws the execution
//! traces on canvas from embedded data, at most [`TRACE_BUDGET`] bytes.
//!
//! All text in a [`Report`] is untrusted and is escaped here. A number that is not finite means
//! "unknown" and is shown as a dash.

mod bars;
mod colour;
mod encode;
mod facts;
mod frequency;
mod from_trace;
mod headline;
pub(crate) mod html;
mod input;
mod number;
pub(crate) mod scale;
mod table;
mod traces;

pub use encode::TRACE_BUDGET;
pub use input::{CoreRow, Distribution, Estimate, Finding, Report, Row, Segment, Setting, TimelinePanel};

const PAGE: &str = include_str!("page.html");
/// `make web` builds them.
const SCRIPT: &str = include_str!("../../../../web/page/report.js");
pub(crate) const STYLE: &str = include_str!("../../../../web/page/report.css");

/// The whole page.
pub fn render(report: &Report) -> String {
    let scales = colour::scales(report);
    html::fill(PAGE, |slot| match slot {
        "title" => html::escape(&report.title),
        "subtitle" => html::escape(&report.subtitle),
        "style" => STYLE.to_owned(),
        "script" => SCRIPT.to_owned(),
        "facts" => facts::workload(&report.workload),
        "headline" => headline::section(&report.findings, &report.accuracy),
        "table" => table::section(&report.rows),
        "bars" => bars::section(&report.rows),
        "frequencies" => frequency::section(&report.distributions, &scales),
        "traces" => traces::section(&report.timelines, &scales),
        "provenance" => facts::provenance(&report.provenance),
        "notes" => facts::notes(&report.notes),
        _ => unreachable!("unknown slot in the template: {slot}"),
    })
}
