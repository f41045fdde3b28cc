//! Binary encoding of the table of an index and of its snapshots.
//!
//! ```text
//! table      end: u64  groups: u32  tiles: u32  intervals: u32
//!            groups × (begin: u64  end: u64  events: u64  raw bytes: u32  block)
//!            tiles × (level: u8  index: u64  block), in order
//!            intervals × (number: u64  underload: u32), in order
//! block      offset: u64  bytes: u64  checksum: u64
//! snapshot   cores × (thread: u32  kHz: u32  flags: u8  sets: u8  reason: u8)
//!            ready: u32  ready × (thread: u32  core: u16)
//! ```

use super::lanes::Marks;
use super::plan::Span;
use super::snapshot::{CoreSnapshot, Snapshot};
use super::tile::TileId;
use super::underload::UnderloadSeries;
use crate::event::Time;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Block {
    pub offset: u64,
    pub bytes: u64,
    pub checksum: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupEntry {
    /// Begins at the time of the last event before the group.
    pub span: Span,
    /// Size of its decompressed snapshot in bytes.
    pub raw: u32,
    pub block: Block,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table {
    pub end: Time,
    pub groups: Vec<GroupEntry>,
    pub tiles: Vec<(TileId, Block)>,
    pub underload: UnderloadSeries,
}

const EXACT: u8 = 1;
const SPIN: u8 = 2;

/// Reads numbers from a byte slice. Methods return `None` if it is too short.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn block(&mut self) -> Option<Block> {
        Some(Block { offset: self.u64()?, bytes: self.u64()?, checksum: self.u64()? })
    }

    /// Reads a count of items of `bytes` bytes each, checked against the remaining input.
    fn count(&mut self, bytes: usize) -> Option<usize> {
        let count = self.u32()? as usize;
        (count.checked_mul(bytes)? <= self.0.len()).then_some(count)
    }
}

fn put_block(out: &mut Vec<u8>, block: Block) {
    for number in [block.offset, block.bytes, block.checksum] {
        out.extend(number.to_le_bytes());
    }
}

impl Table {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(self.end.to_le_bytes());
        for count in [self.groups.len(), self.tiles.len(), self.underload.0.len()] {
            out.extend((count as u32).to_le_bytes());
        }
        for group in &self.groups {
            for number in [group.span.begin, group.span.end, group.span.events] {
                out.extend(number.to_le_bytes());
            }
            out.extend(group.raw.to_le_bytes());
            put_block(&mut out, group.block);
        }
        for (id, block) in &self.tiles {
            out.push(id.level);
            out.extend(id.index.to_le_bytes());
            put_block(&mut out, *block);
        }
        for (interval, underload) in &self.underload.0 {
            out.extend(interval.to_le_bytes());
            out.extend(underload.to_le_bytes());
        }
        out
    }

    /// Decodes a table; `None` if the bytes are invalid.
    pub fn decode(bytes: &[u8]) -> Option<Table> {
        let mut input = Input(bytes);
        let end = input.u64()?;
        let (groups, tiles, intervals) = (input.count(52)?, input.count(33)?, input.count(12)?);
        let mut table = Table { end, ..Table::default() };
        for _ in 0..groups {
            let span = Span { begin: input.u64()?, end: input.u64()?, events: input.u64()? };
            table.groups.push(GroupEntry { span, raw: input.u32()?, block: input.block()? });
        }
        for _ in 0..tiles {
            let [level] = input.take()?;
            table.tiles.push((TileId { level, index: input.u64()? }, input.block()?));
        }
        for _ in 0..intervals {
            table.underload.0.push((input.u64()?, input.u32()?));
        }
        table.sound().then_some(table).filter(|_| input.0.is_empty())
    }

    /// True if all entries are sorted, as binary searches require.
    fn sound(&self) -> bool {
        let groups = self.groups.windows(2).all(|pair| pair[0].span.begin <= pair[1].span.begin);
        let tiles = self.tiles.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let intervals = self.underload.0.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let bounded =
            self.underload.0.last().is_none_or(|(interval, _)| interval.checked_mul(1 << 23).is_some());
        groups && tiles && intervals && bounded && self.end <= super::tile::LAST_TIME
    }
}

impl Snapshot {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for core in &self.cores {
            out.extend(core.current.to_le_bytes());
            out.extend(core.khz.to_le_bytes());
            let flags = (u8::from(core.exact) * EXACT) | (u8::from(core.marks.spin) * SPIN);
            out.extend([flags, core.marks.sets, core.marks.reason]);
        }
        out.extend((self.ready.len() as u32).to_le_bytes());
        for (thread, core) in &self.ready {
            out.extend(thread.to_le_bytes());
            out.extend(core.to_le_bytes());
        }
        out
    }

    /// Decodes a snapshot of `cores` cores; `None` if the bytes are invalid.
    pub fn decode(time: Time, cores: usize, bytes: &[u8]) -> Option<Snapshot> {
        let mut input = Input(bytes);
        let mut snapshot = Snapshot { time, ..Snapshot::default() };
        for _ in 0..cores {
            let (current, khz) = (input.u32()?, input.u32()?);
            let [flags, sets, reason] = input.take()?;
            let marks = Marks { spin: flags & SPIN != 0, sets, reason };
            snapshot.cores.push(CoreSnapshot { current, khz, exact: flags & EXACT != 0, marks });
        }
        for _ in 0..input.count(6)? {
            snapshot.ready.push((input.u32()?, input.take().map(u16::from_le_bytes)?));
        }
        input.0.is_empty().then_some(snapshot)
    }
}
