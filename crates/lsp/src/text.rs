//! Texts with the positions of the protocol: lines, and UTF-16 code units within a line.

use lsp_types::{Position, Range, TextDocumentContentChangeEvent};

/// A text and where its lines begin.
#[derive(Clone, Debug)]
pub struct Text {
    text: String,
    /// Offsets of the first bytes of the lines.
    lines: Vec<usize>,
}

impl Text {
    pub fn new(text: String) -> Text {
        let bytes = text.as_bytes();
        // The protocol has three ends of lines: \n, \r\n and \r.
        let ends = (0..bytes.len()).filter(|&at| match bytes[at] {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        });
        let lines = [0].into_iter().chain(ends.map(|end| end + 1)).collect();
        Text { text, lines }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Position of a byte. Within a character it is the character's, behind the end of the text the end's.
    pub fn position(&self, offset: usize) -> Position {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.lines.partition_point(|start| *start <= offset) - 1;
        let before = &self.text[self.lines[line]..offset];
        Position { line: line as u32, character: before.encode_utf16().count() as u32 }
    }

    pub fn range(&self, span: std::ops::Range<usize>) -> Range {
        Range { start: self.position(span.start), end: self.position(span.end) }
    }

    /// Byte of a position. Behind the end of a line it is the line's end; behind the last line, the text's.
    pub fn offset(&self, position: Position) -> usize {
        let Some(&start) = self.lines.get(position.line as usize) else { return self.text.len() };
        let end = self.lines.get(position.line as usize + 1).copied().unwrap_or(self.text.len());
        let line = self.text[start..end].trim_end_matches(['\r', '\n']);
        let mut units = 0;
        for (at, c) in line.char_indices() {
            units += c.len_utf16();
            // In the middle of a surrogate pair, the position is that of the character.
            if units > position.character as usize {
                return start + at;
            }
        }
        start + line.len()
    }

    /// Applies a change of the client.
    pub fn change(&mut self, change: TextDocumentContentChangeEvent) {
        let Some(range) = change.range else {
            *self = Text::new(change.text);
            return;
        };
        let start = self.offset(range.start);
        let end = self.offset(range.end).max(start);
        let mut text = std::mem::take(&mut self.text);
        text.replace_range(start..end, &change.text);
        *self = Text::new(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[test]
    fn positions_count_utf16() {
        // 🔥 has two code units and four bytes, ä one and two.
        let text = Text::new("// 🔥ä x\nab".into());
        let x = text.as_str().find('x').unwrap();
        assert_eq!(x, 10);
        assert_eq!(text.position(x), at(0, 7));
        assert_eq!(text.offset(at(0, 7)), x);
        assert_eq!(text.offset(at(0, 4)), 3, "within the pair");
        assert_eq!(text.position(5), at(0, 3), "within the character");
        assert_eq!(text.position(x + 2), at(1, 0));
        assert_eq!(text.position(1000), at(1, 2));
    }

    #[test]
    fn positions_outside_are_moved_inside() {
        let text = Text::new("ab\r\ncd\re".into());
        assert_eq!(text.offset(at(0, 99)), 2, "before the end of the line");
        assert_eq!(text.offset(at(1, 0)), 4);
        assert_eq!(text.offset(at(2, 1)), 8);
        assert_eq!(text.offset(at(99, 0)), 8);
        assert_eq!(text.position(7), at(2, 0), "a carriage return ends a line");
    }

    #[test]
    fn changes_replace_ranges() {
        let mut text = Text::new("a🔥b\nc".into());
        let range = |start, end| Some(Range { start, end });
        let mut change = |range, new: &str| {
            text.change(TextDocumentContentChangeEvent { range, range_length: None, text: new.into() });
            text.as_str().to_owned()
        };
        assert_eq!(change(range(at(0, 1), at(0, 3)), "x"), "axb\nc");
        assert_eq!(change(range(at(0, 3), at(1, 0)), ""), "axbc");
        assert_eq!(change(range(at(9, 9), at(0, 0)), "!"), "axbc!", "the end is before the start");
        assert_eq!(change(None, "new"), "new");
    }
}
