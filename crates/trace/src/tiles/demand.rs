//! A tile that is not stored, from the events of its time.

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
    let Some(begin) = id.begin().filter(|begin| *begin <= last) else { return Ok(None) };
    let width = bin_width(id.level);
    let mut tile = Tile::new(shape);
    let mut now = snapshot.time.min(begin);
    let mut lanes = snapshot.lanes(shape, state, now);
    // Until the tile begins, only who runs and waits where is followed.
    let (mut bin_end, mut bin) = (begin, None);
    let mut close = |end: Time, lanes: &mut super::lanes::Lanes| {
        lanes.close(end, |cells, strip| {
            if let Some(bin) = bin {
                tile.set_bin(bin, width, cells, strip);
            }
        });
        let next = bin.map_or(0, |bin| bin + 1);
        bin = Some(next);
        next == BINS
    };
    for group in groups {
        for event in group?.as_ref() {
            let time = event.time.clamp(now, last);
            while time >= bin_end {
                if close(bin_end, &mut lanes) {
                    return Ok(Some(tile));
                }
                bin_end += width;
            }
            now = time;
            lanes.event(&Event { time, ..*event });
        }
    }
    loop {
        let complete = close(bin_end.min(last), &mut lanes);
        if complete || bin_end > last {
            return Ok(Some(tile));
        }
        bin_end += width;
    }
}
