//! Execution traces: the data and the elements into which the page's script draws.

use super::TimelinePanel;
use super::colour::{self, GhzScale, Scales};
use super::encode::{self, Encoded, GHZ_UNIT, TRACE_BUDGET, UNDERLOAD_UNIT};
use super::html::{clean, escape, json};
use super::number::three;
use super::table::grouped;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The data of one trace; `web/src/report/data.ts` reads it.
#[derive(Serialize)]
struct Data<'a> {
    duration: f64,
    steps: u32,
    /// Bins of frequency: lowest edge and width in GHz, and their number.
    low: f64,
    step: f64,
    bins: usize,
    cores: Vec<(String, u32)>,
    rows: &'a str,
    underload: &'a str,
    /// Units of frequency (GHz) and of underload in `rows` and `underload`.
    units: (f64, f64),
}

pub fn section(panels: &[TimelinePanel], scales: &Scales) -> String {
    if panels.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<section id=\"traces\"><h2>Execution traces</h2>\
         <p class=\"lead\">Each row is a core. Colour shows the frequency of a busy core, and height how busy it is. \
         Policies on one machine share the scales of time and colour. The strip below each trace is its underload.</p>\
         <noscript><p>JavaScript is off, so the traces are missing. The rest of the page is complete.</p></noscript>",
    );
    let encoded = encode::panels(panels, TRACE_BUDGET);
    let all: Vec<(&TimelinePanel, Encoded)> = panels.iter().zip(encoded).collect();
    let mut open = " open";
    for (machine, of_machine) in grouped(all.iter(), |(it, _)| &it.setting.machine) {
        let scale = scales.of(&of_machine[0].0.setting);
        for (governor, group) in grouped(of_machine.into_iter(), |(it, _)| &it.setting.governor) {
            let unknown = |(it, _): &&(&TimelinePanel, Encoded)| {
                it.segments.iter().any(|s| !colour::known(s.ghz.into()))
            };
            let _ = write!(
                html,
                "<details class=\"setting\"{open}><summary>{} <span>{}</span></summary>\
                 <div class=\"tools\"><div><span class=\"unit\">GHz</span>{}{}</div><label><input type=\"checkbox\"> unused cores</label>\
                 <button type=\"button\" disabled>Whole run</button></div>",
                escape(machine),
                escape(governor),
                scale.legend(),
                colour::unknown_key(group.iter().any(unknown))
            );
            for (panel, encoded) in group {
                html.push_str(&figure(panel, encoded, scale));
            }
            html.push_str(
                "<p class=\"hint\">Drag to zoom in. Ctrl and wheel zoom, the wheel sideways moves, and a double click \
                 shows the whole run. Keys: + − ← → 0.</p></details>",
            );
            open = "";
        }
    }
    html + "</section>"
}

fn figure(panel: &TimelinePanel, encoded: &Encoded, scale: &GhzScale) -> String {
    let data = Data {
        duration: encode::duration(panel),
        steps: encoded.steps,
        low: scale.low,
        step: scale.step,
        bins: scale.bins,
        cores: panel.cores.iter().map(|core| (clean(&core.label), core.socket)).collect(),
        rows: &encoded.rows,
        underload: &encoded.underload,
        units: (GHZ_UNIT, UNDERLOAD_UNIT),
    };
    let (policy, summary) = (escape(&panel.setting.policy), summary(panel, encoded));
    format!(
        "<figure class=\"trace\"><figcaption><b>{policy}</b> {summary}</figcaption><div class=\"canvas\">\
         <canvas tabindex=\"0\" role=\"img\" aria-label=\"Execution trace of {policy}: {summary}\"></canvas></div>\
         <script type=\"application/json\">{}</script></figure>",
        json(&data)
    )
}

/// `12.4 s, 23 of 64 cores, 1 of 2 sockets`, and the width of the averages, if there are any.
fn summary(panel: &TimelinePanel, encoded: &Encoded) -> String {
    let used: BTreeSet<u32> = panel.segments.iter().filter(|s| s.busy > 0.0).map(|s| s.row).collect();
    let used: Vec<u32> =
        used.into_iter().filter_map(|row| Some(panel.cores.get(row as usize)?.socket)).collect();
    let sockets = |of: &mut dyn Iterator<Item = u32>| of.collect::<BTreeSet<u32>>().len();
    let mut text = format!(
        "{} s, {} of {} cores, {} of {} sockets",
        three(encode::duration(panel)),
        used.len(),
        panel.cores.len(),
        sockets(&mut used.iter().copied()),
        sockets(&mut panel.cores.iter().map(|core| core.socket)),
    );
    if encoded.columns > 0 {
        let width = encode::duration(panel) / f64::from(encoded.columns) * 1e3;
        let _ = write!(text, "; averaged over {} ms", three(width));
    }
    text
}
