//! Merging of a policy with its features and bases.

use std::collections::HashMap;

use super::names::{Space, types};
use crate::codes::{BAD_OVERRIDE, DECLARED_TWICE, RESERVED_WORD};
use crate::diagnostic::Diagnostic;
use crate::library;
use crate::syntax::Span;
use crate::syntax::ast::{self, Event, ItemKind, Owner};

/// A policy, its features and its bases, nearest first. Policies are identified by their index in the chain.
pub type Chain = [ast::Policy];

/// A declaration and the index of its policy in the chain.
#[derive(Clone, Copy)]
pub struct Declared<'a, T> {
    pub node: &'a T,
    pub doc: Option<&'a ast::Doc>,
    pub policy: usize,
    pub span: Span,
}

/// A declaration with a body.
#[derive(Clone, Copy)]
pub enum Body<'a> {
    Function(&'a ast::Function),
    Handler(&'a ast::Handler),
    Steal(&'a ast::Steal),
}

/// One version of a function, handler or steal.
pub struct Version<'a> {
    pub body: Body<'a>,
    pub doc: Option<&'a ast::Doc>,
    pub policy: usize,
    pub span: Span,
    /// True if a derived policy replaces it.
    pub superseded: bool,
}

impl Version<'_> {
    pub fn key(&self) -> Key {
        match self.body {
            Body::Function(f) => Key::Name(f.name.name.clone()),
            Body::Steal(s) => Key::Name(s.name.name.clone()),
            Body::Handler(h) => Key::Event(h.event),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    Name(String),
    Event(Event),
}

/// All declarations of a policy and its bases. In each list, declarations of the bases come first,
/// and an override takes the position of what it replaces. Versions are never removed; they stay in
/// source order.
#[derive(Default)]
pub struct Merged<'a> {
    pub params: Vec<Declared<'a, ast::Param>>,
    pub sets: Vec<Declared<'a, ast::SetDecl>>,
    pub queues: Vec<Declared<'a, ast::Queue>>,
    pub invariants: Vec<Declared<'a, ast::Invariant>>,
    pub globals: Vec<Attribute<'a>>,
    pub thread: Vec<Attribute<'a>>,
    pub core: Vec<Attribute<'a>>,
    pub versions: Vec<Version<'a>>,
    /// Places of declarations, each with the one that it replaces in a base.
    pub replaced: Vec<(Span, Span)>,
    /// Versions of each key, the base's first.
    by_key: HashMap<Key, Vec<usize>>,
}

/// An attribute. The field holds its type and may declare several attributes.
pub type Attribute<'a> = (&'a ast::Field, Declared<'a, ast::FieldName>);

impl<'a> Merged<'a> {
    pub fn attributes(&self, owner: Owner) -> &[Attribute<'a>] {
        match owner {
            Owner::Global => &self.globals,
            Owner::Thread => &self.thread,
            Owner::Core => &self.core,
        }
    }

    /// The effective version, or, for policy `above`, the version that `super` refers to in it.
    pub fn version(&self, key: &Key, above: Option<usize>) -> Option<usize> {
        let versions = self.by_key.get(key)?;
        versions.iter().rev().copied().find(|&v| above.is_none_or(|policy| self.versions[v].policy > policy))
    }
}

/// Latest declaration of a name.
struct LatestDeclaration {
    what: &'static str,
    policy: usize,
    span: Span,
}

struct Merge<'a, 'd> {
    merged: Merged<'a>,
    seen: HashMap<(Space, String), LatestDeclaration>,
    chain: &'a Chain,
    diagnostics: &'d mut Vec<Diagnostic>,
}

/// Merges all policies of a chain. Invalid declarations are reported and omitted.
pub fn merge<'a>(chain: &'a Chain, diagnostics: &mut Vec<Diagnostic>) -> Merged<'a> {
    let mut merge = Merge { merged: Merged::default(), seen: HashMap::new(), chain, diagnostics };
    for (index, policy) in chain.iter().enumerate().rev() {
        for item in &policy.items {
            merge.item(index, item);
        }
    }
    merge.merged
}

impl<'a> Merge<'a, '_> {
    fn item(&mut self, policy: usize, item: &'a ast::Item) {
        let doc = item.doc.as_ref();
        match &item.kind {
            ItemKind::Param(node) => {
                if self.declare(Space::Top, "parameter", &node.name, policy) {
                    let span = node.name.span;
                    let declared = Declared { node, doc, policy, span };
                    put(&mut self.merged.params, declared, |d| &d.node.name.name);
                }
            }
            ItemKind::Set(node) => {
                if self.declare(Space::Top, "set", &node.name, policy) {
                    let span = node.name.span;
                    let declared = Declared { node, doc, policy, span };
                    put(&mut self.merged.sets, declared, |d| &d.node.name.name);
                }
            }
            ItemKind::Queue(node) => {
                if self.declare(Space::Core, "queue", &node.name, policy) {
                    let span = node.name.span;
                    let declared = Declared { node, doc, policy, span };
                    put(&mut self.merged.queues, declared, |d| &d.node.name.name);
                }
            }
            ItemKind::Invariant(node) => {
                if self.declare(Space::Top, "invariant", &node.name, policy) {
                    let span = node.name.span;
                    let declared = Declared { node, doc, policy, span };
                    put(&mut self.merged.invariants, declared, |d| &d.node.name.name);
                }
            }
            ItemKind::Attributes(attributes) => {
                for field in &attributes.fields {
                    for node in &field.names {
                        self.attribute(policy, attributes.owner, field, node);
                    }
                }
            }
            ItemKind::Slot(slot) => {
                for item in &slot.items {
                    self.item(policy, item);
                }
            }
            // What a slot needs, a feature declares.
            ItemKind::Need(_) => {}
            ItemKind::Function(f) => {
                if self.declare(Space::Top, "function", &f.name, policy) {
                    self.version(Body::Function(f), doc, policy, f.name.span);
                }
            }
            ItemKind::Steal(s) => {
                if self.declare(Space::Top, "steal", &s.name, policy) {
                    self.version(Body::Steal(s), doc, policy, s.name.span);
                }
            }
            ItemKind::Handler(h) => {
                let event = ast::Ident { name: h.event.name().to_owned(), span: h.event_span };
                if self.declare(Space::Event, "handler", &event, policy) {
                    self.version(Body::Handler(h), doc, policy, h.event_span);
                }
            }
        }
    }

    fn attribute(&mut self, policy: usize, owner: Owner, field: &'a ast::Field, node: &'a ast::FieldName) {
        let (space, what) = match owner {
            Owner::Global => (Space::Top, "global"),
            Owner::Thread => (Space::Thread, "attribute of threads"),
            Owner::Core => (Space::Core, "attribute of cores"),
        };
        if !self.declare(space, what, &node.name, policy) {
            return;
        }
        let list = match owner {
            Owner::Global => &mut self.merged.globals,
            Owner::Thread => &mut self.merged.thread,
            Owner::Core => &mut self.merged.core,
        };
        let base = list.iter().find(|(_, d)| d.node.name.name == node.name.name);
        if let Some((old, _)) = base
            && (old.ty.base, old.ty.optional) != (field.ty.base, field.ty.optional)
        {
            let message = format!("`{}` has a different type than in the base", node.name.name);
            self.diagnostics.push(
                Diagnostic::error(BAD_OVERRIDE, field.ty.span, message)
                    .label(old.ty.span, "type in the base")
                    .help("use the base's type, or choose another name"),
            );
            return;
        }
        let doc = field.doc.as_ref();
        let declared = Declared { node, doc, policy, span: node.name.span };
        put(list, (field, declared), |(_, d)| &d.node.name.name);
    }

    fn version(&mut self, body: Body<'a>, doc: Option<&'a ast::Doc>, policy: usize, span: Span) {
        let new = Version { body, doc, policy, span, superseded: false };
        if let Some(old) = self.merged.version(&new.key(), None) {
            let old = &mut self.merged.versions[old];
            if let Err(message) = same_signature(&old.body, &new.body) {
                self.diagnostics.push(
                    Diagnostic::error(BAD_OVERRIDE, span, message)
                        .label(old.span, "this is the replaced declaration")
                        .help("an override must have the signature of the replaced function"),
                );
                return;
            }
            old.superseded = true;
        }
        self.merged.by_key.entry(new.key()).or_default().push(self.merged.versions.len());
        self.merged.versions.push(new);
    }

    /// Records the declaration of `name`. Reports an error and returns false if it is not allowed.
    fn declare(&mut self, space: Space, what: &'static str, name: &ast::Ident, policy: usize) -> bool {
        let reserved = match space {
            Space::Top => library::is_reserved(&name.name),
            Space::Thread => library::thread_field(&name.name).is_some(),
            Space::Core => library::core_field(&name.name).is_some(),
            Space::Event => false,
        };
        if reserved {
            let message = format!("`{}` is a name of the library", name.name);
            self.diagnostics.push(
                Diagnostic::error(RESERVED_WORD, name.span, message)
                    .at(library::usage(&name.name).to_owned())
                    .help(format!("give the {what} another name")),
            );
            return false;
        }
        let key = (space, name.name.clone());
        let now = LatestDeclaration { what, policy, span: name.span };
        match self.seen.get(&key) {
            Some(before) if before.policy == policy => {
                let message = match space {
                    Space::Event => format!("`on {}` is declared twice", name.name),
                    _ => format!("`{}` is declared twice", name.name),
                };
                self.diagnostics.push(
                    Diagnostic::error(DECLARED_TWICE, name.span, message)
                        .at("again here")
                        .label(before.span, "first declared here"),
                );
                false
            }
            Some(before) if before.what != what => {
                let message = format!(
                    "`{}` is {} in `{}` and cannot be redeclared as {}",
                    name.name,
                    with_article(before.what),
                    self.chain[before.policy].name.name,
                    with_article(what)
                );
                self.diagnostics.push(
                    Diagnostic::error(BAD_OVERRIDE, name.span, message).label(before.span, "declared here"),
                );
                false
            }
            before => {
                self.merged.replaced.extend(before.map(|before| (name.span, before.span)));
                self.seen.insert(key, now);
                true
            }
        }
    }
}

fn with_article(what: &str) -> String {
    let article = if what.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {what}")
}

/// Replaces the entry of the same name, or appends.
fn put<T>(list: &mut Vec<T>, new: T, name: impl Fn(&T) -> &String) {
    match list.iter().position(|old| name(old) == name(&new)) {
        Some(place) => list[place] = new,
        None => list.push(new),
    }
}

fn same_signature(old: &Body, new: &Body) -> Result<(), String> {
    let (Body::Function(old), Body::Function(new)) = (old, new) else {
        // Handlers and steals have one signature each, which the types pass checks.
        return Ok(());
    };
    if types(old.result.as_ref(), &old.formals) == types(new.result.as_ref(), &new.formals) {
        Ok(())
    } else {
        Err(format!("`{}` has a different signature than the function it replaces", new.name.name))
    }
}
