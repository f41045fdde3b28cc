//! The critical path of a command: the chain of work and waits that its duration consists of.
//!
//! It ends with the last exit. Backward, it stays on a thread until the thread was woken or made by another one of the
//! command, and goes on with that one. So a wait for another thread of the command is never on the path: the work that was waited for
//! is. What remains are waits for a core, for timers, and for devices or other processes.
//!
//! The path is built forward: each thread has the path that leads to its present state. Paths share their beginnings, so that
//! they form a tree of [`Node`]s, and nodes that no thread leads to any more are dropped.

use crate::analysis::names::Names;
use crate::analysis::{Consumer, ms, seconds};
use hearth_trace::follow::{CoreState, Observer, State};
use hearth_trace::{CoreId, Event, IDLE, Kind, Stop, Tid, Time, Waker};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::HashMap;

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct CriticalPath {
    /// Up to the last exit.
    pub total_s: f64,
    pub run_s: f64,
    /// Ready, waiting for a core.
    pub ready_s: f64,
    /// Waiting for timers, devices and processes outside the command.
    pub wait_s: f64,
    /// The parts of threads of one name, the longest first.
    pub programs: Vec<ProgramOnPath>,
    /// The longest waits, the longest first.
    pub longest: Vec<PathWait>,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ProgramOnPath {
    pub program: String,
    pub run_s: f64,
    pub ready_s: f64,
    pub wait_s: f64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PathWait {
    pub begin_s: f64,
    pub ms: f64,
    pub thread: Tid,
    pub name: String,
    pub reason: WaitFor,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitFor {
    /// Another thread had the core.
    Core,
    /// An interrupt on the core where the thread blocked: a timer fires where it was set.
    Timer,
    /// An interrupt elsewhere, a thread outside the command, or an unknown cause.
    Outside,
}

impl WaitFor {
    pub fn name(self) -> &'static str {
        match self {
            WaitFor::Core => "a core",
            WaitFor::Timer => "a timer (sleep)",
            WaitFor::Outside => "a device or another process",
        }
    }
}

/// Index of a node; `NONE`: the path begins here.
type Index = u32;
const NONE: Index = Index::MAX;
/// Number of nodes below which none are dropped.
const FEW: usize = 1 << 16;

/// A part of a path, on one thread.
#[derive(Clone, Copy)]
struct Node {
    before: Index,
    thread: Tid,
    begin: Time,
    run: Time,
    ready: Time,
    longest_ready: Episode,
    wait: Option<(WaitFor, Time)>,
}

#[derive(Clone, Copy, Default)]
struct Episode {
    begin: Time,
    ns: Time,
}

#[derive(Clone, Copy)]
enum Place {
    Running,
    Ready,
    Blocked(Option<CoreId>),
}

/// The part of a path that is still growing.
struct Thread {
    before: Index,
    begin: Time,
    run: Time,
    ready: Time,
    longest_ready: Episode,
    place: Place,
    since: Time,
}

pub struct Tracker {
    most: usize,
    now: Time,
    nodes: Vec<Node>,
    threads: HashMap<Tid, Thread>,
    /// The path to the last exit.
    last: Option<(Index, Time)>,
    /// Number of nodes at which unused ones are dropped.
    limit: usize,
}

impl Tracker {
    pub fn new(most: usize) -> Self {
        Tracker { most, now: 0, nodes: Vec::new(), threads: HashMap::new(), last: None, limit: FEW }
    }

    /// The path, if a thread has exited.
    pub fn finish(self, names: &Names) -> Option<CriticalPath> {
        let (mut at, end) = self.last?;
        let mut path = CriticalPath::default();
        let mut programs: HashMap<String, [Time; 3]> = HashMap::new();
        let mut waits: Vec<(Episode, Tid, WaitFor)> = Vec::new();
        let (mut begin, mut sums) = (end, [0; 3]);
        while let Some(node) = self.nodes.get(at as usize) {
            let wait = node.wait.map_or(0, |(_, ns)| ns);
            let of = programs.entry(names.thread(node.thread)).or_default();
            for (sum, ns) in of.iter_mut().zip([node.run, node.ready, wait]) {
                *sum += ns;
            }
            for (sum, ns) in sums.iter_mut().zip([node.run, node.ready, wait]) {
                *sum += ns;
            }
            if node.longest_ready.ns > 0 {
                waits.push((node.longest_ready, node.thread, WaitFor::Core));
            }
            waits.extend(node.wait.map(|(what, ns)| (Episode { begin: node.begin, ns }, node.thread, what)));
            (begin, at) = (node.begin, node.before);
        }
        waits.sort_by_key(|(episode, ..)| (Reverse(episode.ns), episode.begin));
        let wait = |(episode, thread, reason): &(Episode, Tid, WaitFor)| PathWait {
            begin_s: seconds(episode.begin),
            ms: ms(episode.ns),
            thread: *thread,
            name: names.thread(*thread),
            reason: *reason,
        };
        path.longest = waits.iter().take(self.most).map(wait).collect();
        path.total_s = seconds(end - begin);
        [path.run_s, path.ready_s, path.wait_s] = sums.map(seconds);
        let mut programs: Vec<(String, [Time; 3])> = programs.into_iter().collect();
        programs.sort_by_key(|(name, parts)| (Reverse(parts.iter().sum::<Time>()), name.clone()));
        let program = |(program, parts): (String, [Time; 3])| {
            let [run_s, ready_s, wait_s] = parts.map(seconds);
            ProgramOnPath { program, run_s, ready_s, wait_s }
        };
        path.programs = programs.into_iter().map(program).collect();
        Some(path)
    }

    /// The thread, which has been in `place` since the beginning if it is new.
    fn thread(&mut self, tid: Tid, place: Place) -> &mut Thread {
        self.threads.entry(tid).or_insert_with(|| Thread::new(NONE, 0, place))
    }

    /// The path that leads to the thread's present state.
    fn path_to(&mut self, tid: Tid, place: Place) -> Index {
        let now = self.now;
        let thread = self.thread(tid, place);
        thread.settle(now);
        if thread.run == 0 && thread.ready == 0 {
            return thread.before;
        }
        let &mut Thread { before, begin, run, ready, longest_ready, place, since } = thread;
        let index = self.nodes.len() as Index;
        self.nodes.push(Node { before, thread: tid, begin, run, ready, longest_ready, wait: None });
        self.threads.insert(tid, Thread { since, ..Thread::new(index, now, place) });
        index
    }

    /// The path of a thread that other threads of the command did not wake.
    fn waited(&mut self, tid: Tid, what: WaitFor) {
        let now = self.now;
        let blocked = self.thread(tid, Place::Blocked(None)).since;
        let before = self.path_to(tid, Place::Blocked(None));
        let index = self.nodes.len() as Index;
        let wait = Some((what, now - blocked));
        let (run, ready, longest_ready) = (0, 0, Episode::default());
        self.nodes.push(Node { before, thread: tid, begin: blocked, run, ready, longest_ready, wait });
        self.threads.insert(tid, Thread::new(index, now, Place::Ready));
    }

    fn wakeup(&mut self, state: &State, core: CoreId, tid: Tid, waker: Waker) {
        let Place::Blocked(on) = self.thread(tid, Place::Blocked(None)).place else { return };
        match waker {
            Waker::Thread(by) if by != tid && state.traced(by) => {
                let before = self.path_to(by, Place::Running);
                self.threads.insert(tid, Thread::new(before, self.now, Place::Ready));
            }
            Waker::Interrupt if on == Some(core) => self.waited(tid, WaitFor::Timer),
            _ => self.waited(tid, WaitFor::Outside),
        }
    }

    fn switch(&mut self, state: &State, core: CoreId, (prev, stop): (Tid, Stop), next: Tid) {
        let now = self.now;
        if prev != IDLE && state.traced(prev) {
            let thread = self.thread(prev, Place::Running);
            thread.settle(now);
            thread.place = match stop {
                Stop::Preempted | Stop::Yielded => Place::Ready,
                Stop::Blocked | Stop::Exited => Place::Blocked(Some(core)),
            };
            if stop == Stop::Exited {
                self.threads.remove(&prev);
            }
        }
        if next != IDLE && state.traced(next) {
            if matches!(self.thread(next, Place::Ready).place, Place::Blocked(_)) {
                self.waited(next, WaitFor::Outside);
            }
            let thread = self.thread(next, Place::Ready);
            thread.settle(now);
            thread.place = Place::Running;
        }
    }

    fn drop_unused(&mut self) {
        let heads =
            self.threads.values().map(|thread| thread.before).chain(self.last.map(|(index, _)| index));
        let mut used = vec![false; self.nodes.len()];
        for head in heads.filter(|head| *head != NONE) {
            used[head as usize] = true;
        }
        // A node comes after the one before it in the path.
        for index in (0..self.nodes.len()).rev() {
            let before = self.nodes[index].before;
            if used[index] && before != NONE {
                used[before as usize] = true;
            }
        }
        let mut moved = vec![NONE; self.nodes.len()];
        let mut kept: Vec<Node> = Vec::new();
        let new = |moved: &[Index], old: Index| moved.get(old as usize).copied().unwrap_or(NONE);
        for (index, node) in self.nodes.iter().enumerate().filter(|(index, _)| used[*index]) {
            moved[index] = kept.len() as Index;
            kept.push(Node { before: new(&moved, node.before), ..*node });
        }
        self.threads.values_mut().for_each(|thread| thread.before = new(&moved, thread.before));
        self.last = self.last.map(|(index, time)| (new(&moved, index), time));
        self.nodes = kept;
        self.limit = FEW.max(2 * self.nodes.len());
    }
}

impl Thread {
    fn new(before: Index, now: Time, place: Place) -> Thread {
        let longest_ready = Episode::default();
        Thread { before, begin: now, run: 0, ready: 0, longest_ready, place, since: now }
    }

    /// Adds the time since the last change.
    fn settle(&mut self, now: Time) {
        let ns = now - self.since;
        match self.place {
            Place::Running => self.run += ns,
            Place::Ready => {
                self.ready += ns;
                if ns > self.longest_ready.ns {
                    self.longest_ready = Episode { begin: self.since, ns };
                }
            }
            // A wait becomes a node of its own.
            Place::Blocked(_) => return,
        }
        self.since = now;
    }
}

impl Observer for Tracker {
    fn core(&mut self, _: Time, _: usize, _: CoreState, _: CoreState) {}

    fn runnable(&mut self, _: u32) {}
}

impl Consumer for Tracker {
    fn advance(&mut self, now: Time) {
        self.now = now;
    }

    fn event(&mut self, state: &State, event: &Event) {
        match event.kind {
            Kind::Switch { prev, stop, next } => self.switch(state, event.core, (prev, stop), next),
            Kind::Wakeup { thread, waker, .. } if state.traced(thread) => {
                self.wakeup(state, event.core, thread, waker);
            }
            Kind::Fork { parent, child, .. } if state.traced(child) => {
                let before = if state.traced(parent) { self.path_to(parent, Place::Running) } else { NONE };
                self.threads.insert(child, Thread::new(before, self.now, Place::Ready));
            }
            Kind::Exit { thread } if state.traced(thread) => {
                self.last = Some((self.path_to(thread, Place::Running), self.now));
            }
            _ => {}
        }
        if self.nodes.len() >= self.limit {
            self.drop_unused();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Request;
    use crate::analysis::testing::*;
    use hearth_trace::{ThreadInfo, Trace};
    use proptest::prelude::*;

    fn path(trace: &Trace, most: usize) -> Option<CriticalPath> {
        find(trace, Request { path: Some(most), ..Request::default() }).path
    }

    fn fork(time: Time, core: CoreId, parent: Tid, child: Tid, target: CoreId) -> Event {
        at(time, core, Kind::Fork { parent, child, target })
    }

    fn exit(time: Time, core: CoreId, thread: Tid) -> [Event; 2] {
        [at(time, core, Kind::Exit { thread }), switch(time, core, thread, Stop::Exited, IDLE)]
    }

    /// `sh` (1) forks `sleep` (2) and `cc1` (3) and waits. `cc1` works for 2 ms beside the sleep of 7 ms, so only the sleep
    /// is on the path.
    #[test]
    fn a_sleep_explains_the_time() {
        let mut events = vec![run(0, 0, 1), fork(MS, 0, 1, 2, 1), fork(MS, 0, 1, 3, 2)];
        events.extend([block(MS, 0, 1), run(2 * MS, 1, 2), run(2 * MS, 2, 3), block(3 * MS, 1, 2)]);
        events.extend(exit(4 * MS, 2, 3));
        events.extend([wake(10 * MS, 2, 1), run(10 * MS, 1, 2)]);
        events.push(wake_by(11 * MS, 1, 2, 1, 0));
        events.extend(exit(11 * MS, 1, 2));
        events.push(run(12 * MS, 0, 1));
        events.extend(exit(13 * MS, 0, 1));
        let mut trace = trace(4, 13 * MS, &events);
        trace.header.threads = vec![thread(1, "sh"), thread(2, "sleep"), thread(3, "cc1")];
        let found = path(&trace, 2).unwrap();
        assert_eq!((found.total_s, found.wait_s), (0.013, 0.007));
        // sh 1 ms, sleep 1 + 1 ms, sh 1 ms; sleep waits 1 ms for its core, sh again.
        assert_eq!((found.run_s, found.ready_s), (0.004, 0.002));
        let longest = &found.longest[0];
        assert_eq!((longest.begin_s, longest.ms, &*longest.name), (0.003, 7.0, "sleep"));
        assert_eq!(longest.reason, WaitFor::Timer);
        assert_eq!((found.longest.len(), found.longest[1].reason), (2, WaitFor::Core));
        let names: Vec<&str> = found.programs.iter().map(|program| &*program.program).collect();
        assert_eq!(names, ["sleep", "sh"], "cc1 is not on the path");
    }

    #[test]
    fn wakers_outside_are_waits() {
        let mut events = vec![run(0, 0, 1), block(MS, 0, 1), wake_by(3 * MS, 1, 9, 1, 0), run(3 * MS, 0, 1)];
        events.extend([block(4 * MS, 0, 1), wake(6 * MS, 1, 3), run(6 * MS, 3, 1)]);
        events.extend(exit(7 * MS, 3, 1));
        let mut trace = trace(4, 9 * MS, &events);
        trace.header.threads = vec![thread(1, "sh"), ThreadInfo { traced: false, ..thread(9, "other") }];
        let found = path(&trace, 9).unwrap();
        assert_eq!((found.total_s, found.run_s, found.wait_s), (0.007, 0.003, 0.004));
        assert!(found.longest.iter().all(|wait| wait.reason == WaitFor::Outside && wait.ms == 2.0));
    }

    #[test]
    fn without_an_exit_there_is_no_path() {
        assert_eq!(path(&trace(1, MS, &[run(0, 0, 1)]), 5), None);
    }

    #[test]
    fn dropping_nodes_leaves_the_path() {
        let mut events = vec![run(0, 0, 1), run(0, 2, 3), block(0, 2, 3)];
        let rounds = FEW as u64;
        for round in 0..rounds {
            let time = round * 10;
            // What leads to 3's own waits is forgotten when 1 wakes it.
            events.extend([wake(time + 1, 3, 2), run(time + 2, 2, 3), block(time + 3, 2, 3)]);
            events.extend([wake_by(time + 4, 0, 1, 3, 2), run(time + 5, 2, 3), block(time + 6, 2, 3)]);
        }
        events.extend(exit(10 * rounds, 0, 1));
        let mut trace = trace(4, 10 * rounds, &events);
        trace.header.threads = vec![thread(1, "a"), thread(3, "c")];
        let found = path(&trace, 1).unwrap();
        assert_eq!((found.run_s, found.total_s), (seconds(10 * rounds), seconds(10 * rounds)));
        assert_eq!(found.programs.len(), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// The parts of the path add up to its length, which is at most the trace's.
        #[test]
        fn the_parts_add_up(steps in steps()) {
            let trace = play(&steps);
            if let Some(found) = path(&trace, 3) {
                let sum = found.run_s + found.ready_s + found.wait_s;
                prop_assert!(near(sum, found.total_s), "{found:?}");
                let programs: f64 = found.programs.iter().map(|p| p.run_s + p.ready_s + p.wait_s).sum();
                prop_assert!(near(programs, sum));
                prop_assert!(found.longest.windows(2).all(|pair| pair[0].ms >= pair[1].ms));
            }
        }
    }
}
