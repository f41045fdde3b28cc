//! The command has `pid` 100; threads outside it have small ones.

use super::*;
use crate::Event;
use crate::{CoreInfo, Trace};

/// The command.
const ROOT: i32 = 100;

/// Collects the kernel's events for a machine with two cores, whose numbers are 0 and 2.
struct Kernel(Vec<KernelEvent<'static>>);

impl Kernel {
    /// The command is woken at 1000 by pid 7 on core 0, and runs on core 2.
    fn started() -> Self {
        let mut kernel = Kernel(Vec::new());
        kernel.at(900, 0, 0, switch(0, Stop::Preempted, 7));
        kernel.at(901, 2, 5, switch(5, Stop::Blocked, 0));
        kernel.at(1000, 0, 7, waking(ROOT, 2));
        kernel.at(1010, 2, 0, switch(0, Stop::Preempted, ROOT));
        kernel
    }

    fn at(&mut self, time: u64, cpu: u32, pid: i32, kind: EventKind<'static>) {
        self.0.push(KernelEvent { time, cpu, pid, interrupt: false, kind });
    }

    fn interrupt(&mut self, time: u64, cpu: u32, pid: i32, kind: EventKind<'static>) {
        self.0.push(KernelEvent { time, cpu, pid, interrupt: true, kind });
    }

    /// The trace, which must be consistent.
    fn trace(&self) -> Trace {
        self.trace_of(Scope::Tree { root_pid: ROOT })
    }

    fn trace_of(&self, scope: Scope) -> Trace {
        let mut assembler = assembler(scope);
        self.0.iter().for_each(|event| assembler.event(event));
        let trace = trace(assembler);
        assert_eq!(trace.check(), vec![], "{:#?}", trace.events);
        trace
    }

    /// Time, core and kind of the events after the first two (the command is woken, and runs).
    fn events(&self) -> Vec<(Time, CoreId, Kind)> {
        let trace = self.trace();
        let begun = trace.events.iter().position(|event| event.time >= 10).expect("the command runs") + 1;
        trace.events[begun..].iter().map(|event| (event.time, event.core, event.kind)).collect()
    }
}

fn assembler(scope: Scope) -> Assembler<Vec<Event>> {
    let header = Header { cores: vec![CoreInfo::default(); 2], ..Header::default() };
    Assembler::new(header, &[0, 2], scope, Vec::new())
}

fn trace(assembler: Assembler<Vec<Event>>) -> Trace {
    let assembled = assembler.finish().expect("the command was seen");
    assert_eq!(assembled.events, assembled.sink.len() as u64);
    Trace { header: assembled.header, events: assembled.sink }
}

fn switch(prev: i32, stop: Stop, next: i32) -> EventKind<'static> {
    EventKind::Switch { prev, prev_comm: b"", stop, next, next_comm: b"" }
}

fn waking(pid: i32, target: u32) -> EventKind<'static> {
    EventKind::Waking { pid, comm: b"", target, sync: false }
}

#[test]
fn time_zero_is_the_release_of_the_command() {
    let trace = Kernel::started().trace();
    let events: Vec<_> = trace.events.iter().map(|event| (event.time, event.core, event.kind)).collect();
    // Thread 1 is the command; 2 is pid 7, which released it and runs on core 0.
    let preempted = Stop::Preempted;
    let expected = [
        (0, 0, Kind::Switch { prev: IDLE, stop: preempted, next: 2 }),
        (0, 0, Kind::Wakeup { thread: 1, waker: Waker::Thread(2), target: 1, sync: false }),
        (10, 1, Kind::Switch { prev: IDLE, stop: preempted, next: 1 }),
    ];
    assert_eq!(events, expected);
    assert_eq!(trace.header.threads.iter().filter(|thread| thread.traced).count(), 1);
}

/// The command is forked after the recording has begun, by pid 7, which is not traced.
#[test]
fn the_command_may_be_forked_during_the_recording() {
    let mut kernel = Kernel(Vec::new());
    kernel.at(900, 0, 0, switch(0, Stop::Preempted, 7));
    kernel.at(950, 2, 5, switch(5, Stop::Blocked, 0));
    kernel.at(1000, 0, 7, EventKind::Fork { parent: 7, child: ROOT, child_comm: b"hearth" });
    kernel.at(1001, 0, 7, EventKind::WakeupNew { pid: ROOT, comm: b"", target: 2 });
    kernel.at(1010, 2, 0, switch(0, Stop::Preempted, ROOT));
    kernel.at(1020, 2, ROOT, EventKind::Exit { pid: ROOT });
    kernel.at(1030, 2, ROOT, switch(ROOT, Stop::Exited, 0));
    kernel.at(1040, 0, 7, switch(7, Stop::Blocked, 0));
    let trace = kernel.trace();
    let traced: Vec<_> = trace.header.threads.iter().filter(|thread| thread.traced).collect();
    assert_eq!(traced.len(), 1);
    assert_eq!((traced[0].tid, traced[0].name.as_str()), (1, "hearth"));
    assert!(trace.events.iter().any(|event| matches!(event.kind, Kind::Fork { child: 1, target: 1, .. })));
    assert_eq!(trace.header.duration, 30);
}

#[test]
fn a_wakeup_goes_to_the_core_that_was_chosen() {
    let mut kernel = Kernel::started();
    kernel.at(1020, 2, ROOT, switch(ROOT, Stop::Blocked, 0));
    kernel.interrupt(1030, 0, 7, waking(ROOT, 2));
    kernel.at(1031, 0, 7, EventKind::Migrate { pid: ROOT, from: 2, to: 0, queued: false });
    kernel.at(1040, 0, 7, switch(7, Stop::Preempted, ROOT));
    let events = kernel.events();
    assert_eq!(
        events[1],
        (30, 0, Kind::Wakeup { thread: 1, waker: Waker::Interrupt, target: 0, sync: false })
    );
    assert!(events.iter().all(|(_, _, kind)| !matches!(kind, Kind::Migrate { .. })));
}

/// Of an attempt whose waker has stopped when the thread blocks, the waker is unknown, and what it said.
#[test]
fn wakeups_are_synchronous_if_their_waker_is_known() {
    let sync = |pid, target| EventKind::Waking { pid, comm: b"", target, sync: true };
    for (waker_stops, expected) in [(false, (Waker::Thread(2), true)), (true, (Waker::Interrupt, false))] {
        let mut kernel = Kernel::started();
        kernel.at(1015, 0, 7, sync(ROOT, 2));
        if waker_stops {
            kernel.at(1017, 0, 7, switch(7, Stop::Blocked, 0));
        }
        kernel.at(1020, 2, ROOT, switch(ROOT, Stop::Blocked, 0));
        kernel.at(1040, 2, 0, switch(0, Stop::Preempted, ROOT));
        let wakeups = kernel.events().into_iter().filter_map(|(time, _, kind)| match kind {
            Kind::Wakeup { waker, sync, .. } if time > 0 => Some((waker, sync)),
            _ => None,
        });
        assert_eq!(wakeups.collect::<Vec<_>>(), [expected]);
    }
}

/// A decision comes between a wake-up and its migration.
#[test]
fn decisions_do_not_separate_a_wakeup_from_its_migration() {
    let mut kernel = Kernel::started();
    let decided = |pid, reason| EventKind::Decision(Decision::Place { pid, target: 0, reason, khz: 7 });
    kernel.at(1020, 2, ROOT, switch(ROOT, Stop::Blocked, 0));
    kernel.at(1030, 0, 7, waking(ROOT, 2));
    kernel.at(1031, 0, 7, decided(ROOT, 1));
    kernel.at(1032, 0, 7, EventKind::Migrate { pid: ROOT, from: 2, to: 0, queued: false });
    kernel.at(1033, 0, 7, decided(ROOT, 0));
    kernel.at(1034, 0, 7, decided(ROOT, 2));
    kernel.at(1035, 0, 7, EventKind::Decision(Decision::Set { cpu: 2, set: 0, member: false }));
    kernel.at(1036, 0, 7, EventKind::Decision(Decision::Set { cpu: 2, set: 1, member: true }));
    kernel.at(1037, 0, 7, EventKind::Decision(Decision::Spin { cpu: 2, on: true }));
    let mut assembler = assembler(Scope::Tree { root_pid: ROOT });
    assembler.header.reasons = vec!["none".into(), "primary".into()];
    assembler.header.sets = vec!["primary".into()];
    assembler.set_initial_members(&[vec![2, 77], vec![]]);
    kernel.0.iter().for_each(|event| assembler.event(event));
    let trace = trace(assembler);
    assert_eq!(trace.check(), vec![]);
    let set = |member| Kind::Set { set: 0, member };
    assert_eq!((trace.events[0].time, trace.events[0].core, trace.events[0].kind), (0, 1, set(true)));
    let late: Vec<_> = trace.events.iter().filter(|event| event.time >= 30).collect();
    let late: Vec<_> = late.iter().map(|event| (event.core, event.kind)).collect();
    let expected = [
        (0, Kind::Wakeup { thread: 1, waker: Waker::Thread(2), target: 0, sync: false }),
        (0, Kind::Place { thread: 1, target: 0, reason: 1, seen_khz: 7 }),
        (1, set(false)),
        (1, Kind::Spin { on: true }),
    ];
    assert_eq!(late, expected);
}

#[test]
fn a_later_migration_is_a_migration() {
    let mut kernel = Kernel::started();
    kernel.at(1020, 2, ROOT, switch(ROOT, Stop::Blocked, 0));
    kernel.at(1030, 0, 7, waking(ROOT, 2));
    kernel.at(1032, 0, 7, switch(7, Stop::Blocked, 0));
    kernel.at(1035, 0, 0, EventKind::Migrate { pid: ROOT, from: 2, to: 0, queued: false });
    kernel.at(1040, 0, 0, switch(0, Stop::Preempted, ROOT));
    assert_eq!(kernel.events()[3], (35, 0, Kind::Migrate { thread: 1, from: 1, to: 0 }));
}

/// A core wakes a thread and steals it immediately, because it is idle.
#[test]
fn a_steal_right_after_the_wakeup_is_a_migration() {
    let mut kernel = Kernel::started();
    kernel.at(1020, 2, ROOT, switch(ROOT, Stop::Blocked, 0));
    kernel.at(1030, 0, 7, waking(ROOT, 2));
    kernel.at(1035, 0, 7, EventKind::Migrate { pid: ROOT, from: 2, to: 0, queued: true });
    kernel.at(1040, 0, 7, switch(7, Stop::Blocked, ROOT));
    let events = kernel.events();
    assert!(matches!(events[1].2, Kind::Wakeup { thread: 1, target: 1, .. }), "{events:?}");
    assert_eq!(events[2], (35, 0, Kind::Migrate { thread: 1, from: 1, to: 0 }));
}

#[test]
fn waking_a_running_thread_has_no_effect() {
    let mut kernel = Kernel::started();
    kernel.at(1020, 0, 7, waking(ROOT, 2));
    kernel.at(1030, 2, ROOT, switch(ROOT, Stop::Preempted, 0));
    kernel.at(1040, 2, 0, switch(0, Stop::Preempted, ROOT));
    assert!(kernel.events().iter().all(|(_, _, kind)| !matches!(kind, Kind::Wakeup { .. })));
}

/// The attempt comes before the thread blocks.
#[test]
fn waking_a_thread_that_is_about_to_block_is_a_wakeup() {
    let mut kernel = Kernel::started();
    kernel.at(1020, 0, 7, waking(ROOT, 2));
    kernel.at(1030, 2, ROOT, switch(ROOT, Stop::Blocked, 0));
    kernel.at(1040, 2, 0, switch(0, Stop::Preempted, ROOT));
    let expected = [
        (30, 1, Kind::Switch { prev: 1, stop: Stop::Blocked, next: IDLE }),
        (30, 0, Kind::Wakeup { thread: 1, waker: Waker::Thread(2), target: 1, sync: false }),
        (40, 1, Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: 1 }),
    ];
    assert_eq!(kernel.events(), expected);
}

/// The first attempt has no effect: the second is the wake-up.
#[test]
fn of_two_attempts_the_one_after_the_block_counts() {
    let mut kernel = Kernel::started();
    kernel.at(1020, 0, 7, waking(ROOT, 2));
    kernel.at(1030, 2, ROOT, switch(ROOT, Stop::Blocked, 0));
    kernel.at(1035, 0, 7, waking(ROOT, 2));
    kernel.at(1040, 2, 0, switch(0, Stop::Preempted, ROOT));
    let wakeups = kernel.events().into_iter().filter(|(_, _, kind)| matches!(kind, Kind::Wakeup { .. }));
    assert_eq!(wakeups.map(|(time, _, _)| time).collect::<Vec<_>>(), [35]);
}

/// Older kernels report the state that a thread was about to enter, even if a signal kept it running.
#[test]
fn a_thread_that_runs_again_without_a_wakeup_was_preempted() {
    let mut kernel = Kernel::started();
    kernel.at(1020, 2, ROOT, switch(ROOT, Stop::Blocked, 0));
    kernel.at(1030, 2, 0, switch(0, Stop::Preempted, ROOT));
    let (_, _, kind) = kernel.events()[0];
    assert!(matches!(kind, Kind::Switch { prev: 1, stop: Stop::Preempted, .. }), "{kind:?}");
}

#[test]
fn a_pid_that_is_used_again_is_another_thread() {
    let mut kernel = Kernel::started();
    for time in [1020, 1120] {
        kernel.at(time, 2, ROOT, EventKind::Fork { parent: ROOT, child: 101, child_comm: b"child" });
        kernel.at(time + 1, 2, ROOT, EventKind::WakeupNew { pid: 101, comm: b"child", target: 0 });
        kernel.at(time + 2, 0, 7, switch(7, Stop::Preempted, 101));
        kernel.at(time + 3, 0, 101, EventKind::Exec { pid: 101, old_pid: 101, filename: b"/bin/true" });
        kernel.at(time + 4, 0, 101, EventKind::Exit { pid: 101 });
        kernel.at(time + 5, 0, 101, switch(101, Stop::Exited, 7));
    }
    kernel.at(1200, 2, ROOT, EventKind::Exit { pid: ROOT });
    kernel.at(1210, 2, ROOT, switch(ROOT, Stop::Exited, 0));
    kernel.at(1300, 0, 7, switch(7, Stop::Blocked, 0));
    let trace = kernel.trace();
    let children: Vec<_> = trace.header.threads.iter().filter(|thread| thread.parent == 1).collect();
    assert_eq!(children.len(), 2);
    assert!(children.iter().all(|child| child.traced && child.name == "true"));
    assert_eq!(trace.header.names, ["true"]);
    assert_eq!(trace.header.duration, 210, "the trace ends with the last exit");
    assert_eq!(trace.events.last().map(|event| event.time), Some(210));
}

/// `exec` by the second thread of a process, which becomes the first.
#[test]
fn a_thread_that_takes_the_place_of_another_stays_itself() {
    let mut kernel = Kernel::started();
    kernel.at(1020, 2, ROOT, EventKind::Fork { parent: ROOT, child: 101, child_comm: b"" });
    kernel.at(1021, 2, ROOT, EventKind::WakeupNew { pid: 101, comm: b"", target: 0 });
    kernel.at(1022, 0, 7, switch(7, Stop::Preempted, 101));
    kernel.at(1030, 2, ROOT, EventKind::Exit { pid: ROOT });
    kernel.at(1031, 2, ROOT, switch(ROOT, Stop::Exited, 0));
    kernel.at(1040, 0, ROOT, EventKind::Exec { pid: ROOT, old_pid: 101, filename: b"new" });
    kernel.at(1050, 0, ROOT, switch(ROOT, Stop::Blocked, 0));
    let events = kernel.events();
    let (child, last) = (events[0].2, events[events.len() - 1].2);
    assert!(matches!(child, Kind::Fork { child: 4, .. }), "{child:?}");
    assert!(matches!(last, Kind::Switch { prev: 4, .. }), "{last:?}");
}

#[test]
fn a_missing_switch_is_inserted_and_counted() {
    let mut kernel = Kernel::started();
    kernel.at(1020, 2, 0, EventKind::Idle { cpu: 2, state: Some(1) }); // ROOT has left core 2
    kernel.at(1030, 0, 7, waking(ROOT, 2));
    kernel.at(1040, 2, 0, switch(0, Stop::Preempted, ROOT));
    assert_eq!(kernel.events()[0], (20, 1, Kind::Switch { prev: 1, stop: Stop::Blocked, next: IDLE }));
    assert_eq!(kernel.trace().header.lost, [0, 1]);
    assert_eq!(kernel.trace().header.idle_states.len(), 2);
}

#[test]
fn a_thread_that_runs_elsewhere_has_left_its_core() {
    let mut kernel = Kernel::started();
    kernel.at(1020, 0, 7, switch(7, Stop::Blocked, ROOT)); // ran on core 2
    kernel.at(1030, 2, 9, switch(9, Stop::Blocked, 0));
    let trace = kernel.trace();
    assert_eq!(trace.header.lost, [1, 2], "a move to core 0; and on core 2 two switches");
}

#[test]
fn frequencies_before_the_beginning_are_those_at_the_start() {
    let mut assembler = assembler(Scope::Tree { root_pid: ROOT });
    assembler.frequency(5, 2, 1_000_000);
    Kernel::started().0.iter().for_each(|event| assembler.event(event));
    assembler.frequency(1020, 2, 2_000_000);
    let events = trace(assembler).events;
    let frequencies = events.iter().filter(|event| matches!(event.kind, Kind::Frequency { .. }));
    let frequencies: Vec<_> = frequencies.map(|event| (event.time, event.core, event.kind)).collect();
    let frequency = |time, khz| (time, 1, Kind::Frequency { khz });
    assert_eq!(frequencies, [frequency(0, 1_000_000), frequency(20, 2_000_000)]);
}

#[test]
fn losses_are_counted() {
    let mut assembler = assembler(Scope::Tree { root_pid: ROOT });
    assembler.set_initial_khz(&[0, 1_000_000]);
    for event in &Kernel::started().0 {
        assembler.event(event);
    }
    assembler.lost(2, Some(5));
    assembler.lost(2, None);
    assembler.lost_at_least(0, 3);
    assembler.lost_at_least(2, 2);
    assembler.lost(9, Some(1)); // no such core
    let trace = trace(assembler);
    assert_eq!(trace.header.lost, [3, 6]);
    assert_eq!(trace.events[0].kind, Kind::Frequency { khz: 1_000_000 });
}

#[test]
fn without_an_event_of_the_command_there_is_no_trace() {
    assert!(assembler(Scope::Tree { root_pid: ROOT }).finish().is_none());
    assert!(assembler(Scope::All).finish().is_none());
}

#[test]
fn of_the_whole_system_every_thread_is_traced() {
    let mut kernel = Kernel::started();
    kernel.at(1020, 2, ROOT, EventKind::Exit { pid: ROOT });
    kernel.at(1030, 2, ROOT, switch(ROOT, Stop::Exited, 0));
    kernel.at(1040, 0, 7, switch(7, Stop::Exited, 0));
    kernel.at(1050, 2, 0, EventKind::Queue { length: 3 });
    kernel.at(1060, 0, 0, EventKind::Tick { khz: 5 });
    let trace = kernel.trace_of(Scope::All);
    assert_eq!(trace.header.duration, 160, "from the first event, at 900, to the last");
    assert!(trace.header.threads.iter().all(|thread| thread.traced));
    let ends: Vec<_> = trace.events.iter().rev().take(2).map(|event| (event.core, event.kind)).collect();
    assert_eq!(ends, [(0, Kind::Tick { khz: 5 }), (1, Kind::Queue { length: 3 })]);
}

#[test]
fn names_come_with_events_or_separately() {
    let mut kernel = Kernel::started();
    kernel.at(1020, 2, ROOT, EventKind::Fork { parent: ROOT, child: 101, child_comm: b"it" });
    kernel.at(1021, 2, ROOT, EventKind::WakeupNew { pid: 101, comm: b"", target: 0 });
    kernel.at(1022, 0, 7, switch(7, Stop::Preempted, 101));
    kernel.at(1023, 0, 101, EventKind::Name { pid: 101, comm: b"worker" });
    kernel.at(1024, 0, 101, switch(101, Stop::Blocked, 8));
    let mut assembler = assembler(Scope::Tree { root_pid: ROOT });
    assembler.name(8, b"known before");
    assembler.name(9, b"never seen");
    kernel.0.iter().for_each(|event| assembler.event(event));
    let threads = trace(assembler).header.threads;
    let names: Vec<_> = threads.iter().map(|thread| thread.name.as_str()).collect();
    assert_eq!(names, ["", "", "", "worker", "known before"]);
}

/// The block is no longer in the window: a wake-up is inserted.
#[test]
fn a_missing_wakeup_of_an_old_block_is_inserted() {
    let mut kernel = Kernel::started();
    kernel.at(1020, 2, ROOT, switch(ROOT, Stop::Blocked, 0));
    kernel.at(2_000_000_000, 0, 7, switch(7, Stop::Blocked, 0));
    kernel.at(2_000_000_010, 2, 0, switch(0, Stop::Preempted, ROOT));
    let events = kernel.events();
    assert!(matches!(events[0].2, Kind::Switch { prev: 1, stop: Stop::Blocked, .. }), "{events:?}");
    assert!(matches!(events[2].2, Kind::Wakeup { thread: 1, waker: Waker::Interrupt, .. }), "{events:?}");
}

/// The wake-up turns out to have happened when it is no longer in the window and its waker has stopped.
#[test]
fn an_old_wakeup_has_no_waker() {
    let mut kernel = Kernel::started();
    kernel.at(1020, 0, 7, waking(ROOT, 2));
    kernel.at(1030, 2, ROOT, switch(ROOT, Stop::Blocked, 0));
    kernel.at(1040, 0, 7, switch(7, Stop::Blocked, 0));
    kernel.at(2_000_000_000, 0, 0, switch(0, Stop::Preempted, 8));
    kernel.at(2_000_000_010, 2, 0, switch(0, Stop::Preempted, ROOT));
    let wakeups = kernel.events().into_iter().filter(|(_, _, kind)| matches!(kind, Kind::Wakeup { .. }));
    let expected = Kind::Wakeup { thread: 1, waker: Waker::Interrupt, target: 1, sync: false };
    assert_eq!(wakeups.map(|(_, _, kind)| kind).collect::<Vec<_>>(), [expected]);
}

#[test]
fn switches_missing_after_the_end_are_not_counted() {
    let mut kernel = Kernel::started();
    kernel.at(1020, 2, ROOT, EventKind::Exit { pid: ROOT });
    kernel.at(1030, 2, ROOT, switch(ROOT, Stop::Exited, 0));
    kernel.at(1040, 2, 9, EventKind::Tick { khz: 0 });
    let trace = kernel.trace();
    assert_eq!((trace.header.lost, trace.header.duration), (vec![0, 0], 30));
}

/// Pid, name and parent.
type Process<'a> = (u32, &'a str, Option<u32>);

/// The processes, and the process of each thread by its pid.
fn processes(trace: &Trace) -> (Vec<Process<'_>>, Vec<(u32, Option<u32>)>) {
    let header = &trace.header;
    let processes = header.processes.iter().map(|process| (process.pid, &*process.name, process.parent));
    let threads = header.threads.iter().map(|thread| (thread.kernel_tid.unwrap_or(0), thread.process));
    (processes.collect(), threads.collect())
}

/// The command forks a process and creates a thread; pid 5 existed before, pid 7 is of an unknown process.
#[test]
fn threads_have_processes_where_the_source_says_so() {
    let mut kernel = Kernel::started();
    for (time, child, in_process) in [(1020, 101, false), (1030, 102, true)] {
        kernel.at(time, 2, ROOT, EventKind::NewTask { pid: child, in_process });
        kernel.at(time, 2, ROOT, EventKind::Fork { parent: ROOT, child, child_comm: b"child" });
        kernel.at(time + 1, 2, ROOT, EventKind::WakeupNew { pid: child, comm: b"child", target: 2 });
    }
    // A thread whose process an event names, before that process has a thread in the trace.
    kernel.at(1040, 0, 7, switch(7, Stop::Blocked, 9));
    kernel.at(1041, 0, 9, EventKind::Member { pid: 9, process: 8 });
    let mut assembler = assembler(Scope::Tree { root_pid: ROOT });
    assembler.name(8, b"server");
    assembler.parent(8, 6);
    assembler.parent(6, 1);
    assembler.member(5, 5);
    assembler.member(ROOT, ROOT);
    assembler.parent(ROOT, 6);
    assembler.name(ROOT, b"sh");
    kernel.0.iter().for_each(|event| assembler.event(event));
    let trace = trace(assembler);
    let (found, threads) = processes(&trace);
    let expected = [
        (100, "sh", Some(1)),
        (6, "", Some(2)),
        (1, "", None),
        (5, "", None),
        (101, "child", Some(0)),
        (8, "server", Some(1)),
    ];
    assert_eq!(found, expected);
    let expected = [(100, Some(0)), (7, None), (5, Some(3)), (101, Some(4)), (102, Some(0)), (9, Some(5))];
    assert_eq!(threads, expected);
}

/// A pid that the kernel gives to a second process, and a thread that takes the place of its process by `exec`.
#[test]
fn a_reused_pid_is_another_process() {
    let mut kernel = Kernel::started();
    for (time, child, process, name) in
        [(1020, 101, 101, &b"one"[..]), (1030, 102, 101, b"thread"), (1060, 101, 101, b"two")]
    {
        kernel.at(time, 2, ROOT, EventKind::Fork { parent: ROOT, child, child_comm: name });
        kernel.at(time, 2, ROOT, EventKind::Member { pid: child, process });
        kernel.at(time + 1, 2, ROOT, EventKind::WakeupNew { pid: child, comm: name, target: 0 });
        if child == 102 {
            kernel.at(1040, 0, 7, switch(7, Stop::Blocked, 102));
            kernel.at(1041, 0, 102, EventKind::Exec { pid: 101, old_pid: 102, filename: b"/bin/exec" });
            kernel.at(1042, 0, 101, EventKind::Exit { pid: 101 });
            kernel.at(1043, 0, 101, switch(101, Stop::Exited, 0));
        }
    }
    let trace = kernel.trace_of(Scope::All);
    let (found, threads) = processes(&trace);
    assert_eq!(found, [(101, "exec", None), (101, "two", None)]);
    let of_101: Vec<_> = threads.iter().filter(|(pid, _)| *pid == 101).map(|(_, process)| *process).collect();
    assert_eq!(of_101, [Some(0), Some(0), Some(1)]);
}
