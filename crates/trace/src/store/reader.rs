//! Reading a trace event by event.

use super::{
    BLOCK_RECORDS, EVENTS, Error, FOOTER, FOOTER_BYTES, HEADER, MAGIC, PART_BYTES, START_BYTES, VERSION,
};
use crate::record::{self, RECORD_BYTES};
use crate::{Event, Header};
use std::io::{self, Read, Seek, SeekFrom};
use xxhash_rust::xxh3::xxh3_64;

/// An iterator over the events of a trace; holds one block of them (96 KiB).
///
/// It ends after the first error.
pub struct Reader<R> {
    input: R,
    header: Header,
    /// Where the next block begins, and where the blocks end.
    offset: u64,
    blocks_end: u64,
    /// Events not yet returned, those of `block` included.
    remaining: u64,
    block: Vec<u8>,
    /// The next record in `block`.
    next: usize,
    failed: bool,
}

impl<R: Read + Seek> Reader<R> {
    /// Reads the start, the footer and the header.
    pub fn new(mut input: R) -> Result<Self, Error> {
        let length = input.seek(SeekFrom::End(0)).map_err(|source| Error::Io { action: "read", source })?;
        input.rewind().map_err(|source| Error::Io { action: "read", source })?;
        read_start(&mut input, length)?;
        let (header_offset, events) = read_footer(&mut input, length)?;
        let header = read_header(&mut input, header_offset, length)?;
        seek(&mut input, START_BYTES)?;
        Ok(Reader {
            input,
            header,
            offset: START_BYTES,
            blocks_end: header_offset,
            remaining: events,
            block: Vec::new(),
            next: 0,
            failed: false,
        })
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    pub fn into_header(self) -> Header {
        self.header
    }

    /// Number of events that are still to come, if the file is sound.
    pub fn remaining(&self) -> usize {
        self.remaining as usize
    }

    fn next_event(&mut self) -> Result<Option<Event>, Error> {
        if self.next == self.block.len() {
            if self.offset == self.blocks_end {
                return match self.remaining {
                    0 => Ok(None),
                    n => Err(Error::corrupt(self.offset, format!("{n} events are missing before this byte"))),
                };
            }
            self.read_block()?;
        }
        let record = self.block[self.next..].first_chunk::<RECORD_BYTES>();
        let event = record.and_then(record::decode).ok_or_else(|| {
            let offset = self.offset - (self.block.len() - self.next) as u64;
            Error::corrupt(offset, "this record is no event that this program knows")
        })?;
        self.next += RECORD_BYTES;
        self.remaining -= 1;
        Ok(Some(event))
    }

    fn read_block(&mut self) -> Result<(), Error> {
        let room = self.blocks_end - self.offset;
        let (records, checksum) = read_part(&mut self.input, EVENTS, self.offset, room)?;
        let records = u64::from(records);
        if records == 0 || records > BLOCK_RECORDS as u64 {
            let what = format!("a block of {records} events, where 1 to {BLOCK_RECORDS} are possible");
            return Err(Error::corrupt(self.offset, what));
        }
        let bytes = records * RECORD_BYTES as u64;
        if bytes > room - PART_BYTES || records > self.remaining {
            return Err(Error::corrupt(self.offset, "this block reaches into what follows the events"));
        }
        self.block.resize(bytes as usize, 0);
        self.next = 0;
        let content = self.offset + PART_BYTES;
        read_exact(&mut self.input, &mut self.block, content)?;
        verify(&self.block, checksum, content)?;
        self.offset = content + bytes;
        Ok(())
    }
}

impl<R: Read + Seek> Iterator for Reader<R> {
    type Item = Result<Event, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let event = self.next_event().transpose();
        self.failed = matches!(event, Some(Err(_)));
        event
    }
}

fn read_start(input: &mut impl Read, length: u64) -> Result<(), Error> {
    let mut start = [0; START_BYTES as usize];
    let got = length.min(START_BYTES) as usize;
    read_exact(input, &mut start[..got], 0)?;
    let magic = got.min(MAGIC.len());
    if got == 0 || start[..magic] != MAGIC[..magic] {
        return Err(Error::NotATrace);
    }
    if length < START_BYTES {
        return Err(Error::Truncated { length });
    }
    let version = u16::from_le_bytes([start[8], start[9]]);
    if version != VERSION {
        return Err(Error::Version { found: version, supported: VERSION });
    }
    if u16::from_le_bytes([start[10], start[11]]) != RECORD_BYTES as u16 || start[12..] != [0; 4] {
        return Err(Error::corrupt(10, "the start of the file is not one that this version writes"));
    }
    Ok(())
}

/// The header's offset and the number of events.
fn read_footer<R: Read + Seek>(input: &mut R, length: u64) -> Result<(u64, u64), Error> {
    if length < START_BYTES + PART_BYTES + FOOTER_BYTES {
        return Err(Error::Truncated { length });
    }
    let offset = length - FOOTER_BYTES;
    seek(input, offset)?;
    let mut bytes = [0; FOOTER_BYTES as usize];
    read_exact(input, &mut bytes, offset)?;
    if &bytes[..4] != FOOTER {
        return Err(Error::Truncated { length });
    }
    if bytes[4..8] != [0; 4] {
        return Err(Error::corrupt(offset + 4, "these bytes must be zero"));
    }
    verify(&bytes[16..], u64_at(&bytes, 8), offset + 16)?;
    let (header, events) = (u64_at(&bytes, 16), u64_at(&bytes, 24));
    if header < START_BYTES || header > offset - PART_BYTES {
        return Err(Error::corrupt(offset + 16, format!("the header cannot be at byte {header}")));
    }
    // Nothing may be allocated for events that the file has no room for.
    if events > (header - START_BYTES) / RECORD_BYTES as u64 {
        return Err(Error::corrupt(offset + 24, format!("the file is too short for {events} events")));
    }
    Ok((header, events))
}

fn read_header<R: Read + Seek>(input: &mut R, offset: u64, length: u64) -> Result<Header, Error> {
    seek(input, offset)?;
    let room = length - FOOTER_BYTES - offset;
    let (bytes, checksum) = read_part(input, HEADER, offset, room)?;
    if u64::from(bytes) != room - PART_BYTES {
        return Err(Error::corrupt(
            offset + 4,
            format!("a header of {bytes} bytes does not fit in the file"),
        ));
    }
    let mut json = vec![0; bytes as usize];
    read_exact(input, &mut json, offset + PART_BYTES)?;
    verify(&json, checksum, offset + PART_BYTES)?;
    serde_json::from_slice(&json).map_err(|error| {
        Error::corrupt(offset + PART_BYTES, format!("the header cannot be understood ({error})"))
    })
}

/// Number and checksum of the part at `offset`, which has `room` bytes.
fn read_part(input: &mut impl Read, tag: &[u8; 4], offset: u64, room: u64) -> Result<(u32, u64), Error> {
    let mut bytes = [0; PART_BYTES as usize];
    let expected = String::from_utf8_lossy(tag);
    if room < PART_BYTES {
        return Err(Error::corrupt(offset, format!("no room for a part \"{expected}\"")));
    }
    read_exact(input, &mut bytes, offset)?;
    if &bytes[..4] != tag {
        return Err(Error::corrupt(offset, format!("expected a part \"{expected}\" here")));
    }
    let number = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
    Ok((number, u64_at(&bytes, 8)))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn verify(content: &[u8], checksum: u64, offset: u64) -> Result<(), Error> {
    if xxh3_64(content) == checksum {
        return Ok(());
    }
    Err(Error::corrupt(offset, format!("the checksum of the {} bytes from here on is wrong", content.len())))
}

fn seek(input: &mut impl Seek, offset: u64) -> Result<(), Error> {
    input.seek(SeekFrom::Start(offset)).map(drop).map_err(|source| Error::Io { action: "read", source })
}

fn read_exact(input: &mut impl Read, buffer: &mut [u8], offset: u64) -> Result<(), Error> {
    input.read_exact(buffer).map_err(|source| match source.kind() {
        // The file became shorter while it was read.
        io::ErrorKind::UnexpectedEof => Error::Truncated { length: offset },
        _ => Error::Io { action: "read", source },
    })
}
