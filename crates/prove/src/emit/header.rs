//! The module `Policy`, which all others of a policy use: parameters, attributes and sums.

use super::bounds;
use super::theorems::Declaration;
use super::unit::{Sum, Unit, attribute_name, why_type};
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
    let of = |owner, params, args| {
        let attributes = policy.attributes(owner).iter();
        attributes.map(|a| attribute(owner, a, params, args, bounded.contains(&a.name))).collect::<Vec<_>>()
    };
    let params = policy.params.iter().map(param).collect();
    let sums = unit.sums.borrow().iter().enumerate().map(|(number, weight)| sum(number, weight)).collect();
    let (globals, threads, cores) = (
        of(Owner::Global, "(w: world)", "w"),
        of(Owner::Thread, "(w: world) (t: thread)", "w t"),
        of(Owner::Core, "(w: world) (c: int)", "w c"),
    );
    [params, globals, threads, cores, sums].concat()
}

fn param(param: &Param) -> Declaration {
    let name = format!("param_{}", param.name);
    let mut text = format!("\n  constant {name} : {}\n", why_type(param.ty));
    if param.ty.base != BaseType::Bool {
        text += &format!("  axiom {name}_bounds: {} <= {name} <= {}\n", param.min, param.max);
    }
    Declaration { name, text }
}

fn sum(number: usize, sum: &Sum) -> Declaration {
    let name = format!("sum_{number}");
    let text = format!(
        "\n  constant {name} : summand\n  \
         axiom {name}_is: forall w t [weight {name} w t]. weight {name} w t = {}\n",
        sum.weight
    );
    Declaration { name, text }
}

/// `bounded`: as `bounds` says of a thread's attribute that a sum adds up.
fn attribute(owner: Owner, attribute: &Attribute, params: &str, args: &str, bounded: bool) -> Declaration {
    let name = attribute_name(owner, &attribute.name);
    let ty = attribute.ty;
    let mut text = format!("\n  function {name} {params} : {}\n", why_type(ty));
    if let Some(valid) = validity(ty) {
        text += &format!("  axiom {name}_is: forall {args}. {valid} ({name} {args})\n");
    }
    if owner == Owner::Thread && bounded {
        text += &format!(
            "  (* By the obligations of its assignments. *)\n  \
             axiom {name}_bounds: forall w t. 1 <= {name} w t <= most_weight\n"
        );
    }
    Declaration { name, text }
}

/// The predicate that each value of a type satisfies.
pub fn validity(ty: Type) -> Option<&'static str> {
    match (ty.base, ty.optional) {
        (BaseType::Core, true) => Some("some_core"),
        (BaseType::Core, false) => Some("is_core"),
        _ => None,
    }
}
