//! Text in HTML and SVG.

/// Escapes untrusted text for HTML, XML and quoted attribute values.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in clean(text).chars() {
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

/// The text on one line; control characters become U+FFFD.
pub fn clean(text: &str) -> String {
    let visible = |c: char| match c {
        '\n' | '\t' => ' ',
        c if c.is_control() || reorders(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(visible).collect()
}

/// Characters that change the direction of the text around them.
fn reorders(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_all_that_html_knows() {
        assert_eq!(
            escape("</script><b a=\"1\" b='2'>&amp;"),
            "&lt;/script&gt;&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;amp;"
        );
        assert_eq!(escape("a\0b\u{1b}[31m\nc"), "a\u{fffd}b\u{fffd}[31m c");
        assert_eq!(escape("x\u{202e}y"), "x\u{fffd}y");
        assert_eq!(escape("cœur ⚙ 芯"), "cœur ⚙ 芯");
    }
}
