//! The module `Policy`, which all others of a policy use: parameters, attributes and sums.

use super::bounds;
use super::unit::{Unit, attribute_name, why_type};
use hearth_ipanema::ir::{Attribute, BaseType, Owner, Type};

const EXCEPTIONS: &str = "
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

pub fn header(unit: &Unit) -> String {
    let policy = unit.policy;
    let mut text = format!(
        "(* Policy {}: emitted by hearth; its theory is in proofs/. *)\n\nmodule Policy\n  use int.Int\n  \
         use ref.Ref\n  use export events.Events\n  use export events.Library\n  use export steal.Contract\n{EXCEPTIONS}",
        policy.name
    );
    for param in &policy.params {
        let name = format!("param_{}", param.name);
        text += &format!("\n  constant {name} : {}", why_type(param.ty));
        if param.ty.base != BaseType::Bool {
            text += &format!("\n  axiom {name}_bounds: {} <= {name} <= {}", param.min, param.max);
        }
    }
    text += "\n";
    for attribute in &policy.globals {
        text += &function(Owner::Global, attribute, "(w: world)", "w");
    }
    for attribute in &policy.thread {
        text += &function(Owner::Thread, attribute, "(w: world) (t: thread)", "w t");
    }
    for attribute in &policy.core {
        text += &function(Owner::Core, attribute, "(w: world) (c: int)", "w c");
    }
    for name in bounds::names(unit) {
        text += &format!(
            "  (* By the obligations of its assignments. *)\n  \
             axiom {0}_bounds: forall w t. 1 <= {0} w t <= most_weight\n",
            attribute_name(Owner::Thread, &name)
        );
    }
    for (number, sum) in unit.sums.borrow().iter().enumerate() {
        text += &format!(
            "\n  constant sum_{number} : summand\n  \
             axiom sum_{number}_is: forall w t [weight sum_{number} w t]. weight sum_{number} w t = {}\n",
            sum.weight
        );
    }
    text + "end\n"
}

fn function(owner: Owner, attribute: &Attribute, params: &str, args: &str) -> String {
    let name = attribute_name(owner, &attribute.name);
    let ty = attribute.ty;
    let mut text = format!("  function {name} {params} : {}\n", why_type(ty));
    if let Some(valid) = validity(ty) {
        text += &format!("  axiom {name}_is: forall {args}. {valid} ({name} {args})\n");
    }
    text
}

/// The predicate that each value of a type satisfies.
pub fn validity(ty: Type) -> Option<&'static str> {
    match (ty.base, ty.optional) {
        (BaseType::Core, true) => Some("some_core"),
        (BaseType::Core, false) => Some("is_core"),
        _ => None,
    }
}
