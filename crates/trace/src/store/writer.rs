//! Writing a trace in one pass.

use super::{BLOCK_RECORDS, EVENTS, Error, FOOTER, HEADER, MAGIC, START_BYTES, VERSION};
use crate::record::{self, RECORD_BYTES};
use crate::{Event, Header, Sink};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// Writes events as they come; holds one block of them (96 KiB).
///
/// A [`Sink`] cannot fail, so the first error is kept, everything after it is dropped, and
/// [`Writer::finish`] returns it.
pub struct Writer<W: Write> {
    out: W,
    block: Vec<u8>,
    offset: u64,
    events: u64,
    error: Option<io::Error>,
}

impl<W: Write> Writer<W> {
    /// Starts a trace. `out` need not be able to seek, nor be buffered.
    pub fn new(mut out: W) -> Result<Self, Error> {
        let mut start = Vec::with_capacity(START_BYTES as usize);
        start.extend(MAGIC);
        start.extend(VERSION.to_le_bytes());
        start.extend((RECORD_BYTES as u16).to_le_bytes());
        start.extend(0u32.to_le_bytes());
        out.write_all(&start).map_err(|source| Error::Io { action: "write", source })?;
        Ok(Writer {
            out,
            block: Vec::with_capacity(BLOCK_RECORDS * RECORD_BYTES),
            offset: START_BYTES,
            events: 0,
            error: None,
        })
    }

    /// Writes the header and the footer. Without it the file is not a trace.
    pub fn finish(mut self, header: &Header) -> Result<W, Error> {
        let failed = |source| Error::Io { action: "write", source };
        self.flush_block();
        if let Some(source) = self.error {
            return Err(failed(source));
        }
        let json = serde_json::to_vec(header).map_err(|error| failed(error.into()))?;
        let length = u32::try_from(json.len())
            .map_err(|_| failed(io::Error::other("its header is larger than 4 GiB")))?;
        let mut tail = part(HEADER, length, &json);
        let mut pointer = Vec::with_capacity(16);
        pointer.extend(self.offset.to_le_bytes());
        pointer.extend(self.events.to_le_bytes());
        tail.extend(part(FOOTER, 0, &pointer));
        self.out.write_all(&tail).and_then(|()| self.out.flush()).map_err(failed)?;
        Ok(self.out)
    }

    fn flush_block(&mut self) {
        if self.block.is_empty() || self.error.is_some() {
            return;
        }
        let records = (self.block.len() / RECORD_BYTES) as u32;
        let block = part(EVENTS, records, &self.block);
        match self.out.write_all(&block) {
            Ok(()) => self.offset += block.len() as u64,
            Err(error) => self.error = Some(error),
        }
        self.block.clear();
    }
}

/// A part of the file: tag, number, checksum, content.
fn part(tag: &[u8; 4], number: u32, content: &[u8]) -> Vec<u8> {
    let mut part = Vec::with_capacity(16 + content.len());
    part.extend(tag);
    part.extend(number.to_le_bytes());
    part.extend(xxh3_64(content).to_le_bytes());
    part.extend(content);
    part
}

impl<W: Write> Sink for Writer<W> {
    fn event(&mut self, event: &Event) {
        self.block.extend_from_slice(&record::encode(event));
        self.events += 1;
        if self.block.len() == BLOCK_RECORDS * RECORD_BYTES {
            self.flush_block();
        }
    }
}

/// A file under a temporary name beside its final one. Dropped without
/// [`Writer::commit`], it is removed.
pub struct PartialFile {
    file: File,
    /// Where it is until it is whole; `None` if it is written in place.
    partial: Option<PathBuf>,
    path: PathBuf,
}

impl PartialFile {
    fn create(path: &Path) -> io::Result<Self> {
        // A device or a pipe must not be replaced by a file.
        if fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
            let file = File::options().write(true).open(path)?;
            return Ok(PartialFile { file, partial: None, path: path.into() });
        }
        let name = path.file_name().ok_or_else(|| io::Error::other("this path names no file"))?;
        if path.is_dir() {
            return Err(io::Error::other("this is a folder: give the name of a file"));
        }
        // Two writers of the same trace, in this process or another, must not share a file.
        for attempt in 0..1000 {
            let mut beside = std::ffi::OsString::from(".");
            beside.push(name);
            beside.push(format!(".{}-{attempt}.partial", std::process::id()));
            let partial = path.with_file_name(beside);
            match File::options().write(true).create_new(true).open(&partial) {
                Ok(file) => return Ok(PartialFile { file, partial: Some(partial), path: path.into() }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("too many unfinished traces beside it: remove the `.partial` files"))
    }
}

impl Write for PartialFile {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.file.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            let _ = fs::remove_file(partial); // nothing better can be done while dropping
        }
    }
}

impl Writer<PartialFile> {
    /// Starts a trace that gets the name `path` when it is whole ([`Writer::commit`]).
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file = PartialFile::create(path).map_err(|source| Error::File {
            action: "create",
            path: path.into(),
            source,
        })?;
        Writer::new(file).map_err(|error| error.at(path))
    }

    /// [`Writer::finish`], then gives the file its name.
    pub fn commit(self, header: &Header) -> Result<(), Error> {
        let path = self.out.path.clone();
        let mut file = self.finish(header).map_err(|error| error.at(&path))?;
        if let Some(partial) = &file.partial {
            fs::rename(partial, &path).map_err(|source| Error::File { action: "rename", path, source })?;
            file.partial = None;
        }
        Ok(())
    }
}
