//! Hover texts, and places of definitions.

use crate::names::{self, Declaration, Kind, What};
use crate::workspace::Analysed;
use hearth_ipanema::Span;
use hearth_ipanema::library::event_word;
use hearth_ipanema::syntax::ast::Owner;

/// Place and Markdown text of the name at an offset.
pub fn hover(analysed: &Analysed, offset: usize) -> Option<(Span, String)> {
    let (at, what) = names::at(analysed, offset)?;
    let text = match what {
        What::Word(word) => format!("{}\n\n{}", code(word.usage), word.doc),
        What::Declared(span) => match analysed.declaration(span) {
            Some(declaration) => declared(analysed, &declaration),
            None => code(&names::local(analysed, span)?),
        },
    };
    Some((at, text))
}

fn code(text: &str) -> String {
    format!("```ipanema\n{}\n```", text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn declared(analysed: &Analysed, declaration: &Declaration) -> String {
    let mut parts = vec![code(&head(analysed, declaration))];
    parts.extend(declaration.doc.map(|doc| doc.text.clone()));
    if let Kind::Handler(event) = declaration.kind {
        parts.extend(event_word(event).map(|word| format!("Event `{}`: {}", event.name(), word.doc)));
    }
    let mut place = String::new();
    if declaration.kind != Kind::Policy && declaration.span.source != Analysed::ROOT {
        place = format!("Declared in `{}`. ", policy(analysed, declaration.span));
    }
    if let Some(old) = analysed.replaced(declaration.span) {
        place += &format!("Replaces that of `{}`.", policy(analysed, old));
    }
    parts.push(place.trim_end().to_owned());
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

/// The declaration without its body.
pub fn head(analysed: &Analysed, declaration: &Declaration) -> String {
    let head = analysed.slice(declaration.head).trim_end();
    match declaration.kind {
        Kind::Attribute(owner) => {
            let owner = match owner {
                Owner::Global => "global",
                Owner::Thread => "thread",
                Owner::Core => "core",
            };
            format!("{owner} {{ {head} {}; }}", declaration.name)
        }
        _ => head.to_owned(),
    }
}

fn policy(analysed: &Analysed, span: Span) -> &str {
    analysed.policy(span).map_or("", |policy| &policy.name.name)
}

/// The place to which "go to definition" leads: from a declaration, to the one that it replaces.
pub fn definition(analysed: &Analysed, offset: usize) -> Option<Span> {
    match names::at(analysed, offset)? {
        (at, What::Declared(span)) if at == span => Some(analysed.replaced(span).unwrap_or(span)),
        (_, What::Declared(span)) => Some(span),
        (_, What::Word(_)) => None,
    }
}
