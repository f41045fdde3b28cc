//! Wake-ups that the kernel queues on the target core change frequencies only.

use hearth_machine::{Governor, Machine};
use hearth_policy::load;
use hearth_sim::{Job, Native, World, run};
use hearth_workload::Workload;

/// The hashes of a run under EEVDF and under a copy that is no part of a kernel, so that its wake-ups are not queued.
fn hashes(governor: Governor, sched_ext: bool) -> [String; 2] {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("plain.ipa");
    let text = include_str!("../../../../policies/eevdf.ipa").replace("policy eevdf", "policy plain");
    std::fs::write(&copy, text).unwrap();
    let machine = Machine::builtin("xeon-e7-8870v4").unwrap();
    let workload = Workload::resolve("schbench:messages=2,workers=4,rounds=10").unwrap();
    ["eevdf", copy.to_str().unwrap()].map(|name| {
        let policy = Native::build(load(name).unwrap()).unwrap();
        let world = World { sched_ext, ..World::default() };
        run(&Job { governor, world, ..Job::new(&workload, &machine, &policy) }, &mut ()).unwrap().trace_hash
    })
}

#[test]
fn queued_wake_ups_change_requests_only() {
    let [queued, direct] = hashes(Governor::Schedutil, false);
    assert_ne!(queued, direct, "the target's governor is called at the wake-up");
    for (governor, sched_ext) in [(Governor::Performance, false), (Governor::Schedutil, true)] {
        let [queued, direct] = hashes(governor, sched_ext);
        assert_eq!(queued, direct, "{governor}");
    }
}
