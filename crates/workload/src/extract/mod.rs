//! From a trace back to the task graph.
//!
//! The trace says which thread ran when, and who woke whom. The graph keeps the work and the
//! causes, and drops when and where:
//!
//! | in the trace | in the graph |
//! |---|---|
//! | a thread runs, perhaps with preemptions between | `run` of the cycles, at the core's frequency then |
//! | it is runnable but does not run | nothing: that is the scheduler's time |
//! | `Fork`, `Exec` | `fork`, `exec` |
//! | it blocks; a thread of the workload wakes it | `post` there, `wait` here; the semaphore is in `sync` if the wake-up was synchronous |
//! | it blocks; an exiting thread wakes it | `join` |
//! | it waits for a child (`Wait`) that has exited before | `join` |
//! | it blocks; an interrupt on the same core wakes it | `sleep` for the time blocked (a timer fires where it was set) |
//! | it blocks; an interrupt elsewhere, or a thread outside, wakes it | `io` for the time blocked |
//! | a wake-up while it was not blocked | nothing (counted) |
//!
//! Each ordered pair of threads (waker, woken) gets its own semaphore, and another one for synchronous wake-ups. So a thread's waits are
//! served by the same thread as in the trace, in the same order, and each semaphore has one
//! waiter; the recorded execution itself is one in which all ends, and with one waiter per
//! semaphore no order of execution can end otherwise (see `dry_run.rs`): extraction cannot
//! introduce a deadlock.

//!
//! # Two passes
//!
//! Whether a core's frequency comes from events or from ticks, and which threads do anything at
//! all, is known only at the end of a trace. So a trace is read twice: a [`Survey`] first, then an
//! [`Extractor`]. Both are [`Sink`]s. Neither keeps events: their memory is in proportion to cores,
//! threads and pairs of threads that wake each other, and to the steps of the graph, each of which
//! takes 16 bytes. [`Workload::extract`] does both passes over a stored trace.

mod clock;
mod report;
mod survey;
mod thread;

pub use report::Report;
pub use survey::Survey;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use hearth_trace::{
    CoreId, Error, Event, Header, IDLE, Kind, Reader, Recording, Sink, Source, Stop, Store, Tid, Time, Trace,
    Waker,
};

use crate::{Op, SemIdx, Thread, ThreadIdx, Workload};
use clock::{Clock, TurnClock};
use thread::{State, ThreadBuilder};

/// A workload found in a trace, and what is to be known of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Extraction {
    pub workload: Workload,
    pub report: Report,
    /// The trace's identifier of each thread of the graph.
    pub tids: Vec<Tid>,
}

/// Finds the task graph of the traced threads of `trace`.
///
/// The workload is well formed and comes to an end whatever the trace; it has no threads if no
/// traced thread has an event.
pub fn extract(trace: &Trace) -> Extraction {
    let mut survey = Survey::new(&trace.header);
    trace.events.iter().for_each(|event| survey.event(event));
    let mut extractor = Extractor::new(survey);
    trace.events.iter().for_each(|event| extractor.event(event));
    extractor.finish()
}

impl Workload {
    /// [`extract()`] of a stored trace, which is read twice and never held in memory.
    pub fn extract(store: &Arc<Store>) -> Result<Extraction, Error> {
        Workload::extract_until(store, Time::MAX)
    }

    /// [`extract`](Self::extract) of a trace up to this time: threads that are not over then end there.
    pub fn extract_until(store: &Arc<Store>, end: Time) -> Result<Extraction, Error> {
        let mut survey = Survey::new(store.header());
        pass(store, end, &mut survey)?;
        let mut extractor = Extractor::new(survey);
        pass(store, end, &mut extractor)?;
        Ok(extractor.finish_at(store.header().duration.min(end)))
    }
}

fn pass(store: &Arc<Store>, end: Time, sink: &mut impl Sink) -> Result<(), Error> {
    let mut reader = Reader::of(store.clone())?;
    while let Some(group) = reader.next_group() {
        group?.iter().filter(|event| event.time <= end).for_each(|event| sink.event(event));
    }
    Ok(())
}

/// The second pass over a trace. It must get the events that the [`Survey`] got.
pub struct Extractor<'a> {
    header: &'a Header,
    clock: Clock,
    index: HashMap<Tid, ThreadIdx>,
    tids: Vec<Tid>,
    threads: Vec<ThreadBuilder>,
    /// What runs on each core and since when by [`worked`](Self::worked), for threads in and outside the workload.
    running: Vec<Option<(Tid, Time)>>,
    /// The semaphore of a waker, a woken thread, and of synchronous wake-ups or of others.
    pairs: HashMap<(ThreadIdx, ThreadIdx, bool), SemIdx>,
    /// When the first traced thread appears: the graph's time 0.
    start: Time,
    now: Time,
    turn_clock: Option<TurnClock>,
    report: Report,
    untraced: BTreeMap<Tid, u64>,
}

impl<'a> Extractor<'a> {
    pub fn new(survey: Survey<'a>) -> Self {
        let (header, start) = (survey.header, survey.start);
        let (clock, tids) = survey.finish();
        Extractor {
            header,
            clock,
            index: (0..).zip(&tids).map(|(index, &tid)| (tid, index)).collect(),
            threads: tids.iter().map(|_| ThreadBuilder::new()).collect(),
            tids,
            running: vec![None; header.cores.len()],
            pairs: HashMap::new(),
            start: start.unwrap_or(0),
            now: 0,
            turn_clock: header.source.counts_instructions().then(TurnClock::default),
            report: Report::default(),
            untraced: BTreeMap::new(),
        }
    }

    fn traced(&self, tid: Tid) -> Option<ThreadIdx> {
        self.index.get(&tid).copied()
    }

    fn thread(&mut self, index: ThreadIdx) -> &mut ThreadBuilder {
        &mut self.threads[index as usize]
    }

    /// The traced thread that does something now. One that was not seen before has been running
    /// since before the trace.
    fn active(&mut self, tid: Tid) -> Option<ThreadIdx> {
        let index = self.traced(tid)?;
        let found = self.thread(index);
        if found.state == State::Unseen {
            found.state = State::Ready;
        }
        Some(index)
    }

    /// The clock of work: how long a core would have worked until now that was busy all the time.
    fn worked(&self) -> Time {
        self.turn_clock.as_ref().map_or(self.now, TurnClock::worked)
    }

    /// Goes on to the time of the next event.
    fn advance(&mut self, time: Time) {
        // A trace never goes back in time; one that does must not make negative durations.
        let now = self.now.max(time);
        if let Some(turn_clock) = &mut self.turn_clock {
            let busy = self.running.iter().flatten().filter(|(tid, _)| *tid != IDLE).count();
            turn_clock.advance(now - self.now, busy);
        }
        self.now = now;
    }

    fn core(&mut self, core: CoreId) -> &mut Option<(Tid, Time)> {
        let index = usize::from(core);
        if index >= self.running.len() {
            self.running.resize(index + 1, None);
        }
        &mut self.running[index]
    }

    /// Gives the thread that runs on `core` the work done up to now.
    fn account(&mut self, core: CoreId) {
        let now = self.worked();
        let Some((tid, since)) =
            self.core(core).as_mut().map(|(tid, since)| (*tid, std::mem::replace(since, now)))
        else {
            return;
        };
        if tid == IDLE {
            return;
        }
        let time = now - since;
        match self.traced(tid) {
            None => self.report.cpu_outside += time,
            Some(index) => {
                let khz = self.clock.khz(core);
                self.report.cpu += time;
                if !self.clock.known(core) {
                    self.report.cpu_assumed += time;
                }
                self.thread(index).ran(since, now, khz);
            }
        }
    }

    /// Appends a step to a thread, after the work that it has done up to now.
    fn push(&mut self, index: ThreadIdx, op: Op) {
        if let State::Running { core } = self.thread(index).state {
            self.account(core);
        }
        self.thread(index).push(op);
    }

    fn stops(&mut self, core: CoreId, prev: Tid, stop: Stop) {
        let (now, worked) = (self.now, self.worked());
        match *self.core(core) {
            Some((tid, _)) if tid == prev => {}
            // The core's first event: it has run since before the trace.
            None => *self.core(core) = Some((prev, 0)),
            Some(_) => {
                // What ran here is not what stops here: switches are missing between.
                self.report.contradictions += 1;
                self.runs(core, IDLE);
                *self.core(core) = Some((prev, worked));
            }
        }
        self.account(core);
        *self.core(core) = Some((IDLE, worked));
        let Some(index) = self.traced(prev) else { return };
        if let State::Running { core: other } = self.thread(index).state
            && other != core
        {
            self.report.contradictions += 1;
            self.account(other);
            *self.core(other) = Some((IDLE, worked));
        }
        match stop {
            Stop::Preempted => self.thread(index).state = State::Ready,
            Stop::Yielded => {
                self.thread(index).push(Op::Yield);
                self.thread(index).state = State::Ready;
            }
            Stop::Blocked => self.thread(index).state = State::Blocked { core: Some(core), since: now },
            Stop::Exited => {
                if !self.thread(index).exiting {
                    self.exit(index);
                }
                self.thread(index).state = State::Ended;
            }
        }
    }

    /// `next` runs on `core` from now on.
    fn runs(&mut self, core: CoreId, next: Tid) {
        let worked = self.worked();
        // Whatever is said to run here still was not switched away: its end was lost.
        if let Some((left, _)) = *self.core(core)
            && left != IDLE
        {
            self.account(core);
            if let Some(index) = self.traced(left) {
                self.thread(index).state = State::Ready;
            }
        }
        *self.core(core) = Some((next, worked));
        let Some(index) = self.traced(next) else { return };
        match self.thread(index).state {
            State::Blocked { since, .. } => {
                self.report.unseen += 1;
                self.delay(index, None, since);
            }
            State::Running { core: other } if other != core => {
                self.report.contradictions += 1;
                self.account(other);
                *self.core(other) = Some((IDLE, worked));
            }
            State::Ended => self.report.contradictions += 1,
            State::Unseen | State::Ready | State::Running { .. } => {}
        }
        self.thread(index).state = State::Running { core };
    }

    fn wakeup(&mut self, core: CoreId, woken: ThreadIdx, waker: Waker, sync: bool) {
        let (blocked_on, since) = match self.thread(woken).state {
            State::Blocked { core, since } => (core, since),
            // Blocked since before the trace.
            State::Unseen => (None, self.start),
            State::Ready | State::Running { .. } | State::Ended => {
                self.report.spurious += 1;
                return;
            }
        };
        match waker {
            Waker::Thread(tid) if tid != IDLE => match self.traced(tid) {
                // A thread that waits after its exit was announced only tidies up; a graph in
                // which another could wait for it while it waits for that one might never end.
                Some(by) if by != woken && !self.thread(woken).exiting => self.cause(by, woken, sync),
                Some(_) => {
                    self.report.unseen += 1;
                    self.delay(woken, None, since);
                }
                None => {
                    self.report.untraced += 1;
                    *self.untraced.entry(tid).or_default() += 1;
                    self.delay(woken, None, since);
                }
            },
            Waker::Thread(_) | Waker::Interrupt => {
                let timer = blocked_on == Some(core);
                match timer {
                    true => self.report.sleeps += 1,
                    false => self.report.ios += 1,
                }
                self.delay(woken, timer.then_some(core), since);
            }
        }
        self.thread(woken).state = State::Ready;
    }

    /// The thread was held up from `since` until now, by a timer on its core or by something else.
    fn delay(&mut self, index: ThreadIdx, timer: Option<CoreId>, since: Time) {
        let time = self.now.saturating_sub(since);
        if time > 0 {
            self.push(index, if timer.is_some() { Op::Sleep(time) } else { Op::Io(time) });
        }
    }

    /// Thread `by` lets `woken` go on.
    fn cause(&mut self, by: ThreadIdx, woken: ThreadIdx, sync: bool) {
        if self.thread(by).state == State::Unseen {
            self.thread(by).state = State::Ready;
        }
        if self.thread(by).exiting && self.thread(by).forked {
            self.reap(woken, by);
            return;
        }
        let next = self.pairs.len() as SemIdx;
        let sem = *self.pairs.entry((by, woken, sync)).or_insert(next);
        self.push(by, Op::Post(sem));
        self.push(woken, Op::Wait(sem));
        self.report.posts += 1;
    }

    /// Thread `index` has waited for the end of `child`.
    fn reap(&mut self, index: ThreadIdx, child: ThreadIdx) {
        self.thread(index).unreaped.retain(|&other| other != child);
        self.push(index, Op::Join(child));
        self.report.joins += 1;
    }

    /// Thread `index` begins to wait for a child. If one has ended already it does not block, and
    /// the cause would be lost: on another machine the child might take longer. Otherwise the
    /// wake-up will say which child it was.
    fn wait(&mut self, index: ThreadIdx) {
        if let Some(&child) = self.thread(index).unreaped.front()
            && !self.thread(index).exiting
        {
            self.reap(index, child);
        }
    }

    fn fork(&mut self, parent: Tid, child: Tid) {
        let parent = self.active(parent);
        let Some(child) = self.traced(child) else { return };
        // Only what has not been seen can begin here. This also keeps the forks free of cycles.
        if self.thread(child).state != State::Unseen || parent == Some(child) {
            self.report.contradictions += 1;
            return;
        }
        match parent {
            Some(parent) => {
                self.push(parent, Op::Fork(child));
                self.thread(child).forked = true;
                self.thread(child).parent = Some(parent);
            }
            // Made by a thread outside: it begins so long after the start.
            None => match self.now - self.start {
                0 => {}
                wait => self.thread(child).push(Op::Io(wait)),
            },
        }
        self.thread(child).state = State::Ready;
    }

    fn exit(&mut self, index: ThreadIdx) {
        if std::mem::replace(&mut self.thread(index).exiting, true) {
            return;
        }
        if let Some(parent) = self.thread(index).parent {
            self.thread(parent).unreaped.push_back(index);
        }
    }

    /// The end of the trace: the graph.
    pub fn finish(self) -> Extraction {
        let end = self.header.duration;
        self.finish_at(end)
    }

    fn finish_at(mut self, end: Time) -> Extraction {
        self.advance(end);
        for core in 0..self.running.len() {
            self.account(core as CoreId);
        }
        let names: HashMap<Tid, &str> =
            self.header.threads.iter().map(|t| (t.tid, t.name.as_str())).collect();
        let name = |tid: Tid| names.get(&tid).map_or_else(|| format!("thread {tid}"), |n| n.to_string());
        let mut by_name: BTreeMap<String, u64> = BTreeMap::new();
        for (tid, count) in &self.untraced {
            *by_name.entry(name(*tid)).or_default() += count;
        }
        let mut untraced_wakers: Vec<(String, u64)> = by_name.into_iter().collect();
        untraced_wakers.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let ended = |t: &ThreadBuilder| t.exiting || t.state == State::Ended;
        let report = Report {
            threads: self.threads.len() as u64,
            roots: self.threads.iter().filter(|t| !t.forked).count() as u64,
            unfinished: self.threads.iter().filter(|t| !ended(t)).count() as u64,
            untraced_wakers,
            assumed_khz: self.clock.assumed(),
            lost: self.header.lost.iter().fold(0, |sum: u64, lost| sum.saturating_add(*lost)),
            ..self.report
        };
        let (name, origin) = provenance(self.header);
        let mut sync: Vec<SemIdx> =
            self.pairs.iter().filter_map(|((.., sync), sem)| sync.then_some(*sem)).collect();
        sync.sort_unstable();
        let threads = self.tids.iter().zip(self.threads);
        let workload = Workload {
            name,
            origin,
            threads: threads
                .map(|(tid, found)| Thread {
                    name: names[tid].to_string(),
                    ops: found.finish(),
                    ..Thread::default()
                })
                .collect(),
            semaphores: vec![0; self.pairs.len()],
            sync,
            barriers: Vec::new(),
            ..Workload::default()
        };
        Extraction { workload, report, tids: self.tids }
    }
}

impl Sink for Extractor<'_> {
    fn event(&mut self, event: &Event) {
        self.advance(event.time);
        if let Some(khz) = self.clock.change(event) {
            self.account(event.core);
            self.clock.set(event.core, khz);
        }
        match event.kind {
            Kind::Switch { prev, stop, next } => {
                if prev != IDLE {
                    self.stops(event.core, prev, stop);
                }
                self.runs(event.core, next);
            }
            Kind::Wakeup { thread, waker, sync, .. } => {
                if let Some(woken) = self.traced(thread) {
                    self.wakeup(event.core, woken, waker, sync);
                }
            }
            Kind::Fork { parent, child, .. } => self.fork(parent, child),
            Kind::Exec { thread, name } => {
                if let Some(index) = self.active(thread)
                    && let Some(name) = self.header.names.get(name as usize)
                {
                    self.push(index, Op::Exec(name.as_str().into()));
                }
            }
            Kind::Exit { thread } => {
                if let Some(index) = self.active(thread) {
                    self.exit(index);
                }
            }
            Kind::Wait { thread } => {
                if let Some(index) = self.active(thread) {
                    self.wait(index);
                }
            }
            Kind::Migrate { .. }
            | Kind::Place { .. }
            | Kind::Frequency { .. }
            | Kind::Tick { .. }
            | Kind::Idle { .. }
            | Kind::Spin { .. }
            | Kind::Queue { .. }
            | Kind::Set { .. } => {}
        }
    }
}

/// Name and origin of the workload, from where the trace comes from.
fn provenance(header: &Header) -> (String, String) {
    match &header.source {
        Source::Recorded(Recording { command, .. }) => {
            let program = command.first().map_or("", |c| c.rsplit('/').next().unwrap_or(c));
            (program.to_string(), format!("recorded: {}", command.join(" ")))
        }
        Source::Simulated { workload, policy, .. } => {
            (workload.clone(), format!("extracted from a simulation of {workload} under {policy}"))
        }
        Source::Unknown => (String::new(), "extracted from a trace".to_string()),
    }
}

#[cfg(test)]
mod tests;
