//! Escaping and templates.

pub use hearth_base::escape::{html as escape, line as clean};

/// A sentence, escaped, with its `names` as code.
pub fn prose(sentence: &str) -> String {
    let parts: Vec<&str> = sentence.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return escape(sentence);
    }
    let part = |(index, part): (usize, &&str)| match index % 2 {
        0 => escape(part),
        _ => format!("<code>{}</code>", escape(part)),
    };
    parts.iter().enumerate().map(part).collect()
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
    fn json_cannot_close_its_script() {
        let text = json(&"</script><!--\u{2028}");
        assert_eq!(text, "\"\\u003c/script>\\u003c!--\\u2028\"");
    }

    #[test]
    fn names_in_a_sentence_are_code() {
        assert_eq!(prose("`a<b` and `c`."), "<code>a&lt;b</code> and <code>c</code>.");
        assert_eq!(prose("a ` alone"), "a ` alone");
    }

    #[test]
    fn content_is_never_a_slot() {
        let page = fill("<{{a}}|{{b}}>", |slot| format!("{slot}={{{{a}}}}"));
        assert_eq!(page, "<a={{a}}|b={{a}}>");
        assert_eq!(fill("no slot", |_| unreachable!()), "no slot");
    }
}
