//! The multi-resolution index: a trace at any zoom level, without reading the rest.
//!
//! Time is cut into bins; level L has bins of 2^(10 + 2 L) ns. A [`Tile`] holds what happened on
//! all cores in 256 bins of a level. Tiles whose time holds many events are stored; the others
//! are computed from the events when they are asked for, beginning at a [`Snapshot`] of the state
//! that is stored for each group of events. Either way, a tile is the same.

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

/// More cores than any machine has that one looks at; a file could claim 65,536.
pub const MOST_CORES: usize = 4096;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
