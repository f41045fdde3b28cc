//! Conversion of a document to a graph.

use std::collections::{BTreeMap, BTreeSet};

use super::document::{Document, Event, Phase, Task};
use super::{Notes, Refusal, refuse};
use crate::generate::CYCLES_PER_US;
use crate::{BarrierIdx, DRY_RUN_STEPS, Op, SemIdx, Thread, ThreadIdx, Timer, TimerIdx, Workload};

/// Maximum number of threads of a document.
const MOST_THREADS: u64 = 1_000_000;

/// Maximum number of steps of a document with repeats unexpanded. (A broadcast has one step per
/// waiter.)
const MOST_STEPS: usize = 10_000_000;

pub(super) fn workload(document: &Document, notes: &mut Notes) -> Result<Workload, Refusal> {
    let threads: u64 = document.tasks.iter().map(|t| u64::from(t.instances)).sum();
    if threads > MOST_THREADS {
        return refuse("tasks", format!("the document has {threads} threads; the maximum is {MOST_THREADS}"));
    }
    let mut equal = Notes::default();
    let loops = loops(document, &mut equal)?;
    let workload = built(document, &loops, notes)?;
    if let Some(duration) = document.duration
        && workload.check("").is_err()
        && let Some(workload) = unequal(document, duration, notes)?
    {
        return Ok(workload);
    }
    equal.0.into_iter().for_each(|note| notes.add(note));
    Ok(workload)
}

/// The graph in which each endless task goes on while it can: as often as fits into the duration, or up to the step at which
/// it would wait forever. `None` if a task with a given number of rounds waits forever.
fn unequal(document: &Document, duration: u64, notes: &mut Notes) -> Result<Option<Workload>, Refusal> {
    let fits = |task: &Task| duration.saturating_sub(before(task)).checked_div(nominal(task));
    let most = document.tasks.iter().filter_map(fits).max().unwrap_or(0);
    let rounds = |task: &Task| u32::try_from(fits(task).unwrap_or(most)).unwrap_or(u32::MAX);
    let loops: Vec<u32> =
        document.tasks.iter().map(|task| task.loops.unwrap_or_else(|| rounds(task))).collect();
    let mut workload = built(document, &loops, notes)?;
    let owners = document.tasks.iter().flat_map(|task| std::iter::repeat_n(task, task.instances as usize));
    let endless: Vec<bool> = owners.map(|task| task.loops.is_none()).collect();
    for (thread, done) in workload.blocked(DRY_RUN_STEPS) {
        if endless[thread as usize] {
            workload.threads[thread as usize].ops = done;
        }
    }
    if workload.check("").is_err() {
        return Ok(None);
    }
    notes.add(format!(
        "tasks that loop forever in rt-app end here after {} s at 2.1 GHz, or where they would wait for a task that has \
         ended",
        duration as f64 / 1e6
    ));
    Ok(Some(workload))
}

/// The graph with these numbers of rounds.
fn built(document: &Document, loops: &[u32], notes: &mut Notes) -> Result<Workload, Refusal> {
    let mut build = Build::new(document);
    let mut steps = 0;
    for (index, task) in document.tasks.iter().enumerate() {
        for instance in 0..task.instances {
            let thread = build.first[index] + instance;
            let ops = build.task(thread, task, loops[index], notes)?;
            steps += written(&ops);
            if steps > MOST_STEPS {
                return refuse(
                    "tasks",
                    format!(
                        "the document has more than {MOST_STEPS} steps; use fewer instances or broadcasts"
                    ),
                );
            }
            let name = match task.instances {
                1 => task.name.clone(),
                _ => format!("{}-{instance}", task.name),
            };
            build.workload.threads[thread as usize] =
                Thread { name, nice: task.nice, affinity: task.affinity.clone(), ops };
        }
    }
    Ok(build.workload)
}

/// Number of rounds of each task. Endless tasks are limited by the duration. Tasks that wait for
/// each other get equal numbers, so that none waits for a task that has ended.
fn loops(document: &Document, notes: &mut Notes) -> Result<Vec<u32>, Refusal> {
    let groups = groups(&document.tasks);
    let mut result = Vec::new();
    for (index, task) in document.tasks.iter().enumerate() {
        let group =
            || document.tasks.iter().zip(&groups).filter(|(_, g)| **g == groups[index]).map(|(t, _)| t);
        if let Some(count) = task.loops {
            result.push(count);
            continue;
        }
        let place = format!("tasks.{}", task.name);
        if let Some(count) = group().filter_map(|t| t.loops).max() {
            notes.add(format!(
                "{place}: loops forever in rt-app; here {count} times, like the task that it interacts with"
            ));
            result.push(count);
            continue;
        }
        let Some(duration) = document.duration else {
            return refuse(
                place,
                "loops forever (the default): set `loop`, or set `duration` (seconds) in `global`",
            );
        };
        let longest = group().map(nominal).max().unwrap_or(0);
        if longest == 0 {
            return refuse(place, "loops forever without any run, sleep or timer: set `loop`");
        }
        let left = duration.saturating_sub(before(task));
        let count = u32::try_from(left.div_ceil(longest)).unwrap_or(u32::MAX);
        notes.add(format!(
            "{place}: loops forever in rt-app; here {count} times, which take {} s at 2.1 GHz",
            duration as f64 / 1e6
        ));
        result.push(count);
    }
    if let Some(duration) = document.duration {
        for (task, count) in document.tasks.iter().zip(&result) {
            if task.loops.is_some() && nominal(task).saturating_mul(u64::from(*count)) > duration {
                notes.add(format!(
                    "tasks.{}: takes longer than the duration, but is not truncated",
                    task.name
                ));
            }
        }
    }
    Ok(result)
}

/// Number of steps with repeats unexpanded.
fn written(ops: &[Op]) -> usize {
    ops.iter().map(|op| if let Op::Repeat(_, ops) = op { 1 + written(ops) } else { 1 }).sum()
}

/// Duration of one round of a task at the nominal frequency without waiting, in microseconds.
fn nominal(task: &Task) -> u64 {
    let mut clock = Clock::default();
    task.before.iter().chain(&task.phases).for_each(|phase| clock.phase(phase));
    let start = clock.now;
    task.phases.iter().for_each(|phase| clock.phase(phase));
    clock.now - start
}

/// Duration of the delay and the phases before the loop.
fn before(task: &Task) -> u64 {
    let mut clock = Clock { now: task.delay, ..Clock::default() };
    task.before.iter().for_each(|phase| clock.phase(phase));
    clock.now
}

/// Assigns equal numbers to tasks that share a resource.
fn groups(tasks: &[Task]) -> Vec<usize> {
    let mut groups: Vec<usize> = (0..tasks.len()).collect();
    let mut owner: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (index, task) in tasks.iter().enumerate() {
        for event in task.events() {
            let resource = match event {
                Event::Wait { condition: name, .. }
                | Event::Sync { condition: name, .. }
                | Event::Signal(name)
                | Event::Broadcast(name) => ("condition", name.as_str()),
                Event::Barrier(name) => ("barrier", name.as_str()),
                Event::Suspend(name) | Event::Resume(name) => ("suspend", name.as_str()),
                Event::SemPost(name) | Event::SemWait(name) => ("semaphore", name.as_str()),
                // Locks do not require equal numbers of rounds.
                _ => continue,
            };
            let (from, to) = (groups[*owner.entry(resource).or_insert(index)], groups[index]);
            groups.iter_mut().filter(|g| **g == from).for_each(|g| *g = to);
        }
    }
    groups
}

/// Nominal time, and the beginning of the period of each timer.
#[derive(Default)]
struct Clock<'a> {
    now: u64,
    last: BTreeMap<&'a str, u64>,
}

impl<'a> Clock<'a> {
    /// Passes one round of a phase's loop, and shifts the times by the remaining rounds.
    fn phase(&mut self, phase: &'a Phase) {
        let start = self.now;
        phase.events.iter().for_each(|event| self.event(event));
        let round = self.now - start;
        let rest = round.saturating_mul(u64::from(phase.loops.saturating_sub(1)));
        self.now = self.now.saturating_add(rest);
        for last in self.last.values_mut().filter(|last| **last > start) {
            *last = last.saturating_add(rest);
        }
    }

    fn event(&mut self, event: &'a Event) {
        match event {
            Event::Run(us) | Event::Sleep(us) => self.now = self.now.saturating_add(*us),
            Event::Timer { timer, period, mode } => {
                // The first period starts with the task.
                let last = self.last.entry(timer.as_str()).or_default();
                let (expiry, next) = mode.advance(*last, *period, self.now);
                *last = next;
                self.now = expiry.unwrap_or(self.now);
            }
            _ => {}
        }
    }
}

struct Build<'a> {
    document: &'a Document,
    /// Index of the first thread of each task.
    first: Vec<ThreadIdx>,
    workload: Workload,
    mutexes: BTreeMap<&'a str, SemIdx>,
    semaphores: BTreeMap<&'a str, SemIdx>,
    /// Timers by name, and by thread if no other thread uses it.
    timers: BTreeMap<(&'a str, Option<ThreadIdx>), TimerIdx>,
    /// Semaphores of the threads that wait for a condition or are suspended, by name and thread.
    waits: BTreeMap<(bool, &'a str), BTreeMap<ThreadIdx, SemIdx>>,
    barriers: BTreeMap<&'a str, BarrierIdx>,
    forked: BTreeSet<&'a str>,
    /// Mutexes that the thread has locked before the current event.
    held: BTreeSet<&'a str>,
}

/// First component of the keys of `Build::waits`.
const CONDITION: bool = false;
const SUSPENDED: bool = true;

impl<'a> Build<'a> {
    /// Assigns numbers to threads and resources.
    fn new(document: &'a Document) -> Self {
        let mut build = Build {
            document,
            first: Vec::new(),
            workload: Workload::default(),
            mutexes: BTreeMap::new(),
            semaphores: BTreeMap::new(),
            timers: BTreeMap::new(),
            waits: BTreeMap::new(),
            barriers: BTreeMap::new(),
            forked: BTreeSet::new(),
            held: BTreeSet::new(),
        };
        for task in &document.tasks {
            let first = build.workload.threads.len() as ThreadIdx;
            build.first.push(first);
            build.workload.threads.extend((0..task.instances).map(|_| Thread::default()));
            let mut at_barriers = BTreeSet::new();
            for event in task.events() {
                match event {
                    Event::Wait { condition, .. } | Event::Sync { condition, .. } => {
                        build.waiters(CONDITION, condition, first, task.instances);
                    }
                    Event::Suspend(name) => build.waiters(SUSPENDED, name, first, task.instances),
                    Event::Barrier(name) => {
                        at_barriers.insert(name.as_str());
                    }
                    _ => {}
                }
            }
            for name in at_barriers {
                let next = build.workload.barriers.len() as BarrierIdx;
                let barrier = *build.barriers.entry(name).or_insert(next);
                if barrier == next {
                    build.workload.barriers.push(0);
                }
                build.workload.barriers[barrier as usize] += task.instances;
            }
        }
        build
    }

    fn waiters(&mut self, kind: bool, name: &'a str, first: ThreadIdx, instances: u32) {
        for thread in first..first + instances {
            let next = self.workload.semaphores.len() as SemIdx;
            let sem = *self.waits.entry((kind, name)).or_default().entry(thread).or_insert(next);
            if sem == next {
                self.workload.semaphores.push(0);
            }
        }
    }

    fn mutex(&mut self, name: &'a str) -> SemIdx {
        numbered(&mut self.mutexes, name, &mut self.workload.semaphores, 1)
    }

    fn semaphore(&mut self, name: &'a str) -> SemIdx {
        numbered(&mut self.semaphores, name, &mut self.workload.semaphores, 0)
    }

    /// The timer of that name: of this thread if the name says so, otherwise of all.
    fn timer(&mut self, thread: ThreadIdx, name: &'a str, mode: Timer) -> TimerIdx {
        let key = (name, name.starts_with("unique").then_some(thread));
        let timer = numbered(&mut self.timers, key, &mut self.workload.timers, mode);
        // One absolute event makes a timer absolute.
        if mode == Timer::Absolute {
            self.workload.timers[timer as usize] = mode;
        }
        timer
    }

    fn task(
        &mut self,
        thread: ThreadIdx,
        task: &'a Task,
        loops: u32,
        notes: &mut Notes,
    ) -> Result<Vec<Op>, Refusal> {
        self.held.clear();
        let mut ops = self.delay(thread, task);
        self.phases(thread, &task.before, 1, &mut ops, notes)?;
        let mut round = Vec::new();
        self.phases(thread, &task.phases, loops, &mut round, notes)?;
        repeat(loops, round, &mut ops);
        Ok(ops)
    }

    /// The delay of a task. The timers of its threads begin after it.
    fn delay(&mut self, thread: ThreadIdx, task: &'a Task) -> Vec<Op> {
        if task.delay == 0 {
            return Vec::new();
        }
        let delay = task.delay * 1000;
        let mut ops = Vec::new();
        for event in task.events() {
            if let Event::Timer { timer, mode, .. } = event
                && timer.starts_with("unique")
            {
                let start = Op::Timer(self.timer(thread, timer, *mode), delay);
                if !ops.contains(&start) {
                    ops.push(start);
                }
            }
        }
        if ops.is_empty() {
            ops.push(Op::Sleep(delay));
        }
        ops
    }

    /// Appends the steps of phases that run `times` times.
    fn phases(
        &mut self,
        thread: ThreadIdx,
        phases: &'a [Phase],
        times: u32,
        to: &mut Vec<Op>,
        notes: &mut Notes,
    ) -> Result<(), Refusal> {
        for phase in phases {
            let times = u64::from(times) * u64::from(phase.loops);
            let mut ops = Vec::new();
            for event in &phase.events {
                self.event(thread, event, times, phase, &mut ops, notes)?;
            }
            repeat(phase.loops, ops, to);
        }
        Ok(())
    }

    fn event(
        &mut self,
        thread: ThreadIdx,
        event: &'a Event,
        times: u64,
        phase: &Phase,
        ops: &mut Vec<Op>,
        notes: &mut Notes,
    ) -> Result<(), Refusal> {
        match event {
            Event::Run(0) | Event::Sleep(0) => {}
            Event::Run(us) => ops.push(Op::Run(us * CYCLES_PER_US)),
            Event::Sleep(us) => ops.push(Op::Sleep(us * 1000)),
            Event::Timer { timer, period, mode } => {
                ops.push(Op::Timer(self.timer(thread, timer, *mode), period * 1000));
            }
            Event::Lock(name) => {
                self.held.insert(name);
                ops.push(Op::Wait(self.mutex(name)));
            }
            Event::Unlock(name) => {
                self.held.remove(name.as_str());
                ops.push(Op::Post(self.mutex(name)));
            }
            Event::Wait { condition, mutex } => self.wait(thread, condition, mutex, ops),
            Event::Sync { condition, mutex } => {
                // rt-app's tutorial says that it locks; rt-app itself does not, so documents lock before it.
                let sem = self.mutex(mutex);
                let locks = !self.held.contains(mutex.as_str());
                ops.extend(locks.then_some(Op::Wait(sem)));
                self.signal(thread, condition, phase, ops, notes)?;
                self.wait(thread, condition, mutex, ops);
                ops.extend(locks.then_some(Op::Post(sem)));
            }
            Event::Signal(name) => self.signal(thread, name, phase, ops, notes)?,
            Event::Broadcast(name) => self.wake_all(CONDITION, thread, name, phase, ops, notes),
            Event::Resume(name) => self.wake_all(SUSPENDED, thread, name, phase, ops, notes),
            Event::Suspend(name) => {
                ops.extend(
                    self.waits
                        .get(&(SUSPENDED, name.as_str()))
                        .and_then(|w| w.get(&thread))
                        .map(|s| Op::Wait(*s)),
                );
            }
            Event::Barrier(name) => ops.extend(self.barriers.get(name.as_str()).map(|b| Op::Barrier(*b))),
            Event::Yield => ops.push(Op::Yield),
            Event::SemPost(name) => ops.push(Op::Post(self.semaphore(name))),
            Event::SemWait(name) => ops.push(Op::Wait(self.semaphore(name))),
            Event::Fork(name) => self.fork(name, times, phase, ops)?,
        }
        Ok(())
    }

    /// `pthread_cond_wait`: releases the mutex, waits, and acquires the mutex again.
    fn wait(&mut self, thread: ThreadIdx, condition: &'a str, mutex: &'a str, ops: &mut Vec<Op>) {
        let sem = self.mutex(mutex);
        ops.push(Op::Post(sem));
        ops.extend(
            self.waits.get(&(CONDITION, condition)).and_then(|w| w.get(&thread)).map(|s| Op::Wait(*s)),
        );
        ops.push(Op::Wait(sem));
    }

    fn others(&self, kind: bool, thread: ThreadIdx, name: &str) -> Vec<SemIdx> {
        let waiters = self.waits.get(&(kind, name)).into_iter().flatten();
        waiters.filter(|(waiter, _)| **waiter != thread).map(|(_, sem)| *sem).collect()
    }

    fn signal(
        &mut self,
        thread: ThreadIdx,
        name: &str,
        phase: &Phase,
        ops: &mut Vec<Op>,
        notes: &mut Notes,
    ) -> Result<(), Refusal> {
        match self.others(CONDITION, thread, name)[..] {
            [] => notes.add(format!(
                "{}: no other thread waits for condition `{name}`; the signal is omitted",
                phase.place
            )),
            [sem] => {
                kept(notes);
                ops.push(Op::Post(sem));
            }
            _ => {
                return refuse(
                    &phase.place,
                    format!(
                        "several threads wait for condition `{name}`, and which of them a signal wakes \
                             depends on the run; use one condition per waiter, or `broad`"
                    ),
                );
            }
        }
        Ok(())
    }

    fn wake_all(
        &mut self,
        kind: bool,
        thread: ThreadIdx,
        name: &str,
        phase: &Phase,
        ops: &mut Vec<Op>,
        notes: &mut Notes,
    ) {
        let others = self.others(kind, thread, name);
        match others.is_empty() {
            true => notes
                .add(format!("{}: no other thread waits for `{name}`; the wake-up is omitted", phase.place)),
            false => kept(notes),
        }
        ops.extend(others.into_iter().map(Op::Post));
    }

    fn fork(&mut self, name: &'a str, times: u64, phase: &Phase, ops: &mut Vec<Op>) -> Result<(), Refusal> {
        let Some(index) = self.document.tasks.iter().position(|t| t.name == name) else {
            return refuse(&phase.place, format!("forks `{name}`, which is not among the tasks"));
        };
        if times > 1 || !self.forked.insert(name) {
            return refuse(
                &phase.place,
                format!("forks `{name}` more than once; give each fork a separate task, outside of loops"),
            );
        }
        let first = self.first[index];
        ops.extend((first..first + self.document.tasks[index].instances).map(Op::Fork));
        Ok(())
    }
}

fn kept(notes: &mut Notes) {
    notes.add("a signal or resume without a waiter is kept for the next wait; rt-app drops it");
}

/// The number of a resource, which is new in `all` if it is new in `names`.
fn numbered<K: Ord, T>(names: &mut BTreeMap<K, u32>, name: K, all: &mut Vec<T>, new: T) -> u32 {
    *names.entry(name).or_insert_with(|| {
        all.push(new);
        all.len() as u32 - 1
    })
}

/// Appends `ops`, repeated `times` times.
fn repeat(times: u32, ops: Vec<Op>, to: &mut Vec<Op>) {
    match times {
        _ if ops.is_empty() => {}
        0 => {}
        1 => to.extend(ops),
        _ => to.push(Op::repeat(times, ops)),
    }
}
