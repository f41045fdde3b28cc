//! Diagnostics of all passes, for terminals and as JSON.

mod excerpt;
mod render;

pub use render::render_all;

use crate::syntax::{Sources, Span};
use serde::Serialize;

/// Kind of a diagnostic, as listed in the language reference.
///
/// Each pass has a range: E01xx characters and literals, E02xx syntax, E03xx names, E04xx types,
/// E05xx transitions, E06xx bounds and termination. Warnings have the same ranges with W.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code {
    pub id: &'static str,
    /// Short description shared by all diagnostics with this code.
    pub title: &'static str,
}

impl Code {
    pub const fn new(id: &'static str, title: &'static str) -> Code {
        Code { id, title }
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Error,
    Warning,
}

/// A source location with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    pub span: Span,
    pub message: String,
}

/// ```
/// use hearth_ipanema::diagnostic::{Code, Diagnostic};
/// # use hearth_ipanema::Span;
/// # let (here, there) = (Span::default(), Span::default());
/// const DUPLICATE: Code = Code::new("E0301", "declared twice");
/// Diagnostic::error(DUPLICATE, here, "`x` is declared twice")
///     .at("again here")
///     .label(there, "first declared here")
///     .help("give one of them another name");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    /// Self-contained message of one line, without a full stop.
    pub message: String,
    /// Primary source location.
    pub span: Span,
    /// Messages for `span` and other locations.
    pub labels: Vec<Label>,
    /// How to fix the problem.
    pub help: Option<String>,
}

impl Diagnostic {
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, span, message.into())
    }

    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, span, message.into())
    }

    fn new(severity: Severity, code: Code, span: Span, message: String) -> Self {
        Diagnostic { code, severity, message, span, labels: Vec::new(), help: None }
    }

    /// Adds a label at the primary location.
    pub fn at(self, message: impl Into<String>) -> Self {
        let span = self.span;
        self.label(span, message)
    }

    /// Adds a label at another location.
    pub fn label(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { span, message: message.into() });
        self
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// JSON object for tools, with locations as lines and columns (from 1) and as byte offsets.
    pub fn to_json(&self, sources: &Sources) -> serde_json::Value {
        let labels: Vec<_> = self
            .labels
            .iter()
            .map(|label| {
                serde_json::json!({
                    "message": label.message,
                    "place": place_json(label.span, sources),
                })
            })
            .collect();
        serde_json::json!({
            "code": self.code.id,
            "severity": self.severity,
            "message": self.message,
            "place": place_json(self.span, sources),
            "labels": labels,
            "help": self.help,
        })
    }
}

fn place_json(span: Span, sources: &Sources) -> serde_json::Value {
    let name = sources.get(span.source).map_or("", |source| source.name.as_str());
    let (line, column) = sources.line_and_column(span.source, span.start);
    let (end_line, end_column) = sources.line_and_column(span.source, span.end);
    serde_json::json!({
        "file": name,
        "start": span.start,
        "end": span.end,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
    })
}
