//! The standard scenarios, the smallest first.

use crate::cores::Cores;
use crate::scenario::{Op, Scenario, ScenarioError, Start, Stealing, ThreadSpec};
use crate::topology::Topology;

use Op::{Block, Forever, Fork, Sleep, Wake, Yield};
use Start::{Awake, Blocked, Forked};

fn scenario(name: &str, doc: &str, llcs: &[u8], ticks: u8, threads: &[(Start, &[Op])]) -> Scenario {
    Scenario {
        name: name.to_owned(),
        doc: doc.to_owned(),
        topology: Topology::llcs(llcs),
        threads: threads.iter().map(|(start, program)| ThreadSpec::new(*start, program)).collect(),
        ticks,
        fast: Cores::EMPTY,
        offline: Cores::EMPTY,
        values: Vec::new(),
        stealing: Stealing::Locked,
    }
}

impl Scenario {
    /// The standard scenario of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> Result<Scenario, ScenarioError> {
        let all = all();
        let known = all.iter().map(|scenario| scenario.name.as_str()).collect::<Vec<_>>().join(", ");
        let found = all.into_iter().find(|scenario| scenario.name == name);
        found.ok_or_else(|| ScenarioError::Unknown(name.to_owned(), known))
    }
}

/// All standard scenarios.
pub fn all() -> Vec<Scenario> {
    let forever: &[Op] = &[Forever];
    vec![
        scenario(
            "wake-2",
            "2 cores: a thread wakes another, and blocks until that one wakes it",
            &[2],
            0,
            &[(Awake(0), &[Wake(1), Block]), (Blocked(1), &[Wake(0)])],
        ),
        fast(),
        scenario(
            "exit-2",
            "2 cores, 3 threads: two threads exit while one waits",
            &[2],
            0,
            &[(Awake(0), &[]), (Awake(1), &[]), (Awake(0), forever)],
        ),
        scenario(
            "fork-2",
            "2 cores: a thread forks two others and blocks; they wake it",
            &[2],
            0,
            &[(Awake(0), &[Fork(1), Fork(2), Block]), (Forked, &[Wake(0)]), (Forked, &[Wake(0)])],
        ),
        scenario(
            "yield-2",
            "2 cores, 3 threads: threads yield, block and exit",
            &[2],
            0,
            &[(Awake(0), &[Yield]), (Awake(1), &[Sleep]), (Awake(0), &[Yield])],
        ),
        scenario(
            "yields-2",
            "2 cores, 3 threads: two take turns on a core without running for long, and the third exits",
            &[2],
            0,
            &[(Awake(0), &[Yield, Yield, Forever]), (Awake(1), &[]), (Awake(0), &[Yield, Yield, Forever])],
        ),
        scenario(
            "ticks-2",
            "2 cores, 3 threads, 2 ticks: balancing and preemption, and a thread that exits",
            &[2],
            2,
            &[(Awake(0), forever), (Awake(1), &[]), (Awake(0), forever)],
        ),
        held(),
        scenario(
            "turns-1",
            "1 core, 3 threads, 30 ticks: threads compute",
            &[1],
            30,
            &[(Awake(0), forever), (Awake(0), forever), (Awake(0), forever)],
        ),
        scenario(
            "yields-1",
            "1 core, 3 threads, 25 ticks: a thread waits behind two that yield",
            &[1],
            25,
            &[(Awake(0), &[Yield, Forever]), (Awake(0), &[Yield, Forever]), (Awake(0), forever)],
        ),
        turns(),
        scenario(
            "timers-2",
            "2 cores, 3 threads, 4 ticks: a thread wakes one whose core is busy",
            &[2],
            4,
            &[(Awake(0), &[Wake(1), Forever]), (Blocked(1), forever), (Awake(1), forever)],
        ),
        pinned(),
        behind(),
        mixed(),
        stuck(),
        pairs(),
        spread(),
        dies(),
        offline(),
        crowd(),
        allowed(),
        scenario(
            "wakers-3",
            "2+1 cores: two threads wake one each at the same time; one core is idle",
            &[2, 1],
            0,
            &[
                (Blocked(2), &[]),
                (Blocked(2), &[]),
                (Awake(0), &[Wake(0), Forever]),
                (Awake(1), &[Wake(1), Forever]),
            ],
        ),
        scenario(
            "forks-3",
            "2+1 cores: two threads fork one each at the same time; one core is idle",
            &[2, 1],
            0,
            &[(Awake(0), &[Fork(2), Forever]), (Awake(1), &[Fork(3), Forever]), (Forked, &[]), (Forked, &[])],
        ),
        scenario(
            "thieves-3",
            "2+1 cores, 5 threads: the threads of two cores exit while two wait on the third",
            &[2, 1],
            0,
            &[
                (Awake(0), forever),
                (Awake(1), &[]),
                (Awake(2), &[]),
                (Awake(0), forever),
                (Awake(0), forever),
            ],
        ),
        scenario(
            "sleepers-3",
            "2+1 cores, 4 threads: sleepers come and go while others compute",
            &[2, 1],
            0,
            &[(Awake(0), forever), (Awake(1), &[Sleep]), (Awake(2), &[Sleep]), (Awake(0), &[Sleep])],
        ),
        scenario(
            "ticks-3",
            "2+1 cores, 4 threads, 1 tick: balancing on every core",
            &[2, 1],
            1,
            &[(Awake(0), forever), (Awake(1), forever), (Awake(2), &[]), (Awake(0), forever)],
        ),
        scenario(
            "wakers-4",
            "2+2 cores: two threads wake one each at the same time; two cores are idle",
            &[2, 2],
            0,
            &[
                (Blocked(2), &[]),
                (Blocked(3), &[]),
                (Awake(0), &[Wake(0), Forever]),
                (Awake(1), &[Wake(1), Forever]),
            ],
        ),
        scenario(
            "victims-4",
            "2+2 cores, 6 threads: the threads of two cores exit while one waits on each of the others",
            &[2, 2],
            0,
            &[
                (Awake(0), forever),
                (Awake(2), forever),
                (Awake(1), &[]),
                (Awake(3), &[]),
                (Awake(0), forever),
                (Awake(2), forever),
            ],
        ),
        scenario(
            "balance-4",
            "2+2 cores, 5 threads, 1 tick: three wait on one core, and one comes and goes",
            &[2, 2],
            1,
            &[
                (Awake(0), forever),
                (Awake(2), &[Sleep, Forever]),
                (Awake(0), forever),
                (Awake(0), forever),
                (Awake(0), forever),
            ],
        ),
    ]
}

/// `wake-2` on fast cores: no policy avoids a core because of its frequency.
fn fast() -> Scenario {
    let threads: &[(Start, &[Op])] = &[(Awake(0), &[Wake(1), Block]), (Blocked(1), &[Wake(0)])];
    let doc = "2 fast cores: a thread wakes another, and blocks until that one wakes it";
    Scenario { fast: [0, 1].into_iter().collect(), ..scenario("fast-2", doc, &[2], 0, threads) }
}

/// Affinities exclude idle cores and less loaded ones.
fn pinned() -> Scenario {
    let threads: &[(Start, &[Op])] = &[
        (Awake(0), &[Fork(3), Wake(1)]),
        (Blocked(1), &[]),
        (Awake(1), &[Forever]),
        (Forked, &[]),
        (Awake(2), &[]),
    ];
    let doc = "3 cores: a thread forks one and wakes one, both pinned to core 1, which is busy; others exit";
    let mut scenario = scenario("pinned-3", doc, &[3], 0, threads);
    for thread in [1, 3] {
        scenario.threads[thread].affinity = Cores::one(1);
    }
    scenario
}

/// All threads of the most loaded core are pinned to it.
fn stuck() -> Scenario {
    let forever: &[Op] = &[Forever];
    let threads: &[(Start, &[Op])] = &[
        (Awake(0), forever),
        (Awake(0), forever),
        (Awake(0), forever),
        (Awake(1), forever),
        (Awake(1), forever),
        (Awake(2), &[]),
    ];
    let doc =
        "3 cores: a thread exits while two wait on the core that they are pinned to, and one on another";
    let mut scenario = scenario("stuck-3", doc, &[3], 0, threads);
    for thread in [0, 1, 2] {
        scenario.threads[thread].affinity = Cores::one(0);
    }
    scenario
}

/// The die with the higher load has an idle core.
fn crowd() -> Scenario {
    let forever: &[Op] = &[Forever];
    let threads: &[(Start, &[Op])] = &[
        (Awake(0), &[Fork(1), Forever]),
        (Forked, &[]),
        (Awake(0), forever),
        (Awake(0), forever),
        (Awake(2), forever),
        (Awake(3), forever),
    ];
    let doc = "2+2 cores: a thread forks one; a die has an idle core beside one with three threads, two of them pinned";
    let mut scenario = scenario("crowd-4", doc, &[2, 2], 0, threads);
    for thread in [2, 3] {
        scenario.threads[thread].affinity = Cores::one(0);
    }
    scenario
}

/// The affinity of a forked thread allows one of two idle cores.
fn allowed() -> Scenario {
    let threads: &[(Start, &[Op])] =
        &[(Awake(0), &[Fork(1), Forever]), (Forked, &[]), (Awake(2), &[Forever]), (Awake(2), &[Forever])];
    let doc = "2+2 cores: a thread forks one that may run on its parent's core and on the idle core of the other die";
    let mut scenario = scenario("allowed-4", doc, &[2, 2], 0, threads);
    scenario.threads[1].affinity = [0, 3].into_iter().collect();
    for thread in [2, 3] {
        scenario.threads[thread].affinity = Cores::one(2);
    }
    scenario
}

/// Threads take turns while one of them may move.
fn turns() -> Scenario {
    let threads: &[(Start, &[Op])] =
        &[(Awake(0), &[Forever]), (Awake(0), &[Forever]), (Awake(0), &[Forever]), (Awake(1), &[Forever])];
    let doc =
        "2 cores, 4 threads, 26 ticks: threads compute, two of them pinned to one core and one to the other";
    let mut scenario = scenario("turns-2", doc, &[2], 26, threads);
    for (thread, core) in [(0, 0), (1, 0), (3, 1)] {
        scenario.threads[thread].affinity = Cores::one(core);
    }
    scenario
}

/// The thread that waits may move, the one that runs may not.
fn behind() -> Scenario {
    let threads: &[(Start, &[Op])] =
        &[(Awake(0), &[Forever]), (Awake(0), &[Forever]), (Awake(1), &[Sleep]), (Awake(2), &[])];
    let doc = "3 cores: a thread that may run anywhere waits behind a pinned one; others sleep and exit";
    let mut scenario = scenario("behind-3", doc, &[3], 0, threads);
    scenario.threads[0].affinity = Cores::one(0);
    scenario
}

/// Affinities overlap.
fn mixed() -> Scenario {
    let threads: &[(Start, &[Op])] = &[
        (Awake(0), &[Forever]),
        (Awake(0), &[Wake(3), Forever]),
        (Awake(1), &[Sleep]),
        (Blocked(2), &[]),
        (Awake(2), &[]),
    ];
    let doc = "3 cores: threads that may run on two of the cores each wait, sleep, wake and exit";
    let mut scenario = scenario("mixed-3", doc, &[3], 0, threads);
    for (thread, cores) in [(0, [0, 1]), (1, [0, 2]), (2, [1, 2]), (3, [1, 2])] {
        scenario.threads[thread].affinity = cores.into_iter().collect();
    }
    scenario
}

/// A waiting thread is pinned to its core.
fn held() -> Scenario {
    let threads: &[(Start, &[Op])] = &[(Awake(0), &[Forever]), (Awake(0), &[Forever])];
    let doc = "2 cores, 1 tick: two threads are pinned to one core; the other core is idle";
    let mut scenario = scenario("held-2", doc, &[2], 1, threads);
    for thread in &mut scenario.threads {
        thread.affinity = Cores::one(0);
    }
    scenario
}

/// A machine with a hole after a hot-plug.
fn offline() -> Scenario {
    let threads: &[(Start, &[Op])] =
        &[(Awake(0), &[Fork(2), Wake(1), Forever]), (Blocked(3), &[]), (Forked, &[Sleep]), (Awake(3), &[])];
    let doc = "2+2 cores, one of them off line: a thread forks one and wakes one";
    Scenario { offline: Cores::one(1), ..scenario("offline-4", doc, &[2, 2], 0, threads) }
}

/// Hyperthreads.
fn pairs() -> Scenario {
    let threads: &[(Start, &[Op])] =
        &[(Awake(0), &[Wake(1), Fork(2), Forever]), (Blocked(0), &[Forever]), (Forked, &[])];
    let doc = "2 pairs of hyperthreads: a thread wakes one and forks one";
    let topology = Topology::smt_llcs(&[2]);
    Scenario { topology, ..scenario("pairs-4", doc, &[4], 0, threads) }
}

/// Active balance within a die: a running thread moves to another pair.
fn spread() -> Scenario {
    let threads: &[(Start, &[Op])] = &[(Awake(0), &[Forever]), (Awake(1), &[Forever])];
    let doc =
        "2 pairs of hyperthreads, 6 ticks: two threads compute on one pair; one of them may not leave it";
    let mut scenario = scenario("spread-4", doc, &[4], 6, threads);
    scenario.topology = Topology::smt_llcs(&[2]);
    scenario.threads[1].affinity = [0, 1].into_iter().collect();
    scenario
}

/// Active balance among dies: a running thread moves to a die with more idle cores, where it may not use one of them.
fn dies() -> Scenario {
    let forever: &[Op] = &[Forever];
    let threads: &[(Start, &[Op])] = &[(Awake(0), forever), (Awake(1), forever), (Awake(1), forever)];
    let doc = "2+2 cores, 6 ticks: three threads compute on a die, two of them pinned to one core; the other die is idle";
    let mut scenario = scenario("dies-4", doc, &[2, 2], 6, threads);
    scenario.threads[0].affinity = [0, 1, 3].into_iter().collect();
    for thread in [1, 2] {
        scenario.threads[thread].affinity = Cores::one(1);
    }
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_valid_and_have_unique_names() {
        let all = all();
        for (index, scenario) in all.iter().enumerate() {
            assert_eq!(scenario.check(), Ok(()), "{}", scenario.name);
            assert!(!all[..index].iter().any(|other| other.name == scenario.name));
            assert_eq!(Scenario::named(&scenario.name).as_ref(), Ok(scenario));
        }
        let unknown = Scenario::named("nowhere").expect_err("no such scenario").to_string();
        assert!(unknown.contains("wake-2"), "{unknown}");
    }
}
