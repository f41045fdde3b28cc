//! Who runs and waits where, kept up to date event by event.
//!
//! All metrics stand on this one reading of the events. It takes whatever comes: where a trace
//! contradicts itself (events were lost), the newer event is believed.

use crate::event::{CoreId, Event, Header, IDLE, Kind, Stop, Tid, Time};
use std::collections::HashMap;

/// What a core runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Occupant {
    #[default]
    Idle,
    /// A thread of the recorded command or the simulated workload.
    Traced,
    /// Any other thread.
    Other,
}

/// What the metrics know of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CoreState {
    pub occupant: Occupant,
    /// Threads that run on the core or are ready on it.
    pub runnable: u32,
    /// The frequency that the core last showed; 0: unknown.
    pub khz: u32,
}

impl CoreState {
    pub fn busy(&self) -> bool {
        self.occupant != Occupant::Idle
    }

    /// Nothing runs, nothing is ready. (A core whose woken thread has not yet been switched to is
    /// neither busy nor idle.)
    pub fn idle(&self) -> bool {
        self.runnable == 0
    }
}

/// Takes what an event changed, once per core and event.
pub trait Observer {
    /// Core `core` was `before` until `now`, and is `after` from then on.
    fn core(&mut self, now: Time, core: usize, before: CoreState, after: CoreState);

    /// `count` traced threads are runnable now (running or ready, on any core).
    fn runnable(&mut self, count: u32);

    /// A traced thread begins to run: `waited` ns after it was woken or forked (`None`: it had
    /// only been preempted), having last run on `from` (`None`: never).
    fn start(&mut self, _core: CoreId, _waited: Option<Time>, _from: Option<CoreId>) {}

    /// As `start`, of any thread, traced or not.
    fn run(&mut self, _now: Time, _thread: Tid, _core: CoreId, _waited: Option<Time>, _from: Option<CoreId>) {
    }

    /// Any thread was at `before` until `now`, and is at `after` from then on. Told before `core`.
    fn thread(&mut self, _now: Time, _thread: Tid, _before: Place, _after: Place) {}
}

/// Nobody looks.
impl Observer for () {
    fn core(&mut self, _: Time, _: usize, _: CoreState, _: CoreState) {}
    fn runnable(&mut self, _: u32) {}
}

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Place {
    /// Blocked, ended, or not seen yet.
    #[default]
    Away,
    Ready(CoreId),
    Running(CoreId),
}

#[derive(Clone, Copy)]
struct Thread {
    place: Place,
    traced: bool,
    last: Option<CoreId>,
    /// When it was woken or forked, until it runs.
    woken: Option<Time>,
}

impl Thread {
    const UNSEEN: Thread = Thread { place: Place::Away, traced: true, last: None, woken: None };
}

/// Threads by [`Tid`]. Recorders and simulators number threads from 1, so they lie in a table;
/// a file may hold any number, so the table is bounded and the rest is hashed.
#[derive(Clone, Default)]
struct Threads {
    dense: Vec<Option<Thread>>,
    sparse: HashMap<Tid, Thread>,
}

impl Threads {
    const DENSE: usize = 1 << 20;

    fn known(&self, tid: Tid) -> Option<&Thread> {
        match tid as usize {
            index if index < Self::DENSE => self.dense.get(index)?.as_ref(),
            _ => self.sparse.get(&tid),
        }
    }

    fn get(&mut self, tid: Tid) -> &mut Thread {
        let index = tid as usize;
        if index >= Self::DENSE {
            return self.sparse.entry(tid).or_insert(Thread::UNSEEN);
        }
        if index >= self.dense.len() {
            self.dense.resize(index + 1, None);
        }
        self.dense[index].get_or_insert(Thread::UNSEEN)
    }
}

#[derive(Clone)]
pub struct State {
    cores: Vec<CoreState>,
    /// The thread on each core. `current[c] == t` exactly when `threads[t]` is `Running(c)`.
    current: Vec<Tid>,
    /// Cores that have had a `Frequency` event, for which ticks say nothing new.
    exact: Vec<bool>,
    threads: Threads,
    runnable: u32,
    /// Cores changed by the event at hand, as they were before it. A switch changes at most
    /// three: its own, and where `prev` and `next` were thought to be.
    touched: [(usize, CoreState); 3],
    touched_len: usize,
}

impl State {
    pub fn new(header: &Header) -> Self {
        let mut threads = Threads::default();
        for thread in &header.threads {
            threads.get(thread.tid).traced = thread.traced;
        }
        let n = header.cores.len();
        State {
            cores: vec![CoreState::default(); n],
            current: vec![IDLE; n],
            exact: vec![false; n],
            threads,
            runnable: 0,
            touched: Default::default(),
            touched_len: 0,
        }
    }

    pub fn cores(&self) -> &[CoreState] {
        &self.cores
    }

    /// The thread that runs on `core`.
    pub fn current(&self, core: usize) -> Tid {
        self.current[core]
    }

    /// Traced threads that run or are ready.
    pub fn runnable(&self) -> u32 {
        self.runnable
    }

    /// Whether `core` has had a `Frequency` event.
    pub fn exact(&self, core: usize) -> bool {
        self.exact[core]
    }

    /// The ready threads, in the order of their numbers, and where they wait.
    pub fn ready(&self) -> Vec<(Tid, CoreId)> {
        let running = self.current.iter().filter(|tid| **tid != IDLE).count();
        let count = self.cores.iter().map(|core| core.runnable as usize).sum::<usize>() - running;
        let place = |(tid, thread): (Tid, &Thread)| match thread.place {
            Place::Ready(core) => Some((tid, core)),
            _ => None,
        };
        // New threads have high numbers, and few threads are ready: all are soon found.
        let dense = self.threads.dense.iter().enumerate().rev();
        let dense = dense.filter_map(|(tid, thread)| Some((tid as Tid, thread.as_ref()?)));
        let sparse = self.threads.sparse.iter().map(|(tid, thread)| (*tid, thread));
        let mut ready: Vec<_> = dense.chain(sparse).filter_map(place).take(count).collect();
        ready.sort_unstable();
        ready
    }

    /// Puts back what a snapshot of a core says. For a state in which nothing has happened yet.
    pub fn restore_core(&mut self, core: CoreId, current: Tid, khz: u32, exact: bool) {
        let index = usize::from(core);
        self.cores[index].khz = khz;
        self.exact[index] = exact;
        if current != IDLE {
            self.put(0, current, Place::Running(core), &mut ());
        }
        self.touched_len = 0;
    }

    /// Puts a thread back into the queue in which a snapshot says that it was ready.
    pub fn restore_ready(&mut self, tid: Tid, core: CoreId) {
        self.put(0, tid, Place::Ready(core), &mut ());
        self.touched_len = 0;
    }

    /// Whether `tid` is part of what was asked for. What the header does not list is, unless its
    /// parent is not.
    pub fn traced(&self, tid: Tid) -> bool {
        tid != IDLE && self.threads.known(tid).is_none_or(|thread| thread.traced)
    }

    /// False if the event speaks of a core that the machine does not have.
    pub fn possible(&self, event: &Event) -> bool {
        let n = self.cores.len();
        let exists = |core: CoreId| usize::from(core) < n;
        exists(event.core)
            && match event.kind {
                Kind::Wakeup { target, .. } | Kind::Fork { target, .. } | Kind::Place { target, .. } => {
                    exists(target)
                }
                Kind::Migrate { from, to, .. } => exists(from) && exists(to),
                _ => true,
            }
    }

    /// Follows an event that is [`State::possible`], and tells `observer` what it changed.
    pub fn apply(&mut self, event: &Event, observer: &mut impl Observer) {
        let (now, core) = (event.time, event.core);
        let runnable = self.runnable;
        match event.kind {
            Kind::Switch { prev, stop, next } => self.switch(now, core, prev, stop, next, observer),
            Kind::Wakeup { thread, target, .. } => self.wake(now, thread, target, observer),
            Kind::Fork { parent, child, target } => {
                if self.threads.known(child).is_none() {
                    self.threads.get(child).traced = parent == IDLE || self.traced(parent);
                }
                self.wake(now, child, target, observer);
            }
            Kind::Migrate { thread, to, .. } if thread != IDLE => {
                if let Place::Ready(_) = self.threads.get(thread).place {
                    self.put(now, thread, Place::Ready(to), observer);
                }
            }
            Kind::Frequency { khz } => {
                self.exact[usize::from(core)] = true;
                self.touch(core);
                self.cores[usize::from(core)].khz = khz;
            }
            Kind::Tick { khz } if khz != 0 && !self.exact[usize::from(core)] => {
                self.touch(core);
                self.cores[usize::from(core)].khz = khz;
            }
            _ => {}
        }
        for &(core, before) in &self.touched[..self.touched_len] {
            if self.cores[core] != before {
                observer.core(now, core, before, self.cores[core]);
            }
        }
        self.touched_len = 0;
        if self.runnable != runnable {
            observer.runnable(self.runnable);
        }
    }

    fn switch(
        &mut self,
        now: Time,
        core: CoreId,
        prev: Tid,
        stop: Stop,
        next: Tid,
        observer: &mut impl Observer,
    ) {
        let current = self.current[usize::from(core)];
        if current != prev && current != IDLE {
            self.put(now, current, Place::Away, observer); // its own switch was lost
        }
        if prev != IDLE {
            let place = match stop {
                Stop::Preempted | Stop::Yielded => Place::Ready(core),
                Stop::Blocked | Stop::Exited => Place::Away,
            };
            self.threads.get(prev).last = Some(core);
            self.put(now, prev, place, observer);
        }
        if next != IDLE {
            let thread = self.threads.get(next);
            let (waited, from) = (thread.woken.take(), thread.last.replace(core));
            let waited = waited.map(|woken| now.saturating_sub(woken));
            observer.run(now, next, core, waited, from);
            if thread.traced {
                observer.start(core, waited, from);
            }
            self.put(now, next, Place::Running(core), observer);
        }
    }

    fn wake(&mut self, now: Time, tid: Tid, target: CoreId, observer: &mut impl Observer) {
        if tid == IDLE {
            return;
        }
        let thread = self.threads.get(tid);
        match thread.place {
            Place::Running(_) => return,
            Place::Ready(_) => {}
            Place::Away => thread.woken = Some(now),
        }
        self.put(now, tid, Place::Ready(target), observer);
    }

    /// Moves a thread. Whoever ran where it is going to run has been put away before.
    fn put(&mut self, now: Time, tid: Tid, place: Place, observer: &mut impl Observer) {
        let thread = self.threads.get(tid);
        let (old, traced) = (std::mem::replace(&mut thread.place, place), thread.traced);
        if old != place {
            observer.thread(now, tid, old, place);
        }
        if let Place::Ready(core) | Place::Running(core) = old {
            self.touch(core);
            let index = usize::from(core);
            self.cores[index].runnable -= 1;
            self.runnable -= u32::from(traced);
            if let Place::Running(_) = old {
                self.cores[index].occupant = Occupant::Idle;
                self.current[index] = IDLE;
            }
        }
        if let Place::Ready(core) | Place::Running(core) = place {
            self.touch(core);
            let index = usize::from(core);
            self.cores[index].runnable += 1;
            self.runnable += u32::from(traced);
            if let Place::Running(_) = place {
                self.cores[index].occupant = if traced { Occupant::Traced } else { Occupant::Other };
                self.current[index] = tid;
            }
        }
    }

    fn touch(&mut self, core: CoreId) {
        let index = usize::from(core);
        if self.touched[..self.touched_len].iter().all(|(touched, _)| *touched != index) {
            self.touched[self.touched_len] = (index, self.cores[index]);
            self.touched_len += 1;
        }
    }
}
