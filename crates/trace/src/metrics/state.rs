//! State of cores and threads: which thread runs or waits on which core, updated event by event.
//!
//! All metrics are based on this state. It accepts any sequence of events: if events contradict
//! each other because some were lost, the newer event wins.

use crate::event::{CoreId, Event, Header, IDLE, Kind, Stop, Tid, Time};
use std::collections::HashMap;

/// Kind of thread that a core runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Occupant {
    #[default]
    Idle,
    /// A thread of the recorded command or the simulated workload.
    Traced,
    /// Any other thread.
    Other,
}

/// State of a core, as tracked by the metrics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CoreState {
    pub occupant: Occupant,
    /// Number of threads that run on the core or are ready on it.
    pub runnable: u32,
    /// Frequency last reported for the core; 0: unknown.
    pub khz: u32,
}

impl CoreState {
    pub fn busy(&self) -> bool {
        self.occupant != Occupant::Idle
    }

    /// True if no thread runs or is ready. (A core whose woken thread has not been switched to yet
    /// is neither busy nor idle.)
    pub fn idle(&self) -> bool {
        self.runnable == 0
    }
}

/// Receives the state changes of an event, at most once per core and event.
pub trait Observer {
    /// Core `core` changes from `before` to `after` at `now`.
    fn core(&mut self, now: Time, core: usize, before: CoreState, after: CoreState);

    /// `count` traced threads are runnable (running or ready, on any core).
    fn runnable(&mut self, count: u32);

    /// A traced thread starts to run: `waited` ns after it was woken or forked (`None`: it was
    /// preempted), having last run on `from` (`None`: never).
    fn start(&mut self, _core: CoreId, _waited: Option<Time>, _from: Option<CoreId>) {}

    /// Like `start`, for every thread, traced or not.
    fn run(&mut self, _now: Time, _thread: Tid, _core: CoreId, _waited: Option<Time>, _from: Option<CoreId>) {
    }

    /// A thread, traced or not, moves from `before` to `after` at `now`. Called before `core`.
    fn thread(&mut self, _now: Time, _thread: Tid, _before: Place, _after: Place) {}
}

/// Ignores all changes.
impl Observer for () {
    fn core(&mut self, _: Time, _: usize, _: CoreState, _: CoreState) {}
    fn runnable(&mut self, _: u32) {}
}

/// Scheduling state and core of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Place {
    /// Blocked, exited, or not seen yet.
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
    /// Time of the wake-up or fork, until the thread runs.
    woken: Option<Time>,
    /// True once an event or the header mentioned the thread.
    seen: bool,
}

impl Thread {
    const UNSEEN: Thread = Thread { place: Place::Away, traced: true, last: None, woken: None, seen: false };
}

/// Threads by [`Tid`]. Recorders and simulators number threads from 1, so a table holds them. A
/// file may contain any number, so the table is bounded and larger numbers are hashed.
#[derive(Clone, Default)]
struct Threads {
    dense: Vec<Thread>,
    sparse: HashMap<Tid, Thread>,
}

impl Threads {
    const DENSE: usize = 1 << 20;

    /// The thread as known, or [`Thread::UNSEEN`].
    #[inline]
    fn look(&self, tid: Tid) -> &Thread {
        match self.dense.get(tid as usize) {
            Some(thread) => thread,
            None => self.sparse.get(&tid).unwrap_or(&Thread::UNSEEN),
        }
    }

    #[inline]
    fn get(&mut self, tid: Tid) -> &mut Thread {
        if tid as usize >= self.dense.len() {
            return self.far(tid);
        }
        let thread = &mut self.dense[tid as usize];
        thread.seen = true;
        thread
    }

    /// Adds a thread that is not in the table, to the grown table or to the hash map.
    #[cold]
    fn far(&mut self, tid: Tid) -> &mut Thread {
        let index = tid as usize;
        let thread = match index < Self::DENSE {
            true => {
                self.dense.resize(index + 1, Thread::UNSEEN);
                &mut self.dense[index]
            }
            false => self.sparse.entry(tid).or_insert(Thread::UNSEEN),
        };
        thread.seen = true;
        thread
    }
}

#[derive(Clone)]
pub struct State {
    cores: Vec<CoreState>,
    /// Thread on each core. `current[c] == t` if and only if `threads[t]` is `Running(c)`.
    current: Vec<Tid>,
    /// Cores that have had a `Frequency` event; their ticks carry no new information.
    exact: Vec<bool>,
    threads: Threads,
    runnable: u32,
}

/// Cores changed by an event, in order, with their state before it. A switch changes at most three:
/// its own core and the cores where `prev` and `next` were believed to be. Nearly always it is one,
/// so the first is a separate field that stays in registers. Loading it as a whole from memory
/// right after parts of it were written would stall (no store forwarding).
#[derive(Default)]
struct Touched {
    first: Option<(usize, CoreState)>,
    more: [Option<(usize, CoreState)>; 2],
}

impl Touched {
    #[inline(always)]
    fn touch(&mut self, cores: &[CoreState], core: CoreId) {
        let index = usize::from(core);
        match self.first {
            None => {
                let CoreState { occupant, runnable, khz } = cores[index];
                self.first = Some((index, CoreState { occupant, runnable, khz }));
            }
            Some((first, _)) if first == index => {}
            Some(_) => Self::touch_more(&mut self.more, index, cores[index]),
        }
    }

    #[cold]
    fn touch_more(more: &mut [Option<(usize, CoreState)>; 2], index: usize, before: CoreState) {
        for slot in more {
            match slot {
                Some((touched, _)) if *touched == index => return,
                Some(_) => {}
                None => {
                    *slot = Some((index, before));
                    return;
                }
            }
        }
    }
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
        }
    }

    pub fn cores(&self) -> &[CoreState] {
        &self.cores
    }

    /// Thread running on `core`.
    pub fn current(&self, core: usize) -> Tid {
        self.current[core]
    }

    /// Number of traced threads that run or are ready.
    pub fn runnable(&self) -> u32 {
        self.runnable
    }

    /// True if `core` has had a `Frequency` event.
    #[inline]
    pub fn exact(&self, core: usize) -> bool {
        self.exact[core]
    }

    /// Ready threads in order of their numbers, and the core on which each waits.
    pub fn ready(&self) -> Vec<(Tid, CoreId)> {
        let running = self.current.iter().filter(|tid| **tid != IDLE).count();
        let count = self.cores.iter().map(|core| core.runnable as usize).sum::<usize>() - running;
        let place = |(tid, thread): (Tid, &Thread)| match thread.place {
            Place::Ready(core) => Some((tid, core)),
            _ => None,
        };
        // New threads have high numbers and few threads are ready, so the backward scan ends early.
        let dense = self.threads.dense.iter().enumerate().rev().map(|(tid, thread)| (tid as Tid, thread));
        let sparse = self.threads.sparse.iter().map(|(tid, thread)| (*tid, thread));
        let mut ready: Vec<_> = dense.chain(sparse).filter_map(place).take(count).collect();
        ready.sort_unstable();
        ready
    }

    /// Restores a core from a snapshot. Only valid on a state without events.
    pub fn restore_core(&mut self, core: CoreId, current: Tid, khz: u32, exact: bool) {
        let index = usize::from(core);
        self.cores[index].khz = khz;
        self.exact[index] = exact;
        if current != IDLE {
            self.put(0, current, Place::Running(core), &mut Touched::default(), &mut ());
        }
    }

    /// Restores a ready thread of a snapshot to its run queue.
    pub fn restore_ready(&mut self, tid: Tid, core: CoreId) {
        self.put(0, tid, Place::Ready(core), &mut Touched::default(), &mut ());
    }

    /// True if `tid` belongs to the recorded command or simulated workload. A thread that the
    /// header does not list is traced unless its parent is not.
    #[inline]
    pub fn traced(&self, tid: Tid) -> bool {
        tid != IDLE && self.threads.look(tid).traced
    }

    /// False if the event refers to a core that the machine does not have.
    #[inline]
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

    /// Applies an event that is [`State::possible`] and reports the changes to `observer`.
    #[inline]
    pub fn apply(&mut self, event: &Event, observer: &mut impl Observer) {
        let (now, core) = (event.time, event.core);
        let runnable = self.runnable;
        let mut touched = Touched::default();
        match event.kind {
            Kind::Switch { prev, stop, next } => {
                self.switch(now, core, prev, stop, next, &mut touched, observer);
            }
            Kind::Wakeup { thread, target, .. } => self.wake(now, thread, target, &mut touched, observer),
            Kind::Fork { parent, child, target } => {
                if !self.threads.look(child).seen {
                    self.threads.get(child).traced = parent == IDLE || self.traced(parent);
                }
                self.wake(now, child, target, &mut touched, observer);
            }
            Kind::Migrate { thread, to, .. } if thread != IDLE => {
                if let Place::Ready(_) = self.threads.get(thread).place {
                    self.put(now, thread, Place::Ready(to), &mut touched, observer);
                }
            }
            Kind::Frequency { khz } => {
                self.exact[usize::from(core)] = true;
                touched.touch(&self.cores, core);
                self.cores[usize::from(core)].khz = khz;
            }
            Kind::Tick { khz } if khz != 0 && !self.exact[usize::from(core)] => {
                touched.touch(&self.cores, core);
                self.cores[usize::from(core)].khz = khz;
            }
            _ => return,
        }
        let Some((index, before)) = touched.first else { return };
        let CoreState { occupant, runnable: on_core, khz } = self.cores[index];
        let after = CoreState { occupant, runnable: on_core, khz };
        if after != before {
            observer.core(now, index, before, after);
        }
        for &(index, before) in touched.more.iter().flatten() {
            if self.cores[index] != before {
                observer.core(now, index, before, self.cores[index]);
            }
        }
        if self.runnable != runnable {
            observer.runnable(self.runnable);
        }
    }

    #[inline(always)]
    #[expect(clippy::too_many_arguments)]
    fn switch(
        &mut self,
        now: Time,
        core: CoreId,
        prev: Tid,
        stop: Stop,
        next: Tid,
        touched: &mut Touched,
        observer: &mut impl Observer,
    ) {
        let current = self.current[usize::from(core)];
        if current != prev && current != IDLE {
            self.put(now, current, Place::Away, touched, observer); // its own switch was lost
        }
        if prev != IDLE {
            let place = match stop {
                Stop::Preempted | Stop::Yielded => Place::Ready(core),
                Stop::Blocked | Stop::Exited => Place::Away,
            };
            self.threads.get(prev).last = Some(core);
            self.put(now, prev, place, touched, observer);
        }
        if next != IDLE {
            let thread = self.threads.get(next);
            let (waited, from) = (thread.woken.take(), thread.last.replace(core));
            let waited = waited.map(|woken| now.saturating_sub(woken));
            observer.run(now, next, core, waited, from);
            if thread.traced {
                observer.start(core, waited, from);
            }
            self.put(now, next, Place::Running(core), touched, observer);
        }
    }

    #[inline(always)]
    fn wake(
        &mut self,
        now: Time,
        tid: Tid,
        target: CoreId,
        touched: &mut Touched,
        observer: &mut impl Observer,
    ) {
        if tid == IDLE {
            return;
        }
        let thread = self.threads.get(tid);
        match thread.place {
            Place::Running(_) => return,
            Place::Ready(_) => {}
            Place::Away => thread.woken = Some(now),
        }
        self.put(now, tid, Place::Ready(target), touched, observer);
    }

    /// Moves a thread. The caller has already removed the thread that ran at the destination.
    #[inline(always)] // each call site needs only part of it
    fn put(
        &mut self,
        now: Time,
        tid: Tid,
        place: Place,
        touched: &mut Touched,
        observer: &mut impl Observer,
    ) {
        let thread = self.threads.get(tid);
        let (old, traced) = (std::mem::replace(&mut thread.place, place), thread.traced);
        if old != place {
            observer.thread(now, tid, old, place);
        }
        if let Place::Ready(core) | Place::Running(core) = old {
            touched.touch(&self.cores, core);
            let index = usize::from(core);
            self.cores[index].runnable -= 1;
            self.runnable -= u32::from(traced);
            if let Place::Running(_) = old {
                self.cores[index].occupant = Occupant::Idle;
                self.current[index] = IDLE;
            }
        }
        if let Place::Ready(core) | Place::Running(core) = place {
            touched.touch(&self.cores, core);
            let index = usize::from(core);
            self.cores[index].runnable += 1;
            self.runnable += u32::from(traced);
            if let Place::Running(_) = place {
                self.cores[index].occupant = if traced { Occupant::Traced } else { Occupant::Other };
                self.current[index] = tid;
            }
        }
    }
}
