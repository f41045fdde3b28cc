//! Checks of the graph, the dry run, the file format, and the resolution of specifications.

use hearth_workload::{DRY_RUN_STEPS, DryRun, Obstacle, Op, Stuck, Thread, What, Workload};
use proptest::prelude::*;

fn workload(threads: Vec<Vec<Op>>, semaphores: Vec<u32>, barriers: Vec<u32>) -> Workload {
    let threads = threads.into_iter().map(|ops| Thread { ops, ..Thread::default() }).collect();
    Workload { threads, semaphores, barriers, ..Workload::default() }
}

fn problems(workload: &Workload) -> Vec<What> {
    workload.validate().into_iter().map(|p| p.what).collect()
}

#[test]
fn indices_are_checked_with_their_place() {
    let mut w = workload(
        vec![vec![
            Op::Run(1),
            Op::repeat(2, vec![Op::Yield, Op::Post(3)]),
            Op::Fork(7),
            Op::Join(8),
            Op::Barrier(0),
            Op::Wait(1),
        ]],
        vec![0],
        vec![],
    );
    w.threads[0].name = "sh".into();
    w.sync = vec![0, 1];
    let found = w.validate();
    let texts: Vec<String> = found.iter().map(|p| p.to_string()).collect();
    assert_eq!(found[0].step, [1, 1]);
    assert_eq!(texts[0], "thread 0 (sh), step 1.1: semaphore 3 does not exist: the highest number is 0");
    assert_eq!(texts[1], "thread 0 (sh), step 2: thread 7 does not exist: the highest number is 0");
    assert_eq!(texts[2], "thread 0 (sh), step 3: thread 8 does not exist: the highest number is 0");
    assert_eq!(texts[3], "thread 0 (sh), step 4: barrier 0 does not exist: the workload has none");
    assert_eq!(texts[5], "`sync`: semaphore 1 does not exist: the highest number is 0");
    assert_eq!(texts.len(), 6);
}

#[test]
fn forks_are_checked() {
    assert_eq!(problems(&workload(vec![], vec![], vec![])), [What::NoThreads]);
    let twice = workload(vec![vec![Op::Fork(1), Op::Fork(1)], vec![]], vec![], vec![]);
    assert_eq!(problems(&twice), [What::ForkedTwice(1)]);
    let looped = workload(vec![vec![Op::repeat(2, vec![Op::Fork(1)])], vec![]], vec![], vec![]);
    assert_eq!(problems(&looped), [What::ForkedTwice(1)]);
    let once = workload(vec![vec![Op::repeat(1, vec![Op::Fork(1)])], vec![]], vec![], vec![]);
    assert_eq!(problems(&once), []);
    let itself = workload(vec![vec![Op::Fork(0)]], vec![], vec![]);
    assert_eq!(problems(&itself), [What::ForksItself, What::NothingStarts]);
    let cycle =
        workload(vec![vec![], vec![Op::Fork(2)], vec![Op::Fork(1), Op::Fork(3)], vec![]], vec![], vec![]);
    assert_eq!(problems(&cycle), [What::ForkCycle, What::ForkCycle, What::ForkCycle]);
    let join = workload(vec![vec![Op::Join(1), Op::Join(0)], vec![]], vec![], vec![]);
    assert_eq!(problems(&join), [What::JoinsItself, What::JoinNotForked(1)]);
}

#[test]
fn waits_and_barriers_are_counted() {
    let short = workload(vec![vec![Op::repeat(3, vec![Op::Wait(0)])], vec![Op::Post(0)]], vec![1], vec![]);
    assert_eq!(problems(&short), [What::NeverPosted { sem: 0, waits: 3, supply: 2 }]);
    let wide = workload(vec![vec![Op::Barrier(0)], vec![]], vec![], vec![2]);
    assert_eq!(problems(&wide), [What::BarrierTooWide { barrier: 0, count: 2, users: 1 }]);
    let left = workload(vec![vec![Op::Barrier(0), Op::Barrier(0)], vec![Op::Barrier(0)]], vec![], vec![2]);
    assert_eq!(problems(&left), [What::BarrierLeftover { barrier: 0, count: 2, arrivals: 3 }]);
    assert_eq!(problems(&workload(vec![vec![]], vec![], vec![0])), [What::BarrierZero(0)]);
}

#[test]
fn sizes_are_bounded() {
    let mut ops = vec![Op::Run(1)];
    for _ in 0..4 {
        ops = vec![Op::repeat(u32::MAX, ops)];
    }
    assert_eq!(problems(&workload(vec![ops], vec![], vec![])), [What::TooManySteps]);
    let work = workload(vec![vec![Op::repeat(3, vec![Op::Run(u64::MAX / 2)])]], vec![], vec![]);
    assert_eq!(problems(&work), [What::TooMuch("work (cycles)")]);
    let mut deep = vec![Op::Yield];
    for _ in 0..40 {
        deep = vec![Op::repeat(1, deep)];
    }
    assert_eq!(problems(&workload(vec![deep], vec![], vec![])), [What::TooDeep]);
    let zero = workload(vec![vec![Op::repeat(0, vec![Op::Yield]), Op::repeat(3, vec![])]], vec![], vec![]);
    assert_eq!(problems(&zero), [What::RepeatZero, What::RepeatEmpty]);
    let mut nice = workload(vec![vec![]], vec![], vec![]);
    nice.threads[0].nice = 20;
    assert_eq!(problems(&nice), [What::Nice(20)]);
}

#[test]
fn the_dry_run_finds_deadlocks() {
    // Each thread posts only after it is woken: the counts match, but the order does not.
    let w = workload(
        vec![vec![Op::Wait(0), Op::Post(1)], vec![Op::Wait(1), Op::Post(0), Op::Fork(2)], vec![]],
        vec![0, 0],
        vec![],
    );
    assert_eq!(problems(&w), []);
    assert_eq!(
        w.dry_run(DRY_RUN_STEPS),
        DryRun::Stuck(vec![
            Stuck { thread: 0, obstacle: Obstacle::Semaphore(0) },
            Stuck { thread: 1, obstacle: Obstacle::Semaphore(1) },
            Stuck { thread: 2, obstacle: Obstacle::Fork },
        ])
    );
    let text = w.check("w.json").unwrap_err().to_string();
    assert!(text.starts_with("w.json: the workload has 2 problems:"), "{text}");
    assert!(text.contains("thread 0: never ends: it waits for a post of semaphore 0"), "{text}");
}

#[test]
fn the_dry_run_is_bounded() {
    let endless = workload(vec![vec![Op::repeat(u32::MAX, vec![Op::Yield])]], vec![], vec![]);
    assert_eq!(endless.dry_run(1000), DryRun::Unknown);
    let nothing =
        workload(vec![vec![Op::repeat(u32::MAX, vec![Op::repeat(u32::MAX, vec![])])]], vec![], vec![]);
    assert_eq!(nothing.dry_run(1000), DryRun::Unknown);
}

#[test]
fn the_critical_path_is_the_longest_chain() {
    let w = workload(
        vec![
            vec![Op::Run(2_100), Op::Fork(1), Op::Fork(2), Op::Join(1), Op::Join(2), Op::Run(2_100)],
            vec![Op::Run(21_000), Op::Post(0)],
            vec![Op::Sleep(3_000), Op::Wait(0), Op::Run(4_200)],
        ],
        vec![0],
        vec![],
    );
    assert_eq!(w.dry_run(DRY_RUN_STEPS), DryRun::Finishes { span: 1_000 + 10_000 + 2_000 + 1_000 });
    let stats = w.stats(2_100_000);
    assert_eq!((stats.threads, stats.roots, stats.steps, stats.cycles), (3, 1, 11, 29_400));
    assert_eq!((stats.work, stats.delay), (14_000, 3_000));
    assert_eq!(w.stats(1_050_000).span, Some(28_000));
}

#[test]
fn waiters_of_a_semaphore_are_served_in_order_of_time() {
    // Thread 0 takes the lock at 0 for 10 us; thread 1 requests it at 2 us, thread 2 at 1 us.
    let locked = |before: u64, inside: u64| vec![Op::Run(before), Op::Wait(0), Op::Run(inside), Op::Post(0)];
    let w = workload(vec![locked(0, 21_000), locked(4_200, 42_000), locked(2_100, 2_100)], vec![1], vec![]);
    assert_eq!(w.dry_run(DRY_RUN_STEPS), DryRun::Finishes { span: 31_000 });
}

#[test]
fn files_survive_the_round_trip() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("w.json");
    for spec in ["configure:tests=5", "hackbench:groups=1,fds=2,loops=3", "barrier:threads=3,iterations=40"] {
        let mut w = Workload::resolve(spec).unwrap();
        w.threads[0].nice = -3;
        w.threads[0].affinity = vec![1, 5];
        w.save(&path).unwrap();
        assert_eq!(Workload::load(&path).unwrap(), w);
        assert_eq!(Workload::resolve(path.to_str().unwrap()).unwrap(), w);
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file is left");
}

/// Pins the layout of format version 1.
#[test]
fn the_layout_is_stable() {
    let mut w = workload(
        vec![
            vec![
                Op::Run(1000),
                Op::Fork(1),
                Op::repeat(2, vec![Op::Sleep(5), Op::Io(6), Op::Yield, Op::Post(0)]),
                Op::Join(1),
            ],
            vec![Op::Exec("ld".into()), Op::repeat(2, vec![Op::Wait(0)]), Op::Barrier(0)],
        ],
        vec![0],
        vec![1],
    );
    w.name = "example".into();
    w.threads[0].name = "sh".into();
    let mut text = Vec::new();
    w.write(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert_eq!(
        text,
        r#"{"hearth_workload": 1,
 "name": "example",
 "origin": "",
 "semaphores": [0],
 "barriers": [1],
 "threads": [
  {"name":"sh","ops":[{"run":1000},{"fork":1},{"repeat":[2,[{"sleep":5},{"io":6},"yield",{"post":0}]]},{"join":1}]},
  {"name":"","ops":[{"exec":"ld"},{"repeat":[2,[{"wait":0}]]},{"barrier":0}]}
]}
"#
    );
    assert_eq!(Workload::parse(&text, "x").unwrap(), w);
    let pipe = text.replace("\"semaphores\": [0],\n", "\"semaphores\": [0],\n \"sync\": [0],\n");
    w.sync = vec![0];
    assert_eq!(Workload::parse(&pipe, "x").unwrap(), w);
    let mut again = Vec::new();
    w.write(&mut again).unwrap();
    assert_eq!(String::from_utf8(again).unwrap(), pipe);
}

fn error(text: &str) -> String {
    Workload::parse(text, "w.json").unwrap_err().to_string()
}

#[test]
fn mistakes_in_files_have_line_and_column() {
    assert!(error("{\n \"hearth_workload\": 1,,}").starts_with("w.json:2:23: "));
    let text = error("{\"hearth_workload\": 1,\n \"threads\": [\n  {\"opps\": []}]}");
    assert!(text.starts_with("w.json:3:9: unknown field `opps`"), "{text}");
    let text = error("{\"hearth_workload\": 1, \"threads\": [{\"ops\": [{\"jump\": 3}]}]}");
    assert!(text.contains("unknown variant `jump`"), "{text}");
    assert!(error("{}").contains("the field `\"hearth_workload\": 1` is missing"));
    assert!(error("{\"tasks\": {}}").contains("rt-app"));
    assert!(error("{\"hearth_workload\": 2, \"new\": 0}").contains("format 2"));
    assert!(error("{\"hearth_workload\": 1, \"threads\": []}").contains("there are no threads"));
    let missing = Workload::load("does/not/exist.json").unwrap_err().to_string();
    assert!(missing.contains("cannot read does/not/exist.json"), "{missing}");
    let nowhere = Workload::default().save("does/not/exist.json").unwrap_err().to_string();
    assert!(nowhere.contains("cannot write does/not/exist.json"), "{nowhere}");
}

#[test]
fn the_examples_are_good() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads");
    let mut count = 0;
    for entry in std::fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "json") {
            let resolved = Workload::resolve_with_notes(path.to_str().unwrap());
            resolved.unwrap_or_else(|e| panic!("{e}"));
            count += 1;
        }
    }
    assert!(count >= 2);
}

/// The example in the book is a valid workload file.
#[test]
fn the_example_of_the_book_is_good() {
    let book = include_str!("../../../../docs/src/workloads.md");
    let example = book.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    Workload::parse(example, "docs/src/workloads.md").unwrap();
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in ".{0,300}") {
        let _ = Workload::parse(&text, "x");
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.json");
        std::fs::write(&path, bytes).unwrap();
        let _ = Workload::load(&path);
    }

    #[test]
    fn arbitrary_specifications_never_panic(spec in "[a-z:=,0-9-]{0,60}") {
        let _ = Workload::resolve(&spec);
    }

    /// Random graphs never cause a panic, and well-formed ones can be saved and loaded.
    #[test]
    fn arbitrary_graphs_never_panic(w in graphs()) {
        let _ = w.stats(2_100_000);
        let mut text = Vec::new();
        w.write(&mut text).unwrap();
        let again = Workload::parse(std::str::from_utf8(&text).unwrap(), "x");
        prop_assert_eq!(again.is_ok(), w.check("x").is_ok());
        if let Ok(again) = again {
            prop_assert_eq!(again, w);
        }
    }
}

fn graphs() -> impl Strategy<Value = Workload> {
    let op = prop_oneof![
        any::<u64>().prop_map(Op::Run),
        (0u64..1000).prop_map(Op::Run),
        (0u64..1000).prop_map(Op::Sleep),
        (0u64..1000).prop_map(Op::Io),
        (0u32..5).prop_map(Op::Fork),
        (0u32..5).prop_map(Op::Join),
        (0u32..3).prop_map(Op::Post),
        (0u32..3).prop_map(Op::Wait),
        (0u32..2).prop_map(Op::Barrier),
        Just(Op::Yield),
        "[a-z\"\\\\\n]{0,5}".prop_map(|name: String| Op::Exec(name.into())),
    ];
    let op = op.prop_recursive(3, 20, 4, |inner| {
        (0u32..30, prop::collection::vec(inner, 0..4)).prop_map(|(times, ops)| Op::repeat(times, ops))
    });
    let threads = prop::collection::vec(prop::collection::vec(op, 0..6), 0..5);
    (threads, prop::collection::vec(0u32..3, 0..3), prop::collection::vec(0u32..3, 0..2))
        .prop_map(|(threads, semaphores, barriers)| workload(threads, semaphores, barriers))
}
