//! The store: a trace on disk is a folder of Parquet files (docs/src/trace.md has the format).
//!
//! It is written in one pass with bounded memory, is a readable prefix at any time, and is read
//! from any place. Its events lie in *segments*, each a file; a segment has *groups*, which are
//! read and decoded at once.

mod columns;
mod decode;
mod error;
mod folder;
mod meta;
mod pages;
mod parquet_file;
mod reader;
mod segment;
mod tables;
mod whole;
mod writer;

pub use error::Error;
pub use reader::{Group, Reader, Store};
pub use writer::Writer;

use crate::{Sink, Trace};
use std::path::Path;

const FORMAT: &str = "hearth.trace";
/// Raised whenever an older reader would misread a newer trace. (Version 1 was a single file.)
const VERSION: u32 = 2;
/// Most events of a group, and of a segment.
const GROUP_EVENTS: usize = 128 << 10;
const SEGMENT_EVENTS: usize = 1 << 20;

impl Trace {
    /// Writes the trace to `path`, which is seen only when it is whole. A trace of that name is
    /// replaced; anything else is not.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let mut writer = Writer::create(path, &self.header)?;
        self.events.iter().for_each(|event| writer.event(event));
        writer.commit(&self.header)
    }

    /// Reads a whole trace. Memory is in proportion to its events. [`Reader`] reads event by event.
    pub fn read(path: impl AsRef<Path>) -> Result<Trace, Error> {
        Reader::open(path)?.into_trace()
    }
}

#[cfg(test)]
mod tests;
