//! State shared by the emitter's passes: the policy, and generators of unique names and numbers.

use super::names;
use crate::whyml::Why;
use hearth_ipanema::ir::{AttributeId, BaseType, Expr, Function, LocalId, Owner, Policy, Type};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// A sum over the threads of a ready queue.
pub struct Sum {
    /// The summand in the policy's text.
    pub at: *const Expr,
    /// The summand, as a term over `w` and `t`.
    pub weight: Why,
}

pub struct Unit<'p> {
    pub policy: &'p Policy,
    next_place: Cell<i64>,
    next_name: Cell<u32>,
    pub sums: RefCell<Vec<Sum>>,
    /// The thread's attributes that the timer's handler reads.
    pub timed: RefCell<Vec<AttributeId>>,
}

impl<'p> Unit<'p> {
    pub fn new(policy: &'p Policy) -> Self {
        Unit {
            policy,
            next_place: Cell::new(0),
            next_name: Cell::new(0),
            sums: RefCell::default(),
            timed: RefCell::default(),
        }
    }

    /// A new number for a place in the text that reads shared state.
    pub fn place(&self) -> i64 {
        self.next_place.replace(self.next_place.get() + 1)
    }

    pub fn places(&self) -> i64 {
        self.next_place.get()
    }

    /// Continues with an earlier number, to translate the same text twice with the same places.
    pub fn back_to(&self, place: i64) {
        self.next_place.set(place);
    }

    /// A unique name.
    pub fn fresh(&self, name: &str) -> String {
        names::numbered(name, self.next_name.replace(self.next_name.get() + 1))
    }

    /// Restarts names and places, for a new module.
    pub fn restart(&self) {
        self.next_place.set(0);
        self.next_name.set(0);
    }

    pub fn attribute(&self, owner: Owner, id: AttributeId) -> String {
        names::attribute(owner, &self.policy.attribute(owner, id).name)
    }
}

/// The WhyML type of a value.
pub fn why_type(ty: Type) -> &'static str {
    match (ty.base, ty.optional) {
        (BaseType::Bool, _) => "bool",
        (BaseType::Set, _) => "cset",
        (BaseType::Thread, true) => "maybe_thread",
        (BaseType::Thread, false) => "thread",
        (_, true) => "maybe",
        (_, false) => "int",
    }
}

/// The values of a function's variables.
#[derive(Clone)]
pub struct Scope<'p> {
    pub function: &'p Function,
    values: HashMap<LocalId, Why>,
}

impl<'p> Scope<'p> {
    pub fn new(function: &'p Function) -> Self {
        Scope { function, values: HashMap::new() }
    }

    pub fn bind(&mut self, local: LocalId, value: impl Into<Why>) {
        self.values.insert(local, value.into());
    }

    pub fn bind_mutable(&mut self, local: LocalId, name: String) {
        self.bind(local, Why::Deref(name));
    }

    /// The expression that reads a variable; `None` if its value is unknown.
    pub fn value(&self, local: LocalId) -> Option<Why> {
        self.values.get(&local).cloned()
    }
}
