use super::*;
use hearth_trace::{CoreInfo, Header, Trace};
use proptest::prelude::*;

const CORES: usize = 3;

fn names() -> Names {
    // The kernel's numbers have a hole.
    Names { cpus: vec![0, 1, 4], reasons: 3, sets: 2 }
}

fn convert(records: &[Record], existing: Tid) -> (Trace, Converted) {
    let mut converter = Converter::new(Vec::new(), names(), 1000, existing);
    records.iter().for_each(|record| converter.record(record));
    let (events, converted) = converter.finish();
    let header = Header {
        cores: vec![CoreInfo::default(); CORES],
        threads: converted.threads.clone(),
        names: converted.names.clone(),
        reasons: ["none", "cfs", "primary"].map(String::from).to_vec(),
        sets: ["primary", "reserve"].map(String::from).to_vec(),
        idle_states: vec!["idle".into()],
        ..Header::default()
    };
    let trace = Trace { header, events };
    assert_eq!(trace.check(), [], "{records:#?}\n{:#?}", trace.events);
    (trace, converted)
}

/// Writes records in a line each.
struct Script(Vec<Record>);

impl Script {
    fn at(&mut self, time: u64, kind: u8, thread: Tid, target: u16) -> &mut Record {
        self.0.push(Record { time: 1000 + time, kind, thread, core: target, target, ..Record::default() });
        self.0.last_mut().expect("one was pushed")
    }

    fn kinds(&self, existing: Tid) -> Vec<(Time, CoreId, Kind)> {
        convert(&self.0, existing).0.events.iter().map(|event| (event.time, event.core, event.kind)).collect()
    }
}

#[test]
fn a_thread_is_forked_runs_and_ends() {
    let mut s = Script(Vec::new());
    s.at(0, kind::RUN, 1, 0);
    s.at(10, kind::NEW, 9, 0).other = 1;
    let place = s.at(10, kind::PLACE, 9, 4);
    (place.core, place.reason, place.khz) = (0, 2, 2_000_000);
    s.at(20, kind::RUN, 9, 4);
    s.at(30, kind::STOP, 9, 4).flag = 3;
    s.at(30, kind::EXIT, 9, 4);
    s.at(31, kind::IDLE, 0, 4).flag = 1;
    let switch = |prev, stop, next| Kind::Switch { prev, stop, next };
    assert_eq!(
        s.kinds(5),
        [
            (0, 0, switch(0, Stop::Preempted, 1)),
            (10, 0, Kind::Fork { parent: 1, child: 9, target: 2 }),
            (10, 0, Kind::Place { thread: 9, target: 2, reason: 2, seen_khz: 2_000_000 }),
            (20, 2, switch(0, Stop::Preempted, 9)),
            (30, 2, Kind::Exit { thread: 9 }),
            (30, 2, switch(9, Stop::Exited, 0)),
            (31, 2, Kind::Idle { state: 0 }),
        ]
    );
}

#[test]
fn a_stop_and_a_run_are_one_switch() {
    let mut s = Script(Vec::new());
    s.at(0, kind::RUN, 1, 0);
    s.at(10, kind::WAKE, 2, 0).other = 1;
    s.at(10, kind::PLACE, 2, 0);
    s.at(20, kind::STOP, 1, 0).flag = 2;
    s.at(25, kind::RUN, 2, 0);
    let waker = Waker::Thread(1);
    assert_eq!(
        s.kinds(5)[1..],
        [
            (10, 0, Kind::Wakeup { thread: 2, waker, target: 0 }),
            (20, 0, Kind::Switch { prev: 1, stop: Stop::Blocked, next: 2 }),
        ]
    );
}

#[test]
fn a_stolen_thread_comes_before_the_switch_to_it() {
    let mut s = Script(Vec::new());
    s.at(0, kind::RUN, 1, 0);
    s.at(1, kind::WAKE, 2, 1);
    s.at(1, kind::PLACE, 2, 1);
    s.at(20, kind::STOP, 1, 0).flag = 2;
    let taken = s.at(21, kind::MOVE, 2, 0);
    (taken.other, taken.reason) = (1, 1);
    s.at(25, kind::RUN, 2, 0);
    assert_eq!(
        s.kinds(5)[2..],
        [
            (21, 0, Kind::Migrate { thread: 2, from: 1, to: 0 }),
            (21, 0, Kind::Place { thread: 2, target: 0, reason: 1, seen_khz: 0 }),
            (25, 0, Kind::Switch { prev: 1, stop: Stop::Blocked, next: 2 }),
        ]
    );
}

#[test]
fn a_preempted_thread_goes_where_the_policy_put_it() {
    let mut s = Script(Vec::new());
    s.at(0, kind::RUN, 1, 0);
    s.at(5, kind::PLACE, 1, 1);
    s.at(6, kind::STOP, 1, 0);
    s.at(7, kind::RUN, 2, 0);
    s.at(9, kind::RUN, 1, 1);
    assert_eq!(
        s.kinds(5)[1..],
        [
            (6, 0, Kind::Switch { prev: 1, stop: Stop::Preempted, next: 2 }),
            (6, 0, Kind::Migrate { thread: 1, from: 0, to: 1 }),
            (9, 1, Kind::Switch { prev: 0, stop: Stop::Preempted, next: 1 }),
        ]
    );
}

#[test]
fn a_thread_that_goes_on_has_not_stopped() {
    let mut s = Script(Vec::new());
    s.at(0, kind::RUN, 1, 0);
    s.at(6, kind::STOP, 1, 0);
    s.at(7, kind::RUN, 1, 0);
    s.at(9, kind::STOP, 1, 0).flag = 2;
    assert_eq!(s.kinds(5).len(), 2);
}

#[test]
fn a_core_that_finds_nothing_is_idle_after_a_while() {
    let mut s = Script(Vec::new());
    s.at(0, kind::RUN, 1, 0);
    s.at(10, kind::STOP, 1, 0).flag = 2;
    // The thread is woken and runs again, much later.
    s.at(5_000_000, kind::WAKE, 1, 1);
    s.at(5_000_000, kind::PLACE, 1, 0);
    s.at(5_000_010, kind::RUN, 1, 0);
    let kinds = s.kinds(5);
    assert_eq!(kinds[1], (10, 0, Kind::Switch { prev: 1, stop: Stop::Blocked, next: 0 }));
    assert_eq!(kinds.len(), 4);
}

#[test]
fn threads_that_were_there_are_not_forked() {
    let mut s = Script(Vec::new());
    s.at(10, kind::NEW, 3, 0).other = 2;
    s.at(10, kind::PLACE, 3, 1);
    assert!(matches!(
        s.kinds(5)[..],
        [(10, 0, Kind::Wakeup { thread: 3, waker: Waker::Interrupt, target: 1 })]
    ));
}

#[test]
fn names_come_from_records_and_change_by_exec() {
    let mut s = Script(Vec::new());
    for (time, name) in [(0, b"sh"), (5, b"cc")] {
        let named = s.at(time, kind::THREAD, 7, 0);
        named.other = 77;
        named.text[0] = u64::from_ne_bytes([name[0], name[1], 0, 0, 0, 0, 0, 0]);
        s.at(time, kind::RUN, 7, 0);
        s.at(time + 1, kind::STOP, 7, 0);
    }
    let (trace, converted) = convert(&s.0, 9);
    assert_eq!(
        (converted.threads[0].name.as_str(), trace.header.names.as_slice()),
        ("sh", &["cc".to_owned()][..])
    );
    assert!(trace.events.iter().any(|event| event.kind == Kind::Exec { thread: 7, name: 0 }));
}

#[test]
fn times_do_not_decrease() {
    let mut s = Script(Vec::new());
    s.at(50, kind::TICK, 0, 0).khz = 5;
    s.at(40, kind::SPIN, 0, 1).flag = 1;
    assert_eq!(s.kinds(0), [(50, 0, Kind::Tick { khz: 5 }), (50, 1, Kind::Spin { on: true })]);
}

fn any_record() -> impl Strategy<Value = Record> {
    let target = prop_oneof![Just(0u16), Just(1), Just(4), Just(9)];
    let kind = prop_oneof![1u8..14, Just(kind::RUN), Just(kind::STOP), Just(kind::PLACE), Just(kind::WAKE)];
    ((0u64..3_000_000, 0u32..6, 0u32..6, 0u8..5), (target.clone(), target, 0u16..4, kind), 0u8..3).prop_map(
        |((time, thread, other, flag), (core, target, reason, kind), name)| Record {
            time: 1000 + time,
            thread,
            other,
            core,
            target,
            reason,
            kind,
            flag,
            text: [u64::from_ne_bytes([if name == 0 { 0 } else { b'a' + name }; 8]); 2],
            ..Record::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever is lost or out of order: the trace does not contradict itself.
    #[test]
    fn any_records_make_a_trace_that_could_have_happened(
        mut records in proptest::collection::vec(any_record(), 0..60), in_order: bool, existing in 0u32..6,
    ) {
        if in_order {
            records.sort_by_key(|record| record.time);
        }
        let (trace, converted) = convert(&records, existing);
        prop_assert_eq!(trace.events.len() as u64, converted.events);
    }
}
