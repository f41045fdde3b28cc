//! Throughput of the metrics, the hash and the store in events per second, on a machine with 160
//! cores.
//!
//! `cargo bench -p hearth-trace`

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hearth_trace::{
    CoreInfo, Event, Header, IDLE, Kind, Metrics, Reader, Sink, Stop, Store, TraceHash, Waker, Writer,
};
use std::hint::black_box;

const CORES: u16 = 160;

fn header() -> Header {
    let core =
        |n: u16| CoreInfo { physical: n % 80, llc: n % 80 / 20, numa: n % 80 / 20, socket: n % 80 / 20 };
    Header { cores: (0..CORES).map(core).collect(), duration: 1 << 40, ..Header::default() }
}

/// Events of 100 threads that wake on random cores, run at a random frequency and block: the most
/// expensive kinds of events, roughly in the proportions in which they occur.
fn events(count: usize) -> Vec<Event> {
    let mut events = Vec::with_capacity(count);
    let mut random = 1u64;
    let mut time = 0;
    while events.len() < count {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        time += random >> 53;
        let thread = 1 + (random >> 33) as u32 % 100;
        let core = (random >> 20) as u16 % CORES;
        let mut push = |delay, kind| events.push(Event { time: time + delay, core, kind });
        push(0, Kind::Wakeup { thread, waker: Waker::Interrupt, target: core, sync: false });
        push(2, Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: thread });
        push(3, Kind::Frequency { khz: 1_000_000 + (random >> 40) as u32 % 28 * 100_000 });
        push(9, Kind::Switch { prev: thread, stop: Stop::Blocked, next: IDLE });
        time += 10;
    }
    events
}

fn bench(c: &mut Criterion) {
    let (header, events) = (header(), events(1_000_000));
    let mut group = c.benchmark_group("trace");
    group.sample_size(10).throughput(Throughput::Elements(events.len() as u64));
    group.bench_function("metrics", |b| {
        b.iter(|| {
            let mut metrics = Metrics::new(&header);
            events.iter().for_each(|event| metrics.event(event));
            black_box(metrics.finish(0))
        });
    });
    group.bench_function("hash", |b| {
        b.iter(|| {
            let mut hash = TraceHash::new();
            events.iter().for_each(|event| hash.event(event));
            black_box(hash.value())
        });
    });
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t");
    let write = || {
        let mut writer = Writer::create(&path, &header).expect("a folder");
        events.iter().for_each(|event| writer.event(event));
        writer.commit(&header).expect("a folder");
    };
    group.bench_function("write", |b| b.iter(write));
    write();
    group.bench_function("open", |b| b.iter(|| black_box(Store::open(&path).expect("a trace").events())));
    // A background thread reads and decodes ahead of the consumer.
    group.bench_function("read", |b| {
        b.iter(|| black_box(Reader::open(&path).expect("a trace").filter(|event| event.is_ok()).count()));
    });
    group.bench_function("decode", |b| {
        let store = Store::open(&path).expect("a trace");
        b.iter(|| (0..store.groups().len()).for_each(|i| drop(black_box(store.read_group(i)))));
    });
    // From disk to metrics, on two cores.
    group.bench_function("read and measure", |b| {
        b.iter(|| {
            let mut metrics = Metrics::new(&header);
            Reader::open(&path).expect("a trace").flatten().for_each(|event| metrics.event(&event));
            black_box(metrics.finish(0))
        });
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
