//! Multi-resolution index: access to a trace at any zoom level without reading all of it.
//!
//! Time is divided into bins; bins of level L are 2^(10 + 2 L) ns wide. A [`Tile`] holds the
//! activity of all cores in 256 bins of a level. Tiles that cover many events are stored. The
//! others are computed on demand from the events, starting at a [`Snapshot`] of the state that is
//! stored for each group of events. The result is the same either way.

mod build;
mod cell;
mod demand;
mod error;
mod folder;
mod index;
mod lanes;
mod plan;
mod snapshot;
mod source;
mod table;
mod tile;
mod underload;

pub use build::TileBuilder;
pub use error::Error;
pub use index::{Index, Moment, Place};
pub use lanes::Marks;
pub use plan::Span;
pub use snapshot::{CoreSnapshot, Snapshot};
pub use source::Groups;
pub use tile::{
    BINS, Field, LAST_LEVEL, MOST_SETS, Shape, Tile, TileId, bin_width, coarsest_level, tile_width,
};
pub use underload::UnderloadSeries;

/// Maximum number of cores of an indexed trace; a file could claim 65,536.
pub const MOST_CORES: usize = 4096;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
