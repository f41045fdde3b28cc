//! The names that items declare.

use crate::syntax::Span;
use crate::syntax::ast::{BaseType, Event, Formal, Item, ItemKind, Need, Owner, Slot, Type};

/// Name spaces of declarations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Names used alone: parameters, sets, globals, functions, steals; and invariants.
    Top,
    Thread,
    /// Attributes of cores, and queues.
    Core,
    Event,
}

/// A declared name, or one that a slot needs.
#[derive(Clone, Debug)]
pub struct Name<'a> {
    pub key: (Space, &'a str),
    pub span: Span,
    /// Types of a function or handler: of the result, then of the parameters.
    pub types: Vec<Option<(BaseType, bool)>>,
}

impl std::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.key {
            (Space::Event, event) => write!(f, "`on {event}`"),
            (_, name) => write!(f, "`{name}`"),
        }
    }
}

impl<'a> Name<'a> {
    fn new(space: Space, name: &'a str, span: Span) -> Self {
        Name { key: (space, name), span, types: Vec::new() }
    }

    fn handler(event: Event, span: Span, formals: &[Formal]) -> Self {
        Name { types: types(None, formals), ..Name::new(Space::Event, event.name(), span) }
    }
}

/// The types of a function's result and parameters.
pub fn types(result: Option<&Type>, formals: &[Formal]) -> Vec<Option<(BaseType, bool)>> {
    let formals = formals.iter().map(|formal| Some(&formal.ty));
    [result].into_iter().chain(formals).map(|ty| ty.map(|ty| (ty.base, ty.optional))).collect()
}

/// The names that items declare, also within slots.
pub fn declared(items: &[Item]) -> Vec<Name<'_>> {
    let mut names = Vec::new();
    for item in items {
        let (space, name) = match &item.kind {
            ItemKind::Param(param) => (Space::Top, &param.name),
            ItemKind::Set(set) => (Space::Top, &set.name),
            ItemKind::Invariant(invariant) => (Space::Top, &invariant.name),
            ItemKind::Steal(steal) => (Space::Top, &steal.name),
            ItemKind::Queue(queue) => (Space::Core, &queue.name),
            ItemKind::Function(f) => {
                let name = Name::new(Space::Top, &f.name.name, f.name.span);
                names.push(Name { types: types(f.result.as_ref(), &f.formals), ..name });
                continue;
            }
            ItemKind::Handler(h) => {
                names.push(Name::handler(h.event, h.event_span, &h.formals));
                continue;
            }
            ItemKind::Attributes(attributes) => {
                let space = match attributes.owner {
                    Owner::Global => Space::Top,
                    Owner::Thread => Space::Thread,
                    Owner::Core => Space::Core,
                };
                let fields = attributes.fields.iter().flat_map(|field| &field.names);
                names.extend(fields.map(|field| Name::new(space, &field.name.name, field.name.span)));
                continue;
            }
            ItemKind::Slot(slot) => {
                names.extend(declared(&slot.items));
                continue;
            }
            ItemKind::Need(_) => continue,
        };
        names.push(Name::new(space, &name.name, name.span));
    }
    names
}

/// What each feature of a slot must declare.
pub fn needed(slot: &Slot) -> Vec<Name<'_>> {
    slot.items
        .iter()
        .filter_map(|item| if let ItemKind::Need(need) = &item.kind { Some(name(need)) } else { None })
        .collect()
}

fn name(need: &Need) -> Name<'_> {
    match need {
        Need::Queue(name) => Name::new(Space::Core, &name.name, name.span),
        Need::Handler { event, event_span, formals } => Name::handler(*event, *event_span, formals),
        Need::Function { result, name, formals } => {
            let types = types(result.as_ref(), formals);
            Name { types, ..Name::new(Space::Top, &name.name, name.span) }
        }
    }
}
