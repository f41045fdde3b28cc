//! Position of tiles in time, and their memory layout.

use super::cell::{Cell, part};
use crate::event::Time;

/// Number of bins of a tile.
pub const BINS: usize = 256;
/// Latest supported time (146 years). Later events are clamped to it.
pub const LAST_TIME: Time = (1 << 62) - 1;
/// Coarsest level that any trace needs.
pub const LAST_LEVEL: u8 = 22;
/// Number of core sets in tiles, one bit each.
pub const MOST_SETS: usize = 8;

/// Width of a bin of `level` in nanoseconds: 1.024 µs, 4.096 µs, …
pub const fn bin_width(level: u8) -> Time {
    1 << (10 + 2 * level as u32)
}

/// Period of a tile of `level` in nanoseconds.
pub const fn tile_width(level: u8) -> Time {
    bin_width(level) * BINS as Time
}

/// Level at which one tile covers a trace whose last instant is `end`.
pub fn coarsest_level(end: Time) -> u8 {
    (0..LAST_LEVEL).find(|level| tile_width(*level) > end).unwrap_or(LAST_LEVEL)
}

/// Tile number `index` of `level`; begins at `index` × [`tile_width`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TileId {
    pub level: u8,
    pub index: u64,
}

impl TileId {
    /// Begin of the tile; `None` if the time or level is out of range.
    pub fn begin(self) -> Option<Time> {
        let valid = self.level <= LAST_LEVEL;
        valid.then(|| self.index.checked_mul(tile_width(self.level))).flatten().filter(|t| *t <= LAST_TIME)
    }
}

/// Array of a tile. Per-core fields have an entry for each core and bin (core × 256 + bin),
/// `SetSizes` has one for each set and bin (set × 256 + bin), and the others have one for each bin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    Busy,
    Traced,
    Mhz,
    Thread,
    Queue,
    Overload,
    Inverted,
    Reason,
    Sets,
    Spin,
    Wakeups,
    Migrations,
    Forks,
    Runnable,
    CoresUsed,
    SetSizes,
    Underload,
}

impl Field {
    pub const ALL: [Field; 17] = [
        Field::Busy,
        Field::Traced,
        Field::Mhz,
        Field::Thread,
        Field::Queue,
        Field::Overload,
        Field::Inverted,
        Field::Reason,
        Field::Sets,
        Field::Spin,
        Field::Wakeups,
        Field::Migrations,
        Field::Forks,
        Field::Runnable,
        Field::CoresUsed,
        Field::SetSizes,
        Field::Underload,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Field::Busy => "busy",
            Field::Traced => "traced",
            Field::Mhz => "mhz",
            Field::Thread => "thread",
            Field::Queue => "queue",
            Field::Overload => "overload",
            Field::Inverted => "inverted",
            Field::Reason => "reason",
            Field::Sets => "sets",
            Field::Spin => "spin",
            Field::Wakeups => "wakeups",
            Field::Migrations => "migrations",
            Field::Forks => "forks",
            Field::Runnable => "runnable",
            Field::CoresUsed => "cores_used",
            Field::SetSizes => "set_sizes",
            Field::Underload => "underload",
        }
    }

    pub fn named(name: &str) -> Option<Field> {
        Field::ALL.into_iter().find(|field| field.name() == name)
    }

    /// Size of an entry in bytes.
    fn size(self) -> usize {
        match self {
            Field::Thread | Field::Underload => 4,
            Field::Mhz | Field::Runnable | Field::CoresUsed | Field::SetSizes => 2,
            _ => 1,
        }
    }

    /// Number of rows of 256 entries.
    fn rows(self, shape: Shape) -> usize {
        match self {
            Field::Runnable | Field::CoresUsed | Field::Underload => 1,
            Field::SetSizes => shape.sets,
            _ => shape.cores,
        }
    }
}

/// Dimensions that determine the size of a tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    pub cores: usize,
    /// At most [`MOST_SETS`].
    pub sets: usize,
}

impl Shape {
    pub fn of(header: &crate::Header) -> Shape {
        Shape { cores: header.cores.len(), sets: header.sets.len().min(MOST_SETS) }
    }

    fn field_bytes(self, field: Field) -> usize {
        field.rows(self) * BINS * field.size()
    }

    /// Byte range of a field. (Each length is a multiple of 256, so all fields stay aligned.)
    fn range(self, field: Field) -> std::ops::Range<usize> {
        let before = Field::ALL.into_iter().take_while(|other| *other != field);
        let start = before.map(|other| self.field_bytes(other)).sum();
        start..start + self.field_bytes(field)
    }

    /// Size of a tile in bytes.
    pub fn bytes(self) -> usize {
        self.range(Field::Underload).end
    }

    /// Size without the last field, the underload, which is stored as a separate series.
    pub fn stored_bytes(self) -> usize {
        self.range(Field::Underload).start
    }
}

/// 256 bins of all cores: consecutive fields, little-endian.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tile {
    shape: Shape,
    bytes: Vec<u8>,
}

impl Tile {
    pub fn new(shape: Shape) -> Tile {
        Tile { shape, bytes: vec![0; shape.bytes()] }
    }

    /// Tile from its stored bytes ([`Shape::stored_bytes`]); `None` if their number is wrong.
    pub fn from_stored(shape: Shape, mut bytes: Vec<u8>) -> Option<Tile> {
        (bytes.len() == shape.stored_bytes()).then(|| {
            bytes.resize(shape.bytes(), 0);
            Tile { shape, bytes }
        })
    }

    /// Size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub fn stored(&self) -> &[u8] {
        &self.bytes[..self.shape.stored_bytes()]
    }

    /// Entries of a field, little-endian.
    pub fn field(&self, field: Field) -> &[u8] {
        &self.bytes[self.shape.range(field)]
    }

    fn put<const N: usize>(&mut self, field: Field, entry: usize, value: [u8; N]) {
        let at = self.shape.range(field).start + entry * N;
        self.bytes[at..at + N].copy_from_slice(&value);
    }

    pub fn set_underload(&mut self, bin: usize, mean: f32) {
        self.put(Field::Underload, bin, mean.to_le_bytes());
    }

    /// Rounds and stores the cells of a bin.
    pub fn set_bin(&mut self, bin: usize, width: Time, cells: &[Cell], strip: &super::lanes::Strip) {
        for (core, cell) in cells.iter().enumerate() {
            let entry = core * BINS + bin;
            let most = |count: u32| [count.min(255) as u8];
            self.put(Field::Busy, entry, [part(cell.busy, width)]);
            self.put(Field::Traced, entry, [part(cell.traced, width)]);
            self.put(Field::Mhz, entry, cell.mhz().to_le_bytes());
            self.put(Field::Thread, entry, cell.thread().to_le_bytes());
            self.put(Field::Queue, entry, most(cell.queue));
            self.put(Field::Overload, entry, [part(cell.overload, width)]);
            self.put(Field::Inverted, entry, [part(cell.inverted, width)]);
            self.put(Field::Reason, entry, [cell.reason]);
            self.put(Field::Sets, entry, [cell.sets]);
            self.put(Field::Spin, entry, [part(cell.spin, width)]);
            self.put(Field::Wakeups, entry, most(cell.wakeups));
            self.put(Field::Migrations, entry, most(cell.migrations));
            self.put(Field::Forks, entry, most(cell.forks));
        }
        let most = |count: u32| (count.min(u32::from(u16::MAX)) as u16).to_le_bytes();
        let used = cells.iter().filter(|cell| cell.used).count() as u32;
        self.put(Field::Runnable, bin, most(strip.runnable));
        self.put(Field::CoresUsed, bin, most(used));
        for set in 0..self.shape.sets {
            self.put(Field::SetSizes, set * BINS + bin, most(strip.sets[set]));
        }
    }
}
