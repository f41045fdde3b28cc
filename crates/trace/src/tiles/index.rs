//! Stored index: a file of compressed blocks and a table of their locations.
//!
//! ```text
//! start    "HEARTHTI"  version: u32  zero: u32                                   16 bytes
//! block*   a tile or a snapshot, compressed with zstd
//! table    (`table.rs`)
//! footer   table offset: u64  table bytes: u64  checksum of the table: u64       24 bytes
//! ```
//!
//! Checksums are XXH3-64. All numbers are little-endian.

use super::MOST_CORES;
use super::build::TileBuilder;
use super::demand;
use super::error::Error;
use super::plan::Span;
use super::snapshot::{CoreSnapshot, Snapshot};
use super::source::Groups;
use super::table::{Block, GroupEntry, Table};
use super::tile::{LAST_TIME, Shape, Tile, TileId, coarsest_level};
use crate::event::{Event, Time};
use crate::metrics::State;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 8] = b"HEARTHTI";
/// Format version, increased whenever the content or layout of tiles changes. Older indexes are
/// rebuilt.
const VERSION: u32 = 2;
const START_BYTES: u64 = 16;
const FOOTER_BYTES: u64 = 24;
const COMPRESSION: i32 = 3;
/// Maximum size of a decompressed snapshot.
const MOST_SNAPSHOT_BYTES: u32 = 64 << 20;

/// Limits for computing tiles together: events of the groups they need, and bytes of the tiles.
const MOST_RUN_EVENTS: u64 = 3 << 17;
const MOST_RUN_BYTES: u64 = 16 << 20;

/// Storage of an index.
pub enum Place {
    Memory(Vec<u8>),
    File(File),
}

impl Place {
    fn length(&self) -> io::Result<u64> {
        match self {
            Place::Memory(bytes) => Ok(bytes.len() as u64),
            Place::File(file) => Ok(file.metadata()?.len()),
        }
    }

    /// The caller has checked that the range is within the length.
    fn read(&self, offset: u64, bytes: usize) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; bytes];
        match self {
            Place::Memory(all) => {
                let part = usize::try_from(offset).ok().and_then(|offset| all.get(offset..)?.get(..bytes));
                buffer.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
            }
            Place::File(file) => file.read_exact_at(&mut buffer, offset)?,
        }
        Ok(buffer)
    }
}

/// Open index of a trace. It does not own the trace, which is passed with each query.
pub struct Index {
    place: Place,
    shape: Shape,
    table: Table,
    /// State without events.
    state: State,
}

impl Index {
    /// Builds the index of a trace and writes it to `out`.
    pub fn build(groups: &impl Groups, out: impl Write) -> Result<(), Error> {
        let (header, spans, end) = (groups.header(), groups.spans(), groups.end());
        if header.cores.len() > MOST_CORES {
            return Err(Error::TooManyCores(header.cores.len()));
        }
        let mut builder = TileBuilder::new(header, &spans, end);
        let mut out = Output::start(out)?;
        let mut table = Table { end, ..Table::default() };
        // One thread reads ahead, one processes the events, and this one compresses.
        std::thread::scope(|scope| {
            let (events, next_events) = sync_channel(2);
            let (made, next_made) = sync_channel(2);
            scope.spawn(move || {
                for group in 0..groups.spans().len() {
                    if events.send(groups.read(group)).is_err() {
                        break;
                    }
                }
            });
            let builder = &mut builder;
            scope.spawn(move || {
                for group in next_events {
                    let result = group.map(|events: Arc<Vec<Event>>| {
                        let count = events.len() as u64;
                        (builder.group(&events), count, builder.now(), builder.take_tiles())
                    });
                    if made.send(result).is_err() {
                        break;
                    }
                }
            });
            for result in next_made {
                let (snapshot, events, last, tiles) = result?;
                let span = Span { begin: snapshot.time, end: last, events };
                let raw = snapshot.encode();
                table.groups.push(GroupEntry { span, raw: raw.len() as u32, block: out.block(&raw)? });
                out.tiles(tiles, &mut table)?;
            }
            Ok::<_, Error>(())
        })?;
        table.underload = builder.finish();
        out.tiles(builder.take_tiles(), &mut table)?;
        table.tiles.sort_unstable_by_key(|(id, _)| *id);
        out.finish(&table.encode())
    }

    /// Opens the index of the trace `groups`. Returns an error if it belongs to another trace, or
    /// to another version of this trace.
    pub fn open(place: Place, groups: &impl Groups) -> Result<Index, Error> {
        let reading = |source| Error::Io { action: "read", source };
        let length = place.length().map_err(reading)?;
        if length < START_BYTES + FOOTER_BYTES {
            return Err(Error::Damaged("it is too short"));
        }
        let start = place.read(0, START_BYTES as usize).map_err(reading)?;
        if start[..8] != *MAGIC || start[8..12] != VERSION.to_le_bytes() {
            return Err(Error::Damaged("it was written by another version of hearth"));
        }
        let footer = place.read(length - FOOTER_BYTES, FOOTER_BYTES as usize).map_err(reading)?;
        let number = |at: usize| footer[at..at + 8].iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte));
        let block = Block { offset: number(0), bytes: number(8), checksum: number(16) };
        let bytes = checked(&place, block, length - FOOTER_BYTES)?;
        let table = Table::decode(&bytes).ok_or(Error::Damaged("its table is invalid"))?;
        let header = groups.header();
        if header.cores.len() > MOST_CORES {
            return Err(Error::TooManyCores(header.cores.len()));
        }
        let counts = groups.spans().into_iter().map(|span| span.events);
        if table.end != groups.end() || !counts.eq(table.groups.iter().map(|group| group.span.events)) {
            return Err(Error::Damaged("it belongs to another trace"));
        }
        Ok(Index { place, shape: Shape::of(header), table, state: State::new(header) })
    }

    /// Builds an index in memory, for a trace in memory or in a read-only folder.
    pub fn in_memory(groups: &impl Groups) -> Result<Index, Error> {
        let mut bytes = Vec::new();
        Index::build(groups, &mut bytes)?;
        Index::open(Place::Memory(bytes), groups)
    }

    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Last instant of the trace.
    pub fn end(&self) -> Time {
        self.table.end
    }

    /// Finest level with a stored tile.
    pub fn finest_stored(&self) -> u8 {
        self.table.tiles.first().map_or(self.coarsest(), |(id, _)| id.level)
    }

    pub fn coarsest(&self) -> u8 {
        coarsest_level(self.table.end)
    }

    pub fn is_stored(&self, id: TileId) -> bool {
        self.stored(id).is_some()
    }

    /// Stored tiles, in order.
    pub fn tiles(&self) -> impl Iterator<Item = TileId> {
        self.table.tiles.iter().map(|(id, _)| *id)
    }

    fn stored(&self, id: TileId) -> Option<Block> {
        let at = self.table.tiles.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(self.table.tiles[at].1)
    }

    /// First group whose events are needed to know the state from `time` on.
    pub fn group_before(&self, time: Time) -> usize {
        self.table.groups.partition_point(|group| group.span.begin < time).saturating_sub(1)
    }

    /// Time of the last event before `group`.
    pub fn group_time(&self, group: usize) -> Option<Time> {
        Some(self.table.groups.get(group)?.span.begin)
    }

    pub fn groups(&self) -> usize {
        self.table.groups.len()
    }

    /// Snapshot of the state at the beginning of `group`.
    pub fn snapshot(&self, group: usize) -> Result<Snapshot, Error> {
        let Some(entry) = self.table.groups.get(group) else {
            return Ok(Snapshot::start(self.shape.cores));
        };
        if entry.raw > MOST_SNAPSHOT_BYTES {
            return Err(Error::Damaged("a snapshot is too large"));
        }
        let bytes = self.unpack(entry.block, entry.raw as usize)?;
        Snapshot::decode(entry.span.begin, self.shape.cores, &bytes)
            .ok_or(Error::Damaged("a snapshot is invalid"))
    }

    /// Returns a tile, stored or computed; `None` if the trace has no such tile.
    pub fn tile(&self, groups: &impl Groups, id: TileId) -> Result<Option<Tile>, Error> {
        let Some(begin) = self.begin_of(id) else { return Ok(None) };
        let mut tile = match self.stored(id) {
            Some(block) => {
                let bytes = self.unpack(block, self.shape.stored_bytes())?;
                Tile::from_stored(self.shape, bytes).ok_or(Error::Damaged("a tile has the wrong size"))?
            }
            None => {
                let (snapshot, events) = self.follow(groups, begin)?;
                let state = self.state.clone();
                match demand::compute(self.shape, id, state, &snapshot, self.table.end, events)? {
                    Some(tile) => tile,
                    None => return Ok(None),
                }
            }
        };
        self.table.underload.fill(id, self.table.end, &mut tile);
        Ok(Some(tile))
    }

    /// Range of tiles of the level of `id`, including `id`, that are cheapest to compute together
    /// because they need the same groups. A stored tile is a range of its own. The range is the
    /// same for each of its tiles.
    pub fn run_of(&self, id: TileId) -> Range<u64> {
        let fits = |run: &Range<u64>| {
            let bytes = self.shape.bytes() as u64 * (run.end - run.start);
            bytes <= MOST_RUN_BYTES && self.most_events(id.level, run) <= MOST_RUN_EVENTS
        };
        let runs = [8u64, 4, 2].map(|length| {
            let begin = id.index - id.index % length;
            begin..begin.saturating_add(length)
        });
        let alone = id.index..id.index.saturating_add(1);
        if self.is_stored(id) { alone } else { runs.into_iter().find(fits).unwrap_or(alone) }
    }

    /// Number of events in the groups that overlap these tiles: an upper bound for the events in
    /// the tiles.
    fn most_events(&self, level: u8, run: &Range<u64>) -> u64 {
        let time = |index: u64| TileId { level, index }.begin().unwrap_or(LAST_TIME);
        let (begin, end) = (time(run.start), time(run.end));
        let groups = &self.table.groups;
        let behind = groups.partition_point(|group| group.span.begin < end);
        groups[self.group_before(begin).min(behind)..behind].iter().map(|group| group.span.events).sum()
    }

    /// Computes the tiles of a range from [`Index::run_of`] in one pass. Omits tiles after the end
    /// of the trace.
    pub fn tiles_of(&self, groups: &impl Groups, level: u8, run: Range<u64>) -> Result<Vec<Tile>, Error> {
        let first = TileId { level, index: run.start };
        if run.end <= run.start.saturating_add(1) {
            return Ok(self.tile(groups, first)?.into_iter().collect());
        }
        let Some(begin) = self.begin_of(first) else { return Ok(Vec::new()) };
        let count = (run.end - run.start) as usize;
        let (snapshot, events) = self.follow(groups, begin)?;
        let state = self.state.clone();
        let mut tiles =
            demand::compute_run(self.shape, (first, count), state, &snapshot, self.table.end, events)?;
        for (index, tile) in run.zip(&mut tiles) {
            self.table.underload.fill(TileId { level, index }, self.table.end, tile);
        }
        Ok(tiles)
    }

    /// Begin of a tile, if the trace has it.
    fn begin_of(&self, id: TileId) -> Option<Time> {
        id.begin().filter(|begin| *begin <= self.table.end && id.level <= self.coarsest())
    }

    /// Snapshot before the last group that begins before `time`, and the groups from there on.
    fn follow<'a>(
        &self,
        groups: &'a impl Groups,
        time: Time,
    ) -> Result<(Snapshot, impl Iterator<Item = Result<GroupEvents, crate::Error>> + 'a), Error> {
        let first = self.group_before(time);
        let events = (first..self.groups()).map(|group| groups.read(group).map(GroupEvents));
        Ok((self.snapshot(first)?, events))
    }

    /// State at `time`, after the events of that instant.
    pub fn moment(&self, groups: &impl Groups, time: Time) -> Result<Moment, Error> {
        let first = self.group_before(time.saturating_add(1));
        let snapshot = self.snapshot(first)?;
        let mut lanes = snapshot.lanes(self.shape, self.state.clone(), snapshot.time);
        if first < self.groups() {
            let events = groups.read(first)?;
            for event in events.iter().take_while(|event| event.time <= time) {
                lanes.event(&Event { time: event.time.max(lanes.now()), ..*event });
            }
        }
        let runnable = lanes.state().cores().iter().map(|core| core.runnable).collect();
        Ok(Moment { cores: Snapshot::take(&lanes, time).cores, runnable })
    }

    fn unpack(&self, block: Block, raw: usize) -> Result<Vec<u8>, Error> {
        let length = self.place.length().map_err(|source| Error::Io { action: "read", source })?;
        let bytes = checked(&self.place, block, length)?;
        zstd::bulk::decompress(&bytes, raw).map_err(|_| Error::Damaged("a block cannot be decompressed"))
    }
}

/// State of the cores at one instant.
pub struct Moment {
    pub cores: Vec<CoreSnapshot>,
    /// Number of threads that run or are ready, per core.
    pub runnable: Vec<u32>,
}

struct GroupEvents(Arc<Vec<Event>>);

impl AsRef<[Event]> for GroupEvents {
    fn as_ref(&self) -> &[Event] {
        &self.0
    }
}

/// Reads a block and verifies that it ends by `limit` and matches its checksum.
fn checked(place: &Place, block: Block, limit: u64) -> Result<Vec<u8>, Error> {
    let end = block.offset.checked_add(block.bytes);
    let bytes = usize::try_from(block.bytes).ok().filter(|_| end.is_some_and(|end| end <= limit));
    let bytes = bytes.ok_or(Error::Damaged("a block is outside the file"))?;
    let bytes = place.read(block.offset, bytes).map_err(|source| Error::Io { action: "read", source })?;
    match xxh3_64(&bytes) == block.checksum {
        true => Ok(bytes),
        false => Err(Error::Damaged("a checksum does not match")),
    }
}

/// Writer of the index file that tracks the offset.
struct Output<W> {
    out: W,
    offset: u64,
}

impl<W: Write> Output<W> {
    fn start(out: W) -> Result<Self, Error> {
        let mut output = Output { out, offset: 0 };
        output.write(MAGIC)?;
        output.write(&VERSION.to_le_bytes())?;
        output.write(&[0; 4])?;
        Ok(output)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.out.write_all(bytes).map_err(|source| Error::Io { action: "write", source })?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    fn block(&mut self, raw: &[u8]) -> Result<Block, Error> {
        let packed = zstd::bulk::compress(raw, COMPRESSION)
            .map_err(|source| Error::Io { action: "compress", source })?;
        let block = Block { offset: self.offset, bytes: packed.len() as u64, checksum: xxh3_64(&packed) };
        self.write(&packed)?;
        Ok(block)
    }

    fn tiles(&mut self, tiles: Vec<(TileId, Tile)>, table: &mut Table) -> Result<(), Error> {
        for (id, tile) in tiles {
            table.tiles.push((id, self.block(tile.stored())?));
        }
        Ok(())
    }

    fn finish(mut self, table: &[u8]) -> Result<(), Error> {
        let offset = self.offset;
        self.write(table)?;
        self.write(&offset.to_le_bytes())?;
        self.write(&(table.len() as u64).to_le_bytes())?;
        self.write(&xxh3_64(table).to_le_bytes())?;
        self.out.flush().map_err(|source| Error::Io { action: "write", source })
    }
}
