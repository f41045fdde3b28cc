//! Processes outside the command: what they took of the cores, and which waits of the command they caused.

use crate::analysis::names::{Name, Names};
use crate::analysis::table::Table;
use crate::analysis::{Consumer, ms, seconds};
use hearth_trace::follow::{CoreState, Observer, Place};
use hearth_trace::{CoreId, Header, IDLE, Tid, Time};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Others {
    /// CPU time of all threads that are not traced.
    pub cpu_s: f64,
    /// Time that traced threads were ready on a core that ran one of those, summed over the waiting threads.
    pub waiting_ms: f64,
    /// Those that caused most waiting first, then those that took most CPU time.
    pub processes: Vec<Other>,
}

/// A process whose threads are not traced, or all threads of one name.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Other {
    pub process: String,
    /// The kernel's number of the process; `None`: the threads of one name.
    pub pid: Option<u32>,
    pub cpu_s: f64,
    pub waiting_ms: f64,
}

pub struct Tracker {
    traced: HashSet<Tid>,
    lanes: Vec<Lane>,
    accounts: Table<Account>,
    most: usize,
}

/// A core: its running thread, accounted up to `since`, and the number of traced threads that are ready there.
#[derive(Clone, Copy, Default)]
struct Lane {
    running: Tid,
    since: Time,
    waiting: u32,
}

#[derive(Clone, Copy, Default, Debug)]
struct Account {
    cpu: Time,
    waiting: Time,
}

impl Account {
    fn add(&mut self, other: Account) {
        self.cpu = self.cpu.saturating_add(other.cpu);
        self.waiting = self.waiting.saturating_add(other.waiting);
    }
}

impl Tracker {
    /// Lists `most` processes.
    pub fn new(header: &Header, most: usize) -> Self {
        let traced = header.threads.iter().filter(|thread| thread.traced).map(|thread| thread.tid);
        Tracker {
            traced: traced.collect(),
            lanes: vec![Lane::default(); header.cores.len()],
            accounts: Table::new(),
            most,
        }
    }

    pub fn finish(mut self, now: Time, names: &Names) -> Others {
        (0..self.lanes.len()).for_each(|core| self.settle(now, core));
        let mut all = Account::default();
        let mut sums: HashMap<Name, Account> = HashMap::new();
        for (thread, account) in self.accounts.into_rows() {
            all.add(account);
            sums.entry(names.of(thread)).or_default().add(account);
        }
        let mut rows: Vec<(Name, Account)> = sums.into_iter().collect();
        rows.sort_by_key(|(name, account)| {
            std::cmp::Reverse((account.waiting, account.cpu, std::cmp::Reverse(*name)))
        });
        let row = |(name, account): (Name, Account)| Other {
            process: names.text(name).into(),
            pid: names.pid(name),
            cpu_s: seconds(account.cpu),
            waiting_ms: ms(account.waiting),
        };
        Others {
            cpu_s: seconds(all.cpu),
            waiting_ms: ms(all.waiting),
            processes: rows.into_iter().take(self.most).map(row).collect(),
        }
    }

    /// Accounts the time of a core's thread since its last change.
    fn settle(&mut self, now: Time, core: usize) {
        let lane = &mut self.lanes[core];
        let ns = now - std::mem::replace(&mut lane.since, now);
        if lane.running != IDLE && !self.traced.contains(&lane.running) {
            let waiting = ns.saturating_mul(lane.waiting.into());
            self.accounts.row(lane.running).add(Account { cpu: ns, waiting });
        }
    }
}

impl Consumer for Tracker {}

impl Observer for Tracker {
    fn core(&mut self, _: Time, _: usize, _: CoreState, _: CoreState) {}

    fn runnable(&mut self, _: u32) {}

    fn run(&mut self, _: Time, _: Tid, _: CoreId, _: Option<Time>, _: Option<CoreId>) {}

    fn thread(&mut self, now: Time, thread: Tid, before: Place, after: Place) {
        let traced = self.traced.contains(&thread);
        for (place, comes) in [(before, false), (after, true)] {
            let (Place::Ready(core) | Place::Running(core)) = place else { continue };
            let core = usize::from(core);
            self.settle(now, core);
            let lane = &mut self.lanes[core];
            match place {
                Place::Ready(_) if !traced => {}
                Place::Ready(_) if comes => lane.waiting += 1,
                Place::Ready(_) => lane.waiting = lane.waiting.saturating_sub(1),
                _ => lane.running = if comes { thread } else { IDLE },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Request;
    use crate::analysis::testing::*;
    use hearth_trace::{ProcessInfo, Stop, ThreadInfo, Trace};
    use proptest::prelude::*;

    fn others(trace: &Trace, most: usize) -> Others {
        find(trace, Request { others: Some(most), ..Request::default() }).others.unwrap()
    }

    /// Threads 8 and 9 of process 30 run on core 0 from 0 to 6 ms, thread 7 of another one on core 1 from 0 to 9 ms. The
    /// command's thread 1 is woken on core 0 at 1 ms, waits for 5 ms, and then makes thread 2 wait, which is its own.
    #[test]
    fn who_takes_a_core_makes_the_command_wait() {
        let mut trace = trace(
            2,
            10 * MS,
            &[
                run(0, 0, 8),
                run(0, 1, 7),
                wake(MS, 1, 0),
                switch(4 * MS, 0, 8, Stop::Blocked, 9),
                switch(6 * MS, 0, 9, Stop::Blocked, 1),
                wake(7 * MS, 2, 0),
                block(9 * MS, 1, 7),
                switch(9 * MS, 0, 1, Stop::Blocked, 2),
            ],
        );
        let other = |tid, process| ThreadInfo { traced: false, process, ..thread(tid, "noise") };
        trace.header.threads =
            vec![thread(1, "sh"), thread(2, "sh"), other(7, None), other(8, Some(0)), other(9, Some(0))];
        trace.header.processes = vec![ProcessInfo { pid: 30, name: "z3".into(), parent: None }];
        let z3 = Other { process: "z3".into(), pid: Some(30), cpu_s: 0.006, waiting_ms: 5.0 };
        let noise = Other { process: "noise".into(), pid: None, cpu_s: 0.009, waiting_ms: 0.0 };
        let expected = Others { cpu_s: 0.015, waiting_ms: 5.0, processes: vec![z3.clone(), noise] };
        assert_eq!(others(&trace, 9), expected);
        assert_eq!(others(&trace, 1), Others { processes: vec![z3], ..expected });
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn agrees_with_the_definition(steps in steps()) {
            let trace = play(&steps);
            let traced = |tid: Tid| tid != IDLE && trace.header.threads[tid as usize - 1].traced;
            let (mut cpu, mut waiting) = (0, 0);
            for pair in moments(&trace).windows(2) {
                let (at, ns) = (&pair[0], pair[1].time - pair[0].time);
                let foreign = |core: usize| at.running[core] != IDLE && !traced(at.running[core]);
                cpu += ns * (0..at.running.len()).filter(|core| foreign(*core)).count() as Time;
                let waits = at.ready.iter().filter(|(tid, core)| traced(**tid) && foreign(usize::from(**core)));
                waiting += ns * waits.count() as Time;
            }
            let found = others(&trace, usize::MAX);
            prop_assert_eq!((found.cpu_s, found.waiting_ms), (seconds(cpu), ms(waiting)));
            let sum = |f: fn(&Other) -> f64| found.processes.iter().map(f).sum::<f64>();
            prop_assert!(near(sum(|row| row.cpu_s), found.cpu_s) && near(sum(|row| row.waiting_ms), found.waiting_ms));
        }
    }
}
