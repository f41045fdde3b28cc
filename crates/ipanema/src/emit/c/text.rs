//! Lines of C.

/// Lines of C are at most so wide, where that can be.
const WIDTH: usize = 100;
const TAB: usize = 8;

/// Lines with their indentation.
#[derive(Default)]
pub struct Text {
    lines: Vec<(usize, String)>,
    pub indent: usize,
}

impl Text {
    pub fn at(indent: usize) -> Text {
        Text { lines: Vec::new(), indent }
    }

    /// An empty text whose lines will stand at the same depth.
    pub fn beside(&self) -> Text {
        Text { lines: Vec::new(), indent: self.indent }
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub fn line(&mut self, line: &str) {
        self.lines.push((self.indent, line.to_owned()));
    }

    pub fn blank(&mut self) {
        self.lines.push((0, String::new()));
    }

    /// `line`, and what follows one step deeper.
    pub fn open(&mut self, line: &str) {
        self.line(line);
        self.indent += 1;
    }

    pub fn close(&mut self, line: &str) {
        self.indent = self.indent.saturating_sub(1);
        self.line(line);
    }

    pub fn append(&mut self, other: Text) {
        self.lines.extend(other.lines);
    }

    pub fn contains(&self, word: &str) -> bool {
        self.lines.iter().any(|(_, line)| words(line).any(|w| w == word))
    }

    /// Appends lines, the first of them behind the last that is there: `} else if ...`.
    pub fn join(&mut self, other: Text) {
        let mut lines = other.lines.into_iter();
        if let (Some((_, last)), Some((_, first))) = (self.lines.last_mut(), lines.next()) {
            last.push_str(&first);
        }
        self.lines.extend(lines);
    }

    /// Where something was written, and its documentation.
    pub fn comment(&mut self, place: &str, doc: &str) {
        if doc.is_empty() {
            self.line(&format!("/* {place} */"));
            return;
        }
        self.line("/*");
        self.line(&format!(" * {place}"));
        self.comment_lines(doc);
        self.line(" */");
    }

    /// Documentation inside of a comment that is already open.
    pub fn comment_lines(&mut self, doc: &str) {
        for line in doc.lines() {
            let line = uncommented(line);
            self.line(format!(" * {line}").trim_end());
        }
    }

    pub fn finish(self) -> String {
        let mut text = String::new();
        for (indent, line) in self.lines {
            if line.is_empty() {
                text.push('\n');
                continue;
            }
            for (i, part) in wrapped(&line, WIDTH.saturating_sub(TAB * indent)).iter().enumerate() {
                let indent = if i == 0 { indent } else { indent + 2 };
                text.extend(std::iter::repeat_n('\t', indent));
                text.push_str(part);
                text.push('\n');
            }
        }
        text
    }
}

/// A line in parts of some width, cut at blanks behind commas and before operators, but not inside
/// of strings or comments.
fn wrapped(line: &str, width: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = line;
    let mut room = width;
    while rest.chars().count() > room && !line.trim_start().starts_with(['*', '/', '#']) {
        let mut quoted = false;
        let mut previous = ' ';
        let mut depth = 0i32;
        // The last cut that fits; among those, one that is less deep in parentheses.
        let mut best: Option<(i32, usize)> = None;
        for (column, (at, c)) in rest.char_indices().enumerate() {
            match c {
                '"' if previous != '\\' => quoted = !quoted,
                _ if quoted => {}
                '(' | '{' => depth += 1,
                ')' | '}' => depth -= 1,
                ' ' if column <= room && at > 0 => {
                    let next = rest[at + 1..].split(' ').next().unwrap_or("");
                    let operator = matches!(next, "&&" | "||" | "&" | "|" | "?" | ":" | "+" | "-");
                    if (previous == ',' || operator) && best.is_none_or(|(d, _)| depth <= d) {
                        best = Some((depth, at));
                    }
                }
                _ => {}
            }
            previous = c;
        }
        let Some((_, at)) = best else { break };
        parts.push(&rest[..at]);
        rest = &rest[at + 1..];
        room = width.saturating_sub(2 * TAB);
    }
    parts.push(rest);
    parts
}

/// Text that does not end a comment, nor seem to begin one.
pub fn uncommented(text: &str) -> String {
    text.replace("*/", "* /").replace("/*", "/ *").replace('\\', "/")
}

/// A C string literal.
pub fn quoted(text: &str) -> String {
    let mut literal = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push(' '),
            // No trigraphs.
            '?' => literal.push_str("\\?"),
            c if c.is_control() => literal.push(' '),
            c => literal.push(c),
        }
    }
    literal + "\""
}

/// The identifiers in a line of C.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_cannot_leave_its_comment() {
        let mut text = Text::default();
        text.comment("x.ipa:1", "a */ b /* c\\");
        let text = text.finish();
        assert_eq!(text.matches("*/").count(), 1);
        assert_eq!(text.matches("/*").count(), 1);
    }

    #[test]
    fn long_lines_are_cut_where_they_are_least_deep() {
        assert_eq!(wrapped("x = f(a, b) + g(c, d);", 18), ["x = f(a, b)", "+ g(c, d);"]);
        assert_eq!(wrapped("call(\"a, b, c, d\");", 8), ["call(\"a, b, c, d\");"]);
        assert_eq!(wrapped("short;", 80), ["short;"]);
    }

    #[test]
    fn strings_are_quoted() {
        assert_eq!(quoted("a \"b\" \\ c\nd??/"), "\"a \\\"b\\\" \\\\ c d\\?\\?/\"");
    }
}
