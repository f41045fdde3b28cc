//! Text that crosses into another language: one function for each.
//!
//! All begin from one list of characters that are let through (`is_plain`). What is not on it becomes U+FFFD, so that
//! characters nobody thought of (controls, changes of direction, invisible ones) reach no compiler, page or terminal.

/// What stands for a character that is not let through.
const REPLACED: char = '\u{fffd}';

/// Letters, digits, signs and symbols that are visible and change nothing around them.
fn is_plain(c: char) -> bool {
    match c {
        ' '..='~' => true,
        // A soft hyphen is invisible.
        '\u{ad}' => false,
        // Signs of Latin-1; accents; marks of Hebrew, Arabic, Indic, Thai and Tibetan letters; punctuation without spaces, marks of direction and joiners; currencies, arrows,
        // mathematics, boxes, symbols; punctuation of East Asia; pictographs.
        '\u{a1}'..='\u{bf}'
        | '\u{d7}'
        | '\u{f7}'
        | '\u{300}'..='\u{36f}'
        | '\u{591}'..='\u{5c7}'
        | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}'
        | '\u{900}'..='\u{fff}'
        | '\u{2010}'..='\u{2027}'
        | '\u{2030}'..='\u{205e}'
        | '\u{20a0}'..='\u{20bf}'
        | '\u{2100}'..='\u{2bff}'
        | '\u{3001}'..='\u{303f}'
        | '\u{1f300}'..='\u{1faff}' => true,
        c => c.is_alphanumeric(),
    }
}

/// One line: line ends and tabs become blanks.
pub fn line(text: &str) -> String {
    let visible = |c| match c {
        '\n' | '\t' => ' ',
        c if is_plain(c) => c,
        _ => REPLACED,
    };
    text.chars().map(visible).collect()
}

/// Text for a terminal: lines and tabs stay.
pub fn terminal(text: &str) -> String {
    let visible = |c| if c == '\n' || c == '\t' || is_plain(c) { c } else { REPLACED };
    text.chars().map(visible).collect()
}

/// Text for a terminal, with each byte at its place: what is not let through becomes question marks.
pub fn terminal_in_place(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' | '\r' => safe.push(c),
            c if is_plain(c) => safe.push(c),
            c => safe.extend(std::iter::repeat_n('?', c.len_utf8())),
        }
    }
    safe
}

/// HTML, XML and quoted values of attributes.
pub fn html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in line(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// A line within a comment of C. It holds no end and no start of a comment, no line splice (`\`), and no trigraph.
pub fn c_comment(text: &str) -> String {
    apart(&line(text).replace('\\', "/"), |before, c| {
        matches!((before, c), ('*', '/') | ('/', '*') | ('?', '?'))
    })
}

/// A comment of WhyML without its delimiters. WhyML has strings in comments, so that quotation marks become apostrophes.
pub fn whyml_comment(text: &str) -> String {
    apart(&line(text).replace('"', "'"), |before, c| matches!((before, c), ('(', '*') | ('*', ')')))
}

/// Puts a blank between characters that mean something together.
fn apart(text: &str, together: impl Fn(char, char) -> bool) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        if together(before, c) {
            safe.push(' ');
        }
        safe.push(c);
        before = c;
    }
    safe
}

/// A string literal of C, with its quotation marks, on one line.
pub fn c_string(text: &str) -> String {
    let mut literal = String::from("\"");
    for c in line(text).chars() {
        // A question mark may begin a trigraph.
        if matches!(c, '"' | '\\' | '?') {
            literal.push('\\');
        }
        literal.push(c);
    }
    literal + "\""
}

/// The value of a label in Prometheus' text format, with its quotation marks, on one line.
pub fn prometheus_label(text: &str) -> String {
    let mut value = String::from("\"");
    for c in line(text).chars() {
        if matches!(c, '"' | '\\') {
            value.push('\\');
        }
        value.push(c);
    }
    value + "\""
}

/// The inside of a string of SQL that DuckDB takes as a pattern of file names.
pub fn sql_path(path: &str) -> String {
    let mut quoted = String::new();
    for c in path.chars() {
        match c {
            '*' | '?' | '[' => quoted.extend(['[', c, ']']),
            '\'' => quoted.push_str("''"),
            c => quoted.push(c),
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_tests::hostile;
    use proptest::prelude::*;

    /// The length of the comment at the start of the text, as the C standard has it: trigraphs, spliced lines, then comments.
    fn comment_of_c(text: &str) -> Option<usize> {
        let spliced = text.replace("??/", "\\").replace("\\\n", "");
        assert!(spliced.starts_with("/*"));
        Some(spliced[2..].find("*/")? + 4)
    }

    /// The length of the comment at the start of the text, as Why3's lexer has it.
    fn comment_of_whyml(text: &str) -> Option<usize> {
        let (mut depth, mut at) = (0, 0);
        while at < text.len() {
            let rest = &text[at..];
            match rest {
                _ if rest.starts_with("(*") => (depth, at) = (depth + 1, at + 2),
                _ if rest.starts_with("*)") => (depth, at) = (depth - 1, at + 2),
                _ if rest.starts_with('"') => return None,
                _ => at += rest.chars().next()?.len_utf8(),
            }
            if depth == 0 {
                return Some(at);
            }
        }
        None
    }

    /// The quotation marks behind the first that no backslash escapes.
    fn ends(literal: &str) -> Vec<usize> {
        let mut escaped = false;
        let ends = literal.char_indices().skip(1).filter(|(_, c)| {
            let ends = !escaped && *c == '"';
            escaped = !escaped && *c == '\\';
            ends
        });
        ends.map(|(at, _)| at).collect()
    }

    proptest! {
        #[test]
        fn a_comment_of_c_ends_where_we_end_it(text in hostile()) {
            let comment = format!("/* {} */", c_comment(&text));
            prop_assert_eq!(comment_of_c(&comment), Some(comment.len()), "{}", comment);
            prop_assert!(!comment[2..].contains("/*") && !comment.contains('\n'));
        }

        #[test]
        fn a_comment_of_whyml_ends_where_we_end_it(text in hostile()) {
            let comment = format!("(* {} *)", whyml_comment(&text));
            prop_assert_eq!(comment_of_whyml(&comment), Some(comment.len()), "{}", comment);
        }

        #[test]
        fn a_string_of_c_ends_where_we_end_it(text in hostile()) {
            let literal = c_string(&text);
            prop_assert_eq!(ends(&literal), [literal.len() - 1]);
            prop_assert!(!literal.contains("??") && !literal.contains('\n'));
        }

        #[test]
        fn a_label_of_prometheus_ends_where_we_end_it(text in hostile()) {
            let value = prometheus_label(&text);
            prop_assert_eq!(ends(&value), [value.len() - 1]);
            prop_assert!(!value.contains('\n'));
        }

        #[test]
        fn html_has_no_tag_and_no_entity_of_the_text(text in hostile()) {
            let html = html(&text);
            prop_assert!(!html.contains(['<', '>', '"', '\'']));
            let entities = ["amp;", "lt;", "gt;", "quot;", "#39;"];
            let known = |rest: &str| entities.iter().any(|entity| rest.starts_with(entity));
            prop_assert!(html.split('&').skip(1).all(known));
        }

        #[test]
        fn a_terminal_gets_lines_only(text in any::<String>(), hostile in hostile()) {
            let moves = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
            let hidden = |c| {
                let ranges = ['\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202f}', '\u{2060}'..='\u{206f}'];
                ranges.iter().any(|range| range.contains(&c)) || c == '\u{feff}'
            };
            let text = text + &hostile;
            prop_assert!(!terminal(&text).contains(moves) && !terminal(&text).contains(hidden));
            prop_assert_eq!(terminal_in_place(&text).len(), text.len());
        }

        #[test]
        fn a_string_of_sql_ends_where_we_end_it(text in hostile()) {
            prop_assert!(sql_path(&text).split("''").all(|part| !part.contains('\'')));
        }
    }

    #[test]
    fn plain_text_stays() {
        for text in ["cœur ⚙ 芯 4 × 2 – “a” → b", "i = (a + b) * c / 2; // \"x\" & 'y' <z>"] {
            assert_eq!((line(text), terminal(text)), (text.to_owned(), text.to_owned()));
        }
        assert_eq!(c_comment("a * b / c"), "a * b / c");
    }

    #[test]
    fn each_language_has_its_escapes() {
        assert_eq!(
            html("</script><b a=\"1\" b='2'>&amp;"),
            "&lt;/script&gt;&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;amp;"
        );
        assert_eq!(html("a\0b\u{1b}[31m\nc"), "a\u{fffd}b\u{fffd}[31m c");
        assert_eq!(line("x\u{202e}y"), "x\u{fffd}y");
        assert_eq!(c_comment("a */ b /* c\\ *\\"), "a * / b / * c/ * /");
        assert_eq!(whyml_comment("a *) \"b\" (*)"), "a * ) 'b' ( * )");
        assert_eq!(c_string("a \"b\" \\ c\nd??/"), "\"a \\\"b\\\" \\\\ c d\\?\\?/\"");
        assert_eq!(prometheus_label("a\"b\\c\nd{}"), "\"a\\\"b\\\\c d{}\"");
        assert_eq!(sql_path("/a b/it's; DROP"), "/a b/it''s; DROP");
        assert_eq!(sql_path("/a*[1]?"), "/a[*][[]1][?]");
    }
}
