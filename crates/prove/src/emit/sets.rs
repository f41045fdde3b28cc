//! The policy's own invariants, and the bounds of its sets, under concurrency.
//!
//! One change of a set is atomic; a sequence of changes is not, since other events change the sets in between.
//! `empty(S)` is checked per core: an event that brings a core into S owes a repair (`ours`) until it sees the
//! core outside of S or removes it. No event may end with a repair owed. So the invariant holds for each core
//! that no running event has changed.

use super::Theory;
use super::actions::OWN;
use super::alone::LABEL;
use super::events::{bound, handler_program};
use super::names;
use super::program::Program;
use super::term::combined;
use super::unit::Unit;
use super::watch::Watch;
use crate::Invariant;
use crate::obligation::Property;
use crate::whyml::{self, Decl, Params, Step, Why, app, conditional, deref, forall, not, old, params};
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_stmt};
use hearth_ipanema::ir::{CoreSet, Event, Expr, ExprKind, Function, Place, SetId, Stmt, StmtKind, Target};

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
    let owed = app!("mem", "x", deref("ours").at(LABEL));
    let loop_invariants = vec![held(unit), forall("x", app!("mem", "x", deref("ours")).implies(owed))];
    let program = Program { loop_invariants, ..Program::watching(unit, Watch::Sets) };
    let body = program.body(&bound(handler));
    let closed = Why::Text("forall c. not mem c !ours");
    let requires = vec![held(unit), closed.clone()];
    let mut declarations = declarations(unit, broken);
    declarations.push(handler_program(unit, "keeps", parameters(handler), requires, closed, body));
    let module = format!("Invariant_{number}_{about}");
    theory.module(&module, &declarations);
    let place = Place { policy: at.policy.clone(), line: at.line, span: at.span };
    theory.goal(Property::Invariants, about, &what, &place, &module, "");
}

/// Parameters of a handler: a thread, a core, or both.
fn parameters(handler: &Function) -> Params {
    let names = [OWN, "origin"].iter().zip(handler.params());
    names.map(|(name, local)| ((*name).to_owned(), super::unit::why_type(local.ty))).collect()
}

fn names(unit: &Unit) -> Vec<String> {
    unit.policy.sets.iter().map(|set| names::set(&set.name)).collect()
}

/// A predicate of all sets and of `more`.
fn of_sets(unit: &Unit, predicate: &str, set: impl Fn(&str) -> Why, more: &[Why]) -> Why {
    let sets = names(unit).into_iter().map(|name| set(&name));
    Why::App(predicate.into(), sets.chain(more.iter().cloned()).collect())
}

/// At this moment, the invariant holds of each core that no event has to repair.
fn held(unit: &Unit) -> Why {
    of_sets(unit, "held", deref, &[deref("ours"), deref("others")])
}

/// The sets and the operations on them, with contracts.
fn declarations(unit: &Unit, broken: Why) -> Vec<Decl> {
    let names = names(unit);
    let sets = |more: &[(&str, &'static str)]| -> Params {
        names.iter().map(|name| (name.clone(), "cset")).chain(params(more)).collect()
    };
    let repaired = app!("mem", "c", "ours").or(app!("mem", "c", "others"));
    let of_c = of_sets(unit, "broken", |name| name.into(), &["c".into()]);
    let mut all = vec![
        Decl::Comment("Core c violates the invariant."),
        Decl::Predicate("broken".into(), sets(&[("c", "int")]), broken),
        Decl::Blank,
        Decl::Comment("Cores that this event, or others, have to repair."),
        Decl::Reference("ours".into(), "cset"),
        Decl::Reference("others".into(), "cset"),
    ];
    all.extend(names.iter().map(|name| Decl::Reference(name.clone(), "cset")));
    all.extend([
        Decl::Blank,
        Decl::Predicate(
            "held".into(),
            sets(&[("ours", "cset"), ("others", "cset")]),
            forall("c", of_c.implies(repaired)),
        ),
        Decl::Blank,
        Decl::Comment("Other events change the sets too."),
        Decl::Program(whyml::Program {
            name: "interleave".into(),
            result: "unit",
            requires: vec![held(unit)],
            writes: [vec!["others".into()], names.clone()].concat(),
            ensures: vec![held(unit)],
            ..Default::default()
        }),
    ]);
    for (set, name) in unit.policy.sets.iter().zip(&names) {
        all.push(Decl::Blank);
        all.extend(operations(unit, set, name).into_iter().map(Decl::Program));
    }
    all.push(Decl::Blank);
    all
}

/// The operations on a set: atomic ones, and with `interleave` before them those that events use.
fn operations(unit: &Unit, set: &CoreSet, name: &str) -> Vec<whyml::Program> {
    let (now, was) = (deref(name), old(deref(name)));
    let (ours, ours_before) = (|| deref("ours"), || old(deref("ours")));
    let is_broken = || of_sets(unit, "broken", deref, &["c".into()]);
    let was_broken = of_sets(unit, "broken", |name| old(deref(name)), &["c".into()]);
    let atomic = |verb: &str, of: &[(&str, &'static str)], result, also: &[&str], ensures| whyml::Program {
        name: names::named(verb, &set.name),
        params: params(of),
        result,
        writes: also.iter().map(|name| (*name).to_owned()).chain(["ours".into()]).collect(),
        ensures,
        ..Default::default()
    };
    let added = now.clone().equals(app!("added", "c", &was));
    let added = if set.capacity.is_some() { now.clone().equals(was.clone()).or(added) } else { added };
    let removed = now.clone().equals(app!("removed", "c", &was));
    let less = || app!("removed", "c", ours_before());
    let more = conditional(was_broken.clone(), ours_before(), app!("added", "c", ours_before()));
    let core: &[(&str, &str)] = &[("c", "int")];
    let (contains, cores_are) = (app!("mem", "c", &now), now.clone().equals("cores"));
    let left = app!("mem", "c", ours_before()).or(not(was_broken));
    let change = vec![
        conditional("add".into(), added, removed),
        ours().equals(conditional(is_broken(), more, less())),
    ];
    let see = vec![
        Why::from("result").infix("<->", contains.clone()),
        ours().equals(conditional(is_broken(), ours_before(), less())),
    ];
    let overwrite =
        vec![cores_are.clone(), forall("c", app!("mem", "c", ours()).infix("<->", is_broken().and(left)))];
    let cores: &[(&str, &str)] = &[("cores", "cset")];
    // `ensures`: besides those of each operation of an event.
    let event = |verb: &str, of: &[(&str, &'static str)], result, ensures: Vec<Why>, call: Why| {
        let interleave = Step::Do(Why::Text("interleave ()"));
        whyml::Program {
            requires: vec![held(unit)],
            writes: [vec!["ours".into(), "others".into()], names(unit)].concat(),
            body: Some(Why::block(vec![interleave], call)),
            ..atomic(verb, of, result, &[], [vec![held(unit)], ensures].concat())
        }
    };
    let of_core = |verb: &str, ensures: Vec<Why>, call: Why| {
        let open =
            app!("mem", "d", ours()).implies(app!("mem", "d", ours_before()).or(Why::from("d").equals("c")));
        let open = vec![forall("d", open), app!("mem", "c", ours()).implies(is_broken())];
        event(verb, core, "bool", [open, ensures].concat(), call)
    };
    let change_to = |add: &str| app!(names::named("change", &set.name), "c", add);
    let same = forall("d", app!("mem", "d", ours()).implies(app!("mem", "d", ours_before())));
    let seen = vec![Why::from("result").infix("<->", contains.clone()), same];
    vec![
        atomic("change", &[("c", "int"), ("add", "bool")], "bool", &[name], change),
        atomic("see", core, "bool", &[], see),
        atomic("overwrite", cores, "unit", &[name], overwrite),
        event("assign", cores, "unit", vec![cores_are], app!(names::named("overwrite", &set.name), "cores")),
        of_core("add_to", Vec::new(), change_to("true")),
        of_core("remove_from", vec![not(contains)], change_to("false")),
        of_core("is_in", seen, app!(names::named("see", &set.name), "c")),
    ]
}

/// The condition under which core `c` violates the invariant; `None` if that is not of the form `empty(...)`.
fn formula(unit: &Unit, e: &Expr) -> Option<Why> {
    match &e.kind {
        ExprKind::Empty(set) => member(unit, set),
        _ => None,
    }
}

fn member(unit: &Unit, set: &Expr) -> Option<Why> {
    match &set.kind {
        ExprKind::Set(id) => Some(app!("mem", "c", names::set(&unit.policy.sets[id.index()].name))),
        ExprKind::SetOp { op, left, right } => Some(combined(*op, member(unit, left)?, member(unit, right)?)),
        _ => None,
    }
}
