//! Plays on the live kernel. The tests do not depend on timing, apart from generous timeouts.

use hearth_play::{Burn, Calibration, Counts, Error, Options, Player, Run};
use hearth_workload::{DRY_RUN_STEPS, DryRun, Op, Thread, Workload};
use proptest::prelude::*;
use std::time::Duration;

/// A fixed rate, slow enough for a debug build, so that the work is the same everywhere.
fn calibration() -> Calibration {
    Calibration::known(1e8)
}

fn options() -> Options {
    Options { timeout: Duration::from_secs(120), ..Options::default() }
}

fn play(workload: &Workload) -> Result<Run, Error> {
    Player::new(workload, options(), calibration())?.play()
}

fn workload(threads: Vec<Vec<Op>>, semaphores: Vec<u32>, barriers: Vec<u32>) -> Workload {
    let threads = threads.into_iter().map(|ops| Thread { ops, ..Thread::default() }).collect();
    Workload { threads, semaphores, barriers, ..Workload::default() }
}

/// The counts that a play of `workload` must report, computed from its steps.
fn counts(workload: &Workload) -> Counts {
    let mut counts = Counts { threads: workload.threads.len() as u64, ..Counts::default() };
    for op in workload.threads.iter().flat_map(Thread::steps) {
        match op {
            Op::Run(cycles) => {
                counts.runs += 1;
                counts.cycles += cycles;
            }
            Op::Fork(_) => counts.forks += 1,
            Op::Join(_) => counts.joins += 1,
            Op::Sleep(_) | Op::Timer(..) => counts.sleeps += 1,
            Op::Io(_) => counts.ios += 1,
            Op::Post(_) => counts.posts += 1,
            Op::Wait(_) => counts.waits += 1,
            Op::Barrier(_) => counts.barriers += 1,
            Op::Yield => counts.yields += 1,
            Op::Exec(_) => counts.execs += 1,
            Op::Repeat(..) => unreachable!("`steps` unrolls repeats"),
        }
    }
    counts
}

/// A step that cannot block forever.
fn step() -> impl Strategy<Value = Op> {
    let leaf = prop_oneof![
        4 => (0u64..100_000).prop_map(Op::Run),
        1 => (0u64..200_000).prop_map(Op::Sleep),
        1 => (0u64..200_000).prop_map(Op::Io),
        1 => Just(Op::Yield),
        1 => Just(Op::Exec("a program with a long name".into())),
    ];
    leaf.prop_recursive(2, 8, 3, |step| {
        (0u32..4, prop::collection::vec(step, 0..3)).prop_map(|(times, ops)| Op::repeat(times, ops))
    })
}

/// Removes the repeats that `Workload::validate` rejects.
fn valid(ops: Vec<Op>) -> Vec<Op> {
    ops.into_iter()
        .filter_map(|op| match op {
            Op::Repeat(times, ops) => {
                let ops = valid(ops.to_vec());
                (times > 0 && !ops.is_empty()).then_some(Op::repeat(times, ops))
            }
            op => Some(op),
        })
        .collect()
}

/// A tree of forks, some of them joined. A child may wait for its parent's post. All threads take one lock and
/// meet at one barrier.
fn graph() -> impl Strategy<Value = Workload> {
    let thread = (prop::collection::vec(step(), 0..6), any::<bool>(), any::<bool>());
    let spin = prop_oneof![Just(0u64), 1u64..100_000];
    (prop::collection::vec(thread, 1..24), spin).prop_map(|(specs, barrier_spin)| {
        let n = specs.len();
        let (lock, barrier) = (0, 0);
        let threads = (0..n)
            .map(|me| {
                let (body, _, waits) = &specs[me];
                let children = || (1..n).filter(|child| (child - 1) / 2 == me);
                let mut ops = Vec::new();
                if *waits && me > 0 {
                    ops.push(Op::Wait(me as u32));
                }
                ops.extend(children().map(|child| Op::Fork(child as u32)));
                ops.extend(valid(body.clone()));
                ops.extend([Op::Wait(lock), Op::Run(1_000), Op::Post(lock)]);
                ops.extend(children().filter(|&child| specs[child].2).map(|child| Op::Post(child as u32)));
                ops.push(Op::Barrier(barrier));
                ops.extend(children().filter(|&child| specs[child].1).map(|child| Op::Join(child as u32)));
                Thread { name: format!("t{me}"), ops, ..Thread::default() }
            })
            .collect();
        let semaphores = (0..n).map(|sem| u32::from(sem == 0)).collect();
        Workload { threads, semaphores, barriers: vec![n as u32], barrier_spin, ..Workload::default() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hearth_tests::cases(15, 240)))]

    /// A workload that finishes in the dry run finishes on the kernel, with the expected number of each step.
    #[test]
    fn plays_execute_all_steps(workload in graph(), time in any::<bool>()) {
        let ends = matches!(workload.dry_run(DRY_RUN_STEPS), DryRun::Finishes { .. });
        prop_assert!(ends);
        let burn = if time { Burn::Time } else { Burn::Work };
        let player = Player::new(&workload, Options { burn, ..options() }, calibration()).unwrap();
        for _ in 0..2 {
            let run = player.play().map_err(|error| TestCaseError::fail(error.to_string()))?;
            let expected = counts(&workload);
            prop_assert_eq!(run.counts, expected);
            prop_assert_eq!(run.counts.cycles, workload.stats(2_100_000).cycles);
            prop_assert_eq!(run.latencies.fork.summary().count, expected.threads);
            prop_assert_eq!(run.latencies.timer.summary().count, expected.sleeps + expected.ios);
            let waits = expected.waits + expected.joins + expected.barriers;
            prop_assert!(run.latencies.wakeup.summary().count <= waits);
            prop_assert!(run.cores_used >= 1);
            if time {
                // Each thread spent at least the CPU time that its steps require.
                prop_assert!(run.cpu_s >= 0.999 * run.work_s, "{} {}", run.cpu_s, run.work_s);
            }
        }
    }
}

#[test]
fn every_generator_can_be_played() {
    for spec in [
        "fork-wait:iterations=20",
        "configure:tests=10",
        "kbuild:files=4,dirs=2,jobs=2,compile=2,prepare=3,link=2",
        "producer-consumer:items=50",
        "barrier:threads=4,iterations=20,compute=500,spin=20",
        "server:requests=5",
        "mkl:threads=4,iterations=10",
        "hackbench",
        "hackbench:groups=2,fds=3,loops=100,room=1",
        "schbench:rounds=3,cpu=100,sleep=100",
    ] {
        let workload = Workload::resolve(spec).unwrap();
        let options = Options { scale: 0.01, ..options() };
        let run = Player::new(&workload, options, calibration()).unwrap().play().unwrap();
        assert_eq!(run.counts, counts(&workload), "{spec}");
    }
}

#[test]
fn a_thousand_threads_at_a_time() {
    let workload = Workload::resolve("hackbench:groups=25,fds=20,loops=1").unwrap();
    let options = Options { scale: 0.001, ..options() };
    let run = Player::new(&workload, options, calibration()).unwrap().play().unwrap();
    assert_eq!(run.counts.threads, 1001);
    assert_eq!(run.counts, counts(&workload));
}

/// The requesting thread measures the latency of each request.
#[test]
fn requests_are_timed() {
    let workload = workload(
        vec![
            vec![Op::repeat(7, vec![Op::Post(0), Op::Wait(1)])],
            vec![Op::repeat(7, vec![Op::Wait(0), Op::Run(100), Op::Post(1)])],
        ],
        vec![0, 0],
        vec![],
    );
    assert_eq!(play(&workload).unwrap().latencies.request.summary().count, 7);
    let run = Player::new(&Workload::resolve("server:requests=5").unwrap(), options(), calibration());
    assert_eq!(run.unwrap().play().unwrap().latencies.request.summary().count, 40);
}

/// Every delay is recorded, even if there are more than a thread's buffer holds.
#[test]
fn all_delays_are_recorded() {
    let workload = workload(vec![vec![Op::repeat(2_000, vec![Op::Sleep(1)])]; 2], vec![], vec![]);
    let run = play(&workload).unwrap();
    assert_eq!(run.latencies.timer.summary().count, 4_000);
}

/// A timeout stops threads at every kind of step, and the error describes the step of each.
#[test]
fn a_play_that_takes_too_long_is_stopped() {
    let hour = 3_600_000_000_000;
    let mut stuck = workload(
        vec![
            vec![Op::Wait(0), Op::Post(1)],
            vec![Op::repeat(2, vec![Op::Yield, Op::repeat(1, vec![Op::Wait(1), Op::Post(0)])])],
            vec![Op::Fork(8), Op::Join(8)],
            vec![Op::repeat(1, vec![Op::Run(2 * hour)])],
            vec![Op::Io(hour)],
            vec![Op::Barrier(0)],
            vec![Op::Wait(0), Op::Barrier(0)],
            vec![Op::Fork(10)],
            vec![Op::Sleep(hour), Op::Fork(9)],
            // Never forked. Without this post the workload's counts would not balance.
            vec![Op::Post(1)],
            vec![],
        ],
        vec![0, 0],
        vec![2],
    );
    stuck.barrier_spin = u64::MAX;
    stuck.threads[0].name = "first".into();
    let expected: Vec<(String, String)> = [
        ("thread 0 (first), step 0", "it waits for a post of semaphore 0"),
        ("thread 1, step 0.1.0", "it waits for a post of semaphore 1"),
        ("thread 2, step 1", "it waits for the exit of thread 8"),
        ("thread 3, step 0.0", "it executes 7200000000000 cycles"),
        ("thread 4, step 0", "it waits for a device for 3600 s"),
        ("thread 5, step 0", "it waits for other threads at barrier 0"),
        ("thread 6, step 0", "it waits for a post of semaphore 0"),
        ("thread 8, step 0", "it sleeps for 3600 s"),
    ]
    .map(|(place, at)| (place.to_owned(), at.to_owned()))
    .into();
    // On a busy machine, threads take longer to reach the step where they are stuck.
    let mut found = Vec::new();
    for ms in [100, 1_000, 10_000, 60_000] {
        let options = Options { timeout: Duration::from_millis(ms), ..Options::default() };
        let error = Player::new(&stuck, options, calibration()).unwrap().play().unwrap_err();
        let Error::Timeout { left, abandoned: 0, ended, threads: 11, .. } = error else { panic!("{error}") };
        found = left.into_iter().map(|(place, at)| (place.to_string(), at)).collect();
        if found == expected && ended == 2 {
            return;
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn work_by_time_can_be_stopped() {
    let workload = workload(vec![vec![Op::Run(1 << 60)]; 3], vec![], vec![]);
    let options = Options { timeout: Duration::from_millis(50), burn: Burn::Time, ..Options::default() };
    let error = Player::new(&workload, options, calibration()).unwrap().play().unwrap_err();
    assert!(matches!(&error, Error::Timeout { left, .. } if left.len() == 3), "{error}");
}

#[test]
fn invalid_input_is_rejected() {
    let refuse = |workload: &Workload, options: Options, rate: f64, says: &str| {
        let error = Player::new(workload, options, Calibration::known(rate)).err().expect("an error");
        assert!(error.to_string().contains(says), "{error}");
    };
    let fine = workload(vec![vec![]], vec![], vec![]);
    let options = Options::default();
    refuse(&workload(vec![], vec![], vec![]), options, 1e8, "there are no threads");
    refuse(&fine, Options { ghz: 0.0, ..options }, 1e8, "the frequency (--ghz) is 0; it must be");
    refuse(&fine, Options { scale: f64::NAN, ..options }, 1e8, "the factor on the work (--scale) is NaN");
    refuse(&fine, options, -1.0, "the speed of a core (--rate) is -1");
    let mut nowhere = fine.clone();
    nowhere.threads[0].affinity = vec![65_000, 1023];
    nowhere.threads[0].name = "lost".into();
    refuse(&nowhere, options, 1e8, "thread 0 (lost) may run on cores [65000, 1023] only, but");
}

/// Any user may raise the nice value from parent to child; a thread sets its affinity and its child resets it.
#[test]
fn nice_and_affinity_are_set() {
    let core = (0..64).find(|&core| {
        let mut workload = workload(vec![vec![]], vec![], vec![]);
        workload.threads[0].affinity = vec![core];
        Player::new(&workload, options(), calibration()).is_ok()
    });
    let thread = |nice, affinity, ops| Thread { nice, affinity, ops, ..Thread::default() };
    let here: Vec<u16> = core.into_iter().collect();
    let threads = vec![
        thread(0, here.clone(), vec![Op::Fork(1), Op::Sleep(1000), Op::Join(1)]),
        thread(3, here.clone(), vec![Op::Fork(2), Op::Sleep(1000), Op::Run(1000), Op::Join(2)]),
        thread(3, here.clone(), vec![Op::Yield]),
    ];
    let mut pinned = Workload { threads, ..Workload::default() };
    let run = play(&pinned).unwrap();
    assert_eq!((run.counts, run.migrations), (counts(&pinned), 0));
    if !here.is_empty() {
        assert_eq!(run.cores_used, 1);
    }
    pinned.threads[2].affinity = Vec::new();
    play(&pinned).unwrap();
}
