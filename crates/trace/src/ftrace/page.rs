//! Pages of the kernel's ring buffer, as read from `trace_pipe_raw`.
//!
//! A page begins with a time stamp and the number of bytes in use, with two flags: events were lost before this page;
//! their number follows the last event. Each event has a 32-bit header: a 5-bit type or length and a 27-bit time
//! difference.
//!
//! | `type_len` | meaning | length after the header |
//! |---|---|---|
//! | 0 | an event; the next word is its length | that word (which it includes) |
//! | 1–28 | an event of `type_len` words | `4 · type_len` |
//! | 29 | padding; without time difference: to the end of the page | the next word |
//! | 30 | time extension: the next word holds the higher bits of the difference | 4 |
//! | 31 | absolute time, in 59 bits | 4 |
//!
//! Source: `include/linux/ring_buffer.h` and `kernel/trace/ring_buffer.c` of Linux 6.18. No input causes a panic or an
//! endless loop.

use crate::ftrace::format::{Field, Format, Order};

/// Layout of a page, from the kernel's `events/header_page`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    time: usize,
    commit: Field,
    data: usize,
    /// Size of a page in bytes.
    pub size: usize,
    order: Order,
}

/// `RB_MISSED_EVENTS` and `RB_MISSED_STORED`.
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
/// Bits of the length (`COMMIT_MASK` of libtraceevent).
const LENGTH: u64 = (1 << 27) - 1;
/// Absolute times have 59 bits; the higher bits are those of the page's time.
const ABSOLUTE: u64 = (1 << 59) - 1;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("a page of {length} bytes is too short")]
    Short { length: usize },
    #[error("a page claims {claimed} bytes of events and has {room}")]
    Overlong { claimed: u64, room: usize },
    #[error("the event at byte {offset} reaches beyond its page")]
    EventOverlong { offset: usize },
}

impl Layout {
    /// Reads `events/header_page` of this machine.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::of(text, Order::Little)
    }

    /// Reads `events/header_page` of a machine with this order of bytes.
    pub fn of(text: &str, order: Order) -> Result<Self, String> {
        let format = Format::parse(text, order)?;
        let data = format.field("data")?;
        let layout = Layout {
            time: format.sized("timestamp", &[8])?.offset,
            commit: format.sized("commit", &[4, 8])?,
            data: data.offset,
            size: data.offset + data.size,
            order,
        };
        let first_bytes =
            layout.data >= layout.time + 8 && layout.data >= layout.commit.offset + layout.commit.size;
        match first_bytes && layout.size <= 1 << 27 {
            true => Ok(layout),
            false => Err("its fields overlap".into()),
        }
    }
}

/// Number of events lost before a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    None,
    /// Some, but the kernel does not know how many.
    Unknown,
    Count(u64),
}

/// A page: an iterator over its events.
#[derive(Clone, Debug)]
pub struct Page<'a> {
    pub missed: Missed,
    time: u64,
    data: &'a [u8],
    at: usize,
    order: Order,
}

/// An event: its time and its payload, which begins with the fields common to all events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    pub time: u64,
    pub payload: &'a [u8],
}

impl<'a> Page<'a> {
    /// Number of bytes in use of a page just read.
    pub fn used(layout: &Layout, bytes: &[u8]) -> usize {
        let Ok(page) = Page::new(layout, bytes) else { return bytes.len() };
        let stored = if matches!(page.missed, Missed::Count(_)) { 8 } else { 0 };
        (layout.data + page.data.len() + stored).min(bytes.len())
    }

    pub fn new(layout: &Layout, bytes: &'a [u8]) -> Result<Self, Error> {
        let short = Error::Short { length: bytes.len() };
        let order = layout.order;
        let word = |bytes: &[u8], at, size| word(bytes, at, size, order);
        let time = word(bytes, layout.time, 8).ok_or(short.clone())?;
        let commit = word(bytes, layout.commit.offset, layout.commit.size).ok_or(short.clone())?;
        let rest = bytes.get(layout.data..).ok_or(short)?;
        let length = commit & LENGTH;
        let data = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        let data = data.ok_or(Error::Overlong { claimed: length, room: rest.len() })?;
        let missed = match () {
            () if commit & MISSED == 0 => Missed::None,
            () if commit & MISSED_STORED == 0 => Missed::Unknown,
            // As wide as the kernel's `long`, like `commit` itself.
            () => word(rest, data.len(), layout.commit.size).map_or(Missed::Unknown, Missed::Count),
        };
        Ok(Page { missed, time, data, at: 0, order })
    }

    /// The next event. Every iteration advances `at` by at least 4 bytes.
    fn step(&mut self) -> Result<Option<Record<'a>>, Error> {
        loop {
            let offset = self.at;
            if self.data.len() - offset < 4 {
                return Ok(None);
            }
            let overlong = Error::EventOverlong { offset };
            let header = word(self.data, offset, 4, self.order).ok_or(overlong.clone())?;
            // Compilers fill bit fields from the first byte.
            let (type_len, delta) = match self.order {
                Order::Little => (header & 31, header >> 5),
                Order::Big => (header >> 27, header & ((1 << 27) - 1)),
            };
            let next_word = word(self.data, offset + 4, 4, self.order);
            match type_len {
                29 if delta == 0 => return Ok(None),
                // A discarded event. Like the kernel, do not count its time difference.
                29 => self.skip(4 + next_word.ok_or(overlong)?)?,
                30 => {
                    let high = next_word.ok_or(overlong)?;
                    self.time = self.time.wrapping_add((high << 27) + delta);
                    self.skip(8)?;
                }
                31 => {
                    let absolute = (next_word.ok_or(overlong)? << 27) + delta;
                    self.time = absolute_time(absolute, self.time);
                    self.skip(8)?;
                }
                _ => {
                    let (begin, length) = match type_len {
                        0 => (8, next_word.and_then(|length| length.checked_sub(4)).ok_or(overlong.clone())?),
                        words => (4, words * 4),
                    };
                    self.skip(begin + length)?;
                    self.time = self.time.wrapping_add(delta);
                    let payload = &self.data[offset + begin as usize..self.at];
                    return Ok(Some(Record { time: self.time, payload }));
                }
            }
        }
    }

    fn skip(&mut self, bytes: u64) -> Result<(), Error> {
        let next = self.at as u64 + bytes;
        if next > self.data.len() as u64 {
            return Err(Error::EventOverlong { offset: self.at });
        }
        self.at = next as usize;
        Ok(())
    }
}

impl<'a> Iterator for Page<'a> {
    type Item = Result<Record<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.step().transpose();
        if let Some(Err(_)) = item {
            self.at = self.data.len(); // the rest cannot be trusted
        }
        item
    }
}

/// `rb_fix_abs_ts` of the kernel.
fn absolute_time(low: u64, now: u64) -> u64 {
    let time = low | (now & !ABSOLUTE);
    if time < now && now & !ABSOLUTE != 0 { time.wrapping_add(ABSOLUTE + 1) } else { time }
}

/// A number of 4 or 8 bytes.
fn word(bytes: &[u8], at: usize, size: usize, order: Order) -> Option<u64> {
    Some(order.number(bytes.get(at..at.checked_add(size)?)?))
}

#[cfg(test)]
mod tests;
