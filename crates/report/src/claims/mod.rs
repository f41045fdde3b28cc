//! The page of claims: one HTML file of tables and SVG, without scripts.
//!
//! [`render`] is a pure function from a [`Page`], which is plain data, to the text of the page. All text is untrusted
//! and is escaped here.

mod figure;
mod strip;

pub use figure::{Bar, Bars, Curve, Drawing, Figure};

use crate::page::html::{escape, fill};
use std::fmt::Write;

const PAGE: &str = include_str!("page.html");

/// The style sheet's variables, light and dark.
pub(crate) fn colours() -> String {
    let table: serde_json::Value = serde_json::from_str(hearth_base::colour::JSON).unwrap_or_default();
    let theme = |name: &str| {
        let names = ["paper", "panel", "ink", "quiet", "line"].map(|name| (name, name));
        let marks = [("range", "bar"), ("hit", "better"), ("miss", "warn"), ("ours", "select")];
        let variable = |(to, from)| format!("--{to}: {}; ", table[name][from].as_str().unwrap_or_default());
        names.into_iter().chain(marks).map(variable).collect::<String>()
    };
    let dark = format!("@media (prefers-color-scheme: dark) {{ :root {{ {}}} }}", theme("dark"));
    format!(":root {{ color-scheme: light dark; {}}}\n{dark}", theme("light"))
}

/// What the page shows.
pub struct Page {
    pub title: String,
    pub subtitle: String,
    /// Version and command that made it.
    pub provenance: String,
    /// The titles and rows of the table of scores.
    pub score: Vec<Vec<String>>,
    /// What the scores mean.
    pub rule: String,
    pub sections: Vec<Section>,
    pub figures: Vec<Figure>,
    pub unasked: Vec<UntestedClaim>,
}

/// The claims of a section of a paper.
pub struct Section {
    pub title: String,
    pub claims: Vec<Claim>,
}

/// A claim, with a result for each machine.
pub struct Claim {
    pub id: String,
    pub half: String,
    pub says: String,
    /// What is measured.
    pub what: String,
    /// The paper's range. An end may be infinite.
    pub range: [f64; 2],
    pub results: Vec<MachineResult>,
}

/// A result on a machine. NaN: unknown.
pub struct MachineResult {
    pub machine: String,
    pub value: f64,
    pub ci95: Option<[f64; 2]>,
    pub in_range: bool,
    /// Range, value and verdict in words.
    pub paper: String,
    pub ours: String,
    pub verdict: String,
}

/// A row that is not asked.
pub struct UntestedClaim {
    pub id: String,
    pub half: String,
    pub says: String,
    pub why: String,
}

/// The whole page.
pub fn render(page: &Page) -> String {
    fill(&PAGE.replace("/* colours */", &colours()), |slot| match slot {
        "title" => escape(&page.title),
        "subtitle" => escape(&page.subtitle),
        "provenance" => escape(&page.provenance),
        "score" => score(&page.score),
        "rule" => escape(&page.rule),
        "sections" => page.sections.iter().map(section).collect(),
        "figures" => figure::section(&page.figures),
        "unasked" => unasked(&page.unasked),
        _ => unreachable!("unknown slot in the template: {slot}"),
    })
}

fn score(rows: &[Vec<String>]) -> String {
    let line = |cell: &str, cells: &[String]| {
        let cells: String = cells.iter().map(|text| format!("<{cell}>{}</{cell}>", escape(text))).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let rows = rows.iter().enumerate().map(|(index, row)| line(if index == 0 { "th" } else { "td" }, row));
    format!("<table class=\"score\">\n{}</table>\n", rows.collect::<String>())
}

fn section(section: &Section) -> String {
    let mut text = format!(
        "<h2>{}</h2>\n<table class=\"claims\">\n<tr><th>claim</th><th>machine</th>",
        escape(&section.title)
    );
    text += "<th>the paper's range, and ours</th><th>paper</th><th>ours</th></tr>\n";
    for claim in &section.claims {
        text += &claim_rows(claim);
    }
    text + "</table>\n"
}

/// The results of a claim. Its group can be hidden if all are in range.
fn claim_rows(claim: &Claim) -> String {
    let axis = strip::axis(claim);
    let holds = claim.results.iter().all(|found| found.in_range);
    let mut text = format!("<tbody class=\"{}\">\n", if holds { "holds" } else { "misses" });
    let name = format!("<td class=\"claim\" rowspan=\"{}\">{}</td>", claim.results.len(), name(claim));
    for (index, found) in claim.results.iter().enumerate() {
        let _ = writeln!(
            text,
            "<tr class=\"{}\">{}<td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number ours\">{} {}</td></tr>",
            if found.in_range { "hit" } else { "miss" },
            if index == 0 { &name } else { "" },
            escape(&found.machine),
            strip::strip(&axis, claim.range, found),
            escape(&found.paper),
            escape(&found.ours),
            escape(&found.verdict)
        );
    }
    text + "</tbody>\n"
}

fn name(claim: &Claim) -> String {
    let [id, half, says, what] = [&claim.id, &claim.half, &claim.says, &claim.what].map(|text| escape(text));
    format!(
        "<span class=\"id\">{id}</span> <span class=\"half\">{half}</span><br>{says}<br><span class=\"what\">{what}</span>"
    )
}

fn unasked(rows: &[UntestedClaim]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut text =
        "<h2>Not asked</h2>\n<table>\n<tr><th>row</th><th>the paper</th><th>why not</th></tr>\n".to_owned();
    for row in rows {
        let (id, half) = (escape(&row.id), escape(&row.half));
        let _ = writeln!(
            text,
            "<tr><td><span class=\"id\">{id}</span> <span class=\"half\">{half}</span></td><td>{}</td><td>{}</td></tr>",
            escape(&row.says),
            escape(&row.why)
        );
    }
    text + "</table>\n"
}

#[cfg(test)]
mod tests;
