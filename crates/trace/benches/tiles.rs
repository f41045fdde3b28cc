//! Index of tiles: build throughput in events per second, and time per tile, stored or computed.
//!
//! `cargo bench -p hearth-trace --bench tiles`

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hearth_trace::tiles::{Index, TileId, tile_width};
use hearth_trace::{CoreInfo, Event, Header, IDLE, Kind, Stop, Trace, Waker};
use std::hint::black_box;

const CORES: u16 = 64;
const EVENTS: usize = 4_000_000;

/// Events of threads that wake on random cores, run at a random frequency and block.
fn trace() -> Trace {
    let core = |n: u16| CoreInfo { physical: n / 2, llc: n / 32, numa: n / 32, socket: n / 32 };
    let header = Header { cores: (0..CORES).map(core).collect(), ..Header::default() };
    let mut trace = Trace { header, events: Vec::with_capacity(EVENTS) };
    let (mut random, mut time) = (1u64, 0);
    while trace.events.len() < EVENTS {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (thread, core) = (1 + (random >> 33) as u32 % 5000, (random >> 20) as u16 % CORES);
        let mut say = |delay, kind| trace.events.push(Event { time: time + delay, core, kind });
        say(0, Kind::Wakeup { thread, waker: Waker::Interrupt, target: core, sync: false });
        say(200, Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: thread });
        say(300, Kind::Frequency { khz: 1_000_000 + (random >> 40) as u32 % 28 * 100_000 });
        say(900, Kind::Switch { prev: thread, stop: Stop::Blocked, next: IDLE });
        time += 1000 + (random >> 54);
    }
    trace.header.duration = time;
    trace
}

fn bench(c: &mut Criterion) {
    let trace = trace();
    let mut group = c.benchmark_group("tiles");
    group.sample_size(10);
    group.throughput(Throughput::Elements(EVENTS as u64));
    group.bench_function("build", |b| {
        b.iter(|| {
            let mut bytes = Vec::new();
            Index::build(&trace, &mut bytes).expect("memory");
            black_box(bytes.len())
        });
    });
    let index = Index::in_memory(&trace).expect("memory");
    let mut tile = |name: &str, level: u8| {
        let middle = TileId { level, index: index.end() / 2 / tile_width(level) };
        group.throughput(Throughput::Elements(1));
        group.bench_function(name, |b| b.iter(|| black_box(index.tile(&trace, middle).expect("a tile"))));
    };
    tile("stored", index.coarsest());
    tile("finest stored", index.finest_stored());
    tile("computed, most expensive level", index.finest_stored() - 1);
    tile("computed, finest", 0);
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
