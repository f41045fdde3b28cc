//! No livelock: no event causes events of its own kind again and again.
//!
//! What threads do (fork, wake, block, yield), ticks and balances come from outside. What an event causes in turn follows
//! from the effects of its handler, and from what the kernel does after it. If no event causes its own kind, not even by way
//! of others, each kind has a rank, and an event causes only events of lower rank: the goal of `Ranks` in
//! `proofs/closing.mlw`. A sequence of steals ends by the obligations of progress.

use super::Theory;
use super::events::{PICKS, nowhere};
use super::steals::{ONCE, SAME};
use super::turns;
use super::unit::Unit;
use crate::obligation::{Claim, Id, Property};
use crate::whyml::{Decl, Why, conditional, params};
use hearth_ipanema::ir::effects::assigned;
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_effect, walk_stmt};
use hearth_ipanema::ir::{
    Block, CoreField, Effect, Event, Expr, ExprKind, Function, FunctionId, LocalId, Policy, Stmt, StmtKind,
};

pub const ENDS: &str = "no preemption, steal or timer causes itself again and again";

/// A kind of events, as far as it matters what they cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Timer,
    /// `move`, of any steal.
    Steal,
    /// A thread becomes ready on a core that may run another one.
    Enqueue,
    /// The same on a core that runs none: after a preemption, or a steal of an idle core.
    EnqueueFree,
    Preempt,
    /// The preemption of a core where a thread has just become ready.
    PreemptFor,
    Schedule,
    /// A core with a thread in a queue chooses: it takes one.
    ScheduleFull,
    NewlyIdle,
    EnterIdle,
    ExitIdle,
}

use Kind as K;

const KINDS: [(Kind, &str, Option<Event>); 11] = [
    (K::Timer, "timer", Some(Event::Timer)),
    (K::Steal, "steal", None),
    (K::Enqueue, "enqueue", Some(Event::Enqueue)),
    (K::EnqueueFree, "enqueue_free", Some(Event::Enqueue)),
    (K::Preempt, "preempt", Some(Event::Preempt)),
    (K::PreemptFor, "preempt_for", Some(Event::Preempt)),
    (K::Schedule, "schedule", Some(Event::Schedule)),
    (K::ScheduleFull, "schedule_full", Some(Event::Schedule)),
    (K::NewlyIdle, "newly_idle", Some(Event::NewlyIdle)),
    (K::EnterIdle, "enter_idle", Some(Event::EnterIdle)),
    (K::ExitIdle, "exit_idle", Some(Event::ExitIdle)),
];

pub fn emit(unit: &Unit, theory: &mut Theory) {
    let policy = unit.policy;
    let edges: Vec<Vec<usize>> = KINDS.iter().map(|(kind, ..)| caused(policy, *kind)).collect();
    let at = nowhere(unit);
    let ranks = match ranks(&edges) {
        Ok(ranks) => ranks,
        Err(cycle) => {
            let names: Vec<&str> = cycle.iter().map(|at| KINDS[*at].1).collect();
            let by = format!("effects of the handlers: {}", names.join(", then "));
            let claim = Claim::Decided { by, holds: false };
            theory.add(Property::Waiting, "events", ENDS, &at, claim, Vec::new());
            return;
        }
    };
    let mut rests_on = bounded_steals(policy, theory);
    rests_on.push(Id::new("schedule", PICKS));
    rests_on.extend(turns::leaves_for_idle_cores(unit, theory));
    theory.closes("events", ENDS, &at, "Closing_events", &declarations(&edges, &ranks), rests_on);
}

/// The kinds, what each causes as the compiler sees it, and a rank for each.
fn declarations(edges: &[Vec<usize>], ranks: &[usize]) -> Vec<Decl> {
    // `steal` and others are names of the theory.
    let name = |at: usize| format!("on_{}", KINDS[at].1);
    let is = |event: &str, at: usize| Why::from(event).equals(name(at));
    let pairs = edges.iter().enumerate().flat_map(|(from, all)| all.iter().map(move |to| (from, *to)));
    let causes = pairs.map(|(from, to)| is("e", from).and(is("f", to)));
    let causes = causes.reduce(Why::or).unwrap_or_else(|| "false".into());
    let rank = (0..KINDS.len())
        .rev()
        .fold(Why::from(0), |otherwise, at| conditional(is("e", at), Why::from(ranks[at] as i64), otherwise));
    let mut all = vec![Decl::Comment("The kinds of events that others cause.")];
    all.extend((0..KINDS.len()).map(|at| Decl::Define(name(at), Vec::new(), "int", (at as i64).into())));
    all.extend([
        Decl::Blank,
        Decl::Comment("What each may cause, by the effects of its handler."),
        Decl::Predicate("causes".into(), params(&[("e", "int"), ("f", "int")]), causes),
        Decl::Define("rank".into(), params(&[("e", "int")]), "int", rank),
        Decl::Blank,
        Decl::Text(
            "clone closing.Ranks with type event = int, predicate causes = causes, function rank = rank,
    goal not_negative, goal falls",
        ),
    ]);
    all
}

/// The length of the longest chain of events from each kind; or a chain that comes back to where it began.
fn ranks(edges: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    fn visit(
        at: usize,
        edges: &[Vec<usize>],
        rank: &mut [Option<usize>],
        path: &mut Vec<usize>,
    ) -> Result<usize, Vec<usize>> {
        if let Some(known) = rank[at] {
            return Ok(known);
        }
        if let Some(start) = path.iter().position(|before| *before == at) {
            return Err([&path[start..], &[at]].concat());
        }
        path.push(at);
        let mut longest = 0;
        for next in &edges[at] {
            longest = longest.max(visit(*next, edges, rank, path)? + 1);
        }
        path.pop();
        rank[at] = Some(longest);
        Ok(longest)
    }
    let mut rank = vec![None; edges.len()];
    (0..edges.len()).map(|at| visit(at, edges, &mut rank, &mut Vec::new())).collect()
}

/// The kinds of events that an event of this kind may cause.
fn caused(policy: &Policy, kind: Kind) -> Vec<usize> {
    let (_, _, event) = KINDS[KINDS.iter().position(|(of, ..)| *of == kind).unwrap_or_default()];
    let handler = event.and_then(|event| policy.handler(event)).map(|id| policy.function(id));
    let functions: Vec<&Function> = match kind {
        K::Steal => {
            let steals = policy.steals.iter().filter(|steal| !steal.superseded);
            steals.map(|steal| policy.function(steal.move_thread)).collect()
        }
        _ => handler.into_iter().collect(),
    };
    let effects =
        functions.iter().map(|function| Causes::by(policy, function)).fold(Caused::default(), Caused::with);
    let leaves = handler.is_some_and(|handler| handler.leaves_core);
    let mut kinds = match kind {
        // A thread that a timer moves leaves a core, which may have no other.
        K::Timer => vec![K::Enqueue, K::Schedule],
        K::Steal => vec![K::Enqueue],
        K::Enqueue if effects.preempts_current => vec![K::PreemptFor, K::ScheduleFull],
        K::Enqueue | K::EnqueueFree => vec![K::ScheduleFull],
        // A thread leaves only for an idle core; `turns` has the obligation.
        K::Preempt if leaves => vec![K::EnqueueFree, K::Schedule],
        K::Preempt | K::PreemptFor => vec![K::EnqueueFree, K::ScheduleFull],
        K::Schedule => vec![K::NewlyIdle],
        K::ScheduleFull => vec![K::ExitIdle],
        K::NewlyIdle => vec![K::EnterIdle],
        K::EnterIdle | K::ExitIdle => vec![],
    };
    let also = [(effects.preempts, K::Preempt), (effects.steals, K::Steal), (effects.arms, K::Timer)];
    kinds.extend(also.into_iter().filter(|(is, _)| *is).map(|(_, kind)| kind));
    kinds.iter().filter_map(|kind| KINDS.iter().position(|(of, ..)| of == kind)).collect()
}

/// The obligations that bound the steals of an event. A balance comes from outside, so its steals need only end. Those of
/// `newly_idle` need a limit, because they may leave another core idle.
fn bounded_steals(policy: &Policy, theory: &Theory) -> Vec<Id> {
    let newly_idle = policy.handler(Event::NewlyIdle).map(|id| &policy.function(id).effects.steals);
    let steals = policy.steals.iter().enumerate().filter(|(_, steal)| !steal.superseded);
    let (again, once): (Vec<_>, Vec<_>) = steals.partition(|(id, _)| {
        newly_idle.is_some_and(|steals| steals.iter().any(|steal| steal.index() == *id))
    });
    let again: Vec<_> = again.into_iter().map(|(_, steal)| steal.name.as_str()).collect();
    let mut bounds = theory.bounded_moves_of(&again);
    if again.len() == 1 {
        bounds.retain(|id| id.what != SAME);
    }
    bounds.extend(once.into_iter().map(|(_, steal)| Id::new(&steal.name, ONCE)));
    bounds
}

/// What the code of an event causes.
#[derive(Clone, Copy, Debug, Default)]
struct Caused {
    preempts: bool,
    /// `enqueue` preempts the thread's new core while that runs a thread.
    preempts_current: bool,
    steals: bool,
    arms: bool,
}

impl Caused {
    fn with(self, other: Caused) -> Caused {
        Caused {
            preempts: self.preempts || other.preempts,
            preempts_current: self.preempts_current || other.preempts_current,
            steals: self.steals || other.steals,
            arms: self.arms || other.arms,
        }
    }
}

/// Finds what a function causes, and the functions that it calls.
struct Causes<'p> {
    policy: &'p Policy,
    /// The function is `enqueue`. In `preempt`, nothing preempts a core (saakm.h).
    enqueue: bool,
    runs: bool,
    /// The locals that hold the thread which runs on the new core: a local thread is not assigned later.
    current: Vec<LocalId>,
    caused: Caused,
}

impl<'p> Causes<'p> {
    fn by(policy: &'p Policy, function: &Function) -> Caused {
        let enqueue =
            policy.handler(Event::Enqueue).is_some_and(|id| std::ptr::eq(policy.function(id), function));
        let reassigned = assigned(&function.body).contains(&LocalId(1));
        let mut causes = Causes {
            policy,
            enqueue: enqueue && !reassigned,
            runs: false,
            current: Vec::new(),
            caused: Caused::default(),
        };
        walk_block(&mut causes, &function.body);
        causes.caused
    }

    fn nested(&mut self, runs: bool, block: &Block) {
        let before = self.runs;
        self.runs |= runs;
        walk_block(self, block);
        self.runs = before;
    }

    /// `c.current`, or a local that holds it.
    fn is_current(&self, value: &Expr) -> bool {
        match &value.kind {
            ExprKind::CoreField { field: CoreField::Current, core } => self.is_new_core(core),
            ExprKind::Local(local) => self.enqueue && self.current.contains(local),
            _ => false,
        }
    }

    fn is_new_core(&self, core: &Expr) -> bool {
        self.enqueue && matches!(core.kind, ExprKind::Local(LocalId(1)))
    }
}

impl Visitor for Causes<'_> {
    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::IfSome { value, then, otherwise, .. } => {
                self.expr(value);
                self.nested(self.is_current(value), then);
                self.nested(false, otherwise);
            }
            StmtKind::Let { local, value } if self.is_current(value) => {
                self.current.push(*local);
            }
            StmtKind::Steal { .. } => {
                self.caused.steals = true;
                walk_stmt(self, stmt);
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn effect(&mut self, effect: &Effect) {
        match effect {
            Effect::Preempt(core) if self.runs && self.is_new_core(core) => {
                self.caused.preempts_current = true
            }
            Effect::Preempt(_) => self.caused.preempts = true,
            Effect::Arm { .. } => self.caused.arms = true,
            _ => {}
        }
        walk_effect(self, effect);
    }

    fn call(&mut self, function: FunctionId, _args: &[Expr]) {
        // A callee's parameters are not this function's.
        let before = std::mem::replace(&mut self.enqueue, false);
        walk_block(self, &self.policy.function(function).body);
        self.enqueue = before;
    }
}

#[cfg(test)]
mod tests {
    use super::ranks;

    #[test]
    fn an_event_that_comes_back_has_no_rank() {
        assert_eq!(ranks(&[vec![1, 2], vec![2], vec![]]), Ok(vec![2, 1, 0]));
        assert_eq!(ranks(&[vec![1], vec![2], vec![1]]), Err(vec![1, 2, 1]));
        assert_eq!(ranks(&[vec![0]]), Err(vec![0, 0]));
    }
}
