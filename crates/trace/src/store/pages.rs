//! The pages of a column chunk: found, checked and decompressed.
//!
//! This is done here, and not by the Parquet library, so that memory is bounded whatever a page
//! says of its size: a kilobyte of compressed zeros can be a gigabyte.

use parquet::basic::Compression;

/// What is said of a page. Its content lies in memory that the caller keeps.
pub struct Page {
    pub dictionary: bool,
    pub values: usize,
    pub encoding: i32,
}

/// A page's content is followed by so many zeros: bit-packed values are read 40 bytes at a time.
pub const PADDING: usize = 40;

/// The content of a page, of the bytes that [`Pages::next`] gave.
pub fn content(padded: &[u8]) -> &[u8] {
    &padded[..padded.len().saturating_sub(PADDING)]
}

/// What Zstandard needs to work, kept from page to page: to make it anew costs as much as a short page.
#[derive(Default)]
pub struct Zstd(Option<zstd::bulk::Decompressor<'static>>);

impl Zstd {
    /// Decompresses into the memory that `to` has.
    fn decompress(&mut self, from: &[u8], to: &mut Vec<u8>) -> std::io::Result<usize> {
        let zstd = match &mut self.0 {
            Some(zstd) => zstd,
            none => none.insert(zstd::bulk::Decompressor::new()?),
        };
        zstd.decompress_to_buffer(from, to)
    }
}

type Result<T> = std::result::Result<T, &'static str>;

/// Takes one page after the other from the bytes of a column chunk.
pub struct Pages<'a> {
    bytes: &'a [u8],
    compression: Compression,
    /// No page may be larger.
    most: usize,
}

impl<'a> Pages<'a> {
    pub fn new(bytes: &'a [u8], compression: Compression, most: usize) -> Self {
        Pages { bytes, compression, most }
    }

    /// Makes `content` the next page, decompressed and padded. `None`: there are no more.
    pub fn next(&mut self, zstd: &mut Zstd, content: &mut Vec<u8>) -> Result<Option<Page>> {
        while !self.bytes.is_empty() {
            let mut thrift = Thrift { bytes: self.bytes };
            let header = PageHeader::read(&mut thrift)?;
            let size = usize::try_from(header.compressed).map_err(|_| "a page has no size")?;
            let stored = thrift.bytes.get(..size).ok_or("a page is longer than its column")?;
            self.bytes = &thrift.bytes[size..];
            if header.crc.is_some_and(|crc| crc != crc32fast::hash(stored)) {
                return Err("a page's checksum is wrong");
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
        stored: &[u8],
        zstd: &mut Zstd,
        content: &mut Vec<u8>,
    ) -> Result<Option<Page>> {
        let dictionary = match header.kind {
            0 | 3 => false,
            2 => true,
            // Of a kind that has no values.
            _ => return Ok(None),
        };
        if header.levels != 0 {
            return Err("a column is optional or nested");
        }
        let size = usize::try_from(header.uncompressed).map_err(|_| "a page has no size")?;
        if size > self.most {
            return Err("a page is larger than any that is written");
        }
        content.clear();
        content.reserve(size + PADDING);
        match self.compression {
            Compression::ZSTD(_) if header.is_compressed => {
                zstd.decompress(stored, content).map_err(|_| "a page cannot be decompressed")?;
            }
            Compression::ZSTD(_) | Compression::UNCOMPRESSED => {
                // As long as what is in memory already.
                content.extend_from_slice(stored);
            }
            _ => return Err("a page is compressed by another method than Zstandard"),
        }
        if content.len() != size {
            return Err("a page has another size than it says");
        }
        content.resize(size + PADDING, 0);
        let values = usize::try_from(header.values).map_err(|_| "a page has a negative number of values")?;
        Ok(Some(Page { dictionary, values, encoding: header.encoding }))
    }
}

/// What is needed of a page's header.
struct PageHeader {
    kind: i32,
    uncompressed: i32,
    compressed: i32,
    crc: Option<u32>,
    values: i32,
    encoding: i32,
    /// Bytes of repetition and definition levels: a required column has none.
    levels: i32,
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
            encoding: -1,
            levels: 0,
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

    /// The header of a data page (5), of a dictionary (7), or of a data page of the second version (8).
    fn of_kind(&mut self, sort: i16, thrift: &mut Thrift) -> Result<()> {
        let encoding = if sort == 8 { 4 } else { 2 };
        let mut last = 0;
        while let Some((field, of)) = thrift.field(&mut last)? {
            match (field, of) {
                (1, kind::I32) => self.values = thrift.i32()?,
                (field, kind::I32) if field == encoding => self.encoding = thrift.i32()?,
                (5 | 6, kind::I32) if sort == 8 => self.levels |= thrift.i32()?,
                (7, kind::TRUE | kind::FALSE) if sort == 8 => self.is_compressed = of == kind::TRUE,
                _ => thrift.skip(of, 0)?,
            }
        }
        Ok(())
    }
}

/// Types of fields, in Thrift's compact protocol.
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

/// Thrift's compact protocol, as far as page headers need it.
struct Thrift<'a> {
    bytes: &'a [u8],
}

const SHORT: &str = "a page's header ends early";

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
        i32::try_from(zigzag(self.varint()?)).map_err(|_| "a page's header has a number that is too large")
    }

    /// Number and type of the next field of a struct; `None`: it ends.
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
            return Err("a page's header is nested too deeply");
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
                // An element has at least a byte, even a boolean.
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
            _ => return Err("a page's header has something unknown in it"),
        }
        Ok(())
    }

    fn take(&mut self, length: u64) -> Result<()> {
        let length = usize::try_from(length).map_err(|_| SHORT)?;
        self.bytes = self.bytes.get(length..).ok_or(SHORT)?;
        Ok(())
    }
}

/// Seven bits a byte, the lowest first.
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

/// Small numbers of either sign have small codes.
pub fn zigzag(code: u64) -> i64 {
    (code >> 1) as i64 ^ -((code & 1) as i64)
}
