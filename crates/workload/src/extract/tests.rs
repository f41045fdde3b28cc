use hearth_trace::{CoreInfo, ThreadInfo};
use proptest::prelude::*;

use super::*;
use crate::{DRY_RUN_STEPS, DryRun};

/// A trace in the making. At 1 GHz a nanosecond is a cycle.
struct Tape {
    trace: Trace,
}

impl Tape {
    /// Two cores; threads 1 and up are traced, 100 and up are not.
    fn new(traced: Tid) -> Tape {
        let thread =
            |tid, traced| ThreadInfo { tid, name: format!("t{tid}"), traced, ..ThreadInfo::default() };
        let threads = (1..=traced).map(|tid| thread(tid, true)).chain([thread(100, false)]).collect();
        let header = Header {
            cores: vec![CoreInfo::default(); 2],
            threads,
            names: vec!["perl".into()],
            assumed_khz: 1_000_000,
            ..Header::default()
        };
        Tape { trace: Trace { header, events: Vec::new() } }
    }

    fn at(&mut self, time: Time, core: CoreId, kind: Kind) -> &mut Self {
        self.trace.events.push(Event { time, core, kind });
        self
    }

    fn switch(&mut self, time: Time, core: CoreId, prev: Tid, stop: Stop, next: Tid) -> &mut Self {
        self.at(time, core, Kind::Switch { prev, stop, next })
    }

    fn start(&mut self, time: Time, core: CoreId, next: Tid) -> &mut Self {
        self.switch(time, core, IDLE, Stop::Preempted, next)
    }

    fn wake(&mut self, time: Time, core: CoreId, thread: Tid, waker: Waker) -> &mut Self {
        self.at(time, core, Kind::Wakeup { thread, waker, target: core, sync: false })
    }

    fn fork(&mut self, time: Time, core: CoreId, parent: Tid, child: Tid) -> &mut Self {
        self.at(time, core, Kind::Fork { parent, child, target: core })
    }

    fn exit(&mut self, time: Time, core: CoreId, thread: Tid) -> &mut Self {
        self.at(time, core, Kind::Exit { thread }).switch(time, core, thread, Stop::Exited, IDLE)
    }

    fn extract(&self) -> Extraction {
        let extraction = extract(&self.trace);
        extraction.workload.check("extracted").unwrap();
        extraction
    }

    fn ops(&self) -> Vec<Vec<Op>> {
        self.extract().workload.threads.into_iter().map(|t| t.ops).collect()
    }
}

#[test]
fn preemption_is_invisible_and_waiting_for_a_core_is_no_work() {
    let mut tape = Tape::new(1);
    tape.start(0, 0, 1).switch(100, 0, 1, Stop::Preempted, 100).switch(500, 0, 100, Stop::Blocked, 1);
    tape.at(700, 0, Kind::Migrate { thread: 1, from: 0, to: 1 }).exit(900, 0, 1);
    assert_eq!(tape.ops(), [vec![Op::Run(500)]]);
    let report = tape.extract().report;
    assert_eq!((report.cpu, report.cpu_outside), (500, 400));
}

/// Thread 1 writes to a pipe, and wakes the same thread by a futex.
#[test]
fn synchronous_wakeups_have_semaphores_of_their_own() {
    let mut tape = Tape::new(2);
    let wakeup = |sync| Kind::Wakeup { thread: 2, waker: Waker::Thread(1), target: 1, sync };
    tape.start(0, 0, 1).start(0, 1, 2).switch(50, 1, 2, Stop::Blocked, IDLE);
    tape.at(100, 0, wakeup(false)).start(110, 1, 2).switch(120, 1, 2, Stop::Blocked, IDLE);
    tape.at(200, 0, wakeup(true)).start(210, 1, 2).exit(220, 1, 2).exit(300, 0, 1);
    let workload = tape.extract().workload;
    assert_eq!((&*workload.semaphores, &*workload.sync), (&[0, 0][..], &[1][..]));
    let writes = [Op::Run(100), Op::Post(0), Op::Run(100), Op::Post(1), Op::Run(100)];
    assert_eq!(workload.threads[0].ops, writes);
    let reads = [Op::Run(50), Op::Wait(0), Op::Run(10), Op::Wait(1), Op::Run(10)];
    assert_eq!(workload.threads[1].ops, reads);
}

#[test]
fn fork_exec_and_join() {
    let mut tape = Tape::new(2);
    tape.start(0, 0, 1).fork(100, 0, 1, 2).at(110, 0, Kind::Wait { thread: 1 });
    tape.switch(120, 0, 1, Stop::Blocked, IDLE);
    // The child is ready at 100 and runs at 150: the difference is the scheduler's.
    tape.start(150, 1, 2).at(200, 1, Kind::Exec { thread: 2, name: 0 });
    tape.at(1000, 1, Kind::Exit { thread: 2 }).wake(1000, 1, 1, Waker::Thread(2));
    tape.switch(1010, 1, 2, Stop::Exited, IDLE).start(1100, 0, 1).exit(1300, 0, 1);
    assert_eq!(
        tape.ops(),
        [
            vec![Op::Run(100), Op::Fork(1), Op::Run(20), Op::Join(1), Op::Run(200)],
            vec![Op::Run(50), Op::Exec("perl".into()), Op::Run(810)],
        ]
    );
    let report = tape.extract().report;
    assert_eq!((report.joins, report.posts, report.unfinished, report.roots), (1, 0, 0, 1));
}

#[test]
fn waiting_for_a_child_that_has_ended_is_a_join_too() {
    let mut tape = Tape::new(3);
    tape.start(0, 0, 1).fork(100, 0, 1, 2).fork(150, 0, 1, 3);
    tape.start(110, 1, 2);
    tape.trace.events.sort_by_key(|e| e.time);
    tape.exit(200, 1, 2).start(210, 1, 3).exit(300, 1, 3);
    tape.at(500, 0, Kind::Wait { thread: 1 }).at(600, 0, Kind::Wait { thread: 1 });
    // A third wait finds no child and does nothing.
    tape.at(700, 0, Kind::Wait { thread: 1 }).exit(800, 0, 1);
    assert_eq!(
        tape.ops()[0],
        [
            Op::Run(100),
            Op::Fork(1),
            Op::Run(50),
            Op::Fork(2),
            Op::Run(350),
            Op::Join(1),
            Op::Run(100),
            Op::Join(2),
            Op::Run(200),
        ]
    );
}

#[test]
fn wake_ups_between_threads_are_posts_and_waits() {
    let mut tape = Tape::new(2);
    tape.start(0, 0, 1).start(0, 1, 2).switch(100, 1, 2, Stop::Blocked, IDLE);
    tape.wake(300, 0, 2, Waker::Thread(1)).start(350, 1, 2).switch(400, 0, 1, Stop::Blocked, IDLE);
    tape.wake(500, 1, 1, Waker::Thread(2)).start(510, 0, 1).exit(600, 1, 2).exit(700, 0, 1);
    // One semaphore per direction, in the order of their first use.
    assert_eq!(
        tape.ops(),
        [
            vec![Op::Run(300), Op::Post(0), Op::Run(100), Op::Wait(1), Op::Run(190)],
            vec![Op::Run(100), Op::Wait(0), Op::Run(150), Op::Post(1), Op::Run(100)],
        ]
    );
    assert_eq!(tape.extract().report.explained(), 1.0);
}

#[test]
fn interrupts_are_sleeps_or_devices() {
    let mut tape = Tape::new(1);
    tape.start(0, 0, 1).switch(100, 0, 1, Stop::Blocked, IDLE);
    tape.wake(600, 0, 1, Waker::Interrupt).start(650, 0, 1).switch(700, 0, 1, Stop::Blocked, IDLE);
    tape.wake(1000, 1, 1, Waker::Interrupt).start(1000, 1, 1).exit(1100, 1, 1);
    assert_eq!(tape.ops(), [vec![Op::Run(100), Op::Sleep(500), Op::Run(50), Op::Io(300), Op::Run(100)]]);
}

#[test]
fn what_comes_from_outside_is_a_delay_and_counted() {
    let mut tape = Tape::new(1);
    tape.start(0, 0, 1).switch(100, 0, 1, Stop::Blocked, IDLE).wake(600, 1, 1, Waker::Thread(100));
    tape.start(650, 0, 1).switch(700, 0, 1, Stop::Blocked, IDLE);
    // Then it runs though nobody was seen to wake it.
    tape.start(900, 0, 1).exit(1000, 0, 1);
    assert_eq!(tape.ops(), [vec![Op::Run(100), Op::Io(500), Op::Run(50), Op::Io(200), Op::Run(100)]]);
    let report = tape.extract().report;
    assert_eq!((report.untraced, report.unseen), (1, 1));
    assert_eq!(report.untraced_wakers, [("t100".to_string(), 1)]);
    assert_eq!(report.explained(), 0.0);
    assert!(report.to_string().contains("t100: 1"), "{report}");
}

#[test]
fn spurious_wake_ups_are_counted_only() {
    let mut tape = Tape::new(2);
    tape.start(0, 0, 1).start(0, 1, 2).wake(50, 1, 1, Waker::Thread(2)).exit(100, 0, 1);
    tape.wake(120, 1, 1, Waker::Thread(2)).exit(200, 1, 2);
    assert_eq!(tape.ops(), [vec![Op::Run(100)], vec![Op::Run(200)]]);
    assert_eq!(tape.extract().report.spurious, 2);
}

#[test]
fn frequencies_are_integrated() {
    let mut tape = Tape::new(1);
    // Until the first frequency is known the core is taken to run at it: 2 GHz.
    tape.start(0, 0, 1).at(100, 0, Kind::Frequency { khz: 2_000_000 });
    tape.at(150, 0, Kind::Tick { khz: 700_000 }).at(200, 0, Kind::Frequency { khz: 3_000_000 });
    tape.at(200, 1, Kind::Frequency { khz: 500_000 }).exit(300, 0, 1);
    assert_eq!(tape.ops(), [vec![Op::Run(200 * 2 + 100 * 3)]]);
    assert_eq!(tape.extract().report.cpu_assumed, 0);
}

#[test]
fn ticks_tell_the_frequency_where_nothing_else_does() {
    let mut tape = Tape::new(1);
    tape.start(0, 0, 1).at(100, 0, Kind::Tick { khz: 2_000_000 }).at(200, 0, Kind::Tick { khz: 3_000_000 });
    tape.exit(300, 0, 1);
    assert_eq!(tape.ops(), [vec![Op::Run(700)]]);
}

#[test]
fn fractions_of_cycles_are_not_lost() {
    let mut tape = Tape::new(1);
    tape.trace.header.assumed_khz = 1_500_000;
    for n in 0..100 {
        tape.start(2 * n, 0, 1).switch(2 * n + 1, 0, 1, Stop::Yielded, IDLE);
    }
    tape.exit(300, 0, 1);
    let total: u64 = tape.ops()[0].iter().map(|op| if let Op::Run(n) = op { *n } else { 0 }).sum();
    assert_eq!(total, 150);
    let assumed = tape.extract().report;
    assert_eq!(assumed.cpu, assumed.cpu_assumed);
}

/// Two threads are busy for 60 ns, one alone for 40. The guest's cores take turns.
#[test]
fn cores_that_take_turns_share_the_time() {
    let mut tape = Tape::new(2);
    tape.start(0, 0, 1).fork(0, 0, 1, 2).start(40, 1, 2).exit(100, 1, 2).exit(100, 0, 1);
    assert_eq!(tape.ops(), [vec![Op::Fork(1), Op::Run(100)], vec![Op::Run(60)]]);
    let clock = hearth_trace::INSTRUCTIONS.to_owned();
    tape.trace.header.source = Source::Recorded(Recording { clock, ..Recording::default() });
    assert_eq!(tape.ops(), [vec![Op::Fork(1), Op::Run(70)], vec![Op::Run(30)]]);
}

#[test]
fn threads_from_before_the_trace_are_roots() {
    let mut tape = Tape::new(3);
    // 1 runs already; 2 is blocked already; 3 does nothing at all.
    tape.wake(400, 0, 2, Waker::Interrupt).switch(500, 0, 1, Stop::Blocked, 2);
    tape.exit(700, 0, 2);
    let extraction = tape.extract();
    assert_eq!(extraction.tids, [1, 2]);
    assert_eq!(extraction.workload.threads[0].ops, [Op::Run(500)]);
    assert_eq!(extraction.workload.threads[1].ops, [Op::Io(400), Op::Run(200)]);
    assert_eq!((extraction.report.roots, extraction.report.unfinished), (2, 1));
}

#[test]
fn a_thread_made_outside_begins_later() {
    let mut tape = Tape::new(2);
    tape.start(1000, 0, 1).fork(1500, 1, 100, 2).start(1600, 1, 2).exit(1700, 1, 2).exit(2000, 0, 1);
    assert_eq!(tape.ops(), [vec![Op::Run(1000)], vec![Op::Io(500), Op::Run(100)]]);
}

#[test]
fn a_parent_may_exit_first() {
    let mut tape = Tape::new(3);
    tape.start(0, 0, 1).fork(100, 0, 1, 2).exit(200, 0, 1).start(250, 1, 2);
    tape.fork(300, 1, 2, 3).exit(350, 1, 2).start(400, 0, 3).exit(500, 0, 3);
    assert_eq!(
        tape.ops(),
        [
            vec![Op::Run(100), Op::Fork(1), Op::Run(100)],
            vec![Op::Run(50), Op::Fork(2), Op::Run(50)],
            vec![Op::Run(100)],
        ]
    );
}

#[test]
fn the_trace_may_end_early() {
    let mut tape = Tape::new(2);
    tape.start(0, 0, 1).start(0, 1, 2).switch(100, 1, 2, Stop::Blocked, IDLE);
    tape.trace.header.duration = 400;
    tape.trace.header.lost = vec![3, 4];
    assert_eq!(tape.ops(), [vec![Op::Run(400)], vec![Op::Run(100)]]);
    let report = tape.extract().report;
    assert_eq!((report.unfinished, report.lost), (2, 7));
    assert!(report.warnings().iter().any(|w| w.contains("lacks 7 events")));
}

/// The thread that waits while it exits would, as a cause, close a circle with its joiner.
#[test]
fn no_deadlock_from_a_thread_that_waits_after_its_exit() {
    let mut tape = Tape::new(2);
    tape.start(0, 0, 1).fork(10, 0, 1, 2).switch(20, 0, 1, Stop::Blocked, IDLE).start(20, 1, 2);
    tape.at(50, 1, Kind::Exit { thread: 2 }).wake(55, 1, 1, Waker::Thread(2));
    tape.switch(60, 1, 2, Stop::Blocked, IDLE).start(60, 0, 1).wake(70, 0, 2, Waker::Thread(1));
    tape.start(80, 1, 2).switch(90, 1, 2, Stop::Exited, IDLE).exit(100, 0, 1);
    assert_eq!(tape.ops()[1], [Op::Run(40), Op::Io(10), Op::Run(10)]);
}

#[test]
fn contradictions_are_counted() {
    let mut tape = Tape::new(2);
    tape.start(0, 0, 1).start(10, 1, 1).fork(20, 1, 1, 2).fork(30, 1, 1, 2).fork(40, 1, 2, 1);
    tape.switch(50, 1, 2, Stop::Blocked, IDLE).exit(60, 0, 1);
    assert!(tape.extract().report.contradictions >= 4);
}

#[test]
fn an_empty_trace_says_so() {
    let extraction = extract(&Tape::new(2).trace);
    assert!(extraction.workload.threads.is_empty());
    assert!(extraction.report.warnings()[0].contains("workload is empty"));
}

fn kinds() -> impl Strategy<Value = Kind> {
    let tid = 0u32..7;
    let stop = prop::sample::select(vec![Stop::Preempted, Stop::Yielded, Stop::Blocked, Stop::Exited]);
    let waker = prop_oneof![
        4 => tid.clone().prop_map(Waker::Thread),
        1 => Just(Waker::Interrupt),
    ];
    prop_oneof![
        8 => (tid.clone(), stop, tid.clone()).prop_map(|(prev, stop, next)| Kind::Switch { prev, stop, next }),
        6 => (tid.clone(), waker).prop_map(|(thread, waker)| Kind::Wakeup { thread, waker, target: 0, sync: false }),
        3 => (tid.clone(), tid.clone()).prop_map(|(parent, child)| Kind::Fork { parent, child, target: 0 }),
        1 => (tid.clone(), 0u32..3).prop_map(|(thread, name)| Kind::Exec { thread, name }),
        2 => tid.clone().prop_map(|thread| Kind::Exit { thread }),
        2 => tid.prop_map(|thread| Kind::Wait { thread }),
        1 => (0u32..4_000_000).prop_map(|khz| Kind::Frequency { khz }),
    ]
}

/// Events of any kind, in order of time.
fn tape(events: Vec<(u64, u16, Kind)>) -> Tape {
    let mut tape = Tape::new(5);
    let mut time = 0;
    for (step, core, kind) in events {
        time += step;
        tape.at(time, core, kind);
    }
    tape
}

proptest! {
    #![proptest_config(ProptestConfig { cases: hearth_tests::cases(10, 160), ..ProptestConfig::default() })]

    /// Read from disk, group by group, a trace gives the graph that it gives in memory; up to a time, that of the events
    /// until then.
    #[test]
    fn a_stored_trace_gives_the_same(
        events in prop::collection::vec((0u64..5000, 0u16..2, kinds()), 0..300),
        end in 0u64..6000,
    ) {
        let mut tape = tape(events);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        tape.trace.write(&path).unwrap();
        let store = Arc::new(Store::open(&path).unwrap());
        prop_assert_eq!(Workload::extract(&store).unwrap(), extract(&tape.trace));
        tape.trace.events.retain(|event| event.time <= end);
        tape.trace.header.duration = tape.trace.header.duration.min(end);
        prop_assert_eq!(Workload::extract_until(&store, end).unwrap(), extract(&tape.trace));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Whatever the trace: the graph is well formed, and all its threads come to their end.
    #[test]
    fn any_trace_gives_a_workload_that_ends(
        events in prop::collection::vec((0u64..5000, 0u16..4, kinds()), 0..120)
    ) {
        let tape = tape(events);
        let extraction = extract(&tape.trace);
        prop_assert_eq!(extraction.workload.threads.len(), extraction.tids.len());
        if !extraction.workload.threads.is_empty() {
            prop_assert_eq!(extraction.workload.validate(), vec![]);
            let finishes = matches!(extraction.workload.dry_run(DRY_RUN_STEPS), DryRun::Finishes { .. });
            prop_assert!(finishes);
        }
        let _ = extraction.report.to_string();
    }
}
