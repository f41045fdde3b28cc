//! Selection of the tiles to store: those that are expensive to compute from events.

use super::tile::{BINS, LAST_TIME, TileId, coarsest_level, tile_width};
use crate::event::Time;

/// Period of a group of events, and their number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    pub begin: Time,
    /// Time of the last event.
    pub end: Time,
    pub events: u64,
}

impl Span {
    /// Span of the group after `before`. In a damaged trace whose time goes back, the begin is
    /// moved forward.
    pub fn new(begin: Time, end: Time, events: u64, before: Option<&Span>) -> Span {
        let begin = begin.max(before.map_or(0, |span| span.end)).min(LAST_TIME);
        Span { begin, end: end.clamp(begin, LAST_TIME), events }
    }
}

/// Until `end`, cells are built at `level`; coarser levels are derived from them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    pub level: u8,
    pub end: Time,
}

/// Decides which tiles are stored: those that cover too many events to process while a user waits.
///
/// The threshold is at least the number of events read at once, and on large machines one event per
/// cell, so that the index stays small compared to the events. The tile that covers the whole trace
/// is always stored.
pub struct Plan<'a> {
    spans: &'a [Span],
    /// Number of events before each span.
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

    /// Consecutive segments up to the end of the trace.
    pub fn segments(&self) -> Vec<Segment> {
        let mut segments = Vec::new();
        self.visit(TileId { level: coarsest_level(self.end), index: 0 }, &mut segments);
        segments
    }

    /// Adds the segments within a stored tile.
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

    /// Estimated number of events before `time`, assuming that a group's events are evenly
    /// distributed.
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
