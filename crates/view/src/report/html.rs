//! Escaping and templates.

/// Escapes untrusted text for HTML text and quoted attribute values.
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

/// JSON for the inside of a `script` element.
pub fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value)
        .expect("plain data")
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// Fills the `{{slots}}` of a template in one pass: slots in the content stay text.
pub fn fill(template: &str, mut content: impl FnMut(&str) -> String) -> String {
    let mut page = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (slot, after) = after.split_once("}}").expect("an open slot in the template");
        page.push_str(before);
        page.push_str(&content(slot));
        rest = after;
    }
    page + rest
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

    #[test]
    fn json_cannot_close_its_script() {
        let text = json(&"</script><!--\u{2028}");
        assert_eq!(text, "\"\\u003c/script>\\u003c!--\\u2028\"");
    }

    #[test]
    fn content_is_never_a_slot() {
        let page = fill("<{{a}}|{{b}}>", |slot| format!("{slot}={{{{a}}}}"));
        assert_eq!(page, "<a={{a}}|b={{a}}>");
        assert_eq!(fill("no slot", |_| unreachable!()), "no slot");
    }
}
