//! The sections of facts and notes.

use super::html::{escape, prose};
use std::fmt::Write;

pub fn workload(facts: &[(String, String)]) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let mut html = String::from("<dl class=\"facts\">");
    for (name, value) in facts {
        let _ = write!(html, "<div><dt>{}</dt><dd>{}</dd></div>", escape(name), escape(value));
    }
    html + "</dl>"
}

pub fn provenance(facts: &[(String, String)]) -> String {
    if facts.is_empty() {
        return String::new();
    }
    format!("<section id=\"provenance\"><h2>Where this comes from</h2>{}</section>", workload(facts))
}

pub fn notes(notes: &[String]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let mut html = String::from("<section id=\"notes\"><h2>Notes</h2><ul>");
    for note in notes {
        let _ = write!(html, "<li>{}</li>", prose(note));
    }
    html + "</ul></section>"
}
