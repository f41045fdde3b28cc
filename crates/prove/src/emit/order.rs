//! The order of a queue that is sorted by an attribute: a thread that ran comes back with a larger key, and nothing else
//! changes the keys of threads that wait.

use super::Theory;
use super::actions::OWN;
use super::alone;
use super::events::nowhere;
use super::flow::{self, Source};
use super::names;
use super::running::{
    self, Goal, MOST, RUNS, is_of_own_thread, is_restarted_by_its_own, mentions, ran_since, within, writers,
};
use super::unit::{Scope, Unit};
use crate::obligation::{Claim, Id, Property};
use crate::whyml::{self, Decl, Program, Why, app, deref, forall, old, params};
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_expr};
use hearth_ipanema::ir::{AttributeId, BaseType, Event, Expr, Function, FunctionId, LocalId, Owner, Policy};
use std::collections::BTreeSet;

/// The queue's key, and the attributes on which its obligations depend.
struct Key {
    /// Its name in the policy, and in WhyML.
    name: String,
    term: String,
    /// The runtime when the thread was last charged, and its term.
    charged: Option<AttributeId>,
    charged_term: String,
    /// The terms of the cores where the thread became ready last: only `enqueue` assigns to them.
    homes: Vec<String>,
    /// The other times from which handlers compute the key.
    sources: Vec<Source>,
}

/// A formula about a thread at two times.
struct Times {
    before: Why,
    after: Why,
    thread: &'static str,
}

impl Times {
    /// Those of a handler of the event's own thread.
    fn of_handler() -> Self {
        Times { before: old(deref("present")), after: deref("present"), thread: OWN }
    }

    /// The arguments of a predicate.
    fn of_predicate() -> Self {
        Times { before: "a".into(), after: "b".into(), thread: "t" }
    }

    fn both(&self, of: &str) -> [Why; 2] {
        [&self.before, &self.after].map(|time| app!(of, time, self.thread))
    }
}

impl Key {
    /// The thread's key is of this core.
    fn at_home(&self, time: &Why, thread: &str, core: &Why) -> Vec<Why> {
        let home = |home: &String| app!(home, time, thread).equals(app!("Just", core));
        self.homes.iter().map(home).collect()
    }

    fn when_at_home(&self, times: &Times, core: &Why, formula: Why) -> Why {
        match self.homes.is_empty() {
            true => formula,
            false => Why::all(self.at_home(&times.before, times.thread, core)).implies(formula),
        }
    }

    /// What `enqueue` does: afterwards the key is of this core; it is not less if it was before.
    fn entered(&self, times: &Times, core: &Why) -> Why {
        let [before, after] = times.both(&self.term);
        let keeps = self.when_at_home(times, core, after.infix(">=", before));
        Why::all(self.at_home(&times.after, times.thread, core).into_iter().chain([keeps]))
    }

    /// What an event of the running thread does: it adds what the thread ran since its last charge.
    fn charged(&self, times: &Times) -> Why {
        let [before, after] = times.both(&self.term);
        let [_, charged] = times.both(&self.charged_term);
        Why::all([
            after.clone().infix(">=", &before),
            charged.equals(app!("runtime", &times.after, times.thread)),
            self.long(times).implies(after.infix(">=", before.infix("+", 1))),
        ])
    }

    /// The thread ran long enough that it counts.
    fn long(&self, times: &Times) -> Why {
        self.ran(times).infix(">=", "least_turn")
    }

    /// What the thread ran since its last charge.
    fn ran(&self, times: &Times) -> Why {
        let [charged, _] = times.both(&self.charged_term);
        app!("runtime", &times.after, times.thread).infix("-", charged)
    }

    /// The key does not grow by more than what was run allows: it stays below the limit of `proofs/waiting.mlw` for as long
    /// as that says.
    fn grows(&self, times: &Times, ran: &Why) -> Why {
        let [_, after] = times.both(&self.term);
        after.infix("<=", step(ran))
    }

    /// The events that change the times from which it is computed.
    fn paced_by(&self, policy: &Policy) -> impl Iterator<Item = Event> {
        self.sources.iter().flat_map(move |source| writers(policy, (source.owner, source.id)))
    }

    /// The same of the times from which it is computed, which must not fall too fast either. One clause for each bound:
    /// the provers get them one by one.
    fn sources_grow(&self, ran: &Why) -> Vec<Why> {
        let bounds = |source: &Source| {
            let at_least = |time: Why| Why::Prefix("-", step(ran).into()).infix("<=", time);
            let at_most = |time: Why| time.infix("<=", step(ran));
            let Source { owner, term, .. } = source;
            [running::of_each(*owner, term, at_least), running::of_each(*owner, term, at_most)]
        };
        self.sources.iter().flat_map(bounds).collect()
    }
}

/// The largest time after an event, where none was over the limit before it.
fn step(ran: &Why) -> Why {
    Why::from(MOST.0).infix("+", app!("most_step", ran))
}

/// Emits the obligations of a queue. Returns them, and the declarations of its last step; `None` without a charge.
pub fn emit(unit: &Unit, theory: &mut Theory, id: AttributeId) -> (Vec<Id>, Option<Vec<Decl>>) {
    let policy = unit.policy;
    let name = policy.thread[id.index()].name.clone();
    let term = names::attribute(Owner::Thread, &name);
    let charged = charged(policy, id);
    let charged_term = charged
        .map(|id| names::attribute(Owner::Thread, &policy.thread[id.index()].name))
        .unwrap_or_default();
    let sources = flow::sources(policy, id);
    let key = Key { term, charged, charged_term, homes: homes(policy), sources, name };
    let what = format!("only the thread's own events change `{}`", key.name);
    let own =
        writers(policy, (Owner::Thread, id)).into_iter().all(|event| is_of_own_thread(policy, event, id));
    theory.decided(Property::Waiting, &key.name, &what, &nowhere(unit), "effects of all handlers", own);
    let mut rests_on = vec![Id::new(&key.name, &what), sources_are_of_runs(unit, theory, &key)];
    rests_on.extend(key.charged.map(|charged| is_restarted_by_its_own(unit, theory, charged)));
    if let Some(enqueue) = policy.handler(Event::Enqueue).map(|id| policy.function(id)) {
        rests_on.push(entered(unit, theory, enqueue, &key));
    }
    for event in RUNS {
        if let Some(handler) = policy.handler(event).map(|id| policy.function(id)) {
            rests_on.push(ran(unit, theory, event, handler, &key));
        }
    }
    if let Some(handler) = policy.handler(Event::Schedule).map(|id| policy.function(id)) {
        rests_on.extend(chosen(unit, theory, handler, &key));
    }
    if let Some(handler) = policy.handler(Event::Terminate).map(|id| policy.function(id)) {
        rests_on.extend(ended(unit, theory, handler, &key));
    }
    let closing = key.charged.map(|_| closing(policy, &key));
    (rests_on, closing)
}

/// The events that may change the times from which the key is computed. Their handlers have an obligation about it.
const CHANGE: [Event; 7] = [
    Event::Tick,
    Event::Yield,
    Event::Preempt,
    Event::Block,
    Event::Terminate,
    Event::Enqueue,
    Event::Schedule,
];

/// Decides whether only events with an obligation about it change the times from which the key is computed.
fn sources_are_of_runs(unit: &Unit, theory: &mut Theory, key: &Key) -> Id {
    let what = "only `enqueue`, `schedule` and the events of a running thread change the times from which it is computed";
    let holds = key.paced_by(unit.policy).all(|event| CHANGE.contains(&event));
    theory.decided(Property::Waiting, &key.name, what, &nowhere(unit), "effects of all handlers", holds)
}

const PACE: &str =
    "it changes the times from which a key is computed by at most 1024 times what was run, and a second";

/// A thread that ends does not change the times of the key by more than what it ran allows.
fn ended(unit: &Unit, theory: &mut Theory, handler: &Function, key: &Key) -> Option<Id> {
    if !key.paced_by(unit.policy).any(|event| event == Event::Terminate) {
        return None;
    }
    let ran = match key.charged {
        Some(_) => key.ran(&Times::of_handler()),
        None => Why::from(0),
    };
    let ensures = key.sources_grow(&ran);
    let (event, starts, requires) = (Event::Terminate, key.charged, Vec::new());
    let goal = Goal { event, handler, what: PACE, name: &key.name, starts, requires, ensures };
    Some(running::emit(unit, theory, &goal))
}

/// A core that chooses a thread does not change the times of the key by more than a step.
fn chosen(unit: &Unit, theory: &mut Theory, handler: &Function, key: &Key) -> Option<Id> {
    if !key.paced_by(unit.policy).any(|event| event == Event::Schedule) {
        return None;
    }
    let mut scope = Scope::new(handler);
    scope.bind(LocalId(0), "core");
    let ensures = key.sources_grow(&Why::from(0));
    let body = alone::body(unit, &scope, &[], &ensures);
    let mut requires = vec![Why::Text("is_core core /\\ sound !now_state")];
    requires.extend(within(unit, &ensures, &body));
    let ends = [("Chosen _", whyml::unit()), ("Return", whyml::unit())];
    let body = Why::Try(body.into(), ends.map(|(exception, value)| (exception.into(), value)).into());
    let chooses = Decl::Program(Program {
        name: "chooses".into(),
        params: params(&[("core", "int"), MOST]),
        result: "unit",
        requires,
        ensures,
        body: Some(body),
        ..Default::default()
    });
    let module = names::named("Waiting_schedule", &key.name);
    theory.module(&module, &[Decl::Text("use Present"), Decl::Blank, chooses]);
    let claim = Claim::Goal { module, goal: "chooses'vc".into() };
    Some(theory.add(Property::Waiting, "schedule", PACE, &handler.at, claim, Vec::new()))
}

const CLONE: &str = "\
clone closing.Queue with function key = key, predicate is_home = is_home,
    predicate ran = ran, predicate entered = entered, goal turn_adds, goal comes_back";

const AT: [(&str, &str); 3] = [("w", "world"), ("t", "thread"), ("c", "int")];
const BETWEEN: [(&str, &str); 4] = [("a", "world"), ("b", "world"), ("t", "thread"), ("c", "int")];

/// What the handlers have been proved to do, as premises of the theorem about the queue.
fn closing(policy: &Policy, key: &Key) -> Vec<Decl> {
    let times = Times::of_predicate();
    let all = |formulas: Vec<Why>| if formulas.is_empty() { "true".into() } else { Why::all(formulas) };
    let kept = key.homes.iter().map(|home| {
        let [before, after] = times.both(home);
        after.equals(before)
    });
    let ran = Why::all([key.charged(&times), key.long(&times)].into_iter().chain(kept));
    let entered = match policy.handler(Event::Enqueue) {
        Some(_) => key.entered(&times, &"c".into()),
        None => {
            let [before, after] = times.both(&key.term);
            after.equals(before)
        }
    };
    vec![
        Decl::Text("use waiting.Limits"),
        Decl::Blank,
        Decl::Define("key".into(), params(&AT[..2]), "int", app!(key.term, "w", "t")),
        Decl::Predicate("is_home".into(), params(&AT), all(key.at_home(&"w".into(), "t", &"c".into()))),
        Decl::Comment("A turn that counts. Only `enqueue` assigns a home."),
        Decl::Predicate("ran".into(), params(&BETWEEN), ran),
        Decl::Predicate("entered".into(), params(&BETWEEN), entered),
        Decl::Blank,
        Decl::Text(CLONE),
    ]
}

/// The last step for a queue without a key: a thread that enters is behind all that wait.
pub fn first_in_first_out() -> Vec<Decl> {
    vec![
        Decl::Comment("The order in which threads have entered: the queue keeps it."),
        Decl::Function("key".into(), params(&AT[..2]), "int"),
        Decl::Predicate("is_home".into(), params(&AT), "true".into()),
        Decl::Predicate("ran".into(), params(&BETWEEN), Why::Text("key b t = key a t")),
        Decl::Predicate("entered".into(), params(&BETWEEN), Why::Text("key b t > key a t")),
        Decl::Blank,
        Decl::Text(CLONE),
    ]
}

/// The optional cores of a thread that only `enqueue` sets, of the thread that enters.
fn homes(policy: &Policy) -> Vec<String> {
    let is_home = |id: &AttributeId| {
        let ty = policy.thread[id.index()].ty;
        ty.base == BaseType::Core
            && ty.optional
            && writers(policy, (Owner::Thread, *id)) == [Event::Enqueue]
            && is_of_own_thread(policy, Event::Enqueue, *id)
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
    handlers.filter(|handler| running::writes(policy, handler, (Owner::Thread, key))).find_map(|handler| {
        let mut find = Find { policy, found: BTreeSet::new() };
        walk_block(&mut find, &handler.body);
        // A charge sets the attribute; a comparison alone does not.
        find.found.into_iter().find(|id| running::writes(policy, handler, (Owner::Thread, *id)))
    })
}

/// A thread that becomes ready on the core where it was before keeps its key or gets a larger one; on another core, its key
/// becomes one of that core.
fn entered(unit: &Unit, theory: &mut Theory, enqueue: &Function, key: &Key) -> Id {
    let mut scope = Scope::new(enqueue);
    scope.bind(LocalId(0), OWN);
    scope.bind(LocalId(1), "core");
    let times = Times::of_handler();
    // A key of another core is converted: it is as far from that core's times as it was from the other's.
    let longest = Why::from("longest");
    let grows = key.when_at_home(&times, &"core".into(), key.grows(&times, &longest));
    let ensures = [vec![key.entered(&times, &"core".into()), grows], key.sources_grow(&longest)].concat();
    let body = alone::body(unit, &scope, &[], &ensures);
    let mut requires = vec![Why::Text("is_core core /\\ sound !now_state")];
    requires.extend(within(unit, &ensures, &body));
    requires.push(Why::Text("0 <= longest <= most_turn"));
    requires.extend(key.charged.into_iter().flat_map(|charged| any_turn(unit, charged, &body)));
    let enters = Decl::Program(Program {
        name: "enters".into(),
        params: params(&[(OWN, "thread"), ("core", "int"), MOST, ("longest", "int")]),
        result: "unit",
        requires,
        ensures,
        body: Some(super::events::returning(body)),
        ..Default::default()
    });
    let module = names::named("Waiting_enqueue", &key.name);
    theory.module(&module, &[Decl::Text("use Present"), Decl::Blank, enters]);
    let what = format!(
        "it notes the core; a thread that returns to its core keeps its `{}`, or gets a larger one",
        key.name
    );
    let claim = Claim::Goal { module, goal: "enters'vc".into() };
    theory.add(Property::Waiting, "enqueue", &what, &enqueue.at, claim, Vec::new())
}

/// Precondition of a handler that also charges the thread which runs on the core: `is_restarted_by_its_own` holds for each
/// thread, and none has run for more than `longest`.
fn any_turn(unit: &Unit, charged: AttributeId, program: &Why) -> Vec<Why> {
    let charged = names::attribute(Owner::Thread, &unit.policy.thread[charged.index()].name);
    if !mentions(program, &charged) {
        return Vec::new();
    }
    let [charged, ran] = [&*charged, "runtime"].map(|of| app!(of, deref("present"), "t"));
    let charged_before =
        Why::from(0).infix("<=", charged.clone().infix("<=", ran.clone().infix("<=", "most_runtime")));
    let turn = ran.infix("-", charged).infix("<=", "longest");
    vec![forall("t", charged_before), forall("t", turn)]
}

pub const NO_CHARGE: &str = "a charge without a difference `t.runtime - t.attribute`";

/// An event of the running thread adds what it ran to its key. A tick may leave that to a later event.
fn ran(unit: &Unit, theory: &mut Theory, event: Event, handler: &Function, key: &Key) -> Id {
    let what = format!("it adds what the thread ran to its `{}`", key.name);
    if key.charged.is_none() {
        theory.not_modelled(Property::Waiting, event.name(), &what, &handler.at, NO_CHARGE);
        return Id::new(event.name(), &what);
    }
    let times = Times::of_handler();
    let mut ensures = key.charged(&times);
    if event == Event::Tick {
        let [key_before, key_now] = times.both(&key.term);
        let [charged_before, charged_now] = times.both(&key.charged_term);
        ensures = ensures.or(key_now.equals(key_before).and(charged_now.equals(charged_before)));
    }
    let ran = key.ran(&times);
    let ensures = [vec![ensures, key.grows(&times, &ran)], key.sources_grow(&ran)].concat();
    let requires = key.at_home(&deref("present"), OWN, &app!("core_of", OWN));
    let goal = Goal { event, handler, what: &what, name: &key.name, starts: key.charged, requires, ensures };
    running::emit(unit, theory, &goal)
}
