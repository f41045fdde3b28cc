//! The store: a trace as a file.
//!
//! The format, `.hearth`, can be written in one pass with bounded memory, and whatever happened
//! to a file is found when it is read. All numbers are little-endian.
//!
//! ```text
//! start    "HEARTHTR"  version: u16  record bytes: u16  zero: u32              16 bytes
//! block*   "EVTS"  records: u32  checksum: u64  records × 24 bytes            (`record.rs`)
//! header   "HEAD"  bytes: u32    checksum: u64  the header as JSON
//! footer   "FOOT"  zero: u32     checksum: u64  header offset: u64  events: u64   32 bytes
//! ```
//!
//! A checksum is XXH3-64 of what follows it in its part. The header stands behind the events
//! because a recorder knows the threads, their names and what was lost only at the end; the
//! footer, at a fixed distance from the end, says where it is.

mod error;
mod reader;
mod writer;

pub use error::Error;
pub use reader::Reader;
pub use writer::{PartialFile, Writer};

use crate::{Sink, Trace};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

const MAGIC: &[u8; 8] = b"HEARTHTR";
/// Raised whenever an older reader would misread a newer file.
const VERSION: u16 = 1;
const START_BYTES: u64 = 16;
const PART_BYTES: u64 = 16;
const FOOTER_BYTES: u64 = 32;
const EVENTS: &[u8; 4] = b"EVTS";
const HEADER: &[u8; 4] = b"HEAD";
const FOOTER: &[u8; 4] = b"FOOT";
/// Records in a full block: 96 KiB, small enough to stay in the second-level cache.
const BLOCK_RECORDS: usize = 4096;

impl Trace {
    /// Writes the trace to `path`: into a file beside it, which then takes its name, so that
    /// nobody ever sees half a trace. (What is no regular file, `/dev/stdout` for instance, is
    /// written to directly.)
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let mut writer = Writer::create(path)?;
        self.events.iter().for_each(|event| writer.event(event));
        writer.commit(&self.header)
    }

    /// Reads a whole trace. Memory is in proportion to the file. [`Reader`] reads event by event.
    pub fn read(path: impl AsRef<Path>) -> Result<Trace, Error> {
        let path = path.as_ref();
        let read = || {
            let mut reader = Reader::open(path)?;
            // The count was checked against the length of the file.
            let mut events = Vec::with_capacity(reader.remaining());
            for event in &mut reader {
                events.push(event?);
            }
            Ok(Trace { header: reader.into_header(), events })
        };
        read().map_err(|error: Error| error.at(path))
    }
}

impl Reader<BufReader<File>> {
    /// Opens a trace file: reads and checks its header, not yet its events.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file =
            File::open(path).map_err(|source| Error::File { action: "open", path: path.into(), source })?;
        Reader::new(BufReader::new(file)).map_err(|error| error.at(path))
    }
}

#[cfg(test)]
mod tests;
