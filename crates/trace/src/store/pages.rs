//! Pages of a column chunk: located, verified and decompressed.
//!
//! The Parquet library is not used here because it trusts the sizes in page headers: a kilobyte of
//! compressed zeros can expand to a gigabyte.

use parquet::basic::Compression;

/// Metadata of a page. The caller's buffer holds the content.
pub struct Page<'a> {
    pub dictionary: bool,
    pub values: usize,
    /// Number of rows; those of an optional column may have no value.
    pub rows: usize,
    pub encoding: i32,
    /// Definition levels of an optional column: which rows have a value.
    pub levels: &'a [u8],
}

/// Number of zero bytes after a page's content: bit-packed values are read 40 bytes at a time.
pub const PADDING: usize = 40;

/// Content of a page, without the padding that [`Pages::next`] adds.
pub fn content(padded: &[u8]) -> &[u8] {
    &padded[..padded.len().saturating_sub(PADDING)]
}

/// Zstandard decompressor, reused between pages: creating one costs as much as decompressing a
/// short page.
#[derive(Default)]
pub struct Zstd(Option<zstd::bulk::Decompressor<'static>>);

impl Zstd {
    /// Decompresses into the existing capacity of `to`.
    fn decompress(&mut self, from: &[u8], to: &mut Vec<u8>) -> std::io::Result<usize> {
        let zstd = match &mut self.0 {
            Some(zstd) => zstd,
            none => none.insert(zstd::bulk::Decompressor::new()?),
        };
        zstd.decompress_to_buffer(from, to)
    }
}

type Result<T> = std::result::Result<T, &'static str>;

/// Iterates over the pages of a column chunk.
pub struct Pages<'a> {
    bytes: &'a [u8],
    compression: Compression,
    /// Maximum size of a decompressed page.
    most: usize,
    optional: bool,
}

impl<'a> Pages<'a> {
    pub fn new(bytes: &'a [u8], compression: Compression, most: usize) -> Self {
        Pages { bytes, compression, most, optional: false }
    }

    /// The pages of an optional column.
    pub fn optional(self) -> Self {
        Pages { optional: true, ..self }
    }

    /// Decompresses the next page into `content` and pads it. Returns `None` at the end.
    pub fn next(&mut self, zstd: &mut Zstd, content: &mut Vec<u8>) -> Result<Option<Page<'a>>> {
        while !self.bytes.is_empty() {
            let mut thrift = Thrift { bytes: self.bytes };
            let header = PageHeader::read(&mut thrift)?;
            let size = usize::try_from(header.compressed).map_err(|_| "the size of a page is negative")?;
            let stored = thrift.bytes.get(..size).ok_or("a page exceeds its column")?;
            self.bytes = &thrift.bytes[size..];
            if header.crc.is_some_and(|crc| crc != crc32fast::hash(stored)) {
                return Err("the checksum of a page does not match");
            }
            if let Some(page) = self.page(&header, stored, zstd, content)? {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    fn page(
        &self,
        header: &PageHeader,
        stored: &'a [u8],
        zstd: &mut Zstd,
        content: &mut Vec<u8>,
    ) -> Result<Option<Page<'a>>> {
        let dictionary = match header.kind {
            0 | 3 => false,
            2 => true,
            // Index and unknown pages have no values.
            _ => return Ok(None),
        };
        if header.repetitions != 0 || (header.levels != 0 && !self.optional) {
            return Err("a column is optional or nested, which this one is not in traces");
        }
        let negative = |_| "the size of a page is negative";
        let levels = usize::try_from(header.levels).map_err(negative)?;
        let (levels, stored) = stored.split_at_checked(levels).ok_or("the levels of a page exceed it")?;
        let size = usize::try_from(header.uncompressed).map_err(negative)?;
        let size = size.checked_sub(levels.len()).ok_or("the levels of a page exceed it")?;
        if size > self.most {
            return Err("a page is larger than the maximum");
        }
        content.clear();
        content.reserve(size + PADDING);
        match self.compression {
            _ if size == 0 => {}
            Compression::ZSTD(_) if header.is_compressed => {
                zstd.decompress(stored, content).map_err(|_| "a page cannot be decompressed")?;
            }
            Compression::ZSTD(_) | Compression::UNCOMPRESSED => {
                // Bounded by `stored`, which is already in memory.
                content.extend_from_slice(stored);
            }
            _ => return Err("a page is compressed with a method other than Zstandard"),
        }
        if content.len() != size {
            return Err("the size of a page does not match its header");
        }
        content.resize(size + PADDING, 0);
        let negative = |_| "the number of values of a page is negative";
        let rows = usize::try_from(header.values).map_err(negative)?;
        let missing = usize::try_from(header.missing).map_err(negative)?;
        let values = rows.checked_sub(missing).ok_or("a page lacks more values than it has rows")?;
        Ok(Some(Page { dictionary, values, rows, encoding: header.encoding, levels }))
    }
}

/// The fields of a page header that the decoder uses.
struct PageHeader {
    kind: i32,
    uncompressed: i32,
    compressed: i32,
    crc: Option<u32>,
    values: i32,
    /// Number of rows without a value among `values`.
    missing: i32,
    encoding: i32,
    /// Bytes of definition levels, 0 in a required column.
    levels: i32,
    /// Bytes of repetition levels, 0 without nesting.
    repetitions: i32,
    is_compressed: bool,
}

impl PageHeader {
    fn read(thrift: &mut Thrift) -> Result<Self> {
        let mut header = PageHeader {
            kind: -1,
            uncompressed: -1,
            compressed: -1,
            crc: None,
            values: 0,
            missing: 0,
            encoding: -1,
            levels: 0,
            repetitions: 0,
            is_compressed: true,
        };
        let mut last = 0;
        while let Some((field, of)) = thrift.field(&mut last)? {
            match (field, of) {
                (1, kind::I32) => header.kind = thrift.i32()?,
                (2, kind::I32) => header.uncompressed = thrift.i32()?,
                (3, kind::I32) => header.compressed = thrift.i32()?,
                (4, kind::I32) => header.crc = Some(thrift.i32()? as u32),
                (5 | 7 | 8, kind::STRUCT) => header.of_kind(field, thrift)?,
                _ => thrift.skip(of, 0)?,
            }
        }
        Ok(header)
    }

    /// Reads the header of a data page (5), a dictionary page (7) or a data page v2 (8).
    fn of_kind(&mut self, sort: i16, thrift: &mut Thrift) -> Result<()> {
        let encoding = if sort == 8 { 4 } else { 2 };
        let mut last = 0;
        while let Some((field, of)) = thrift.field(&mut last)? {
            match (field, of) {
                (1, kind::I32) => self.values = thrift.i32()?,
                (field, kind::I32) if field == encoding => self.encoding = thrift.i32()?,
                (2, kind::I32) if sort == 8 => self.missing = thrift.i32()?,
                (5, kind::I32) if sort == 8 => self.levels = thrift.i32()?,
                (6, kind::I32) if sort == 8 => self.repetitions = thrift.i32()?,
                (7, kind::TRUE | kind::FALSE) if sort == 8 => self.is_compressed = of == kind::TRUE,
                _ => thrift.skip(of, 0)?,
            }
        }
        Ok(())
    }
}

/// Field types of Thrift's compact protocol.
mod kind {
    pub const TRUE: u8 = 1;
    pub const FALSE: u8 = 2;
    pub const BYTE: u8 = 3;
    pub const I32: u8 = 5;
    pub const I16: u8 = 4;
    pub const I64: u8 = 6;
    pub const DOUBLE: u8 = 7;
    pub const BINARY: u8 = 8;
    pub const LIST: u8 = 9;
    pub const SET: u8 = 10;
    pub const STRUCT: u8 = 12;
}

/// Decoder of Thrift's compact protocol, limited to what page headers use.
struct Thrift<'a> {
    bytes: &'a [u8],
}

const SHORT: &str = "the header of a page is truncated";

impl Thrift<'_> {
    fn byte(&mut self) -> Result<u8> {
        let (first, rest) = self.bytes.split_first().ok_or(SHORT)?;
        self.bytes = rest;
        Ok(*first)
    }

    fn varint(&mut self) -> Result<u64> {
        varint(&mut self.bytes).ok_or(SHORT)
    }

    fn i32(&mut self) -> Result<i32> {
        i32::try_from(zigzag(self.varint()?)).map_err(|_| "a number in the header of a page is too large")
    }

    /// Number and type of the next field of a struct; `None` at its end.
    fn field(&mut self, last: &mut i16) -> Result<Option<(i16, u8)>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        *last = match byte >> 4 {
            0 => zigzag(self.varint()?) as i16,
            delta => last.wrapping_add(delta.into()),
        };
        Ok(Some((*last, byte & 15)))
    }

    fn skip(&mut self, of: u8, depth: usize) -> Result<()> {
        if depth > 8 {
            return Err("the header of a page is nested too deeply");
        }
        match of {
            kind::TRUE | kind::FALSE => {}
            kind::BYTE => drop(self.byte()?),
            kind::I16 | kind::I32 | kind::I64 => drop(self.varint()?),
            kind::DOUBLE => self.take(8)?,
            kind::BINARY => {
                let length = self.varint()?;
                self.take(length)?;
            }
            kind::LIST | kind::SET => {
                let head = self.byte()?;
                let length = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                // An element takes at least one byte, even a boolean.
                for _ in 0..length {
                    match head & 15 {
                        kind::TRUE | kind::FALSE => drop(self.byte()?),
                        of => self.skip(of, depth + 1)?,
                    }
                }
            }
            kind::STRUCT => {
                let mut last = 0;
                while let Some((_, of)) = self.field(&mut last)? {
                    self.skip(of, depth + 1)?;
                }
            }
            _ => return Err("the header of a page has a field of unknown type"),
        }
        Ok(())
    }

    fn take(&mut self, length: u64) -> Result<()> {
        let length = usize::try_from(length).map_err(|_| SHORT)?;
        self.bytes = self.bytes.get(length..).ok_or(SHORT)?;
        Ok(())
    }
}

/// Reads a variable-length integer (LEB128): seven bits per byte, lowest first.
pub fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Decodes a zigzag-encoded signed integer.
pub fn zigzag(code: u64) -> i64 {
    (code >> 1) as i64 ^ -((code & 1) as i64)
}
