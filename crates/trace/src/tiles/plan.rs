//! Which tiles are worth storing: those that are dear to compute from events.

use super::tile::{BINS, LAST_TIME, TileId, coarsest_level, tile_width};
use crate::event::Time;

/// The time that a group of events takes, and how many they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    pub begin: Time,
    /// The last event's time.
    pub end: Time,
    pub events: u64,
}

impl Span {
    /// Of the group that follows `before`. Times that go back (in a damaged trace) do not.
    pub fn new(begin: Time, end: Time, events: u64, before: Option<&Span>) -> Span {
        let begin = begin.max(before.map_or(0, |span| span.end)).min(LAST_TIME);
        Span { begin, end: end.clamp(begin, LAST_TIME), events }
    }
}

/// From here until `end` the cells are made at `level`; coarser levels are made of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    pub level: u8,
    pub end: Time,
}

/// A tile is stored if its time holds more events than can be followed while somebody waits, for a
/// window of them: no fewer than are read at once anyway, and on large machines no fewer than one
/// for each of its cells, so that what is stored stays small beside the events.
/// The tile that holds everything is stored in any case.
pub struct Plan<'a> {
    spans: &'a [Span],
    /// Events before each span.
    before: Vec<u64>,
    threshold: u64,
    end: Time,
}

impl<'a> Plan<'a> {
    pub fn new(spans: &'a [Span], cores: usize, end: Time) -> Plan<'a> {
        let before = spans.iter().scan(0u64, |sum, span| {
            let before = *sum;
            *sum = sum.saturating_add(span.events);
            Some(before)
        });
        let threshold = (BINS as u64 * cores as u64).max(1 << 17);
        Plan { spans, before: before.collect(), threshold, end }
    }

    #[cfg(test)]
    pub fn with_threshold(self, threshold: u64) -> Plan<'a> {
        Plan { threshold, ..self }
    }

    /// The segments, one behind the other, up to the end of the trace.
    pub fn segments(&self) -> Vec<Segment> {
        let mut segments = Vec::new();
        self.visit(TileId { level: coarsest_level(self.end), index: 0 }, &mut segments);
        segments
    }

    /// What is stored below a tile that is stored.
    fn visit(&self, tile: TileId, segments: &mut Vec<Segment>) {
        if tile.level == 0 {
            return push(segments, 0, tile_end(tile));
        }
        for index in 4 * tile.index..4 * tile.index + 4 {
            let child = TileId { level: tile.level - 1, index };
            match child.begin() {
                Some(begin) if begin <= self.end => {}
                _ => return,
            }
            if self.events(child) >= self.threshold {
                self.visit(child, segments);
            } else {
                push(segments, tile.level, tile_end(child));
            }
        }
    }

    fn events(&self, tile: TileId) -> u64 {
        let begin = tile.index * tile_width(tile.level);
        self.events_before(tile_end(tile)) - self.events_before(begin)
    }

    /// Events before `time`, as if those of a group came evenly.
    fn events_before(&self, time: Time) -> u64 {
        let next = self.spans.partition_point(|span| span.begin < time);
        let Some(index) = next.checked_sub(1) else { return 0 };
        let span = self.spans[index];
        let length = u128::from(span.end - span.begin) + 1;
        let passed = u128::from(time - span.begin).min(length);
        self.before[index].saturating_add((u128::from(span.events) * passed / length) as u64)
    }
}

fn tile_end(tile: TileId) -> Time {
    (tile.index + 1) * tile_width(tile.level)
}

fn push(segments: &mut Vec<Segment>, level: u8, end: Time) {
    match segments.last_mut() {
        Some(last) if last.level == level => last.end = end,
        _ => segments.push(Segment { level, end }),
    }
}
