//! Event files (segments).

use super::columns::{Columns, NARROW};
use super::decode::{self, BLOCK, Integers};
use super::meta::{Checksum, GroupInfo, Segment, Sum};
use super::pages::{Pages, Zstd};
use super::{Error, GROUP_EVENTS, parquet_file};
use crate::event::Event;
use parquet::data_type::{Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::writer::SerializedFileWriter;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

const SCHEMA: &str = "message events {
    required int64 time;
    required int32 core (INTEGER(16,false));
    required int32 kind (INTEGER(8,false));
    required int32 thread (INTEGER(32,false));
    required int32 other (INTEGER(32,false));
    required int32 target (INTEGER(16,false));
    required int32 detail (INTEGER(16,false));
    required int32 value (INTEGER(32,false));
}";

/// Upper bound for a group: eight incompressible columns with page headers.
const MAX_GROUP_BYTES: u64 = 64 * GROUP_EVENTS as u64;
const MAX_FOOTER_BYTES: u64 = 1 << 20;
/// Upper bound for a page: a group of 64-bit numbers, plus encoding overhead.
const MAX_PAGE_BYTES: usize = 16 * GROUP_EVENTS;

/// File name of a segment in the folder of events.
pub fn file_name(number: usize) -> String {
    format!("{number:06}.parquet")
}

/// Writer of one segment.
pub struct SegmentWriter {
    path: PathBuf,
    file: SerializedFileWriter<Hashing>,
    groups: Vec<GroupInfo>,
    events: usize,
}

/// File that counts and hashes what was written since the last `take`.
struct Hashing {
    file: File,
    bytes: u64,
    hash: Xxh3,
}

impl Hashing {
    fn take(&mut self) -> Sum {
        let sum = Sum { bytes: self.bytes, checksum: Checksum(self.hash.digest()) };
        self.bytes = 0;
        self.hash.reset();
        sum
    }
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl SegmentWriter {
    pub fn create(path: &Path) -> Result<Self, Error> {
        let file = File::create(path).map_err(Error::io("create", path))?;
        let out = Hashing { file, bytes: 0, hash: Xxh3::new() };
        let properties = Arc::new(parquet_file::event_properties());
        let new = || SerializedFileWriter::new(out, parquet_file::schema(SCHEMA)?, properties);
        let file = new().map_err(Error::writing(path))?;
        Ok(SegmentWriter { path: path.into(), file, groups: Vec::new(), events: 0 })
    }

    pub fn events(&self) -> usize {
        self.events
    }

    /// Writes a group of at most [`GROUP_EVENTS`] events. `columns` is a reusable buffer.
    pub fn group(&mut self, events: &[Event], columns: &mut Columns) -> Result<(), Error> {
        let (Some(first), Some(last)) = (events.first(), events.last()) else { return Ok(()) };
        columns.set(events);
        let sum = self.row_group(columns).map_err(Error::writing(&self.path))?;
        self.groups.push(GroupInfo {
            events: events.len() as u32,
            begin: first.time,
            end: last.time,
            bytes: sum.bytes,
            checksum: sum.checksum,
        });
        self.events += events.len();
        Ok(())
    }

    fn row_group(&mut self, columns: &Columns) -> Result<Sum, ParquetError> {
        let mut group = self.file.next_row_group()?;
        let mut next = parquet_file::NextColumn(&mut group);
        next.next::<Int64Type>(&columns.time)?;
        for column in &columns.narrow {
            next.next::<Int32Type>(column)?;
        }
        group.close()?;
        self.file.flush()?;
        Ok(self.file.inner_mut().take())
    }

    /// Writes the footer, which makes the file valid Parquet, and renames it to `name`.
    pub fn close(self, name: &Path) -> Result<Segment, Error> {
        let mut out = self.file.into_inner().map_err(Error::writing(&self.path))?;
        let footer = out.take();
        fs::rename(&self.path, name).map_err(Error::io("rename", &self.path))?;
        Ok(Segment { groups: self.groups, footer })
    }
}

/// Buffers for reading groups, reused.
#[derive(Default)]
pub struct Memory {
    zstd: Zstd,
    time: decode::Memory<i64>,
    narrow: [decode::Memory<i32>; NARROW.len()],
    block: Columns,
}

/// Reads a group of a segment into `events`.
pub fn read_group(
    path: &Path,
    segment: &Segment,
    group: usize,
    memory: &mut Memory,
    events: &mut Vec<Event>,
) -> Result<(), Error> {
    events.clear();
    let info = segment.groups[group];
    let bytes =
        |groups: &[GroupInfo]| groups.iter().fold(0, |sum: u64, group| sum.saturating_add(group.bytes));
    let (begin, length) = (bytes(&segment.groups[..group]), bytes(&segment.groups));
    let mut file = hearth_base::file::open(path).map_err(Error::io("open", path))?;
    let footer = read_part(&mut file, path, length, segment.footer, MAX_FOOTER_BYTES)?;
    let sum = Sum { bytes: info.bytes, checksum: info.checksum };
    let content = read_part(&mut file, path, begin, sum, MAX_GROUP_BYTES)?;
    let metadata = parquet_file::metadata(&footer).map_err(Error::reading(path))?;
    parquet_file::check_schema(&metadata, SCHEMA).map_err(Error::reading(path))?;
    decode_events(&content, begin, &metadata, group, info.events as usize, memory, events)
        .map_err(|what| Error::corrupt(path, format!("group {group}{what}")))?;
    let times = |events: &[Event]| Some((events.first()?.time, events.last()?.time));
    if times(events) != Some((info.begin, info.end)) {
        return Err(Error::corrupt(path, format!("the times of group {group} differ from trace.json")));
    }
    Ok(())
}

fn read_part(file: &mut File, path: &Path, begin: u64, sum: Sum, most: u64) -> Result<Vec<u8>, Error> {
    let what = || format!("bytes {begin} to {}", begin.saturating_add(sum.bytes));
    if sum.bytes > most {
        return Err(Error::corrupt(path, format!("{} exceed the maximum", what())));
    }
    let mut bytes = Vec::with_capacity(sum.bytes as usize);
    file.seek(SeekFrom::Start(begin)).map_err(Error::io("read", path))?;
    file.take(sum.bytes).read_to_end(&mut bytes).map_err(Error::io("read", path))?;
    if bytes.len() as u64 != sum.bytes {
        return Err(Error::corrupt(path, format!("it ends before byte {}", begin.saturating_add(sum.bytes))));
    }
    if Checksum::of(&bytes) != sum.checksum {
        return Err(Error::corrupt(path, format!("the checksum of {} does not match", what())));
    }
    Ok(bytes)
}

/// Decodes the events of a group block by block. `content` starts at byte `begin` of the file.
fn decode_events(
    content: &[u8],
    begin: u64,
    metadata: &ParquetMetaData,
    group: usize,
    rows: usize,
    memory: &mut Memory,
    events: &mut Vec<Event>,
) -> Result<(), String> {
    let Some(info) = metadata.row_groups().get(group) else { return Err(" is missing".into()) };
    if rows > GROUP_EVENTS {
        return Err(format!(" has {rows} events; the maximum is {GROUP_EVENTS}"));
    }
    let pages = |index: usize| {
        let (bytes, compression) = parquet_file::chunk(content, begin, info.column(index))?;
        Ok(Pages::new(bytes, compression, MAX_PAGE_BYTES))
    };
    let failed = |index: usize| move |what: &str| format!(", column {index}: {what}");
    let Memory { zstd, time, narrow, block } = memory;
    let mut time = Integers::new(pages(0).map_err(failed(0))?, time);
    let mut columns = Vec::with_capacity(NARROW.len());
    for (index, memory) in (1..).zip(narrow) {
        columns.push(Integers::new(pages(index).map_err(failed(index))?, memory));
    }
    events.reserve(rows);
    while events.len() < rows {
        block.resize(BLOCK.min(rows - events.len()));
        time.fill(zstd, &mut block.time).map_err(failed(0))?;
        for (index, (column, values)) in (1..).zip(columns.iter_mut().zip(&mut block.narrow)) {
            column.fill(zstd, values).map_err(failed(index))?;
        }
        let before = events.len();
        block.events(events).map_err(|row| format!(": row {} is not a known event", before + row))?;
    }
    time.end(zstd).map_err(failed(0))?;
    (1..).zip(columns).try_for_each(|(index, column)| column.end(zstd).map_err(failed(index)))
}
