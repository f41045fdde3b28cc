//! The order of a queue that is sorted by an attribute: a thread that ran comes back with a larger key, and nothing else
//! changes the keys of threads that wait.

use super::Theory;
use super::actions::OWN;
use super::alone;
use super::events::nowhere;
use super::running::{
    self, Goal, RUNS, is_of_own_thread, is_restarted_by_its_own, mentions, ran_since, within, writers,
};
use super::names;
use super::unit::{Scope, Unit};
use crate::obligation::{Claim, Id, Property};
use crate::whyml::{Decl, Program, Why, app, deref, forall, old, params};
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_expr};
use hearth_ipanema::ir::{AttributeId, BaseType, Event, Expr, Function, FunctionId, LocalId, Owner, Policy};
use std::collections::BTreeSet;

/// The queue's key, and the attributes on which its obligations depend.
struct Key {
    /// Its name in the policy, and in WhyML.
    name: String,
    term: String,
    /// The runtime when the thread was last charged.
    charged: Option<AttributeId>,
    /// The terms of the cores where the thread became ready last: only `enqueue` assigns to them.
    homes: Vec<String>,
}

/// Emits the obligations of a queue, and returns them.
pub fn emit(unit: &Unit, theory: &mut Theory, id: AttributeId) -> Vec<Id> {
    let policy = unit.policy;
    let name = policy.thread[id.index()].name.clone();
    let term = names::attribute(Owner::Thread, &name);
    let key = Key { term, charged: charged(policy, id), homes: homes(policy), name };
    let what = format!("only the thread's own events change `{}`", key.name);
    let own = writers(policy, id).into_iter().all(|event| is_of_own_thread(policy, event, id));
    theory.decided(Property::Waiting, &key.name, &what, &nowhere(unit), "effects of all handlers", own);
    let mut rests_on = vec![Id::new(&key.name, &what)];
    rests_on.extend(key.charged.map(|charged| is_restarted_by_its_own(unit, theory, charged)));
    if let Some(enqueue) = policy.handler(Event::Enqueue).map(|id| policy.function(id)) {
        rests_on.push(entered(unit, theory, enqueue, &key));
    }
    for event in RUNS {
        if let Some(handler) = policy.handler(event).map(|id| policy.function(id)) {
            rests_on.push(ran(unit, theory, event, handler, &key));
        }
    }
    rests_on
}

fn homes(policy: &Policy) -> Vec<String> {
    let is_home = |id: &AttributeId| {
        let ty = policy.thread[id.index()].ty;
        ty.base == BaseType::Core && ty.optional && writers(policy, *id) == [Event::Enqueue]
    };
    let ids = (0..policy.thread.len()).map(|i| AttributeId(i as u32)).filter(is_home);
    ids.map(|id| names::attribute(Owner::Thread, &policy.thread[id.index()].name)).collect()
}

/// The attribute in `t.runtime - t.attribute` where a running thread's events change the key.
fn charged(policy: &Policy, key: AttributeId) -> Option<AttributeId> {
    struct Find<'p> {
        policy: &'p Policy,
        found: BTreeSet<AttributeId>,
    }
    impl Visitor for Find<'_> {
        fn expr(&mut self, e: &Expr) {
            self.found.extend(ran_since(e));
            walk_expr(self, e);
        }
        fn call(&mut self, function: FunctionId, _args: &[Expr]) {
            walk_block(self, &self.policy.function(function).body);
        }
    }
    let handlers = RUNS.iter().filter_map(|event| policy.handler(*event)).map(|id| policy.function(id));
    handlers.filter(|handler| running::writes(policy, handler, key)).find_map(|handler| {
        let mut find = Find { policy, found: BTreeSet::new() };
        walk_block(&mut find, &handler.body);
        // A charge sets the attribute; a comparison alone does not.
        find.found.into_iter().find(|id| running::writes(policy, handler, *id))
    })
}

/// A thread that becomes ready on the core where it was before keeps its key or gets a larger one.
fn entered(unit: &Unit, theory: &mut Theory, enqueue: &Function, key: &Key) -> Id {
    let mut scope = Scope::new(enqueue);
    scope.bind(LocalId(0), OWN);
    scope.bind(LocalId(1), "core");
    let of_thread = |attribute: &str, time: Why| app!(attribute, time, OWN);
    let at_home: Vec<Why> =
        key.homes.iter().map(|home| of_thread(home, deref("present")).equals(app!("Just", "core"))).collect();
    let (now, before) = (of_thread(&key.term, deref("present")), of_thread(&key.term, old(deref("present"))));
    let ensures = Why::all([now.infix(">=", before)].into_iter().chain(at_home.clone()));
    let body = alone::body(unit, &scope, &[], std::slice::from_ref(&ensures));
    let mut requires = vec![Why::Text("is_core core /\\ sound !now_state")];
    requires.extend(within(unit, &body));
    requires.extend(key.charged.into_iter().flat_map(|charged| any_turn(unit, charged, &body)));
    requires.extend(at_home);
    let enters = Decl::Program(Program {
        name: "enters".into(),
        params: params(&[(OWN, "thread"), ("core", "int")]),
        result: "unit",
        requires,
        ensures: vec![ensures],
        body: Some(super::events::returning(body)),
        ..Default::default()
    });
    let module = names::named("Waiting_enqueue", &key.name);
    theory.module(&module, &[Decl::Text("use Present"), Decl::Blank, enters]);
    let what = format!("a thread that returns to its core keeps its `{}`, or gets a larger one", key.name);
    let claim = Claim::Goal { module, goal: "enters'vc".into() };
    theory.add(Property::Waiting, "enqueue", &what, &enqueue.at, claim, Vec::new())
}

/// Precondition of a handler that also charges the thread which runs on the core: `is_restarted_by_its_own` and the limit
/// of a turn (`proofs/waiting.mlw`) hold for each thread.
fn any_turn(unit: &Unit, charged: AttributeId, program: &Why) -> Vec<Why> {
    let charged = names::attribute(Owner::Thread, &unit.policy.thread[charged.index()].name);
    if !mentions(program, &charged) {
        return Vec::new();
    }
    let [charged, ran] = [&*charged, "runtime"].map(|of| app!(of, deref("present"), "t"));
    let charged_before =
        Why::from(0).infix("<=", charged.clone().infix("<=", ran.clone().infix("<=", "most_runtime")));
    let turn = ran.infix("-", charged).infix("<=", "most_turn");
    vec![forall("t", charged_before), forall("t", turn)]
}

/// An event of the running thread adds what it ran to its key. A tick may leave that to a later event.
fn ran(unit: &Unit, theory: &mut Theory, event: Event, handler: &Function, key: &Key) -> Id {
    let what = format!("it adds what the thread ran to its `{}`", key.name);
    let Some(charged) = key.charged else {
        let construct = "a charge without a difference `t.runtime - t.attribute`";
        theory.not_modelled(Property::Waiting, event.name(), &what, &handler.at, construct);
        return Id::new(event.name(), &what);
    };
    let charged_of = names::attribute(Owner::Thread, &unit.policy.thread[charged.index()].name);
    let [now, before] = [deref("present"), old(deref("present"))];
    let [key_now, key_before] = [&now, &before].map(|time| app!(key.term, time, OWN));
    let [charged_now, charged_before] = [&now, &before].map(|time| app!(charged_of, time, OWN));
    let ran = app!("runtime", now, OWN);
    let long = ran.clone().infix("-", &charged_before).infix(">=", "least_turn");
    let mut ensures = Why::all([
        key_now.clone().infix(">=", &key_before),
        charged_now.clone().equals(&ran),
        long.implies(key_now.clone().infix(">=", key_before.clone().infix("+", 1))),
    ]);
    if event == Event::Tick {
        ensures = ensures.or(key_now.equals(key_before).and(charged_now.equals(charged_before)));
    }
    let home =
        |home: &String| app!(home, deref("present"), OWN).equals(Why::Text("Just (core_of own_thread)"));
    let requires = key.homes.iter().map(home).collect();
    let goal =
        Goal { event, handler, what: &what, name: &key.name, starts: Some(charged), requires, ensures };
    running::emit(unit, theory, &goal)
}
