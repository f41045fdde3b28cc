//! The module that all others of a policy use: its parameters and attributes.

use super::positive;
use super::unit::{Unit, attribute_name, why_type};
use hearth_ipanema::ir::{Attribute, BaseType, Owner};

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
    for name in positive::names(unit) {
        text += &format!(
            "  (* By the obligations of `{0}`. *)\n  axiom {0}_positive: forall w t. {0} w t >= 1\n",
            attribute_name(Owner::Thread, &name)
        );
    }
    text += &format!(
        "\n  constant nr_queues : int = {}\n  \
         axiom queues [@W:non_conservative_extension:N]: forall k t. waits k t -> 0 <= queue k t < nr_queues\n",
        policy.queues.len()
    );
    for (number, sum) in unit.sums.borrow().iter().enumerate() {
        text += &format!(
            "\n  function weight_{number} (w: world) (t: thread) : int = {}\n  \
             clone cores.Sums as Sum_{number} with function weight = weight_{number}, axiom .\n",
            sum.weight
        );
    }
    text + "end\n"
}

fn function(owner: Owner, attribute: &Attribute, params: &str, args: &str) -> String {
    let name = attribute_name(owner, &attribute.name);
    let ty = attribute.ty;
    let mut text = format!("  function {name} {params} : {}\n", why_type(ty));
    let valid = match (ty.base, ty.optional) {
        (BaseType::Core, true) => "some_core",
        (BaseType::Core, false) => "is_core",
        _ => return text,
    };
    text += &format!("  axiom {name}_is: forall {args}. {valid} ({name} {args})\n");
    text
}
