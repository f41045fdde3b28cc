//! Computation of tiles that are not stored, from the events of their period.

use super::lanes::Lanes;
use super::snapshot::Snapshot;
use super::tile::{BINS, Shape, Tile, TileId, bin_width};
use crate::event::{Event, Time};
use crate::metrics::State;

/// Computes tile `id` from the `groups` that follow `snapshot`, reading only as far as the end of
/// the tile. `state` must be a state without events; `last` is the last instant of the trace.
/// Returns `None` if the tile is after `last`.
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

/// Like [`compute`], for `count` tiles starting with `first`, in one pass. Returns fewer if the
/// trace ends earlier.
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

/// Tiles computed so far.
struct Filling {
    lanes: Lanes,
    shape: Shape,
    width: Time,
    /// Current bin, counted from the beginning of the first tile. `None` before that, while only
    /// the state is tracked.
    bin: Option<usize>,
    bins: usize,
    tiles: Vec<Tile>,
}

impl Filling {
    /// Closes the current bin. Returns true if it was the last one.
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
