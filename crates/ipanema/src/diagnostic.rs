//! Diagnostics of all passes, for terminals and as JSON.

use ariadne::{Color, Config, IndexType, Label as AriadneLabel, Report, ReportKind};
use hearth_base::escape::{line, terminal_in_place};
use serde::Serialize;

use crate::syntax::{Source, SourceId, Sources, Span};

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

    /// Renders the message, the labelled source lines and the help text for terminals.
    pub fn render(&self, sources: &Sources, colour: bool) -> String {
        let (kind, accent) = match self.severity {
            Severity::Error => (ReportKind::Error, Color::Red),
            Severity::Warning => (ReportKind::Warning, Color::Yellow),
        };
        let config = Config::default().with_color(colour).with_index_type(IndexType::Byte);
        let mut report = Report::build(kind, place(self.span, sources))
            .with_config(config)
            .with_code(self.code.id)
            .with_message(line(&self.message));
        if !self.labels.iter().any(|label| label.span == self.span) {
            // The renderer does not draw a label without a message.
            let label = AriadneLabel::new(place(self.span, sources)).with_message(self.code.title);
            report = report.with_label(label.with_color(accent));
        }
        for label in &self.labels {
            let color = if label.span == self.span { accent } else { Color::Blue };
            report = report.with_label(
                AriadneLabel::new(place(label.span, sources))
                    .with_message(line(&label.message))
                    .with_color(color),
            );
        }
        if let Some(help) = &self.help {
            report = report.with_help(line(help));
        }
        let mut text = Vec::new();
        // Writing to a Vec cannot fail.
        let _ = report.finish().write(Cache::new(sources), &mut text);
        let text = String::from_utf8_lossy(&text);
        // The renderer pads lines with trailing spaces.
        text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
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

/// Renders all diagnostics for terminals.
pub fn render_all(diagnostics: &[Diagnostic], sources: &Sources, colour: bool) -> String {
    diagnostics.iter().map(|diagnostic| diagnostic.render(sources, colour)).collect()
}

type Place = (SourceId, std::ops::Range<usize>);

/// Converts a span for the renderer and clamps it to its source.
fn place(span: Span, sources: &Sources) -> Place {
    let length = sources.get(span.source).map_or(0, |source| source.text.len());
    let start = (span.start as usize).min(length);
    let end = (span.end as usize).clamp(start, length);
    (span.source, start..end)
}

fn place_json(span: Span, sources: &Sources) -> serde_json::Value {
    let (name, text) = match sources.get(span.source) {
        Some(Source { name, text }) => (name.as_str(), text.as_str()),
        None => ("", ""),
    };
    let (line, column) = line_and_column(text, span.start);
    let (end_line, end_column) = line_and_column(text, span.end);
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

/// Line and column (in characters) of a byte offset, both from 1.
pub fn line_and_column(text: &str, offset: u32) -> (usize, usize) {
    let offset = (offset as usize).min(text.len());
    let before = String::from_utf8_lossy(&text.as_bytes()[..offset]);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    (line, column)
}

/// Adapts the sources to the renderer's cache.
struct Cache<'a> {
    sources: &'a Sources,
    fetched: std::collections::HashMap<SourceId, ariadne::Source<String>>,
}

impl<'a> Cache<'a> {
    fn new(sources: &'a Sources) -> Self {
        Cache { sources, fetched: Default::default() }
    }
}

impl<'a> ariadne::Cache<SourceId> for Cache<'a> {
    type Storage = String;

    fn fetch(&mut self, id: &SourceId) -> Result<&ariadne::Source<String>, impl std::fmt::Debug> {
        let text = self.sources.get(*id).map_or("", |source| source.text.as_str());
        let source = self.fetched.entry(*id).or_insert_with(|| terminal_in_place(text).into());
        Ok::<_, std::convert::Infallible>(source)
    }

    fn display<'b>(&self, id: &'b SourceId) -> Option<impl std::fmt::Display + 'b> {
        Some(self.sources.get(*id).map_or_else(String::new, |source| line(&source.name)))
    }
}
