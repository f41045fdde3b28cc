//! Source texts, and places in them.

use serde::Serialize;

/// Which of the [`Sources`] a place is in. A policy and its bases are one source each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct SourceId(pub u32);

/// A source text and the name that diagnostics give it.
#[derive(Clone, Debug)]
pub struct Source {
    pub name: String,
    pub text: String,
}

/// All texts that the compiler has read in this run.
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

    /// The text at a place; empty if there is no such place.
    pub fn text(&self, span: Span) -> &str {
        self.get(span.source).map_or("", |source| span.text(&source.text))
    }
}

/// A range of bytes of one source text.
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

    /// The smallest span that holds both, which are of the same source.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end), ..self }
    }

    /// The empty span just behind this one: where a forgotten `;` belongs.
    pub fn after(self) -> Span {
        Span { start: self.end, ..self }
    }

    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The bytes at this place of its source's text; empty if there is no such place.
    pub fn text(self, source: &str) -> &str {
        source.get(self.range()).unwrap_or("")
    }
}
