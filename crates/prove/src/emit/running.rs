//! Obligations of the events of a running thread, and the attributes that only these events change.

use super::Theory;
use super::actions::OWN;
use super::alone;
use super::names;
use super::unit::Unit;
use crate::obligation::{Claim, Id, Property};
use crate::whyml::{self, Decl, Program, Why, app, deref, forall, params};
use hearth_ipanema::ir::effects::{Access, Whose};
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_stmt};
use hearth_ipanema::ir::{
    Arithmetic, AttributeId, BaseType, Event, Expr, ExprKind, Function, FunctionId, Owner, Policy, Stmt,
    StmtKind, Target, ThreadField,
};

/// The events of a running thread that goes on.
pub const RUNS: [Event; 4] = [Event::Tick, Event::Yield, Event::Preempt, Event::Block];

/// That a handler of an event in [`RUNS`], alone and from any state, satisfies `ensures`.
pub struct Goal<'a> {
    pub event: Event,
    pub handler: &'a Function,
    pub what: &'a str,
    /// Part of the module's name.
    pub name: &'a str,
    /// An attribute that is at most the thread's runtime.
    pub starts: Option<AttributeId>,
    pub requires: Vec<Why>,
    /// One clause each: the provers get them one by one.
    pub ensures: Vec<Why>,
}

pub fn emit(unit: &Unit, theory: &mut Theory, goal: &Goal) -> Id {
    let spec: Vec<Why> = goal.requires.iter().chain(&goal.ensures).cloned().collect();
    // A thread that goes to another core is new there.
    let stays = |ensures: &Why| match goal.handler.leaves_core {
        true => Why::Text("result = Just (core_of own_thread)").implies(ensures.clone()),
        false => ensures.clone(),
    };
    program(unit, theory, goal, &spec, goal.ensures.iter().map(stays).collect())
}

/// That the handler of a preemption, alone and from any state, satisfies `ensures`, which is about its result: the core on
/// which it places its thread.
pub fn leaves(unit: &Unit, theory: &mut Theory, handler: &Function, what: &str, ensures: Why) -> Id {
    let name = "leaves";
    let (starts, requires) = (None, vec![Why::Text("nr (state !now_state (core_of own_thread)) >= 0")]);
    let goal = Goal { event: Event::Preempt, handler, what, name, starts, requires, ensures: vec![ensures] };
    program(unit, theory, &goal, &goal.ensures, goal.ensures.clone())
}

/// `spec`: the formulas that the body is reduced to.
fn program(unit: &Unit, theory: &mut Theory, goal: &Goal, spec: &[Why], ensures: Vec<Why>) -> Id {
    // In all events but a tick, the core no longer counts the thread as its current one.
    let current = match goal.event {
        Event::Tick => "current (state !now_state (core_of own_thread)) = Thread own_thread",
        _ => "current (state !now_state (core_of own_thread)) = NoThread",
    };
    let mut requires = vec![
        Why::Text("is_core (core_of own_thread) /\\ sound !now_state /\\ !preempted = no_core"),
        Why::Text(current),
    ];
    if let Some(start) = goal.starts {
        let start = names::attribute(Owner::Thread, &unit.policy.thread[start.index()].name);
        let [start, ran] = [&*start, "runtime"].map(|of| app!(of, deref("present"), OWN));
        requires.push(Why::from(0).infix("<=", start.clone().infix("<=", &ran)));
        requires.push(ran.infix("-", start).infix("<=", "most_turn"));
    }
    requires.extend(goal.requires.clone());
    let spec = [&requires[..], spec].concat();
    let body = alone::body(unit, &super::events::bound(goal.handler), &[], &spec);
    let requires = [within(unit, &ensures, &body), requires].concat();
    let (result, body) = match goal.handler.leaves_core {
        true => ("maybe", super::events::caught(body)),
        false => {
            let ends = ["Placed _", "Return", "Gone"].map(|exception| (exception.into(), whyml::unit()));
            ("unit", Why::Try(body.into(), ends.into()))
        }
    };
    let runs = Decl::Program(Program {
        name: "runs".into(),
        params: params(&[(OWN, "thread"), MOST]),
        result,
        requires,
        ensures,
        body: Some(body),
        ..Default::default()
    });
    let module = names::named(&format!("Waiting_{}", goal.event.name()), goal.name);
    theory.module(&module, &[Decl::Text("use Present"), Decl::Blank, runs]);
    let claim = Claim::Goal { module, goal: "runs'vc".into() };
    theory.add(Property::Waiting, goal.event.name(), goal.what, &goal.handler.at, claim, Vec::new())
}

/// The parameter of a program in [`within`]: a limit of all times.
pub const MOST: (&str, &str) = ("limit", "int");

/// Preconditions: the times that a program and its postconditions use are at most `limit`; they, runtimes and weights are
/// within the limits of `proofs/waiting.mlw`.
pub fn within(unit: &Unit, ensures: &[Why], body: &Why) -> Vec<Why> {
    let is_used = |term: &String| ensures.iter().chain([body]).any(|part| mentions(part, term));
    let limits = [
        Why::Text("most_runtime <= limit <= most_time /\\ 0 <= now_at !present <= limit"),
        Why::Text("forall t. 0 <= runtime !present t <= most_runtime"),
        Why::Text("forall t. 1 <= weight_of !present t <= most_weight_of"),
    ];
    let of = |owner| {
        let times = unit.policy.attributes(owner).iter().filter(|a| a.ty.base == BaseType::Time);
        let used = times.map(move |a| names::attribute(owner, &a.name)).filter(is_used);
        used.map(move |term| {
            of_each(owner, &term, |time| Why::Text("- limit").infix("<=", time.infix("<=", "limit")))
        })
    };
    limits.into_iter().chain([Owner::Thread, Owner::Core, Owner::Global].into_iter().flat_map(of)).collect()
}

/// A formula about the value of an attribute, for all its owners.
pub fn of_each(owner: Owner, term: &str, formula: impl Fn(Why) -> Why) -> Why {
    match owner {
        Owner::Global => formula(app!(term, deref("present"))),
        Owner::Thread => forall("x: thread", formula(app!(term, deref("present"), "x"))),
        Owner::Core => forall("x: int", formula(app!(term, deref("present"), "x"))),
    }
}

/// True if a program reads an attribute or assigns to it.
pub fn mentions(program: &Why, attribute: &str) -> bool {
    let set = format!("set_{attribute}");
    program.any(&mut |part| matches!(part, Why::App(name, _) if name == attribute || *name == set))
}

/// The attribute in `t.runtime - t.attribute`.
pub fn ran_since(e: &Expr) -> Option<AttributeId> {
    let ExprKind::Arithmetic { op: Arithmetic::Sub, left, right } = &e.kind else { return None };
    let ExprKind::ThreadField { field: ThreadField::Runtime, .. } = left.kind else { return None };
    let ExprKind::Thread { attribute, .. } = right.kind else { return None };
    Some(attribute)
}

/// Decides whether each assignment to a thread's attribute sets it to the same thread's runtime, in `schedule` or in an
/// event of that thread.
pub fn is_restarted_by_its_own(unit: &Unit, theory: &mut Theory, start: AttributeId) -> Id {
    let policy = unit.policy;
    let name = &policy.thread[start.index()].name;
    let what = "only `schedule` and the thread's own events set it, to the thread's runtime";
    let id = Id::new(name, what);
    if theory.obligations.iter().all(|o| o.id != id) {
        let own = |event: Event| event == Event::Schedule || is_of_own_thread(policy, event, start);
        let holds =
            writers(policy, (Owner::Thread, start)).into_iter().all(own) && holds_runtime(policy, start);
        theory.decided(
            Property::Waiting,
            name,
            what,
            &super::events::nowhere(unit),
            "all assignments",
            holds,
        );
    }
    id
}

/// True if a thread's attribute is 0 or was the thread's runtime at some time.
pub fn holds_runtime(policy: &Policy, attribute: AttributeId) -> bool {
    policy.thread[attribute.index()].initial == 0
        && policy.functions.iter().all(|function| is_set_to_runtime(function, attribute))
}

/// True if each assignment to a thread's attribute in a function sets it to the same thread's runtime.
fn is_set_to_runtime(function: &Function, attribute: AttributeId) -> bool {
    struct Check(AttributeId, bool);
    impl Visitor for Check {
        fn stmt(&mut self, stmt: &Stmt) {
            if let StmtKind::Assign { target: Target::Thread { attribute, thread }, value } = &stmt.kind
                && *attribute == self.0
            {
                self.1 &= match (&thread.kind, &value.kind) {
                    (
                        ExprKind::Local(to),
                        ExprKind::ThreadField { field: ThreadField::Runtime, thread: of },
                    ) => matches!(&of.kind, ExprKind::Local(of) if of == to),
                    _ => false,
                };
            }
            walk_stmt(self, stmt);
        }
    }
    let mut check = Check(attribute, true);
    walk_block(&mut check, &function.body);
    check.1
}

/// The events whose handlers assign to an attribute, in their own code or in a function that they call, not by a
/// transition. [`Event::Balance`] stands for a steal's `move`, too.
pub fn writers(policy: &Policy, attribute: (Owner, AttributeId)) -> Vec<Event> {
    let steals = policy.steals.iter().filter(|steal| !steal.superseded);
    let phases = steals.map(|steal| (Event::Balance, policy.function(steal.move_thread)));
    let handlers = policy.handlers.iter().map(|handler| (handler.event, policy.function(handler.function)));
    let all = handlers.chain(phases).filter(|(_, function)| writes(policy, function, attribute));
    all.map(|(event, _)| event).collect()
}

/// True if a function or one that it calls assigns to an attribute.
pub fn writes(policy: &Policy, function: &Function, attribute: (Owner, AttributeId)) -> bool {
    struct Find<'p> {
        policy: &'p Policy,
        attribute: (Owner, AttributeId),
        found: bool,
    }
    impl Visitor for Find<'_> {
        fn stmt(&mut self, stmt: &Stmt) {
            if let StmtKind::Assign { target, .. } = &stmt.kind {
                self.found |= target.attribute() == Some(self.attribute);
            }
            walk_stmt(self, stmt);
        }
        fn call(&mut self, function: FunctionId, _args: &[Expr]) {
            walk_block(self, &self.policy.function(function).body);
        }
    }
    let mut find = Find { policy, attribute, found: false };
    walk_block(&mut find, &function.body);
    find.found
}

/// True if the event's thread does not wait in a queue when its handler runs, and the handler writes the attribute of
/// no other thread.
pub fn is_of_own_thread(policy: &Policy, event: Event, attribute: AttributeId) -> bool {
    let not_waiting = [&RUNS[..], &[Event::Terminate, Event::New, Event::Enqueue]].concat();
    let Some(handler) = policy.handler(event).filter(|_| not_waiting.contains(&event)) else { return false };
    policy.function(handler).effects.writes.iter().all(|access| match access {
        Access::Thread { attribute: a, of } if *a == attribute => *of == Whose::Param(0),
        _ => true,
    })
}
