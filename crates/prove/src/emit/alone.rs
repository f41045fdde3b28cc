//! Handlers with nobody else at work: attributes keep what is assigned to them, the clock stands still, and a loop over
//! cores visits all of them. The obligations about waiting are about such handlers, from any state.

use super::header::declarations;
use super::program::Program;
use super::text::words;
use super::theorems::named;
use super::unit::{Scope, Unit, attribute_name, why_type};
use super::watch::Watch;
use hearth_ipanema::ir::effects::{Access, Effects};
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_stmt};
use hearth_ipanema::ir::{
    Attribute, AttributeId, Expr, Iteration, LocalId, Over, Owner, Stmt, StmtKind, Target,
};
use std::collections::{BTreeSet, HashSet};

/// In a loop invariant: the cores that the loop has visited.
pub const VISITED: &str = "VISITED";

const HEAD: &str = "
module Present
  use int.Int
  use ref.Ref
  use Policy
  use export alone.Alone
  use export waiting.Limits

  val present : ref world

  (* A steal changes attributes of the threads that it moves, and of their cores. *)
  val disturb () : unit
    writes { present }

  val preempted : ref cset
  val preempt (c: int) : unit
    writes { preempted } ensures { !preempted = added c (old !preempted) }

  predicate same_clocks (a b: world) =
    now_at b = now_at a /\\ (forall t. runtime b t = runtime a t) /\\ forall t. weight_of b t = weight_of a t
";

/// The policy's attributes.
pub fn attributes(unit: &Unit) -> Vec<Assigned> {
    let of =
        |owner| unit.policy.attributes(owner).iter().map(move |attribute| Assigned::new(owner, attribute));
    [Owner::Global, Owner::Thread, Owner::Core].into_iter().flat_map(of).collect()
}

/// The module `Present`, which modules with such handlers use: an assignment for each attribute.
pub fn module(attributes: &[&Assigned]) -> String {
    let same: String = attributes.iter().map(|attribute| attribute.same()).collect();
    let assignments: String = attributes.iter().map(|attribute| attribute.assignment(attributes)).collect();
    format!("{HEAD}\n{same}{assignments}end\n")
}

/// An attribute and its assignment.
#[derive(Clone, Debug)]
pub struct Assigned {
    pub name: String,
    ty: &'static str,
    /// The owner's parameter: name and type; empty for a global attribute.
    of: Option<(&'static str, &'static str)>,
}

impl Assigned {
    fn new(owner: Owner, attribute: &Attribute) -> Self {
        let of = match owner {
            Owner::Global => None,
            Owner::Thread => Some(("t", "thread")),
            Owner::Core => Some(("c", "int")),
        };
        Assigned { name: attribute_name(owner, &attribute.name), ty: why_type(attribute.ty), of }
    }

    fn same(&self) -> String {
        let name = &self.name;
        match self.of {
            None => format!("  predicate same_{name} (a b: world) = {name} b = {name} a\n"),
            Some((x, ty)) => format!(
                "  predicate same_{name} (a b: world) = forall {x}: {ty} [{name} b {x}]. {name} b {x} = {name} a {x}\n"
            ),
        }
    }

    fn assignment(&self, all: &[&Assigned]) -> String {
        let (name, ty) = (&self.name, self.ty);
        let (param, own, others) = match self.of {
            None => (String::new(), format!("{name} !present = value"), String::new()),
            Some((x, of)) => (
                format!("({x}: {of}) "),
                format!("{name} !present {x} = value"),
                format!(
                    "    ensures {{ forall u: {of} [{name} !present u]. u <> {x} -> {name} !present u = {name} (old !present) u }}\n"
                ),
            ),
        };
        let frame: String = all
            .iter()
            .filter(|other| other.name != *name)
            .map(|other| format!("    ensures {{ same_{} (old !present) !present }}\n", other.name))
            .collect();
        format!(
            "\n  val set_{name} {param}(value: {ty}) : unit\n    writes {{ present }}\n    ensures {{ {own} }}\n\
             {others}    ensures {{ same_clocks (old !present) !present }}\n{frame}"
        )
    }
}

/// The body of a function, with nobody else at work. `spec`: the other text of its module.
///
/// An assignment to an attribute that neither text reads, by itself or through what is declared of the policy, is left
/// out: it changes nothing that the module is about, but is one more state of the world for the provers.
pub fn body<'p>(unit: &Unit<'p>, scope: &Scope<'p>, loop_invariants: &[String], spec: &str) -> String {
    let attributes: BTreeSet<String> = attributes(unit).into_iter().map(|attribute| attribute.name).collect();
    let declared = declarations(unit);
    let read_in = |text: &str| -> BTreeSet<String> {
        let mut used = words(text).collect();
        named(&declared, &mut used);
        used.into_iter().filter_map(|word| attributes.get(word).cloned()).collect()
    };
    let mut read: BTreeSet<String> = read_in(spec);
    read.extend(read_in(&loop_invariants.concat()));
    loop {
        unit.restart();
        let loop_invariants = loop_invariants.to_vec();
        let program = Program { loop_invariants, read, ..Program::watching(unit, Watch::Alone) };
        let body = program.body(scope);
        let more = read_in(&body);
        if more.is_subset(&program.read) {
            return body;
        }
        read = program.read;
        read.extend(more);
    }
}

impl<'p> Program<'_, 'p> {
    /// Whether something reads the attribute.
    pub fn is_read(&self, target: &Target) -> bool {
        match target {
            Target::Global(id) => self.reads(Owner::Global, *id),
            Target::Thread { attribute, .. } => self.reads(Owner::Thread, *attribute),
            Target::Core { attribute, .. } => self.reads(Owner::Core, *attribute),
            Target::Local(_) | Target::Set(_) => true,
        }
    }

    /// True if a function with these effects does more than assign to attributes that nothing reads.
    pub fn acts(&self, effects: &Effects) -> bool {
        let mut seen = effects.clone();
        seen.writes.retain(|access| match access {
            Access::Global(id) => self.reads(Owner::Global, *id),
            Access::Thread { attribute, .. } => self.reads(Owner::Thread, *attribute),
            Access::Core { attribute, .. } => self.reads(Owner::Core, *attribute),
            Access::Set(_) | Access::Kept(_) => true,
        });
        Watch::Alone.minds(&seen)
    }

    fn reads(&self, owner: Owner, id: AttributeId) -> bool {
        self.read.contains(&self.unit.attribute(owner, id))
    }

    /// An assignment to an attribute.
    pub fn set(&self, scope: &Scope<'p>, target: &Target, value: &Expr) -> String {
        let value = self.expr(scope, value);
        let set = |owner, id, of: &str| format!("set_{} {of}{value};\n", self.unit.attribute(owner, id));
        let of = |object: &Expr| self.expr(scope, object) + " ";
        match target {
            Target::Global(id) => set(Owner::Global, *id, ""),
            Target::Thread { attribute, thread } => set(Owner::Thread, *attribute, &of(thread)),
            Target::Core { attribute, core } => set(Owner::Core, *attribute, &of(core)),
            Target::Local(_) | Target::Set(_) => format!("let _ = {value} in\n"),
        }
    }

    pub fn steal_alone(&self, scope: &Scope<'p>, name: &str, thief: &Expr, victims: &Expr) -> String {
        let (dst, from) = (self.unit.fresh("dst"), self.unit.fresh("from"));
        let (thief, victims) = (self.expr(scope, thief), self.expr(scope, victims));
        format!(
            "let {dst} = {thief} in\nlet {from} = {victims} in\n(* {name} *) steal_alone {dst} {from};\n\
             disturb ();\n"
        )
    }

    /// A loop over cores. It visits each core that was in the set at its start, once.
    pub fn for_each_core(
        &self,
        scope: &Scope<'p>,
        iteration: &Iteration,
        body: &[Stmt],
        assigned: &HashSet<LocalId>,
    ) -> String {
        let Over::Cores(set) = &iteration.over else { return String::new() };
        let x = self.unit.fresh(&scope.function.local(iteration.local).name);
        let (all, visited) = (self.unit.fresh("all"), self.unit.fresh("visited"));
        let set = self.expr(scope, set);
        let mut inner = scope.clone();
        inner.bind(iteration.local, x.clone());
        let inside = self.nested(&inner, body, assigned);
        let round = format!(
            "let {x} = any int in\nassume {{ is_core {x} /\\ mem {x} {all} /\\ not mem {x} !{visited} }};\n\
             {visited} := added {x} !{visited};\n{inside}"
        );
        let known = format!("forall c. mem c !{visited} -> is_core c /\\ mem c {all}");
        let rounds = self.rounds_over(&round, &[known], &format!("!{visited}"));
        let complete = match iteration.limit.is_none() && !breaks(body) {
            true => format!("\nassume {{ forall c. is_core c -> mem c {all} -> mem c !{visited} }};"),
            false => String::new(),
        };
        format!("let {all} = {set} in\nlet ghost {visited} = ref no_core in\n{rounds}{complete}\n")
    }
}

/// True if a block contains a `break`.
fn breaks(body: &[Stmt]) -> bool {
    struct Breaks(bool);
    impl Visitor for Breaks {
        fn stmt(&mut self, stmt: &Stmt) {
            self.0 |= matches!(stmt.kind, StmtKind::Break);
            walk_stmt(self, stmt);
        }
    }
    let mut found = Breaks(false);
    walk_block(&mut found, &body.to_vec());
    found.0
}
