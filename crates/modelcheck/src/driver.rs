//! Executes steps: calls the policy's handlers in the order that SaaKM prescribes.

use std::sync::Arc;

use hearth_ipanema::ir::Event;

use crate::cores::Cores;
use crate::cwc::{self, Checks};
use crate::env::{Budget, Env, Stop};
use crate::interp;
use crate::log::{Log, LogEntry};
use crate::model::Model;
use crate::progress;
use crate::property::Violation;
use crate::reduction::Reduction;
use crate::scenario::Op;
use crate::step::{Step, next_op};
use crate::world::{Activity, Ghost, Mode, NO_THREAD, Phase, Quiet, State, TICK_NS, World};

pub struct Driver<'a> {
    pub model: &'a Model<'a>,
    pub reduction: Reduction,
    pub checks: Checks,
}

impl<'a> Driver<'a> {
    /// Executes a step: up to and including the next shared access of its core.
    pub fn step(&mut self, world: &mut World, step: Step, log: Option<&mut Log>) -> Result<(), Violation> {
        let first = match step {
            Step::Go(_) => Budget::Step,
            _ => Budget::Nothing,
        };
        self.begin(world, step, first, log)?;
        self.end_round(world)?;
        if !self.checks.cwc && !self.checks.collisions {
            // No property reads it, and it would only add states.
            world.cores.iter_mut().for_each(|core| core.ghost = Ghost::default());
        }
        Ok(())
    }

    /// Executes the step, and runs the event that it begins as far as the budget allows.
    pub fn begin(
        &mut self,
        world: &mut World,
        step: Step,
        budget: Budget,
        log: Option<&mut Log>,
    ) -> Result<(), Violation> {
        let none = NO_THREAD;
        match step {
            Step::Clock => {
                if let Some(within) = self.checks.within {
                    progress::count_wait(world, within)?;
                }
                clock(world);
                Ok(())
            }
            Step::Quiet => {
                world.quiet = Some(Quiet::default());
                Ok(())
            }
            Step::Turn(core) => {
                progress::balance(world, Cores::one(core));
                Ok(())
            }
            Step::Round => {
                progress::balance_all(world);
                Ok(())
            }
            Step::Go(core) => match world.core_mut(core).activity.take() {
                Some(activity) => self.resume(world, core, Arc::unwrap_or_clone(activity), budget, log),
                None => Ok(()),
            },
            Step::Op(core) => self.execute_op(world, core, false, budget, log),
            Step::Sync(core) => self.execute_op(world, core, true, budget, log),
            Step::Tick(core) => {
                world.core_mut(core).tick = false;
                let thread = world.core(core).current;
                self.begin_event(world, core, Event::Tick, thread, budget, log)
            }
            Step::Preempt(core) => self.stop_current(world, core, Event::Preempt, budget, log),
            // An idle core begins with `schedule`, which is one step.
            Step::Dispatch(core) => {
                let budget = if budget == Budget::All { budget } else { Budget::Step };
                self.begin_event(world, core, Event::Schedule, none, budget, log)
            }
            Step::Interrupt(thread) => {
                world.thread_mut(thread).sleeps = false;
                let core = world.thread(thread).core;
                self.begin_event(world, core, Event::Unblock, thread, budget, log)
            }
            Step::Timer(thread) => {
                world.thread_mut(thread).timer = -1;
                let core = world.thread(thread).timer_core;
                self.begin_event(world, core, Event::Timer, thread, budget, log)
            }
        }
    }

    fn execute_op(
        &mut self,
        world: &mut World,
        core: u8,
        sync: bool,
        budget: Budget,
        log: Option<&mut Log>,
    ) -> Result<(), Violation> {
        let op = next_op(self.model, world, core);
        let current = world.core(core).current;
        world.thread_mut(current).next += 1;
        match op {
            Some(Op::Fork(child)) if world.thread(child).state == State::NotQueued => {
                if world.owner(child).is_some() {
                    return Ok(());
                }
                world.thread_mut(child).core = core;
                self.begin_event(world, core, Event::New, child, budget, log)
            }
            Some(Op::Wake(other)) => match world.thread(other).state {
                State::Blocked if world.owner(other).is_none() && !world.thread(other).sleeps => {
                    let activity = Activity { sync, ..Activity::new(Event::Unblock, other, core) };
                    self.start(world, activity, budget, log)
                }
                State::NotQueued | State::Terminated => Ok(()),
                _ => {
                    world.thread_mut(other).token = true;
                    Ok(())
                }
            },
            Some(Op::Block) if world.thread(current).token => {
                world.thread_mut(current).token = false;
                Ok(())
            }
            Some(Op::Block) => self.stop_current(world, core, Event::Block, budget, log),
            Some(Op::Sleep) => {
                world.thread_mut(current).sleeps = true;
                self.stop_current(world, core, Event::Block, budget, log)
            }
            Some(Op::Yield) => self.stop_current(world, core, Event::Yield, budget, log),
            Some(Op::Fork(_) | Op::Forever) => Ok(()),
            None => self.stop_current(world, core, Event::Terminate, budget, log),
        }
    }

    /// Deschedules the current thread. The event says why.
    pub fn stop_current(
        &mut self,
        world: &mut World,
        core: u8,
        event: Event,
        budget: Budget,
        log: Option<&mut Log>,
    ) -> Result<(), Violation> {
        let thread = std::mem::replace(&mut world.core_mut(core).current, NO_THREAD);
        world.core_mut(core).resched = false;
        let runtime = world.runtime(thread);
        let t = world.thread_mut(thread);
        (t.runtime, t.since) = (runtime, -1);
        self.begin_event(world, core, event, thread, budget, log)
    }

    /// Begins an event on a core.
    pub fn begin_event(
        &mut self,
        world: &mut World,
        core: u8,
        event: Event,
        thread: u8,
        budget: Budget,
        log: Option<&mut Log>,
    ) -> Result<(), Violation> {
        self.start(world, Activity::new(event, thread, core), budget, log)
    }

    fn start(
        &mut self,
        world: &mut World,
        activity: Activity,
        budget: Budget,
        mut log: Option<&mut Log>,
    ) -> Result<(), Violation> {
        let (core, idle_before) = (activity.core, world.idle);
        world.core_mut(core).ghost = Ghost { idle_before, ..Ghost::default() };
        if let Some(log) = &mut log {
            log.push(LogEntry::Begins { event: activity.cause, thread: activity.subject, core });
        }
        self.resume(world, core, activity, budget, log)
    }

    /// Resumes the event of a core until the budget is used up or the event ends.
    fn resume(
        &mut self,
        world: &mut World,
        me: u8,
        mut activity: Activity,
        mut budget: Budget,
        mut log: Option<&mut Log>,
    ) -> Result<(), Violation> {
        loop {
            let event = activity.event();
            if !matches!(activity.phase, Phase::Handler(_)) {
                if budget == Budget::Nothing {
                    break;
                }
                // These phases are one step, whatever they access.
                let after = if budget == Budget::All { Budget::All } else { Budget::Nothing };
                budget = Budget::All;
                if activity.phase == Phase::GoIdle {
                    go_idle(world, me, &mut activity, log.as_deref_mut());
                    budget = after;
                    continue;
                }
                activity = self.handler(world, me, activity, &mut budget, log.as_deref_mut())?.1;
                budget = after;
            } else {
                let (ended, then) = self.handler(world, me, activity, &mut budget, log.as_deref_mut())?;
                activity = then;
                if !ended {
                    break;
                }
            }
            self.end_handler(world, me, event, &mut activity)?;
            if !next_phase(world, me, event, &mut activity)? {
                cwc::at_end(self.checks, self.model, world, me, &activity)?;
                world.core_mut(me).ghost = Ghost::default();
                return Ok(());
            }
            if let (Some(log), Phase::Handler(event)) = (&mut log, activity.phase)
                && self.model.handler(event).is_some()
            {
                log.push(LogEntry::Begins { event, thread: NO_THREAD, core: activity.core });
            }
        }
        world.core_mut(me).activity = Some(Arc::new(activity));
        Ok(())
    }

    /// Runs the handler of the activity. `false` means that it is suspended.
    fn handler(
        &mut self,
        world: &mut World,
        me: u8,
        activity: Activity,
        budget: &mut Budget,
        log: Option<&mut Log>,
    ) -> Result<(bool, Activity), Violation> {
        let Some(handler) = self.model.handler(activity.event()) else { return Ok((true, activity)) };
        let (thread, core) = (i64::from(activity.subject), i64::from(activity.core));
        let args: &[i64] = match activity.event() {
            Event::New | Event::Unblock => &[thread, core],
            Event::Tick | Event::Yield | Event::Preempt | Event::Block | Event::Terminate | Event::Timer => {
                &[thread]
            }
            _ => &[core],
        };
        let mut env = Env::new(self.model, world, &mut self.reduction, me, activity, *budget);
        env.log = log;
        let ended = match interp::run(&mut env, handler, args) {
            Ok(()) => true,
            Err(Stop::Suspended) => false,
            Err(Stop::Violated(violation)) => return Err(violation),
        };
        *budget = env.budget();
        Ok((ended, env.activity))
    }

    /// Checks that a handler did what it must, and releases its claims.
    fn end_handler(
        &mut self,
        world: &mut World,
        me: u8,
        event: Event,
        activity: &mut Activity,
    ) -> Result<(), Violation> {
        use Event::{Block, New, Preempt, Schedule, Terminate, Unblock, Yield};
        if matches!(event, New | Unblock | Yield | Preempt | Block | Terminate) && !activity.moved {
            let what = format!("`{}` makes no transition of thread {}", event.name(), activity.subject);
            return Err(Violation::safety(what));
        }
        let core = world.core(me);
        if event == Schedule && core.current == NO_THREAD && core.nr_ready() > 0 {
            let what = format!("`schedule` leaves core {me} without a thread, although one is ready there");
            return Err(Violation::safety(what));
        }
        // A claim without a placement ends with the handler.
        world.claimed = world.claimed - activity.claims;
        activity.claims = Cores::EMPTY;
        let leaves = event == Preempt && world.thread(activity.subject).core != me;
        if matches!(event, New | Unblock) || leaves {
            cwc::at_placement(self.checks, self.model, world, me, activity)?;
        }
        Ok(())
    }
}

fn clock(world: &mut World) {
    world.now += TICK_NS;
    world.ticks -= 1;
    for core in &mut world.cores {
        core.tick = core.mode == Mode::Busy;
    }
}

fn go_idle(world: &mut World, me: u8, activity: &mut Activity, log: Option<&mut Log>) {
    let stays = world.core(me).nr_ready() > 0;
    if let Some(log) = log {
        log.push(if stays { LogEntry::StaysAwake } else { LogEntry::Idle });
    }
    if stays {
        activity.phase = Phase::Schedule;
        return;
    }
    activity.phase = Phase::Handler(Event::EnterIdle);
    let now = world.now;
    world.idle.insert(me);
    let core = world.core_mut(me);
    (core.mode, core.idle_since, core.tick, core.resched) = (Mode::Idle, now, false, false);
    for core in world.cores.iter_mut().filter(|core| core.activity.is_some()) {
        core.ghost.became_idle.insert(me);
    }
    if let Some(quiet) = &mut world.quiet {
        // It may have missed its tick, which counts if it is busy again before the round ends.
        quiet.balanced.remove(me);
    }
}

/// Advances to the phase after the handler of `event`. `false` means that the event has ended.
fn next_phase(world: &World, me: u8, event: Event, activity: &mut Activity) -> Result<bool, Violation> {
    if event != Event::ExitIdle {
        activity.last = event;
    }
    activity.record.clear();
    activity.sync = false;
    // In both runtimes, the core that places a thread calls exit_idle.
    if let Some(woken) = activity.woken.iter().next() {
        activity.woken.remove(woken);
        activity.core = woken;
        activity.phase = Phase::Handler(Event::ExitIdle);
        return Ok(true);
    }
    activity.core = me;
    let core = world.core(me);
    let next = match activity.last {
        Event::Tick => Phase::Handler(Event::Balance),
        Event::Yield | Event::Preempt | Event::Block | Event::Terminate => Phase::Schedule,
        Event::Schedule if core.current != NO_THREAD => return Ok(false),
        Event::Schedule if !activity.searched => Phase::Handler(Event::NewlyIdle),
        Event::Schedule => Phase::GoIdle,
        Event::NewlyIdle if core.nr_ready() > 0 => Phase::Schedule,
        Event::NewlyIdle => Phase::GoIdle,
        _ => return Ok(false),
    };
    activity.searched |= next == Phase::Handler(Event::NewlyIdle);
    activity.subject = NO_THREAD;
    activity.moved = false;
    activity.phase = next;
    Ok(true)
}
