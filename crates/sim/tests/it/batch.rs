//! Runs in parallel give the same traces as sequential runs; a run can be stopped.

use hearth_machine::{Governor, Machine};
use hearth_policy::{Settings, load};
use hearth_sim::{Job, Native, SimError, World, run, run_all};
use hearth_workload::Workload;
use std::sync::atomic::AtomicBool;

#[test]
fn traces_do_not_depend_on_the_number_of_worker_threads() {
    let workload = Workload::resolve("configure:tests=30").unwrap();
    let machines: Vec<Machine> = ["xeon-5218", "ryzen-4650g"].map(|m| Machine::builtin(m).unwrap()).into();
    let native = |name: &str| Native::build(load(name).unwrap()).unwrap();
    let policies = ["cfs", "slocal", "smove", "nest"].map(native);
    let params = Settings::default();
    let mut jobs = Vec::new();
    for machine in &machines {
        for policy in &policies {
            for seed in 0..3 {
                let governor = Governor::Schedutil;
                jobs.push(Job {
                    governor,
                    params: &params,
                    seed,
                    world: World::ALL,
                    ..Job::new(&workload, machine, policy)
                });
            }
        }
    }
    let hashes = |threads: usize| -> Vec<String> {
        run_all(&jobs, threads, || ()).into_iter().map(|outcome| outcome.unwrap().trace_hash).collect()
    };
    let sequential = hashes(1);
    assert_eq!(sequential, hashes(2));
    assert_eq!(sequential, hashes(7));
    // Each seed and policy gives a different trace.
    let mut distinct = sequential.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), sequential.len());
}

fn job<'a>(
    workload: &'a Workload,
    machine: &'a Machine,
    policy: &'a Native,
    params: &'a Settings,
) -> Job<'a> {
    let (governor, world) = (Governor::Schedutil, World::default());
    Job { governor, params, world, ..Job::new(workload, machine, policy) }
}

#[test]
fn a_run_stops_when_it_is_told_to() {
    let (workload, machine, policy, params) = (
        Workload::resolve("fork-wait:iterations=1000").unwrap(),
        Machine::builtin("ryzen-3400g").unwrap(),
        Native::build(load("cfs").unwrap()).unwrap(),
        Settings::default(),
    );
    let job = job(&workload, &machine, &policy, &params);
    let stopped = |stop| run(&Job { stop: Some(&AtomicBool::new(stop)), ..job }, &mut ());
    assert!(matches!(stopped(true), Err(SimError::Stopped)));
    assert!(stopped(false).is_ok());
}

#[test]
fn a_policy_that_stops_time_is_to_blame() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("still.ipa");
    let text = "policy still extends cfs { on unblock (thread t, core waker) { arm(t, 0ns); super; } on timer (thread t) { arm(t, 0ns); } }";
    std::fs::write(&path, text).unwrap();
    let policy = load(path.to_str().unwrap()).unwrap();
    let (workload, machine, policy, params) = (
        Workload::resolve("hackbench").unwrap(),
        Machine::builtin("ryzen-3400g").unwrap(),
        Native::build(policy).unwrap(),
        Settings::default(),
    );
    let job = job(&workload, &machine, &policy, &params);
    let error = run(&job, &mut ()).unwrap_err().to_string();
    assert!(error.contains("policy `still`") && error.contains("no time passes"), "{error}");
}

/// Two threads that wake each other.
fn ping_pong(rounds: u32) -> Workload {
    let thread = |name: &str, own: u32, other: u32| {
        format!(
            r#"{{"name":"{name}","ops":[{{"repeat":[{rounds},[{{"wait":{own}}},{{"run":1000}},{{"post":{other}}}]]}}]}}"#
        )
    };
    let threads = [thread("ping", 0, 1), thread("pong", 1, 0)].join(",");
    let text =
        format!(r#"{{"hearth_workload":1,"name":"ping-pong","semaphores":[1,0],"threads":[{threads}]}}"#);
    Workload::parse(&text, "test").unwrap()
}

#[test]
fn a_run_with_too_many_events_stops() {
    let (workload, machine, policy, params) = (
        // Without a limit: hours.
        ping_pong(1_000_000_000),
        Machine::builtin("ryzen-3400g").unwrap(),
        Native::build(load("cfs").unwrap()).unwrap(),
        Settings::default(),
    );
    let job = Job { most_events: 10_000, ..job(&workload, &machine, &policy, &params) };
    let error = run(&job, &mut ()).map(|_| "no error").unwrap_err();
    assert!(matches!(error, SimError::Events { most: 10_000, .. }), "{error}");
    assert!(error.to_string().contains("more than 10000 events in 0."), "{error}");
}

/// Each wake-up arms its thread's timer again, for a time after the end of the run.
#[test]
fn cancelled_timers_do_not_fill_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rearms.ipa");
    let again = "arm(t, 1000s); ".repeat(50);
    let text =
        format!("policy rearms extends cfs {{ on unblock (thread t, core waker) {{ {again} super; }} }}");
    std::fs::write(&path, text).unwrap();
    let (machine, policy, params) = (
        Machine::builtin("ryzen-3400g").unwrap(),
        Native::build(load(path.to_str().unwrap()).unwrap()).unwrap(),
        Settings::default(),
    );
    let peak = |rounds| {
        let workload = ping_pong(rounds);
        let job = job(&workload, &machine, &policy, &params);
        allocation_counter::measure(|| drop(run(&job, &mut ()).unwrap())).bytes_max
    };
    let (short, long) = (peak(2000), peak(8000));
    assert!(long < 2 * short, "{short} bytes, then {long} bytes");
}
