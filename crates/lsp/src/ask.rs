//! Answers for an editor that does not speak the protocol: the playground's. Offsets are in bytes.

use crate::workspace::Analysed;
use crate::{completion, hover};
use hearth_ipanema::Analysis;
use lsp_types::{CompletionItemKind, Documentation};
use std::ops::Range;

/// A word that may stand at a place.
pub struct Suggestion {
    pub label: String,
    /// What the word is, as CodeMirror names it.
    pub kind: &'static str,
    /// Its declaration.
    pub detail: String,
    pub doc: String,
}

/// What may stand where the word at the offset begins.
pub fn suggestions(analysis: Analysis, offset: usize) -> Vec<Suggestion> {
    let analysed = Analysed::from(analysis);
    let items = completion::completions(&analysed, offset).into_iter();
    items
        .map(|item| Suggestion {
            kind: item.kind.map_or("", kind),
            label: item.label,
            detail: item.detail.unwrap_or_default(),
            doc: match item.documentation {
                Some(Documentation::String(text)) => text,
                _ => String::new(),
            },
        })
        .collect()
}

/// Place and Markdown text of the name at the offset.
pub fn described(analysis: Analysis, offset: usize) -> Option<(Range<usize>, String)> {
    let (span, text) = hover::hover(&Analysed::from(analysis), offset)?;
    Some((span.range(), text))
}

fn kind(kind: CompletionItemKind) -> &'static str {
    match kind {
        CompletionItemKind::CLASS => "class",
        CompletionItemKind::CONSTANT => "constant",
        CompletionItemKind::EVENT => "interface",
        CompletionItemKind::FIELD => "property",
        CompletionItemKind::FUNCTION => "function",
        CompletionItemKind::KEYWORD => "keyword",
        _ => "variable",
    }
}
