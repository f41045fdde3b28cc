//! Statistics of each thread and each process.

use crate::analysis::names::{Name, Names};
use crate::analysis::sketch::Sketch;
use crate::analysis::table::Table;
use crate::analysis::{Consumer, ms, seconds};
use hearth_trace::follow::{CoreState, Observer, Place, State};
use hearth_trace::{CoreId, Event, Header, IDLE, Kind, Latency, Stop, Tid, Time};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Statistics of a thread, or of all threads of a process.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Load {
    pub cpu_s: f64,
    /// Number of times that it started to run.
    pub runs: u64,
    pub preemptions: u64,
    pub wakeups: u64,
    /// From the wake-up or the fork to the first run. Percentiles are accurate to 0.8%.
    pub wakeup_latency_us: Latency,
    /// Time that it was ready and did not run.
    pub waiting_ms: f64,
    /// The part of `waiting_ms` on a core with another runnable thread while some core was idle.
    pub overload_ms: f64,
    pub migrations: u64,
    /// Mean frequency while it ran; `None` if unknown.
    pub ghz_mean: Option<f64>,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ThreadRow {
    pub thread: Tid,
    /// The kernel's numbers of the thread and of its process; `None`: unknown.
    pub tid: Option<u32>,
    pub pid: Option<u32>,
    pub name: String,
    pub traced: bool,
    #[serde(flatten)]
    pub load: Load,
}

/// The kernel's numbers of a thread and of its process.
#[derive(Clone, Copy, Default)]
pub struct Numbers {
    tid: Option<u32>,
    pid: Option<u32>,
}

impl Numbers {
    pub fn of(header: &Header) -> HashMap<Tid, Numbers> {
        let pid = |process: u32| Some(header.processes.get(process as usize)?.pid);
        let threads = header.threads.iter();
        threads
            .map(|thread| (thread.tid, Numbers { tid: thread.kernel_tid, pid: thread.process.and_then(pid) }))
            .collect()
    }
}

/// The threads of a process, or all threads of one name ([`Names`]).
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ProcessRow {
    pub process: String,
    /// The kernel's number of the process; `None`: the threads of one name.
    pub pid: Option<u32>,
    pub threads: u64,
    /// Number of traced threads among them.
    pub traced: u64,
    #[serde(flatten)]
    pub load: Load,
}

/// Counters of a thread.
#[derive(Clone, Debug, Default)]
pub struct Account {
    traced: bool,
    cpu: Time,
    known: Time,
    cycles: u128,
    runs: u64,
    preemptions: u64,
    wakeups: u64,
    latencies: Sketch,
    waiting: Time,
    overload: Time,
    migrations: u64,
    /// While it is ready: its core, since when, and the value of the core's overload clock then.
    ready: Option<(CoreId, Time, Time)>,
}

impl Account {
    fn add(&mut self, other: &Account) {
        self.cpu = self.cpu.saturating_add(other.cpu);
        self.known = self.known.saturating_add(other.known);
        self.cycles += other.cycles;
        self.runs += other.runs;
        self.preemptions += other.preemptions;
        self.wakeups += other.wakeups;
        self.latencies.merge(&other.latencies);
        self.waiting = self.waiting.saturating_add(other.waiting);
        self.overload = self.overload.saturating_add(other.overload);
        self.migrations += other.migrations;
    }

    fn load(&self) -> Load {
        Load {
            cpu_s: seconds(self.cpu),
            runs: self.runs,
            preemptions: self.preemptions,
            wakeups: self.wakeups,
            wakeup_latency_us: self.latencies.summary(),
            waiting_ms: ms(self.waiting),
            overload_ms: ms(self.overload),
            migrations: self.migrations,
            ghz_mean: (self.known > 0).then(|| self.cycles as f64 / self.known as f64 / 1e6),
        }
    }
}

pub struct Threads {
    accounts: Table<Account>,
    lanes: Vec<Lane>,
    clocks: Clocks,
}

/// The thread that runs on a core, accounted up to `since`, and the core's frequency.
#[derive(Clone, Copy, Default)]
struct Lane {
    thread: Tid,
    since: Time,
    khz: u32,
}

impl Threads {
    pub fn new(cores: usize) -> Self {
        Threads { accounts: Table::new(), lanes: vec![Lane::default(); cores], clocks: Clocks::new(cores) }
    }

    pub fn finish(mut self, now: Time, state: &State) -> Vec<(Tid, Account)> {
        (0..self.lanes.len()).for_each(|core| self.settle(now, core));
        let mut rows = self.accounts.into_rows();
        for (tid, account) in &mut rows {
            account.traced = state.traced(*tid);
            self.clocks.stop(now, account);
        }
        rows
    }

    /// Accounts the running time of a core's thread since its last change.
    fn settle(&mut self, now: Time, core: usize) {
        let lane = &mut self.lanes[core];
        let ns = now - std::mem::replace(&mut lane.since, now);
        if lane.thread != IDLE {
            let account = self.accounts.row(lane.thread);
            account.cpu = account.cpu.saturating_add(ns);
            if lane.khz != 0 {
                account.known = account.known.saturating_add(ns);
                account.cycles += u128::from(lane.khz) * u128::from(ns);
            }
        }
    }
}

impl Consumer for Threads {
    fn advance(&mut self, now: Time) {
        self.clocks.advance(now);
    }

    fn event(&mut self, _: &State, event: &Event) {
        match event.kind {
            Kind::Wakeup { thread, .. } if thread != IDLE => self.accounts.row(thread).wakeups += 1,
            Kind::Switch { prev, stop: Stop::Preempted, next } if prev != IDLE && prev != next => {
                self.accounts.row(prev).preemptions += 1;
            }
            _ => {}
        }
    }
}

impl Observer for Threads {
    fn core(&mut self, now: Time, core: usize, before: CoreState, after: CoreState) {
        self.clocks.core(core, before, after);
        if before.khz != after.khz {
            self.settle(now, core);
            self.lanes[core].khz = after.khz;
        }
    }

    fn runnable(&mut self, _: u32) {}

    fn run(&mut self, _: Time, thread: Tid, core: CoreId, waited: Option<Time>, from: Option<CoreId>) {
        let account = self.accounts.row(thread);
        account.runs += 1;
        account.migrations += u64::from(from.is_some_and(|from| from != core));
        if let Some(ns) = waited {
            account.latencies.record(ns);
        }
    }

    fn thread(&mut self, now: Time, thread: Tid, before: Place, after: Place) {
        match before {
            Place::Ready(_) => self.clocks.stop(now, self.accounts.row(thread)),
            Place::Running(core) => {
                self.settle(now, usize::from(core));
                self.lanes[usize::from(core)].thread = IDLE;
            }
            Place::Away => {}
        }
        match after {
            Place::Ready(core) => {
                self.accounts.row(thread).ready = Some((core, now, self.clocks.at(usize::from(core))));
            }
            Place::Running(core) => {
                let lane = &mut self.lanes[usize::from(core)];
                (lane.thread, lane.since) = (thread, now);
            }
            Place::Away => {}
        }
    }
}

/// Overload clocks: the clock of a core runs while the core is overloaded and another is idle. All derive from one
/// clock that runs while any core is idle, so that the cost of an event does not depend on the number of cores.
struct Clocks {
    now: Time,
    idle_cores: usize,
    idle_ns: Time,
    cores: Vec<Clock>,
}

#[derive(Clone, Copy, Default)]
struct Clock {
    ns: Time,
    /// While the core is overloaded: `idle_ns` at the beginning of the overload.
    since: Option<Time>,
}

impl Clocks {
    fn new(cores: usize) -> Self {
        Clocks { now: 0, idle_cores: cores, idle_ns: 0, cores: vec![Clock::default(); cores] }
    }

    fn advance(&mut self, now: Time) {
        if self.idle_cores > 0 {
            self.idle_ns += now - self.now;
        }
        self.now = now;
    }

    fn core(&mut self, core: usize, before: CoreState, after: CoreState) {
        self.idle_cores = self.idle_cores + usize::from(after.idle()) - usize::from(before.idle());
        let ns = self.at(core);
        self.cores[core] = Clock { ns, since: (after.runnable > 1).then_some(self.idle_ns) };
    }

    fn at(&self, core: usize) -> Time {
        let clock = self.cores[core];
        clock.ns + clock.since.map_or(0, |since| self.idle_ns - since)
    }

    /// Ends the waiting of a thread.
    fn stop(&self, now: Time, account: &mut Account) {
        if let Some((core, since, clock)) = account.ready.take() {
            account.waiting = account.waiting.saturating_add(now - since);
            account.overload = account.overload.saturating_add(self.at(usize::from(core)) - clock);
        }
    }
}

pub fn rows(accounts: Vec<(Tid, Account)>, names: &Names, numbers: &HashMap<Tid, Numbers>) -> Vec<ThreadRow> {
    let numbers = |thread: Tid| numbers.get(&thread).copied().unwrap_or_default();
    let mut rows: Vec<ThreadRow> = (accounts.iter())
        .map(|(thread, account)| ThreadRow {
            thread: *thread,
            tid: numbers(*thread).tid,
            pid: numbers(*thread).pid,
            name: names.thread(*thread),
            traced: account.traced,
            load: account.load(),
        })
        .collect();
    rows.sort_by(|a, b| b.load.cpu_s.total_cmp(&a.load.cpu_s).then(a.thread.cmp(&b.thread)));
    rows
}

pub fn processes(accounts: &[(Tid, Account)], names: &Names) -> Vec<ProcessRow> {
    #[derive(Default)]
    struct Sum {
        threads: u64,
        traced: u64,
        account: Account,
    }
    let mut sums: HashMap<Name, Sum> = HashMap::new();
    for (thread, account) in accounts {
        let sum = sums.entry(names.of(*thread)).or_default();
        sum.threads += 1;
        sum.traced += u64::from(account.traced);
        sum.account.add(account);
    }
    let mut rows: Vec<ProcessRow> = (sums.into_iter())
        .map(|(name, sum)| ProcessRow {
            process: names.text(name).into(),
            pid: names.pid(name),
            threads: sum.threads,
            traced: sum.traced,
            load: sum.account.load(),
        })
        .collect();
    rows.sort_by(|a, b| {
        b.load.cpu_s.total_cmp(&a.load.cpu_s).then_with(|| (&a.process, a.pid).cmp(&(&b.process, b.pid)))
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Request;
    use crate::analysis::testing::*;
    use hearth_trace::Trace;
    use proptest::prelude::*;

    const REQUEST: Request = Request {
        interval: None,
        threads: true,
        by_name: false,
        wakers: false,
        inversions: None,
        overloads: None,
        underload: false,
        others: None,
        path: None,
    };

    fn of(rows: &[ThreadRow], thread: Tid) -> &Load {
        &rows.iter().find(|row| row.thread == thread).unwrap().load
    }

    /// Thread 1 runs on core 0 from 0 to 6 ms, at 1 GHz for 4 ms and at 2.5 for 2. Thread 2 is woken
    /// at 1 ms and waits behind it until 6 ms. Core 1 is idle except from 2 to 4 ms: overload of
    /// (2-1) + (6-4) = 3 of 5 ms. Thread 2 preempts 1, which moves to core 1 and runs there from 8 ms,
    /// after 1 ms in the queue of core 0 (overload) and 1 ms alone in the queue of core 1 (none).
    #[test]
    fn threads_have_their_statistics() {
        let mut trace = trace(
            2,
            10 * MS,
            &[
                khz(0, 0, 10),
                run(0, 0, 1),
                wake(MS, 2, 0),
                run(2 * MS, 1, 3),
                khz(4 * MS, 0, 25),
                block(4 * MS, 1, 3),
                switch(6 * MS, 0, 1, Stop::Preempted, 2),
                at(7 * MS, 1, Kind::Migrate { thread: 1, from: 0, to: 1 }),
                run(8 * MS, 1, 1),
            ],
        );
        trace.header.threads = vec![thread(1, "cc1"), thread(2, "cc1"), thread(3, "sh")];
        let found = find(&trace, REQUEST);
        let rows = found.threads.unwrap();
        let latency = |us| Latency { count: 1, mean: us, p50: us, p90: us, p99: us, p99_9: us, max: us };
        let one = Load {
            cpu_s: 0.008,
            runs: 2,
            preemptions: 1,
            waiting_ms: 2.0,
            overload_ms: 1.0,
            migrations: 1,
            ghz_mean: Some((4.0 * 1.0 + 2.0 * 2.5) / 6.0),
            ..Load::default()
        };
        assert_eq!(of(&rows, 1), &one);
        let two = Load {
            cpu_s: 0.004,
            runs: 1,
            wakeups: 1,
            wakeup_latency_us: latency(5000.0),
            waiting_ms: 5.0,
            overload_ms: 3.0,
            ghz_mean: Some(2.5),
            ..Load::default()
        };
        assert_eq!(of(&rows, 2), &two);
        assert_eq!(rows.iter().map(|row| row.thread).collect::<Vec<_>>(), [1, 2, 3], "most CPU time first");
        let processes = found.processes.unwrap();
        let names: Vec<_> =
            processes.iter().map(|row| (&*row.process, row.threads, row.load.cpu_s)).collect();
        assert_eq!(names, [("cc1", 2, 0.012), ("sh", 1, 0.002)]);
        assert_eq!(processes[0].load.overload_ms, 4.0);
        assert_eq!(processes[0].load.ghz_mean, Some((4.0 * 1.0 + 6.0 * 2.5) / 10.0));
    }

    /// Running time, waiting, overload and cycles of a thread, computed from moments.
    fn reference(trace: &Trace, thread: Tid) -> (Time, Time, Time, u128) {
        let (mut cpu, mut waiting, mut overload, mut cycles) = (0, 0, 0, 0);
        for pair in moments(trace).windows(2) {
            let (at, ns) = (&pair[0], pair[1].time - pair[0].time);
            if let Some(core) = at.running.iter().position(|running| *running == thread) {
                cpu += ns;
                cycles += u128::from(at.khz[core]) * u128::from(ns);
            }
            if let Some(core) = at.ready.get(&thread) {
                waiting += ns;
                if at.runnable_on(usize::from(*core)) > 1 && at.idle().next().is_some() {
                    overload += ns;
                }
            }
        }
        (cpu, waiting, overload, cycles)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn agrees_with_the_definitions(steps in steps()) {
            let trace = play(&steps);
            for row in find(&trace, REQUEST).threads.unwrap() {
                let (cpu, waiting, overload, cycles) = reference(&trace, row.thread);
                prop_assert_eq!(row.load.cpu_s, seconds(cpu));
                prop_assert_eq!(row.load.waiting_ms, ms(waiting));
                prop_assert_eq!(row.load.overload_ms, ms(overload));
                prop_assert_eq!(row.load.ghz_mean.is_some_and(|ghz| ghz > 0.0), cycles > 0);
            }
        }

        #[test]
        fn threads_and_processes_add_up(steps in steps()) {
            let trace = play(&steps);
            let (found, whole) = (find(&trace, REQUEST), trace.summary());
            let rows: Vec<_> = found.threads.unwrap().into_iter().collect();
            let traced = |f: &dyn Fn(&Load) -> f64| {
                rows.iter().filter(|row| row.traced).map(|row| f(&row.load)).sum::<f64>()
            };
            prop_assert!(near(traced(&|l| l.cpu_s), whole.busy_core_s));
            prop_assert_eq!(traced(&|l| l.wakeups as f64), whole.wakeups as f64);
            prop_assert_eq!(traced(&|l| l.migrations as f64), whole.migrations as f64);
            prop_assert_eq!(traced(&|l| l.wakeup_latency_us.count as f64), whole.wakeup_latency_us.count as f64);
            let all = |f: &dyn Fn(&Load) -> f64| rows.iter().map(|row| f(&row.load)).sum::<f64>();
            let processes = found.processes.unwrap();
            let merged = |f: &dyn Fn(&Load) -> f64| processes.iter().map(|row| f(&row.load)).sum::<f64>();
            for field in [&(|l: &Load| l.cpu_s) as &dyn Fn(&Load) -> f64, &|l| l.runs as f64, &|l| l.waiting_ms,
                &|l| l.overload_ms, &|l| l.preemptions as f64, &|l| l.wakeup_latency_us.count as f64] {
                prop_assert!(near(all(field), merged(field)));
            }
            prop_assert_eq!(processes.iter().map(|row| row.threads).sum::<u64>(), rows.len() as u64);
        }
    }
}
