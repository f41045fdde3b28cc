//! Opens the index of a small trace with a part replaced: it is rejected or gives tiles, without a panic, in bounded memory.
//!
//! The first byte selects the part that the rest replaces. The target corrects sizes and checksums, so that the code
//! behind their checks is reached.

#![cfg_attr(fuzzing, no_main)]

use hearth_fuzz::fuzz_target;
use hearth_trace::tiles::{Groups, Index, Place, Span, TileId};
use hearth_trace::{CoreInfo, Error, Event, Header, IDLE, Kind, Stop, Trace};
use std::ops::Range;
use std::sync::{Arc, LazyLock};
use xxhash_rust::xxh3::xxh3_64;

const GROUP_EVENTS: usize = 16;
const START: usize = 16;
const FOOTER: usize = 24;
/// Bytes of a table: its head; a group's entry, with the offset of its size; a tile's entry.
const HEAD: usize = 20;
const GROUP: usize = 52;
const RAW: usize = 24;
const TILE: usize = 33;
/// Offset, size and checksum of a block, at the end of an entry.
const BLOCK: usize = 24;

/// A trace of several groups.
struct Small(Trace);

impl Groups for Small {
    fn header(&self) -> &Header {
        &self.0.header
    }

    fn spans(&self) -> Vec<Span> {
        let groups = self.0.events.chunks(GROUP_EVENTS);
        let span = |group: &[Event]| Span {
            begin: group[0].time,
            end: group[group.len() - 1].time,
            events: group.len() as u64,
        };
        groups.map(span).collect()
    }

    fn read(&self, group: usize) -> Result<Arc<Vec<Event>>, Error> {
        Ok(Arc::new(self.0.events.chunks(GROUP_EVENTS).nth(group).unwrap_or_default().to_vec()))
    }
}

static TRACE: LazyLock<Small> = LazyLock::new(|| {
    let switch = |i: u32| Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: i % 7 };
    let header = Header {
        cores: vec![CoreInfo::default(); 3],
        sets: vec!["primary".into()],
        duration: 20_000_000,
        ..Header::default()
    };
    let events =
        (0..100).map(|i| Event { time: u64::from(i * i * 1000), core: i as u16 % 3, kind: switch(i) });
    Small(Trace { header, events: events.collect() })
});

static INDEX: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut bytes = Vec::new();
    Index::build(&*TRACE, &mut bytes).unwrap();
    let table = &bytes[table_of(&bytes).unwrap()];
    let groups = count(table, 8).unwrap();
    let content = |end: usize| {
        let (offset, length) = (number(table, end - BLOCK).unwrap(), number(table, end - BLOCK + 8).unwrap());
        zstd::bulk::decompress(&bytes[offset..][..length], 1 << 20).unwrap()
    };
    let (snapshot, tile) = (content(HEAD + 2 * GROUP), content(HEAD + groups * GROUP + TILE));
    let tile_at = 4 * groups as u8 + 2;
    hearth_fuzz::seeds([(0, &bytes[..]), (1, table), (6, &snapshot), (tile_at, &tile)]);
    bytes
});

fuzz_target!(|input: &[u8]| {
    let Some((which, content)) = input.split_first() else { return };
    let index = &*INDEX;
    let table = table_of(index).unwrap();
    let (blocks, groups) = (&index[..table.start], TRACE.spans().len());
    // Replaces the block of an entry: groups come first, then tiles.
    let replace = |entry: usize, content: &[u8], raw: Option<usize>| {
        let at = match entry.checked_sub(groups) {
            None => HEAD + entry * GROUP,
            Some(tile) => HEAD + groups * GROUP + tile * TILE,
        };
        let mut table = index[table.clone()].to_vec();
        let block = at + if entry < groups { GROUP } else { TILE } - BLOCK;
        put(&mut table, block, blocks.len() as u64);
        put(&mut table, block + 8, content.len() as u64);
        if let Some(raw) = raw {
            table[at + RAW..at + RAW + 4].copy_from_slice(&(raw as u32).to_le_bytes());
        }
        [blocks, content, &table].concat()
    };
    let entry = usize::from(which / 4);
    let bytes = match which % 4 {
        0 => content.to_vec(),
        1 => with_footer([blocks, content].concat(), blocks.len()),
        2 if entry <= groups => {
            let raw = (entry < groups).then_some(content.len());
            let packed = zstd::bulk::compress(content, 1).unwrap();
            with_footer(replace(entry, &packed, raw), blocks.len() + packed.len())
        }
        3 if entry <= groups => with_footer(replace(entry, content, None), blocks.len() + content.len()),
        _ => return,
    };
    if let Ok(index) = Index::open(Place::Memory(with_checksums(bytes)), &*TRACE) {
        query(&index);
    }
});

/// Makes all queries of the viewer.
fn query(index: &Index) {
    let stored = index.tiles().take(20);
    let levels = (0..=index.coarsest()).flat_map(|level| [0, 7].map(|index| TileId { level, index }));
    for id in stored.chain(levels) {
        let _ = index.tile(&*TRACE, id);
    }
    for group in 0..=index.groups() {
        let _ = index.snapshot(group);
        let _ = index.moment(&*TRACE, index.group_time(group).unwrap_or(0));
    }
    let _ = index.moment(&*TRACE, u64::MAX);
    let _ = index.finest_stored();
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    usize::try_from(u64::from_le_bytes(*bytes)).ok()
}

fn count(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize)
}

fn put(bytes: &mut [u8], at: usize, number: u64) {
    if let Some(place) = bytes.get_mut(at..at + 8) {
        place.copy_from_slice(&number.to_le_bytes());
    }
}

/// The table's range, from the footer.
fn table_of(bytes: &[u8]) -> Option<Range<usize>> {
    let footer = bytes.len().checked_sub(FOOTER).filter(|footer| *footer >= START)?;
    let offset = number(bytes, footer)?;
    let end = offset.checked_add(number(bytes, footer + 8)?)?;
    (end <= footer).then_some(offset..end)
}

/// Adds a footer for a table that begins at `table`.
fn with_footer(mut bytes: Vec<u8>, table: usize) -> Vec<u8> {
    let length = bytes.len() - table;
    for number in [table, length, 0] {
        bytes.extend((number as u64).to_le_bytes());
    }
    bytes
}

/// Corrects the checksums of the table and of all blocks that it names.
fn with_checksums(mut bytes: Vec<u8>) -> Vec<u8> {
    let Some(table) = table_of(&bytes) else { return bytes };
    let count = |at| count(&bytes[table.clone()], at).unwrap_or(0);
    let (groups, tiles) = (count(8), count(12));
    let entries = (0..groups).map(|_| GROUP).chain((0..tiles).map(|_| TILE));
    let mut end = table.start + HEAD;
    for entry in entries {
        end += entry;
        if end > table.end {
            break;
        }
        let block = end - BLOCK;
        let content = number(&bytes, block).zip(number(&bytes, block + 8));
        let content = content.and_then(|(offset, length)| bytes.get(offset..offset.checked_add(length)?));
        if let Some(checksum) = content.map(xxh3_64) {
            put(&mut bytes, block + 16, checksum);
        }
    }
    let checksum = xxh3_64(&bytes[table]);
    let footer = bytes.len() - FOOTER;
    put(&mut bytes, footer + 16, checksum);
    bytes
}
