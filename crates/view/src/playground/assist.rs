//! What the editor asks while somebody types: completion, the meaning of a name, and the formatted text. The language server
//! gives the same answers.

use crate::playground::check::utf16;
use crate::playground::document::Document;
use crate::playground::simulate::refused;
use crate::server::Refusal;
use hearth_ipanema::{SourceId, syntax};
use hearth_lsp::ask;
use serde::Serialize;

#[derive(Serialize)]
pub struct Suggestion {
    label: String,
    kind: &'static str,
    detail: String,
    doc: String,
}

/// The meaning of a name. Offsets are in UTF-16 code units, as browsers count.
#[derive(Serialize)]
pub struct Meaning {
    from: usize,
    to: usize,
    /// Markdown.
    text: String,
}

pub fn complete(document: &Document, text: &str, at: usize) -> Vec<Suggestion> {
    let found = ask::suggestions(document.analyse(text), byte(text, at)).into_iter();
    found
        .map(|ask::Suggestion { label, kind, detail, doc }| Suggestion { label, kind, detail, doc })
        .collect()
}

pub fn meaning(document: &Document, text: &str, at: usize) -> Option<Meaning> {
    let (place, meaning) = ask::described(document.analyse(text), byte(text, at))?;
    let at = |byte: usize| utf16(text, byte as u32);
    Some(Meaning { from: at(place.start), to: at(place.end), text: meaning })
}

/// The text as `hearth fmt` writes it.
pub fn format(text: &str) -> Result<String, Refusal> {
    syntax::format(SourceId::default(), text).map_err(|errors| {
        let first = errors.first().map_or_else(String::new, |error| format!(": {}", error.message));
        refused(format!("the text has a syntax error{first}"), "mend it, then format")
    })
}

/// The byte of an offset in UTF-16 code units.
fn byte(text: &str, at: usize) -> usize {
    let mut units = 0;
    let beyond = |&(_, c): &(usize, char)| {
        units += c.len_utf16();
        units > at
    };
    text.char_indices().find(beyond).map_or(text.len(), |(byte, _)| byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const TEXT: &str = "policy mine extends cfs {\n    /* 🔥 */ param linger : time in 0ms..100ms = 1ms;\n    on block (thread t) { if (linger > 0ns) keep_warm(t.core, lin); super; }\n}\n";

    fn document() -> Document {
        Document::copy("cfs", Path::new(".")).expect("cfs")
    }

    fn after(word: &str) -> usize {
        utf16(TEXT, (TEXT.find(word).expect("the word") + word.len()) as u32)
    }

    fn labels(at: usize) -> Vec<String> {
        complete(&document(), TEXT, at).into_iter().map(|one| one.label).collect()
    }

    #[test]
    fn words_of_the_text_its_base_and_the_language_are_suggested() {
        let found = labels(after("t.core, lin"));
        for wanted in ["linger", "keep_warm", "if", "t"] {
            assert!(found.iter().any(|label| label == wanted), "{wanted} in {found:?}");
        }
        let members = labels(after("keep_warm(t."));
        assert!(members.iter().any(|label| label == "core"), "{members:?}");
        assert!(members.iter().any(|label| label == "vruntime"), "of the base: {members:?}");
        assert!(members.iter().all(|label| label != "if"), "{members:?}");
    }

    #[test]
    fn a_parameter_is_told_with_its_bounds() {
        let at = after("if (ling");
        let found = meaning(&document(), TEXT, at).expect("a meaning");
        assert_eq!((found.from, found.to), (after("if ("), after("if (linger")));
        assert!(found.text.contains("linger : time in 0ms..100ms = 1ms"), "{}", found.text);
        assert!(meaning(&document(), TEXT, after("policy mine extends cfs ")).is_none());
    }

    #[test]
    fn a_text_is_formatted_unless_it_has_syntax_errors() {
        let formatted = format("policy   mine extends cfs{ }").expect("a sound text");
        assert_eq!(format(&formatted).expect("a sound text"), formatted);
        assert!(formatted.starts_with("policy mine extends cfs {"), "{formatted}");
        assert!(format("policy mine extends {").is_err());
    }

    #[test]
    fn offsets_beyond_the_end_are_the_end() {
        assert_eq!([0, 1, 2, 3, 9].map(|at| byte("a🔥b", at)), [0, 1, 1, 5, 6]);
        assert!(complete(&document(), "", 99).len() > 10);
        assert!(meaning(&document(), "", 99).is_none());
    }
}
