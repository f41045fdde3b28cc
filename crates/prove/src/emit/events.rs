//! The obligations of the events.

use super::Theory;
use super::actions::OWN;
use super::contract::CONTRACT;
use super::program::Program;
use super::unit::{Scope, Unit};
use super::watch::Watch;
use crate::obligation::{Claim, Id, Property};
use crate::whyml::{self, Decl, Params, Step, Why, params};
use hearth_ipanema::ir::{Event, Function, LocalId, Moves, Place};

pub const PICKS: &str = "it takes a thread if the core has one, from any of its queues";
const FINDS: &str = "the core is not left idle while another is overloaded";

pub fn emit(unit: &Unit, theory: &mut Theory) {
    for event in Event::ALL {
        let handler = unit.policy.handler(event).map(|id| unit.policy.function(id));
        match (event, handler) {
            (Event::New | Event::Unblock, Some(handler)) => placement(unit, theory, event, handler),
            (Event::Schedule, Some(handler)) => schedule(unit, theory, handler),
            (Event::Preempt, Some(handler)) if handler.leaves_core => {
                placement(unit, theory, event, handler);
                leave(theory, event, handler);
            }
            (Event::Yield | Event::Preempt, Some(handler)) => back(unit, theory, event, handler),
            (Event::Block | Event::Terminate, Some(handler)) => leave(theory, event, handler),
            (Event::NewlyIdle, handler) => newly_idle(unit, theory, handler),
            (Event::Balance, Some(handler)) => balance(unit, theory, handler),
            (Event::Timer | Event::Exit | Event::Entry, Some(handler)) => {
                moved_by_others(theory, event, handler)
            }
            (_, Some(handler)) => quiet(theory, event, handler),
            (_, None) => {}
        }
    }
}

/// A handler as a WhyML function. Its result is the core on which it placed its thread, if it did.
pub fn handler_program(
    unit: &Unit,
    name: &str,
    params: Params,
    requires: Vec<Why>,
    ensures: Why,
    body: Why,
) -> Decl {
    Decl::Program(whyml::Program {
        name: name.into(),
        params,
        result: "maybe",
        requires: [vec![queues(unit)], requires].concat(),
        ensures: vec![ensures],
        body: Some(caught(body)),
        ..Default::default()
    })
}

/// A handler's body as an expression: the core on which it placed its thread, if it did.
pub fn caught(body: Why) -> Why {
    let ends = [("Placed c", "Just c"), ("Return", "Nothing"), ("Gone", "Nothing"), ("Chosen _", "Nothing")];
    let ends = ends.map(|(exception, value)| (exception.into(), Why::Text(value)));
    Why::Try(body.then("Nothing".into()).into(), ends.into())
}

/// A handler of an event of the core `own_core`.
fn core_program(name: &str, result: &'static str, requires: Vec<Why>, ensures: Why, body: Why) -> Decl {
    Decl::Program(whyml::Program {
        name: name.into(),
        params: params(&[("own_core", "int")]),
        result,
        requires: [vec![Why::Text("is_core own_core"), Why::Text(CONSISTENT)], requires].concat(),
        ensures: vec![ensures],
        body: Some(body),
        ..Default::default()
    })
}

/// A body that returns nothing.
pub fn returning(body: Why) -> Why {
    Why::Try(body.into(), vec![("Return".into(), whyml::unit())])
}

/// Precondition: the policy's number of ready queues.
fn queues(unit: &Unit) -> Why {
    Why::from("nr_queues").equals(unit.policy.queues.len() as i64)
}

/// The scope of a thread event's handler, with its parameters: the thread, and a core.
pub fn bound(handler: &Function) -> Scope<'_> {
    let mut scope = Scope::new(handler);
    for (i, name) in ["own_thread", "origin"].iter().enumerate().take(handler.arity as usize) {
        scope.bind(LocalId(i as u32), *name);
    }
    scope
}

/// What each moment satisfies: precondition of what reads or changes cores.
pub const CONSISTENT: &str = "consistent !now_state";

pub const THREAD_EVENT: [(&str, &str); 2] = [(OWN, "thread"), ("origin", "int")];

pub fn placement_requires() -> Vec<Why> {
    vec![Why::Text("is_core origin"), Why::Text("exists c. is_core c /\\ allowed own_thread c")]
}

/// A thread that was preempted may have lost the affinity to its core; then the kernel moves it on.
fn placement(unit: &Unit, theory: &mut Theory, event: Event, handler: &Function) {
    let name = event.name();
    for (property, places, goal, ensures, what) in [
        (
            Property::Conservation,
            true,
            "conserves",
            "match result with Just c -> conserved_by !now_state own_thread c | Nothing -> true end",
            "no core stays idle while the thread makes another overloaded",
        ),
        (
            Property::Invariants,
            false,
            "affinity",
            match event {
                Event::Preempt => {
                    "match result with Just c -> is_core c /\\ (allowed own_thread c \\/ c = core_of own_thread) | Nothing -> true end"
                }
                _ => "match result with Just c -> is_core c /\\ allowed own_thread c | Nothing -> true end",
            },
            match event {
                Event::Preempt => "the thread stays, or goes to a core of its affinity",
                _ => "the thread goes to a core of its affinity",
            },
        ),
    ] {
        unit.restart();
        let watch = if places { Watch::Cores } else { Watch::Affinity };
        let absent = Why::Text("absent !now_state own_thread");
        let mut program = Program { places, ..Program::watching(unit, watch) };
        let mut requires = placement_requires();
        if places {
            requires.extend([Why::Text(CONSISTENT), Why::Text("in_transit own_thread"), absent.clone()]);
            program.loop_invariants.push(absent);
        }
        let body = program.body(&bound(handler));
        let program = handler_program(unit, goal, params(&THREAD_EVENT), requires, Why::Text(ensures), body);
        let module = format!("{}_{name}", capital(property.name()));
        theory.module(&module, &[program]);
        theory.goal(property, name, what, &handler.at, &module, &format!("{goal}'vc"));
    }
    once(theory, name, handler);
}

/// Each path of a placement puts the thread on exactly one queue.
fn once(theory: &mut Theory, name: &str, handler: &Function) {
    let holds = matches!(handler.moves, Moves::Always { .. });
    let what = "the thread enters one queue, once";
    theory.decided(Property::Invariants, name, what, &handler.at, "paths of the handler", holds);
}

fn schedule(unit: &Unit, theory: &mut Theory, handler: &Function) {
    unit.restart();
    let mut scope = Scope::new(handler);
    scope.bind(LocalId(0), "own_core");
    let program = Program::watching(unit, Watch::OwnCore);
    let ends = [("Chosen t", "Thread t"), ("Return", "NoThread")];
    let ends = ends.map(|(exception, value)| (exception.into(), Why::Text(value)));
    let body = Why::Try(program.body(&scope).then("NoThread".into()).into(), ends.into());
    let took = Why::Text("took !now_state own_core result");
    let picks = core_program("picks", "maybe_thread", vec![queues(unit)], took, body);
    theory.module("Conservation_schedule", &[picks]);
    theory.goal(Property::Conservation, "schedule", PICKS, &handler.at, "Conservation_schedule", "picks'vc");
}

/// The thread waits on its core again, which then calls `schedule`: the theorem `stays` of `proofs/composition.mlw`.
fn back(unit: &Unit, theory: &mut Theory, event: Event, handler: &Function) {
    unit.restart();
    let program = Program::watching(unit, Watch::Cores);
    let body = program.body(&bound(handler));
    let ensures = "match result with Just c -> c = core_of own_thread | Nothing -> true end";
    let (own, requires) = (params(&[(OWN, "thread")]), vec![Why::Text(CONSISTENT)]);
    let stays = handler_program(unit, "stays", own, requires, Why::Text(ensures), body);
    let module = format!("Conservation_{}", event.name());
    theory.module(&module, &[stays]);
    let claim = Claim::Goal { module, goal: "stays'vc".into() };
    let what = "the thread stays on its core, which takes another";
    theory.add(
        Property::Conservation,
        event.name(),
        what,
        &handler.at,
        claim,
        vec![Id::new("schedule", PICKS)],
    );
}

/// The core that the thread leaves calls `schedule`, and then `newly_idle`: the theorem `leaves` of
/// `proofs/composition.mlw`, whose assumptions are the obligations on which this one rests.
fn leave(theory: &mut Theory, event: Event, handler: &Function) {
    let what = "the core that the thread leaves takes another, or looks for one";
    let rests_on = vec![Id::new("schedule", PICKS), Id::new("newly_idle", FINDS)];
    let module = format!("Leaving_{}", event.name());
    let claim = match handler.effects.steals.is_empty() {
        true => Claim::Goal { module: module.clone(), goal: "leaves'vc".into() },
        false => Claim::Decided { by: "effects of the handler".into(), holds: false },
    };
    let (found, body) = (Why::Text("found !now_state own_core"), Why::Text("Whole.leaves own_core"));
    let leaves = core_program("leaves", "unit", Vec::new(), found, body);
    theory.module(&module, &[Decl::Text("use composition.Composition as Whole"), Decl::Blank, leaves]);
    theory.add(Property::Conservation, event.name(), what, &handler.at, claim, rests_on);
}

/// The place of what the policy does not have.
pub fn nowhere(unit: &Unit) -> Place {
    Place { policy: unit.policy.name.clone(), line: 0, span: Default::default() }
}

fn newly_idle(unit: &Unit, theory: &mut Theory, handler: Option<&Function>) {
    unit.restart();
    let mut rests_on = Vec::new();
    let mut body = whyml::unit();
    let at = handler.map_or_else(|| nowhere(unit), |handler| handler.at.clone());
    if let Some(handler) = handler {
        let mut scope = Scope::new(handler);
        scope.bind(LocalId(0), "own_core");
        let program = Program::watching(unit, Watch::Cores);
        body = program.body(&scope);
        rests_on = contracts(unit, handler);
    }
    let found = Why::Text("found !now_state own_core");
    let finds = core_program("finds", "unit", Vec::new(), found, returning(body));
    theory.module("Conservation_newly_idle", &[finds]);
    let goal = "finds'vc";
    let claim = Claim::Goal { module: "Conservation_newly_idle".into(), goal: goal.into() };
    theory.add(Property::Conservation, "newly_idle", FINDS, &at, claim, rests_on);
}

fn balance(unit: &Unit, theory: &mut Theory, handler: &Function) {
    unit.restart();
    let mut scope = Scope::new(handler);
    scope.bind(LocalId(0), "own_core");
    let pulled = Why::Text("forall i. is_core i -> mem i !pulled -> conserved_for !now_state i");
    let mut program = Program::watching(unit, Watch::Cores);
    program.loop_invariants.push(pulled.clone());
    let body = Why::block(vec![Step::Do(Why::Text("pull_none ()"))], program.body(&scope));
    let balances = core_program("balances", "unit", Vec::new(), pulled, returning(body));
    theory.module("Conservation_balance", &[balances]);
    let what = "no core that it steals for is left idle while another is overloaded";
    let claim = Claim::Goal { module: "Conservation_balance".into(), goal: "balances'vc".into() };
    theory.add(Property::Conservation, "balance", what, &handler.at, claim, contracts(unit, handler));
}

/// A handler that moves no thread changes no core.
fn quiet(theory: &mut Theory, event: Event, handler: &Function) {
    let holds = !handler.effects.moves && handler.effects.steals.is_empty();
    let what = "it moves no thread";
    theory.decided(Property::Conservation, event.name(), what, &handler.at, "effects of the handler", holds);
}

fn moved_by_others(theory: &mut Theory, event: Event, handler: &Function) {
    if !handler.effects.moves {
        return quiet(theory, event, handler);
    }
    let what = "no core stays idle while another is overloaded";
    let construct = "a thread that leaves a core which runs none at that time";
    theory.not_modelled(Property::Conservation, event.name(), what, &handler.at, construct);
}

/// The contracts of the steals that a handler calls.
pub fn contracts(unit: &Unit, handler: &Function) -> Vec<Id> {
    let contract = |id: &hearth_ipanema::ir::StealId| {
        let name = &unit.policy.steals[id.index()].name;
        let goals = CONTRACT.iter().map(|(_, what)| Id::new(name, what));
        goals.chain([Id::new(name, super::steals::TO_THE_THIEF)]).collect::<Vec<_>>()
    };
    handler.effects.steals.iter().flat_map(contract).collect()
}

fn capital(name: &str) -> String {
    name[..1].to_uppercase() + &name[1..]
}
