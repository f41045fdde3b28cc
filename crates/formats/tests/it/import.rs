//! Imports of recordings of other tools, and of damaged files.

use hearth_formats::{Count, Error, ImportFormat, Imported, detect, import_bytes};
use hearth_trace::{Event, Kind, Recording, Source, Waker};
use proptest::prelude::*;
use std::io::Cursor;

fn read(bytes: &[u8], format: ImportFormat) -> Result<(Imported, Vec<Event>), Error> {
    let mut events = Vec::new();
    let imported = import_bytes(Cursor::new(bytes.to_vec()), format, &std::env::temp_dir(), &mut events)?;
    Ok((imported, events))
}

fn count(events: &[Event], of: fn(&Kind) -> bool) -> usize {
    events.iter().filter(|event| of(&event.kind)).count()
}

const FTRACE: &str = include_str!("../data/ftrace.txt");
const REPORT: &str = include_str!("../data/report.txt");
const PERF_SCRIPT: &str = include_str!("../data/perf-script.txt");

/// A recording as printed by the kernel and by trace-cmd.
#[test]
fn the_kernels_text_and_trace_cmds_say_the_same() {
    let (kernel, from_kernel) = read(FTRACE.as_bytes(), ImportFormat::Text).unwrap();
    let (_, from_report) = read(REPORT.as_bytes(), ImportFormat::Text).unwrap();
    assert_eq!(kernel.header.cores.len(), 2);
    // The threads running at the beginning add a switch on each of the two cores.
    let switches = FTRACE.matches(" sched_switch: ").count();
    assert_eq!(count(&from_kernel, |kind| matches!(kind, Kind::Switch { .. })), switches + 2);
    let same = |event: &Event| match event.kind {
        // trace-cmd does not print the interrupt flags.
        Kind::Wakeup { thread, target, .. } => {
            Event { kind: Kind::Wakeup { thread, target, waker: Waker::Interrupt, sync: false }, ..*event }
        }
        _ => *event,
    };
    let same = |events: &[Event]| events.iter().map(same).collect::<Vec<_>>();
    assert_eq!(same(&from_kernel), same(&from_report));
    assert!(kernel.header.threads.iter().any(|thread| thread.name == "rcu_preempt"));
    assert!(kernel.header.names.contains(&"cat".to_owned()));
}

const TRACE_V6: &[u8] = include_bytes!("../data/trace-v6.dat");
const TRACE_V7: &[u8] = include_bytes!("../data/trace-v7.dat");
const PERF_DATA: &[u8] = include_bytes!("../data/perf.data");

/// The first pages of a recording in both versions. The kernel's text begins with the same events.
#[test]
fn both_versions_of_trace_dat_say_the_same() {
    let (six, from_six) = read(TRACE_V6, ImportFormat::TraceDat).unwrap();
    let (_, from_seven) = read(TRACE_V7, ImportFormat::TraceDat).unwrap();
    assert_eq!(from_six, from_seven);
    assert_eq!(count(&from_six, |kind| matches!(kind, Kind::Switch { .. })), 146);
    assert_eq!(six.header.cores.len(), 2);
    let (_, from_text) = read(FTRACE.as_bytes(), ImportFormat::Text).unwrap();
    let kinds =
        |events: &[Event]| events.iter().take(40).map(|event| (event.core, event.kind)).collect::<Vec<_>>();
    assert_eq!(kinds(&from_six), kinds(&from_text));
}

#[test]
fn perf_data_is_read() {
    let (imported, events) = read(PERF_DATA, ImportFormat::PerfData).unwrap();
    assert!(count(&events, |kind| matches!(kind, Kind::Switch { .. })) >= 40);
    assert!(count(&events, |kind| matches!(kind, Kind::Wakeup { .. })) >= 10);
    assert_eq!(imported.header.machine, "Example CPU");
    assert!(
        matches!(imported.header.source, Source::Recorded(Recording { kernel, .. }) if kernel == "6.18.0")
    );
}

/// Files that are truncated anywhere or have a changed byte give a trace or an error.
#[test]
fn damaged_recordings_are_survived() {
    for (bytes, format) in [
        (TRACE_V6, ImportFormat::TraceDat),
        (TRACE_V7, ImportFormat::TraceDat),
        (PERF_DATA, ImportFormat::PerfData),
    ] {
        for at in (0..bytes.len()).step_by(bytes.len() / 80) {
            // The last section of version 7, of descriptions for people, is not read.
            let needed = at < bytes.len() * 9 / 10;
            assert!(read(&bytes[..at], format).is_err() || !needed, "{format:?} cut at {at}");
            let mut changed = bytes.to_vec();
            changed[at] ^= 0xff;
            let _ = read(&changed, format);
        }
    }
}

/// Repeated lists of pages must not fill the memory: the same buffer many times, a cycle of options.
#[test]
fn no_part_of_trace_dat_is_read_twice() {
    let mark = b"options  \0";
    let at = TRACE_V6.windows(mark.len()).position(|it| it == mark).unwrap();
    let (begin, end) = TRACE_V6.split_at(at + mark.len());
    let buffer = [&[3, 0, 8, 0, 0, 0][..], &(at as u64).to_le_bytes()].concat();
    let buffers = [begin, &buffer.repeat(3000), end].concat();
    assert!(message(&buffers, ImportFormat::TraceDat).contains("buffers overlap"));

    let begin = b"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0none\0\0";
    let section = begin.len() as u64 + 8;
    let mut ring = [&begin[..], &section.to_le_bytes()].concat();
    let (option, done) = ([&[99, 0, 0, 0, 1, 0][..], &[0; 1 << 16]].concat(), [0, 0, 8, 0, 0, 0]);
    let options = [&option[..], &done, &section.to_le_bytes()].concat();
    ring.extend([&[0; 8][..], &(options.len() as u64).to_le_bytes(), &options].concat());
    assert!(message(&ring, ImportFormat::TraceDat).contains("longer than 16 MiB"));
}

#[test]
fn perf_script_is_read() {
    let (imported, events) = read(PERF_SCRIPT.as_bytes(), ImportFormat::Text).unwrap();
    let switches = PERF_SCRIPT.matches("sched:sched_switch:").count();
    assert!(count(&events, |kind| matches!(kind, Kind::Switch { .. })) >= switches);
    assert!(imported.notes.iter().any(|note| note.contains("sched_stat_runtime")), "{:?}", imported.notes);
}

#[test]
fn formats_are_known_by_their_content() {
    assert_eq!(detect(FTRACE.as_bytes()), Some(ImportFormat::Text));
    assert_eq!(detect(b"\x17\x08\x44tracing7\0"), Some(ImportFormat::TraceDat));
    assert_eq!(detect(b"PERFILE2"), Some(ImportFormat::PerfData));
    assert_eq!(detect(b"\x0a\x10\x50\x01"), Some(ImportFormat::Perfetto));
    for none in [&b""[..], b"\x7fELF\x02\x01\x01\0", b"HEARTHTR\x01\0"] {
        assert_eq!(detect(none), None);
    }
}

fn message(bytes: &[u8], format: ImportFormat) -> String {
    read(bytes, format).unwrap_err().to_string()
}

#[test]
fn errors_say_where() {
    let lines: Vec<&str> = FTRACE.lines().collect();
    let broken = |at: usize, line: &str| {
        let mut lines = lines.clone();
        lines[at] = line;
        message(lines.join("\n").as_bytes(), ImportFormat::Text)
    };
    let head = "            bash-23843   [000] ..... ";
    let cases = [
        (format!("{head}-85994.891858: sched_process_exit: comm=a pid=1 prio=1"), "negative"),
        (format!("{head}85994891858: sched_process_exit: comm=a pid=1 prio=1"), "not in seconds"),
        (format!("{head}85994.891858: sched_switch: prev_comm=a prev_pid=1"), "no next thread"),
        (format!("{head}85994.891858: sched_process_exit: comm=a pid=99999999 prio=1"), "99999999"),
        ("bash-1 [70000] 1.0: sched_process_exit: pid=1".into(), "core 70000"),
        ("sched_switch: prev_comm=a".into(), "without core"),
    ];
    for (line, expected) in cases {
        let message = broken(20, &line);
        assert!(message.starts_with("line 21: ") && message.contains(expected), "{line}: {message}");
    }
    assert!(message(&[b'x'; 70_000], ImportFormat::Text).contains("longer than 64 KiB"));
    assert!(message(b"nothing of use\n", ImportFormat::Text).contains("no sched_switch event"));
    assert!(message(b"\x17\x08\x44tracing6\0\x02\x08", ImportFormat::TraceDat).contains("order of bytes"));
    let giant = [&b"PERFILE2"[..], &104u64.to_le_bytes(), &[0xff; 88]].concat();
    assert!(
        message(&giant, ImportFormat::PerfData).starts_with("byte "),
        "{}",
        message(&giant, ImportFormat::PerfData)
    );
    let giant = [&b"\x0a"[..], &[0xff; 9], &[0x01]].concat();
    assert!(message(&giant, ImportFormat::Perfetto).contains("byte 0"));
}

/// As of scxsim: a core switches between two threads at one time, then idles.
#[test]
fn slices_of_scxsim_become_switches() {
    let json = r#"{"traceEvents":[
        {"ph":"M","pid":0,"tid":0,"name":"process_name","args":{"name":"CPU 0"}},
        {"ph":"i","pid":0,"tid":0,"ts":1,"name":"wake","s":"t","args":{"task":"b","pid":2}},
        {"ph":"B","pid":0,"tid":0,"ts":2,"name":"a","cat":"sched","args":{"pid":1}},
        {"ph":"i","pid":0,"tid":0,"ts":2,"name":"dsq_insert","cat":"kfunc","s":"t","args":{"pid":1,"dsq_id":"LOCAL"}},
        {"ph":"E","pid":0,"tid":0,"ts":5,"cat":"sched","args":{"reason":"slept","pid":1}},
        {"ph":"B","pid":0,"tid":0,"ts":5,"name":"b","cat":"sched","args":{"pid":2}},
        {"ph":"E","pid":0,"tid":0,"ts":9,"cat":"sched","args":{"reason":"completed","pid":2}}
    ]}"#;
    let json = json.replace("\n        ", "").replace("\n    ", "");
    assert_eq!(detect(json.as_bytes()), Some(ImportFormat::Json));
    let (imported, events) = read(json.as_bytes(), ImportFormat::Json).unwrap();
    let switches: Vec<_> = events
        .iter()
        .filter_map(|event| match event.kind {
            Kind::Switch { prev, stop, next } => {
                Some((event.time, prev != 0, format!("{stop:?}"), next != 0))
            }
            _ => None,
        })
        .collect();
    let expected = [
        (1000, false, "Preempted".to_owned(), true),
        (4000, true, "Blocked".to_owned(), true),
        (8000, true, "Exited".to_owned(), false),
    ];
    assert_eq!(switches, expected);
    let names: Vec<_> = imported.header.threads.iter().map(|thread| thread.name.as_str()).collect();
    assert_eq!(names, ["b", "a"]);
    let negative = json.replace("\"ts\":9", "\"ts\":-9");
    assert!(message(negative.as_bytes(), ImportFormat::Json).contains("event 7 of its JSON: its time, -9"));
}

proptest! {
    /// No input causes a panic in any format.
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400), which in 0..5usize) {
        let (format, begin): (_, &[u8]) = [
            (ImportFormat::Text, &b"a-1 [000] 1.5: sched_"[..]),
            (ImportFormat::TraceDat, b"\x17\x08\x44tracing6\0\0\x08\0\x10\0\0"),
            (ImportFormat::PerfData, b"PERFILE2\x68\0\0\0\0\0\0\0\x90\0\0\0\0\0\0\0"),
            (ImportFormat::Perfetto, b"\x0a"),
            (ImportFormat::Json, b"{\"traceEvents\":[{"),
        ][which];
        let bytes = [begin, &bytes].concat();
        let _ = import_bytes(Cursor::new(bytes), format, &std::env::temp_dir(), &mut Count::default());
    }

    /// Truncated, repeated and reordered lines give a trace or an error.
    #[test]
    fn shuffled_and_cut_text_is_survived(order in proptest::collection::vec(0usize..60, 1..60), cut in 0usize..200) {
        let lines: Vec<&str> = FTRACE.lines().collect();
        let mut text = order.iter().map(|line| lines[line % lines.len()]).collect::<Vec<_>>().join("\n");
        text.truncate(text.len().saturating_sub(cut));
        let mut events = Vec::new();
        if import_bytes(Cursor::new(text), ImportFormat::Text, &std::env::temp_dir(), &mut events).is_ok() {
            prop_assert!(events.is_sorted_by_key(|event: &Event| event.time));
        }
    }
}
