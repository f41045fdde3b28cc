//! Completion by the tokens before the cursor, so that it also works in a text with errors.

use crate::hover::head;
use crate::names::{self, Declaration, Kind, declarations};
use crate::workspace::Analysed;
use hearth_ipanema::library::{self, EVENTS, WORDS};
use hearth_ipanema::syntax::ast::{Owner, Policy};
use hearth_ipanema::syntax::lexer::lex;
use hearth_ipanema::syntax::token::{KEYWORDS, TokenKind};
use hearth_ipanema::{Span, builtin};
use lsp_types::{CompletionItem, CompletionItemKind as Shown, Documentation};

pub fn completions(analysed: &Analysed, offset: usize) -> Vec<CompletionItem> {
    let text = analysed.text(Analysed::ROOT).map_or("", |text| text.as_str());
    let before = text.get(..offset).unwrap_or_default();
    let mut tokens = lex(Analysed::ROOT, before).tokens;
    tokens.pop();
    // The word that is being written.
    tokens.pop_if(|last| {
        last.span.end as usize == offset && (last.kind == TokenKind::Ident || last.kind.is_keyword())
    });
    let mut back = tokens.iter().rev();
    match back.next().map(|token| token.kind) {
        Some(TokenKind::Dot) => {
            members(analysed, back.next().and_then(|object| type_of(analysed, object.span, offset)))
        }
        Some(TokenKind::On) => EVENTS
            .iter()
            .map(|event| item(event.usage.trim_start_matches("on "), Shown::EVENT, event.usage, event.doc))
            .collect(),
        Some(TokenKind::Extends) => {
            builtin::NAMES.iter().map(|name| item(name, Shown::CLASS, "policy", "")).collect()
        }
        _ => names(analysed, offset),
    }
}

fn item(label: &str, kind: Shown, detail: &str, doc: &str) -> CompletionItem {
    CompletionItem {
        label: label.to_owned(),
        kind: Some(kind),
        detail: Some(detail.to_owned()),
        documentation: Some(Documentation::String(doc.to_owned())).filter(|_| !doc.is_empty()),
        ..CompletionItem::default()
    }
}

/// The declarations of a document and its bases, the nearest first.
fn all(analysed: &Analysed) -> impl Iterator<Item = Declaration<'_>> {
    let chain = analysed.analysis.chain.iter();
    let all = chain.flat_map(|policy: &Policy| declarations(policy));
    all.filter(|declaration| !matches!(declaration.kind, Kind::Policy | Kind::Slot | Kind::Need))
}

/// The type of a local variable that is declared before the offset.
fn type_of(analysed: &Analysed, name: Span, offset: usize) -> Option<Owner> {
    let name = analysed.slice(name);
    let visible = |(_, local): &(Span, Span)| local.start < offset as u32 && analysed.slice(*local) == name;
    let (ty, _) = names::locals(analysed).filter(visible).last()?;
    match analysed.slice(ty).trim_end_matches('?') {
        "core" => Some(Owner::Core),
        "thread" => Some(Owner::Thread),
        _ => None,
    }
}

/// What may follow a dot. Without a known owner, the members of threads, cores and sets.
fn members(analysed: &Analysed, owner: Option<Owner>) -> Vec<CompletionItem> {
    let may_be = |of| owner.is_none_or(|owner| owner == of);
    let own = all(analysed).filter(|declaration| match declaration.kind {
        Kind::Attribute(of) => of != Owner::Global && may_be(of),
        Kind::Queue => may_be(Owner::Core),
        _ => false,
    });
    let mut items: Vec<CompletionItem> = own.map(|declaration| declared(analysed, &declaration)).collect();
    let words = WORDS.iter().filter(|word| match word.kind {
        library::Kind::CoreField(_) => may_be(Owner::Core),
        library::Kind::ThreadField(_) => may_be(Owner::Thread),
        library::Kind::SetMethod(_) => owner.is_none(),
        _ => false,
    });
    items.extend(words.map(|word| item(word.name, Shown::FIELD, word.usage, word.doc)));
    unique(items)
}

fn declared(analysed: &Analysed, declaration: &Declaration) -> CompletionItem {
    let kind = match declaration.kind {
        Kind::Function | Kind::Steal => Shown::FUNCTION,
        Kind::Attribute(_) => Shown::FIELD,
        Kind::Param => Shown::CONSTANT,
        _ => Shown::VARIABLE,
    };
    let doc = declaration.doc.map_or("", |doc| &doc.text);
    item(declaration.name, kind, head(analysed, declaration).trim(), doc)
}

/// What may begin an expression, a statement or a declaration.
fn names(analysed: &Analysed, offset: usize) -> Vec<CompletionItem> {
    let within = analysed.root().into_iter().flat_map(|root| &root.items).map(|item| item.span);
    let within = within.rev().find(|span| span.range().contains(&offset));
    let near = |(_, local): &(Span, Span)| {
        within.is_some_and(|item| item.start <= local.start) && (local.start as usize) < offset
    };
    let locals = names::locals(analysed).filter(near);
    let mut items: Vec<CompletionItem> = locals
        .map(|(ty, name)| item(analysed.slice(name), Shown::VARIABLE, analysed.slice(ty), ""))
        .collect();
    let top = all(analysed).filter(|declaration| {
        matches!(
            declaration.kind,
            Kind::Param | Kind::Set | Kind::Function | Kind::Steal | Kind::Attribute(Owner::Global)
        )
    });
    items.extend(top.map(|declaration| declared(analysed, &declaration)));
    let words = WORDS.iter().filter(|word| {
        !matches!(
            word.kind,
            library::Kind::CoreField(_) | library::Kind::ThreadField(_) | library::Kind::SetMethod(_)
        )
    });
    items.extend(words.map(|word| item(word.name, Shown::FUNCTION, word.usage, word.doc)));
    items.extend(KEYWORDS.iter().map(|word| item(word, Shown::KEYWORD, "", "")));
    unique(items)
}

/// The first item of each label: an override hides what it replaces.
fn unique(mut items: Vec<CompletionItem>) -> Vec<CompletionItem> {
    let mut seen = std::collections::BTreeSet::new();
    items.retain(|item| seen.insert(item.label.clone()));
    items
}
