//! The effect of each access on the state, and the safety violations that it can cause.

use hearth_ipanema::ir::{CoreField, Event, KeptSet, QueueId};

use crate::access::Access;
use crate::cores::Cores;
use crate::env::Env;
use crate::model::EXIT_LATENCY_NS;
use crate::property::{Property, Violation};
use crate::world::{Mode, NO_THREAD, State, World};

impl World {
    fn enqueue(&mut self, thread: u8, core: u8, queue: QueueId, key: i64) {
        let line = self.core(core).queues[queue.index()];
        // Threads with equal keys are in order of arrival.
        let at = line.iter().take_while(|other| self.thread(*other).key <= key).count();
        self.core_mut(core).queues[queue.index()].insert(at, thread);
        let t = self.thread_mut(thread);
        (t.state, t.core, t.queue, t.key) = (State::Ready, core, queue.0 as u8, key);
    }

    fn dequeue(&mut self, thread: u8) {
        let t = *self.thread(thread);
        self.core_mut(t.core).queues[usize::from(t.queue)].remove(thread);
    }

    /// Idle cores whose hyperthreads are all idle.
    fn idle_whole(&self, siblings: impl Fn(u8) -> Cores) -> Cores {
        self.idle.iter().filter(|core| (siblings(*core) - self.idle).is_empty()).collect()
    }
}

fn violated<T>(what: String) -> Result<T, Violation> {
    Err(Violation::safety(what))
}

impl Env<'_> {
    /// Executes the access on the current state. A write that fails (a claim, a full set) returns 0.
    pub fn perform(&mut self, access: Access) -> Result<i64, Violation> {
        if access.is_read() { Ok(self.read(access)) } else { self.change(access) }
    }

    fn read(&self, access: Access) -> i64 {
        let (world, model) = (&*self.world, self.model);
        match access {
            Access::Set(set) => world.vars[model.set_at(set)],
            Access::Kept(kept) => i64::from(self.kept(kept).0),
            Access::Global(attribute) => world.vars[model.global_at(attribute)],
            Access::CoreAttribute(core, attribute) => world.vars[model.core_at(core, attribute)],
            Access::ThreadAttribute(thread, attribute) => world.vars[model.thread_at(thread, attribute)],
            Access::CoreField(core, field) => self.core_field(core, field),
            Access::ThreadCore(thread) => i64::from(world.thread(thread).core),
            Access::Runtime(thread) => world.runtime(thread),
            Access::Queue(core, queue) => i64::from(world.core(core).queues[queue.index()].0),
            Access::InQueue(thread, core, queue) => {
                i64::from(world.core(core).queues[queue.index()].contains(thread))
            }
            _ => unreachable!("not a read"),
        }
    }

    fn kept(&self, kept: KeptSet) -> Cores {
        match kept {
            KeptSet::Online => self.model.map.online,
            KeptSet::Idle => self.world.idle,
            KeptSet::IdleWhole => self.world.idle_whole(|core| self.model.map.siblings(core)),
            KeptSet::Waiting => self.world.waiting(),
        }
    }

    fn core_field(&self, core: u8, field: CoreField) -> i64 {
        let c = self.world.core(core);
        match field {
            CoreField::Current if c.current == NO_THREAD => -1,
            CoreField::Current => i64::from(c.current),
            CoreField::NrReady => c.nr_ready() as i64,
            CoreField::NrRunning => c.nr_running() as i64,
            CoreField::Frequency => self.model.frequency(core),
            CoreField::MinFrequency => crate::model::MIN_KHZ,
            CoreField::Capacity => crate::model::capacity(core),
            CoreField::ExitLatency if c.mode == Mode::Idle => EXIT_LATENCY_NS,
            CoreField::ExitLatency => 0,
            CoreField::IdleSince => c.idle_since,
        }
    }

    fn change(&mut self, access: Access) -> Result<i64, Violation> {
        let model = self.model;
        match access {
            Access::SetSet(set, value) => self.world.vars[model.set_at(set)] = value,
            Access::SetGlobal(attribute, value) => self.world.vars[model.global_at(attribute)] = value,
            Access::SetCore(core, attribute, value) => {
                self.world.vars[model.core_at(core, attribute)] = value
            }
            Access::SetThread(t, attribute, value) => self.world.vars[model.thread_at(t, attribute)] = value,
            Access::Add { set, core, max } => {
                let members = &mut self.world.vars[model.set_at(set)];
                let bit = 1 << core;
                if *members & bit == 0 && i64::from(members.count_ones()) >= max {
                    return Ok(0);
                }
                *members |= bit;
            }
            Access::Remove { set, core } => {
                let members = &mut self.world.vars[model.set_at(set)];
                let was = *members >> core & 1;
                *members &= !(1 << core);
                return Ok(was);
            }
            Access::Claim(core) => {
                if !self.world.idle.contains(core) || self.world.claimed.contains(core) {
                    return Ok(0);
                }
                self.world.claimed.insert(core);
                self.activity.claims.insert(core);
            }
            Access::Release(core) => {
                if self.activity.claims.contains(core) {
                    self.activity.claims.remove(core);
                    self.world.claimed.remove(core);
                }
            }
            Access::Arm(t, after) => {
                let due = self.world.now.wrapping_add(after.max(0));
                let (t, me) = (self.world.thread_mut(t), self.me);
                (t.timer, t.timer_core) = (due, me);
            }
            Access::Cancel(t) => self.world.thread_mut(t).timer = -1,
            Access::Preempt(core) => {
                let preempting = self.event == Event::Preempt;
                let c = self.world.core_mut(core);
                c.resched |= c.current != NO_THREAD && !preempting;
            }
            Access::Ready { thread, from: Some((core, queue)), .. }
                if !self.world.core(core).queues[queue.index()].contains(thread) =>
            {
                return Ok(0);
            }
            Access::Ready { thread, core, queue, key, .. } => return self.ready(thread, core, queue, key),
            Access::Run(thread) => self.run(thread)?,
            Access::Blocked(thread) => self.stop_running(thread, Event::Block, State::Blocked)?,
            Access::Terminated(thread) => self.stop_running(thread, Event::Terminate, State::Terminated)?,
            _ => unreachable!("a read"),
        }
        Ok(1)
    }

    /// Moves a thread to a ready queue. 0 means that another core has taken it.
    fn ready(&mut self, thread: u8, core: u8, queue: QueueId, key: i64) -> Result<i64, Violation> {
        let before = self.world.thread(thread).state;
        let event = self.event;
        let moves = matches!(event, Event::Timer | Event::NewlyIdle | Event::Balance);
        if moves && before != State::Ready {
            return Ok(0);
        }
        let from = match event {
            Event::New => State::NotQueued,
            Event::Unblock => State::Blocked,
            Event::Yield | Event::Preempt => State::Running,
            _ => State::Ready,
        };
        let subject = moves && event != Event::Timer || thread == self.activity.subject;
        if before != from || !subject || self.activity.moved && !moves || self.world.thread(thread).since >= 0
        {
            return violated(format!(
                "`{}` makes thread {thread} ready, but the thread is {before:?}",
                event.name()
            ));
        }
        if !self.model.map.online.contains(core) {
            return violated(format!(
                "thread {thread} is placed on core {core}, which does not exist or is off line"
            ));
        }
        if !self.model.affinity[usize::from(thread)].contains(core) {
            return violated(format!("thread {thread} is placed on core {core}, where it may not run"));
        }
        if event == Event::Yield && core != self.me {
            return violated(format!("`{}` moves thread {thread} to another core", event.name()));
        }
        if before == State::Ready {
            self.world.dequeue(thread);
        }
        self.world.enqueue(thread, core, queue, key);
        self.activity.moved = true;
        self.end_claim(core)?;
        if self.world.idle.contains(core) {
            self.world.idle.remove(core);
            self.activity.woken.insert(core);
        }
        self.update_ghosts(|ghost| ghost.placed.insert(core));
        Ok(1)
    }

    /// Ends this handler's claim of the core, on which it has placed a thread.
    fn end_claim(&mut self, core: u8) -> Result<(), Violation> {
        if !self.activity.claims.contains(core) {
            return Ok(());
        }
        self.world.claimed.remove(core);
        self.activity.claims.remove(core);
        let claims =
            |other: &crate::world::Core| other.activity.as_ref().is_some_and(|a| a.claims.contains(core));
        match self.world.cores.iter().position(claims) {
            None => Ok(()),
            Some(other) => Err(Violation {
                property: Property::Claims,
                what: format!(
                    "cores {} and {other} have both claimed core {core} and place threads there",
                    self.me
                ),
            }),
        }
    }

    /// Updates the ghost state of every event in progress on another core.
    fn update_ghosts(&mut self, update: impl Fn(&mut crate::world::Ghost)) {
        for core in &mut self.world.cores {
            if core.activity.is_some() {
                update(&mut core.ghost);
            }
        }
    }

    fn run(&mut self, thread: u8) -> Result<(), Violation> {
        let t = *self.world.thread(thread);
        if self.event != Event::Schedule || t.state != State::Ready || t.core != self.me {
            return violated(format!(
                "core {} runs thread {thread}, but the thread is {:?} on core {}",
                self.me, t.state, t.core
            ));
        }
        self.world.dequeue(thread);
        let now = self.world.now;
        let t = self.world.thread_mut(thread);
        (t.state, t.since, t.timer, t.waited) = (State::Running, now, -1, 0);
        let core = self.world.core_mut(self.me);
        (core.current, core.mode) = (thread, Mode::Busy);
        Ok(())
    }

    fn stop_running(&mut self, thread: u8, event: Event, to: State) -> Result<(), Violation> {
        let t = self.world.thread_mut(thread);
        if self.event != event || thread != self.activity.subject || t.state != State::Running || t.since >= 0
        {
            return violated(format!(
                "`{}` makes thread {thread} {to:?}, but the thread is {:?}",
                self.event.name(),
                t.state
            ));
        }
        t.state = to;
        self.activity.moved = true;
        Ok(())
    }
}
