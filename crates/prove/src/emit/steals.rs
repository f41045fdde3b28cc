//! The obligations of a steal: that its filter, its thread rule and its stop conditions fit the
//! contract of `proofs/steal.mlw`, and that each thread it moves brings the cores nearer together.

use super::Theory;
use super::contract::CONTRACT;
use super::term::Terms;
use super::unit::{Scope, Unit};
use crate::obligation::Property;
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_expr};
use hearth_ipanema::ir::{Expr, ExprKind, FunctionId, LocalId, Policy, Steal, ThreadField};

pub fn module_name(steal: &str) -> String {
    format!("Steal_{steal}")
}

pub fn emit(unit: &Unit, theory: &mut Theory, steal: &Steal) {
    unit.restart();
    let module = module_name(&steal.name);
    let phases = Phases { unit, steal };
    let text = format!(
        "  predicate can_steal (r: readings) (dst src: int) =\n    {}\n\n\
         \x20 predicate rule (r: readings) (dst src: int) (t: thread) =\n    {}\n\n\
         \x20 predicate enough_of_core (stolen: int) =\n    {}\n\n\
         \x20 predicate enough (stolen: int) =\n    {}\n\n\
         \x20 clone export steal.Phases with\n\
         \x20   predicate can_steal = can_steal, predicate rule = rule,\n\
         \x20   predicate enough_of_core = enough_of_core, predicate enough = enough,\n\
         \x20   goal complete, goal safe, goal takes, goal not_too_early\n\n\
         \x20 goal succeeds: forall r v w dst src.\n\
         \x20   is_core dst -> is_core src -> src <> dst -> sound v -> still r v w ->\n\
         \x20   nr (state v dst) = 0 -> may (state v src) dst >= 2 ->\n\
         \x20   can_steal r dst src /\\ exists t. waits (state v src) t /\\ rule r dst src t\n\n\
         \x20 goal affinity: forall r v w dst src t.\n\
         \x20   is_core dst -> is_core src -> src <> dst -> sound v -> still r v w ->\n\
         \x20   rule r dst src t -> allowed t dst\n\n{}",
        phases.can_steal("r", "dst", "src"),
        phases.rule("r", "dst", "src", "t"),
        phases.stop(steal.stop_core),
        phases.stop(steal.stop),
        phases.falls(),
    );
    theory.module(&module, &text);

    let at = |phase: Option<FunctionId>| match phase {
        Some(id) => unit.policy.function(id).at.clone(),
        None => steal.at.clone(),
    };
    let places = [Some(steal.can_steal_core), Some(steal.can_steal_core), steal.steal_thread, steal.stop];
    for ((goal, what), phase) in CONTRACT.into_iter().zip(places) {
        theory.goal(Property::Conservation, &steal.name, what, &at(phase), &module, goal);
    }
    let rule = at(steal.steal_thread);
    let what = format!("{} falls with each thread it moves", phases.measure().1);
    theory.goal(Property::Progress, &steal.name, &what, &rule, &module, "falls");
    let what = "an idle core fails on an overloaded one only if another event changed it";
    theory.goal(Property::Progress, &steal.name, what, &rule, &module, "succeeds");
    let what = "each candidate is tried once: at most n - 1 attempts in a call";
    theory.decided(Property::Progress, &steal.name, what, &steal.at, true);
    let what = "a thread goes to a core of its affinity";
    theory.goal(Property::Invariants, &steal.name, what, &rule, &module, "affinity");
    moves(unit, theory, steal);
}

/// `move` puts the thread on the thief, on each path.
fn moves(unit: &Unit, theory: &mut Theory, steal: &Steal) {
    use super::program::Program;
    use super::watch::Watch;
    unit.restart();
    let function = unit.policy.function(steal.move_thread);
    let mut scope = Scope::new(function);
    scope.bind(LocalId(0), "dst".into());
    scope.bind(LocalId(2), "own_thread".into());
    let program = Program { unit, watch: Watch::Cores, places: false, loop_invariants: Vec::new() };
    let text = super::events::handler_text(
        "moves",
        "(own_thread: thread) (dst: int)",
        &["is_core dst".into()],
        "match result with Just c -> c = dst | Nothing -> false end",
        &program.body(&scope),
    );
    let module = format!("Move_{}", steal.name);
    theory.module(&module, &text);
    let what = "a stolen thread goes to the thief";
    theory.goal(Property::Conservation, &steal.name, what, &function.at, &module, "moves'vc");
}

struct Phases<'u, 'p> {
    unit: &'u Unit<'p>,
    steal: &'u Steal,
}

impl Phases<'_, '_> {
    fn can_steal(&self, r: &str, dst: &str, src: &str) -> String {
        let mut terms = Terms::new(self.unit, r, src);
        terms.adds_up = true;
        terms.inline(self.steal.can_steal_core, vec![Some(dst.into()), None, Some(src.into())])
    }

    fn rule(&self, r: &str, dst: &str, src: &str, t: &str) -> String {
        let Some(rule) = self.steal.steal_thread else { return format!("allowed {t} {dst}") };
        let mut terms = Terms::new(self.unit, r, src);
        terms.adds_up = true;
        terms.waits_on = Some((t.into(), src.into()));
        terms.inline(rule, vec![Some(dst.into()), None, Some(t.into())])
    }

    fn stop(&self, phase: Option<FunctionId>) -> String {
        let Some(stop) = phase else { return "false".into() };
        // How many it is does not depend on what is read.
        let mut terms = Terms::new(self.unit, "r", "0");
        let text = terms.inline(stop, vec![None, None, Some("stolen".into())]);
        if text.contains(" r ") { format!("forall r. {text}") } else { text }
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

    fn measured(&self, r: &str, view: &str, core: &str) -> String {
        match self.measure().0 {
            Some(id) => {
                let mut terms = Terms::new(self.unit, r, core);
                terms.adds_up = true;
                terms.inline(id, vec![Some(core.into())])
            }
            None => format!("(nr (state {view} {core}))"),
        }
    }

    /// A thread moves: what is measured goes over with it, and was apart by more than that. The
    /// sum of the squares falls then, by `progress.Potential.falls`.
    fn falls(&self) -> String {
        let [a, b] = ["src", "dst"].map(|core| self.measured("r", "v", core));
        let [after_a, after_b] = ["src", "dst"].map(|core| self.measured("r2", "v2", core));
        format!(
            "  goal falls: forall r r2 v v2 w dst src t q.\n\
             \x20   is_core dst -> is_core src -> src <> dst -> sound v -> single v -> sound v2 ->\n\
             \x20   still r v w -> still r2 v2 w -> can_steal r dst src -> rule r dst src t ->\n\
             \x20   waits (state v src) t ->\n\
             \x20   state v2 src = take (state v src) t -> state v2 dst = receive (state v dst) t q ->\n\
             \x20   let a = {a} in\n    let b = {b} in\n    let moved = a - {after_a} in\n\
             \x20   moved >= 1 /\\ {after_b} = b + moved /\\ a - b > moved\n"
        )
    }
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
