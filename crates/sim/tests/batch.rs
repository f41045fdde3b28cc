//! Runs in parallel give the same traces as sequential runs; a run can be stopped.

use hearth_machine::{Governor, Machine};
use hearth_policy::{Settings, load};
use hearth_sim::{Job, LIMIT, NOISE, Native, SimError, World, run_all, run_until};
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
                    workload: &workload,
                    machine,
                    governor,
                    policy,
                    params: &params,
                    seed,
                    noise: NOISE,
                    world: World::ALL,
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

#[test]
fn a_run_stops_when_it_is_told_to() {
    let job = Job {
        workload: &Workload::resolve("fork-wait:iterations=1000").unwrap(),
        machine: &Machine::builtin("ryzen-3400g").unwrap(),
        governor: Governor::Schedutil,
        policy: &Native::build(load("cfs").unwrap()).unwrap(),
        params: &Settings::default(),
        seed: 1,
        noise: NOISE,
        world: World::default(),
    };
    let stopped = |stop| run_until(&job, LIMIT, &AtomicBool::new(stop), &mut ());
    assert!(matches!(stopped(true), Err(SimError::Stopped)));
    assert!(stopped(false).is_ok());
}
