//! Handlers with nobody else at work: attributes keep what is assigned to them, the clock stands still, and a loop over
//! cores visits all of them. The obligations about waiting are about such handlers, from any state.

use super::header::declarations;
use super::names;
use super::program::Program;
use super::theorems::{named, words};
use super::unit::{Scope, Unit, why_type};
use super::watch::Watch;
use crate::whyml::{self, Decl, Step, Why, app, assign, deref, forall, forall_by, not, old, params, printed};
use hearth_ipanema::ir::effects::{Access, Effects};
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_stmt};
use hearth_ipanema::ir::{
    Attribute, AttributeId, Expr, Iteration, LocalId, Over, Owner, Stmt, StmtKind, Target,
};
use std::collections::{BTreeSet, HashSet};

/// In a loop invariant: the cores that the loop has visited.
pub const VISITED: &str = "VISITED";
/// In a loop invariant or a contract: the label at the start.
pub const LABEL: &str = "LABEL";

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
    let same = attributes.iter().map(|attribute| attribute.same());
    let but = attributes.iter().filter_map(|attribute| attribute.same_but());
    let assignments = attributes.iter().flat_map(|attribute| [Decl::Blank, attribute.assignment(attributes)]);
    format!("{HEAD}\n{}end\n", printed(&same.chain(but).chain(assignments).collect::<Vec<_>>()))
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
        Assigned { name: names::attribute(owner, &attribute.name), ty: why_type(attribute.ty), of }
    }

    /// The value at a time, of an owner.
    fn value(&self, time: Why, of: &str) -> Why {
        if self.of.is_some() { app!(self.name, time, of) } else { app!(self.name, time) }
    }

    /// The predicate that two times have the same values.
    fn same(&self) -> Decl {
        let (x, ty) = self.of.unwrap_or_default();
        let [a, b] = ["a", "b"].map(|time| self.value(time.into(), x));
        let same = match self.of {
            None => b.equals(a),
            Some(_) => forall_by(&format!("{x}: {ty}"), b.clone(), b.equals(a)),
        };
        Decl::Predicate(format!("same_{}", self.name), params(&[("a", "world"), ("b", "world")]), same)
    }

    /// The predicate that two times have the same values of all but one. Of its own, since a trigger that reads a variable
    /// of a program (`!present`) matches nothing.
    fn same_but(&self) -> Option<Decl> {
        let (x, ty) = self.of?;
        let [a, b] = ["a", "b"].map(|time| self.value(time.into(), "u"));
        let kept = Why::from("u").infix("<>", x).implies(b.clone().equals(a));
        let of = params(&[("a", "world"), ("b", "world"), (x, ty)]);
        Some(Decl::Predicate(format!("same_but_{}", self.name), of, forall_by(&format!("u: {ty}"), b, kept)))
    }

    fn assignment(&self, all: &[&Assigned]) -> Decl {
        let [now, before] = [deref("present"), old(deref("present"))];
        let (x, _) = self.of.unwrap_or_default();
        let mut ensures = vec![self.value(now.clone(), x).equals("value")];
        ensures.extend(self.of.map(|_| app!(format!("same_but_{}", self.name), &before, &now, x)));
        ensures.push(app!("same_clocks", &before, &now));
        let others = all.iter().filter(|other| other.name != self.name);
        ensures.extend(others.map(|other| app!(format!("same_{}", other.name), &before, &now)));
        Decl::Program(whyml::Program {
            name: format!("set_{}", self.name),
            params: params(&self.of.into_iter().chain([("value", self.ty)]).collect::<Vec<_>>()),
            result: "unit",
            writes: vec!["present".into()],
            ensures,
            ..Default::default()
        })
    }
}

/// The body of a function, with nobody else at work. `spec`: the formulas of its module.
///
/// An assignment to an attribute that neither reads, by itself or through what is declared of the policy, is left
/// out: it changes nothing that the module is about, but is one more state of the world for the provers.
pub fn body<'p>(unit: &Unit<'p>, scope: &Scope<'p>, loop_invariants: &[Why], spec: &[Why]) -> Why {
    let attributes: BTreeSet<String> = attributes(unit).into_iter().map(|attribute| attribute.name).collect();
    let declared = declarations(unit);
    let read_in = |formula: &Why| -> BTreeSet<String> {
        let text = formula.to_string();
        let mut used = words(&text).collect();
        named(&declared, &mut used);
        used.into_iter().filter_map(|word| attributes.get(word).cloned()).collect()
    };
    let mut read: BTreeSet<String> = spec.iter().chain(loop_invariants).flat_map(&read_in).collect();
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
        target.attribute().is_none_or(|(owner, id)| self.reads(owner, id))
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
    pub fn set(&self, scope: &Scope<'p>, target: &Target, value: &Expr) -> Step {
        let value = self.expr(scope, value);
        let set = |owner, id| format!("set_{}", self.unit.attribute(owner, id));
        Step::Do(match target {
            Target::Global(id) => app!(set(Owner::Global, *id), value),
            Target::Thread { attribute, thread } => {
                app!(set(Owner::Thread, *attribute), self.expr(scope, thread), value)
            }
            Target::Core { attribute, core } => {
                app!(set(Owner::Core, *attribute), self.expr(scope, core), value)
            }
            Target::Local(_) | Target::Set(_) => return Step::Let("_".into(), value),
        })
    }

    /// A loop over cores. It visits each core that was in the set at its start, once.
    pub fn for_each_core(
        &self,
        scope: &Scope<'p>,
        iteration: &Iteration,
        body: &[Stmt],
        assigned: &HashSet<LocalId>,
        steps: &mut Vec<Step>,
    ) {
        let Over::Cores(set) = &iteration.over else { return };
        let x = self.unit.fresh(&scope.function.local(iteration.local).name);
        let (all, visited) = (self.unit.fresh("all"), self.unit.fresh("visited"));
        steps.push(Step::Let(all.clone(), self.expr(scope, set)));
        steps.push(Step::Let(format!("ghost {visited}"), Why::Text("ref no_core")));
        let mut inner = scope.clone();
        inner.bind(iteration.local, &x);
        let inside = self.nested(&inner, body, assigned);
        let (is_visited, is_wanted) =
            (|c: &str| app!("mem", c, deref(&visited)), |c: &str| app!("mem", c, &all));
        let round = vec![
            Step::Let(x.clone(), Why::Any("int")),
            Step::Assume(Why::all([app!("is_core", &x), is_wanted(&x), not(is_visited(&x))])),
            Step::Do(assign(&visited, app!("added", &x, deref(&visited)))),
        ];
        let known = forall("c", is_visited("c").implies(app!("is_core", "c").and(is_wanted("c"))));
        steps.extend(self.rounds_over(Why::block(round, inside), &[known], &deref(&visited)));
        if iteration.limit.is_none() && !breaks(body) {
            let complete = app!("is_core", "c").implies(is_wanted("c").implies(is_visited("c")));
            steps.push(Step::Assume(forall("c", complete)));
        }
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
