//! Transitions, steals, and the watched changes of sets, claims and timers.

use super::program::Program;
use super::unit::Scope;
use super::watch::Watch;
use hearth_ipanema::ir::{
    BaseType, Effect, Event, Expr, ExprKind, LocalId, State, Steal, StealId, ThreadField,
};

/// The name of the event's own thread.
pub const OWN: &str = "own_thread";

impl<'p> Program<'_, 'p> {
    pub fn transition(&self, scope: &Scope<'p>, thread: &Expr, to: &State) -> String {
        match to {
            State::Ready { core, queue } => {
                let c = self.unit.fresh("to");
                let target = self.expr(scope, core);
                let enqueue = self.enqueue(scope, thread, &c);
                let place = match (self.watch, self.places) {
                    (Watch::Cores, true) => format!("env ();\nplace {OWN} {c} {};\n", queue.0),
                    _ => String::new(),
                };
                format!("let {c} = {target} in\n{enqueue}{place}raise (Placed {c});\n")
            }
            State::Running => format!("raise (Chosen {});\n", self.expr(scope, thread)),
            State::Blocked | State::Terminated => "raise Gone;\n".into(),
        }
    }

    /// The handler of `enqueue`, which runs before a transition to ready.
    fn enqueue(&self, scope: &Scope<'p>, thread: &Expr, core: &str) -> String {
        let Some(id) = self.unit.policy.handler(Event::Enqueue) else { return String::new() };
        let handler = self.unit.policy.function(id);
        if !self.minds(&handler.effects) {
            return String::new();
        }
        let mut inner = Scope::new(handler);
        inner.bind(LocalId(0), self.expr(scope, thread));
        inner.bind(LocalId(1), core.to_owned());
        format!("(try {} with Return -> () end);\n", self.body(&inner))
    }

    /// Under `Watch::Cores`, the contract of a steal. Otherwise what matters is what `move` does to each stolen thread:
    /// the other phases are pure.
    pub fn steal(&self, scope: &Scope<'p>, steal: StealId, thief: &Expr, victims: &Expr) -> String {
        let stolen_by = &self.unit.policy.steals[steal.index()];
        if self.watch == Watch::Alone {
            return self.steal_alone(scope, &stolen_by.name, thief, victims);
        }
        if !matches!(self.watch, Watch::Cores) {
            return match self.changes(&stolen_by.effects) {
                true => self.stolen_threads(scope, stolen_by, thief),
                false => String::new(),
            };
        }
        let (dst, from) = (self.unit.fresh("dst"), self.unit.fresh("from"));
        let (thief, victims) = (self.expr(scope, thief), self.expr(scope, victims));
        let name = &stolen_by.name;
        format!(
            "let {dst} = {thief} in\nlet {from} = {victims} in\n(* {name} *) steal {dst} {from};\n\
             pull_for {dst};\n"
        )
    }

    /// Any number of threads, each of them any thread.
    fn stolen_threads(&self, scope: &Scope<'p>, steal: &Steal, thief: &Expr) -> String {
        let (dst, stolen) = (self.unit.fresh("dst"), self.unit.fresh("stolen"));
        let mut inner = Scope::new(self.unit.policy.function(steal.move_thread));
        inner.bind(LocalId(0), dst.clone());
        inner.bind(LocalId(2), stolen.clone());
        let body = self.body(&inner);
        let catch = "with Placed _ -> () | Return -> () end";
        let moved = self.rounds(&format!("let {stolen} = any thread in\ntry\n{body}\n{catch}"), &[]);
        format!("let {dst} = {} in\n(* move of {} *)\n{moved}\n", self.expr(scope, thief), steal.name)
    }

    /// An effect as an expression.
    pub fn effect(&self, scope: &Scope<'p>, effect: &Effect) -> String {
        let set = |id: &hearth_ipanema::ir::SetId| &self.unit.policy.sets[id.index()].name;
        match (effect, self.watch) {
            (Effect::Add { set: id, core }, Watch::Sets) => {
                format!("(add_to_{} {})", set(id), self.expr(scope, core))
            }
            (Effect::Remove { set: id, core }, Watch::Sets) => {
                format!("(remove_from_{} {})", set(id), self.expr(scope, core))
            }
            (Effect::Claim(core), Watch::Claims) => format!("(claim {})", self.expr(scope, core)),
            (Effect::Release(core), Watch::Claims) => format!("(release {})", self.expr(scope, core)),
            (Effect::Preempt(core), Watch::Alone) => format!("(preempt {})", self.expr(scope, core)),
            (Effect::Arm { .. }, Watch::Timer) => "(armed := true)".into(),
            (Effect::Add { .. } | Effect::Remove { .. } | Effect::Claim(_), _) => "(any bool)".into(),
            _ => "()".into(),
        }
    }

    /// An expression that reads watched state.
    pub fn watched_value(&self, scope: &Scope<'p>, e: &Expr) -> Option<String> {
        match (&e.kind, self.watch) {
            (ExprKind::In { core, set }, Watch::Sets) => match (&set.kind, core.ty.optional) {
                (ExprKind::Set(id), false) => {
                    let name = &self.unit.policy.sets[id.index()].name;
                    Some(format!("(is_in_{name} {})", self.expr(scope, core)))
                }
                _ => None,
            },
            (ExprKind::Thread { attribute, thread }, Watch::Timer)
                if self.unit.timed.borrow().contains(attribute) && self.is_own(scope, thread) =>
            {
                Some(format!("!own_{}", self.unit.policy.thread[attribute.index()].name))
            }
            (ExprKind::ThreadField { field: ThreadField::Core, .. }, Watch::Claims) => {
                Some("(any int)".into())
            }
            (ExprKind::Param(id), _) => {
                let param = &self.unit.policy.params[id.index()];
                let relation = if param.ty.base == BaseType::Bool { "<->" } else { "=" };
                Some(self.read("", param.ty, &format!("result {relation} param_{}", param.name)))
            }
            _ => None,
        }
    }

    pub fn is_own(&self, scope: &Scope<'p>, thread: &Expr) -> bool {
        matches!(thread.kind, ExprKind::Local(id) if scope.value(id).as_deref() == Some(OWN))
    }
}
