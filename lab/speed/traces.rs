//! Measures how fast traces are written, opened, read and measured.
//!
//! `lab-traces make EVENTS TRACE` writes a synthetic trace of a machine with 160 cores; `lab-traces
//! read TRACE` opens, reads and measures it three times; `lab-traces copy TRACE TRACE` reads a
//! trace into memory and writes a copy.

mod stopwatch;

use hearth_trace::{
    CoreInfo, Event, Header, IDLE, Kind, Metrics, Reader, Sink, Stop, Store, TraceHash, Waker, Writer,
};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;
use stopwatch::Stopwatch;

const CORES: u16 = 160;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", events, trace] => make(events.parse()?, Path::new(trace)),
        ["read", trace] => read(Path::new(trace)),
        ["copy", from, to] => copy(Path::new(from), Path::new(to)),
        _ => Err("usage: lab-traces make EVENTS TRACE | read TRACE | copy TRACE TRACE".into()),
    }
}

/// Writes events of 100 threads that wake on random cores, run at a random frequency and block.
fn make(events: u64, path: &Path) -> Result<(), Box<dyn Error>> {
    let core =
        |n: u16| CoreInfo { physical: n % 80, llc: n % 80 / 20, numa: n % 80 / 20, socket: n % 80 / 20 };
    let mut header = Header { cores: (0..CORES).map(core).collect(), ..Header::default() };
    let begin = Stopwatch::start();
    let mut writer = Writer::create(path, &header)?;
    let (mut random, mut time, mut written) = (1u64, 0, 0);
    while written < events {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        time += random >> 53;
        let thread = 1 + (random >> 33) as u32 % 100;
        let core = (random >> 20) as u16 % CORES;
        let mut push = |delay, kind| writer.event(&Event { time: time + delay, core, kind });
        push(0, Kind::Wakeup { thread, waker: Waker::Interrupt, target: core, sync: false });
        push(2, Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: thread });
        push(3, Kind::Frequency { khz: 1_000_000 + (random >> 40) as u32 % 28 * 100_000 });
        push(9, Kind::Switch { prev: thread, stop: Stop::Blocked, next: IDLE });
        time += 10;
        written += 4;
    }
    header.duration = time;
    writer.commit(&header)?;
    begin.report("written", written);
    Ok(())
}

fn read(path: &Path) -> Result<(), Box<dyn Error>> {
    for _ in 0..3 {
        let opened = Instant::now();
        let store = Store::open(path)?;
        println!("opened in {:.1} ms", opened.elapsed().as_secs_f64() * 1e3);
        let bytes: u64 = fs::read_dir(path.join("events"))?
            .map(|file| file?.metadata().map(|m| m.len()))
            .sum::<Result<_, _>>()?;
        println!("{:.2} bytes per event", bytes as f64 / store.events() as f64);
        let events = store.events();
        let begin = Stopwatch::start();
        let mut group = Vec::new();
        for index in 0..store.groups().len() {
            store.read_group_into(index, &mut group)?;
        }
        begin.report("decoded on one core", events);
        each(path, "read", |_| {})?;
        let mut hash = TraceHash::new();
        each(path, "hashed", |event| hash.event(event))?;
        let mut metrics = Metrics::new(store.header());
        each(path, "measured", |event| metrics.event(event))?;
        println!("{} of {events} skipped", metrics.finish(0).skipped_events);
    }
    Ok(())
}

fn each(path: &Path, what: &str, mut take: impl FnMut(&Event)) -> Result<(), Box<dyn Error>> {
    let begin = Stopwatch::start();
    let mut reader = Reader::open(path)?;
    let mut events = 0;
    while let Some(group) = reader.next_group() {
        let group = group?;
        group.iter().for_each(&mut take);
        events += group.len() as u64;
    }
    begin.report(what, events);
    Ok(())
}

/// Reads a trace into memory and writes a copy.
fn copy(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    let trace = Reader::open(from)?.into_trace()?;
    let begin = Stopwatch::start();
    trace.write(to)?;
    begin.report("written", trace.events.len() as u64);
    Ok(())
}
