//! The module `Policy`, which all others of a policy use: parameters, attributes and sums.

use super::bounds;
use super::names;
use super::theorems::Declaration;
use super::unit::{Sum, Unit, why_type};
use crate::whyml::{Decl, Why, app, forall, forall_by, params};
use hearth_ipanema::ir::{Attribute, BaseType, Owner, Param, Type};

/// The beginning of the module.
pub const HEAD: &str = "module Policy
  use int.Int
  use ref.Ref
  use export events.Events
  use export events.Library
  use export steal.Contract

  (* A transition ends the event; a return ends the function. *)
  exception Placed int
  exception Chosen thread
  exception Gone
  exception Return
  exception Return_int int
  exception Return_bool bool
  exception Return_maybe maybe
  exception Return_thread thread
  exception Return_maybe_thread maybe_thread
  exception Return_cset cset

  (* Numbers of elements: in a search inside a search, and in a queue. *)
  function pair (outer inner: int) : int
  function number (t: thread) : int

  (* The cores for which this event has stolen. *)
  val pulled : ref cset
  val pull_none () : unit
    writes { pulled } ensures { !pulled = no_core }
  val pull_for (c: int) : unit
    writes { pulled } ensures { !pulled = added c (old !pulled) }
";

/// The policy's parameters, attributes and sums.
pub fn declarations(unit: &Unit) -> Vec<Declaration> {
    let policy = unit.policy;
    let bounded = bounds::names(unit);
    let of = |owner| {
        let attributes = policy.attributes(owner).iter();
        attributes.map(|a| attribute(owner, a, bounded.contains(&a.name))).collect::<Vec<_>>()
    };
    let params = policy.params.iter().map(param).collect();
    let sums = unit.sums.borrow().iter().enumerate().map(|(number, weight)| sum(number, weight)).collect();
    [params, of(Owner::Global), of(Owner::Thread), of(Owner::Core), sums].concat()
}

fn param(param: &Param) -> Declaration {
    let name = names::param(&param.name);
    let mut parts = vec![Decl::Function(name.clone(), Vec::new(), why_type(param.ty))];
    if param.ty.base != BaseType::Bool {
        let bounds = Why::from(param.min).infix("<=", Why::from(&name).infix("<=", param.max));
        parts.push(Decl::Axiom(format!("bounds_{name}"), bounds));
    }
    Declaration::new(name, parts)
}

fn sum(number: usize, sum: &Sum) -> Declaration {
    let name = format!("sum_{number}");
    let weight = app!("weight", &name, "w", "t");
    let is = forall_by("w t", weight.clone(), weight.equals(&sum.weight));
    let parts =
        vec![Decl::Function(name.clone(), Vec::new(), "summand"), Decl::Axiom(format!("{name}_is"), is)];
    Declaration::new(name, parts)
}

/// `bounded`: as `bounds` says of a thread's attribute that a sum adds up.
fn attribute(owner: Owner, attribute: &Attribute, bounded: bool) -> Declaration {
    let name = names::attribute(owner, &attribute.name);
    let of: &[(&str, &str)] = match owner {
        Owner::Global => &[("w", "world")],
        Owner::Thread => &[("w", "world"), ("t", "thread")],
        Owner::Core => &[("w", "world"), ("c", "int")],
    };
    let variables: Vec<&str> = of.iter().map(|(name, _)| *name).collect();
    let value = Why::App(name.clone(), variables.iter().map(|name| Why::from(*name)).collect());
    let all = |formula| forall(&variables.join(" "), formula);
    let mut parts = vec![Decl::Function(name.clone(), params(of), why_type(attribute.ty))];
    if let Some(valid) = validity(attribute.ty) {
        parts.push(Decl::Axiom(format!("is_{name}"), all(app!(valid, &value))));
    }
    if owner == Owner::Thread && bounded {
        parts.push(Decl::Comment("By the obligations of its assignments."));
        let bounds = Why::from(1).infix("<=", value.infix("<=", "most_weight"));
        parts.push(Decl::Axiom(format!("bounds_{name}"), all(bounds)));
    }
    Declaration::new(name, parts)
}

/// The predicate that each value of a type satisfies.
pub fn validity(ty: Type) -> Option<&'static str> {
    match (ty.base, ty.optional) {
        (BaseType::Core, true) => Some("some_core"),
        (BaseType::Core, false) => Some("is_core"),
        _ => None,
    }
}
