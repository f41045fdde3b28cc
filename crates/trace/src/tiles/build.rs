//! Building of all stored tiles in one pass over the events.

use super::cell::Cell;
use super::lanes::{Lanes, Strip};
use super::plan::{Plan, Segment, Span};
use super::snapshot::Snapshot;
use super::tile::{BINS, Shape, Tile, TileId, bin_width, coarsest_level};
use super::underload::UnderloadSeries;
use crate::event::{Event, Header, Time};
use crate::metrics::State;

/// Builds the stored tiles from the groups of a trace in order, and returns tiles as they are
/// completed.
///
/// Cells are built at the level that the plan gives for the time. Four cells of a level form
/// one of the next coarser level, up to the single tile that covers the trace. The cost per event
/// is therefore independent of the number of levels.
pub struct TileBuilder {
    shape: Shape,
    end: Time,
    lanes: Lanes,
    /// Time of the last event.
    now: Time,
    segments: std::vec::IntoIter<Segment>,
    segment: Segment,
    /// End of the current bin.
    bin_end: Time,
    levels: Vec<Level>,
    done: Vec<(TileId, Tile)>,
}

/// Current tile of a level, if any, and the bin that accumulates bins of the next finer level.
struct Level {
    tile: Option<(TileId, Tile)>,
    cells: Vec<Cell>,
    strip: Strip,
}

impl TileBuilder {
    /// `spans` are those of the groups that follow; `end` is the last instant of the trace.
    pub fn new(header: &Header, spans: &[Span], end: Time) -> TileBuilder {
        TileBuilder::with_plan(header, &Plan::new(spans, header.cores.len(), end), end)
    }

    pub(super) fn with_plan(header: &Header, plan: &Plan, end: Time) -> TileBuilder {
        let shape = Shape::of(header);
        let mut segments = plan.segments().into_iter();
        let coarsest = coarsest_level(end);
        // A plan is never empty; if it were, the coarsest tile would hold everything.
        let segment = segments.next().unwrap_or(Segment { level: coarsest, end: Time::MAX });
        let level =
            |_| Level { tile: None, cells: vec![Cell::default(); shape.cores], strip: Strip::default() };
        TileBuilder {
            shape,
            end,
            lanes: Lanes::whole(shape, State::new(header)),
            now: 0,
            segments,
            segment,
            bin_end: bin_width(segment.level),
            levels: (0..=coarsest).map(level).collect(),
            done: Vec::new(),
        }
    }

    /// Processes the next group. Returns the snapshot of the state before it.
    pub fn group(&mut self, events: &[Event]) -> Snapshot {
        let snapshot = Snapshot::take(&self.lanes, self.now);
        for event in events {
            // Clamps the times of a damaged trace: time neither goes back nor exceeds the end.
            let time = event.time.clamp(self.now, self.end);
            if time >= self.bin_end {
                self.close_bins(time);
            }
            self.now = time;
            self.lanes.event(&Event { time, ..*event });
        }
        snapshot
    }

    /// Time of the last event so far.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Removes and returns the completed tiles, those of each level in order.
    pub fn take_tiles(&mut self) -> Vec<(TileId, Tile)> {
        std::mem::take(&mut self.done)
    }

    /// Completes the remaining tiles, for [`TileBuilder::take_tiles`].
    pub fn finish(&mut self) -> UnderloadSeries {
        self.close_bins(self.end);
        self.close_bin(self.end, true);
        self.done.extend(self.levels.iter_mut().filter_map(|level| level.tile.take()));
        UnderloadSeries(self.lanes.finish_underload(self.end))
    }

    /// Closes the bins that end at or before `time`.
    fn close_bins(&mut self, time: Time) {
        while self.bin_end <= time {
            self.close_bin(self.bin_end, false);
            if self.bin_end == self.segment.end
                && let Some(next) = self.segments.next()
            {
                self.segment = next;
            }
            self.bin_end += bin_width(self.segment.level);
        }
    }

    /// Closes the current bin at its end or the end of the trace (`last`), and all coarser bins
    /// that end with it.
    fn close_bin(&mut self, end: Time, last: bool) {
        let mut level = self.segment.level;
        let begin = self.bin_end - bin_width(level);
        let (levels, done) = (&mut self.levels, &mut self.done);
        self.lanes.close(end, |cells, strip| put(levels, done, self.shape, level, begin, cells, strip));
        while usize::from(level) + 1 < levels.len() && (last || end.is_multiple_of(bin_width(level + 1))) {
            level += 1;
            let Level { cells, strip, .. } = &mut levels[usize::from(level)];
            let (mut cells, strip) = (std::mem::take(cells), std::mem::take(strip));
            put(levels, done, self.shape, level, begin, &cells, &strip);
            cells.fill(Cell::default());
            levels[usize::from(level)].cells = cells;
        }
    }
}

/// Stores the bin of `level` that contains `time` in its tile, and adds it to the bin of the next
/// coarser level.
fn put(
    levels: &mut [Level],
    done: &mut Vec<(TileId, Tile)>,
    shape: Shape,
    level: u8,
    time: Time,
    cells: &[Cell],
    strip: &Strip,
) {
    let number = time / bin_width(level);
    let (index, bin) = (number / BINS as u64, (number % BINS as u64) as usize);
    let slot = &mut levels[usize::from(level)].tile;
    let (_, tile) = slot.get_or_insert_with(|| (TileId { level, index }, Tile::new(shape)));
    tile.set_bin(bin, bin_width(level), cells, strip);
    if bin == BINS - 1 {
        done.extend(slot.take());
    }
    if let Some(above) = levels.get_mut(usize::from(level) + 1) {
        above.strip.append(strip);
        above.cells.iter_mut().zip(cells).for_each(|(cell, next)| cell.append(next));
    }
}
