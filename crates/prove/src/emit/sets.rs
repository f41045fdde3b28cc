//! The policy's own invariants, and the bounds of its sets, under concurrency.
//!
//! One change of a set is atomic; a sequence of changes is not, since other events change the sets in between.
//! `empty(S)` is checked per core: an event that brings a core into S owes a repair (`ours`) until it sees the
//! core outside of S or removes it. No event may end with a repair owed. So the invariant holds for each core
//! that no running event has changed.

use super::Theory;
use super::events::{bound, handler_text};
use super::program::Program;
use super::unit::Unit;
use super::watch::Watch;
use crate::Invariant;
use crate::obligation::Property;
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_stmt};
use hearth_ipanema::ir::{Event, Expr, ExprKind, Function, Place, SetId, SetOp, Stmt, StmtKind, Target};

pub fn emit(unit: &Unit, theory: &mut Theory, invariants: &[Invariant]) {
    for (index, set) in unit.policy.sets.iter().enumerate() {
        if set.capacity.is_some() {
            let what = "it never has more cores than its `max`: a full set takes none";
            let assigned = is_assigned(unit, SetId(index as u32));
            theory.decided(
                Property::Invariants,
                &set.name,
                what,
                &set.at,
                "assignments of the set",
                !assigned,
            );
        }
    }
    for (number, invariant) in invariants.iter().enumerate() {
        for handler in &unit.policy.handlers {
            let function = unit.policy.function(handler.function);
            let program = Program::watching(unit, Watch::Sets);
            if program.changes(&function.effects) {
                under(unit, theory, number, invariant, handler.event, function);
            }
        }
    }
}

/// True if some function assigns the whole set. Only this can exceed `max`, which `add` respects.
fn is_assigned(unit: &Unit, set: SetId) -> bool {
    struct Find(SetId, bool);
    impl Visitor for Find {
        fn stmt(&mut self, stmt: &Stmt) {
            self.1 |= matches!(&stmt.kind, StmtKind::Assign { target: Target::Set(id), .. } if *id == self.0);
            walk_stmt(self, stmt);
        }
    }
    let mut find = Find(set, false);
    unit.policy.functions.iter().for_each(|function| walk_block(&mut find, &function.body));
    find.1
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
    let Some(broken) = invariant.expr.as_ref().and_then(|expr| formula(unit, expr)) else {
        let construct = "an invariant that is not of the form `empty(...)` over the policy's sets";
        return theory.not_modelled(Property::Invariants, about, &what, at, construct);
    };
    unit.restart();
    let loop_invariants = vec![
        "held ()".replace(" ()", &arguments(unit)),
        "(forall x. mem x !ours -> mem x (!ours at LABEL))".into(),
    ];
    let program = Program { loop_invariants, ..Program::watching(unit, Watch::Sets) };
    let body = program.body(&bound(handler));
    let closed = "forall c. not mem c !ours";
    let requires = vec![format!("held{}", arguments(unit)), closed.to_owned()];
    let text = declarations(unit, &broken)
        + &handler_text(unit, "keeps", &parameters(handler), &requires, closed, &body);
    let module = format!("Invariant_{number}_{about}");
    theory.module(&module, &text);
    let place = Place { policy: at.policy.clone(), line: at.line, span: at.span };
    theory.goal(Property::Invariants, about, &what, &place, &module, "");
}

/// Parameters of a handler: a thread, a core, or both.
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

/// The sets and the operations on them, with contracts.
fn declarations(unit: &Unit, broken: &str) -> String {
    let names = names(unit);
    let params: String = names.iter().map(|name| format!(" ({name}: cset)")).collect();
    let args: String = names.iter().map(|name| format!(" {name}")).collect();
    let now: String = names.iter().map(|name| format!(" !{name}")).collect();
    let was: String = names.iter().map(|name| format!(" (old !{name})")).collect();
    let vals: String = names.iter().map(|name| format!("  val {name} : ref cset\n")).collect();
    let held = format!("forall c. broken{args} c -> mem c ours \\/ mem c others");
    let mut text = format!(
        "  (* Core c violates the invariant. *)\n  \
         predicate broken{params} (c: int) =\n    {broken}\n\n  \
         (* Cores that this event, or others, have to repair. *)\n  val ours : ref cset\n  \
         val others : ref cset\n{vals}\n  \
         predicate held{params} (ours others: cset) =\n    {held}\n\n  \
         (* Other events change the sets too. *)\n  val interleave () : unit\n    \
         requires {{ held{now} !ours !others }}\n    writes {{ others, {} }}\n    \
         ensures {{ held{now} !ours !others }}\n",
        names.join(", "),
    );
    let held = format!("held{}", arguments(unit));
    let writes = format!("    writes {{ ours, others, {} }}\n", names.join(", "));
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
        text += &format!(
            "  val overwrite_{0} (cores: cset) : unit\n    writes {{ {name}, ours }}\n    \
             ensures {{ !{name} = cores }}\n    \
             ensures {{ forall c. mem c !ours <-> broken{now} c /\\ (mem c (old !ours) \\/ not broken{was} c) }}\n  \
             let assign_{0} (cores: cset) : unit\n    requires {{ {held} }}\n    ensures {{ {held} }}\n    \
             ensures {{ !{name} = cores }}\n{writes}  = interleave ();\n    overwrite_{0} cores\n",
            set.name
        );
        let open = format!(
            "    requires {{ {held} }}\n    ensures {{ {held} }}\n    \
             ensures {{ forall d. mem d !ours -> mem d (old !ours) \\/ d = c }}\n    \
             ensures {{ mem c !ours -> broken{now} c }}\n"
        );
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

/// The condition under which core `c` violates the invariant; `None` if that is not of the form `empty(...)`.
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
