//! Where tiles lie in time, and how one lies in memory.

use super::cell::{Cell, part};
use crate::event::Time;

/// Bins of a tile.
pub const BINS: usize = 256;
/// No trace is longer (146 years): what comes later is taken to be then.
pub const LAST_TIME: Time = (1 << 62) - 1;
/// The coarsest level that a trace can need.
pub const LAST_LEVEL: u8 = 22;
/// Core sets that tiles speak of: a bit for each.
pub const MOST_SETS: usize = 8;

/// Width of a bin of `level` in nanoseconds: 1.024 µs, 4.096 µs, …
pub const fn bin_width(level: u8) -> Time {
    1 << (10 + 2 * level as u32)
}

/// Length of a tile of `level`.
pub const fn tile_width(level: u8) -> Time {
    bin_width(level) * BINS as Time
}

/// The level at which one tile holds a whole trace whose last instant is `end`.
pub fn coarsest_level(end: Time) -> u8 {
    (0..LAST_LEVEL).find(|level| tile_width(*level) > end).unwrap_or(LAST_LEVEL)
}

/// Tile `index` of `level`: the time from `index` × [`tile_width`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TileId {
    pub level: u8,
    pub index: u64,
}

impl TileId {
    /// `None`: there is no such time, or no such level.
    pub fn begin(self) -> Option<Time> {
        let valid = self.level <= LAST_LEVEL;
        valid.then(|| self.index.checked_mul(tile_width(self.level))).flatten().filter(|t| *t <= LAST_TIME)
    }
}

/// An array of a tile. Cell fields have an entry for each core and bin (core × 256 + bin), the
/// others one for each bin; `SetSizes` for each set and bin (set × 256 + bin).
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

    /// Bytes of an entry.
    fn size(self) -> usize {
        match self {
            Field::Thread | Field::Underload => 4,
            Field::Mhz | Field::Runnable | Field::CoresUsed | Field::SetSizes => 2,
            _ => 1,
        }
    }

    /// Rows of 256 entries.
    fn rows(self, shape: Shape) -> usize {
        match self {
            Field::Runnable | Field::CoresUsed | Field::Underload => 1,
            Field::SetSizes => shape.sets,
            _ => shape.cores,
        }
    }
}

/// What decides how large a tile is.
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

    /// Where a field lies. (Each is a multiple of 256 bytes long: all stay aligned.)
    fn range(self, field: Field) -> std::ops::Range<usize> {
        let before = Field::ALL.into_iter().take_while(|other| *other != field);
        let start = before.map(|other| self.field_bytes(other)).sum();
        start..start + self.field_bytes(field)
    }

    /// Bytes of a tile.
    pub fn bytes(self) -> usize {
        self.range(Field::Underload).end
    }

    /// Bytes of a tile without its last field, the underload, which has its own series.
    pub fn stored_bytes(self) -> usize {
        self.range(Field::Underload).start
    }
}

/// 256 bins of all cores: the fields one after the other, little-endian.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tile {
    shape: Shape,
    bytes: Vec<u8>,
}

impl Tile {
    pub fn new(shape: Shape) -> Tile {
        Tile { shape, bytes: vec![0; shape.bytes()] }
    }

    /// A tile as it was stored: [`Shape::stored_bytes`] of it. `None`: another number of them.
    pub fn from_stored(shape: Shape, mut bytes: Vec<u8>) -> Option<Tile> {
        (bytes.len() == shape.stored_bytes()).then(|| {
            bytes.resize(shape.bytes(), 0);
            Tile { shape, bytes }
        })
    }

    /// How much memory it takes.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub fn stored(&self) -> &[u8] {
        &self.bytes[..self.shape.stored_bytes()]
    }

    /// The entries of a field, little-endian.
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

    /// Rounds the cells of a bin into their places.
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
