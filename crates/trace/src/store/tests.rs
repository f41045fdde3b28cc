use super::*;
use crate::testing::any_trace;
use crate::{Event, Header, Kind, Stop};
use proptest::prelude::*;
use std::fs;

fn small() -> Trace {
    let kind = |next| Kind::Switch { prev: 0, stop: Stop::Preempted, next };
    Trace {
        header: Header { machine: "tiny".into(), duration: 20, ..Header::default() },
        events: (0..3).map(|i| Event { time: u64::from(i) * 10, core: 0, kind: kind(i) }).collect(),
    }
}

/// A trace of more than one segment.
fn large() -> Trace {
    let mut trace = small();
    for time in 0..SEGMENT_EVENTS as u64 + 7 {
        trace.events.push(Event { time, core: 3, kind: Kind::Tick { khz: time as u32 } });
    }
    trace
}

#[test]
fn more_than_one_segment() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let trace = large();
    trace.write(&path).unwrap();
    assert_eq!(Trace::read(&path).unwrap(), trace);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.groups().len(), 9);
    for (index, group) in store.groups().iter().enumerate().rev() {
        let expected = &trace.events[group.first_event as usize..][..group.events as usize];
        assert_eq!((expected[0].time, expected[expected.len() - 1].time), (group.begin, group.end));
        assert!(store.read_group(index).unwrap() == expected, "group {index}");
    }
}

#[test]
fn what_was_flushed_is_a_trace() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let trace = small();
    let mut writer = Writer::create(&path, &trace.header).unwrap();
    trace.events.iter().for_each(|event| writer.event(event));
    writer.flush();
    writer.event(&trace.events[2]);
    drop(writer); // as after an error
    assert!(!path.exists());
    let partial = Store::open(dir.path().join("t.partial")).unwrap();
    assert!(!partial.complete());
    assert_eq!((partial.events(), partial.header().machine.as_str()), (4, "tiny"));
    assert_eq!(partial.read_group(0).unwrap(), trace.events);
    // The next writer of this name takes its place.
    trace.write(&path).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    assert!(Store::open(&path).unwrap().complete());
}

#[test]
fn same_events_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let trace = large();
    for name in ["a", "b"] {
        trace.write(dir.path().join(name)).unwrap();
    }
    for file in ["trace.json", "cores.parquet", "threads.parquet", "kinds.parquet", "events/000000.parquet"] {
        let read = |name: &str| fs::read(dir.path().join(name).join(file)).unwrap();
        assert!(read("a") == read("b"), "{file}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_written_is_read(trace in any_trace()) {
        let dir = tempfile::tempdir().unwrap();
        trace.write(dir.path().join("t")).unwrap();
        prop_assert_eq!(Trace::read(dir.path().join("t")).unwrap(), trace);
    }
}
