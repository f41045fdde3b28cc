//! Decoders for the Parquet encodings in trace files.
//!
//! Decoding dominates the cost of reading a trace. Columns are decoded in blocks: the blocks of all
//! columns fit into the L1 and L2 caches together, where they are turned into events.

use super::pages::{Pages, Zstd, content, varint, zigzag};

const PLAIN: i32 = 0;
const PLAIN_DICTIONARY: i32 = 2;
const DELTA_BINARY_PACKED: i32 = 5;
const RLE_DICTIONARY: i32 = 8;

type Result<T> = std::result::Result<T, &'static str>;
const SHORT: &str = "a page is truncated";
const FEWER: &str = "a column has fewer rows than its group";
const UNKNOWN: &str = "a dictionary index is out of range";

/// Rows decoded per block.
pub const BLOCK: usize = 1024;

/// Integer type of a column.
pub trait Integer: Copy + Default {
    const BITS: u32;
    /// Truncates `value` to the type.
    fn of(value: i64) -> Self;
}

impl Integer for i32 {
    const BITS: u32 = 32;
    fn of(value: i64) -> Self {
        value as i32
    }
}

impl Integer for i64 {
    const BITS: u32 = 64;
    fn of(value: i64) -> Self {
        value
    }
}

/// Buffers of an integer column: the current page and its dictionary.
#[derive(Default)]
pub struct Memory<T> {
    page: Vec<u8>,
    dictionary: Vec<T>,
}

/// Decoder of an integer column, from first row to last.
pub struct Integers<'a, T> {
    pages: Pages<'a>,
    memory: &'a mut Memory<T>,
    encoding: i32,
    /// Offset of the next run in the page, and number of values in it and all later runs.
    at: usize,
    left: usize,
    run: Run<T>,
    /// Number of values left in the current run.
    run_left: usize,
    deltas: Deltas,
}

/// Values with the same encoding.
#[derive(Clone, Copy)]
enum Run<T> {
    Equal(T),
    Packed(Packed),
}

/// Bit-packed numbers of `width` bits each, starting at byte `from` of the page. `next` is the
/// index of the next number.
#[derive(Clone, Copy)]
struct Packed {
    what: What,
    from: usize,
    width: u32,
    next: usize,
}

#[derive(Clone, Copy)]
enum What {
    Values,
    /// Dictionary indexes.
    Indexes,
    /// Offsets from `min_delta` (DELTA_BINARY_PACKED).
    Deltas,
}

/// State of DELTA_BINARY_PACKED: each block has a `min_delta` and consists of miniblocks, each with
/// its own bit width.
#[derive(Clone, Copy, Default)]
struct Deltas {
    /// The previous value.
    value: i64,
    least: i64,
    /// Values per miniblock, and miniblocks per block.
    length: usize,
    minis: usize,
    /// Offset of the remaining miniblock widths of this block, and their number.
    widths: usize,
    minis_left: usize,
}

impl<'a, T: Integer> Integers<'a, T> {
    /// Decoder that uses `memory` as its buffers.
    pub fn new(pages: Pages<'a>, memory: &'a mut Memory<T>) -> Self {
        memory.dictionary.clear();
        Integers {
            pages,
            memory,
            encoding: PLAIN,
            at: 0,
            left: 0,
            run: Run::Equal(T::default()),
            run_left: 0,
            deltas: Deltas::default(),
        }
    }

    /// Decodes the next `out.len()` rows.
    pub fn fill(&mut self, zstd: &mut Zstd, mut out: &mut [T]) -> Result<()> {
        while !out.is_empty() {
            if self.run_left == 0 {
                if self.left == 0 && !self.next_page(zstd)? {
                    return Err(FEWER);
                }
                self.next_run()?;
            }
            let (now, rest) = out.split_at_mut(out.len().min(self.run_left));
            self.run_left -= now.len();
            out = rest;
            match &mut self.run {
                Run::Equal(value) => now.fill(*value),
                Run::Packed(packed) => {
                    let bytes = &self.memory.page[packed.from..];
                    let (width, first) = (packed.width, packed.next);
                    packed.next += now.len();
                    let (dictionary, deltas) = (&self.memory.dictionary, &mut self.deltas);
                    match packed.what {
                        What::Values => unpack(bytes, width, first, now, |bits| Some(T::of(bits as i64))),
                        What::Indexes => {
                            unpack(bytes, width, first, now, |index| dictionary.get(index as usize).copied())
                        }
                        What::Deltas => {
                            let (mut value, least) = (deltas.value, deltas.least);
                            let done = unpack(bytes, width, first, now, |delta| {
                                value = value.wrapping_add(least).wrapping_add(delta as i64);
                                Some(T::of(value))
                            });
                            deltas.value = value;
                            done
                        }
                    }
                    .ok_or(UNKNOWN)?;
                }
            }
        }
        Ok(())
    }

    /// Returns an error if there are more rows.
    pub fn end(mut self, zstd: &mut Zstd) -> Result<()> {
        if self.run_left > 0 || self.left > 0 || self.next_page(zstd)? {
            return Err("a column has more rows than its group");
        }
        Ok(())
    }

    /// Advances to the next page with values. Returns false if there is none.
    fn next_page(&mut self, zstd: &mut Zstd) -> Result<bool> {
        while let Some(page) = self.pages.next(zstd, &mut self.memory.page)? {
            self.at = 0;
            if page.dictionary {
                let run = self.plain(page.values)?;
                self.memory.dictionary.resize(page.values, T::default());
                let values = unpack(&self.memory.page, run.width, 0, &mut self.memory.dictionary, |bits| {
                    Some(T::of(bits as i64))
                });
                values.ok_or(SHORT)?;
                continue;
            }
            (self.left, self.encoding) = (page.values, page.encoding);
            if page.encoding == DELTA_BINARY_PACKED {
                self.begin_deltas()?;
            }
            if self.left > 0 || self.run_left > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the next run of the page, which must have values left. The run has at least one value.
    fn next_run(&mut self) -> Result<()> {
        if self.run_left > 0 {
            return Ok(()); // the first value of a DELTA_BINARY_PACKED page
        }
        let (run, length) = match self.encoding {
            PLAIN => (Run::Packed(self.plain(self.left)?), self.left),
            PLAIN_DICTIONARY | RLE_DICTIONARY => self.indexes()?,
            DELTA_BINARY_PACKED => self.miniblock()?,
            _ => return Err("a column has an encoding that traces do not use"),
        };
        self.run = run;
        self.run_left = length.min(self.left);
        self.left -= self.run_left;
        Ok(())
    }

    /// Run of values with their full width.
    fn plain(&self, count: usize) -> Result<Packed> {
        let bytes = count.checked_mul(T::BITS as usize / 8).ok_or(SHORT)?;
        content(&self.memory.page).get(..bytes).ok_or(SHORT)?;
        Ok(Packed { what: What::Values, from: 0, width: T::BITS, next: 0 })
    }

    /// Run of dictionary indexes: one repeated index, or bit-packed indexes.
    fn indexes(&mut self) -> Result<(Run<T>, usize)> {
        let content = content(&self.memory.page);
        let width = u32::from(*content.first().ok_or(SHORT)?);
        if width > 32 {
            return Err("the bit width of dictionary indexes exceeds 32");
        }
        let mut rest = content.get(self.at.max(1)..).ok_or(SHORT)?;
        let head = varint(&mut rest).ok_or(SHORT)?;
        let from = content.len() - rest.len();
        let (length, packed) = (usize::try_from(head >> 1).map_err(|_| SHORT)?, head & 1 == 1);
        if length == 0 {
            return Err("a run is empty");
        }
        let bytes =
            if packed { length.checked_mul(width as usize) } else { Some(width.div_ceil(8) as usize) };
        let value = bytes.and_then(|bytes| rest.get(..bytes)).ok_or(SHORT)?;
        self.at = from + value.len();
        if packed {
            let run = Packed { what: What::Indexes, from, width, next: 0 };
            return Ok((Run::Packed(run), length.saturating_mul(8)));
        }
        let index = value.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte));
        Ok((Run::Equal(*self.memory.dictionary.get(index).ok_or(UNKNOWN)?), length))
    }

    /// Reads the header of a DELTA_BINARY_PACKED page. Its first value becomes a run of its own.
    fn begin_deltas(&mut self) -> Result<()> {
        let content = content(&self.memory.page);
        let mut rest = content;
        let mut number = || varint(&mut rest).ok_or(SHORT);
        let (block, minis, total, first) = (number()?, number()?, number()?, number()?);
        let wrong = "the block size of differences is invalid";
        let (block, minis) =
            (usize::try_from(block).map_err(|_| wrong)?, usize::try_from(minis).map_err(|_| wrong)?);
        if minis == 0 || minis > 512 || block > 1 << 20 || block % (minis * 32) != 0 || block == 0 {
            return Err(wrong);
        }
        if total != self.left as u64 {
            return Err("the number of values of a page does not match its header");
        }
        self.at = content.len() - rest.len();
        let value = zigzag(first);
        self.deltas = Deltas { value, length: block / minis, minis, ..Deltas::default() };
        if self.left > 0 {
            (self.run, self.run_left) = (Run::Equal(T::of(value)), 1);
            self.left -= 1;
        }
        Ok(())
    }

    fn miniblock(&mut self) -> Result<(Run<T>, usize)> {
        let content = content(&self.memory.page);
        let deltas = &mut self.deltas;
        if deltas.minis_left == 0 {
            let mut rest = content.get(self.at..).ok_or(SHORT)?;
            deltas.least = zigzag(varint(&mut rest).ok_or(SHORT)?);
            deltas.widths = content.len() - rest.len();
            deltas.minis_left = deltas.minis;
            self.at = deltas.widths + deltas.minis;
        }
        let width = usize::from(*content.get(deltas.widths).ok_or(SHORT)?);
        if width > 64 {
            return Err("the bit width of differences exceeds 64");
        }
        deltas.widths += 1;
        deltas.minis_left -= 1;
        let (from, length) = (self.at, deltas.length);
        self.at += length * width / 8;
        if self.at > content.len() {
            return Err(SHORT);
        }
        Ok((Run::Packed(Packed { what: What::Deltas, from, width: width as u32, next: 0 }), length))
    }
}

/// Unpacks numbers of `width` (at most 64) bits into `out`, starting with number `first`, through
/// `make`. Returns `None` if `make` does. `bytes` must be padded.
#[inline]
fn unpack<T>(
    bytes: &[u8],
    width: u32,
    mut first: usize,
    mut out: &mut [T],
    mut make: impl FnMut(u64) -> Option<T>,
) -> Option<()> {
    loop {
        // Fast path: eight numbers take `width` bytes, so they start at a byte boundary.
        if first.is_multiple_of(8) && out.len() >= 8 && width <= 32 {
            let bytes = &bytes[first / 8 * width as usize..];
            let done = out.len() / 8 * 8;
            let (eights, rest) = out.as_chunks_mut();
            (first, out) = (first + done, rest);
            macro_rules! by_width {
                ($($known:literal)*) => {
                    match width {
                        $($known => unpack_eights::<$known, T>(bytes, eights, &mut make)?,)*
                        _ => return None,
                    }
                };
            }
            by_width!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
        }
        let Some((one, rest)) = out.split_first_mut() else { return Some(()) };
        let bit = first * width as usize;
        let word = u128::from_le_bytes(*bytes[bit / 8..].first_chunk()?);
        *one = make((word >> (bit % 8) & ((1 << width) - 1)) as u64)?;
        (first, out) = (first + 1, rest);
    }
}

/// With a constant width, all positions and shifts are constants.
#[inline]
fn unpack_eights<const WIDTH: usize, T>(
    bytes: &[u8],
    out: &mut [[T; 8]],
    make: &mut impl FnMut(u64) -> Option<T>,
) -> Option<()> {
    for (i, out) in out.iter_mut().enumerate() {
        let bytes: &[u8; 40] = bytes[i * WIDTH..].first_chunk()?;
        for (k, out) in out.iter_mut().enumerate() {
            let bit = k * WIDTH;
            let word = u64::from_le_bytes(*bytes[bit / 8..].first_chunk()?);
            *out = make(word >> (bit % 8) & ((1 << WIDTH) - 1))?;
        }
    }
    Some(())
}

/// Decodes a column of integers with `rows` rows.
pub fn integers(pages: Pages, rows: usize) -> Result<Vec<i32>> {
    let (mut zstd, mut memory) = (Zstd::default(), Memory::default());
    let mut column = Integers::new(pages, &mut memory);
    let mut out = Vec::new();
    // Allocates for rows that exist, not for the claimed number.
    while out.len() < rows {
        let from = out.len();
        out.resize(rows.min(from + BLOCK), 0);
        column.fill(&mut zstd, &mut out[from..])?;
    }
    column.end(&mut zstd)?;
    Ok(out)
}

/// Decodes an optional column of integers with `rows` rows.
pub fn optional(pages: Pages, rows: usize) -> Result<Vec<Option<u32>>> {
    let mut pages = pages.optional();
    let mut out = Vec::new();
    let (mut zstd, mut bytes) = (Zstd::default(), Vec::new());
    while let Some(page) = pages.next(&mut zstd, &mut bytes)? {
        if page.dictionary || page.encoding != PLAIN || page.rows > rows - out.len() {
            return Err("an optional column has an unsupported encoding");
        }
        let mut values = content(&bytes).as_chunks().0.iter().map(|value| u32::from_le_bytes(*value));
        for present in present(page.levels, page.rows)? {
            out.push(if present { Some(values.next().ok_or(SHORT)?) } else { None });
        }
        if values.next().is_some() {
            return Err("a page has more values than rows");
        }
    }
    if out.len() != rows { Err(FEWER) } else { Ok(out) }
}

/// Decodes definition levels of one bit: runs of equal ones, and bit-packed ones.
fn present(mut levels: &[u8], rows: usize) -> Result<Vec<bool>> {
    let mut present = Vec::new();
    while present.len() < rows {
        let head = varint(&mut levels).ok_or(SHORT)?;
        let length = usize::try_from(head >> 1).map_err(|_| SHORT)?;
        let left = rows - present.len();
        if head & 1 == 1 {
            let (bits, after) = levels.split_at_checked(length).ok_or(SHORT)?;
            let of_run = bits.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
            present.extend(of_run.take(left));
            levels = after;
        } else {
            let (value, after) = levels.split_first().ok_or(SHORT)?;
            present.extend(std::iter::repeat_n(*value == 1, length.min(left)));
            levels = after;
        }
        if length == 0 {
            return Err("a run is empty");
        }
    }
    Ok(present)
}

/// Decodes a column of strings with `rows` rows and at most `most` bytes in total.
pub fn strings(mut pages: Pages, rows: usize, most: usize) -> Result<Vec<String>> {
    let mut out = Vec::new();
    let mut length_of_all = 0;
    let (mut zstd, mut bytes) = (Zstd::default(), Vec::new());
    while let Some(page) = pages.next(&mut zstd, &mut bytes)? {
        if page.dictionary || page.encoding != PLAIN || page.values > rows - out.len() {
            return Err("a column of names has an unsupported encoding");
        }
        let mut rest = content(&bytes);
        for _ in 0..page.values {
            let (length, after) = rest.split_first_chunk().ok_or(SHORT)?;
            let (name, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or(SHORT)?;
            length_of_all += name.len();
            if length_of_all > most {
                return Err("names exceed the maximum total length");
            }
            out.push(String::from_utf8(name.to_vec()).map_err(|_| "a name is not UTF-8")?);
            rest = after;
        }
    }
    if out.len() != rows {
        return Err("a column has fewer rows than its group");
    }
    Ok(out)
}

/// Decodes a column of booleans with `rows` rows.
pub fn booleans(mut pages: Pages, rows: usize) -> Result<Vec<bool>> {
    let mut out = Vec::new();
    let (mut zstd, mut bytes) = (Zstd::default(), Vec::new());
    while let Some(page) = pages.next(&mut zstd, &mut bytes)? {
        if page.dictionary || page.encoding != PLAIN || page.values > rows - out.len() {
            return Err("a column of booleans has an unsupported encoding");
        }
        let bits = content(&bytes).get(..page.values.div_ceil(8)).ok_or(SHORT)?;
        out.extend((0..page.values).map(|i| bits[i / 8] >> (i % 8) & 1 == 1));
    }
    if out.len() != rows {
        return Err("a column has fewer rows than its group");
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::super::pages::PADDING;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with bit-by-bit extraction, for each width and each position of the first
        /// number.
        #[test]
        fn numbers_are_unpacked(
            bytes in proptest::collection::vec(any::<u8>(), 0..400), width in 0usize..=64, first in 0usize..20,
        ) {
            let count = (bytes.len() * 8).checked_div(width).unwrap_or(50).saturating_sub(first);
            let bit = |at: usize| u64::from(bytes[at / 8] >> (at % 8) & 1);
            let number = |i: usize| (0..width).fold(0, |number, k| number | bit(i * width + k) << k);
            let expected: Vec<u64> = (first..first + count).map(number).collect();
            let mut padded = bytes.clone();
            padded.resize(bytes.len() + PADDING, 0);
            let mut out = vec![0; count];
            prop_assert_eq!(unpack(&padded, width as u32, first, &mut out, Some), Some(()));
            prop_assert_eq!(out, expected);
        }
    }
}
