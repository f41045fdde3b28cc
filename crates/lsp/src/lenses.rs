//! The lenses above a policy: what they say, and the jobs behind them.

use crate::diagnostics::SOURCE;
use crate::jobs::{Finding, Kind};
use crate::workspace::Analysed;
use lsp_types::{CodeLens, Command, Diagnostic, DiagnosticSeverity, Position, Range, Uri};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A job of a document, running or done.
struct State {
    /// Tells the job from earlier ones of the document.
    number: u64,
    /// Tells the job to stop.
    stop: Arc<AtomicBool>,
    title: String,
    finding: Option<Finding>,
    /// The text has changed since.
    stale: bool,
}

#[derive(Default)]
pub struct Lenses {
    states: BTreeMap<(String, Kind), State>,
    started: u64,
}

impl Kind {
    pub const ALL: [Kind; 2] = [Kind::Simulate, Kind::Prove];

    pub fn command(self) -> &'static str {
        match self {
            Kind::Simulate => "hearth.simulate",
            Kind::Prove => "hearth.prove",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Kind::Simulate => "simulate this",
            Kind::Prove => "prove this",
        }
    }

    fn running(self) -> &'static str {
        match self {
            Kind::Simulate => "simulating…",
            Kind::Prove => "proving…",
        }
    }
}

impl Lenses {
    /// Starts a job of a document and stops its predecessor. Returns its number, and what tells it to stop.
    pub fn start(&mut self, name: &str, kind: Kind) -> (u64, Arc<AtomicBool>) {
        self.started += 1;
        let (number, stop) = (self.started, Arc::<AtomicBool>::default());
        let title = kind.running().to_owned();
        let state = State { number, stop: Arc::clone(&stop), title, finding: None, stale: false };
        if let Some(old) = self.states.insert((name.to_owned(), kind), state) {
            old.stop.store(true, Ordering::Relaxed);
        }
        (number, stop)
    }

    fn job(&mut self, name: &str, kind: Kind, number: u64) -> Option<&mut State> {
        self.states.get_mut(&(name.to_owned(), kind)).filter(|state| state.number == number)
    }

    /// False if the job is no longer wanted.
    pub fn progress(&mut self, name: &str, kind: Kind, number: u64, title: String) -> bool {
        let Some(state) = self.job(name, kind, number) else { return false };
        state.title = title;
        true
    }

    /// False if the job is no longer wanted.
    pub fn done(&mut self, name: &str, kind: Kind, number: u64, finding: Finding) -> bool {
        let Some(state) = self.job(name, kind, number) else { return false };
        state.title = format!("{}: {}", kind.title(), finding.title);
        state.finding = Some(finding);
        true
    }

    /// Stops running jobs of a document whose text changes, and marks results as stale. True if a lens changes.
    pub fn changed(&mut self, name: &str) -> bool {
        let mut changed = false;
        for kind in Kind::ALL {
            let key = (name.to_owned(), kind);
            let Some(state) = self.states.get_mut(&key) else { continue };
            changed |= !state.stale;
            if state.finding.is_some() {
                state.stale = true;
            } else {
                state.stop.store(true, Ordering::Relaxed);
                self.states.remove(&key);
            }
        }
        changed
    }

    pub fn close(&mut self, name: &str) {
        self.changed(name);
        self.states.retain(|(of, _), _| of != name);
    }

    pub fn stop_all(&self) {
        self.states.values().for_each(|state| state.stop.store(true, Ordering::Relaxed));
    }

    /// The lenses of a policy; a feature has none.
    pub fn lenses(&self, name: &str, uri: &Uri, analysed: &Analysed) -> Vec<CodeLens> {
        let Some(root) = analysed.root().filter(|root| root.slot.is_none()) else { return Vec::new() };
        let Some(range) = analysed.range(root.name.span) else { return Vec::new() };
        let lens = |kind: Kind| {
            let title = match self.states.get(&(name.to_owned(), kind)) {
                Some(state) if state.stale => format!("{} (before the last change)", state.title),
                Some(state) => state.title.clone(),
                None => kind.title().to_owned(),
            };
            let arguments = Some(vec![uri.as_str().into()]);
            let command = Some(Command { title, command: kind.command().into(), arguments });
            CodeLens { range, command, data: None }
        };
        Kind::ALL.map(lens).into()
    }

    /// What the jobs found, at its lines, unless the text has changed since.
    pub fn remarks(&self, name: &str, analysed: &Analysed) -> Vec<Diagnostic> {
        let at = analysed.root().and_then(|root| analysed.range(root.name.span)).unwrap_or_default();
        let states = self.states.iter().filter(|((of, _), state)| of == name && !state.stale);
        let remarks = states.filter_map(|(_, state)| Some(&state.finding.as_ref()?.remarks)).flatten();
        let diagnostic = |remark: &crate::jobs::Remark| Diagnostic {
            range: remark.line.map_or(at, whole_line),
            severity: Some(DiagnosticSeverity::INFORMATION),
            source: Some(SOURCE.into()),
            message: remark.text.clone(),
            ..Diagnostic::default()
        };
        remarks.map(diagnostic).collect()
    }
}

fn whole_line(line: u32) -> Range {
    let start = Position { line: line.saturating_sub(1), character: 0 };
    // The client shortens it to the line's end.
    Range { start, end: Position { character: u32::from(u16::MAX), ..start } }
}
