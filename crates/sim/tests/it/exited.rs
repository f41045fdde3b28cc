//! A thread that has exited counts for the next one on its core until the kernel updates the core.

use hearth_machine::{Governor, Machine};
use hearth_policy::load;
use hearth_sim::{Job, Native, World, run};
use hearth_trace::{Event, Kind};
use hearth_workload::{Op, Thread, Workload};

/// Cycles of a millisecond at 2.1 GHz.
const WORK_MS: u64 = 2_100_000;

/// Time in ms that the second of two equal threads on core 4 takes, if core 0 forks it after working for `gap` ms.
fn second_takes(gap: u64) -> f64 {
    let thread = |core: u16, ops| Thread { affinity: vec![core], ops, ..Thread::default() };
    let child = || thread(4, vec![Op::Run(20 * WORK_MS)]);
    let work = Op::Run(gap * WORK_MS);
    let main = thread(0, vec![Op::Fork(1), Op::Join(1), work, Op::Fork(2), Op::Join(2)]);
    let workload =
        Workload { name: "small".into(), threads: vec![main, child(), child()], ..Workload::default() };
    let (machine, policy) = (Machine::builtin("xeon-e7-8870v4").unwrap(), load("cfs").unwrap());
    let policy = Native::build(policy).unwrap();
    let (governor, world) = (Governor::Schedutil, World::EMPTY);
    let mut events = Vec::<Event>::new();
    let job = Job { governor, world, noise: 0.0, ..Job::new(&workload, &machine, &policy) };
    run(&job, &mut events).unwrap();
    let time = |of: fn(&Kind) -> bool| events.iter().find(|event| of(&event.kind)).unwrap().time as f64;
    let (forked, exited) = (
        time(|kind| matches!(kind, Kind::Fork { child: 3, .. })),
        time(|kind| matches!(kind, Kind::Exit { thread: 3 })),
    );
    (exited - forked) / 1e6
}

#[test]
fn a_thread_is_slower_where_another_has_just_exited() {
    let (at_once, later) = (second_takes(1), second_takes(100));
    assert!(at_once > 1.1 * later, "{at_once} and {later} ms");
}
