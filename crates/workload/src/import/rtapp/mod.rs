//! Importer for rt-app documents.
//!
//! [rt-app](https://github.com/scheduler-tools/rt-app) emulates a workload with real threads, each
//! of which loops over phases of events. The mapping follows its tutorial (`doc/tutorial.txt`);
//! `docs/src/workloads.md` lists it. What the graph can represent only approximately gives a note;
//! what it cannot represent gives an error. Nothing is dropped silently.

mod build;
mod document;

use crate::{Error, Resolved};

use super::json::{self, Json, Mistake};
use document::Document;

/// True if `text` looks like an rt-app document: it has tasks and is not a workload file.
pub fn recognises(text: &str) -> bool {
    ["\"tasks\"", "'tasks'", "\"global\"", "\"resources\""].iter().any(|key| text.contains(key))
        && !text.contains("\"hearth_workload\"")
}

/// Imports an rt-app document. `origin` names the document in errors and in the workload.
pub fn import(text: &str, origin: &str) -> Result<Resolved, Error> {
    let read = json::parse(text).map_err(|Mistake { line, column, message }| Error::Syntax {
        origin: origin.to_string(),
        line,
        column,
        message,
    })?;
    let mut notes = Notes::default();
    if let Some((line, key)) = read.repeated.first() {
        notes.add(format!(
            "keys are repeated (`{key}` in line {line}): all are kept, as by `workgen`; rt-app itself uses the last one \
             only"
        ));
    }
    let mut workload = Document::read(&read.json, &mut notes)
        .and_then(|document| build::workload(&document, &mut notes))
        .map_err(|Refusal { place, message }| Error::RtApp { origin: origin.to_string(), place, message })?;
    let name = origin.rsplit('/').next().unwrap_or(origin);
    workload.name = name.strip_suffix(".json").unwrap_or(name).to_string();
    workload.origin = match notes.0.len() {
        0 => format!("imported from rt-app: {origin}"),
        n => format!("imported from rt-app: {origin} (with {n} approximations)"),
    };
    workload.check(origin)?;
    Ok(Resolved { workload, notes: notes.0 })
}

/// Reason why a document cannot be imported, with its place.
struct Refusal {
    place: String,
    message: String,
}

fn refuse<T>(place: impl Into<String>, message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { place: place.into(), message: message.into() })
}

/// Approximations made during the import, without duplicates.
#[derive(Default)]
struct Notes(Vec<String>);

impl Notes {
    fn add(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }
}

#[cfg(test)]
mod tests;
