//! Traces that older versions wrote.

use hearth_trace::{Kind, Store, Trace};
use std::path::Path;

/// A simulated run of `fork-wait:iterations=2`, written before traces had processes.
#[test]
fn version_2_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/version-2");
    let old = Trace::read(&path).unwrap();
    let names: Vec<_> =
        old.header.threads.iter().map(|thread| (thread.tid, &*thread.name, thread.parent)).collect();
    assert_eq!(names, [(1, "sh", 0), (2, "sh", 1), (3, "sh", 1)]);
    let unknown = |thread: &hearth_trace::ThreadInfo| thread.kernel_tid.is_none() && thread.process.is_none();
    assert!(old.header.threads.iter().all(unknown) && old.header.processes.is_empty());
    assert!(old.events.len() == 36 && old.check().is_empty());
    // Written again, it is of the newest version, and the same.
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("new");
    old.write(&new).unwrap();
    assert!(std::fs::read_to_string(new.join("trace.json")).unwrap().contains("\"version\":4"));
    assert_eq!(Trace::read(&new).unwrap(), old);
    Store::open(&path).unwrap().check_files().unwrap();
}

/// The same run, written before wake-ups said whether they are synchronous.
#[test]
fn version_3_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/version-3");
    let old = Trace::read(&path).unwrap();
    assert!(!old.header.sync && old.events.len() == 36 && old.check().is_empty());
    assert!(!old.events.iter().any(|event| matches!(event.kind, Kind::Wakeup { sync: true, .. })));
    Store::open(&path).unwrap().check_files().unwrap();
}

/// A newer version is refused by its number, not as damage.
#[test]
fn a_newer_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("newer");
    Trace::default().write(&path).unwrap();
    let file = path.join("trace.json");
    let text = std::fs::read_to_string(&file).unwrap().replace("\"version\":4", "\"version\":5");
    let (body, _) = text.rsplit_once(",\"checksum\"").unwrap();
    let sum = xxhash_rust::xxh3::xxh3_64(body.as_bytes());
    std::fs::write(&file, format!("{body},\"checksum\":\"{sum:016x}\"}}\n")).unwrap();
    let message = Trace::read(&path).unwrap_err().to_string();
    assert!(message.contains("format version 5") && message.contains("reads version 4"), "{message}");
}
