//! Lines of C code, with wrapping.

use crate::ir::Type;
use hearth_base::escape::c_comment;

/// Maximum width of emitted lines, where possible.
const WIDTH: usize = 100;
const TAB: usize = 8;

/// Lines of text with their indentation.
#[derive(Default)]
pub struct Text {
    lines: Vec<(usize, String)>,
    pub indent: usize,
}

impl Text {
    pub fn at(indent: usize) -> Text {
        Text { lines: Vec::new(), indent }
    }

    /// An empty text at the same indentation.
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

    /// Adds `line` and indents the following lines.
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

    /// Appends lines, joining the first one to the current last line: `} else if ...`.
    pub fn join(&mut self, other: Text) {
        let mut lines = other.lines.into_iter();
        if let (Some((_, last)), Some((_, first))) = (self.lines.last_mut(), lines.next()) {
            last.push_str(&first);
        }
        self.lines.extend(lines);
    }

    /// Adds a comment with the source location and documentation.
    pub fn comment(&mut self, place: &str, doc: &str) {
        if doc.is_empty() {
            self.line(&format!("/* {} */", c_comment(place)));
            return;
        }
        self.line("/*");
        self.comment_lines(place);
        self.comment_lines(doc);
        self.line(" */");
    }

    /// Adds documentation inside an open comment.
    pub fn comment_lines(&mut self, doc: &str) {
        for line in doc.lines() {
            self.line(format!(" * {}", c_comment(line)).trim_end());
        }
    }

    pub fn finish(self) -> String {
        let mut text = String::new();
        for (indent, line) in self.lines {
            if line.is_empty() {
                text.push('\n');
                continue;
            }
            for (depth, part) in wrapped(&line, WIDTH.saturating_sub(TAB * indent)) {
                text.extend(std::iter::repeat_n('\t', indent + depth));
                text.push_str(part);
                text.push('\n');
            }
        }
        text
    }
}

/// Splits a line into parts of at most `width` columns, each with its additional tabs. It prefers
/// cuts outside of parentheses, after commas, and before operators of low precedence. Strings and
/// comments are never split.
fn wrapped(line: &str, width: usize) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let mut rest = line;
    let mut tabs = 0;
    // Open parentheses at the start of `rest`, and at the start of the first continuation.
    let (mut open, mut outside) = (0, None);
    while rest.chars().count() + TAB * tabs > width && !line.trim_start().starts_with(['*', '/', '#']) {
        let Some((depth, at)) = cut(rest, width.saturating_sub(TAB * tabs)) else { break };
        parts.push((tabs, &rest[..at]));
        rest = &rest[at + 1..];
        open += depth;
        tabs = 2 + usize::try_from(open - *outside.get_or_insert(open)).unwrap_or(0).min(4);
    }
    parts.push((tabs, rest));
    parts
}

/// Best blank to cut a line at, and the change in parenthesis depth up to it. If no blank is within
/// `room`, the first one after it.
fn cut(line: &str, room: usize) -> Option<(i32, usize)> {
    let mut quoted = false;
    let mut previous = ' ';
    let mut depth = 0;
    // Badness of the cut (depth, tightness), and its position.
    let mut best: Option<((i32, u8), usize)> = None;
    let length = line.chars().count();
    for (column, (at, c)) in line.char_indices().enumerate() {
        match c {
            '"' if previous != '\\' => quoted = !quoted,
            _ if quoted => {}
            '(' | '{' => depth += 1,
            ')' | '}' => depth -= 1,
            ' ' if at > 0 => {
                if column > room && best.is_some() {
                    break;
                }
                let next = line[at + 1..].split(' ').next().unwrap_or("");
                let before = line[..at].rsplit(' ').next().unwrap_or("");
                let fits = length - column <= room.saturating_sub(2 * TAB);
                if let Some(tightness) = tightness(previous, before, next)
                    && (tightness != ASSIGNMENT || fits || has_operator(&line[at + 1..]))
                    && best.is_none_or(|(worst, _)| (depth, tightness) <= worst)
                {
                    best = Some(((depth, tightness), at));
                }
            }
            _ => {}
        }
        previous = c;
    }
    best.map(|((depth, _), at)| (depth, at))
}

/// Cut after `=`. Useful only before one long expression with no better cut.
const ASSIGNMENT: u8 = 9;

/// How tightly the parts around a blank belong together; `None` if they must not be cut.
fn tightness(previous: char, before: &str, next: &str) -> Option<u8> {
    Some(match next {
        _ if previous == ',' => 0,
        _ if matches!(before, "=" | "+=" | "-=") => ASSIGNMENT,
        "?" | ":" => 1,
        "||" => 2,
        "&&" => 3,
        "==" | "!=" | "<" | "<=" | ">" | ">=" => 4,
        "|" => 5,
        "&" => 6,
        "+" | "-" => 7,
        "*" | "/" | "%" => 8,
        _ => return None,
    })
}

/// True if there is an operator outside of parentheses.
fn has_operator(line: &str) -> bool {
    let mut depth = 0;
    line.split(' ').any(|word| {
        let outside = depth == 0;
        depth += word.matches(['(', '{']).count() as i32 - word.matches([')', '}']).count() as i32;
        outside && matches!(tightness(' ', "", word), Some(1..))
    })
}

/// Identifiers in a line of C.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// A C number, with a unit macro where that is readable.
pub fn number(value: i64, ty: Type) -> String {
    if value == i64::MIN {
        return "(-9223372036854775807LL - 1)".to_owned();
    }
    if ty == Type::TIME && value != 0 {
        for (unit, name) in [(1_000_000_000, "SAAKM_S"), (1_000_000, "SAAKM_MS"), (1_000, "SAAKM_US")] {
            if value % unit == 0 {
                return format!("{} * {name}", value / unit);
            }
        }
    }
    // The product of two such numbers still fits into an int.
    if value.unsigned_abs() < 1 << 15 { value.to_string() } else { format!("{value}LL") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_units() {
        assert_eq!(number(24_000_000, Type::TIME), "24 * SAAKM_MS");
        assert_eq!(number(50_000, Type::TIME), "50 * SAAKM_US");
        assert_eq!(number(0, Type::TIME), "0");
        assert_eq!(number(1024, Type::INT), "1024");
        assert_eq!(number(2_000_000, Type::FREQUENCY), "2000000LL");
        assert_eq!(number(i64::MIN, Type::TIME), "(-9223372036854775807LL - 1)");
    }

    #[test]
    fn long_lines_are_cut_at_the_best_place() {
        let parts = wrapped("sum += f(aa, bb) + g(cccccc, dddddd);", 32);
        assert_eq!(parts, [(0, "sum += f(aa, bb)"), (2, "+ g(cccccc,"), (3, "dddddd);")]);
        let parts = wrapped("x = call(aaaaaaaaaaaa, bbbbbbbbbbbb, cccccccccccc);", 40);
        assert_eq!(parts, [(0, "x = call(aaaaaaaaaaaa, bbbbbbbbbbbb,"), (2, "cccccccccccc);")]);
        assert_eq!(
            wrapped("a_name_that_is_long = a_call(b, c);", 32),
            [(0, "a_name_that_is_long ="), (2, "a_call(b, c);")]
        );
        let parts = wrapped("if (a_test(b) && c_test(d + e) || f_test(g)) {", 32);
        assert_eq!(parts, [(0, "if (a_test(b) && c_test(d + e)"), (2, "|| f_test(g)) {")]);
        assert_eq!(wrapped("call(\"a, b, c, d\");", 8), [(0, "call(\"a, b, c, d\");")]);
        assert_eq!(
            wrapped("call(\"too long to fit\", a);", 8),
            [(0, "call(\"too long to fit\","), (2, "a);")]
        );
        assert_eq!(wrapped("short;", 80), [(0, "short;")]);
    }
}
