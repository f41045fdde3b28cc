//! Reads a trace with a file replaced: it is read or rejected, without a panic, in bounded memory.
//!
//! The first byte selects the file that the rest replaces. The target corrects its checksums, so that the code behind
//! their check is reached.

#![cfg_attr(fuzzing, no_main)]

use hearth_fuzz::fuzz_target;
use hearth_trace::{CoreInfo, Event, Header, IDLE, Kind, Reader, Stop, ThreadInfo, Trace};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use xxhash_rust::xxh3::xxh3_64;

const FILES: [&str; 4] = ["events/000000.parquet", "threads.parquet", "cores.parquet", "trace.json"];

struct Template {
    folder: tempfile::TempDir,
    meta: Value,
    files: Vec<Vec<u8>>,
}

static TEMPLATE: LazyLock<Template> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let switch = |i: u32| Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: i % 7 };
    let thread =
        |tid| ThreadInfo { tid, name: format!("thread {tid}"), traced: true, ..ThreadInfo::default() };
    let header = Header {
        cores: vec![CoreInfo::default(); 3],
        threads: (1..7).map(thread).collect(),
        ..Header::default()
    };
    let events = (0..100).map(|i| Event { time: u64::from(i * i), core: i as u16 % 3, kind: switch(i) });
    Trace { header, events: events.collect() }.write(&path).unwrap();
    let files: Vec<Vec<u8>> = FILES.iter().map(|file| fs::read(path.join(file)).unwrap()).collect();
    hearth_fuzz::seeds((0..).zip(files.iter().map(Vec::as_slice)));
    let meta = serde_json::from_slice(&files[3]).unwrap();
    Template { folder, meta, files }
});

fuzz_target!(|input: &[u8]| {
    let Some((which, content)) = input.split_first() else { return };
    let which = usize::from(*which) % FILES.len();
    let path = TEMPLATE.folder.path().join("t");
    for (name, whole) in FILES.iter().zip(&TEMPLATE.files) {
        fs::write(path.join(name), whole).unwrap();
    }
    fs::write(path.join(FILES[which]), content).unwrap();
    match which {
        0 => write_meta(&path, segment(content)),
        3 => drop(fs::write(path.join(FILES[3]), with_checksum(content))),
        _ => {
            let mut meta = TEMPLATE.meta.clone();
            meta["tables"][FILES[which]] = sum(content);
            write_meta(&path, meta);
        }
    }
    if let Ok(reader) = Reader::open(&path) {
        reader.take(1 << 20).for_each(drop);
    }
});

/// `trace.json` for a segment with this content.
fn segment(content: &[u8]) -> Value {
    let mut meta = TEMPLATE.meta.clone();
    // A Parquet file ends with the length of its footer, without this number, and a magic number (4 bytes each).
    let length = content.len().checked_sub(8).and_then(|at| content[at..].first_chunk());
    let footer = length.map_or(0, |length| u32::from_le_bytes(*length) as usize).saturating_add(8);
    let (groups, footer) = content.split_at(content.len().saturating_sub(footer));
    let segment = &mut meta["segments"][0];
    segment["footer"] = sum(footer);
    let group = sum(groups);
    segment["groups"][0]["bytes"] = group["bytes"].clone();
    segment["groups"][0]["checksum"] = group["checksum"].clone();
    meta
}

fn sum(bytes: &[u8]) -> Value {
    json!({ "bytes": bytes.len(), "checksum": format!("{:016x}", xxh3_64(bytes)) })
}

fn write_meta(folder: &Path, mut meta: Value) {
    meta.as_object_mut().unwrap().remove("checksum");
    fs::write(folder.join(FILES[3]), with_checksum(meta.to_string().as_bytes())).unwrap();
}

/// The text with a correct checksum as its last member.
fn with_checksum(text: &[u8]) -> Vec<u8> {
    let end = text.windows(13).rposition(|it| it == b",\"checksum\":\"").filter(|_| text.ends_with(b"\"}\n"));
    let mut body = text[..end.unwrap_or(text.len().saturating_sub(1))].to_vec();
    let checksum = xxh3_64(&body);
    body.extend(format!(",\"checksum\":\"{checksum:016x}\"}}\n").bytes());
    body
}
