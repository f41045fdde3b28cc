//! Hearth → Perfetto → Hearth without loss.

use hearth_formats::{ExportFormat, ImportFormat, export, import};
use hearth_trace::*;
use proptest::collection::vec;
use proptest::prelude::*;

const CORES: u16 = 3;
const THREADS: u32 = 5;
const NAMES: u32 = 2;

fn any_kind() -> impl Strategy<Value = Kind> {
    let thread = || 1..=THREADS;
    let tid = || 0..=THREADS;
    let core = || 0..CORES;
    let stop =
        prop_oneof![Just(Stop::Preempted), Just(Stop::Yielded), Just(Stop::Blocked), Just(Stop::Exited)];
    let waker = prop_oneof![(0..=THREADS).prop_map(Waker::Thread), Just(Waker::Interrupt)];
    prop_oneof![
        (tid(), stop, tid()).prop_map(|(prev, stop, next)| Kind::Switch { prev, stop, next }),
        (thread(), waker, core()).prop_map(|(thread, waker, target)| Kind::Wakeup {
            thread,
            waker,
            target,
            sync: false
        }),
        (tid(), thread(), core()).prop_map(|(parent, child, target)| Kind::Fork { parent, child, target }),
        (thread(), 0..NAMES).prop_map(|(thread, name)| Kind::Exec { thread, name }),
        thread().prop_map(|thread| Kind::Exit { thread }),
        thread().prop_map(|thread| Kind::Wait { thread }),
        (thread(), core(), core()).prop_map(|(thread, from, to)| Kind::Migrate { thread, from, to }),
        (thread(), core(), 0u16..4, any::<u32>()).prop_map(|(thread, target, reason, seen_khz)| {
            Kind::Place { thread, target, reason, seen_khz }
        }),
        any::<u32>().prop_map(|khz| Kind::Frequency { khz }),
        any::<u32>().prop_map(|khz| Kind::Tick { khz }),
        any::<u8>().prop_map(|state| Kind::Idle { state }),
        any::<bool>().prop_map(|on| Kind::Spin { on }),
        any::<u16>().prop_map(|length| Kind::Queue { length }),
        (0u8..3, any::<bool>()).prop_map(|(set, member)| Kind::Set { set, member }),
    ]
}

fn any_trace() -> impl Strategy<Value = Trace> {
    // Many events of the same time, whose order is easily lost.
    let event = (prop_oneof![Just(0u64), 0u64..3, 0u64..10_000_000], 0..CORES, any_kind());
    (vec(event, 0..300), any::<bool>()).prop_map(|(events, numbered)| {
        let mut time = 0;
        let mut events: Vec<Event> = events
            .into_iter()
            .map(|(later, core, kind)| {
                time += later;
                Event { time, core, kind }
            })
            .collect();
        events.sort_by_key(|event| event.time);
        Trace { header: header(time, numbered), events }
    })
}

/// `numbered`: with the numbers that a kernel gave.
fn header(duration: u64, numbered: bool) -> Header {
    // Thread 3 got the number of thread 1, and thread 5 has none.
    let numbers = [Some(70), Some(4), Some(70), Some(71), None];
    let thread = |tid: Tid| ThreadInfo {
        tid,
        name: format!("thread {tid}"),
        parent: tid / 2,
        traced: tid != 4,
        kernel_tid: numbers[tid as usize - 1].filter(|_| numbered),
        process: [Some(1), Some(0), Some(2), Some(2), None][tid as usize - 1].filter(|_| numbered),
    };
    let process = |(pid, parent)| ProcessInfo { pid, name: format!("process {pid}"), parent };
    let processes = [(4, None), (70, Some(0)), (70, Some(1)), (1, None)].map(process);
    Header {
        sync: false,
        source: Source::Simulated {
            policy: "nest".into(),
            params: vec![("r".into(), "2".into())],
            workload: "w".into(),
            governor: "schedutil".into(),
            seed: 7,
        },
        machine: "m".into(),
        cores: (0..CORES).map(|core| CoreInfo { physical: core / 2, ..CoreInfo::default() }).collect(),
        duration,
        threads: (1..=THREADS).map(thread).collect(),
        processes: if numbered { processes.into() } else { Vec::new() },
        names: vec!["cc1".into(), "as".into()],
        reasons: vec!["home".into(), "primary".into(), "reserve".into(), "cfs".into()],
        sets: vec!["primary".into(), "reserve".into()],
        idle_states: vec!["C1".into()],
        assumed_khz: 2_000_000,
        khz_range: (1_000_000, 3_000_000),
        lost: vec![0, 3, 0],
        energy_uj: 12,
        energy_by_time: vec![(1_000_000, 7), (5_000_000, 12)],
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: hearth_tests::cases(16, 256), ..ProptestConfig::default() })]

    #[test]
    fn perfetto_carries_everything(trace in any_trace()) {
        let folder = tempfile::tempdir().unwrap();
        let (ours, theirs, back) =
            (folder.path().join("a.trace"), folder.path().join("a.pftrace"), folder.path().join("b.trace"));
        trace.write(&ours).unwrap();
        let exported = export(&ours, &theirs, ExportFormat::Perfetto).unwrap();
        prop_assert_eq!(exported.events, trace.events.len() as u64);
        let imported = import(&theirs, None, &back).unwrap();
        prop_assert_eq!(imported.format, ImportFormat::Perfetto);
        let again = Trace::read(&back).unwrap();
        prop_assert_eq!(again.header, trace.header);
        prop_assert_eq!(again.events, trace.events);
    }
}

/// The part for other programs is compared with a golden file.
#[test]
fn tables_are_as_documented() {
    let folder = tempfile::tempdir().unwrap();
    let at = |time, core, kind| Event { time, core, kind };
    let events = vec![
        at(0, 0, Kind::Fork { parent: 0, child: 1, target: 1 }),
        at(0, 0, Kind::Place { thread: 1, target: 1, reason: 1, seen_khz: 1_200_000 }),
        at(5, 1, Kind::Switch { prev: 0, stop: Stop::Preempted, next: 1 }),
        at(7, 1, Kind::Exec { thread: 1, name: 0 }),
        at(9, 1, Kind::Wakeup { thread: 2, waker: Waker::Thread(1), target: 0, sync: false }),
        at(9, 0, Kind::Migrate { thread: 2, from: 0, to: 2 }),
        at(11, 1, Kind::Set { set: 0, member: true }),
        at(12, 1, Kind::Switch { prev: 1, stop: Stop::Blocked, next: 0 }),
        at(12, 1, Kind::Idle { state: 0 }),
    ];
    let ours = folder.path().join("a.trace");
    Trace { header: header(12, true), events }.write(&ours).unwrap();
    let csv = folder.path().join("a.csv");
    export(&ours, &csv, ExportFormat::Csv).unwrap();
    let expected = "\
time_ns,core,kind,thread,thread_name,other,target,detail,value,tid,pid,process
0,0,fork,0,,1,1,,,,,
0,0,place,1,thread 1,,1,primary,1200000,70,70,process 70
5,1,switch,0,,1,,preempted,,,,
7,1,exec,1,cc1,,,cc1,,70,70,process 70
9,1,wakeup,2,thread 2,1,0,,,4,4,process 4
9,0,migrate,2,thread 2,,2,from core 0,,4,4,process 4
11,1,set,,,,,primary,1,,,
12,1,switch,1,cc1,0,,blocked,,70,70,process 70
12,1,idle,,,,,C1,0,,,
";
    assert_eq!(std::fs::read_to_string(&csv).unwrap(), expected);
    let lines = folder.path().join("a.jsonl");
    export(&ours, &lines, ExportFormat::JsonLines).unwrap();
    let lines = std::fs::read_to_string(&lines).unwrap();
    assert_eq!(lines.lines().count(), 10);
    assert_eq!(lines.lines().nth(4), Some(r#"{"time":7,"core":1,"kind":{"Exec":{"thread":1,"name":0}}}"#));
    let parquet = folder.path().join("a.parquet");
    export(&ours, &parquet, ExportFormat::Parquet).unwrap();
    let bytes = std::fs::read(&parquet).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
}
