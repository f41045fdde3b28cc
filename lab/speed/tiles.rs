//! Measures the index of a large trace: `cargo run --release -p hearth-lab --bin lab-tiles --
//! FOLDER [EVENTS] [CORES]`
//!
//! Creates the trace if `FOLDER` does not exist.

mod stopwatch;

use hearth_trace::tiles::{Index, TileId, coarsest_level, tile_width};
use hearth_trace::*;
use std::path::Path;
use std::time::Instant;
use stopwatch::Stopwatch;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(arguments.first().ok_or("usage: lab-tiles FOLDER [EVENTS] [CORES]")?);
    let events = arguments.get(1).map_or(Ok(100_000_000), |text| text.parse())?;
    let cores = arguments.get(2).map_or(Ok(64), |text| text.parse())?;
    if !folder.exists() {
        let started = Instant::now();
        make(folder, events, cores)?;
        println!("written with its index in {:.1} s", started.elapsed().as_secs_f64());
    }
    let started = Instant::now();
    let store = Store::open(folder)?;
    println!("trace opened in {:.1} ms", ms(started));
    let begin = Stopwatch::start();
    Index::write(&store)?;
    begin.report("index built", store.events());
    let bytes = std::fs::metadata(folder.join("tiles/index"))?.len();
    println!("index: {bytes} bytes, {:.3} bytes per event", bytes as f64 / store.events() as f64);
    let started = Instant::now();
    let index = Index::of(&store)?;
    println!(
        "index opened in {:.1} ms; {} tiles stored, levels {} to {}",
        ms(started),
        index.tiles().count(),
        index.finest_stored(),
        index.coarsest()
    );
    for level in (0..=coarsest_level(index.end())).rev() {
        time_tiles(&store, &index, level)?;
    }
    println!("peak memory: {}", peak_memory().unwrap_or_default());
    Ok(())
}

fn ms(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1e3
}

/// CPU time of this thread in milliseconds. On a busy machine, wall-clock time is too noisy.
fn thread_ms() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    times.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e6
}

/// Times 30 tiles of a level, spread over the trace.
fn time_tiles(store: &Store, index: &Index, level: u8) -> Outcome {
    let count = index.end() / tile_width(level) + 1;
    let mut times = Vec::new();
    let mut stored = 0;
    for n in 0..count.min(30) {
        let id = TileId { level, index: (n * 7919 * (count / 30 + 1)) % count };
        let started = thread_ms();
        index.tile(store, id)?.ok_or("a tile of the trace")?;
        times.push(thread_ms() - started);
        stored += usize::from(index.is_stored(id));
    }
    times.sort_by(f64::total_cmp);
    println!(
        "level {level:2}: {stored:2} of {:2} stored; ms of CPU time per tile: median {:.2}, maximum {:.2}",
        times.len(),
        times[times.len() / 2],
        times[times.len() - 1]
    );
    Ok(())
}

fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    Some(status.lines().find(|line| line.starts_with("VmHWM"))?[6..].trim().to_owned())
}

/// Writes events of threads that wake on random cores, run at a random frequency and block; one
/// second in four is quiet.
fn make(folder: &Path, count: u64, cores: u16) -> Outcome {
    let core = |n: u16| CoreInfo { physical: n / 2, llc: n / 32, numa: n / 32, socket: n / 32 };
    let threads = 5000;
    let thread = |tid| ThreadInfo {
        tid,
        name: format!("worker {tid}"),
        traced: tid % 10 != 0,
        ..ThreadInfo::default()
    };
    let mut header = Header {
        cores: (0..cores).map(core).collect(),
        threads: (1..=threads).map(thread).collect(),
        ..Header::default()
    };
    let mut writer = Writer::create(folder, &header)?;
    let (mut random, mut time, mut done) = (1u64, 0, 0);
    while done < count {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let quiet = time / 1_000_000_000 % 4 == 0;
        time += (random >> 54) * if quiet { 8 } else { 1 };
        let thread = 1 + (random >> 33) as u32 % threads;
        let core = (random >> 20) as u16 % cores;
        let mut say = |delay, kind| writer.event(&Event { time: time + delay, core, kind });
        say(0, Kind::Wakeup { thread, waker: Waker::Interrupt, target: core, sync: false });
        say(200, Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: thread });
        say(300, Kind::Frequency { khz: 1_000_000 + (random >> 40) as u32 % 28 * 100_000 });
        say(900, Kind::Switch { prev: thread, stop: Stop::Blocked, next: IDLE });
        time += 1000;
        done += 4;
    }
    header.duration = time;
    Ok(writer.commit(&header)?)
}
