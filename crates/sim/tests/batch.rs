//! Runs in parallel give the same traces as sequential runs.

use hearth_machine::{Governor, Machine};
use hearth_policy::{Settings, load};
use hearth_sim::{Job, NOISE, Native, World, run_all};
use hearth_workload::Workload;

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
