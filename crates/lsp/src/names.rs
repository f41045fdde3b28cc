//! Declarations, and the name at a place.

use crate::workspace::Analysed;
use hearth_ipanema::library::Word;
use hearth_ipanema::syntax::ast::{Doc, Event, Ident, Item, ItemKind, Need, Owner, Policy};
use hearth_ipanema::syntax::lexer::lex;
use hearth_ipanema::syntax::token::{Token, TokenKind};
use hearth_ipanema::{Meaning, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Policy,
    Param,
    Set,
    Queue,
    Invariant,
    Function,
    Handler(Event),
    Steal,
    Attribute(Owner),
    Slot,
    /// What a slot needs of its feature.
    Need,
}

/// A declared name. Local variables have none: see [`local`].
#[derive(Clone, Copy, Debug)]
pub struct Declaration<'a> {
    pub kind: Kind,
    pub name: &'a str,
    /// Where the name is written.
    pub span: Span,
    pub doc: Option<&'a Doc>,
    /// The declaration without its body.
    pub head: Span,
    pub whole: Span,
}

/// The policy, then its items, also those in slots.
pub fn declarations(policy: &Policy) -> Vec<Declaration<'_>> {
    let last = policy.with.last().or(policy.base.as_ref()).or(policy.slot.as_ref()).unwrap_or(&policy.name);
    let head = policy.span.to(last.span);
    let name = &policy.name;
    let mut found = vec![Declaration {
        kind: Kind::Policy,
        name: &name.name,
        span: name.span,
        doc: policy.doc.as_ref(),
        head,
        whole: policy.span,
    }];
    add(&policy.items, &mut found);
    found
}

fn add<'a>(items: &'a [Item], found: &mut Vec<Declaration<'a>>) {
    for item in items {
        let until = |body: Span| Span { end: body.start, ..item.span };
        let of = |kind, name: &'a Ident, head| Declaration {
            kind,
            name: &name.name,
            span: name.span,
            doc: item.doc.as_ref(),
            head,
            whole: item.span,
        };
        let handler = |kind, event: Event, span, head| Declaration {
            kind,
            name: event.name(),
            span,
            doc: item.doc.as_ref(),
            head,
            whole: item.span,
        };
        found.push(match &item.kind {
            ItemKind::Param(param) => of(Kind::Param, &param.name, item.span),
            ItemKind::Set(set) => of(Kind::Set, &set.name, item.span),
            ItemKind::Queue(queue) => of(Kind::Queue, &queue.name, item.span),
            ItemKind::Invariant(invariant) => of(Kind::Invariant, &invariant.name, item.span),
            ItemKind::Function(f) => of(Kind::Function, &f.name, until(f.body.span)),
            ItemKind::Steal(steal) => of(Kind::Steal, &steal.name, until(steal.body_span)),
            ItemKind::Handler(h) => {
                handler(Kind::Handler(h.event), h.event, h.event_span, until(h.body.span))
            }
            ItemKind::Need(Need::Handler { event, event_span, .. }) => {
                handler(Kind::Need, *event, *event_span, item.span)
            }
            ItemKind::Need(Need::Queue(name) | Need::Function { name, .. }) => {
                of(Kind::Need, name, item.span)
            }
            ItemKind::Slot(slot) => {
                found.push(of(Kind::Slot, &slot.name, until(slot.body_span)));
                add(&slot.items, found);
                continue;
            }
            ItemKind::Attributes(attributes) => {
                let names =
                    attributes.fields.iter().flat_map(|field| field.names.iter().map(move |n| (field, n)));
                found.extend(names.map(|(field, name)| Declaration {
                    kind: Kind::Attribute(attributes.owner),
                    name: &name.name.name,
                    span: name.name.span,
                    doc: field.doc.as_ref(),
                    head: field.ty.span,
                    whole: field.span,
                }));
                continue;
            }
        });
    }
}

impl Analysed {
    /// The declaration whose name is at this place.
    pub fn declaration(&self, span: Span) -> Option<Declaration<'_>> {
        declarations(self.policy(span)?).into_iter().find(|declaration| declaration.span == span)
    }

    /// The place that a declaration replaces in a base.
    pub fn replaced(&self, span: Span) -> Option<Span> {
        self.analysis.replaced.iter().find(|(new, _)| *new == span).map(|(_, old)| *old)
    }
}

/// What a name is.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// Declared at this place, which may be that of the name itself.
    Declared(Span),
    Word(&'static Word),
}

/// The name at an offset of the document, and what it is.
pub fn at(analysed: &Analysed, offset: usize) -> Option<(Span, What)> {
    let touches = |span: Span| {
        span.source == Analysed::ROOT && (span.start as usize..=span.end as usize).contains(&offset)
    };
    let length = |span: Span| span.end - span.start;
    let uses = analysed.analysis.uses.iter().filter(|found| touches(found.span));
    if let Some(found) = uses.min_by_key(|found| length(found.span)) {
        let what = match found.meaning {
            Meaning::Declared(span) => What::Declared(span),
            Meaning::Word(word) => What::Word(word),
        };
        return Some((found.span, what));
    }
    let own = analysed.root().map(declarations).unwrap_or_default();
    let own = own.iter().map(|declaration| declaration.span).find(|span| touches(*span));
    let locals = || locals(analysed).map(|(_, name)| name).find(|span| touches(*span));
    own.or_else(locals).map(|span| (span, What::Declared(span)))
}

fn tokens(analysed: &Analysed) -> Vec<Token> {
    let text = analysed.text(Analysed::ROOT).map_or("", |text| text.as_str());
    lex(Analysed::ROOT, text).tokens
}

/// Types and names of the local variables and parameters of functions in the document, in source order: `type name`
/// is nothing else, except the heads of functions and attributes.
pub fn locals(analysed: &Analysed) -> impl Iterator<Item = (Span, Span)> {
    let tokens = tokens(analysed);
    let own = analysed.root().map(declarations).unwrap_or_default();
    let own: Vec<Span> = own.iter().map(|declaration| declaration.span).collect();
    let found: Vec<_> = (1..tokens.len())
        .filter(|&at| tokens[at].kind == TokenKind::Ident && !own.contains(&tokens[at].span))
        .filter_map(|at| Some((type_before(&tokens[..at])?, tokens[at].span)))
        .collect();
    found.into_iter()
}

/// The type that ends a list of tokens.
fn type_before(tokens: &[Token]) -> Option<Span> {
    let [.., before, last] = tokens else { return None };
    use TokenKind::{Bool, Core, Domain, Frequency, Int, Load, Question, Set, Thread, Time};
    let is_type = |token: &Token| {
        matches!(token.kind, Bool | Core | Domain | Frequency | Int | Load | Set | Thread | Time)
    };
    match last.kind {
        Question if is_type(before) => Some(before.span.to(last.span)),
        _ if is_type(last) => Some(last.span),
        _ => None,
    }
}

/// `type name` of a local variable or parameter of a function, if that is at this place.
pub fn local(analysed: &Analysed, name: Span) -> Option<String> {
    let text = &analysed.analysis.sources.get(name.source)?.text;
    let tokens = lex(name.source, text).tokens;
    let at = tokens.iter().position(|token| token.span == name)?;
    Some(format!("{} {}", analysed.slice(type_before(&tokens[..at])?), analysed.slice(name)))
}
