//! Static validation of the graph. Reports all problems, each with its place.
//!
//! These checks need no execution: they weight each step with the rounds of its enclosing
//! `Repeat`s, so their cost depends on the size of the file, not of the run. Problems that depend
//! on order (two threads that wait for each other) are found by the dry run (`dry_run.rs`), which
//! [`Workload::check`] adds.

use crate::{BarrierIdx, Error, MAX_DEPTH, MAX_STEPS, Op, Problem, SemIdx, ThreadIdx, What, Workload};

impl Workload {
    /// Finds all problems that are visible without execution; empty if the graph is well-formed.
    pub fn validate(&self) -> Vec<Problem> {
        let mut walk = Walk::new(self);
        walk.threads();
        walk.forks();
        walk.semaphores();
        walk.barriers();
        walk.problems
    }

    /// Runs [`validate`](Self::validate) and, for a well-formed graph, the dry run. The error names
    /// `origin`.
    pub fn check(&self, origin: &str) -> Result<(), Error> {
        let mut problems = self.validate();
        if problems.is_empty() {
            problems = self.dry_run(crate::DRY_RUN_STEPS).problems(self);
        }
        match problems.is_empty() {
            true => Ok(()),
            false => Err(Error::Invalid { origin: origin.to_string(), problems }),
        }
    }
}

/// State of a walk through all steps.
struct Walk<'a> {
    workload: &'a Workload,
    problems: Vec<Problem>,
    /// Path to the current step.
    path: Vec<usize>,
    steps: Option<u64>,
    cycles: Option<u64>,
    delay: Option<u64>,
    /// Thread that first forks each thread.
    parent: Vec<Option<ThreadIdx>>,
    joins: Vec<(ThreadIdx, Vec<usize>, ThreadIdx)>,
    posts: Vec<u64>,
    waits: Vec<u64>,
    arrivals: Vec<u64>,
    users: Vec<u32>,
    /// Last thread seen at each barrier, so that each thread counts once.
    last_user: Vec<Option<ThreadIdx>>,
}

impl<'a> Walk<'a> {
    fn new(workload: &'a Workload) -> Self {
        let (threads, sems, barriers) =
            (workload.threads.len(), workload.semaphores.len(), workload.barriers.len());
        Walk {
            workload,
            problems: Vec::new(),
            path: Vec::new(),
            steps: Some(0),
            cycles: Some(0),
            delay: Some(0),
            parent: vec![None; threads],
            joins: Vec::new(),
            posts: vec![0; sems],
            waits: vec![0; sems],
            arrivals: vec![0; barriers],
            users: vec![0; barriers],
            last_user: vec![None; barriers],
        }
    }

    fn report(&mut self, thread: Option<ThreadIdx>, step: Vec<usize>, what: What) {
        let thread = thread.map(|index| (index, self.workload.threads[index as usize].name.clone()));
        self.problems.push(Problem { thread, step, what });
    }

    /// Reports a problem of the current step.
    fn here(&mut self, thread: ThreadIdx, what: What) {
        let step = self.path.clone();
        self.report(Some(thread), step, what);
    }

    fn threads(&mut self) {
        if self.workload.threads.is_empty() {
            self.report(None, Vec::new(), What::NoThreads);
        }
        let workload = self.workload;
        for (index, thread) in (0..).zip(&workload.threads) {
            if !(-20..=19).contains(&thread.nice) {
                self.report(Some(index), Vec::new(), What::Nice(thread.nice));
            }
            self.ops(index, &thread.ops, 1);
        }
        if self.steps.is_none_or(|steps| steps > MAX_STEPS) {
            self.report(None, Vec::new(), What::TooManySteps);
        }
        if self.cycles.is_none() {
            self.report(None, Vec::new(), What::TooMuch("work (cycles)"));
        }
        if self.delay.is_none() {
            self.report(None, Vec::new(), What::TooMuch("delays (ns)"));
        }
    }

    /// Processes the steps `ops` of `thread`, which run `times` times.
    fn ops(&mut self, thread: ThreadIdx, ops: &[Op], times: u64) {
        for (step, op) in ops.iter().enumerate() {
            self.path.push(step);
            self.op(thread, op, times);
            self.path.pop();
        }
    }

    fn op(&mut self, thread: ThreadIdx, op: &Op, times: u64) {
        self.steps = self.steps.and_then(|n| n.checked_add(times));
        match *op {
            Op::Run(cycles) => self.cycles = sum(self.cycles, cycles, times),
            Op::Sleep(ns) | Op::Io(ns) => self.delay = sum(self.delay, ns, times),
            Op::Timer(timer, ns) => {
                self.delay = sum(self.delay, ns, times);
                let count = self.workload.timers.len();
                if timer as usize >= count {
                    self.here(thread, What::NoSuchTimer { timer, count });
                }
            }
            Op::Fork(child) => self.fork(thread, child, times),
            Op::Join(child) => self.join(thread, child),
            Op::Post(sem) => match self.posts.get_mut(sem as usize) {
                Some(posts) => *posts = posts.saturating_add(times),
                None => self.no_semaphore(thread, sem),
            },
            Op::Wait(sem) => match self.waits.get_mut(sem as usize) {
                Some(waits) => *waits = waits.saturating_add(times),
                None => self.no_semaphore(thread, sem),
            },
            Op::Barrier(barrier) => self.barrier(thread, barrier, times),
            Op::Yield | Op::Exec(_) => {}
            Op::Repeat(0, _) => self.here(thread, What::RepeatZero),
            Op::Repeat(_, ref ops) if ops.is_empty() => self.here(thread, What::RepeatEmpty),
            Op::Repeat(..) if self.path.len() > MAX_DEPTH => self.here(thread, What::TooDeep),
            Op::Repeat(count, ref ops) => match times.checked_mul(u64::from(count)) {
                Some(times) => self.ops(thread, ops, times),
                None => self.steps = None,
            },
        }
    }

    fn no_semaphore(&mut self, thread: ThreadIdx, sem: SemIdx) {
        let count = self.workload.semaphores.len();
        self.here(thread, What::NoSuchSemaphore { sem, count });
    }

    fn fork(&mut self, thread: ThreadIdx, child: ThreadIdx, times: u64) {
        let count = self.workload.threads.len();
        match self.parent.get(child as usize) {
            None => self.here(thread, What::NoSuchThread { thread: child, count }),
            Some(_) if child == thread => {
                self.parent[child as usize] = Some(thread);
                self.here(thread, What::ForksItself);
            }
            Some(Some(_)) => self.here(thread, What::ForkedTwice(child)),
            Some(None) => {
                self.parent[child as usize] = Some(thread);
                if times > 1 {
                    self.here(thread, What::ForkedTwice(child));
                }
            }
        }
    }

    fn join(&mut self, thread: ThreadIdx, child: ThreadIdx) {
        let count = self.workload.threads.len();
        if child as usize >= count {
            self.here(thread, What::NoSuchThread { thread: child, count });
        } else if child == thread {
            self.here(thread, What::JoinsItself);
        } else {
            // Whether the child is forked is known only at the end.
            self.joins.push((thread, self.path.clone(), child));
        }
    }

    fn barrier(&mut self, thread: ThreadIdx, barrier: BarrierIdx, times: u64) {
        let index = barrier as usize;
        let Some(arrivals) = self.arrivals.get_mut(index) else {
            let count = self.workload.barriers.len();
            return self.here(thread, What::NoSuchBarrier { barrier, count });
        };
        *arrivals = arrivals.saturating_add(times);
        if self.last_user[index] != Some(thread) {
            self.last_user[index] = Some(thread);
            self.users[index] += 1;
        }
    }

    fn forks(&mut self) {
        if !self.parent.is_empty() && self.parent.iter().all(Option::is_some) {
            self.report(None, Vec::new(), What::NothingStarts);
        }
        for thread in self.unreachable() {
            // A thread that forks itself is reported at its step.
            if self.parent[thread as usize] != Some(thread) {
                self.report(Some(thread), Vec::new(), What::ForkCycle);
            }
        }
        for (thread, step, child) in std::mem::take(&mut self.joins) {
            if self.parent[child as usize].is_none() {
                self.report(Some(thread), step, What::JoinNotForked(child));
            }
        }
    }

    /// Threads that are not forked, directly or indirectly, by a root thread.
    fn unreachable(&self) -> Vec<ThreadIdx> {
        let count = self.parent.len();
        let mut children = vec![Vec::new(); count];
        let mut reached = Vec::new();
        for (thread, parent) in (0..).zip(&self.parent) {
            match parent {
                Some(parent) => children[*parent as usize].push(thread),
                None => reached.push(thread),
            }
        }
        let mut seen = vec![false; count];
        while let Some(thread) = reached.pop() {
            seen[thread as usize] = true;
            reached.append(&mut children[thread as usize]);
        }
        (0..).zip(seen).filter(|&(_, seen)| !seen).map(|(thread, _)| thread).collect()
    }

    fn semaphores(&mut self) {
        let count = self.workload.semaphores.len();
        for sem in self.workload.sync.iter().copied().filter(|sem| *sem as usize >= count) {
            self.report(None, Vec::new(), What::NoSuchSync { sem, count });
        }
        for sem in 0..self.posts.len() {
            let supply = self.posts[sem].saturating_add(u64::from(self.workload.semaphores[sem]));
            let waits = self.waits[sem];
            if waits > supply {
                self.report(None, Vec::new(), What::NeverPosted { sem: sem as SemIdx, waits, supply });
            }
        }
    }

    fn barriers(&mut self) {
        for index in 0..self.arrivals.len() {
            let (count, users, arrivals) =
                (self.workload.barriers[index], self.users[index], self.arrivals[index]);
            let barrier = index as BarrierIdx;
            let what = match count {
                0 => What::BarrierZero(barrier),
                _ if arrivals == 0 => continue,
                _ if users < count => What::BarrierTooWide { barrier, count, users },
                _ if arrivals % u64::from(count) != 0 => What::BarrierLeftover { barrier, count, arrivals },
                _ => continue,
            };
            self.report(None, Vec::new(), what);
        }
    }
}

fn sum(total: Option<u64>, each: u64, times: u64) -> Option<u64> {
    total?.checked_add(each.checked_mul(times)?)
}
