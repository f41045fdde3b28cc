use super::*;
use crate::testing::{any_event, any_trace};
use crate::{Event, Header, Kind, Stop};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

fn small() -> Trace {
    let kind = |next| Kind::Switch { prev: 0, stop: Stop::Preempted, next };
    Trace {
        header: Header { machine: "tiny".into(), duration: 20, ..Header::default() },
        events: (0..3).map(|i| Event { time: u64::from(i) * 10, core: 0, kind: kind(i) }).collect(),
    }
}

/// A trace with more than one segment.
fn large() -> Trace {
    let mut trace = small();
    for time in 0..SEGMENT_EVENTS as u64 + 7 {
        trace.events.push(Event { time, core: 3, kind: Kind::Tick { khz: time as u32 } });
    }
    trace
}

#[test]
fn more_than_one_segment() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let trace = large();
    trace.write(&path).unwrap();
    assert_eq!(Trace::read(&path).unwrap(), trace);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.groups().len(), 9);
    for (index, group) in store.groups().iter().enumerate().rev() {
        let expected = &trace.events[group.first_event as usize..][..group.events as usize];
        assert_eq!((expected[0].time, expected[expected.len() - 1].time), (group.begin, group.end));
        assert!(store.read_group(index).unwrap() == expected, "group {index}");
    }
}

#[test]
fn flushed_events_survive_a_dropped_writer() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let trace = small();
    let mut writer = Writer::create(&path, &trace.header).unwrap();
    trace.events.iter().for_each(|event| writer.event(event));
    writer.flush();
    writer.event(&trace.events[2]);
    drop(writer); // as after an error
    assert!(!path.exists());
    let partial = Store::open(dir.path().join("t.partial")).unwrap();
    assert!(!partial.complete());
    assert_eq!((partial.events(), partial.header().machine.as_str()), (4, "tiny"));
    assert_eq!(partial.read_group(0).unwrap(), trace.events);
    // The next writer of this name replaces it.
    trace.write(&path).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    assert!(Store::open(&path).unwrap().complete());
}

#[test]
fn same_events_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let mut trace = large();
    trace.events.truncate(GROUP_EVENTS + 1);
    for name in ["a", "b"] {
        trace.write(dir.path().join(name)).unwrap();
    }
    let tables = ["cores.parquet", "threads.parquet", "processes.parquet", "kinds.parquet"];
    for file in ["trace.json", "events/000000.parquet", "tiles/index"].into_iter().chain(tables) {
        let read = |name: &str| fs::read(dir.path().join(name).join(file)).unwrap();
        assert!(read("a") == read("b"), "{file}");
    }
}

/// All required files of a trace. (The index is optional and has tests of its own.)
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.ends_with("tiles") => {}
            true => files.extend(self::files(&path)),
            false => files.push(path),
        }
    }
    files.sort();
    files
}

/// Writes a trace and applies `damage` to each of its files in turn.
fn damaged(damage: impl Fn(&Path, &[u8], &mut dyn FnMut(&[u8], bool))) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let mut trace = small();
    trace.header.cores = vec![Default::default(); 2];
    let thread = |tid, kernel_tid, process| crate::ThreadInfo {
        tid,
        name: "cc1".into(),
        kernel_tid,
        process,
        ..Default::default()
    };
    trace.header.threads =
        vec![thread(7, Some(300), Some(1)), thread(8, None, None), thread(9, Some(0), None)];
    let process = |pid, parent| crate::ProcessInfo { pid, name: "sh".into(), parent };
    trace.header.processes = vec![process(1, None), process(300, Some(0))];
    trace.write(&path).unwrap();
    for file in files(&path) {
        if file.ends_with(tables::KINDS) {
            continue; // for other programs, not read here
        }
        let whole = fs::read(&file).unwrap();
        damage(&file, &whole, &mut |bytes, may_be_sound| {
            fs::write(&file, bytes).unwrap();
            match Trace::read(&path) {
                Ok(read) => {
                    assert!(may_be_sound && read == trace, "{} of {} bytes", file.display(), bytes.len())
                }
                Err(error) => assert!(error.to_string().contains("again"), "{error}"),
            }
        });
        fs::write(&file, &whole).unwrap();
    }
    assert_eq!(Trace::read(&path).unwrap(), trace);
}

#[test]
fn truncation_anywhere_is_an_error() {
    damaged(|_, whole, read| (0..whole.len()).for_each(|length| read(&whole[..length], false)));
}

#[test]
fn every_changed_byte_is_detected() {
    damaged(|_, whole, read| {
        for at in 0..whole.len() {
            let mut changed = whole.to_vec();
            changed[at] ^= 0x10;
            read(&changed, false);
        }
    });
}

/// Damage with correct checksums must not panic.
#[test]
fn damage_with_correct_checksums_does_not_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    small().write(&path).unwrap();
    let segment = path.join("events/000000.parquet");
    let whole = fs::read(&segment).unwrap();
    let meta = meta::Meta::read(&path).unwrap();
    for at in 0..whole.len() {
        for change in [0x01, 0x40, 0xff] {
            let mut changed = whole.clone();
            changed[at] ^= change;
            fs::write(&segment, &changed).unwrap();
            let mut meta = meta.clone();
            let group = meta.segments[0].groups[0].bytes as usize;
            meta.segments[0].groups[0].checksum = meta::Checksum::of(&changed[..group]);
            meta.segments[0].footer.checksum = meta::Checksum::of(&changed[group..]);
            meta.write(&path).unwrap();
            let _ = Trace::read(&path);
        }
    }
}

#[test]
fn a_missing_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    small().write(&path).unwrap();
    for file in files(&path) {
        if file.ends_with(tables::KINDS) {
            continue;
        }
        let aside = dir.path().join("aside");
        fs::rename(&file, &aside).unwrap();
        let message = Trace::read(&path).unwrap_err().to_string();
        let name = if file.ends_with(meta::FILE) { path.as_path() } else { file.as_path() };
        assert!(message.contains(&name.display().to_string()), "{message}");
        fs::rename(&aside, &file).unwrap();
    }
}

#[test]
fn a_path_that_is_not_a_trace_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let message = || Trace::read(&path).unwrap_err().to_string();
    assert!(message().contains("No such file"), "{}", message());
    fs::create_dir(&path).unwrap();
    assert!(message().contains("not a trace"), "{}", message());
    fs::write(path.join("trace.json"), "{\"format\": 1}").unwrap();
    assert!(message().contains("checksum"), "{}", message());
    fs::remove_dir_all(&path).unwrap();
    fs::write(&path, b"#!/bin/sh\n").unwrap();
    assert!(message().contains("not a trace"), "{}", message());
    fs::write(&path, b"HEARTHTR\x01\0").unwrap();
    assert!(message().contains("version 1"), "{}", message());
}

#[test]
fn only_a_trace_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let refused = |why: &str| {
        let message = small().write(&path).unwrap_err().to_string();
        assert!(message.contains(why) && message.contains("another name"), "{message}");
        assert!(!dir.path().join("t.partial").exists());
    };
    fs::write(&path, "a letter").unwrap();
    refused("not a trace");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    refused("not a trace");
    fs::remove_dir(&path).unwrap();
    small().write(&path).unwrap();
    fs::write(path.join("notes.txt"), "mine").unwrap();
    refused("notes.txt");
    fs::remove_file(path.join("notes.txt")).unwrap();
    small().write(&path).unwrap();
    let missing = dir.path().join("no/such");
    assert!(small().write(&missing).unwrap_err().to_string().contains("No such file"));
    assert!(small().write("/").is_err());
}

#[test]
fn a_second_writer_of_a_trace_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let first = Writer::create(&path, &Header::default()).unwrap();
    let second = Writer::create(&path, &Header::default()).err().unwrap().to_string();
    assert!(second.contains("another process"), "{second}");
    first.commit(&Header::default()).unwrap();
    assert!(Store::open(&path).unwrap().complete());
}

#[test]
fn commit_returns_the_first_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(dir.path().join("t"), &Header::default()).unwrap();
    fs::remove_dir_all(dir.path().join("t.partial")).unwrap();
    for event in &large().events {
        writer.event(event);
    }
    let message = writer.commit(&Header::default()).unwrap_err().to_string();
    assert!(message.contains("t.partial"), "{message}");
}

/// A small page that claims to expand beyond the maximum is rejected before memory is allocated.
#[test]
fn a_page_that_is_too_large_is_refused() {
    let zeros = vec![0; 1 << 22];
    let content = zstd::bulk::compress(&zeros, 1).unwrap();
    let mut page = vec![0x15, 0, 0x15]; // type 0; uncompressed size:
    let number = |mut value: u64, page: &mut Vec<u8>| {
        while value >= 0x80 {
            page.push(value as u8 | 0x80);
            value >>= 7;
        }
        page.push(value as u8);
    };
    number(2 * zeros.len() as u64, &mut page);
    page.push(0x15);
    number(2 * content.len() as u64, &mut page);
    page.push(0);
    page.extend(&content);
    let codec = parquet::basic::Compression::ZSTD(Default::default());
    let read = |page: &[u8], most| {
        let mut content = Vec::new();
        let read = pages::Pages::new(page, codec, most).next(&mut pages::Zstd::default(), &mut content);
        read.map(|page| page.map(|_| pages::content(&content).len()))
    };
    assert_eq!(read(&page, 1 << 22), Ok(Some(1 << 22)));
    assert!(read(&page, (1 << 22) - 1).unwrap_err().contains("larger"));
    // A page whose header claims less than its content.
    let mut less = page.clone();
    less[3] ^= 0x02;
    assert!(read(&less, 1 << 23).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hearth_tests::cases(16, 256)))]
    #[test]
    fn a_written_trace_is_read_back(trace in any_trace()) {
        let dir = tempfile::tempdir().unwrap();
        trace.write(dir.path().join("t")).unwrap();
        prop_assert_eq!(Trace::read(dir.path().join("t")).unwrap(), trace);
    }

    /// Long runs of similar events followed by different ones, across block boundaries.
    #[test]
    fn runs_across_blocks_are_read_back(
        runs in proptest::collection::vec((any_event(), 1usize..300, 0u64..1 << 40), 1..40),
    ) {
        let repeated = |(event, times, step): (Event, usize, u64)| {
            (0..times as u64).map(move |i| Event { time: event.time.wrapping_add(i * step), ..event })
        };
        let trace = Trace { events: runs.into_iter().flat_map(repeated).collect(), ..small() };
        let dir = tempfile::tempdir().unwrap();
        trace.write(dir.path().join("t")).unwrap();
        prop_assert!(Trace::read(dir.path().join("t")).unwrap() == trace);
    }

    /// A damaged trace gives an error or is read unchanged.
    #[test]
    fn damage_is_found(
        trace in any_trace(),
        file in any::<proptest::sample::Index>(),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..5),
        cut in proptest::option::of(any::<proptest::sample::Index>()),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        trace.write(&path).unwrap();
        let files = files(&path);
        let file = &files[file.index(files.len())];
        let mut bytes = fs::read(file).unwrap();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        fs::write(file, bytes).unwrap();
        if let Ok(read) = Trace::read(&path) {
            prop_assert_eq!(read, trace);
        }
    }
}
