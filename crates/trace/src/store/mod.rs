//! Trace store: a folder of Parquet files (docs/src/trace.md describes the format).
//!
//! A trace is written in one pass with bounded memory, is a readable prefix at any time, and
//! supports random access. Its events are in *segments*, one file each. A segment consists of
//! *groups*, the unit of reading and decoding.

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

pub use columns::Row;
pub use error::Error;
pub use reader::{Group, Reader, Store};
pub use tables::KIND_NAMES;
pub use writer::Writer;

use crate::{Sink, Trace};
use std::path::Path;

const FORMAT: &str = "hearth.trace";
/// Format version, increased whenever an older reader would misread a newer trace.
const VERSION: u32 = 4;
/// The oldest version that is read: it has no processes, and up to version 3 no wake-up is synchronous. (Version 1 was a
/// single file.)
const OLDEST: u32 = 2;
/// Maximum number of events of a group, and of a segment.
const GROUP_EVENTS: usize = 128 << 10;
const SEGMENT_EVENTS: usize = 1 << 20;

impl Trace {
    /// Writes the trace to `path`, which appears only when it is complete. Replaces an existing
    /// trace, but nothing else.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let mut writer = Writer::create(path, &self.header)?;
        self.events.iter().for_each(|event| writer.event(event));
        writer.commit(&self.header)
    }

    /// Reads a whole trace. Memory is proportional to its events; [`Reader`] streams them.
    pub fn read(path: impl AsRef<Path>) -> Result<Trace, Error> {
        Reader::open(path)?.into_trace()
    }
}

#[cfg(test)]
mod tests;
