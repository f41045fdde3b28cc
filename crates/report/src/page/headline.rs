//! The answer, and three rows for each machine.

use super::html::{escape, prose};
use super::{Estimate, Finding};
use std::fmt::Write;

pub fn section(findings: &[Finding], accuracy: &str) -> String {
    let mut html = String::from("<section id=\"result\"><h2>Result</h2>");
    if findings.is_empty() {
        html.push_str("<p>No results: nothing was run.</p>");
    }
    html.push_str("<div class=\"findings\">");
    findings.iter().for_each(|finding| html.push_str(&one(finding)));
    html.push_str("</div>");
    if !accuracy.is_empty() {
        let _ = write!(html, "<p class=\"quiet\">{}</p>", prose(accuracy));
    }
    html + "</section>"
}

fn one(finding: &Finding) -> String {
    let mut html = format!("<div><p>{}</p>", prose(&finding.sentence));
    if !finding.rows.is_empty() {
        let _ = write!(
            html,
            "<table class=\"numbers\"><caption class=\"hidden\">{}</caption><thead><tr>",
            escape(&finding.machine)
        );
        for title in Finding::TITLES {
            let _ = write!(html, "<th scope=\"col\">{title}</th>");
        }
        html.push_str("</tr></thead><tbody>");
        for [setting, cells @ ..] in &finding.rows {
            let _ = write!(html, "<tr><th scope=\"row\">{}</th>", escape(setting));
            for cell in cells {
                let _ = write!(html, "<td>{}</td>", escape(cell));
            }
            html.push_str("</tr>");
        }
        html.push_str("</tbody></table>");
    }
    html + "</div>"
}

/// The conclusion from an estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Faster,
    Slower,
    /// The interval spans zero.
    Unclear,
    OneRun,
}

pub fn verdict(estimate: &Estimate) -> Verdict {
    match estimate {
        e if !bounded(e) => Verdict::OneRun,
        e if e.low > 0.0 => Verdict::Faster,
        e if e.high < 0.0 => Verdict::Slower,
        _ => Verdict::Unclear,
    }
}

pub fn bounded(estimate: &Estimate) -> bool {
    estimate.low.is_finite() && estimate.high.is_finite()
}
