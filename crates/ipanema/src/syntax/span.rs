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
    positions: Vec<Positions>,
}

impl Sources {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> SourceId {
        let source = Source { name: name.into(), text: text.into() };
        self.positions.push(Positions::new(&source.text));
        self.list.push(source);
        SourceId(self.list.len() as u32 - 1)
    }

    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.list.get(id.0 as usize)
    }

    /// Line and column (in characters) of a byte offset, both from 1; `(1, 1)` if there is no such source.
    pub fn line_and_column(&self, id: SourceId, offset: u32) -> (usize, usize) {
        let at = id.0 as usize;
        match (self.list.get(at), self.positions.get(at)) {
            (Some(source), Some(positions)) => positions.line_and_column(&source.text, offset as usize),
            _ => (1, 1),
        }
    }

    /// The offset in UTF-16 code units of a byte; 0 if there is no such source.
    pub fn utf16(&self, id: SourceId, offset: u32) -> usize {
        let at = id.0 as usize;
        let (Some(source), Some(positions)) = (self.list.get(at), self.positions.get(at)) else { return 0 };
        let offset = boundary(&source.text, offset as usize);
        let before = positions.before(&source.text, offset);
        before.characters + before.pairs
    }

    /// Text of a span; empty if the span is invalid.
    pub fn text(&self, span: Span) -> &str {
        self.get(span.source).map_or("", |source| span.text(&source.text))
    }
}

/// Bytes between two counts of [`Positions`]. A lookup reads at most twice as many.
const BLOCK: usize = 256;

/// Finds the line and the column of an offset without reading the text from its start.
#[derive(Clone, Debug)]
struct Positions {
    /// Offsets of the first bytes of the lines.
    lines: Vec<usize>,
    /// What is before each block.
    blocks: Vec<Characters>,
}

/// The last offset up to `at` that is not within a character.
pub fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Number of characters, and of those that UTF-16 writes as a surrogate pair.
#[derive(Clone, Copy, Debug, Default)]
struct Characters {
    characters: usize,
    pairs: usize,
}

impl Characters {
    /// Adds the characters that begin in these bytes of UTF-8.
    fn and(mut self, bytes: &[u8]) -> Characters {
        for byte in bytes {
            self.characters += usize::from(byte & 0xc0 != 0x80);
            self.pairs += usize::from(*byte >= 0xf0);
        }
        self
    }
}

impl Positions {
    fn new(text: &str) -> Positions {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let blocks = text.as_bytes().chunks(BLOCK).scan(Characters::default(), |before, block| {
            *before = before.and(block);
            Some(*before)
        });
        Positions {
            lines: [0].into_iter().chain(ends.map(|(at, _)| at + 1)).collect(),
            blocks: [Characters::default()].into_iter().chain(blocks).collect(),
        }
    }

    fn line_and_column(&self, text: &str, offset: usize) -> (usize, usize) {
        let offset = offset.min(text.len());
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = self.lines[line - 1];
        let column = self.before(text, offset).characters - self.before(text, start).characters + 1;
        (line, column)
    }

    fn before(&self, text: &str, offset: usize) -> Characters {
        let block = offset / BLOCK;
        self.blocks[block].and(&text.as_bytes()[block * BLOCK..offset])
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn positions_are_those_of_a_search_from_the_start(text in "[a\n🔥é]{0,1200}", offset in 0..4000usize) {
            let mut sources = Sources::new();
            let id = sources.add("x", text.as_str());
            let before = &text.as_bytes()[..offset.min(text.len())];
            let before = String::from_utf8_lossy(before);
            let last = before.rsplit('\n').next().unwrap();
            let naive = (before.matches('\n').count() + 1, last.chars().count() + 1);
            prop_assert_eq!(sources.line_and_column(id, offset as u32), naive);
            let whole = &text[..boundary(&text, offset)];
            prop_assert_eq!(sources.utf16(id, offset as u32), whole.encode_utf16().count());
        }
    }
}
