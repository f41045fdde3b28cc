//! Underload by 4 ms interval, from which the underload of tiles is computed.

use super::tile::{BINS, Tile, TileId, bin_width};
use crate::event::Time;
use crate::metrics::UNDERLOAD_INTERVAL;

/// Index and underload of each interval with underload, in order. Their number is bounded by the
/// number of events.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UnderloadSeries(pub(super) Vec<(u64, u32)>);

impl UnderloadSeries {
    /// Writes the mean underload of each bin of `tile`, for a trace that ends at `end`.
    pub fn fill(&self, id: TileId, end: Time, tile: &mut Tile) {
        let Some(begin) = id.begin() else { return };
        let width = bin_width(id.level);
        for bin in 0..BINS {
            let from = begin + bin as u64 * width;
            let to = (from + width).min(end);
            if from >= to {
                break;
            }
            let sum = self.integral(from, to);
            tile.set_underload(bin, (sum as f64 / width as f64) as f32);
        }
    }

    /// Underload × nanoseconds between `from` and `to`.
    fn integral(&self, from: Time, to: Time) -> u128 {
        let first = self.0.partition_point(|(interval, _)| *interval < from / UNDERLOAD_INTERVAL);
        let inside =
            self.0[first..].iter().take_while(|(interval, _)| *interval <= (to - 1) / UNDERLOAD_INTERVAL);
        let part = |&(interval, underload): &(u64, u32)| {
            let begin = interval * UNDERLOAD_INTERVAL;
            let ns = (begin + UNDERLOAD_INTERVAL).min(to) - begin.max(from);
            u128::from(ns) * u128::from(underload)
        };
        inside.map(part).sum()
    }
}
