//! Transitions, steals, and the watched changes of sets, claims and timers.

use super::names;
use super::program::Program;
use super::unit::Scope;
use super::watch::Watch;
use crate::whyml::{Step, Why, app, deref, raise, unit};
use hearth_ipanema::ir::{
    BaseType, Effect, Event, Expr, ExprKind, LocalId, SetId, State, Steal, StealId, ThreadField,
};

/// The name of the event's own thread.
pub const OWN: &str = "own_thread";

impl<'p> Program<'_, 'p> {
    pub fn transition(&self, scope: &Scope<'p>, thread: &Expr, to: &State, steps: &mut Vec<Step>) {
        let end = match to {
            State::Ready { core, queue } => {
                let c = self.unit.fresh("to");
                steps.push(Step::Let(c.clone(), self.expr(scope, core)));
                steps.extend(self.enqueue(scope, thread, &c));
                if self.places && self.watch == Watch::Cores {
                    steps.push(Step::Do(Why::Text("env ()")));
                    steps.push(Step::Do(app!("place", OWN, &c, i64::from(queue.0))));
                }
                raise(app!("Placed", c))
            }
            State::Running => raise(app!("Chosen", self.expr(scope, thread))),
            State::Blocked | State::Terminated => raise("Gone"),
        };
        steps.push(end);
    }

    /// The handler of `enqueue`, which runs before a transition to ready.
    fn enqueue(&self, scope: &Scope<'p>, thread: &Expr, core: &str) -> Option<Step> {
        let handler = self.unit.policy.function(self.unit.policy.handler(Event::Enqueue)?);
        if !self.minds(&handler.effects) {
            return None;
        }
        let mut inner = Scope::new(handler);
        inner.bind(LocalId(0), self.expr(scope, thread));
        inner.bind(LocalId(1), core);
        Some(Step::Do(Why::Try(self.body(&inner).into(), vec![("Return".into(), unit())])))
    }

    /// Under `Watch::Cores`, the contract of a steal. Otherwise what matters is what `move` does to each stolen thread:
    /// the other phases are pure.
    pub fn steal(
        &self,
        scope: &Scope<'p>,
        steal: StealId,
        thief: &Expr,
        victims: &Expr,
        steps: &mut Vec<Step>,
    ) {
        let stolen_by = &self.unit.policy.steals[steal.index()];
        let (contract, after) = match self.watch {
            Watch::Alone => ("steal_alone", "disturb ()"),
            Watch::Cores => ("steal", ""),
            _ if self.changes(&stolen_by.effects) => {
                return self.stolen_threads(scope, stolen_by, thief, steps);
            }
            _ => return,
        };
        let (dst, from) = (self.unit.fresh("dst"), self.unit.fresh("from"));
        steps.push(Step::Let(dst.clone(), self.expr(scope, thief)));
        steps.push(Step::Let(from.clone(), self.expr(scope, victims)));
        steps.push(Step::Comment(stolen_by.name.clone()));
        steps.push(Step::Do(app!(contract, &dst, from)));
        steps.push(Step::Do(if after.is_empty() { app!("pull_for", dst) } else { Why::Text(after) }));
    }

    /// Any number of threads, each of them any thread.
    fn stolen_threads(&self, scope: &Scope<'p>, steal: &Steal, thief: &Expr, steps: &mut Vec<Step>) {
        let (dst, stolen) = (self.unit.fresh("dst"), self.unit.fresh("stolen"));
        let mut inner = Scope::new(self.unit.policy.function(steal.move_thread));
        inner.bind(LocalId(0), &dst);
        inner.bind(LocalId(2), &stolen);
        let ends = vec![("Placed _".into(), unit()), ("Return".into(), unit())];
        let body = Why::Try(self.body(&inner).into(), ends);
        let round = Why::block(vec![Step::Let(stolen, Why::Any("thread"))], body);
        let rounds = self.rounds(round, &[]);
        steps.push(Step::Let(dst, self.expr(scope, thief)));
        steps.push(Step::Comment(format!("move of {}", steal.name)));
        steps.extend(rounds);
    }

    /// An effect as an expression.
    pub fn effect(&self, scope: &Scope<'p>, effect: &Effect) -> Why {
        let set = |verb: &str, id: &SetId| names::named(verb, &self.unit.policy.sets[id.index()].name);
        match (effect, self.watch) {
            (Effect::Add { set: id, core }, Watch::Sets) => app!(set("add_to", id), self.expr(scope, core)),
            (Effect::Remove { set: id, core }, Watch::Sets) => {
                app!(set("remove_from", id), self.expr(scope, core))
            }
            (Effect::Claim(core), Watch::Claims) => app!("claim", self.expr(scope, core)),
            (Effect::Release(core), Watch::Claims) => app!("release", self.expr(scope, core)),
            (Effect::Preempt(core), Watch::Alone) => app!("preempt", self.expr(scope, core)),
            (Effect::Arm { .. }, Watch::Timer) => Why::Text("armed := true"),
            (Effect::Add { .. } | Effect::Remove { .. } | Effect::Claim(_), _) => Why::Any("bool"),
            _ => unit(),
        }
    }

    /// An expression that reads watched state.
    pub fn watched_value(&self, scope: &Scope<'p>, e: &Expr) -> Option<Why> {
        match (&e.kind, self.watch) {
            (ExprKind::In { core, set }, Watch::Sets) => match (&set.kind, core.ty.optional) {
                (ExprKind::Set(id), false) => {
                    let name = &self.unit.policy.sets[id.index()].name;
                    Some(app!(names::named("is_in", name), self.expr(scope, core)))
                }
                _ => None,
            },
            (ExprKind::Thread { attribute, thread }, Watch::Timer)
                if self.unit.timed.borrow().contains(attribute) && self.is_own(scope, thread) =>
            {
                Some(deref(&names::own(&self.unit.policy.thread[attribute.index()].name)))
            }
            (ExprKind::ThreadField { field: ThreadField::Core, .. }, Watch::Claims) => Some(Why::Any("int")),
            (ExprKind::Param(id), _) => {
                let param = &self.unit.policy.params[id.index()];
                let relation = if param.ty.base == BaseType::Bool { "<->" } else { "=" };
                let value = Why::from("result").infix(relation, names::param(&param.name));
                Some(self.read("", param.ty, value, |value| value))
            }
            _ => None,
        }
    }

    pub fn is_own(&self, scope: &Scope<'p>, thread: &Expr) -> bool {
        matches!(thread.kind, ExprKind::Local(id) if scope.value(id) == Some(OWN.into()))
    }
}
