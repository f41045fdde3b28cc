//! Tiles that are not stored, from the events of their time.

use super::lanes::Lanes;
use super::snapshot::Snapshot;
use super::tile::{BINS, Shape, Tile, TileId, bin_width};
use crate::event::{Event, Time};
use crate::metrics::State;

/// Fills tile `id` from the `groups` behind `snapshot`; those behind the tile's end are not asked
/// for. `state` is one in which nothing has happened, `last` is the last instant of the trace.
/// `None`: the tile lies behind it.
pub fn compute<G: AsRef<[Event]>, E>(
    shape: Shape,
    id: TileId,
    state: State,
    snapshot: &Snapshot,
    last: Time,
    groups: impl IntoIterator<Item = Result<G, E>>,
) -> Result<Option<Tile>, E> {
    Ok(compute_run(shape, (id, 1), state, snapshot, last, groups)?.pop())
}

/// Fills the tile `first` and those that follow it, `count` in all, in one pass: fewer if the
/// trace ends before. Otherwise as [`compute`].
pub fn compute_run<G: AsRef<[Event]>, E>(
    shape: Shape,
    (first, count): (TileId, usize),
    state: State,
    snapshot: &Snapshot,
    last: Time,
    groups: impl IntoIterator<Item = Result<G, E>>,
) -> Result<Vec<Tile>, E> {
    let Some(begin) = first.begin().filter(|begin| *begin <= last) else { return Ok(Vec::new()) };
    let width = bin_width(first.level);
    let now = snapshot.time.min(begin);
    let mut filling = Filling {
        lanes: snapshot.lanes(shape, state, now),
        shape,
        width,
        bin: None,
        bins: count * BINS,
        tiles: Vec::new(),
    };
    let (mut now, mut bin_end) = (now, begin);
    for group in groups {
        for event in group?.as_ref() {
            let time = event.time.clamp(now, last);
            while time >= bin_end {
                if filling.close(bin_end) {
                    return Ok(filling.tiles);
                }
                bin_end += width;
            }
            now = time;
            filling.lanes.event(&Event { time, ..*event });
        }
    }
    loop {
        let complete = filling.close(bin_end.min(last));
        if complete || bin_end > last {
            return Ok(filling.tiles);
        }
        bin_end += width;
    }
}

/// The tiles of a run, up to the bin at hand.
struct Filling {
    lanes: Lanes,
    shape: Shape,
    width: Time,
    /// The bin at hand, counted from the first tile's begin. `None` before that: until then, only
    /// who runs and waits where is followed.
    bin: Option<usize>,
    bins: usize,
    tiles: Vec<Tile>,
}

impl Filling {
    /// Ends the bin at hand. Whether it was the last.
    fn close(&mut self, end: Time) -> bool {
        let Filling { lanes, shape, width, bin, bins, tiles } = self;
        lanes.close(end, |cells, strip| {
            let Some(bin) = *bin else { return };
            if bin % BINS == 0 {
                tiles.push(Tile::new(*shape));
            }
            if let Some(tile) = tiles.last_mut() {
                tile.set_bin(bin % BINS, *width, cells, strip);
            }
        });
        let next = bin.map_or(0, |bin| bin + 1);
        *bin = Some(next);
        next == *bins
    }
}
