//! The obligations of a steal: its filter, its thread rule and its stop conditions satisfy the axioms of
//! `proofs/steal.mlw`, and each moved thread lowers the sum of the squared loads.

use super::Theory;
use super::actions::OWN;
use super::contract::CONTRACT;
use super::names;
use super::term::Terms;
use super::unit::{Scope, Unit};
use crate::obligation::{Claim, Id, Property};
use crate::whyml::{Decl, Params, Step, Why, app, exists, forall, params};
use hearth_ipanema::ir::effects::Access;
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_expr};
use hearth_ipanema::ir::{
    CoreField, Event, Expr, ExprKind, Function, FunctionId, LocalId, Policy, Steal, ThreadField,
};

pub const TO_THE_THIEF: &str = "a stolen thread goes to the thief";

pub const SAME: &str = "all steals lower the same sum, so that none undoes what another does";
pub const ONCE: &str = "each candidate is tried once: at most n - 1 attempts in a call";
pub const SUCCEEDS: &str = "an idle core fails on an overloaded one only if another event changed it";

/// The theory of steals, of this steal's phases, and goals about them.
const CLONE: &str = "\
clone export steal.Phases with
    predicate can_steal = can_steal, predicate rule = rule,
    predicate enough_of_core = enough_of_core, predicate enough = enough,
    goal complete, goal safe, goal takes, goal not_too_early

  goal succeeds: forall r v w dst src.
    is_core dst -> is_core src -> src <> dst -> sound v -> still r v w ->
    nr (state v dst) = 0 -> may (state v src) dst >= 2 ->
    can_steal r dst src /\\ exists t. waits (state v src) t /\\ rule r dst src t

  goal affinity: forall r v w dst src t.
    is_core dst -> is_core src -> src <> dst -> sound v -> still r v w ->
    rule r dst src t -> allowed t dst";

const OTHERS: &str = "a move changes what it measures on its two cores only";
const UNTOUCHED: &str = "only its steals change what they measure";

pub fn module_name(steal: &str) -> String {
    names::named("Steal", steal)
}

/// Registers the sums over queues that a steal's phases contain.
pub fn summed(unit: &Unit, steal: &Steal) {
    unit.restart();
    let phases = Phases { unit, steal };
    phases.can_steal("r", "dst", "src");
    phases.rule("r", "dst", "src", "t");
    phases.measured("r", "v", "src");
}

pub fn emit(unit: &Unit, theory: &mut Theory, steal: &Steal, all: &[&Steal]) {
    unit.restart();
    let module = module_name(&steal.name);
    let phases = Phases { unit, steal };
    let [dst_src, stolen] = [&[("dst", "int"), ("src", "int")][..], &[("stolen", "int")]].map(params);
    let of_readings = |more: &[(&str, &'static str)]| {
        [params(&[("r", "readings")]), dst_src.clone(), params(more)].concat()
    };
    let phase = |name: &str, params: &Params, body: Why| {
        [Decl::Predicate(name.into(), params.clone(), body), Decl::Blank]
    };
    let (own, with_thread) = (of_readings(&[]), of_readings(&[("t", "thread")]));
    let mut declarations: Vec<Decl> = [
        phase("can_steal", &own, phases.can_steal("r", "dst", "src")),
        phase("rule", &with_thread, phases.rule("r", "dst", "src", "t")),
        phase("enough_of_core", &stolen, phases.stop(steal.stop_core)),
        phase("enough", &stolen, phases.stop(steal.stop)),
    ]
    .into_iter()
    .flatten()
    .collect();
    declarations.extend([
        Decl::Text(CLONE),
        Decl::Blank,
        Decl::Goal("falls", phases.falls()),
        Decl::Goal("others", phases.others()),
    ]);
    theory.module(&module, &declarations);

    let at = |phase: Option<FunctionId>| match phase {
        Some(id) => unit.policy.function(id).at.clone(),
        None => steal.at.clone(),
    };
    let mut goal = |property, what: &str, phase, goal: &str| {
        let claim = Claim::Goal { module: module.clone(), goal: goal.into() };
        let rests_on = vec![Id::new(&steal.name, TO_THE_THIEF)];
        theory.add(property, &steal.name, what, &at(phase), claim, rests_on);
    };
    let places = [Some(steal.can_steal_core), Some(steal.can_steal_core), steal.steal_thread, steal.stop];
    for ((name, what), phase) in CONTRACT.into_iter().zip(places) {
        goal(Property::Conservation, what, phase, name);
    }
    goal(Property::Progress, SUCCEEDS, steal.steal_thread, "succeeds");
    goal(Property::Invariants, "a thread goes to a core of its affinity", steal.steal_thread, "affinity");
    goal(Property::Progress, OTHERS, steal.steal_thread, "others");
    let what = format!("{} falls with each thread it moves", phases.measure().1);
    match phases.disturbance() {
        None => goal(Property::Progress, &what, steal.steal_thread, "falls"),
        Some(construct) => {
            theory.not_modelled(
                Property::Progress,
                &steal.name,
                &what,
                &at(Some(steal.move_thread)),
                &construct,
            );
        }
    }
    if all.len() > 1 {
        let measure = phases.measure().0;
        let same = all.iter().all(|steal| Phases { unit, steal }.measure().0 == measure);
        theory.decided(
            Property::Progress,
            &steal.name,
            SAME,
            &steal.at,
            "what the thread rules compare",
            same,
        );
    }
    theory.follows(Property::Progress, &steal.name, ONCE, &steal.at, "Steal.steal", Vec::new());
    moves(unit, theory, steal);
}

/// `move` puts the thread on the thief, on each path.
fn moves(unit: &Unit, theory: &mut Theory, steal: &Steal) {
    use super::program::Program;
    use super::watch::Watch;
    unit.restart();
    let function = unit.policy.function(steal.move_thread);
    let mut scope = Scope::new(function);
    scope.bind(LocalId(0), "dst");
    scope.bind(LocalId(2), OWN);
    let program = Program::watching(unit, Watch::Cores);
    let moves = super::events::handler_program(
        unit,
        "moves",
        params(&[(OWN, "thread"), ("dst", "int")]),
        vec![Why::Text("is_core dst"), Why::Text(super::events::CONSISTENT)],
        Why::Text("match result with Just c -> c = dst | Nothing -> false end"),
        program.body(&scope),
    );
    let module = names::named("Move", &steal.name);
    theory.module(&module, &[moves]);
    theory.goal(Property::Conservation, &steal.name, TO_THE_THIEF, &function.at, &module, "moves'vc");
}

struct Phases<'u, 'p> {
    unit: &'u Unit<'p>,
    steal: &'u Steal,
}

impl Phases<'_, '_> {
    fn can_steal(&self, r: &str, dst: &str, src: &str) -> Why {
        let mut terms = Terms::new(self.unit, r, src);
        terms.adds_up = true;
        terms.inline(self.steal.can_steal_core, vec![Some(dst.into()), None, Some(src.into())])
    }

    fn rule(&self, r: &str, dst: &str, src: &str, t: &str) -> Why {
        let Some(rule) = self.steal.steal_thread else { return app!("allowed", t, dst) };
        let mut terms = Terms::new(self.unit, r, src);
        terms.adds_up = true;
        terms.waits_on = Some((t.into(), src.into()));
        terms.inline(rule, vec![Some(dst.into()), None, Some(t.into())])
    }

    fn stop(&self, phase: Option<FunctionId>) -> Why {
        let Some(stop) = phase else { return "false".into() };
        // It stops too early if it can, whatever it reads.
        let mut terms = Terms::new(self.unit, "r", "0");
        let stops = terms.inline(stop, vec![None, None, Some("stolen".into())]);
        let reads = stops.any(&mut |part| *part == "r".into());
        if reads { exists("r", stops) } else { stops }
    }

    /// What the thread rule compares: a function of cores, or how many threads they have.
    fn measure(&self) -> (Option<FunctionId>, String) {
        let rule = self.steal.steal_thread.map(|id| self.unit.policy.function(id));
        let load = rule.and_then(|rule| compared(self.unit.policy, rule.body.as_slice()));
        match load {
            Some(id) => (Some(id), format!("the sum of squares of {}", self.unit.policy.function(id).name)),
            None => (None, "the sum of squares of the run queues' lengths".into()),
        }
    }

    /// What changes the measure besides the move of a thread: an attribute that `move`, or the `enqueue` that follows,
    /// writes, or time. `falls` compares the sums before and after a move with the same attributes and at one time.
    fn disturbance(&self) -> Option<String> {
        let policy = self.unit.policy;
        let measure = policy.function(self.measure().0?);
        let writes = &policy.function(self.steal.move_thread).effects.writes;
        let written =
            measure.effects.reads.iter().find(|read| writes.iter().any(|write| read.is_same_object(*write)));
        let what = match written {
            Some(access) => format!("`{}`", policy.access_name(*access)),
            None if reads_clock(policy, measure) => "a clock".into(),
            None => return None,
        };
        Some(format!("{what}, which is part of the sum and changes when a thread is moved"))
    }

    fn measured(&self, r: &str, view: &str, core: &str) -> Why {
        match self.measure().0 {
            Some(id) => {
                let mut terms = Terms::new(self.unit, r, core);
                terms.adds_up = true;
                terms.inline(id, vec![Some(core.into())])
            }
            None => app!("nr", app!("state", view, core)),
        }
    }

    /// A thread moves: what is measured goes over with it, and was apart by more than that. The
    /// sum of the squares falls then, by `progress.Potential.falls`.
    fn falls(&self) -> Why {
        let [a, b] = ["src", "dst"].map(|core| self.measured("r", "v", core));
        let [after_a, after_b] = ["src", "dst"].map(|core| self.measured("r2", "v2", core));
        let falls = lowered(a, b, after_a, after_b);
        let moves = self.moved().into_iter().rev().fold(falls, |goal, fact| fact.implies(goal));
        forall("r r2 v v2 w dst src t q", moves)
    }

    /// What is measured of another core stays as it was.
    fn others(&self) -> Why {
        let [before, after] = [("r", "v"), ("r2", "v2")].map(|(r, view)| self.measured(r, view, "c"));
        let state = |view: &str| app!("state", view, "c");
        let other = [
            app!("is_core", "c"),
            Why::from("c").infix("<>", "src"),
            Why::from("c").infix("<>", "dst"),
            state("v2").equals(state("v")),
        ];
        let facts = self.moved().into_iter().chain(other);
        let same = facts.rev().fold(after.equals(before), |goal, fact| fact.implies(goal));
        forall("r r2 v v2 w dst src t q c", same)
    }

    /// Thread t moves from src to dst, as the phases allow it.
    fn moved(&self) -> Vec<Why> {
        let state = |view: &str, core: &str| app!("state", view, core);
        vec![
            app!("is_core", "dst"),
            app!("is_core", "src"),
            Why::from("src").infix("<>", "dst"),
            app!("sound", "v"),
            app!("single", "v"),
            app!("sound", "v2"),
            app!("still", "r", "v", "w"),
            app!("still", "r2", "v2", "w"),
            app!("can_steal", "r", "dst", "src"),
            app!("rule", "r", "dst", "src", "t"),
            app!("waits", state("v", "src"), "t"),
            app!("is_queue", "q"),
            state("v2", "src").equals(app!("take", state("v", "src"), "t")),
            state("v2", "dst").equals(app!("receive", state("v", "dst"), "t", "q")),
        ]
    }
}

/// A move from a core with measure `a` to one with measure `b`.
fn lowered(a: Why, b: Why, after_a: Why, after_b: Why) -> Why {
    let names = [("a", a), ("b", b), ("moved", Why::from("a").infix("-", after_a))];
    let falls = Why::all([
        Why::from("moved").infix(">=", 1),
        after_b.equals(Why::from("b").infix("+", "moved")),
        Why::from("a").infix("-", "b").infix(">", "moved"),
    ]);
    Why::block(names.map(|(name, value)| Step::Let(name.into(), value)).into(), falls)
}

/// The obligations of a move from src to dst, `falls` and `others`, of what is measured before and after it.
pub fn falls_once() -> Why {
    let [a, b] = ["src", "dst"].map(|core| app!("before", core));
    let [after_a, after_b] = ["src", "dst"].map(|core| app!("after", core));
    let others = Why::Text("forall c. c <> src -> c <> dst -> before c = after c");
    let cores = Why::Text("is_core src /\\ is_core dst /\\ src <> dst");
    Why::all([cores, lowered(a, b, after_a, after_b), others])
}

/// The handler, apart from its steals, writes nothing that they measure.
pub fn measures_stay(unit: &Unit, theory: &mut Theory, event: Event, handler: &Function) -> Id {
    let id = Id::new(event.name(), UNTOUCHED);
    let policy = unit.policy;
    let steals = handler.effects.steals.iter().map(|steal| &policy.steals[steal.index()]);
    let measures =
        steals.filter_map(|steal| Phases { unit, steal }.measure().0).map(|id| policy.function(id));
    let is_written = |read: &Access| handler.effects.writes.iter().any(|write| read.is_same_object(*write));
    let holds = !measures.flat_map(|measure| &measure.effects.reads).any(is_written);
    theory.decided(Property::Waiting, event.name(), UNTOUCHED, &handler.at, "effects of the handler", holds);
    id
}

/// True if a function depends on time, directly or through calls.
fn reads_clock(policy: &Policy, function: &Function) -> bool {
    struct Reads<'p>(&'p Policy, bool);
    impl Visitor for Reads<'_> {
        fn expr(&mut self, e: &Expr) {
            use ExprKind as E;
            self.1 |= match &e.kind {
                E::Now | E::Fact(_) => true,
                E::ThreadField { field, .. } => *field == ThreadField::Runtime,
                E::CoreField { field, .. } => {
                    matches!(field, CoreField::Frequency | CoreField::ExitLatency | CoreField::IdleSince)
                }
                _ => false,
            };
            walk_expr(self, e);
        }
        fn call(&mut self, function: FunctionId, _args: &[Expr]) {
            walk_block(self, &self.0.function(function).body);
        }
    }
    let mut reads = Reads(policy, false);
    walk_block(&mut reads, &function.body);
    reads.1
}

/// The function of cores that a thread rule applies to the core where the thread waits.
fn compared(policy: &Policy, rule: &[hearth_ipanema::ir::Stmt]) -> Option<FunctionId> {
    struct Find<'p> {
        policy: &'p Policy,
        found: Option<FunctionId>,
    }
    impl Visitor for Find<'_> {
        fn expr(&mut self, e: &Expr) {
            if let ExprKind::Call { function, args } = &e.kind
                && let [arg] = args.as_slice()
                && matches!(arg.kind, ExprKind::ThreadField { field: ThreadField::Core, .. })
                && self.policy.function(*function).result.is_some_and(|ty| ty.is_scalar())
            {
                self.found.get_or_insert(*function);
            }
            walk_expr(self, e);
        }
    }
    let mut find = Find { policy, found: None };
    walk_block(&mut find, &rule.to_vec());
    find.found
}
