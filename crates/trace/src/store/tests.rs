use super::*;
use crate::testing::any_trace;
use crate::{Event, Header, Kind, Stop};
use proptest::prelude::*;
use std::io::Cursor;

fn to_bytes(trace: &Trace) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    trace.events.iter().for_each(|event| writer.event(event));
    writer.finish(&trace.header).unwrap()
}

fn from_bytes(bytes: &[u8]) -> Result<Trace, Error> {
    let mut reader = Reader::new(Cursor::new(bytes))?;
    let events = (&mut reader).collect::<Result<_, _>>()?;
    Ok(Trace { header: reader.into_header(), events })
}

fn small() -> Trace {
    let kind = |next| Kind::Switch { prev: 0, stop: Stop::Preempted, next };
    Trace {
        header: Header { machine: "tiny".into(), duration: 20, ..Header::default() },
        events: (0..3).map(|i| Event { time: u64::from(i) * 10, core: 0, kind: kind(i) }).collect(),
    }
}

#[test]
fn more_than_one_block() {
    let mut trace = small();
    for time in 0..2 * BLOCK_RECORDS as u64 + 7 {
        trace.events.push(Event { time, core: 3, kind: Kind::Tick { khz: time as u32 } });
    }
    assert_eq!(from_bytes(&to_bytes(&trace)).unwrap(), trace);
}

#[test]
fn truncated_anywhere_is_an_error() {
    let bytes = to_bytes(&small());
    for length in 0..bytes.len() {
        let error = from_bytes(&bytes[..length]).expect_err("a part of a trace must not be read as a trace");
        match error {
            Error::NotATrace => assert_eq!(length, 0),
            Error::Truncated { length: told } => assert_eq!(told, length as u64),
            other => panic!("truncated at {length}: {other}"),
        }
    }
}

#[test]
fn every_single_changed_byte_is_found() {
    let bytes = to_bytes(&small());
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(from_bytes(&damaged).is_err(), "byte {at} of {} changed and nobody noticed", bytes.len());
    }
}

#[test]
fn an_error_names_the_offset_and_the_remedy() {
    let mut bytes = to_bytes(&small());
    bytes[40] ^= 1;
    let message = from_bytes(&bytes).unwrap_err().to_string();
    assert!(message.contains("byte 32") && message.contains("again"), "{message}");
    let message = from_bytes(b"#!/bin/sh\n").unwrap_err().to_string();
    assert!(message.contains("not a trace"), "{message}");
}

#[test]
fn a_footer_that_lies_about_events_allocates_nothing() {
    let mut bytes = to_bytes(&small());
    let footer = bytes.len() - 32;
    bytes[footer + 24..].copy_from_slice(&u64::MAX.to_le_bytes());
    let checksum = xxhash_rust::xxh3::xxh3_64(&bytes[footer + 16..]);
    bytes[footer + 8..footer + 16].copy_from_slice(&checksum.to_le_bytes());
    let message = from_bytes(&bytes).unwrap_err().to_string();
    assert!(message.contains("too short"), "{message}");
}

#[test]
fn a_file_appears_only_when_it_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.hearth");
    let writer = Writer::create(&path).unwrap();
    assert!(!path.exists());
    drop(writer);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "an abandoned file stays behind");
    small().write(&path).unwrap();
    small().write(&path).unwrap(); // replaces it
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    assert_eq!(Trace::read(&path).unwrap(), small());
}

#[test]
fn errors_name_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("no/such.hearth");
    for message in [
        Trace::read(&missing).unwrap_err().to_string(),
        small().write(&missing).unwrap_err().to_string(),
        small().write(dir.path()).unwrap_err().to_string(),
    ] {
        assert!(message.contains(dir.path().to_str().unwrap()), "{message}");
    }
    let path = dir.path().join("t.hearth");
    std::fs::write(&path, b"HEARTHTRxxxx").unwrap();
    let message = Trace::read(&path).unwrap_err().to_string();
    assert!(message.contains("t.hearth") && message.contains("12 bytes"), "{message}");
}

#[test]
fn a_writer_keeps_its_first_error() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
            if self.0 < buf.len() {
                return Err(std::io::Error::other("disk full"));
            }
            self.0 -= buf.len();
            Ok(buf.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut writer = Writer::new(Full(100)).unwrap();
    for _ in 0..10 * BLOCK_RECORDS {
        writer.event(&small().events[0]);
    }
    assert!(writer.finish(&Header::default()).err().unwrap().to_string().contains("disk full"));
}

proptest! {
    #[test]
    fn what_is_written_is_read(trace in any_trace()) {
        prop_assert_eq!(from_bytes(&to_bytes(&trace)).unwrap(), trace);
    }

    /// A damaged file gives an error or (where the damage undid itself) the same trace.
    #[test]
    fn damage_is_found(
        trace in any_trace(),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..5),
        cut in proptest::option::of(any::<proptest::sample::Index>()),
    ) {
        let mut bytes = to_bytes(&trace);
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(read) = from_bytes(&bytes) {
            prop_assert_eq!(read, trace);
        }
    }

    #[test]
    fn noise_never_panics(noise in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = from_bytes(&noise);
        let mut framed = to_bytes(&small())[..16].to_vec();
        framed.extend(noise);
        let _ = from_bytes(&framed);
    }
}
