//! Source texts and locations in them.

use serde::Serialize;

/// Identifies one of the [`Sources`]. A policy and each of its bases are separate sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct SourceId(pub u32);

/// A source text and its name in diagnostics.
#[derive(Clone, Debug)]
pub struct Source {
    pub name: String,
    pub text: String,
}

/// All texts read by the compiler in one run.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    list: Vec<Source>,
}

impl Sources {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> SourceId {
        self.list.push(Source { name: name.into(), text: text.into() });
        SourceId(self.list.len() as u32 - 1)
    }

    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.list.get(id.0 as usize)
    }

    /// Text of a span; empty if the span is invalid.
    pub fn text(&self, span: Span) -> &str {
        self.get(span.source).map_or("", |source| span.text(&source.text))
    }
}

/// Byte range of a source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Span {
    pub source: SourceId,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset of the byte after the last one.
    pub end: u32,
}

impl Span {
    pub fn new(source: SourceId, start: u32, end: u32) -> Self {
        Span { source, start, end }
    }

    /// Smallest span that contains both, which must be in the same source.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end), ..self }
    }

    /// The empty span directly after this one: the place of a missing `;`.
    pub fn after(self) -> Span {
        Span { start: self.end, ..self }
    }

    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Text of the span in `source`; empty if the span is invalid.
    pub fn text(self, source: &str) -> &str {
        source.get(self.range()).unwrap_or("")
    }
}
