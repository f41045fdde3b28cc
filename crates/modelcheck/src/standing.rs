//! Whether a violation contradicts what `hearth prove` claims.
//!
//! The theorems in `proofs/waiting.mlw` bound turns and moves; the model checker counts ticks and rounds. So a thread that
//! waits too long here may wait within the bound of the theorem. A schedule contradicts the theorem only if it breaks one of
//! the premises that the obligations of a policy establish, while the theorem's assumptions hold.

use hearth_base::constants::TICK_NS;
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_expr};
use hearth_ipanema::ir::{
    self, AttributeId, BaseType, Event, Expr, ExprKind, Extreme, FunctionId, Iteration, Over, Owner, Search,
    SearchKind,
};
use hearth_policy::Policy;

use crate::counterexample::{Counterexample, replay};
use crate::cwc::Checks;
use crate::driver::Driver;
use crate::model::Model;
use crate::progress::Rounds;
use crate::property::Property;
use crate::schedule_file::model_for;
use crate::search::CheckError;
use crate::step::Step;
use crate::world::{Quiet, State, World};

/// What a violation says about the theorem of its property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It contradicts the theorem: why.
    Contradicts(String),
    /// An assumption of the theorem does not hold on the schedule.
    Outside(String),
    /// The theorem's bound may be longer than the schedule.
    Within,
}

/// Compares a violation with the theorem of its property.
///
/// # Errors
/// If the counterexample is of another policy or of another version of it.
pub fn standing(policy: &Policy, found: &Counterexample) -> Result<Standing, CheckError> {
    match found.violation.property {
        Property::Waiting => {
            let model = model_for(policy, found)?;
            Ok(waiting(&model, found))
        }
        Property::Conservation => {
            let model = model_for(policy, found)?;
            Ok(conservation(&model, found))
        }
        _ => Ok(Standing::Contradicts(found.violation.to_string())),
    }
}

/// Rounds that are more than the bound of either theorem on at most eight cores with at most seven threads, if each balance acts
/// every 10 s at least: a round takes a second or more.
const ROUNDS: u8 = 250;

/// Continues with rounds in which the cores balance in the order of their numbers.
fn conservation(model: &Model<'_>, found: &Counterexample) -> Standing {
    let replayed = replay(model, &found.scenario, found.reduction.clone(), &found.steps);
    let Some(mut world) = replayed.worlds.last().cloned() else { return Standing::Within };
    let overlap = found.rounds.is_some_and(|rounds| rounds.overlap);
    if overlap {
        return Standing::Outside("the balances overlap".into());
    }
    let rounds = Some(Rounds { count: ROUNDS, overlap });
    let checks = Checks { rounds, ..Checks::default() };
    let mut driver = Driver { model, reduction: found.reduction.clone(), checks };
    world.quiet = Some(Quiet::default());
    loop {
        let steps = driver.enabled(&world);
        let in_progress = |step: &&Step| step.actor().is_some();
        let Some(step) = steps.iter().find(in_progress).or(steps.first()) else { return Standing::Within };
        if let Err(violation) = driver.step(&mut world, *step, None) {
            return Standing::Contradicts(violation.what);
        }
        // Events of one balance that do not end are a livelock.
        if let Some(assumption) = left_assumption(model, &world) {
            return Standing::Outside(assumption);
        }
    }
}

/// Virtual times of which the obligations about waiting assume that they are not exceeded: 2^60 ns.
const MOST_TIME: i64 = 1 << 60;
/// A shorter turn need not count.
const LEAST_TURN: i64 = 1024;

/// An assumption about numbers that does not hold in this state.
fn left_assumption(model: &Model<'_>, world: &World) -> Option<String> {
    for (owner, of, number) in
        [(Owner::Thread, "thread", world.threads.len()), (Owner::Core, "core", world.cores.len())]
    {
        for (id, attribute) in (0..).zip(model.policy.attributes(owner)) {
            let at = |i: u8| match owner {
                Owner::Thread => model.thread_at(i, AttributeId(id)),
                _ => model.core_at(i, AttributeId(id)),
            };
            let far = |i: &u8| world.vars[at(*i)].unsigned_abs() > MOST_TIME as u64;
            if attribute.ty.base == BaseType::Time
                && !attribute.ty.optional
                && let Some(i) = (0..number as u8).find(far)
            {
                return Some(format!("`{}` of {of} {i} is more than 2^60 ns", attribute.name));
            }
        }
    }
    None
}

/// A queue that `schedule` tries, and the key of its order, if it has one.
struct Tried {
    queue: usize,
    key: Option<AttributeId>,
}

/// What the premises of the theorem are about.
struct Turns<'m> {
    model: &'m Model<'m>,
    waiter: u8,
    core: u8,
    /// In the order in which `schedule` tries them.
    queues: Vec<Tried>,
    /// A turn of others is at most so long.
    limit: i64,
    /// Key and runtime of each thread when its turn began.
    began: Vec<Option<(i64, i64)>>,
    /// The key of each thread when it last ran or waited on the core.
    keys: Vec<Option<i64>>,
}

/// Looks for a premise of the theorem that the schedule breaks since the last thread was new to the waiting thread's core.
fn waiting(model: &Model<'_>, found: &Counterexample) -> Standing {
    let replayed = replay(model, &found.scenario, found.reduction.clone(), &found.steps);
    let worlds = &replayed.worlds;
    let Some((waiter, since)) = waiter(worlds) else { return Standing::Within };
    let core = worlds[worlds.len() - 1].thread(waiter).core;
    let mut turns = Turns {
        model,
        waiter,
        core,
        queues: tried(model.policy),
        limit: longest_turn(model),
        began: vec![None; worlds[0].threads.len()],
        keys: vec![None; worlds[0].threads.len()],
    };
    let mut arrived = None;
    turns.restart(&worlds[since]);
    for pair in worlds[since..].windows(2) {
        let [before, after] = pair else { continue };
        if let Some(assumption) = left_assumption(model, after) {
            return Standing::Outside(assumption);
        }
        if let Some(new) = turns.arrival(before, after) {
            arrived = Some(new);
            turns.restart(after);
        } else if let Some(broken) = turns.broken(before, after) {
            return Standing::Contradicts(broken);
        }
    }
    match arrived {
        Some(new) => Standing::Outside(format!("{new} core {core} while thread {waiter} waits")),
        None => Standing::Within,
    }
}

/// The thread that has waited longest at the end, and the first state in which it does.
fn waiter(worlds: &[World]) -> Option<(u8, usize)> {
    let last = worlds.last()?;
    let since = |thread: u8| {
        let not_ready = worlds.iter().rposition(|world| world.thread(thread).state != State::Ready);
        not_ready.map_or(0, |at| at + 1)
    };
    let ready = (0..last.threads.len() as u8).filter(|id| last.thread(*id).state == State::Ready);
    ready.map(|id| (id, since(id))).min_by_key(|(_, since)| *since)
}

impl Turns<'_> {
    fn restart(&mut self, world: &World) {
        for id in 0..world.threads.len() as u8 {
            let key = self.key(world, id);
            let runs = world.core(self.core).current == id;
            self.began[usize::from(id)] = runs.then(|| (key, world.runtime(id)));
            self.keys[usize::from(id)] = self.is_there(world, id).then_some(key);
        }
    }

    /// The thread runs or waits on the core: an event that moves it elsewhere may change its key before.
    fn is_there(&self, world: &World, thread: u8) -> bool {
        let t = world.thread(thread);
        t.core == self.core && (t.state == State::Ready || world.core(self.core).current == thread)
    }

    /// The queues that `schedule` tries up to the one of the waiting thread.
    fn rank(&self, queue: u8) -> usize {
        self.queues.iter().position(|tried| tried.queue == usize::from(queue)).unwrap_or(usize::MAX)
    }

    fn key_of(&self, queue: u8) -> Option<AttributeId> {
        self.queues.iter().find(|tried| tried.queue == usize::from(queue))?.key
    }

    /// The value of the attribute that orders the waiting thread's queue; 0 without one.
    fn key(&self, world: &World, thread: u8) -> i64 {
        let queue = world.thread(self.waiter).queue;
        self.key_of(queue).map_or(0, |key| world.vars[self.model.thread_at(thread, key)])
    }

    /// What ends the comparison with the theorem for the time before: a thread that is new to the core, or to a queue that
    /// `schedule` tries first.
    fn arrival(&self, before: &World, after: &World) -> Option<String> {
        for id in 0..after.threads.len() as u8 {
            let (was, is) = (before.thread(id), after.thread(id));
            if is.core != self.core || !matches!(is.state, State::Ready | State::Running) {
                continue;
            }
            if was.core != self.core || was.state == State::NotQueued {
                return Some(format!("thread {id} is new to"));
            }
            let earlier = self.rank(is.queue) < self.rank(after.thread(self.waiter).queue);
            if is.state == State::Ready && was.state != State::Ready && earlier {
                return Some(format!("thread {id} enters a queue that `schedule` tries first on"));
            }
        }
        None
    }

    /// The premise that a step breaks.
    fn broken(&mut self, before: &World, after: &World) -> Option<String> {
        let w = self.waiter;
        let (mine, then) = (self.key(before, w), self.key(after, w));
        if mine != then {
            return Some(format!("the key of thread {w}, which waits, changes from {mine} to {then}"));
        }
        for id in (0..after.threads.len() as u8).filter(|id| *id != w) {
            let (was, is) = (before.thread(id), after.thread(id));
            if is.core != self.core {
                (self.began[usize::from(id)], self.keys[usize::from(id)]) = (None, None);
                continue;
            }
            let (old, new) = (self.key(before, id), self.key(after, id));
            if self.is_there(after, id) {
                let last = self.keys[usize::from(id)].replace(new);
                if let Some(last) = last.filter(|last| new < *last) {
                    return Some(format!(
                        "the key of thread {id} falls from {last} to {new} while thread {w} waits"
                    ));
                }
            }
            if is.state == State::Running && was.state != State::Running {
                self.began[usize::from(id)] = Some((old, after.runtime(id)));
                if let Some(broken) = self.taken(before, id, mine, old) {
                    return Some(broken);
                }
            }
            let Some((key, runtime)) = self.began[usize::from(id)] else { continue };
            let ran = after.runtime(id) - runtime;
            if is.state == State::Running && ran > self.limit {
                let [ran, limit] = [ran, self.limit].map(|ns| ns / 1_000_000);
                return Some(format!(
                    "thread {id} runs for {ran} ms while thread {w} waits: a turn ends after {limit} ms"
                ));
            }
            if is.state != State::Running && is.state != State::Terminated {
                self.began[usize::from(id)] = None;
                if let Some(broken) = self.ended(after, id, ran, key, new) {
                    return Some(broken);
                }
            }
        }
        None
    }

    /// `schedule` takes a thread that does not come before the waiting one.
    fn taken(&self, before: &World, id: u8, mine: i64, key: i64) -> Option<String> {
        let w = self.waiter;
        let (queue, own) = (before.thread(id).queue, before.thread(w).queue);
        if before.thread(id).state != State::Ready || self.rank(queue) < self.rank(own) {
            return None;
        }
        let line = before.core(self.core).queues[usize::from(own)];
        let place = |thread| line.iter().position(|other| other == thread);
        let behind = match self.key_of(own) {
            _ if queue != own => true,
            Some(_) => key > mine,
            None => place(id) > place(w),
        };
        behind.then(|| format!("`schedule` takes thread {id}, which is behind thread {w}"))
    }

    /// A turn does not move its thread back.
    fn ended(&self, after: &World, id: u8, ran: i64, key: i64, now: i64) -> Option<String> {
        let own = after.thread(self.waiter).queue;
        let stays = match self.key_of(own) {
            Some(_) => ran >= LEAST_TURN && now <= key,
            None => {
                let line = after.core(self.core).queues[usize::from(own)];
                let place = |thread| line.iter().position(|other| other == thread);
                place(id).is_some_and(|at| Some(at) < place(self.waiter))
            }
        };
        let w = self.waiter;
        stays.then(|| format!("thread {id} is not behind its place before its turn, while thread {w} waits"))
    }
}

/// The queues in the order in which `schedule` searches them.
fn tried(policy: &ir::Policy) -> Vec<Tried> {
    struct Find<'p> {
        policy: &'p ir::Policy,
        found: Vec<Tried>,
    }
    impl Visitor for Find<'_> {
        fn expr(&mut self, e: &Expr) {
            if let ExprKind::Search(search) = &e.kind
                && let Search { kind, iteration: Iteration { over: Over::Threads { queue, .. }, .. }, .. } =
                    &**search
                && self.found.iter().all(|known| known.queue != queue.index())
            {
                let least = match kind {
                    SearchKind::Extreme { extreme: Extreme::Min, by } => by.first().and_then(key_of),
                    _ => None,
                };
                let key = least.or(self.policy.queues[queue.index()].by);
                self.found.push(Tried { queue: queue.index(), key });
            }
            walk_expr(self, e);
        }
        fn call(&mut self, function: FunctionId, _args: &[Expr]) {
            walk_block(self, &self.policy.function(function).body);
        }
    }
    let mut find = Find { policy, found: Vec::new() };
    if let Some(schedule) = policy.handler(Event::Schedule) {
        walk_block(&mut find, &policy.function(schedule).body);
    }
    find.found
}

fn key_of(e: &Expr) -> Option<AttributeId> {
    match &e.kind {
        ExprKind::Thread { attribute, .. } => Some(*attribute),
        _ => None,
    }
}

/// The sum of the times that `tick` reads from parameters, and two ticks: at least the theorem's length of a turn.
fn longest_turn(model: &Model<'_>) -> i64 {
    struct Find<'p> {
        policy: &'p ir::Policy,
        found: Vec<usize>,
    }
    impl Visitor for Find<'_> {
        fn expr(&mut self, e: &Expr) {
            if let ExprKind::Param(id) = e.kind
                && !self.found.contains(&id.index())
                && self.policy.params[id.index()].ty.base == BaseType::Time
            {
                self.found.push(id.index());
            }
            walk_expr(self, e);
        }
        fn call(&mut self, function: FunctionId, _args: &[Expr]) {
            walk_block(self, &self.policy.function(function).body);
        }
    }
    let mut find = Find { policy: model.policy, found: Vec::new() };
    if let Some(tick) = model.policy.handler(Event::Tick) {
        walk_block(&mut find, &model.policy.function(tick).body);
    }
    let times = find.found.iter().map(|id| model.params[*id]);
    times.fold(2 * TICK_NS as i64, i64::saturating_add)
}
