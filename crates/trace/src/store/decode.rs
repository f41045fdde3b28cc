//! The encodings of Parquet that a trace's files use.
//!
//! Whole columns are decoded into arrays, which is most of what reading a trace costs.

use super::pages::{PADDING, Page, Pages, varint, zigzag};

const PLAIN: i32 = 0;
const PLAIN_DICTIONARY: i32 = 2;
const DELTA_BINARY_PACKED: i32 = 5;
const RLE_DICTIONARY: i32 = 8;

type Result<T> = std::result::Result<T, &'static str>;
const SHORT: &str = "a page ends early";

/// An integer of a column.
pub trait Integer: Copy + Default {
    const BYTES: usize;
    fn plain(bytes: &[u8]) -> Self;
    /// The lowest bits.
    fn of(value: i64) -> Self;
}

impl Integer for i32 {
    const BYTES: usize = 4;
    fn plain(bytes: &[u8]) -> Self {
        bytes.first_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes))
    }
    fn of(value: i64) -> Self {
        value as i32
    }
}

impl Integer for i64 {
    const BYTES: usize = 8;
    fn plain(bytes: &[u8]) -> Self {
        bytes.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes))
    }
    fn of(value: i64) -> Self {
        value
    }
}

/// A column of integers with `rows` rows.
pub fn integers<T: Integer>(mut pages: Pages, rows: usize, out: &mut Vec<T>) -> Result<()> {
    out.clear();
    out.reserve(rows);
    let mut dictionary = Vec::new();
    while let Some(page) = pages.next()? {
        let count = page.values;
        if page.dictionary {
            dictionary.clear();
            plain(&page, count, &mut dictionary)?;
            continue;
        }
        if count > rows - out.len() {
            return Err("a column has more rows than its group");
        }
        match page.encoding {
            PLAIN => plain(&page, count, out)?,
            PLAIN_DICTIONARY | RLE_DICTIONARY => indexed(&page, count, &dictionary, out)?,
            DELTA_BINARY_PACKED => deltas(&page, count, out)?,
            _ => return Err("a column has an encoding that traces do not use"),
        }
    }
    if out.len() != rows {
        return Err("a column has fewer rows than its group");
    }
    Ok(())
}

fn plain<T: Integer>(page: &Page, count: usize, out: &mut Vec<T>) -> Result<()> {
    let bytes = count.checked_mul(T::BYTES).and_then(|length| page.content().get(..length));
    out.extend(bytes.ok_or(SHORT)?.chunks_exact(T::BYTES).map(T::plain));
    Ok(())
}

/// Numbers of values in the dictionary: runs of equal ones, and bit-packed ones.
fn indexed<T: Integer>(page: &Page, count: usize, dictionary: &[T], out: &mut Vec<T>) -> Result<()> {
    let unknown = "a value is not in its dictionary";
    let (width, _) = page.content().split_first().ok_or(SHORT)?;
    let width = u32::from(*width);
    if width > 32 {
        return Err("numbers of more than 32 bits");
    }
    let mut at = 1;
    let mut left = count;
    while left > 0 {
        let mut rest = page.content().get(at..).ok_or(SHORT)?;
        let head = varint(&mut rest).ok_or(SHORT)?;
        at = page.content().len() - rest.len();
        let (length, packed) = (usize::try_from(head >> 1).map_err(|_| SHORT)?, head & 1 == 1);
        if packed {
            let bytes = length.checked_mul(width as usize).ok_or(SHORT)?;
            let end = at.checked_add(bytes).filter(|end| *end <= page.content().len()).ok_or(SHORT)?;
            let values = left.min(length.saturating_mul(8));
            let packed = &page.bytes[at..end + PADDING];
            let mut known = true;
            out.extend((0..values).map(|i| {
                let index = unpack_narrow(packed, i, width) as usize;
                dictionary.get(index).copied().unwrap_or_else(|| {
                    known = false;
                    T::default()
                })
            }));
            if !known {
                return Err(unknown);
            }
            (at, left) = (end, left - values);
            if values == 0 {
                return Err("an empty run");
            }
        } else {
            let bytes = width.div_ceil(8) as usize;
            let value = page.content().get(at..at + bytes).ok_or(SHORT)?;
            let index = value.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte));
            let value = *dictionary.get(index).ok_or(unknown)?;
            if length == 0 {
                return Err("an empty run");
            }
            let values = left.min(length);
            out.resize(out.len() + values, value);
            (at, left) = (at + bytes, left - values);
        }
    }
    Ok(())
}

/// Differences to the value before, in blocks with a smallest difference each, and in these
/// miniblocks with a number of bits each.
fn deltas<T: Integer>(page: &Page, count: usize, out: &mut Vec<T>) -> Result<()> {
    let mut rest = page.content();
    let mut number = || varint(&mut rest).ok_or(SHORT);
    let (block, minis, total, first) = (number()?, number()?, number()?, number()?);
    let wrong = "blocks of an impossible length";
    let (block, minis) =
        (usize::try_from(block).map_err(|_| wrong)?, usize::try_from(minis).map_err(|_| wrong)?);
    if minis == 0 || minis > 512 || block > 1 << 20 || block % (minis * 32) != 0 || block == 0 {
        return Err(wrong);
    }
    if total != count as u64 {
        return Err("a page has another number of values than it says");
    }
    if count == 0 {
        return Ok(());
    }
    let mut value = zigzag(first);
    out.push(T::of(value));
    let mut left = count - 1;
    while left > 0 {
        let least = zigzag(varint(&mut rest).ok_or(SHORT)?);
        let (widths, packed) = rest.split_at_checked(minis).ok_or(SHORT)?;
        let mut at = page.content().len() - packed.len();
        for width in widths.iter().map(|width| usize::from(*width)) {
            if left == 0 {
                break;
            }
            if width > 64 {
                return Err("numbers of more than 64 bits");
            }
            let end = at + block / minis * width / 8;
            if end > page.content().len() {
                return Err(SHORT);
            }
            let packed = &page.bytes[at..end + PADDING];
            let values = left.min(block / minis);
            let mut step = |delta: u64| {
                value = value.wrapping_add(least).wrapping_add(delta as i64);
                T::of(value)
            };
            if width <= 32 {
                out.extend((0..values).map(|i| step(unpack_narrow(packed, i, width as u32))));
            } else {
                out.extend((0..values).map(|i| step(unpack_wide(packed, i, width))));
            }
            (at, left) = (end, left - values);
        }
        rest = &page.content()[at..];
    }
    Ok(())
}

/// Value `i` of those packed with `width` bits, at most 32. The bytes are padded.
#[inline(always)]
fn unpack_narrow(bytes: &[u8], i: usize, width: u32) -> u64 {
    let bit = i * width as usize;
    let word = bytes[bit / 8..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    word >> (bit % 8) & ((1 << width) - 1)
}

/// The same for up to 64 bits.
fn unpack_wide(bytes: &[u8], i: usize, width: usize) -> u64 {
    let bit = i * width;
    let word = bytes[bit / 8..].first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes));
    (word >> (bit % 8) & ((1 << width) - 1)) as u64
}

/// A column of strings with `rows` rows, of together no more than `most` bytes.
pub fn strings(mut pages: Pages, rows: usize, most: usize) -> Result<Vec<String>> {
    let mut out = Vec::new();
    let mut bytes = 0;
    while let Some(page) = pages.next()? {
        if page.dictionary || page.encoding != PLAIN || page.values > rows - out.len() {
            return Err("names are not encoded as traces do");
        }
        let mut rest = page.content();
        for _ in 0..page.values {
            let (length, after) = rest.split_first_chunk().ok_or(SHORT)?;
            let (name, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or(SHORT)?;
            bytes += name.len();
            if bytes > most {
                return Err("its names are longer than any that are written");
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

/// A column of booleans with `rows` rows.
pub fn booleans(mut pages: Pages, rows: usize) -> Result<Vec<bool>> {
    let mut out = Vec::new();
    while let Some(page) = pages.next()? {
        if page.dictionary || page.encoding != PLAIN || page.values > rows - out.len() {
            return Err("booleans are not encoded as traces do");
        }
        let bytes = page.content().get(..page.values.div_ceil(8)).ok_or(SHORT)?;
        out.extend((0..page.values).map(|i| bytes[i / 8] >> (i % 8) & 1 == 1));
    }
    if out.len() != rows {
        return Err("a column has fewer rows than its group");
    }
    Ok(out)
}
