//! The words of the runtime in all orders of a few concurrent operations; and variants with one fault each, which are noticed.

use hearth_explore::*;

const NONE: (u32, usize) = (0, 0);
/// A core that runs thread 3, and one that runs nothing and is awake.
const RUNS_3: Core = Core { current: 3, ..Core::BUSY };
const RUNS_1: Core = Core { current: 1, ..Core::BUSY };
const RUNNING_1: [(u32, usize); THREADS] = [NONE, (RUNNING, 0), NONE, NONE];
const ONE_READY: Core = Core { ready: 1, ..Core::BUSY };

/// Core 0 is idle, and one thread wakes, or two; and the same with core 1 as hyperthread of core 0.
const ONE_WAKES: Start = Start { cores: IDLE_0, places: [NONE, (BLOCKED, 0), NONE, NONE], pair: 0 };
const TWO_WAKE: Start = Start { places: [NONE, (BLOCKED, 0), (BLOCKED, 0), NONE], ..ONE_WAKES };
const ONE_WAKES_BESIDE: Start = Start { pair: 0b11, ..ONE_WAKES };
const IDLE_0: [Core; CORES] = [Core::IDLE, Core::BUSY, Core::BUSY];

fn nothing(_: &Machine) {}

fn no_core_has_two(m: &Machine) {
    m.check(m.core(0).threads() < 2 && m.core(1).threads() < 2, || "two placements claimed one core".into());
}

/// Core 1 sleeps although core 0 is overloaded, and nobody makes it search.
fn core_1_found_core_0(m: &Machine) {
    let (over, thief) = (m.core(0), m.core(1));
    m.check(!thief.idle || over.threads() < 2 || m.must_search(1), || {
        format!("core 1 sleeps beside an overloaded core, {over:?}, and does not search again")
    });
}

/// The placement of thread 2 on core 0 has ended; core 1, which made it, blocks thread 3 and searches.
fn place_then_search(m: &Machine) {
    m.place_on(2, 0);
    m.block(3, 1);
    if m.sees_waiting(0) {
        m.kick(1, true);
    }
    m.sleep(1);
}

/// At most one thread runs on core 0 or is coming to run there, and the core knows it.
fn one_runs_on_core_0(m: &Machine) {
    let running: Vec<usize> = (0..THREADS).filter(|thread| m.place(*thread) == (RUNNING, 0)).collect();
    m.check(running.len() < 2 && running.iter().all(|thread| m.core(0).current == *thread as u32), || {
        format!("threads {running:?} run on core 0, which has {:?}", m.core(0))
    });
}

/// A placement that claims core 0 and takes it, or else goes to core 2.
fn claim_and_take(m: &Machine, thread: usize) {
    if m.claim(0) {
        m.take_or_place_on(thread, 0);
        m.release(0);
    } else {
        m.place_on(thread, 2);
    }
}

static SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "a placement, a search by its waker, and the core runs its only READY thread",
        start: Start {
            cores: [ONE_READY, RUNS_3, Core::BUSY],
            places: [NONE, (READY, 0), (BLOCKED, 0), (RUNNING, 1)],
            pair: 0,
        },
        operations: &[place_then_search, |m| m.run(1, 0)],
        rest: core_1_found_core_0,
        preemptions: None,
    },
    Scenario {
        name: "a placement, a search by its waker, and a thief takes the only READY thread",
        start: Start {
            cores: [Core { ready: 1, current: 1, ..Core::BUSY }, RUNS_3, Core::BUSY],
            places: [NONE, (READY, 0), (BLOCKED, 0), (RUNNING, 1)],
            pair: 0,
        },
        operations: &[place_then_search, |m| {
            m.steal(1, 0, 2);
        }],
        rest: core_1_found_core_0,
        preemptions: None,
    },
    Scenario {
        name: "a core goes to sleep, and a thread is placed there",
        start: Start { cores: [Core::BUSY; CORES], places: [NONE, (BLOCKED, 0), NONE, NONE], pair: 0 },
        operations: &[|m| m.sleep(0), |m| m.place_on(1, 0)],
        rest: nothing,
        preemptions: None,
    },
    Scenario {
        name: "a core goes to sleep and settles, a thread is placed there and stolen",
        start: Start { cores: [Core::BUSY; CORES], places: [NONE, (BLOCKED, 0), NONE, NONE], pair: 0 },
        operations: &[
            |m| {
                m.sleep(0);
                m.sleep(0);
            },
            |m| m.place_on(1, 0),
            |m| {
                m.steal(1, 0, 1);
            },
        ],
        rest: nothing,
        preemptions: None,
    },
    Scenario {
        name: "two placements claim the core that goes to sleep, or another",
        start: Start {
            cores: [Core::BUSY, Core::IDLE, Core::BUSY],
            places: [NONE, (BLOCKED, 0), (BLOCKED, 0), NONE],
            pair: 0,
        },
        operations: &[
            |m| m.sleep(0),
            |m| {
                m.claim_one_of(1, &[0, 1], 2);
            },
            |m| {
                m.claim_one_of(2, &[0, 1], 2);
            },
        ],
        rest: no_core_has_two,
        preemptions: Some(3),
    },
    Scenario {
        name: "two placements claim one idle core",
        start: TWO_WAKE,
        operations: &[
            |m| {
                m.claim_one_of(1, &[0], 2);
            },
            |m| {
                m.claim_one_of(2, &[0], 2);
            },
        ],
        rest: no_core_has_two,
        preemptions: None,
    },
    Scenario {
        name: "a steal for a sleeping core, while the source runs the thread",
        start: Start {
            cores: [Core::IDLE, ONE_READY, Core::BUSY],
            places: [NONE, (READY, 1), NONE, NONE],
            pair: 0,
        },
        operations: &[
            |m| {
                m.steal(1, 1, 0);
            },
            |m| m.run(1, 1),
        ],
        rest: nothing,
        preemptions: None,
    },
    Scenario {
        name: "the same, and the sleeping core settles after a kick",
        start: Start {
            cores: [Core::IDLE, ONE_READY, Core::BUSY],
            places: [NONE, (READY, 1), NONE, NONE],
            pair: 0,
        },
        operations: &[
            |m| {
                m.steal(1, 1, 0);
            },
            |m| m.run(1, 1),
            |m| m.sleep(0),
        ],
        rest: nothing,
        preemptions: Some(3),
    },
    Scenario {
        name: "two thieves and the source compete for a thread",
        start: Start {
            cores: [Core { ready: 1, current: 3, ..Core::BUSY }, Core::IDLE, Core::BUSY],
            places: [NONE, (READY, 0), NONE, (RUNNING, 0)],
            pair: 0,
        },
        operations: &[
            |m| {
                m.block(3, 0);
                m.run(1, 0);
            },
            |m| {
                m.steal(1, 0, 1);
            },
            |m| {
                m.steal(1, 0, 2);
            },
        ],
        rest: nothing,
        preemptions: Some(3),
    },
    Scenario {
        name: "a thread is placed, and stolen at once",
        start: Start {
            cores: [RUNS_3, Core::BUSY, Core::BUSY],
            places: [NONE, (BLOCKED, 0), NONE, (RUNNING, 0)],
            pair: 0,
        },
        operations: &[
            |m| m.place_on(1, 0),
            |m| {
                m.steal(1, 0, 1);
            },
        ],
        rest: nothing,
        preemptions: None,
    },
    Scenario {
        name: "a core gets a thread, runs it, and sleeps again; then a placement looks for an idle core",
        start: Start {
            cores: [Core::IDLE, Core::BUSY, RUNS_3],
            places: [NONE, (BLOCKED, 0), (BLOCKED, 0), (RUNNING, 2)],
            pair: 0,
        },
        operations: &[
            |m| m.place_on(1, 0),
            |m| {
                if !m.sees_ready(1, 0) {
                    return;
                }
                m.run(1, 0);
                m.block(1, 0);
                m.sleep(0);
                m.place_on(2, if m.sees_idle(0) { 0 } else { 2 });
            },
        ],
        rest: |m| {
            m.check(!m.core(0).idle || m.core(2).threads() < 2, || "a placement missed idle core 0".into());
        },
        preemptions: None,
    },
    Scenario {
        name: "an idle core searches again, while a placement claims it",
        start: ONE_WAKES,
        operations: &[
            |m| {
                m.change(0, SEARCHES, 0);
                m.sleep(0);
            },
            |m| m.claim_one_of(1, &[0], 2),
        ],
        rest: |m| {
            m.check(m.core(0).idle != (m.core(0).threads() > 0), || "core 0 is neither idle nor busy".into());
        },
        preemptions: None,
    },
    Scenario {
        name: "a timer moves a thread away from a core that wakes for it",
        start: Start {
            cores: [Core { ready: 1, sleeps: true, ..Core::BUSY }, Core::BUSY, Core::BUSY],
            places: [NONE, (READY, 0), NONE, NONE],
            pair: 0,
        },
        operations: &[
            |m| {
                m.steal(1, 0, 1);
            },
            |m| {
                // The core has found the entry, or it has not.
                if m.sees_ready(1, 0) {
                    m.run(1, 0);
                } else {
                    m.sleep(0);
                }
            },
        ],
        rest: nothing,
        preemptions: None,
    },
    Scenario {
        name: "a timer takes a thread and gives it back, while its core looks for one",
        start: Start {
            cores: [ONE_READY, Core::BUSY, Core::BUSY],
            places: [NONE, (READY, 0), NONE, NONE],
            pair: 0,
        },
        operations: &[
            |m| m.take_and_give_back(1, 0),
            |m| {
                if m.sees_ready(1, 0) {
                    m.run(1, 0);
                } else {
                    m.sleep(0);
                }
            },
        ],
        rest: nothing,
        preemptions: None,
    },
    Scenario {
        name: "two placements take one idle core",
        start: TWO_WAKE,
        operations: &[
            |m| {
                m.take_or_place_on(1, 0);
            },
            |m| {
                m.take_or_place_on(2, 0);
            },
        ],
        rest: one_runs_on_core_0,
        preemptions: None,
    },
    Scenario {
        name: "a placement takes a core that goes to sleep, and runs, blocks, and the core sleeps again",
        start: Start {
            cores: [Core::BUSY; CORES],
            places: [NONE, (BLOCKED, 0), (BLOCKED, 0), NONE],
            pair: 0,
        },
        operations: &[
            |m| m.sleep(0),
            |m| {
                if m.take_or_place_on(1, 0) {
                    m.arrive(1, 0);
                    m.block(1, 0);
                    m.sleep(0);
                }
            },
            |m| m.place_on(2, 0),
        ],
        rest: nothing,
        preemptions: Some(3),
    },
    Scenario {
        name: "a placement takes an idle core that searches",
        start: Start {
            cores: [Core::IDLE, Core { ready: 1, current: 3, ..Core::BUSY }, Core::BUSY],
            places: [NONE, (BLOCKED, 0), (READY, 1), (RUNNING, 1)],
            pair: 0,
        },
        operations: &[
            |m| {
                m.search(0, 2, 1);
            },
            |m| {
                m.take_or_place_on(1, 0);
            },
        ],
        rest: one_runs_on_core_0,
        preemptions: None,
    },
    Scenario {
        name: "the kernel runs a thread that has taken a core on another core, while the core looks for threads",
        start: ONE_WAKES,
        operations: &[
            |m| {
                if m.take_or_place_on(1, 0) {
                    m.change(0, STOPS, 1);
                    m.run(1, 1);
                }
            },
            |m| {
                if !m.awaits(0) {
                    m.sleep(0);
                }
            },
        ],
        rest: nothing,
        preemptions: None,
    },
    Scenario {
        name: "two placements claim and take one idle core",
        start: TWO_WAKE,
        operations: &[|m| claim_and_take(m, 1), |m| claim_and_take(m, 2)],
        rest: no_core_has_two,
        preemptions: None,
    },
    Scenario {
        name: "of two hyperthreads, one goes to sleep, and one is taken",
        start: ONE_WAKES_BESIDE,
        operations: &[
            |m| {
                m.take_or_place_on(1, 0);
            },
            |m| m.sleep(1),
        ],
        rest: nothing,
        preemptions: None,
    },
    Scenario {
        name: "of two hyperthreads, one goes to sleep, and one gets a thread",
        start: ONE_WAKES_BESIDE,
        operations: &[|m| m.place_on(1, 0), |m| m.sleep(1)],
        rest: nothing,
        preemptions: None,
    },
    Scenario {
        name: "two hyperthreads go to sleep",
        start: Start { cores: [Core::BUSY; CORES], places: [NONE; THREADS], pair: 0b11 },
        operations: &[|m| m.sleep(0), |m| m.sleep(1)],
        rest: nothing,
        preemptions: None,
    },
    Scenario {
        name: "two hyperthreads go to sleep, and one gets a thread",
        start: Start { cores: [Core::BUSY; CORES], places: [NONE, (BLOCKED, 0), NONE, NONE], pair: 0b11 },
        operations: &[|m| m.sleep(0), |m| m.sleep(1), |m| m.place_on(1, 0)],
        rest: nothing,
        preemptions: Some(3),
    },
];

/// A thread blocks, its core sleeps, and the thread wakes up there and runs.
fn sleep_and_wake(m: &Machine) {
    m.block(1, 0);
    m.sleep(0);
    m.place_on(1, 0);
    m.run(1, 0);
}

fn swaps_are(m: &Machine, expected: [u64; 4]) {
    // Nothing of the last-level cache of core 2.
    for (core, expected) in [(0, expected), (2, [0; 4])] {
        let swaps = m.swaps_of_sets(core);
        m.check(swaps == expected, || {
            format!("core {core}: idle, idle_whole, waiting, claimed: {swaps:?}, not {expected:?} swaps")
        });
    }
}

/// Swaps of words that cores of a last-level cache share, which move their cache lines between cores.
static CYCLES: &[Scenario] = &[
    Scenario {
        name: "a sleep and a wake-up",
        start: Start { cores: [RUNS_1, Core::BUSY, Core::BUSY], places: RUNNING_1, pair: 0 },
        operations: &[sleep_and_wake],
        rest: |m| swaps_are(m, [2, 0, 2, 0]),
        preemptions: None,
    },
    Scenario {
        name: "the same beside a hyperthread that sleeps",
        start: Start { cores: [RUNS_1, Core::IDLE, Core::BUSY], places: RUNNING_1, pair: 0b11 },
        operations: &[sleep_and_wake],
        rest: |m| swaps_are(m, [2, 2, 2, 0]),
        preemptions: None,
    },
    Scenario {
        name: "the same with a claim, beside a hyperthread that runs",
        start: Start { cores: [RUNS_1, Core::BUSY, Core::BUSY], places: RUNNING_1, pair: 0b11 },
        operations: &[|m| {
            m.block(1, 0);
            m.sleep(0);
            m.claim_one_of(1, &[0], 1);
            m.run(1, 0);
        }],
        rest: |m| swaps_are(m, [2, 0, 2, 2]),
        preemptions: None,
    },
    Scenario {
        name: "a sleep, and a wake-up that takes the core",
        start: Start { cores: [RUNS_1, Core::BUSY, Core::BUSY], places: RUNNING_1, pair: 0 },
        operations: &[|m| {
            m.block(1, 0);
            m.sleep(0);
            m.take_or_place_on(1, 0);
            m.arrive(1, 0);
        }],
        rest: |m| swaps_are(m, [2, 0, 0, 0]),
        preemptions: None,
    },
];

/// A placement that ends its claim before it has taken the core.
static ENDS_CLAIM_FIRST: Scenario = Scenario {
    name: "a claim ends before its placement",
    start: TWO_WAKE,
    operations: &[
        |m| {
            let claimed = m.claim(0);
            m.release(0);
            m.take_or_place_on(1, if claimed { 0 } else { 2 });
        },
        |m| claim_and_take(m, 2),
    ],
    rest: no_core_has_two,
    preemptions: None,
};

/// A core that searches without asking whether it has been taken.
static DOES_NOT_WAIT: Scenario = Scenario {
    name: "a core does not wait for the thread that has taken it",
    start: Start {
        cores: [Core::IDLE, ONE_READY, Core::BUSY],
        places: [NONE, (BLOCKED, 0), (READY, 1), NONE],
        pair: 0,
    },
    operations: &[
        |m| {
            m.change(0, SEARCHES, 0);
            if m.steal(2, 1, 0) {
                m.run(2, 0);
            }
        },
        |m| {
            m.take_or_place_on(1, 0);
        },
    ],
    rest: one_runs_on_core_0,
    preemptions: None,
};

#[test]
fn operations_in_a_wrong_order_are_noticed() {
    for scenario in [&ENDS_CLAIM_FIRST, &DOES_NOT_WAIT] {
        let result = explore(Operations::original(), Order::Full, scenario);
        assert!(result.is_err(), "{}", scenario.name);
    }
}

#[test]
fn a_sleep_and_a_wake_up_write_few_shared_words() {
    for scenario in CYCLES {
        let result = explore(Operations::original(), Order::Full, scenario);
        assert_eq!(result, Ok(1), "{}", scenario.name);
    }
}

#[test]
fn every_order_keeps_the_properties() {
    for scenario in SCENARIOS {
        let begun = std::time::Instant::now();
        let result = explore(Operations::original(), Order::Full, scenario);
        println!("{}: {result:?}, {:?}", scenario.name, begun.elapsed());
        if let Err(violation) = result {
            panic!("{}: {violation}", scenario.name);
        }
    }
}

#[test]
fn every_mutant_is_noticed() {
    are_noticed(mutants().step_by(2));
}

/// On another core.
#[test]
fn every_other_mutant_is_noticed() {
    are_noticed(mutants().skip(1).step_by(2));
}

fn are_noticed(mutants: impl Iterator<Item = &'static str>) {
    for mutant in mutants {
        let operations = Operations::variant(mutant).expect("compiled by build.rs");
        let noticed = SCENARIOS
            .iter()
            .find_map(|scenario| Some((scenario.name, explore(operations, Order::Full, scenario).err()?)));
        println!("{mutant}: {noticed:?}");
        assert!(noticed.is_some(), "mutant \"{mutant}\" passes");
    }
}

#[test]
fn swaps_without_order_are_noticed() {
    let original = Operations::original();
    let noticed = SCENARIOS
        .iter()
        .find_map(|scenario| Some((scenario.name, explore(original, Order::None, scenario).err()?)));
    println!("{noticed:?}");
    assert!(noticed.is_some(), "the properties hold without any order of memory accesses");
}

#[test]
fn every_change_is_a_step_of_the_theory() {
    let operations = Operations::original();
    for word in 0..3 * 3 * 2 * 2 {
        let before = Core {
            ready: word % 3,
            current: word / 3 % 3,
            sleeps: word / 9 % 2 != 0,
            idle: word / 18 % 2 != 0,
        };
        if before.idle && before.threads() > 0 {
            continue;
        }
        for change in ARRIVES..=SEARCHES {
            // Both require a READY thread of the core.
            if matches!(change, LEAVES | STARTS) && before.ready == 0 {
                continue;
            }
            // A core runs another thread after the one before has stopped.
            if matches!(change, STARTS | RUNS) && ![0, 1].contains(&before.current) {
                continue;
            }
            if change == STARTS && before.current != 0 {
                continue;
            }
            // SAFETY: a pure function.
            let after = Core::decode(unsafe { (operations.word_after)(before.encode(), change, 1) });
            assert!(theory_allows(before, after, change), "change {change} of {before:?} to {after:?}");
        }
    }
}
