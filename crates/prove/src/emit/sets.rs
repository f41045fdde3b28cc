//! The policy's own invariants, and the bounds of its sets, under concurrency.
//!
//! A change of a set is atomic, two after each other are not: between them other events change the
//! sets too. `empty(S)` is looked at core by core: an event that brings a core into S, against the
//! invariant, has it open until it sees the core outside of S again, or takes it out; and no event
//! may end with a core open. So the invariant holds of each core with which no event is under way.

use super::Theory;
use super::events::{bound, handler_text};
use super::program::Program;
use super::unit::Unit;
use super::watch::Watch;
use crate::Invariant;
use crate::obligation::Property;
use hearth_ipanema::ir::effects::Access;
use hearth_ipanema::ir::{Event, Expr, ExprKind, Function, Place, SetOp, StmtKind};

pub fn emit(unit: &Unit, theory: &mut Theory, invariants: &[Invariant]) {
    for set in &unit.policy.sets {
        if set.capacity.is_some() {
            let what = "it never has more cores than its `max`: a full set takes none";
            let assigned = assigned_as_a_whole(unit, &set.name);
            theory.decided(Property::Invariants, &set.name, what, &set.at, !assigned);
        }
    }
    for (number, invariant) in invariants.iter().enumerate() {
        for handler in &unit.policy.handlers {
            let function = unit.policy.function(handler.function);
            let writes = function.effects.writes.iter().any(|access| matches!(access, Access::Set(_)));
            if writes {
                under(unit, theory, number, invariant, handler.event, function);
            }
        }
    }
}

/// `max` is kept by `add`; only `set = ...` could break it.
fn assigned_as_a_whole(unit: &Unit, name: &str) -> bool {
    use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_stmt};
    use hearth_ipanema::ir::{Stmt, Target};
    struct Find<'a>(&'a str, &'a Unit<'a>, bool);
    impl Visitor for Find<'_> {
        fn stmt(&mut self, stmt: &Stmt) {
            if let StmtKind::Assign { target: Target::Set(id), .. } = &stmt.kind {
                self.2 |= self.1.policy.sets[id.index()].name == self.0;
            }
            walk_stmt(self, stmt);
        }
    }
    let mut find = Find(name, unit, false);
    for function in &unit.policy.functions {
        walk_block(&mut find, &function.body);
    }
    find.2
}

fn under(
    unit: &Unit,
    theory: &mut Theory,
    number: usize,
    invariant: &Invariant,
    event: Event,
    handler: &Function,
) {
    let at = &invariant.at;
    let about = event.name();
    let what = match invariant.name.is_empty() {
        true => format!("keeps the invariant of line {}", at.line),
        false => format!("keeps `{}`", invariant.name),
    };
    let Some(broken) = formula(unit, &invariant.expr) else {
        let construct = "an invariant that does not say that a set is empty";
        return theory.not_modelled(Property::Invariants, about, &what, at, construct);
    };
    unit.restart();
    let loop_invariants = vec![
        "held ()".replace(" ()", &arguments(unit)),
        "(forall x. mem x !ours -> mem x (!ours at LABEL))".into(),
    ];
    let program = Program { unit, watch: Watch::Sets, places: false, loop_invariants };
    let body = program.body(&bound(handler));
    let closed = "forall c. not mem c !ours";
    let requires = vec![format!("held{}", arguments(unit)), closed.to_owned()];
    let text =
        declarations(unit, &broken) + &handler_text("keeps", &parameters(handler), &requires, closed, &body);
    let module = format!("Invariant_{number}_{about}");
    theory.module(&module, &text);
    let place = Place { policy: at.policy.clone(), line: at.line, span: at.span };
    theory.goal(Property::Invariants, about, &what, &place, &module, "");
}

/// Of a thread's event or a core's.
fn parameters(handler: &Function) -> String {
    let mut names = ["own_thread", "origin"].iter();
    handler
        .params()
        .iter()
        .filter_map(|local| Some((names.next()?, local)))
        .fold(String::new(), |text, (name, local)| {
            format!("{text} ({name}: {})", super::unit::why_type(local.ty))
        })
}

fn names(unit: &Unit) -> Vec<String> {
    unit.policy.sets.iter().map(|set| format!("set_{}", set.name)).collect()
}

fn arguments(unit: &Unit) -> String {
    names(unit).iter().map(|name| format!(" !{name}")).collect::<String>() + " !ours !others"
}

/// The sets, what may be said of them, and their changes.
fn declarations(unit: &Unit, broken: &str) -> String {
    let names = names(unit);
    let params: String = names.iter().map(|name| format!(" ({name}: cset)")).collect();
    let args: String = names.iter().map(|name| format!(" {name}")).collect();
    let now: String = names.iter().map(|name| format!(" !{name}")).collect();
    let was: String = names.iter().map(|name| format!(" (old !{name})")).collect();
    let vals: String = names.iter().map(|name| format!("  val {name} : ref cset\n")).collect();
    let held = format!("forall c. broken{args} c -> mem c ours \\/ mem c others");
    let mut text = format!(
        "  (* Core c is not as the invariant wants it. *)\n  \
         predicate broken{params} (c: int) =\n    {broken}\n\n  \
         (* Cores that this event, or others, will put right. *)\n  val ours : ref cset\n  \
         val others : ref cset\n{vals}\n  \
         predicate held{params} (ours others: cset) =\n    {held}\n\n  \
         (* Other events change the sets too. *)\n  val interleave () : unit\n    \
         requires {{ held{now} !ours !others }}\n    writes {{ others, {} }}\n    \
         ensures {{ held{now} !ours !others }}\n",
        names.join(", "),
    );
    let settled = format!(
        "!ours = if broken{now} c then (if broken{was} c then old !ours else added c (old !ours))\n      \
         else removed c (old !ours)"
    );
    for (set, name) in unit.policy.sets.iter().zip(&names) {
        let refused = if set.capacity.is_some() { "!{name} = old !{name} \\/ " } else { "" };
        let refused = refused.replace("{name}", name);
        text += &format!(
            "\n  val change_{0} (c: int) (add: bool) : bool\n    writes {{ {name}, ours }}\n    \
             ensures {{ if add then {refused}!{name} = added c (old !{name}) else !{name} = removed c (old !{name}) }}\n    \
             ensures {{ {settled} }}\n  \
             val see_{0} (c: int) : bool\n    writes {{ ours }}\n    \
             ensures {{ result <-> mem c !{name} }}\n    \
             ensures {{ !ours = if broken{now} c then old !ours else removed c (old !ours) }}\n",
            set.name
        );
        let held = format!("held{}", arguments(unit));
        let open = format!(
            "    requires {{ {held} }}\n    ensures {{ {held} }}\n    \
             ensures {{ forall d. mem d !ours -> mem d (old !ours) \\/ d = c }}\n    \
             ensures {{ mem c !ours -> broken{now} c }}\n"
        );
        let writes = format!("    writes {{ ours, others, {} }}\n", names.join(", "));
        for (verb, adds) in [("add_to", true), ("remove_from", false)] {
            let now = if adds { String::new() } else { format!("    ensures {{ not mem c !{name} }}\n") };
            text += &format!(
                "  let {verb}_{0} (c: int) : bool\n{open}{now}{writes}  = interleave ();\n    change_{0} c {adds}\n",
                set.name,
            );
        }
        text += &format!(
            "  let is_in_{0} (c: int) : bool\n{open}    ensures {{ result <-> mem c !{name} }}\n    \
             ensures {{ forall d. mem d !ours -> mem d (old !ours) }}\n{writes}  = interleave ();\n    see_{0} c\n",
            set.name,
        );
    }
    text + "\n"
}

/// What breaks an invariant for core `c`; `None`: it is not of the form `empty(...)`.
fn formula(unit: &Unit, e: &Expr) -> Option<String> {
    match &e.kind {
        ExprKind::Empty(set) => member(unit, set),
        _ => None,
    }
}

fn member(unit: &Unit, set: &Expr) -> Option<String> {
    match &set.kind {
        ExprKind::Set(id) => Some(format!("mem c set_{}", unit.policy.sets[id.index()].name)),
        ExprKind::SetOp { op, left, right } => {
            let (left, right) = (member(unit, left)?, member(unit, right)?);
            Some(match op {
                SetOp::Union => format!("({left} \\/ {right})"),
                SetOp::Intersection => format!("({left} /\\ {right})"),
                SetOp::Difference => format!("({left} /\\ not {right})"),
            })
        }
        _ => None,
    }
}
