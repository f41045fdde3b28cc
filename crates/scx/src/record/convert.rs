//! From what the policy's runtime tells to the events of a trace.
//!
//! Records come in the order in which they entered one ring buffer, and that is the order of cause and effect;
//! their times, taken when a handler began, may be a little out of order, and are made not to decrease. What
//! must be put together:
//!
//! - A **wake-up** (or a fork) is told first, its target when the policy has placed the thread.
//! - A **switch** is told as a thread that stops and another that runs. In between nobody knows yet what comes:
//!   the event waits for at most a millisecond of the trace. If the next thread came to be ready only in that
//!   time, the core was idle, and that is what the trace says.
//! - A thread that is **preempted** is put back into a queue before it stops.
//! - **Threads of the kernel that belong to one core** run past the policy, and their wake-ups are not told: one
//!   is put in where such a thread runs. So is everything else that a lost record would have told.

use crate::layout::{Record, record_kind as kind};
use hearth_trace::{CoreId, Event, IDLE, Kind, Sink, Stop, ThreadInfo, Tid, Time, Waker};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// What the trace's header has of names, and how the cores are numbered.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The kernel's number of each core of the trace.
    pub cpus: Vec<u32>,
    pub reasons: usize,
    pub sets: usize,
}

/// A stop waits this long, in ns of the trace, for what its core does next.
const PATIENCE: Time = 1_000_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    /// It was not seen yet.
    Unknown,
    Blocked,
    Ready(CoreId),
    Running(CoreId),
    Ended,
}

/// A thread is on its way to the core where it will be ready.
#[derive(Clone, Copy, Debug)]
struct Waking {
    core: CoreId,
    by: Tid,
    new: bool,
}

#[derive(Clone, Debug)]
struct Thread {
    pid: u32,
    name: String,
    parent: Tid,
    life: Life,
    waking: Option<Waking>,
    /// Where it is to be queued when it stops.
    wants: Option<CoreId>,
    /// It executes a new program, with this name.
    exec: Option<String>,
    /// Number of the last event about it, from 1 on.
    last: u64,
}

/// A thread stopped; what its core does next is not known yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// Number of the event.
    number: u64,
    time: Time,
    thread: Tid,
}

/// What a conversion ends with.
#[derive(Clone, Debug, Default)]
pub struct Converted {
    pub threads: Vec<ThreadInfo>,
    /// Program names of `Exec` events.
    pub names: Vec<String>,
    /// Time of the last event.
    pub duration: Time,
    /// Events that nobody told, and that must have been.
    pub inferred: u64,
    pub events: u64,
}

/// Takes records, and gives events to a sink, in order of time.
pub struct Converter<S> {
    out: S,
    names: Names,
    cores: HashMap<u32, CoreId>,
    /// CLOCK_MONOTONIC of time 0.
    start: u64,
    /// Threads up to this number were there before the policy.
    existing: Tid,
    now: Time,
    threads: BTreeMap<Tid, Thread>,
    current: Vec<Tid>,
    pending: Vec<Option<Pending>>,
    /// Cores with a pending stop, in the order of their events.
    waiting: VecDeque<(u64, CoreId)>,
    /// Events that are not out yet; `None`: it was none after all.
    queue: VecDeque<Option<Event>>,
    /// Number of the first event in the queue.
    first: u64,
    programs: Vec<String>,
    program_numbers: HashMap<String, u32>,
    inferred: u64,
    events: u64,
}

impl<S: Sink> Converter<S> {
    /// `existing`: threads up to this number were there before the policy; they are not forked.
    pub fn new(out: S, names: Names, start: u64, existing: Tid) -> Self {
        let cores = names.cpus.iter().enumerate().map(|(core, cpu)| (*cpu, core as CoreId)).collect();
        let n = names.cpus.len();
        Converter {
            out,
            names,
            cores,
            start,
            existing,
            now: 0,
            threads: BTreeMap::new(),
            current: vec![IDLE; n],
            pending: vec![None; n],
            waiting: VecDeque::new(),
            queue: VecDeque::new(),
            first: 1,
            programs: Vec::new(),
            program_numbers: HashMap::new(),
            inferred: 0,
            events: 0,
        }
    }

    /// Takes the next record. Those of cores that came later are left out.
    pub fn record(&mut self, r: &Record) {
        self.advance(r.time);
        if r.kind == kind::THREAD {
            return self.named(r);
        }
        let (Some(&core), Some(&target)) = (self.cores.get(&r.core.into()), self.cores.get(&r.target.into()))
        else {
            return;
        };
        let about_thread = !matches!(r.kind, kind::IDLE | kind::SPIN | kind::TICK | kind::SET);
        if about_thread && (r.thread == IDLE || self.thread(r.thread).life == Life::Ended) {
            return;
        }
        match r.kind {
            kind::NEW | kind::WAKE => {
                let new = r.kind == kind::NEW;
                self.thread(r.thread).waking = Some(Waking { core, by: r.other, new });
            }
            kind::PLACE => self.place(core, r, target),
            kind::MOVE => self.moved(core, r, target),
            kind::RUN => self.run(r.thread, target),
            kind::STOP => self.stop(r.thread, target, r.flag),
            kind::IDLE if r.flag != 0 && self.current[usize::from(target)] == IDLE => {
                self.pending[usize::from(target)] = None;
                self.emit(target, Kind::Idle { state: 0 });
            }
            kind::SPIN => {
                self.emit(target, Kind::Spin { on: r.flag != 0 });
            }
            kind::TICK => {
                self.emit(target, Kind::Tick { khz: r.khz });
            }
            kind::SET if usize::from(r.reason) < self.names.sets => {
                self.emit(target, Kind::Set { set: r.reason as u8, member: r.flag != 0 });
            }
            _ => {}
        }
        self.flush();
    }

    /// The model gave a core another frequency; `time` is CLOCK_MONOTONIC.
    pub fn frequency(&mut self, time: u64, cpu: u32, khz: u32) {
        self.advance(time);
        if let Some(&core) = self.cores.get(&cpu) {
            self.emit(core, Kind::Frequency { khz });
        }
        self.flush();
    }

    /// Everything has been told.
    pub fn finish(mut self) -> (S, Converted) {
        self.waiting.clear();
        self.drain(u64::MAX);
        let info = |(tid, thread): (&Tid, &Thread)| ThreadInfo {
            tid: *tid,
            name: if thread.name.is_empty() { format!("pid {}", thread.pid) } else { thread.name.clone() },
            parent: thread.parent,
            traced: true,
        };
        let converted = Converted {
            threads: self.threads.iter().map(info).collect(),
            names: self.programs,
            duration: self.now,
            inferred: self.inferred,
            events: self.events,
        };
        (self.out, converted)
    }

    /// Where the events go.
    pub fn sink(&mut self) -> &mut S {
        &mut self.out
    }

    fn advance(&mut self, time: u64) {
        self.now = self.now.max(time.saturating_sub(self.start));
    }

    fn thread(&mut self, tid: Tid) -> &mut Thread {
        self.threads.entry(tid).or_insert_with(|| Thread {
            pid: 0,
            name: String::new(),
            parent: IDLE,
            life: Life::Unknown,
            waking: None,
            wants: None,
            exec: None,
            last: 0,
        })
    }

    fn named(&mut self, r: &Record) {
        if r.thread == IDLE {
            return;
        }
        let text = r.text.map(u64::to_ne_bytes);
        let text = text.as_flattened();
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        let name = String::from_utf8_lossy(&text[..end]).into_owned();
        let thread = self.thread(r.thread);
        thread.pid = r.other;
        if thread.name.is_empty() {
            thread.name = name;
        } else if thread.exec.as_ref().unwrap_or(&thread.name) != &name {
            thread.exec = Some(name);
        }
    }

    // ---- ready ----------------------------------------------------------------------------------------

    fn place(&mut self, core: CoreId, r: &Record, target: CoreId) {
        let tid = r.thread;
        let waking = self.thread(tid).waking.take();
        match (self.thread(tid).life, waking) {
            (Life::Unknown, Some(Waking { core, by, new: true })) if tid > self.existing => {
                let parent = if by != tid && self.current[usize::from(core)] == by { by } else { IDLE };
                self.thread(tid).parent = parent;
                self.emit_about(tid, core, Kind::Fork { parent, child: tid, target });
                self.thread(tid).life = Life::Ready(target);
            }
            (Life::Unknown | Life::Blocked, waking) => {
                let (core, by) = waking.map_or((core, IDLE), |waking| (waking.core, waking.by));
                let runs = by != IDLE && by != tid && self.current[usize::from(core)] == by;
                let waker = if runs { Waker::Thread(by) } else { Waker::Interrupt };
                self.inferred += u64::from(waking.is_none());
                self.emit_about(tid, core, Kind::Wakeup { thread: tid, waker, target });
                self.thread(tid).life = Life::Ready(target);
            }
            (Life::Ready(from), _) => self.migrate(core, tid, from, target),
            // Preempted: it stops next.
            (Life::Running(_), _) => self.thread(tid).wants = Some(target),
            (Life::Ended, _) => return,
        }
        self.reason(core, r, target);
    }

    fn moved(&mut self, core: CoreId, r: &Record, target: CoreId) {
        let tid = r.thread;
        match self.thread(tid).life {
            Life::Ready(from) => self.migrate(core, tid, from, target),
            Life::Running(_) => self.thread(tid).wants = Some(target),
            Life::Unknown => {
                let from = self.cores.get(&r.other).copied();
                self.migrate(core, tid, from.unwrap_or(target), target);
            }
            Life::Blocked | Life::Ended => return,
        }
        self.reason(core, r, target);
    }

    fn migrate(&mut self, core: CoreId, tid: Tid, from: CoreId, to: CoreId) {
        if from != to {
            self.emit_about(tid, core, Kind::Migrate { thread: tid, from, to });
        }
        self.thread(tid).life = Life::Ready(to);
    }

    /// Reason 0 is none.
    fn reason(&mut self, core: CoreId, r: &Record, target: CoreId) {
        if r.reason != 0 && usize::from(r.reason) < self.names.reasons {
            let (thread, reason, seen_khz) = (r.thread, r.reason, r.khz);
            self.emit_about(thread, core, Kind::Place { thread, target, reason, seen_khz });
        }
    }

    // ---- running --------------------------------------------------------------------------------------

    fn run(&mut self, tid: Tid, core: CoreId) {
        let c = usize::from(core);
        let pending = self.pending[c].take();
        // It stopped, and is the next one again: it never stopped.
        if let Some(pending) = pending
            && pending.thread == tid
            && self.thread(tid).last == pending.number
            && self.thread(tid).life == Life::Ready(core)
        {
            self.discard(pending.number);
            return self.runs(tid, core);
        }
        match self.thread(tid).life {
            Life::Running(here) if here == core => return,
            Life::Running(there) => {
                self.inferred += 1;
                self.leave(there, tid, Stop::Preempted);
                self.migrate(core, tid, there, core);
            }
            Life::Ready(there) => self.migrate(core, tid, there, core),
            Life::Blocked => {
                self.inferred += 1;
                self.emit_about(
                    tid,
                    core,
                    Kind::Wakeup { thread: tid, waker: Waker::Interrupt, target: core },
                );
            }
            Life::Unknown => {}
            Life::Ended => return,
        }
        let prev = self.current[c];
        let Some(pending) = pending else {
            // The stop of a thread that runs here still was not told.
            self.inferred += u64::from(prev != IDLE);
            self.switch(core, prev, Stop::Preempted, tid);
            if prev != IDLE {
                self.thread(prev).life = Life::Ready(core);
            }
            return self.runs(tid, core);
        };
        let stopped = self.slot(pending.number).and_then(|slot| *slot).map(|event| event.kind);
        // Has anything been told since of the one that stopped?
        let unmoved = self.thread(pending.thread).last == pending.number;
        match stopped {
            // It was ready before the other stopped.
            Some(Kind::Switch { prev, stop, .. }) if self.thread(tid).last < pending.number => {
                if let Some(Some(event)) = self.slot(pending.number) {
                    event.kind = Kind::Switch { prev, stop, next: tid };
                }
                self.thread(tid).last = pending.number;
            }
            Some(Kind::Switch { prev, stop, .. }) if unmoved && prev != tid => {
                self.discard(pending.number);
                self.switch(core, prev, stop, tid);
            }
            _ => {
                self.switch(core, IDLE, Stop::Preempted, tid);
            }
        }
        self.runs(tid, core);
    }

    fn runs(&mut self, tid: Tid, core: CoreId) {
        self.current[usize::from(core)] = tid;
        let thread = self.thread(tid);
        thread.life = Life::Running(core);
        (thread.waking, thread.wants) = (None, None);
        if let Some(name) = thread.exec.take() {
            let next = self.programs.len() as u32;
            let number = *self.program_numbers.entry(name.clone()).or_insert(next);
            if number == next {
                self.programs.push(name);
            }
            self.emit_about(tid, core, Kind::Exec { thread: tid, name: number });
        }
    }

    fn stop(&mut self, tid: Tid, core: CoreId, why: u8) {
        let c = usize::from(core);
        if self.current[c] != tid {
            self.inferred += 1;
            self.run(tid, core);
        }
        let stop = match why {
            1 => Stop::Yielded,
            2 => Stop::Blocked,
            3 => Stop::Exited,
            _ => Stop::Preempted,
        };
        if stop == Stop::Exited {
            self.emit_about(tid, core, Kind::Exit { thread: tid });
        }
        let wants = self.thread(tid).wants.take();
        let number = self.leave(core, tid, stop);
        self.pending[c] = Some(Pending { number, time: self.now, thread: tid });
        self.waiting.push_back((number, core));
        if let (Some(to), Life::Ready(_)) = (wants, self.thread(tid).life) {
            self.migrate(core, tid, core, to);
        }
    }

    /// The core goes idle, as far as is known.
    fn leave(&mut self, core: CoreId, tid: Tid, stop: Stop) -> u64 {
        let number = self.switch(core, tid, stop, IDLE);
        self.current[usize::from(core)] = IDLE;
        self.thread(tid).life = match stop {
            Stop::Preempted | Stop::Yielded => Life::Ready(core),
            Stop::Blocked => Life::Blocked,
            Stop::Exited => Life::Ended,
        };
        number
    }

    fn switch(&mut self, core: CoreId, prev: Tid, stop: Stop, next: Tid) -> u64 {
        let number = self.emit(core, Kind::Switch { prev, stop, next });
        for tid in [prev, next] {
            if tid != IDLE {
                self.thread(tid).last = number;
            }
        }
        number
    }

    // ---- out ------------------------------------------------------------------------------------------

    fn emit_about(&mut self, tid: Tid, core: CoreId, kind: Kind) {
        let number = self.emit(core, kind);
        self.thread(tid).last = number;
    }

    /// Returns the event's number.
    fn emit(&mut self, core: CoreId, kind: Kind) -> u64 {
        self.queue.push_back(Some(Event { time: self.now, core, kind }));
        self.first + self.queue.len() as u64 - 1
    }

    fn slot(&mut self, number: u64) -> Option<&mut Option<Event>> {
        self.queue.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    fn discard(&mut self, number: u64) {
        if let Some(slot) = self.slot(number) {
            *slot = None;
        }
    }

    /// Lets out what nothing can change any more.
    fn flush(&mut self) {
        while let Some(&(number, core)) = self.waiting.front() {
            let pending = &mut self.pending[usize::from(core)];
            match pending {
                Some(waits) if waits.number == number && self.now - waits.time <= PATIENCE => break,
                Some(waits) if waits.number == number => *pending = None,
                _ => {}
            }
            self.waiting.pop_front();
        }
        let end = self.waiting.front().map_or(u64::MAX, |(number, _)| *number);
        self.drain(end);
    }

    /// Lets out the events before number `end`.
    fn drain(&mut self, end: u64) {
        while self.first < end {
            let Some(event) = self.queue.pop_front() else { return };
            self.first += 1;
            if let Some(event) = event {
                self.events += 1;
                self.out.event(&event);
            }
        }
    }
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
