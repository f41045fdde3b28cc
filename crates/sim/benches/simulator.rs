//! Events per second of the simulator: each policy on the 160-core E7, and cfs from 8 to 640 cores.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hearth_machine::Machine;
use hearth_policy::{load, names};
use hearth_sim::{Job, Native, World, run};
use hearth_workload::Workload;

fn bench(
    criterion: &mut Criterion,
    group: &str,
    name: &str,
    spec: &str,
    machine: &Machine,
    policy: &str,
    world: World,
) {
    let workload = Workload::resolve(spec).expect("a built-in generator");
    let policy = Native::build(load(policy).expect("a built-in policy")).expect("it is linked in");
    let job = Job { noise: 0.02, world, ..Job::new(&workload, machine, &policy) };
    let events = run(&job, &mut ()).expect("the workload runs").events;
    let mut group = criterion.benchmark_group(group);
    group.sample_size(10).throughput(Throughput::Elements(events));
    group.bench_function(BenchmarkId::from_parameter(name), |b| b.iter(|| run(&job, &mut ())));
    group.finish();
}

/// All policies. The target is 5 million events per second for kbuild under cfs.
fn policies(criterion: &mut Criterion) {
    let machine = Machine::builtin("xeon-e7-8870v4").expect("built in");
    for policy in names() {
        bench(criterion, "kbuild on 160 cores", policy, "kbuild", &machine, policy, World::EMPTY);
        bench(criterion, "configure on 160 cores", policy, "configure", &machine, policy, World::EMPTY);
        bench(criterion, "kbuild on 160 cores, full world", policy, "kbuild", &machine, policy, World::ALL);
    }
}

/// The same load on more and more cores, nearly all of them idle: the cost of an event should not grow.
fn cores(criterion: &mut Criterion) {
    let base = Machine::builtin("xeon-e7-8870v4").expect("built in");
    for (sockets, per_socket) in [(1, 4), (1, 20), (4, 20), (8, 20), (16, 20)] {
        let machine = base.scaled(sockets, per_socket).expect("a possible machine");
        let name = (2 * sockets * per_socket).to_string();
        bench(criterion, "configure under cfs, by cores", &name, "configure", &machine, "cfs", World::EMPTY);
    }
}

criterion_group!(benches, policies, cores);
criterion_main!(benches);
