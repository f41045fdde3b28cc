//! Traces as read by pandas, polars and DuckDB, without Hearth's code.
//!
//! `scripts/need readers` installs them. Without them, only Hearth's own reader is tested.

use hearth_trace::*;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Number of events, of all kinds; more than one group.
const EVENTS: u64 = 200_000;

fn event(i: u64) -> Event {
    let (thread, other) = (1 + (i % 4_000_000_000) as u32, (i * i % 1_000) as Tid);
    let (target, core) = ((i % 160) as CoreId, (i / 7 % 160) as CoreId);
    let khz = u32::MAX - (i % 9) as u32;
    let stop = [Stop::Preempted, Stop::Yielded, Stop::Blocked, Stop::Exited][(i / 14 % 4) as usize];
    let kind = match i % 14 {
        0 => Kind::Switch { prev: other, stop, next: thread },
        1 => Kind::Wakeup { thread, waker: Waker::Thread(other + 1), target, sync: false },
        2 => Kind::Fork { parent: other, child: thread, target },
        3 => Kind::Exec { thread, name: other % 2 },
        4 => Kind::Exit { thread },
        5 => Kind::Wait { thread },
        6 => Kind::Migrate { thread, from: core, to: target },
        7 => Kind::Place { thread, target, reason: 1, seen_khz: khz },
        8 => Kind::Frequency { khz },
        9 => Kind::Tick { khz },
        10 => Kind::Idle { state: 200 },
        11 => Kind::Spin { on: i % 28 < 14 },
        12 => Kind::Queue { length: 65_535 },
        _ => Kind::Set { set: 1, member: i % 28 < 14 },
    };
    Event { time: i * 997, core, kind }
}

fn header() -> Header {
    let thread = |tid| ThreadInfo {
        tid,
        name: format!("thread {tid} ☃"),
        parent: tid / 2,
        traced: tid % 3 > 0,
        kernel_tid: (tid % 5 > 0).then_some(tid + 1000),
        process: (tid % 7 > 0).then_some(tid % 4),
    };
    let process = |number: u32| ProcessInfo {
        pid: number + 1000,
        name: format!("process {number}"),
        parent: number.checked_sub(1),
    };
    Header {
        machine: "made up".into(),
        cores: (0..160)
            .map(|n| CoreInfo { physical: n % 80, llc: n / 20, numa: n / 20, socket: n / 40 })
            .collect(),
        threads: (1..100).map(thread).collect(),
        processes: (0..4).map(process).collect(),
        names: vec!["sh".into(), "cc1".into()],
        reasons: vec!["first".into(), "second".into()],
        sets: vec!["primary".into(), "reserve".into()],
        ..Header::default()
    }
}

#[derive(Default)]
struct Sums(BTreeMap<&'static str, u64>);

impl Sums {
    fn of(path: &Path) -> Sums {
        let mut sums = Sums::default();
        let reader = Reader::open(path).unwrap();
        for core in &reader.header().cores {
            sums.add("cores.socket", core.socket);
        }
        for thread in &reader.header().threads {
            sums.add("threads.traced", thread.traced);
            sums.add("threads.name", thread.name.chars().count() as u32);
            for (name, value) in [("threads.tid", thread.kernel_tid), ("threads.process", thread.process)] {
                value.inspect(|value| sums.add(name, *value));
            }
        }
        for process in &reader.header().processes {
            sums.add("processes.pid", process.pid);
            process.parent.inspect(|parent| sums.add("processes.parent", *parent));
        }
        reader.for_each(|event| sums.event(&event.unwrap()));
        sums
    }

    fn add(&mut self, name: &'static str, value: impl Into<u64>) {
        let sum = self.0.entry(name).or_default();
        *sum += value.into();
    }

    /// Written by hand instead of with the store's conversion, which is under test.
    fn event(&mut self, event: &Event) {
        self.add("events", 1u32);
        self.add("time", event.time);
        self.add("core", event.core);
        let (number, name) = match event.kind {
            Kind::Switch { .. } => (1u32, "switch"),
            Kind::Wakeup { .. } => (2, "wakeup"),
            Kind::Fork { .. } => (3, "fork"),
            Kind::Exec { .. } => (4, "exec"),
            Kind::Exit { .. } => (5, "exit"),
            Kind::Wait { .. } => (6, "wait"),
            Kind::Migrate { .. } => (7, "migrate"),
            Kind::Place { .. } => (8, "place"),
            Kind::Frequency { .. } => (9, "frequency"),
            Kind::Tick { .. } => (10, "tick"),
            Kind::Idle { .. } => (11, "idle"),
            Kind::Spin { .. } => (12, "spin"),
            Kind::Queue { .. } => (13, "queue"),
            Kind::Set { .. } => (14, "set"),
        };
        self.add("kind", number);
        self.add(name, 1u32);
        match event.kind {
            Kind::Switch { prev, next, .. } => self.threads(prev, next),
            Kind::Wakeup { thread, waker: Waker::Thread(waker), .. } => self.threads(thread, waker),
            Kind::Fork { parent, child, .. } => self.threads(parent, child),
            Kind::Exec { thread, name } => self.threads(thread, name),
            Kind::Wakeup { thread, .. }
            | Kind::Exit { thread }
            | Kind::Wait { thread }
            | Kind::Migrate { thread, .. }
            | Kind::Place { thread, .. } => self.threads(thread, 0),
            _ => {}
        }
        match event.kind {
            Kind::Wakeup { target, .. } | Kind::Fork { target, .. } => self.add("target", target),
            Kind::Migrate { from, to, .. } => (self.add("target", to), self.add("detail", from)).0,
            Kind::Place { target, reason, seen_khz, .. } => {
                self.add("target", target);
                self.add("detail", reason);
                self.add("value", seen_khz);
            }
            Kind::Frequency { khz } | Kind::Tick { khz } => self.add("value", khz),
            Kind::Idle { state } => self.add("detail", state),
            Kind::Spin { on } => self.add("detail", on),
            Kind::Queue { length } => self.add("value", length),
            Kind::Set { set, member } => (self.add("detail", set), self.add("value", member)).0,
            Kind::Switch { stop, .. } => self.add(
                "detail",
                match stop {
                    Stop::Preempted => 0u32,
                    Stop::Yielded => 1,
                    Stop::Blocked => 2,
                    Stop::Exited => 3,
                },
            ),
            _ => {}
        }
    }

    fn threads(&mut self, thread: Tid, other: Tid) {
        self.add("thread", thread);
        self.add("other", other);
    }
}

/// Asserts that the other readers get the same sums.
fn others_agree(path: &Path) {
    let sums = Sums::of(path);
    let Some(readers) = hearth_tests::packages("readers") else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/readers.py");
    let mut python = Command::new("python3")
        .args([script.as_ref(), path])
        .env("PYTHONPATH", readers)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let expected = serde_json::to_string(&sums.0).unwrap();
    python.stdin.take().unwrap().write_all(expected.as_bytes()).unwrap();
    assert!(python.wait().unwrap().success(), "another reader gives different sums");
}

#[test]
fn a_whole_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole");
    let mut writer = Writer::create(&path, &header()).unwrap();
    for i in 0..EVENTS {
        writer.event(&event(i));
        if i == 150_000 {
            writer.flush(); // more than one segment
        }
    }
    writer.commit(&header()).unwrap();
    let mut written = Sums::default();
    (0..EVENTS).for_each(|i| written.event(&event(i)));
    let read = Sums::of(&path).0;
    for (name, sum) in &written.0 {
        assert_eq!(read.get(name), Some(sum), "{name}");
    }
    others_agree(&path);
}

/// Not a test: the process that the next test kills. It writes forever.
#[test]
#[ignore = "writes forever; started by another test"]
fn writer() {
    let Ok(path) = std::env::var("HEARTH_WRITES") else { return };
    let mut early = header();
    early.threads.clear();
    let mut writer = Writer::create(path, &early).unwrap();
    header().threads.iter().for_each(|thread| writer.thread(thread));
    for i in 0.. {
        writer.event(&event(i));
        if i % 30_000 == 29_999 {
            writer.flush();
            println!("flushed {}", i + 1);
        }
    }
}

#[test]
fn a_killed_writer_leaves_a_readable_prefix() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("killed");
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "readers::writer", "--ignored", "--nocapture"])
        .env("HEARTH_WRITES", &path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(writer.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut flushes = lines.filter_map(|line| line.split("flushed ").nth(1)?.trim().parse::<u64>().ok());
    // Kills it in the middle of a group.
    let asked = flushes.nth(7).expect("it flushes");
    writer.kill().unwrap(); // SIGKILL
    writer.wait().unwrap();

    assert!(!path.exists());
    let path = folder.path().join("killed.partial");
    let store = Store::open(&path).unwrap();
    assert!(!store.complete());
    // Flushes are queued, so the last few may not be on disk.
    assert!(
        store.events() + 4 * 30_000 >= asked && store.events() >= 30_000,
        "{} of {asked}",
        store.events()
    );
    assert_eq!(store.header().threads, header().threads);
    for (i, read) in Reader::open(&path).unwrap().enumerate() {
        assert_eq!(read.unwrap(), event(i as u64));
    }
    others_agree(&path);
    // A segment that was closed just before the kill, not yet named in trace.json.
    let file = |number: usize| path.join(format!("events/{number:06}.parquet"));
    let named = (0..).find(|number| !file(*number).exists()).unwrap();
    std::fs::copy(file(0), file(named)).unwrap();
    assert_eq!(Reader::open(&path).unwrap().count() as u64, store.events());
    others_agree(&path);
}
