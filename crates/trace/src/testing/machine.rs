//! A model of a machine that turns random steps into a consistent trace, and the full state after
//! each event, for slow reference implementations.

use crate::Trace;
use crate::event::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A random step; impossible steps are skipped.
#[derive(Clone, Debug)]
pub enum Step {
    Pass(Time),
    /// The thread running on the first core forks a child onto the second.
    Fork(CoreId, CoreId),
    /// The thread running on the first core wakes the n-th blocked thread onto the second.
    Wake(usize, CoreId, CoreId),
    /// The core switches to the n-th of its ready threads, or to idle.
    Switch(CoreId, usize, bool),
    Migrate(usize, CoreId),
    /// An event that moves no thread.
    Say(CoreId, Kind),
}

/// Random steps for `cores` cores. `pass` generates delays, `say` generates events that move no
/// thread.
pub fn steps(
    cores: CoreId,
    pass: impl Strategy<Value = Time>,
    say: impl Strategy<Value = Kind>,
) -> impl Strategy<Value = Vec<Step>> {
    let core = move || 0..cores;
    let step = prop_oneof![
        4 => pass.prop_map(Step::Pass),
        2 => (core(), core()).prop_map(|(core, target)| Step::Fork(core, target)),
        4 => (any::<usize>(), core(), core()).prop_map(|(n, core, target)| Step::Wake(n, core, target)),
        8 => (core(), any::<usize>(), any::<bool>()).prop_map(|(core, n, block)| Step::Switch(core, n, block)),
        1 => (any::<usize>(), core()).prop_map(|(n, core)| Step::Migrate(n, core)),
        3 => (core(), say).prop_map(|(core, kind)| Step::Say(core, kind)),
    ];
    vec(step, 0..150)
}

/// Multiples of 100 MHz below 4.5 GHz, so that references need no rounding.
pub fn any_khz() -> impl Strategy<Value = u32> {
    (0..45u32).prop_map(|tenths| tenths * 100_000)
}

/// Scheduling state of all threads.
#[derive(Default)]
struct Machine {
    running: Vec<Tid>,
    ready: Vec<(Tid, CoreId)>,
    blocked: Vec<Tid>,
    threads: Tid,
}

/// Applies the steps to the machine of the header. Two of three threads are traced, and threads
/// share three names.
pub fn play(header: Header, steps: &[Step]) -> Trace {
    let mut machine = Machine { running: vec![IDLE; header.cores.len()], ..Machine::default() };
    let (mut trace, mut time) = (Trace { header, events: Vec::new() }, 0);
    for step in steps {
        match step {
            Step::Pass(ns) => time += ns,
            _ => trace.events.extend(machine.step(step).map(|(core, kind)| Event { time, core, kind })),
        }
    }
    let name = |tid| ["", "make", "cc1", "cc1"][tid as usize % 4].into();
    let thread = |tid| ThreadInfo { tid, name: name(tid), traced: tid % 3 != 0, ..ThreadInfo::default() };
    trace.header.threads = (1..=machine.threads).map(thread).collect();
    trace.header.duration = time + 1;
    trace
}

impl Machine {
    fn step(&mut self, step: &Step) -> Option<(CoreId, Kind)> {
        Some(match *step {
            Step::Pass(_) => return None,
            Step::Fork(core, target) => {
                self.threads += 1;
                self.ready.push((self.threads, target));
                let parent = self.running[usize::from(core)];
                (core, Kind::Fork { parent, child: self.threads, target })
            }
            Step::Wake(n, core, target) => {
                let thread = self.blocked.swap_remove(n.checked_rem(self.blocked.len())?);
                self.ready.push((thread, target));
                let waker = match self.running[usize::from(core)] {
                    IDLE => Waker::Interrupt,
                    waker => Waker::Thread(waker),
                };
                (core, Kind::Wakeup { thread, waker, target, sync: false })
            }
            Step::Switch(core, n, block) => (core, self.switch(core, n, block)?),
            Step::Migrate(n, to) => {
                let index = n.checked_rem(self.ready.len())?;
                let (thread, from) = self.ready[index];
                self.ready[index].1 = to;
                (to, Kind::Migrate { thread, from, to })
            }
            // Placements refer to a thread, which must exist.
            Step::Say(_, Kind::Place { thread, .. }) if thread > self.threads => return None,
            Step::Say(core, kind) => (core, kind),
        })
    }

    fn switch(&mut self, core: CoreId, n: usize, block: bool) -> Option<Kind> {
        let queue: Vec<usize> = (0..self.ready.len()).filter(|i| self.ready[*i].1 == core).collect();
        let next = match n.checked_rem(queue.len()) {
            Some(n) => self.ready.swap_remove(queue[n]).0,
            None => IDLE,
        };
        let prev = std::mem::replace(&mut self.running[usize::from(core)], next);
        // Preemption requires a successor.
        let stop = if prev != IDLE && (block || next == IDLE) { Stop::Blocked } else { Stop::Preempted };
        match stop {
            Stop::Blocked => self.blocked.push(prev),
            _ if prev != IDLE => self.ready.push((prev, core)),
            _ => {}
        }
        (prev != next).then_some(Kind::Switch { prev, stop, next })
    }
}

/// State from `time` until the next moment.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    pub time: Time,
    pub running: Vec<Tid>,
    pub ready: BTreeMap<Tid, CoreId>,
    pub khz: Vec<u32>,
    /// Cores with a `Frequency` event; their ticks carry no new information.
    exact: BTreeSet<CoreId>,
    pub spin: Vec<bool>,
    /// Members of each core set.
    pub members: BTreeSet<(u8, CoreId)>,
    /// Reason of the last placement on each core, plus 1.
    pub reason: Vec<u8>,
}

impl Moment {
    fn event(&mut self, event: &Event) {
        self.time = event.time;
        let core = usize::from(event.core);
        match event.kind {
            Kind::Switch { prev, stop, next } => {
                if prev != IDLE && matches!(stop, Stop::Preempted | Stop::Yielded) {
                    self.ready.insert(prev, event.core);
                }
                self.ready.remove(&next);
                self.running[core] = next;
            }
            Kind::Wakeup { thread, target: to, .. }
            | Kind::Fork { child: thread, target: to, .. }
            | Kind::Migrate { thread, to, .. } => {
                self.ready.insert(thread, to);
            }
            Kind::Place { target, reason, .. } => self.reason[usize::from(target)] = reason as u8 + 1,
            Kind::Frequency { khz } => {
                self.exact.insert(event.core);
                self.khz[core] = khz;
            }
            Kind::Tick { khz } if !self.exact.contains(&event.core) => self.khz[core] = khz,
            Kind::Spin { on } => self.spin[core] = on,
            Kind::Set { set, member: true } => {
                self.members.insert((set, event.core));
            }
            Kind::Set { set, member: false } => {
                self.members.remove(&(set, event.core));
            }
            _ => {}
        }
    }

    pub fn ready_on(&self, core: usize) -> impl Iterator<Item = Tid> + '_ {
        self.ready.iter().filter(move |(_, on)| usize::from(**on) == core).map(|(tid, _)| *tid)
    }

    pub fn runnable_on(&self, core: usize) -> usize {
        usize::from(self.running[core] != IDLE) + self.ready_on(core).count()
    }

    /// Cores without runnable threads.
    pub fn idle(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.running.len()).filter(|core| self.runnable_on(*core) == 0)
    }
}

/// Moments of a consistent trace: before the first event, after each event, and at the end.
pub fn moments(trace: &Trace) -> Vec<Moment> {
    let cores = trace.header.cores.len();
    let mut now = Moment {
        running: vec![IDLE; cores],
        khz: vec![0; cores],
        spin: vec![false; cores],
        reason: vec![0; cores],
        ..Moment::default()
    };
    let mut all = vec![now.clone()];
    for event in &trace.events {
        now.event(event);
        all.push(now.clone());
    }
    now.time = trace.header.duration;
    all.push(now);
    all
}

#[cfg(test)]
proptest! {
    #[test]
    fn random_steps_give_consistent_traces(
        steps in steps(4, 0..1000u64, any_khz().prop_map(|khz| Kind::Frequency { khz })),
    ) {
        let header = Header { cores: vec![CoreInfo::default(); 4], ..Header::default() };
        prop_assert_eq!(play(header, &steps).check(), vec![]);
    }
}
