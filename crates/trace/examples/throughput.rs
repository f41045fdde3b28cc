//! How fast traces are written, opened, read and measured here.
//!
//! `throughput make EVENTS TRACE` writes a made-up trace of a machine with 160 cores;
//! `throughput read TRACE` opens, reads and measures one, each several times.

mod since;

use hearth_trace::{
    CoreInfo, Event, Header, IDLE, Kind, Metrics, Reader, Sink, Stop, Store, TraceHash, Waker, Writer,
};
use since::Since;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;

const CORES: u16 = 160;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", events, trace] => make(events.parse()?, Path::new(trace)),
        ["read", trace] => read(Path::new(trace)),
        ["copy", from, to] => copy(Path::new(from), Path::new(to)),
        _ => Err("usage: throughput make EVENTS TRACE | read TRACE | copy TRACE TRACE".into()),
    }
}

/// A hundred threads that are woken all over the machine, run at some frequency and block.
fn make(events: u64, path: &Path) -> Result<(), Box<dyn Error>> {
    let core =
        |n: u16| CoreInfo { physical: n % 80, llc: n % 80 / 20, numa: n % 80 / 20, socket: n % 80 / 20 };
    let mut header = Header { cores: (0..CORES).map(core).collect(), ..Header::default() };
    let begin = Since::now();
    let mut writer = Writer::create(path, &header)?;
    let (mut random, mut time, mut written) = (1u64, 0, 0);
    while written < events {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        time += random >> 53;
        let thread = 1 + (random >> 33) as u32 % 100;
        let core = (random >> 20) as u16 % CORES;
        let mut push = |delay, kind| writer.event(&Event { time: time + delay, core, kind });
        push(0, Kind::Wakeup { thread, waker: Waker::Interrupt, target: core });
        push(2, Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: thread });
        push(3, Kind::Frequency { khz: 1_000_000 + (random >> 40) as u32 % 28 * 100_000 });
        push(9, Kind::Switch { prev: thread, stop: Stop::Blocked, next: IDLE });
        time += 10;
        written += 4;
    }
    header.duration = time;
    writer.commit(&header)?;
    begin.told("written", written);
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
        let begin = Since::now();
        let mut group = Vec::new();
        for index in 0..store.groups().len() {
            store.read_group_into(index, &mut group)?;
        }
        begin.told("decoded on one core", events);
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
    let begin = Since::now();
    let mut reader = Reader::open(path)?;
    let mut events = 0;
    while let Some(group) = reader.next_group() {
        let group = group?;
        group.iter().for_each(&mut take);
        events += group.len() as u64;
    }
    begin.told(what, events);
    Ok(())
}

/// Reads one into memory and writes it again.
fn copy(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    let trace = Reader::open(from)?.into_trace()?;
    let begin = Since::now();
    trace.write(to)?;
    begin.told("written", trace.events.len() as u64);
    Ok(())
}
