//! Recordings with fewer events than Hearth's own, and their wrappers: what was not recorded is unknown.

use super::write::text::{self, Form};
use super::write::trace_dat::{self, Version};
use super::write::{Entry, KERNELS, Kernel, MACHINES, State, Task, What, perf_data, perfetto};
use hearth_formats::{Error, ImportFormat, Imported, import_bytes};
use hearth_trace::{Event, IDLE, Kind, Stop, Trace, Unrecorded, Waker};
use std::io::{Cursor, Write};

fn read(bytes: &[u8], format: ImportFormat) -> Result<(Imported, Trace), Error> {
    let mut events = Vec::new();
    let imported = import_bytes(Cursor::new(bytes), format, &std::env::temp_dir(), &mut events)?;
    let trace = Trace { header: imported.header.clone(), events };
    Ok((imported, trace))
}

fn task(pid: i32, comm: &str) -> Task {
    Task { pid, process: pid, comm: comm.into() }
}

fn at(time: u64, cpu: u32, task: &Task, what: What) -> Entry {
    Entry { time, cpu, task: task.clone(), interrupt: false, what }
}

fn switch(time: u64, cpu: u32, prev: &Task, state: State, next: &Task) -> Entry {
    at(time, cpu, prev, What::Switch { state, next: next.clone() })
}

const US: u64 = 1000;
const MS: u64 = 1000 * US;

/// All forms of some events.
fn forms(entries: &[Entry], kernel: Kernel) -> Vec<(&'static str, Vec<u8>, ImportFormat)> {
    let machine = MACHINES[0];
    let text = |form| text::write(entries, kernel, machine, form).into_bytes();
    vec![
        ("trace.dat 6", trace_dat::write(entries, kernel, machine, Version::Six), ImportFormat::TraceDat),
        (
            "trace.dat 7",
            trace_dat::write(entries, kernel, machine, Version::SevenZstd),
            ImportFormat::TraceDat,
        ),
        ("perf.data", perf_data::write(entries, kernel, machine, false), ImportFormat::PerfData),
        ("Perfetto", perfetto::write(entries, kernel, true), ImportFormat::Perfetto),
        ("ftrace", text(Form::Kernel), ImportFormat::Text),
        ("trace-cmd report", text(Form::Report), ImportFormat::Text),
        ("trace-cmd report -R", text(Form::Raw), ImportFormat::Text),
        ("perf script", text(Form::Script), ImportFormat::Text),
    ]
}

fn stops_of(trace: &Trace, comm: &str) -> Vec<Stop> {
    let tid = trace.header.threads.iter().find(|thread| thread.name == comm).expect(comm).tid;
    let stop = |event: &Event| match event.kind {
        Kind::Switch { prev, stop, .. } if prev == tid => Some(stop),
        _ => None,
    };
    trace.events.iter().filter_map(stop).collect()
}

/// How a wake-up is recorded.
type Woken = fn(Task) -> What;

/// A thread sleeps ten times for 99 ms while another computes, and runs for 1 ms. `woken` is how its wake-ups, 50 µs before, are
/// recorded.
fn sleeper(woken: &[Woken]) -> Vec<Entry> {
    let (hog, sleeper) = (task(200, "hog"), task(100, "sleeper"));
    let mut entries = Vec::new();
    for round in 1..=10 {
        let begin = round * 100 * MS;
        for (later, woken) in woken.iter().enumerate() {
            entries.push(at(begin - 50 * US + later as u64 * US, 0, &hog, woken(sleeper.clone())));
        }
        entries.push(switch(begin, 0, &hog, State::Runnable, &sleeper));
        entries.push(switch(begin + MS, 0, &sleeper, State::Sleeping, &hog));
    }
    entries
}

fn waking(woken: Task) -> What {
    What::Waking { woken, target: 0 }
}

fn wakeup(woken: Task) -> What {
    What::Wakeup { woken, target: 0 }
}

#[test]
fn without_wakeups_a_sleep_is_a_sleep_and_waiting_is_unknown() {
    for (name, bytes, format) in forms(&sleeper(&[]), KERNELS[5]) {
        let (imported, trace) = read(&bytes, format).unwrap();
        assert_eq!(stops_of(&trace, "sleeper"), [Stop::Blocked; 10], "{name}");
        assert_eq!(stops_of(&trace, "hog").len(), 10, "{name}");
        assert!(trace.events.iter().all(|event| !matches!(event.kind, Kind::Wakeup { .. })), "{name}");
        let summary = trace.summary();
        assert_eq!((summary.wakeups, summary.wakeup_latency_us.count), (0, 0), "{name}");
        let missing = trace.header.source.unrecorded();
        assert_eq!(missing, Unrecorded { wakeups: true, threads: false }, "{name}");
        assert!(
            imported.notes.iter().any(|note| note.contains("no wake-ups")),
            "{name}: {:?}",
            imported.notes
        );
        assert_eq!(imported.inferred, 0, "{name}");
    }
}

/// As for `sched_waking`, in every form, if there is only `sched_wakeup`, or both.
#[test]
fn either_kind_of_wakeup_suffices() {
    let recorded: [(&[Woken], bool); 3] = [(&[waking], false), (&[wakeup], true), (&[waking, wakeup], false)];
    for (woken, only_wakeup) in recorded {
        for (name, bytes, format) in forms(&sleeper(woken), KERNELS[5]) {
            let (imported, trace) = read(&bytes, format).unwrap();
            assert_eq!(stops_of(&trace, "sleeper"), [Stop::Blocked; 10], "{name}");
            let summary = trace.summary();
            assert_eq!((summary.wakeups, summary.wakeup_latency_us.p50.round()), (10, 50.0), "{name}");
            assert!(trace.header.source.unrecorded().is_empty(), "{name}");
            let noted = imported.notes.iter().any(|note| note.contains("sched_wakeup instead"));
            assert_eq!(noted, only_wakeup, "{name}");
        }
    }
}

/// `sched_wakeup` may follow on the woken thread's core; the waker is that of `sched_waking`.
#[test]
fn the_waker_is_that_of_sched_waking() {
    let (hog, sleeper, idle) = (task(200, "hog"), task(100, "sleeper"), task(0, "swapper/1"));
    let entries = [
        switch(MS, 0, &task(0, "swapper/0"), State::Runnable, &hog),
        at(2 * MS, 0, &hog, What::Waking { woken: sleeper.clone(), target: 1 }),
        at(3 * MS, 1, &idle, What::Wakeup { woken: sleeper.clone(), target: 1 }),
        switch(4 * MS, 1, &idle, State::Runnable, &sleeper),
    ];
    for (name, bytes, format) in forms(&entries, KERNELS[5]) {
        let (_, trace) = read(&bytes, format).unwrap();
        let wakers = trace.events.iter().filter_map(|event| match event.kind {
            Kind::Wakeup { waker, .. } => Some((event.time, waker)),
            _ => None,
        });
        assert_eq!(wakers.collect::<Vec<_>>(), [(MS, Waker::Thread(1))], "{name}");
    }
}

/// Nothing says who runs: no trace.
#[test]
fn without_switches_there_is_no_trace() {
    let hog = task(200, "hog");
    let entries = [at(MS, 0, &hog, waking(task(100, "sleeper"))), at(2 * MS, 0, &hog, What::Wait)];
    for (name, bytes, format) in forms(&entries, KERNELS[5]) {
        let error = read(&bytes, format).unwrap_err().to_string();
        assert!(
            error.contains("no sched_switch event") && error.contains("perf sched record"),
            "{name}: {error}"
        );
    }
}

/// perf without `-a` records the switches away from its command, and who wakes it. How long the others run is unknown.
#[test]
fn threads_that_were_not_recorded_get_no_time() {
    let (sh, other, third) = (task(100, "sh"), task(7, "other"), task(8, "third"));
    let mut entries = Vec::new();
    for round in 1..=10 {
        let begin = round * 100 * MS;
        // It is switched in unseen, acts, and blocks 2 ms later. Then others run for 50 ms.
        entries.push(at(begin, 0, &sh, What::Waking { woken: other.clone(), target: 1 }));
        let next = if round % 2 == 0 { &other } else { &third };
        entries.push(switch(begin + 2 * MS, 0, &sh, State::Sleeping, next));
        let woken = What::Waking { woken: sh.clone(), target: 0 };
        entries.push(at(begin + 52 * MS, 1, &other, woken));
    }
    for (name, bytes, format) in forms(&entries, KERNELS[5]) {
        let (imported, trace) = read(&bytes, format).unwrap();
        let missing = trace.header.source.unrecorded();
        assert_eq!(missing, Unrecorded { wakeups: false, threads: true }, "{name}");
        assert!(
            imported.notes.iter().any(|note| note.contains("not system-wide")),
            "{name}: {:?}",
            imported.notes
        );
        // `other` ran on core 1 whenever it woke `sh`; it has never been seen to leave.
        let on_core_0: Vec<_> = trace.events.iter().filter(|event| event.core == 0).collect();
        let tid = |comm: &str| {
            trace.header.threads.iter().find(|thread| thread.name == comm).map(|thread| thread.tid)
        };
        for event in on_core_0 {
            if let Kind::Switch { prev, next, .. } = event.kind {
                let allowed = [Some(IDLE), tid("sh")];
                assert!(allowed.contains(&Some(prev)) && allowed.contains(&Some(next)), "{name}: {event:?}");
            }
        }
        assert_eq!(stops_of(&trace, "sh"), [Stop::Blocked; 10], "{name}");
        assert_eq!(imported.inferred, 0, "{name}");
    }
}

/// Two threads of the command mostly switch to each other: few switches are to others, which have no events at all.
#[test]
fn a_command_of_several_threads_is_not_the_system() {
    let (a, b, kworker) = (task(100, "a"), task(101, "b"), task(7, "kworker"));
    let mut entries = Vec::new();
    for round in 1..=20 {
        for step in 0..10 {
            entries.push(switch((round * 100 + 2 * step) * MS, 0, &a, State::Preempted, &b));
            entries.push(switch((round * 100 + 2 * step + 1) * MS, 0, &b, State::Preempted, &a));
        }
        entries.push(switch((round * 100 + 20) * MS, 0, &a, State::Preempted, &kworker));
    }
    for (name, bytes, format) in forms(&entries, KERNELS[5]) {
        let (_, trace) = read(&bytes, format).unwrap();
        assert!(trace.header.source.unrecorded().threads, "{name}");
        assert!(trace.header.threads.iter().all(|thread| thread.name != "kworker"), "{name}");
    }
}

/// A few switches are missing in system-wide recordings, too.
#[test]
fn a_lost_switch_does_not_make_a_recording_partial() {
    let (a, b, idle) = (task(1, "a"), task(2, "b"), task(0, "swapper/0"));
    let mut entries = Vec::new();
    for round in 1..=20 {
        entries.push(switch(round * 10 * MS, 0, &idle, State::Runnable, &a));
        entries.push(switch(round * 10 * MS + MS, 0, &a, State::Sleeping, &b));
        entries.push(switch(round * 10 * MS + 2 * MS, 0, &b, State::Sleeping, &idle));
    }
    entries.remove(20);
    for (name, bytes, format) in forms(&entries, KERNELS[5]) {
        let (imported, trace) = read(&bytes, format).unwrap();
        assert!(!trace.header.source.unrecorded().threads, "{name}");
        assert_eq!(imported.inferred, 1, "{name}");
    }
}

/// Dead, blocked and preempted threads of kernels before and since 4.14.
#[test]
fn states_of_all_kernels_are_read() {
    let (worker, child, reader, other) =
        (task(100, "worker"), task(102, "child"), task(101, "reader"), task(103, "other"));
    let idle = task(0, "swapper/0");
    for kernel in KERNELS {
        let entries = [
            switch(1000 * MS, 0, &idle, State::Runnable, &worker),
            switch(1001 * MS, 0, &worker, State::Uninterruptible, &child),
            switch(1002 * MS, 0, &child, State::Dead, &reader),
            switch(1003 * MS, 0, &reader, State::Preempted, &other),
            switch(1004 * MS, 0, &other, State::NoLoad, &idle),
        ];
        for (name, bytes, format) in forms(&entries, kernel) {
            let (_, trace) = read(&bytes, format).unwrap();
            let stops = ["worker", "child", "reader", "other"].map(|comm| stops_of(&trace, comm));
            let expected =
                [Stop::Blocked, Stop::Exited, Stop::Preempted, Stop::Blocked].map(|stop| vec![stop]);
            assert_eq!(stops, expected, "{name} of {}", kernel.release);
        }
    }
}

/// The lines of `trace-cmd report -R`.
#[test]
fn lines_with_raw_fields_are_read() {
    let text = "cpus=1\n\
        \x20           work-100   [000]  5.000000: sched_switch:          prev_comm=work prev_pid=100 prev_prio=120 \
        prev_state=1 next_comm=swapper/0 next_pid=0 next_prio=120\n\
        \x20         <idle>-0     [000]  5.010000: sched_switch:          prev_comm=swapper/0 prev_pid=0 prev_prio=120 \
        prev_state=0 next_comm=work next_pid=100 next_prio=120\n";
    let (_, trace) = read(text.as_bytes(), ImportFormat::Text).unwrap();
    assert_eq!(stops_of(&trace, "work"), [Stop::Blocked]);
    assert_eq!(trace.header.duration, 10 * MS);
}

const LINES: &str = "# tracer: nop\n#\n\
    \x20           work-100   ( 100) [000] d..2   5.000000: sched_switch: prev_comm=work prev_pid=100 prev_prio=120 prev_state=S \
    ==> next_comm=swapper/0 next_pid=0 next_prio=120\n\
    \x20         <idle>-0     (----) [000] d..2   5.010000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 \
    prev_state=R ==> next_comm=work next_pid=100 next_prio=120\n";

/// Systrace's HTML, whose viewer precedes the data; Chrome's JSON; and both compressed.
#[test]
fn wrappers_are_removed() {
    let viewer = format!(
        "<!DOCTYPE html>\n<html><head><script>\nvar handlers={{sched_switch:{{parse:1}}}}; // sched_switch: {}\n</script></head>\
         <body>\n  <script class=\"trace-data\" type=\"application/text\">\n{LINES}  </script>\n</body></html>\n",
        "x".repeat(100_000)
    );
    let json = serde_json::json!({ "displayTimeUnit": "ns", "systemTraceEvents": LINES, "traceEvents": [
        { "ph": "X", "pid": 1, "tid": 1, "ts": 5, "name": "a", "cat": "gpu" },
        { "ph": "M", "pid": "browser", "name": null, "args": "__stripped__" },
        { "ph": "X", "pid": 1, "ts": "5", "args": { "reason": 5, "pid": [], "task": {} } },
    ]});
    let folder = tempfile::tempdir().unwrap();
    let gzip = |bytes: &[u8]| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(bytes).unwrap();
        gzip.finish().unwrap()
    };
    let json = json.to_string();
    let plain: [(&str, &[u8]); 3] =
        [("text", LINES.as_bytes()), ("HTML", viewer.as_bytes()), ("JSON", json.as_bytes())];
    for (name, bytes) in plain {
        let packed = [bytes.to_vec(), gzip(bytes), zstd::encode_all(bytes, 1).unwrap()];
        for (number, bytes) in packed.into_iter().enumerate() {
            let (file, trace) =
                (folder.path().join("file"), folder.path().join(format!("{name}{number}.trace")));
            std::fs::write(&file, bytes).unwrap();
            let imported = hearth_formats::import(&file, None, &trace).unwrap();
            assert_eq!((imported.events, imported.header.duration), (3, 10 * MS), "{name} {number}");
            assert_eq!(imported.header.threads[0].name, "work");
        }
    }
}

/// Every binary form, compressed.
#[test]
fn compressed_recordings_are_read() {
    let entries = sleeper(&[waking]);
    let folder = tempfile::tempdir().unwrap();
    let archive = super::write::schedviz::write(&entries, KERNELS[4]);
    let mut forms = forms(&entries, KERNELS[4]);
    forms.push(("SchedViz", archive, ImportFormat::SchedViz));
    for (number, (name, bytes, format)) in forms.into_iter().enumerate() {
        let file = folder.path().join("file.gz");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&bytes).unwrap();
        std::fs::write(&file, gzip.finish().unwrap()).unwrap();
        let imported =
            hearth_formats::import(&file, None, &folder.path().join(format!("{number}.trace"))).unwrap();
        assert_eq!((imported.format, imported.events), (format, 31), "{name}");
    }
}

#[test]
fn what_only_perf_can_read_names_the_command() {
    let named = |bytes: &[u8]| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("my z.data");
        std::fs::write(&file, bytes).unwrap();
        hearth_formats::import(&file, None, &folder.path().join("t.trace")).unwrap_err().to_string()
    };
    for (bytes, why) in only_for_perf() {
        let error = named(&bytes);
        assert!(error.contains(why) && error.contains("my z.data' > '"), "{error}");
        assert!(error.contains("perf script --ns -i '") && error.contains("hearth import '"), "{error}");
    }
}

/// Files that only perf can read, and why.
fn only_for_perf() -> [(Vec<u8>, &'static str); 2] {
    let entries = sleeper(&[waking]);
    let (piped, compressed) =
        (perf_data::piped(&entries, KERNELS[5]), perf_data::compressed(&entries, KERNELS[5]));
    [(piped, "to a pipe"), (compressed, "is compressed")]
}

/// The recommended commands give the events that are in the file.
#[test]
fn the_command_that_perf_runs_works() {
    if !hearth_tests::has(&["perf"], "recorders") {
        return;
    }
    for (bytes, why) in only_for_perf() {
        let folder = tempfile::tempdir().unwrap();
        let (file, trace) = (folder.path().join("my z.data"), folder.path().join("t.trace"));
        std::fs::write(&file, bytes).unwrap();
        let error = hearth_formats::import(&file, None, &trace).unwrap_err().to_string();
        let (perf, import) =
            error.split_once("the text: ").unwrap().1.split_once("; hearth import ").unwrap();
        let output =
            std::process::Command::new("sh").args(["-c", perf]).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{why}: {perf}: {}", String::from_utf8_lossy(&output.stderr));
        let words = shlex::split(import).unwrap();
        let imported =
            hearth_formats::import(&folder.path().join(&words[0]), None, &folder.path().join(&words[2]))
                .unwrap();
        assert_eq!((imported.events, words[1].as_str()), (31, "-o"), "{why}");
    }
}
