//! Lines per second of the compiler: the checks and the C emitter, on all built-in policies.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hearth_ipanema::builtin::{NAMES, source};
use hearth_ipanema::{compile, emit};
use std::hint::black_box;

fn bench(criterion: &mut Criterion) {
    let check = |name: &&str| compile(&|_: &str| None, name).expect("built-in policies are correct");
    let compiled: Vec<_> = NAMES.iter().map(check).collect();
    let lines: usize = NAMES.iter().filter_map(|name| source(name)).map(|text| text.lines().count()).sum();
    let mut group = criterion.benchmark_group("compiler");
    group.throughput(Throughput::Elements(lines as u64));
    group.bench_function("check", |b| b.iter(|| NAMES.iter().for_each(|name| drop(black_box(check(name))))));
    group.bench_function("emit C", |b| {
        b.iter(|| compiled.iter().for_each(|policy| drop(black_box(emit::c(&policy.ir)))));
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
