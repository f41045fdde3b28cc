//! What a policy sees of cores that have been idle since before the run.

use hearth_machine::{Governor, Machine};
use hearth_policy::load;
use hearth_sim::{Job, Native, World, run};
use hearth_trace::{Event, Kind};
use hearth_workload::{Op, Thread, Workload};

/// The reason of a placement tells whether most idle cores are in the C6 of an E7: they take 92 us to wake up.
const POLICY: &str = "policy watched extends cfs {
    on new (thread t, core parent) {
        if (sum(core c in idle of c.exit_latency) > 150 * 92us) t => parent.ready because deep;
        t => parent.ready because shallow;
    }
}";

/// Reason of the first placement, and the frequency in kHz that the policy saw.
fn first_placement(governor: Governor, world: World) -> (String, u32) {
    let run_ms = || Thread { ops: vec![Op::Run(2_100_000)], ..Thread::default() };
    let workload = Workload { name: "small".into(), threads: vec![run_ms()], ..Workload::default() };
    let machine = Machine::builtin("xeon-e7-8870v4").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("watched.ipa");
    std::fs::write(&file, POLICY).unwrap();
    let policy = Native::build(load(file.to_str().unwrap()).unwrap()).unwrap();
    let mut events = Vec::<Event>::new();
    let outcome =
        run(&Job { governor, world, ..Job::new(&workload, &machine, &policy) }, &mut events).unwrap();
    let place = events.iter().find_map(|event| match event.kind {
        Kind::Place { reason, seen_khz, .. } => Some((reason, seen_khz)),
        _ => None,
    });
    let (reason, seen_khz) = place.unwrap();
    (outcome.header.reasons[usize::from(reason)].clone(), seen_khz)
}

#[test]
fn cores_that_never_ran_are_in_their_deepest_idle_state() {
    for world in [World::EMPTY, World { warm: true, ..World::EMPTY }] {
        assert_eq!(first_placement(Governor::Schedutil, world).0, "deep");
    }
}

#[test]
fn before_the_first_tick_a_core_has_the_frequency_that_its_governor_requests() {
    let seen = |governor| first_placement(governor, World::EMPTY).1;
    assert_eq!([seen(Governor::Schedutil), seen(Governor::Performance)], [1_200_000, 3_000_000]);
}
