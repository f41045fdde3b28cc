use super::*;
use crate::event::{CoreInfo, Header, ThreadInfo};

fn switch(time: Time, core: CoreId, prev: Tid, stop: Stop, next: Tid) -> Event {
    Event { time, core, kind: Kind::Switch { prev, stop, next } }
}

fn event(time: Time, core: CoreId, kind: Kind) -> Event {
    Event { time, core, kind }
}

fn wake(time: Time, core: CoreId, thread: Tid, waker: Waker, target: CoreId) -> Event {
    event(time, core, Kind::Wakeup { thread, waker, target, sync: false })
}

/// Violations in these events, on two cores, with a header that lists threads 1 to 5.
fn problems(events: &[Event]) -> Vec<(usize, Problem)> {
    let thread = |tid| ThreadInfo { tid, traced: true, ..ThreadInfo::default() };
    let header = Header {
        cores: vec![CoreInfo::default(); 2],
        threads: (1..=5).map(thread).collect(),
        ..Header::default()
    };
    let violations = Trace { header, events: events.to_vec() }.check();
    violations.into_iter().map(|v| (v.index.expect("an event is at fault"), v.problem)).collect()
}

#[test]
fn a_consistent_trace_has_no_violations() {
    let events = [
        switch(0, 0, IDLE, Stop::Preempted, 1),
        event(1, 0, Kind::Fork { parent: 1, child: 2, target: 1 }),
        event(2, 0, Kind::Wait { thread: 1 }),
        switch(2, 0, 1, Stop::Blocked, IDLE),
        switch(3, 1, IDLE, Stop::Preempted, 2),
        event(5, 1, Kind::Exit { thread: 2 }),
        wake(6, 1, 1, Waker::Thread(2), 0),
        switch(7, 1, 2, Stop::Exited, IDLE),
        event(8, 1, Kind::Migrate { thread: 1, from: 0, to: 1 }),
        switch(9, 1, IDLE, Stop::Preempted, 1),
    ];
    assert_eq!(problems(&events), []);
}

#[test]
fn unknown_state_before_the_trace_is_no_violation() {
    // Before the trace, thread 1 was running, thread 2 ready and thread 3 blocked.
    let events = [
        switch(5, 0, 1, Stop::Preempted, 2),
        wake(6, 1, 3, Waker::Interrupt, 1),
        switch(7, 1, 4, Stop::Blocked, 3),
    ];
    assert_eq!(problems(&events), []);
}

#[test]
fn every_problem_is_found() {
    let one = |events: &[Event]| -> Problem {
        let found = problems(events);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, events.len() - 1, "the violation is in the last event");
        found[0].1.clone()
    };
    let start = switch(5, 0, IDLE, Stop::Preempted, 1);
    let blocks = switch(6, 0, 1, Stop::Blocked, IDLE);
    let fork = event(5, 0, Kind::Fork { parent: 1, child: 2, target: 0 });
    let run = |core, next| switch(7, core, IDLE, Stop::Preempted, next);

    assert_eq!(one(&[start, switch(4, 1, IDLE, Stop::Preempted, 2)]), Problem::TimeGoesBack { before: 5 });
    assert_eq!(one(&[switch(0, 2, IDLE, Stop::Preempted, 1)]), Problem::NoSuchCore { core: 2 });
    assert_eq!(one(&[wake(0, 0, 1, Waker::Interrupt, 9)]), Problem::NoSuchCore { core: 9 });
    assert_eq!(one(&[event(0, 0, Kind::Wait { thread: 9 })]), Problem::UnknownThread { thread: 9 });
    assert_eq!(one(&[event(0, 0, Kind::Wait { thread: IDLE })]), Problem::IdleActs);
    let place = Kind::Place { thread: 1, target: 0, reason: 3, seen_khz: 0 };
    assert_eq!(one(&[event(0, 0, place)]), Problem::NoSuchName { what: "reason", number: 3 });
    let wrong = switch(6, 0, 2, Stop::Preempted, 3);
    assert_eq!(one(&[start, wrong]), Problem::WrongPrev { prev: 2, running: 1 });
    assert_eq!(one(&[start, switch(6, 0, 1, Stop::Preempted, 1)]), Problem::SwitchToSelf { thread: 1 });
    assert_eq!(one(&[switch(0, 0, IDLE, Stop::Blocked, 1)]), Problem::IdleStops);
    assert_eq!(one(&[start, run(1, 1)]), Problem::RunsElsewhere { thread: 1, core: 0 });
    assert_eq!(one(&[start, blocks, run(0, 1)]), Problem::NotWoken { thread: 1 });
    assert_eq!(one(&[start, fork, run(1, 2)]), Problem::NotMigrated { thread: 2, queue: 0 });
    let exit = event(5, 0, Kind::Exit { thread: 1 });
    let gone = switch(6, 0, 1, Stop::Exited, IDLE);
    assert_eq!(one(&[start, exit, gone, run(0, 1)]), Problem::AlreadyEnded { thread: 1 });
    let child_runs = switch(6, 0, 1, Stop::Blocked, 2);
    let no_exit = switch(7, 0, 2, Stop::Exited, IDLE);
    assert_eq!(one(&[start, fork, child_runs, no_exit]), Problem::NoExit { thread: 2 });
    assert_eq!(one(&[start, wake(6, 0, 1, Waker::Interrupt, 0)]), Problem::NotBlocked { thread: 1 });
    assert_eq!(one(&[start, wake(6, 0, 2, Waker::Thread(3), 0)]), Problem::NotRunningHere { thread: 3 });
    assert_eq!(one(&[start, fork, fork]), Problem::ForkedTwice { thread: 2 });
    let migrate = event(6, 0, Kind::Migrate { thread: 1, from: 0, to: 1 });
    assert_eq!(one(&[start, migrate]), Problem::NotReadyThere { thread: 1, from: 0 });
}

#[test]
fn the_header_is_checked() {
    let thread = |tid| ThreadInfo { tid, traced: true, ..ThreadInfo::default() };
    let header = Header { threads: vec![thread(1), thread(1), thread(IDLE)], ..Header::default() };
    let found = Trace { header, events: vec![] }.check();
    assert_eq!(found.len(), 2);
    assert!(found[0].to_string().starts_with("header: thread 1 is listed twice"), "{}", found[0]);
}

#[test]
fn a_violation_says_where() {
    let header = Header { cores: vec![CoreInfo::default()], ..Header::default() };
    let trace = Trace { header, events: vec![event(1234, 0, Kind::Exit { thread: 7 })] };
    assert_eq!(trace.check()[0].to_string(), "event 0 (1234 ns, core 0): the header does not list thread 7");
}

#[test]
fn the_list_is_bounded() {
    let header = Header { cores: vec![CoreInfo::default()], ..Header::default() };
    let events = vec![event(0, 0, Kind::Exit { thread: 7 }); 3 * MOST_VIOLATIONS];
    assert_eq!(Trace { header, events }.check().len(), MOST_VIOLATIONS);
}
